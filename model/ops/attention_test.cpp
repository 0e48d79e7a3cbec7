#include "model/ops/attention.h"

#include <cmath>

#include <algorithm>
#include <array>
#include <limits>

#include "model/ops/testing/op_case.h"
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
  // first_position and scale are those of the sizes.
  AttentionArguments arguments{};
};

class Attention : public OpTest {
 protected:
  // Positions that hold no key yet are NaN: reading one shows.
  Inputs inputs(Random& random, const Sizes& s) {
    Inputs in{s,
              random.normal(activation(), {s.seq, s.heads, s.head_dim}),
              random.normal(activation(), {s.kv_heads, s.capacity, s.head_dim}),
              random.normal(activation(), {s.kv_heads, s.capacity, s.head_dim}),
              {}};
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
    AttentionArguments arguments = in.arguments;
    arguments.first_position = in.sizes.first_position;
    arguments.scale = scale(in.sizes);
    attention(backend, testing::here(backend, in.q), testing::here(backend, in.k_cache),
              testing::here(backend, in.v_cache), arguments, testing::back(backend, out));
    return out;
  }

  void expect_formula(const Inputs& in, const Tensor& out) {
    const Values values{in.q.values(), in.k_cache.values(), in.v_cache.values()};
    UsedBound used;
    for (std::int64_t s = 0; s < in.sizes.seq; ++s) {
      for (std::int64_t h = 0; h < in.sizes.heads; ++h) {
        expect_query(in, values, s, h, out, used);
      }
    }
  }

  struct Values {
    std::vector<double> q, k, v;
  };

  static std::int64_t keys_of(const Inputs& in, std::int64_t s) {
    const std::int64_t stored = in.sizes.first_position + in.sizes.seq;
    if (!in.arguments.causal) return stored;
    const std::int64_t seen = in.sizes.first_position + s + 1 + in.arguments.mask_offset;
    return std::min(stored, std::max<std::int64_t>(1, seen));
  }

  void expect_query(const Inputs& in, const Values& values, std::int64_t s, std::int64_t h,
                    const Tensor& out, UsedBound& used) {
    const Sizes& z = in.sizes;
    const std::int64_t keys = keys_of(in, s), d = z.head_dim;
    const bool tiled = in.arguments.kv_mapping == KvMapping::kTile;
    const std::int64_t kv_head = tiled ? h % z.kv_heads : h / (z.heads / z.kv_heads);
    const std::int64_t q0 = (s * z.heads + h) * d, kv0 = kv_head * z.capacity * d;
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

// Arguments that only a planted fault gives: each against the formula, and away from the usual
// result.
TEST_P(Attention, EqualsTheFormulaForEveryArgument) {
  Random random(76);
  SCOPED_TRACE(random.trace());
  const std::vector<AttentionArguments> all = {
      {.first_position = 0, .scale = 0, .kv_mapping = KvMapping::kTile},
      {.first_position = 0, .scale = 0, .mask_offset = -1},
      {.first_position = 0, .scale = 0, .mask_offset = 1},
      {.first_position = 0, .scale = 0, .mask_offset = -100},
      {.first_position = 0, .scale = 0, .causal = false},
      {.first_position = 0, .scale = 0, .kv_mapping = KvMapping::kTile, .causal = false}};
  for (const std::int64_t seq : {1, 5, 33}) {
    for (const std::int64_t first : {0, 7}) {
      Inputs in = inputs(random, {seq, first, 6, 2, 20, first + seq + 3});
      const auto usual = run(in).bytes();
      for (const AttentionArguments& arguments : all) {
        in.arguments = arguments;
        const Tensor out = run(in);
        expect_formula(in, out);
        const bool changes =
            arguments.kv_mapping == KvMapping::kTile || keys_of(in, 0) != first + 1;
        EXPECT_EQ(out.bytes() != usual, changes || (seq > 1 && arguments.mask_offset < 0))
            << seq << " from " << first;
      }
    }
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
    attention(*backend_, here(q), here(k), here(v), {.first_position = 5 - seq, .scale = 1.0},
              back(out));
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
    attention(*backend_, here(q), here(k), here(v), {.first_position = 5 - seq, .scale = 1.0},
              back(out));
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
      attention(*backend_, rows(here(whole.q).view(), first, n), here(whole.k_cache),
                here(whole.v_cache), {.first_position = first, .scale = scale(whole.sizes)},
                rows(back(out).view(), first, n));
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
    attention(*backend_, here(queries), here(k), here(v), {.first_position = 3 - seq, .scale = 1.0},
              back(out));
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
    attention(*backend_, here(q), here(Tensor(activation(), {1, total, 1}, keys)),
              here(Tensor(activation(), {1, total, 1}, values)),
              {.first_position = total - seq, .scale = 1.0}, back(out));
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
      attention(*backend_, here(q), here(k), here(v), {.first_position = first, .scale = 1.0},
                back(out));
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
                         testing::op_case_name);

}  // namespace
}  // namespace octlm::model::ops
