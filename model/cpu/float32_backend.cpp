// The float32 backend: cuts each operation into tasks for the pool and hands them to the kernels of
// the instruction set. No result depends on how the work is cut (see kernels/linear.inc).
#include <algorithm>
#include <cassert>
#include <vector>

#include "model/cpu/backend.h"
#include "model/cpu/instruction_set.h"
#include "model/cpu/memory.h"
#include "model/cpu/thread_pool.h"

namespace octlm::model::cpu {
namespace {

// Below this many elements an elementwise operation is quicker than waking a thread.
constexpr std::int64_t kElementsPerTask = 8192;

constexpr std::int64_t divide_up(std::int64_t n, std::int64_t by) { return (n + by - 1) / by; }
constexpr std::int64_t round_up(std::int64_t n, std::int64_t to) { return divide_up(n, to) * to; }

Stored stored_as(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return Stored::kFloat32;
    case DType::kFloat16:
      return Stored::kFloat16;
    case DType::kBFloat16:
      return Stored::kBFloat16;
    case DType::kFloat64:
      break;
  }
  assert(false && "ops/ refuses float64 weights");
  return Stored::kFloat32;
}

class Float32Backend final : public Backend {
 public:
  explicit Float32Backend(const Options& options)
      : kernels_(kernels_for(options.instruction_set)),
        pool_(options.threads),
        scratch_(static_cast<std::size_t>(pool_.threads())) {}

  std::string name() const override { return "cpu"; }
  std::string description() const override {
    const int threads = pool_.threads();
    return std::string("cpu ") + kernels_.name + ", " + std::to_string(threads) +
           (threads == 1 ? " thread" : " threads");
  }
  DType activation_dtype() const override { return DType::kFloat32; }

  void embedding(ConstTensorView table, std::span<const std::int32_t> ids,
                 TensorView out) override {
    const std::int64_t hidden = table.shape[1];
    const auto* rows = table.as<std::byte>();
    for_rows(static_cast<std::int64_t>(ids.size()), hidden,
             [&](std::int64_t first, std::int64_t count) {
               for (std::int64_t r = first; r < first + count; ++r) {
                 const std::int64_t id = ids[static_cast<std::size_t>(r)];
                 kernels_.widen(
                     rows + static_cast<std::size_t>(offset(id, hidden)) * dtype_bytes(table.dtype),
                     stored_as(table.dtype), hidden, out.as<float>() + offset(r, hidden));
               }
             });
  }

  void rms_norm(ConstTensorView x, ConstTensorView weight, double eps, TensorView out) override {
    const std::int64_t hidden = weight.shape[0];
    if (hidden == 0) return;
    for_rows(x.shape.elements() / hidden, hidden, [&](std::int64_t first, std::int64_t count) {
      kernels_.rms_norm(x.as<float>() + offset(first, hidden), weight.data, stored_as(weight.dtype),
                        count, hidden, eps, out.as<float>() + offset(first, hidden));
    });
  }

  void linear(ConstTensorView x, ConstTensorView weight, TensorView out) override {
    const std::int64_t rows = x.shape[0];
    if (rows <= kernels_.few_rows) return linear_rows(x, weight, out, 0, rows);
    for (std::int64_t r = 0; r < rows; r += kernels_.max_packed_rows) {
      linear_rows(x, weight, out, r, std::min(kernels_.max_packed_rows, rows - r));
    }
  }

  void rope(TensorView x, ConstTensorView cos, ConstTensorView sin) override {
    const std::int64_t heads = x.shape[1], head_dim = x.shape[2];
    for_rows(x.shape[0], heads * head_dim, [&](std::int64_t first, std::int64_t count) {
      for (std::int64_t s = first; s < first + count; ++s) {
        kernels_.rope(x.as<float>() + offset(s, heads * head_dim),
                      cos.as<float>() + offset(s, head_dim / 2),
                      sin.as<float>() + offset(s, head_dim / 2), heads, head_dim);
      }
    });
  }

  void kv_store(ConstTensorView x, std::int64_t first_position, TensorView cache) override {
    const std::int64_t kv_heads = x.shape[1], head_dim = x.shape[2], capacity = cache.shape[1];
    for_rows(x.shape[0], kv_heads * head_dim, [&](std::int64_t first, std::int64_t count) {
      for (std::int64_t s = first; s < first + count; ++s) {
        for (std::int64_t h = 0; h < kv_heads; ++h) {
          std::copy_n(
              x.as<float>() + offset(s, kv_heads * head_dim, h * head_dim), head_dim,
              cache.as<float>() + offset(offset(h, capacity, first_position + s), head_dim));
        }
      }
    });
  }

