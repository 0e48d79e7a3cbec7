// One declaration per file of this folder; the list itself is in architecture.cpp.
#pragma once

#include "model/architectures/architecture.h"

namespace octlm::model {

const Architecture& llama();
const Architecture& qwen3();

}  // namespace octlm::model
