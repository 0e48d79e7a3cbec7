// The float32 kernels of one instruction set, as a table of functions: what float32_backend.cpp
// calls. The sources in kernels/*.inc are compiled once per instruction set (kernels_avx512.cpp,
// …), each into its own namespace.
//
// This header and everything a kernel source includes must define no inline function with external
// linkage (so no <algorithm>, <cmath>, <vector>, not even std::min): the linker keeps one copy of
// such a function for the whole program, perhaps the one compiled for AVX-512, and the program dies
// on a machine without it. The test model.cpu.no_weak_symbols reads the objects to be sure.
//
// All index arithmetic is in int64: row 14,135 of 151,936 logits is past 2^31 elements
// (NVIDIA/FasterTransformer#524).
#pragma once

#include <cstdint>

namespace octlm::model::cpu {

// How a weight is stored; widened to float32 exactly where it is used.
enum class Stored : int { kFloat32, kFloat16, kBFloat16 };

constexpr std::int64_t offset(std::int64_t row, std::int64_t stride, std::int64_t column = 0) {
  return row * stride + column;
}

// y[r, o] = sum_k x[r, k] * weight[o, k] for outputs [first, first + count) of `out`.
struct LinearArgs {
  const float* x;         // [rows, in]
  const float* packed_x;  // as pack_rows leaves it; only for linear_many_rows
  std::int64_t rows, in, out;
  const void* weight;  // [out, in]
  Stored stored;
  float* y;  // [rows, out]
};

// One KV head, queries of its group, keys [0, first_position + seq).
struct AttentionArgs {
  const float* q;       // [seq, heads, head_dim]
  const float* keys;    // [kv_heads, capacity, head_dim]
  const float* values;  // [kv_heads, capacity, head_dim]
  float* out;           // [seq, heads, head_dim]
  std::int64_t seq, heads, kv_heads, head_dim, capacity, first_position;
  float scale;
};

struct Kernels {
  const char* name;
  std::int64_t vector_floats;

  // Linear, few rows: one pass over the weights as stored, shared by all rows.
  // `first` must be a multiple of 4.
  void (*linear_few_rows)(const LinearArgs&, std::int64_t first, std::int64_t count);
  // Crossover: up to so many rows this is faster than linear_many_rows.
  std::int64_t few_rows;

  // Linear, many rows: x is transposed into panels once (pack_rows, one task per vector of rows),
  // then blocks of outputs are computed with a scratch of linear_scratch_floats(rows) each. `rows`
  // at most max_packed_rows; `first` a multiple of 8, count at most max_outputs.
  std::int64_t max_packed_rows, max_outputs;
  std::int64_t (*packed_floats)(std::int64_t rows, std::int64_t in);
  void (*pack_rows)(const LinearArgs&, std::int64_t vector_of_rows, float* packed);
  std::int64_t (*linear_scratch_floats)(std::int64_t rows);
  void (*linear_many_rows)(const LinearArgs&, std::int64_t first, std::int64_t count,
                           float* scratch);

  // Attention of one query head for queries [first, first + count), count at most query_block; and
  // of all heads of one KV head when seq is 1.
  std::int64_t query_block;
  std::int64_t (*attention_scratch_floats)(std::int64_t heads_per_kv_head, std::int64_t head_dim);
  void (*attention_block)(const AttentionArgs&, std::int64_t head, std::int64_t first,
                          std::int64_t count, float* scratch);
  void (*attention_one_query)(const AttentionArgs&, std::int64_t kv_head, float* scratch);

  void (*widen)(const void* stored, Stored, std::int64_t count, float* out);
  void (*rms_norm)(const float* x, const void* weight, Stored, std::int64_t rows,
                   std::int64_t hidden, double eps, float* out);
  // x [heads, head_dim] of one position; cos, sin [head_dim / 2].
  void (*rope)(float* x, const float* cos, const float* sin, std::int64_t heads,
               std::int64_t head_dim);
  void (*silu_mul)(const float* gate, const float* up, std::int64_t count, float* out);
  void (*add)(const float* x, std::int64_t count, float* accumulator);
  void (*exp)(const float* x, std::int64_t count, float* out);  // for the test of its error
};

namespace avx512 {
extern const Kernels kernels;
}
namespace avx2 {
extern const Kernels kernels;
}
namespace generic {
extern const Kernels kernels;
}

}  // namespace octlm::model::cpu
