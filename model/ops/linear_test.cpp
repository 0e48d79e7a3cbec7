#include "model/ops/linear.h"

#include <gmock/gmock.h>

#include <cmath>

#include <limits>

#include "model/ops/testing/op_case.h"
#include "model/ops/testing/tolerance.h"

namespace octlm::model::ops {
namespace {

using testing::OpTest;
using testing::Random;
using testing::Tensor;
using testing::UsedBound;

class Linear : public OpTest {
 protected:
  Tensor run(const Tensor& x, const Tensor& weight) { return run(*backend_, x, weight); }
  Tensor run(Backend& backend, const Tensor& x, const Tensor& weight) {
    Tensor out(activation(), {x.view().shape[0], weight.view().shape[0]});
    linear(backend, testing::here(backend, x), backend.make_weight(weight.view()),
           testing::back(backend, out));
    return out;
  }

  // Against the formula in long double, output by output; every `stride`-th one.
  void expect_formula(const Tensor& x, const Tensor& weight, const Tensor& out,
                      std::int64_t stride = 1) {
    const std::int64_t in = weight.view().shape[1], outputs = weight.view().shape[0];
    const std::vector<double> xs = x.values(), ws = weight.values();
    UsedBound used;
    for (std::int64_t i = 0; i < out.size(); i += stride) {
      const std::int64_t r = i / outputs, o = i % outputs;
      long double sum = 0, magnitude = 0;
      const double* row = xs.data() + r * in;
      const double* w = ws.data() + o * in;
      for (std::int64_t k = 0; k < in; ++k) {
        const long double product = static_cast<long double>(row[k]) * w[k];
        sum += product;
        magnitude += std::fabs(product);
      }
      used.compare(
          out[i], static_cast<double>(sum),
          testing::sum_factor(static_cast<double>(in)) * unit() * static_cast<double>(magnitude),
          "row " + std::to_string(r) + " output " + std::to_string(o));
    }
  }
};

TEST_P(Linear, EqualsTheFormulaAtEverySizeAroundTheTiles) {
  Random random(20240601);
  SCOPED_TRACE(random.trace());
  for (const std::int64_t rows : {1, 2, 3, 7, 12, 13, 16, 17, 24, 33, 65}) {
    for (const std::int64_t in : {1, 3, 16, 17, 129, 300}) {
      for (const std::int64_t outputs : {1, 3, 7, 17, 33, 136}) {
        SCOPED_TRACE(Shape({rows, in, outputs}).to_string() + " = rows, in, out");
        const Tensor x = random.normal(activation(), {rows, in});
        const Tensor weight = random.normal(stored(), {outputs, in});
        expect_formula(x, weight, run(x, weight));
      }
    }
  }
}

TEST_P(Linear, EqualsTheFormulaAtTheSizeOfAModel) {
  Random random(7);
  SCOPED_TRACE(random.trace());
  for (const std::int64_t rows : {1, 7, 20, 200}) {
    const Tensor x = random.normal(activation(), {rows, 1024});
    const Tensor weight = random.normal(stored(), {576, 1024});
    expect_formula(x, weight, run(x, weight), 97);
  }
}

TEST_P(Linear, EqualsTheFormulaBeyondOneBlockOfRows) {
  Random random(8);
  SCOPED_TRACE(random.trace());
  const Tensor x = random.normal(activation(), {530, 48});
  const Tensor weight = random.normal(stored(), {20, 48});
  expect_formula(x, weight, run(x, weight));
}

// Partial sums in 16 bits give 0: 1025 rounds to 1024 in bfloat16 (pytorch/pytorch#92599).
TEST_P(Linear, CancellationIsExact) {
  std::vector<double> w(4096, 0.0);
  std::fill_n(w.begin(), 1025, 1.0);
  std::fill_n(w.begin() + 2048, 1024, -1.0);
  for (const std::int64_t rows : {1, 6, 40}) {
    const std::vector<double> ones(static_cast<std::size_t>(rows) * 4096, 1.0);
    const Tensor out =
        run(Tensor(activation(), {rows, 4096}, ones), Tensor(stored(), {1, 4096}, w));
    for (std::int64_t r = 0; r < rows; ++r) EXPECT_EQ(out[r], 1.0) << "row " << r << " of " << rows;
  }
}

// Ten bits of mantissa cannot hold it (microsoft/onnxruntime#19541).
TEST_P(Linear, KeepsElevenBitsOfMantissa) {
  std::vector<double> diagonal(64 * 64, 0.0), identity(64 * 64, 0.0);
  for (std::size_t i = 0; i < 64; ++i) {
    diagonal[i * 65] = 1.0 + 0x1p-11;
    identity[i * 65] = 1.0;
  }
  const Tensor out =
      run(Tensor(activation(), {64, 64}, diagonal), Tensor(stored(), {64, 64}, identity));
  for (std::int64_t i = 0; i < 64; ++i) EXPECT_EQ(out[i * 65], 1.00048828125);
}

TEST_P(Linear, NanAndInfinityReachTheirOutputsAndNoOthers) {
  Random random(9);
  SCOPED_TRACE(random.trace());
  for (const std::int64_t rows : {1, 5, 40}) {
    Tensor x = random.normal(activation(), {rows, 37});
    Tensor weight = random.normal(stored(), {21, 37});
    x.set((rows - 1) * 37 + 36, std::numeric_limits<double>::quiet_NaN());
    weight.set(20 * 37 + 5, std::numeric_limits<double>::infinity());
    const Tensor out = run(x, weight);
    for (std::int64_t i = 0; i < out.size(); ++i) {
      const bool nan_row = i / 21 == rows - 1, infinite_output = i % 21 == 20;
      EXPECT_EQ(std::isnan(out[i]), nan_row) << i;
      if (!nan_row) {
        EXPECT_EQ(std::isinf(out[i]), infinite_output) << i;
      }
    }
  }
}

TEST_P(Linear, SameBitsAgainAndWithAnyNumberOfThreads) {
  Random random(10);
  SCOPED_TRACE(random.trace());
  for (const std::int64_t rows : {1, 6, 70}) {
    const Tensor x = random.normal(activation(), {rows, 300});
    const Tensor weight = random.normal(stored(), {331, 300});
    const auto bytes = run(x, weight).bytes();
    EXPECT_EQ(run(x, weight).bytes(), bytes) << "again, rows " << rows;
    for (const int threads : {1, 3, 5}) {
      EXPECT_EQ(run(*with_threads(threads), x, weight).bytes(), bytes)
          << threads << " threads, rows " << rows;
    }
  }
}

TEST_P(Linear, RefusesWhatDoesNotFit) {
  Tensor x(activation(), {2, 8}), weight(stored(), {3, 8}), out(activation(), {2, 3});
  const auto message = [&](ConstTensorView xs, const Weight& w, TensorView os) {
    try {
      linear(*backend_, xs, w, os);
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  const Weight w = weight_of(weight);
  EXPECT_EQ(message(here(x), weight_of(Tensor(stored(), {3, 7})), back(out)),
            "[linear] weight is [3, 7], expected [out, 8]");
  Tensor long_out(activation(), {2, 4});
  EXPECT_EQ(message(here(x), w, back(long_out)), "[linear] out is [2, 4], expected [2, 3]");
  EXPECT_THAT(message(here(Tensor(DType::kFloat16, {2, 8})), w, back(out)),
              ::testing::HasSubstr("x is float16, expected"));
  const testing::Placed placed = here(x);
  TensorView inside = placed.view();
  inside.shape = {2, 3};
  EXPECT_EQ(message(placed, w, inside), "[linear] out overlaps x");
}

INSTANTIATE_TEST_SUITE_P(, Linear, ::testing::ValuesIn(testing::all_op_cases()),
                         testing::op_case_name);

}  // namespace
}  // namespace octlm::model::ops
