#include "verify/metrics.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "verify/workers.h"

namespace octlm::verify {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

using Rows = std::vector<std::vector<float>>;

RowComparison compared(const Rows& subject, const Rows& reference, int threads = 1) {
  RowComparison comparison(threads);
  for (std::size_t i = 0; i < subject.size(); ++i) {
    comparison.add(static_cast<std::int64_t>(i), subject[i], reference[i]);
  }
  return comparison;
}

double number(const RowComparison& comparison, const std::string& name) {
  return std::get<double>(comparison.metrics().at(name));
}
Agreement top1(const RowComparison& comparison) {
  return std::get<Agreement>(comparison.metrics().at("top1_agreement@1"));
}
bool finite(const RowComparison& comparison) {
  return std::get<bool>(comparison.metrics().at("finite@1"));
}

Rows random_rows(std::size_t rows, std::size_t columns, unsigned seed, float spread = 5) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, spread);
  Rows all(rows, std::vector<float>(columns));
  for (auto& row : all) std::ranges::generate(row, [&] { return normal(random); });
  return all;
}

// --- an independent computation: textbook formulas in long double, one metric at a time
// --------------

std::vector<long double> softmax(const std::vector<float>& row) {
  const long double top = *std::ranges::max_element(row);
  std::vector<long double> p;
  for (const float x : row) p.push_back(std::exp(static_cast<long double>(x) - top));
  const long double z = std::accumulate(p.begin(), p.end(), 0.0L);
  for (auto& one : p) one /= z;
  return p;
}

// Counts the floats between by stepping, so small distances only.
std::int64_t steps_between(float a, float b) {
  std::int64_t steps = 0;
  for (; a < b; a = std::nextafter(a, kInf)) ++steps;
  for (; a > b; a = std::nextafter(a, -kInf)) ++steps;
  return steps;
}

struct Textbook {
  long double max_abs = 0, mean_abs = 0, rel_l2 = 0, kl_max = 0;
  Agreement top1;
};

Textbook textbook(const Rows& subject, const Rows& reference) {
  Textbook t;
  long double difference2 = 0, reference2 = 0, count = 0;
  for (std::size_t i = 0; i < subject.size(); ++i) {
    const auto p = softmax(reference[i]), q = softmax(subject[i]);
    long double kl = 0;
    for (std::size_t j = 0; j < subject[i].size(); ++j) {
      const long double d = std::fabs(static_cast<long double>(subject[i][j]) - reference[i][j]);
      t.max_abs = std::max(t.max_abs, d);
      t.mean_abs += d;
      difference2 += d * d;
      reference2 += static_cast<long double>(reference[i][j]) * reference[i][j];
      count += 1;
      if (p[j] > 0) kl += p[j] * std::log(p[j] / q[j]);
    }
    t.kl_max = std::max(t.kl_max, kl);
    ++t.top1.of;
    t.top1.agree += std::ranges::max_element(subject[i]) - subject[i].begin() ==
                    std::ranges::max_element(reference[i]) - reference[i].begin();
  }
  t.mean_abs /= count;
  t.rel_l2 = std::sqrt(difference2 / reference2);
  return t;
}

TEST(RowComparison, AgreesWithTheTextbook) {
  for (const std::size_t columns : {1U, 2U, 5U, 4095U, 4096U, 4097U, 10000U}) {
    const Rows reference = random_rows(7, columns, 1);
    Rows subject = reference;
    std::mt19937 random(2);
    for (auto& row : subject) {
      for (float& x : row) x += std::normal_distribution<float>(0, 1)(random);
    }
    const RowComparison got = compared(subject, reference);
    const Textbook want = textbook(subject, reference);
    const auto near = [&](const char* name, long double value) {
      EXPECT_NEAR(number(got, name), static_cast<double>(value),
                  1e-12 * static_cast<double>(1 + value))
          << name << ", " << columns << " columns";
    };
    EXPECT_EQ(number(got, "max_abs_error@1"), static_cast<double>(want.max_abs));
    near("mean_abs_error@1", want.mean_abs);
    near("rel_l2@1", want.rel_l2);
    near("kl_max@1", want.kl_max);
    EXPECT_EQ(top1(got), want.top1);
    EXPECT_TRUE(finite(got));
  }
}

TEST(RowComparison, EqualRowsAreEqual) {
  const Rows rows = random_rows(3, 5000, 3);
  const RowComparison got = compared(rows, rows);
  for (const char* name :
       {"max_abs_error@1", "mean_abs_error@1", "rel_l2@1", "max_ulp@1", "kl_max@1"}) {
    EXPECT_EQ(number(got, name), 0) << name;
  }
  EXPECT_EQ(top1(got), (Agreement{3, 3}));
  EXPECT_TRUE(finite(got));
}

