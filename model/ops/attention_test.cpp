#include "model/ops/attention.h"

#include <cmath>

#include <array>
#include <limits>

#include "model/ops/testing/subject.h"
#include "model/ops/testing/tolerance.h"

namespace octlm::model::ops {
namespace {

using testing::OpTest;
using testing::Random;
using testing::Tensor;
using testing::UsedBound;

struct Sizes {
  std::int64_t seq, first_position, heads, kv_heads, head_dim, capacity;
};

struct Inputs {
  Sizes sizes;
  Tensor q, k_cache, v_cache;
};

class Attention : public OpTest {
 protected:
  // Positions that hold no key yet are NaN: reading one shows.
  Inputs inputs(Random& random, const Sizes& s) {
    Inputs in{s, random.normal(activation(), {s.seq, s.heads, s.head_dim}),
              random.normal(activation(), {s.kv_heads, s.capacity, s.head_dim}),
              random.normal(activation(), {s.kv_heads, s.capacity, s.head_dim})};
    for (std::int64_t i = 0; i < in.k_cache.size(); ++i) {
      if (i / s.head_dim % s.capacity < s.first_position + s.seq) continue;
      in.k_cache.set(i, std::numeric_limits<double>::quiet_NaN());
      in.v_cache.set(i, std::numeric_limits<double>::quiet_NaN());
    }
    return in;
  }

  double scale(const Sizes& s) const { return 1.0 / std::sqrt(static_cast<double>(s.head_dim)); }

  Tensor run(const Inputs& in) { return run(*backend_, in); }
  Tensor run(Backend& backend, const Inputs& in) {
    Tensor out(activation(), in.q.view().shape);
    attention(backend, in.q.view(), in.k_cache.view(), in.v_cache.view(), in.sizes.first_position,
              scale(in.sizes), out.view());
    return out;
  }

  void expect_formula(const Inputs& in, const Tensor& out) {
    const Values values{in.q.values(), in.k_cache.values(), in.v_cache.values()};
    UsedBound used;
    for (std::int64_t s = 0; s < in.sizes.seq; ++s) {
      for (std::int64_t h = 0; h < in.sizes.heads; ++h) {
        expect_query(in.sizes, values, s, h, out, used);
      }
    }
  }

  struct Values {
    std::vector<double> q, k, v;
  };

