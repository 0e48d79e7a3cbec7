// The kernels for AVX2: see kernels.h, and CMakeLists.txt for the compile options.
#include <immintrin.h>

#define OCTLM_INSTRUCTION_SET avx2
#define OCTLM_SIMD "model/cpu/kernels/simd_avx2.inc"
#define OCTLM_DOT_ROWS 3
#include "model/cpu/kernels/all.inc"
