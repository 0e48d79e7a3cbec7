// The kernels for any CPU: see kernels.h, and CMakeLists.txt for the compile options.
#define OCTLM_INSTRUCTION_SET generic
#define OCTLM_SIMD "model/cpu/kernels/simd_generic.inc"
#define OCTLM_DOT_ROWS 2
#include "model/cpu/kernels/all.inc"