  void attention(ConstTensorView q, ConstTensorView k_cache, ConstTensorView v_cache,
                 std::int64_t first_position, double scale, TensorView out) override {
    const AttentionArgs args{
        q.as<float>(),    k_cache.as<float>(), v_cache.as<float>(),      out.as<float>(),
        q.shape[0],       q.shape[1],          k_cache.shape[0],         q.shape[2],
        k_cache.shape[1], first_position,      static_cast<float>(scale)};
    const std::int64_t scratch =
        kernels_.attention_scratch_floats(args.heads / args.kv_heads, args.head_dim);
    reserve(scratch);
    if (args.seq == 1) {
      pool_.run(args.kv_heads, [&](std::int64_t kv_head, int thread) {
        kernels_.attention_one_query(args, kv_head, scratch_of(thread));
      });
      return;
    }
    // The last queries see the most keys: first, for load balance.
    const std::int64_t blocks = divide_up(args.seq, kernels_.query_block);
    pool_.run(blocks * args.heads, [&](std::int64_t task, int thread) {
      const std::int64_t first = (blocks - 1 - task / args.heads) * kernels_.query_block;
      kernels_.attention_block(args, task % args.heads, first,
                               std::min(kernels_.query_block, args.seq - first),
                               scratch_of(thread));
    });
  }

  void silu_mul(ConstTensorView gate, ConstTensorView up, TensorView out) override {
    for_rows(gate.shape.elements(), 1, [&](std::int64_t first, std::int64_t count) {
      kernels_.silu_mul(gate.as<float>() + first, up.as<float>() + first, count,
                        out.as<float>() + first);
    });
  }

  void add(ConstTensorView x, TensorView accumulator) override {
    for_rows(x.shape.elements(), 1, [&](std::int64_t first, std::int64_t count) {
      kernels_.add(x.as<float>() + first, count, accumulator.as<float>() + first);
    });
  }

 private:
  void* allocate_bytes(std::size_t bytes) override { return allocate_aligned(bytes); }
  void release_bytes(void* data, std::size_t bytes) noexcept override {
    release_aligned(data, bytes);
  }

  // Calls body(first, count) for pieces of [0, rows) of about kElementsPerTask elements.
  template <class Body>
  void for_rows(std::int64_t rows, std::int64_t row_elements, const Body& body) {
    const std::int64_t piece =
        std::max<std::int64_t>(1, kElementsPerTask / std::max<std::int64_t>(1, row_elements));
    pool_.run(divide_up(rows, piece), [&](std::int64_t task, int) {
      body(task * piece, std::min(piece, rows - task * piece));
    });
  }

  void linear_rows(ConstTensorView x, ConstTensorView weight, TensorView out,
                   std::int64_t first_row, std::int64_t rows) {
    const std::int64_t in = weight.shape[1], outputs = weight.shape[0];
    LinearArgs args{x.as<float>() + offset(first_row, in),
                    nullptr,
                    rows,
                    in,
                    outputs,
                    weight.data,
                    stored_as(weight.dtype),
                    out.as<float>() + offset(first_row, outputs)};
    const std::int64_t threads = pool_.threads();
    if (rows <= kernels_.few_rows) {
      const std::int64_t piece = round_up(divide_up(outputs, 8 * threads), 16);
      pool_.run(divide_up(outputs, piece), [&](std::int64_t task, int) {
        kernels_.linear_few_rows(args, task * piece, std::min(piece, outputs - task * piece));
      });
      return;
    }
    float* packed = packed_x_.floats(kernels_.packed_floats(rows, in));
    reserve(kernels_.linear_scratch_floats(rows));
    pool_.run(divide_up(rows, kernels_.vector_floats),
              [&](std::int64_t task, int) { kernels_.pack_rows(args, task, packed); });
    args.packed_x = packed;
    const std::int64_t piece = std::clamp<std::int64_t>(
        round_up(divide_up(outputs, 4 * threads), 16), 16, kernels_.max_outputs);
    pool_.run(divide_up(outputs, piece), [&](std::int64_t task, int thread) {
      kernels_.linear_many_rows(args, task * piece, std::min(piece, outputs - task * piece),
                                scratch_of(thread));
    });
  }

  // Before the threads start: a task does not allocate, so it does not throw.
  void reserve(std::int64_t floats) {
    for (Scratch& scratch : scratch_) scratch.floats(floats);
    scratch_floats_ = floats;
  }
  float* scratch_of(int thread) {
    return scratch_[static_cast<std::size_t>(thread)].floats(scratch_floats_);
  }

  const Kernels& kernels_;
  ThreadPool pool_;
  std::vector<Scratch> scratch_;
  std::int64_t scratch_floats_ = 0;
  Scratch packed_x_;
};

}  // namespace

std::unique_ptr<Backend> make_backend(const Options& options) {
  return std::make_unique<Float32Backend>(options);
}

}  // namespace octlm::model::cpu
