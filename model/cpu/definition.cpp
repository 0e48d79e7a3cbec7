// What every operation means: float64, each result computed by its formula in the order it is read.
// Independent results are spread over threads, and linear() works on a few rows at a time so that a
// whole model is bearable; neither changes any result.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "model/cpu/backend.h"
#include "model/cpu/memory.h"
#include "model/cpu/stored_values.h"
#include "model/cpu/thread_pool.h"

namespace octlm::model::cpu {
namespace {

class Definition final : public Backend {
 public:
  explicit Definition(const Options& options)
      : pool_(options.threads), scratch_(static_cast<std::size_t>(pool_.threads())) {}

  std::string name() const override { return "definition"; }
  std::string description() const override {
    const int threads = pool_.threads();
    return "definition float64, " + std::to_string(threads) +
           (threads == 1 ? " thread" : " threads");
  }
  DType activation_dtype() const override { return DType::kFloat64; }

  void embedding(ConstTensorView table, std::span<const std::int32_t> ids,
                 TensorView out) override {
    const std::int64_t hidden = table.shape[1];
    double* result = out.as<double>();
    for (const std::int64_t id : ids) {
      for (std::int64_t i = 0; i < hidden; ++i) *result++ = stored_value(table, id * hidden + i);
    }
  }

  // weight * x / sqrt(mean(x^2) + eps)
  void rms_norm(ConstTensorView x, ConstTensorView weight, double eps, TensorView out) override {
    const std::int64_t hidden = weight.shape[0];
    if (hidden == 0) return;
    pool_.run(x.shape.elements() / hidden, [&](std::int64_t r, int) {
      const double* row = x.as<double>() + r * hidden;
      double* result = out.as<double>() + r * hidden;
      double sum = 0.0;
      for (std::int64_t i = 0; i < hidden; ++i) sum += row[i] * row[i];
      const double scale = 1.0 / std::sqrt(sum / static_cast<double>(hidden) + eps);
      for (std::int64_t i = 0; i < hidden; ++i)
        result[i] = stored_value(weight, i) * (row[i] * scale);
    });
  }

  // y[r, o] = sum_k x[r, k] weight[o, k]
  void linear(ConstTensorView x, ConstTensorView weight, TensorView out) override {
    const std::int64_t rows = x.shape[0], outputs = weight.shape[0], in = weight.shape[1];
    for (Scratch& scratch : scratch_) scratch.doubles(in);
    constexpr std::int64_t kOutputsPerTask = 8;
    pool_.run((outputs + kOutputsPerTask - 1) / kOutputsPerTask,
              [&](std::int64_t task, int thread) {
                double* w = scratch_[static_cast<std::size_t>(thread)].doubles(in);
                const std::int64_t last = std::min(outputs, (task + 1) * kOutputsPerTask);
                for (std::int64_t o = task * kOutputsPerTask; o < last; ++o) {
                  for (std::int64_t k = 0; k < in; ++k) w[k] = stored_value(weight, o * in + k);
                  std::int64_t r = 0;
                  for (; r + 8 <= rows; r += 8) dot_products<8>(x, w, r, in, o, out);
                  for (; r < rows; ++r) dot_products<1>(x, w, r, in, o, out);
                }
              });
  }

  // (a, b) -> (a cos - b sin, b cos + a sin) for a = x[i], b = x[i + head_dim / 2]
  void rope(TensorView x, ConstTensorView cos, ConstTensorView sin) override {
    const std::int64_t heads = x.shape[1], half = x.shape[2] / 2;
    pool_.run(x.shape[0], [&](std::int64_t s, int) {
      for (std::int64_t h = 0; h < heads; ++h) {
        double* head = x.as<double>() + (s * heads + h) * 2 * half;
        for (std::int64_t i = 0; i < half; ++i) {
          const double c = stored_value(cos, s * half + i), n = stored_value(sin, s * half + i);
          const double a = head[i], b = head[i + half];
          head[i] = a * c - b * n;
          head[i + half] = b * c + a * n;
        }
      }
    });
  }

