// Which kernels this CPU can run.
#pragma once

#include <string_view>

#include "model/cpu/kernels.h"

namespace octlm::model::cpu {

// "" = the best. Throws std::invalid_argument that lists the choices when the name is unknown or
// this CPU cannot execute it.
const Kernels& kernels_for(std::string_view instruction_set);

}  // namespace octlm::model::cpu