TEST(RowComparison, NoRowsNoMetrics) {
  EXPECT_TRUE(RowComparison(1).metrics().empty());
  EXPECT_FALSE(RowComparison(1).worst());
  RowComparison comparison(1);
  comparison.add_rows({}, {}, {});
  EXPECT_TRUE(comparison.metrics().empty());
}

TEST(RowComparison, UnequalLengthsThrow) {
  const std::vector<float> three(3), two(2), none;
  const std::vector<std::int64_t> labels = {0, 1};
  RowComparison comparison(1);
  EXPECT_THROW(comparison.add(0, three, two), std::invalid_argument);
  EXPECT_THROW(comparison.add(0, two, three), std::invalid_argument);
  EXPECT_THROW(comparison.add(0, none, none), std::invalid_argument);
  EXPECT_THROW(comparison.add_rows(labels, three, three), std::invalid_argument);
  EXPECT_THROW(comparison.add_rows(labels, none, none), std::invalid_argument);
  EXPECT_EQ(comparison.rows(), 0);
  comparison.add(0, three, three);
  EXPECT_THROW(comparison.add(1, two, two), std::invalid_argument);
  EXPECT_EQ(comparison.rows(), 1);
}

// --- cases built to fool it
// --------------------------------------------------------------------------

// I1 (pytorch/pytorch#58383): 0 against 0 must not become NaN, and the place is known.
TEST(RowComparison, ZeroAgainstZeroIsNoError) {
  const RowComparison got = compared({{0, 1}}, {{0, 2}});
  EXPECT_EQ(number(got, "rel_l2@1"), 0.5);
  EXPECT_EQ(got.worst()->column, 1);
  EXPECT_EQ(got.worst()->subject, 1);
  EXPECT_EQ(got.worst()->reference, 2);
  EXPECT_EQ(got.worst()->ulps, 1 << 23);
  EXPECT_EQ(number(compared({{0, 0}}, {{0, 0}}), "rel_l2@1"), 0);
  EXPECT_EQ(number(compared({{0, 1}}, {{0, 0}}), "rel_l2@1"), INFINITY);
}

// I3 (huggingface/transformers#8829): signed differences must not cancel.
TEST(RowComparison, DifferencesDoNotCancel) {
  for (const auto& [subject, reference] :
       {std::pair<Rows, Rows>{{{0, 0}}, {{5, 5}}}, {{{5, -5}}, {{0, 0}}}}) {
    const RowComparison got = compared(subject, reference);
    EXPECT_EQ(number(got, "max_abs_error@1"), 5);
    EXPECT_EQ(number(got, "mean_abs_error@1"), 5);
  }
}

// I5 (IonDen/mlx-taef#7), I18 (vllm-project/vllm#7652): scaled logits have cosine 1 and the same
// argmax.
TEST(RowComparison, ScaledLogitsAreFarAway) {
  const Rows reference = random_rows(4, 1000, 5);
  for (const float scale : {2.0F, 1.5F, 1.1F}) {
    Rows subject = reference;
    for (auto& row : subject) {
      for (float& x : row) x *= scale;
    }
    const RowComparison got = compared(subject, reference);
    EXPECT_EQ(top1(got), (Agreement{4, 4}));  // fooled, as it must be
    EXPECT_NEAR(number(got, "rel_l2@1"), static_cast<double>(scale) - 1, 1e-6);
    EXPECT_GT(number(got, "max_abs_error@1"), 1);
    EXPECT_GT(number(got, "kl_max@1"), 1e-3);
  }
}

// A constant added to every logit changes no probability: KL is blind to it, the others are not.
TEST(RowComparison, AShiftIsSeenAlthoughKlIsBlind) {
  const Rows reference = random_rows(2, 1000, 6);
  Rows subject = reference;
  for (auto& row : subject) {
    for (float& x : row) x += 1;
  }
  const RowComparison got = compared(subject, reference);
  EXPECT_LT(number(got, "kl_max@1"), 1e-6);
  EXPECT_NEAR(number(got, "max_abs_error@1"), 1, 1e-6);
}

TEST(RowComparison, PermutedColumnsAreSeen) {
  const Rows reference = random_rows(2, 1000, 7);
  Rows subject = reference;
  for (auto& row : subject) std::ranges::rotate(row, row.begin() + 1);
  const RowComparison got = compared(subject, reference);
  EXPECT_GT(number(got, "rel_l2@1"), 1);
  EXPECT_GT(number(got, "kl_max@1"), 0.1);
  EXPECT_EQ(top1(got).agree, 0);
}