  void kv_store(ConstTensorView x, std::int64_t first_position, TensorView cache) override {
    const std::int64_t kv_heads = x.shape[1], head_dim = x.shape[2], capacity = cache.shape[1];
    for (std::int64_t s = 0; s < x.shape[0]; ++s) {
      for (std::int64_t h = 0; h < kv_heads; ++h) {
        std::copy_n(x.as<double>() + (s * kv_heads + h) * head_dim, head_dim,
                    cache.as<double>() + (h * capacity + first_position + s) * head_dim);
      }
    }
  }

  // softmax_j(scale q . k_j) v_j over the keys j <= first_position + s
  void attention(ConstTensorView q, ConstTensorView k_cache, ConstTensorView v_cache,
                 std::int64_t first_position, double scale, TensorView out) override {
    const std::int64_t heads = q.shape[1], head_dim = q.shape[2];
    const std::int64_t group = heads / k_cache.shape[0], capacity = k_cache.shape[1];
    for (Scratch& scratch : scratch_) scratch.doubles(first_position + q.shape[0]);
    pool_.run(q.shape[0] * heads, [&](std::int64_t task, int thread) {
      const std::int64_t s = task / heads, h = task % heads, keys = first_position + s + 1;
      double* p = scratch_[static_cast<std::size_t>(thread)].doubles(keys);
      const double* query = q.as<double>() + task * head_dim;
      const double* k = k_cache.as<double>() + h / group * capacity * head_dim;
      const double* v = v_cache.as<double>() + h / group * capacity * head_dim;
      double maximum = -std::numeric_limits<double>::infinity();
      for (std::int64_t j = 0; j < keys; ++j) {
        double dot = 0.0;
        for (std::int64_t d = 0; d < head_dim; ++d) dot += query[d] * k[j * head_dim + d];
        p[j] = dot * scale;
        maximum = std::max(maximum, p[j]);
      }
      double sum = 0.0;
      for (std::int64_t j = 0; j < keys; ++j) {
        p[j] = std::exp(p[j] - maximum);
        sum += p[j];
      }
      double* result = out.as<double>() + task * head_dim;
      std::fill_n(result, head_dim, 0.0);
      for (std::int64_t j = 0; j < keys; ++j) {
        for (std::int64_t d = 0; d < head_dim; ++d) result[d] += p[j] * v[j * head_dim + d];
      }
      for (std::int64_t d = 0; d < head_dim; ++d) result[d] /= sum;
    });
  }

  // gate / (1 + e^-gate) * up
  void silu_mul(ConstTensorView gate, ConstTensorView up, TensorView out) override {
    each(gate.shape.elements(), [&](std::int64_t i) {
      const double g = gate.as<double>()[i];
      out.as<double>()[i] = g / (1.0 + std::exp(-g)) * up.as<double>()[i];
    });
  }

  void add(ConstTensorView x, TensorView accumulator) override {
    each(x.shape.elements(),
         [&](std::int64_t i) { accumulator.as<double>()[i] += x.as<double>()[i]; });
  }

 private:
  void* allocate_bytes(std::size_t bytes) override { return allocate_aligned(bytes); }
  void release_bytes(void* data, std::size_t bytes) noexcept override {
    release_aligned(data, bytes);
  }

  template <class Body>
  void each(std::int64_t elements, const Body& body) {
    constexpr std::int64_t kPerTask = 8192;
    pool_.run((elements + kPerTask - 1) / kPerTask, [&](std::int64_t task, int) {
      const std::int64_t last = std::min(elements, (task + 1) * kPerTask);
      for (std::int64_t i = task * kPerTask; i < last; ++i) body(i);
    });
  }

  // Output o of `Rows` rows from r on: independent sums side by side, so that the CPU can overlap
  // them.
  template <int Rows>
  static void dot_products(const ConstTensorView& x, const double* w, std::int64_t r,
                           std::int64_t in, std::int64_t o, TensorView& out) {
    const double* rows = x.as<double>() + r * in;
    double sum[Rows] = {};
    for (std::int64_t k = 0; k < in; ++k) {
      for (int i = 0; i < Rows; ++i) sum[i] += rows[i * in + k] * w[k];
    }
    for (int i = 0; i < Rows; ++i) out.as<double>()[(r + i) * out.shape[1] + o] = sum[i];
  }

  ThreadPool pool_;
  std::vector<Scratch> scratch_;
};

}  // namespace

std::unique_ptr<Backend> make_definition(const Options& options) {
  return std::make_unique<Definition>(options);
}

}  // namespace octlm::model::cpu
