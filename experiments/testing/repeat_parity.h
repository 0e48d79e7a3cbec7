// A kind that is not one of the program's: does a second pass give the same bits as the first? It
// is all that a kind has to be, in one file pair, for the test that a kind needs no more.
#pragma once

#include "verify/kind.h"

namespace octlm::experiments::testing {

verify::Kind repeat_parity();

}  // namespace octlm::experiments::testing