TEST(RowComparison, OneBadPlaceInAMillionIsFound) {
  const Rows reference = random_rows(100, 10000, 8);
  Rows subject = reference;
  subject[57][8191] += 0.25F;
  const RowComparison got = compared(subject, reference, 2);
  EXPECT_NEAR(number(got, "max_abs_error@1"), 0.25, 1e-6);
  EXPECT_EQ(got.worst()->row, 57);
  EXPECT_EQ(got.worst()->column, 8191);
  EXPECT_LT(number(got, "mean_abs_error@1"), 1e-6);
}

TEST(RowComparison, OfEqualErrorsTheFirstPlaceIsKept) {
  const RowComparison got = compared({{0, 1, 1}, {1, 0, 0}}, {{0, 0, 0}, {0, 0, 0}});
  EXPECT_EQ(got.worst()->row, 0);
  EXPECT_EQ(got.worst()->column, 1);
}

TEST(RowComparison, TiesGoToTheLowestColumn) {
  EXPECT_EQ(top1(compared({{1, 3, 3}}, {{1, 3, 3}})), (Agreement{1, 1}));
  EXPECT_EQ(top1(compared({{1, 3, 3}}, {{1, 2, 3}})), (Agreement{0, 1}));
  std::vector<float> wide(10000, 0);  // across blocks
  wide[5000] = wide[9999] = 1;
  std::vector<float> early = wide;
  early[5000] = 0;
  EXPECT_EQ(top1(compared({wide}, {wide})), (Agreement{1, 1}));
  EXPECT_EQ(top1(compared({wide}, {early})), (Agreement{0, 1}));
  EXPECT_EQ(compared({wide}, {wide}).worst()->subject_top5[0].column, 5000);
  EXPECT_EQ(compared({wide}, {wide}).worst()->subject_top5[2].column, 0);
}

TEST(RowComparison, UlpsCountTheFloatsBetween) {
  const float denormal = std::numeric_limits<float>::denorm_min();
  const std::pair<float, float> pairs[] = {
      {0.0F, -0.0F},
      {denormal, 0.0F},
      {denormal, -denormal},
      {1.0F, std::nextafter(1.0F, 2.0F)},
      {1.0F, std::nextafter(1.0F, 0.0F)},
      {-1.0F, std::nextafter(-1.0F, 0.0F)},
      {std::nextafter(2.0F, 0.0F), std::nextafter(2.0F, 3.0F)},
      {std::numeric_limits<float>::min(), std::numeric_limits<float>::min() - denormal}};
  for (const auto& [a, b] : pairs) {
    const auto want = static_cast<double>(steps_between(a, b));
    EXPECT_EQ(number(compared({{a}}, {{b}}), "max_ulp@1"), want) << a << " " << b;
    EXPECT_EQ(number(compared({{b}}, {{a}}), "max_ulp@1"), want) << b << " " << a;
  }
}

TEST(RowComparison, DenormalsAreNotLost) {
  const float denormal = std::numeric_limits<float>::denorm_min();
  const RowComparison got = compared({{denormal, 0}}, {{0, 0}});
  EXPECT_EQ(number(got, "max_abs_error@1"), static_cast<double>(denormal));
}

TEST(RowComparison, HugeValuesStayFinite) {
  const float huge = std::numeric_limits<float>::max();
  const RowComparison got = compared({{huge, -huge, 0}}, {{-huge, huge, 0}});
  EXPECT_EQ(number(got, "max_abs_error@1"), 2 * static_cast<double>(huge));
  EXPECT_EQ(number(got, "rel_l2@1"), 2);
  EXPECT_NEAR(number(got, "kl_max@1"), 2 * static_cast<double>(huge), 1e24);
  EXPECT_TRUE(finite(got));
}

// --- NaN and infinity are never laundered
// ------------------------------------------------------------

TEST(RowComparison, OneNonFiniteValueOnEitherSideSpoilsEverything) {
  for (const float bad : {kNaN, -kNaN, kInf, -kInf}) {
    for (const int side : {0, 1, 2}) {
      for (const std::size_t row : {0U, 1U, 2U}) {
        for (const std::size_t column : {0U, 4095U, 4096U, 8999U}) {
          Rows reference = random_rows(3, 9000, 9), subject = reference;
          if (side != 1) subject[row][column] = bad;
          if (side != 0) reference[row][column] = bad;
          const RowComparison got = compared(subject, reference);
          EXPECT_FALSE(finite(got));
          for (const char* name :
               {"max_abs_error@1", "mean_abs_error@1", "rel_l2@1", "max_ulp@1", "kl_max@1"}) {
            EXPECT_TRUE(std::isnan(number(got, name))) << name;
          }
          EXPECT_EQ(top1(got), (Agreement{0, 3}));
          EXPECT_EQ(got.worst()->row, static_cast<std::int64_t>(row));
          EXPECT_EQ(got.worst()->column, static_cast<std::int64_t>(column));
        }
      }
    }
  }
}

