// The kernels for AVX-512: see kernels.h, and CMakeLists.txt for the compile options.
#include <immintrin.h>

#define OCTLM_INSTRUCTION_SET avx512
#define OCTLM_SIMD "model/cpu/kernels/simd_avx512.inc"
#define OCTLM_DOT_ROWS 6
#include "model/cpu/kernels/all.inc"