  void expect_query(const Sizes& z, const Values& values, std::int64_t s, std::int64_t h,
                    const Tensor& out, UsedBound& used) {
    const std::int64_t keys = z.first_position + s + 1, d = z.head_dim;
    const std::int64_t q0 = (s * z.heads + h) * d,
                       kv0 = h / (z.heads / z.kv_heads) * z.capacity * d;
    const double* q = values.q.data() + q0;
    const double* k = values.k.data() + kv0;
    const double* v_all = values.v.data() + kv0;
    std::vector<long double> p(static_cast<std::size_t>(keys));
    long double maximum = -1e30L, score_error = 0, sum = 0;
    for (std::int64_t j = 0; j < keys; ++j) {
      long double dot = 0, magnitude = 0;
      for (std::int64_t i = 0; i < d; ++i) {
        const long double product = static_cast<long double>(q[i]) * k[j * d + i];
        dot += product;
        magnitude += std::fabs(product);
      }
      p[static_cast<std::size_t>(j)] = dot * scale(z);
      maximum = std::max(maximum, p[static_cast<std::size_t>(j)]);
      // The sum's error; scaling, subtracting the maximum and reducing the exponent's argument.
      score_error = std::max(
          score_error, (testing::sum_factor(static_cast<double>(d)) + 4.0) * magnitude * scale(z));
    }
    for (long double& value : p) sum += value = std::exp(value - maximum);
    for (std::int64_t i = 0; i < d; ++i) {
      long double expected = 0, largest = 0;
      for (std::int64_t j = 0; j < keys; ++j) {
        const long double v = v_all[j * d + i];
        expected += p[static_cast<std::size_t>(j)] / sum * v;
        largest = std::max(largest, std::fabs(v));
      }
      // Numerator and denominator each carry the scores' error, e^x's 4 units, and a sum over the
      // keys.
      const long double factor =
          2 * (score_error + 4 + testing::sum_factor(static_cast<double>(keys)));
      used.compare(
          out[q0 + i], static_cast<double>(expected),
          static_cast<double>(factor * largest) * unit(),
          "query " + std::to_string(s) + " head " + std::to_string(h) + " at " + std::to_string(i));
    }
  }
};

TEST_P(Attention, EqualsTheFormulaAroundTheBlocks) {
  Random random(71);
  SCOPED_TRACE(random.trace());
  for (const std::int64_t seq : {1, 2, 3, 7, 16, 17, 48, 49, 65}) {
    for (const std::int64_t first : {0, 1, 30, 127, 600}) {
      for (const std::int64_t head_dim : {4, 34, 64}) {
        SCOPED_TRACE(Shape({seq, first, head_dim}).to_string() +
                     " = seq, first_position, head_dim");
        if (first == 600 && head_dim != 34) continue;
        const Inputs in = inputs(random, {seq, first, 4, 2, head_dim, first + seq + 5});
        expect_formula(in, run(in));
      }
    }
  }
}

TEST_P(Attention, EqualsTheFormulaAtTheHeadsOfModels) {
  Random random(72);
  SCOPED_TRACE(random.trace());
  for (const Sizes& s :
       {Sizes{20, 40, 16, 8, 128, 64}, Sizes{1, 63, 16, 8, 128, 64}, Sizes{20, 40, 9, 3, 64, 64},
        Sizes{1, 63, 9, 3, 64, 64}, Sizes{5, 3, 8, 1, 80, 8}, Sizes{1, 3, 70, 1, 16, 8}}) {
    SCOPED_TRACE(Shape({s.seq, s.heads, s.kv_heads, s.head_dim}).to_string());
    const Inputs in = inputs(random, s);
    expect_formula(in, run(in));
  }
}

// Two queries over five keys see 4 and 5 of them; one query sees all. A mask anchored top left
// gives 1 and 2, and no square case can tell (pytorch/pytorch#108108, ml-explore/mlx#2967). Equal
// scores: the output is the mean of the values seen.
TEST_P(Attention, MaskIsAnchoredAtTheBottomRight) {
  const Tensor k(activation(), {1, 5, 2}, std::vector<double>(10, 0.0));
  const Tensor v(activation(), {1, 5, 2},
                 std::array{1.0, 0.0, 2.0, 0.0, 4.0, 0.0, 8.0, 0.0, 16.0, 0.0});
  for (const std::int64_t seq : {2, 1}) {
    const Tensor q(activation(), {seq, 1, 2},
                   std::vector<double>(static_cast<std::size_t>(seq) * 2, 1.0));
    Tensor out(activation(), {seq, 1, 2});
    attention(*backend_, q.view(), k.view(), v.view(), 5 - seq, 1.0, out.view());
    EXPECT_NEAR(out[(seq - 1) * 2], 31.0 / 5.0, 1e-5);
    if (seq == 2) {
      EXPECT_NEAR(out[0], 15.0 / 4.0, 1e-5);
    }
  }
}

// Heads 0, 1 share KV head 0 and heads 2, 3 KV head 1; tiling would give 0, 1, 0, 1
// (onnx/onnx#7274).
TEST_P(Attention, NeighbouringHeadsShareAKvHead) {
  const Tensor k(activation(), {2, 5, 1}, std::vector<double>(10, 0.0));
  const Tensor v(activation(), {2, 5, 1},
                 std::array{0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0});
  for (const std::int64_t seq : {1, 3}) {
    const Tensor q(activation(), {seq, 4, 1},
                   std::vector<double>(static_cast<std::size_t>(seq) * 4, 1.0));
    Tensor out(activation(), {seq, 4, 1});
    attention(*backend_, q.view(), k.view(), v.view(), 5 - seq, 1.0, out.view());
    const std::array expected{2.0, 2.0, 7.0, 7.0};
    for (std::int64_t h = 0; h < 4; ++h) {
      EXPECT_NEAR(out[(seq - 1) * 4 + h], expected[static_cast<std::size_t>(h)], 1e-5) << h;
    }
  }
}

// Chunk-local positions, an offset added twice (huggingface/transformers#43082,
// huggingface/candle#3743).
TEST_P(Attention, SplittingTheQueriesChangesNothing) {
  Random random(73);
  SCOPED_TRACE(random.trace());
  const Inputs whole = inputs(random, {10, 0, 4, 2, 8, 10});
  const std::vector<std::vector<std::int64_t>> splits{
      {4, 4, 2}, {9, 1}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, {3, 3, 3, 1}};
  for (const auto& split : splits) {
    Tensor out(activation(), {10, 4, 8});
    std::int64_t first = 0;
    for (const std::int64_t n : split) {
      attention(*backend_, rows(whole.q.view(), first, n), whole.k_cache.view(),
                whole.v_cache.view(), first, scale(whole.sizes), rows(out.view(), first, n));
      first += n;
    }
    expect_formula(whole, out);
  }
}

TEST_P(Attention, LargeScoresDoNotOverflow) {
  const Tensor q(activation(), {1, 1, 1}, std::array{1.0});
  const Tensor k(activation(), {1, 3, 1}, std::array{5000.0, 4990.0, -5000.0});
  const Tensor v(activation(), {1, 3, 1}, std::array{1.0, 2.0, 3.0});
  for (const std::int64_t seq : {1, 3}) {
    const Tensor queries(activation(), {seq, 1, 1},
                         std::vector<double>(static_cast<std::size_t>(seq), 1.0));
    Tensor out(activation(), {seq, 1, 1});
    attention(*backend_, queries.view(), k.view(), v.view(), 3 - seq, 1.0, out.view());
    EXPECT_NEAR(out[seq - 1], 1.0 + 1.0 / (1.0 + std::exp(10.0)), 1e-6);
  }
}

// A whole first block of keys at -infinity, then finite ones.
TEST_P(Attention, KeysAtMinusInfinityWeighNothing) {
  const std::int64_t total = 700;
  for (const std::int64_t seq : {1, 4}) {
    std::vector<double> keys(static_cast<std::size_t>(total),
                             -std::numeric_limits<double>::infinity());
    for (std::int64_t j = total - 8; j < total; ++j) keys[static_cast<std::size_t>(j)] = 0.0;
    const std::vector<double> values(static_cast<std::size_t>(total), 3.0);
    const Tensor q(activation(), {seq, 1, 1},
                   std::vector<double>(static_cast<std::size_t>(seq), 1.0));
    Tensor out(activation(), {seq, 1, 1});
    attention(*backend_, q.view(), Tensor(activation(), {1, total, 1}, keys).view(),
              Tensor(activation(), {1, total, 1}, values).view(), total - seq, 1.0, out.view());
    for (std::int64_t s = 0; s < seq; ++s) EXPECT_NEAR(out[s], 3.0, 1e-6);
  }
}

TEST_P(Attention, NanReachesThoseWhoSeeItAndNoOthers) {
  Random random(74);
  SCOPED_TRACE(random.trace());
  for (const bool in_values : {false, true}) {
    Inputs in = inputs(random, {20, 3, 2, 2, 6, 23});
    Tensor& cache = in_values ? in.v_cache : in.k_cache;
    cache.set(10 * 6 + 2, std::numeric_limits<double>::quiet_NaN());  // KV head 0, position 10
    const Tensor out = run(in);
    for (std::int64_t s = 0; s < 20; ++s) {
      EXPECT_EQ(std::isnan(out[s * 12 + 2]), 3 + s >= 10)
          << "query " << s << " values " << in_values;
      EXPECT_FALSE(std::isnan(out[s * 12 + 8])) << "the other head";
    }
  }
}

TEST_P(Attention, SameBitsAgainAndWithAnyNumberOfThreads) {
  Random random(75);
  SCOPED_TRACE(random.trace());
  for (const std::int64_t seq : {1, 70}) {
    const Inputs in = inputs(random, {seq, 200, 6, 3, 32, 300});
    const auto bytes = run(in).bytes();
    EXPECT_EQ(run(in).bytes(), bytes);
    for (const int threads : {1, 3, 5})
      EXPECT_EQ(run(*with_threads(threads), in).bytes(), bytes) << threads;
  }
}

TEST_P(Attention, RefusesWhatDoesNotFit) {
  Tensor q(activation(), {2, 4, 8}), k(activation(), {3, 5, 8}), v(activation(), {3, 5, 8}),
      out(activation(), {2, 4, 8});
  const auto message = [&](std::int64_t first) {
    try {
      attention(*backend_, q.view(), k.view(), v.view(), first, 1.0, out.view());
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(message(0), "[attention] 4 query heads cannot share 3 KV heads");
  k = v = Tensor(activation(), {2, 5, 8});
  EXPECT_EQ(message(4), "[attention] positions 4 to 6 are not in a cache of 5");
  EXPECT_EQ(message(-1), "[attention] positions -1 to 1 are not in a cache of 5");
}

INSTANTIATE_TEST_SUITE_P(, Attention, ::testing::ValuesIn(testing::all_backends()),
                         testing::subject_name);

}  // namespace
}  // namespace octlm::model::ops