TEST(RowComparison, TheFirstNonFinitePlaceIsKept) {
  const RowComparison got = compared({{9, 1}, {kNaN, 1}, {kInf, 7}}, {{0, 1}, {2, 1}, {2, 700}});
  EXPECT_EQ(got.worst()->row, 1);
  EXPECT_EQ(got.worst()->column, 0);
  EXPECT_FALSE(got.worst()->ulps);
  EXPECT_TRUE(std::isnan(got.worst()->subject_top5[0].value));
}

// --- streaming
// ---------------------------------------------------------------------------------------

TEST(RowComparison, SameBitsForAnyThreadsAndAnyBlocks) {
  constexpr std::size_t kRows = 150, kColumns = 9001;
  const Rows reference = random_rows(kRows, kColumns, 10);
  const Rows subject = random_rows(kRows, kColumns, 11);
  std::vector<float> flat_subject, flat_reference;
  std::vector<std::int64_t> labels;
  for (std::size_t i = 0; i < kRows; ++i) {
    flat_subject.insert(flat_subject.end(), subject[i].begin(), subject[i].end());
    flat_reference.insert(flat_reference.end(), reference[i].begin(), reference[i].end());
    labels.push_back(static_cast<std::int64_t>(i));
  }
  const MetricValues want = compared(subject, reference, 1).metrics();
  for (const int threads : {1, 2, 3, 8}) {
    for (const std::size_t block : {1U, 7U, 64U, 150U}) {
      RowComparison comparison(threads);
      for (std::size_t i = 0; i < kRows; i += block) {
        const std::size_t n = std::min(block, kRows - i);
        comparison.add_rows(std::span(labels).subspan(i, n),
                            std::span(flat_subject).subspan(i * kColumns, n * kColumns),
                            std::span(flat_reference).subspan(i * kColumns, n * kColumns));
      }
      EXPECT_EQ(comparison.metrics(), want) << threads << " threads, blocks of " << block;
      EXPECT_EQ(comparison.rows(), static_cast<std::int64_t>(kRows));
    }
  }
}

TEST(Place, AsJson) {
  const RowComparison got = compared({{1, 5, 3, 2, 4, 0}}, {{1, 5, 3, 2, 4, 9}});
  const nlohmann::json json = place_json(*got.worst());
  EXPECT_EQ(json["position"], 0);
  EXPECT_EQ(json["token_id"], 5);
  EXPECT_EQ(json["subject"], 0);
  EXPECT_EQ(json["reference"], 9);
  ASSERT_EQ(json["subject_top5"].size(), 5U);
  EXPECT_EQ(json["subject_top5"][0], (nlohmann::json{{"token_id", 1}, {"value", 5.0F}}));
  EXPECT_EQ(json["subject_top5"][1]["token_id"], 4);
  EXPECT_EQ(json["reference_top5"][0]["token_id"], 5);
}

TEST(MetricDefinitions, AreVersionedAndProduced) {
  const MetricValues produced = compared({{1}}, {{1}}).metrics();
  for (const std::string& name : row_metrics()) {
    EXPECT_NE(find_metric(name), nullptr) << name;
    EXPECT_TRUE(produced.contains(name)) << name;
    EXPECT_THAT(name, ::testing::MatchesRegex("[a-z0-9_]+@[0-9]+"));
    EXPECT_FALSE(find_metric(name)->meaning.empty());
  }
  EXPECT_EQ(produced.size(), row_metrics().size());
  EXPECT_EQ(find_metric("max_abs_error"), nullptr);
}

TEST(Workers, RunEveryTaskOnce) {
  Workers workers(4);
  for (const std::int64_t tasks : {0, 1, 3, 1000}) {
    std::vector<std::atomic<int>> runs(static_cast<std::size_t>(tasks));
    workers.run(tasks, [&](std::int64_t i) { ++runs[static_cast<std::size_t>(i)]; });
    for (const auto& count : runs) EXPECT_EQ(count, 1);
  }
}

}  // namespace
}  // namespace octlm::verify
