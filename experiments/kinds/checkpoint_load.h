// checkpoint_load: is every tensor of a checkpoint read once, with the expected name and shape,
// from exactly the files that the spec names?
#pragma once

#include "verify/kind.h"

namespace octlm::experiments {

verify::Kind checkpoint_load();

}  // namespace octlm::experiments
