#include "verify/metrics/metrics.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "verify/metrics/metrics_kernels.h"
#include "verify/metrics/workers.h"

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

// An independent computation: textbook formulas in long double, one metric at a time.

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

// The columns of the k largest, by sorting them all.
std::vector<std::size_t> largest_columns(const std::vector<float>& row, std::size_t k) {
  std::vector<std::size_t> columns(row.size());
  std::iota(columns.begin(), columns.end(), 0U);
  std::ranges::stable_sort(columns, [&](std::size_t a, std::size_t b) { return row[a] > row[b]; });
  columns.resize(std::min(k, columns.size()));
  std::ranges::sort(columns);
  return columns;
}

double share_in_common(const std::vector<float>& a, const std::vector<float>& b, std::size_t k) {
  const auto left = largest_columns(a, k), right = largest_columns(b, k);
  std::vector<std::size_t> common;
  std::ranges::set_intersection(left, right, std::back_inserter(common));
  return static_cast<double>(common.size()) / static_cast<double>(left.size());
}

struct Textbook {
  long double max_abs = 0, mean_abs = 0, rel_l2 = 0, kl_max = 0, kl_mean = 0, kl_median = 0,
              kl_p999 = 0;
  double top5 = 1, top10 = 1;
  Agreement top1;
};

Textbook textbook(const Rows& subject, const Rows& reference) {
  Textbook t;
  long double difference2 = 0, reference2 = 0, count = 0;
  std::vector<long double> kls;
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
    kls.push_back(kl);
    t.kl_mean += kl / static_cast<long double>(subject.size());
    t.top5 = std::min(t.top5, share_in_common(subject[i], reference[i], 5));
    t.top10 = std::min(t.top10, share_in_common(subject[i], reference[i], 10));
    ++t.top1.of;
    t.top1.agree += std::ranges::max_element(subject[i]) - subject[i].begin() ==
                    std::ranges::max_element(reference[i]) - reference[i].begin();
  }
  t.mean_abs /= count;
  std::ranges::sort(kls);
  t.kl_max = kls.back();
  const std::size_t n = kls.size();
  t.kl_median = (kls[(n - 1) / 2] + kls[n / 2]) / 2;
  t.kl_p999 = kls[(n * 999 + 999) / 1000 - 1];
  t.rel_l2 = std::sqrt(difference2 / reference2);
  return t;
}

TEST(RowComparison, AgreesWithTheTextbook) {
  for (const std::size_t columns : {1U, 2U, 5U, 2047U, 2048U, 2049U, 16385U}) {
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
    near("kl_mean@1", want.kl_mean);
    near("kl_median@1", want.kl_median);
    near("kl_p999@1", want.kl_p999);
    EXPECT_EQ(number(got, "top5_overlap@1"), want.top5);
    EXPECT_EQ(number(got, "top10_overlap@1"), want.top10);
    EXPECT_EQ(top1(got), want.top1);
    EXPECT_TRUE(finite(got));
  }
}

TEST(RowComparison, EqualRowsAreEqual) {
  const Rows rows = random_rows(3, 5000, 3);
  const RowComparison got = compared(rows, rows);
  for (const char* name : {"max_abs_error@1", "mean_abs_error@1", "rel_l2@1", "max_ulp@1",
                           "kl_max@1", "kl_mean@1", "kl_median@1", "kl_p999@1"}) {
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

// Cases built to fool it.

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

TEST(RowComparison, TheFirstRowBeyondAnyBoundIsKnown) {
  const std::vector<double> errors = {0, 2, 1, 2, 3, 0.5, 7, 7, 5};
  Rows subject, reference;
  for (const double error : errors) {
    subject.push_back({1, 2, 3 + static_cast<float>(error)});
    reference.push_back({1, 2, 3});
  }
  const RowComparison comparison = compared(subject, reference);
  for (const double bound : {0.0, 0.7, 1.0, 2.0, 2.5, 6.9}) {
    const auto first = std::ranges::find_if(errors, [&](double error) { return error > bound; });
    const auto rise = std::ranges::find_if(
        comparison.rising(), [&](const RowError& one) { return one.max_abs_error > bound; });
    ASSERT_NE(rise, comparison.rising().end());
    EXPECT_EQ(rise->row, first - errors.begin()) << bound;
  }
  EXPECT_EQ(comparison.rising().size(), 4U);
}

TEST(RowComparison, OfEverGrowingErrorsFewAreKept) {
  RowComparison comparison(1);
  for (std::int64_t row = 0; row < 20'000; ++row) {
    const float subject[] = {static_cast<float>(row)}, reference[] = {0};
    comparison.add(row, subject, reference);
  }
  EXPECT_LT(comparison.rising().size(), 300U);
  EXPECT_EQ(comparison.rising()[255].row, 255);
  EXPECT_GE(comparison.rising().back().max_abs_error, 19'999 / 1.25);
}

// Rows of three columns whose errors are as given, the one in the column and the other beside it.
RowComparison with_errors(const std::vector<std::pair<double, double>>& errors) {
  RowComparison comparison(1);
  for (std::size_t row = 0; row < errors.size(); ++row) {
    const float subject[] = {0, static_cast<float>(errors[row].first),
                             static_cast<float>(errors[row].second)};
    const float reference[] = {0, 0, 0};
    comparison.add(static_cast<std::int64_t>(10 * row), subject, reference);
  }
  return comparison;
}

TEST(ErrorByPosition, IsExactForAsManyRowsAsThereAreBins) {
  std::vector<std::pair<double, double>> errors;
  for (int row = 0; row < 128; ++row) errors.push_back({row % 5 * 0.25, 0});
  const ErrorByPosition found = error_by_position(with_errors(errors).errors());
  EXPECT_EQ(found.rows, 128);
  EXPECT_EQ(found.last, 1270);
  ASSERT_EQ(found.first.size(), 128U);
  for (std::size_t row = 0; row < 128; ++row) {
    EXPECT_EQ(found.first[row], static_cast<std::int64_t>(10 * row));
    EXPECT_EQ(found.max_abs_error[row], errors[row].first);
  }
  EXPECT_EQ(found.equal, 26);
  // 0.25; 0.5 and 0.75; 1.
  EXPECT_EQ(found.powers_of_two,
            (std::vector<std::pair<std::int64_t, std::int64_t>>{{-2, 26}, {-1, 51}, {0, 25}}));
}

TEST(ErrorByPosition, ABinKeepsItsLargestAndNothingIsLeftOut) {
  for (const std::size_t rows : {129UL, 1000UL, 40'960UL}) {
    std::vector<RowError> errors(rows);
    for (std::size_t row = 0; row < rows; ++row) {
      errors[row] = {static_cast<std::int64_t>(row), 1 + static_cast<double>(row * 7919 % rows)};
    }
    const ErrorByPosition found = error_by_position(errors);
    ASSERT_LE(found.first.size(), ErrorByPosition::kBins);
    std::int64_t counted = 0;
    for (const auto& [power, count] : found.powers_of_two) counted += count;
    EXPECT_EQ(counted, static_cast<std::int64_t>(rows));
    for (std::size_t bin = 0; bin < found.first.size(); ++bin) {
      const auto end = bin + 1 < found.first.size() ? found.first[bin + 1] : found.last + 1;
      double largest = 0;
      for (auto row = found.first[bin]; row < end; ++row) {
        largest = std::max(largest, errors[static_cast<std::size_t>(row)].max_abs_error);
      }
      EXPECT_EQ(found.max_abs_error[bin], largest);
    }
  }
}

TEST(ErrorByPosition, AColumnIsAloneWhenTheRestOfItsRowIsRightBesideIt) {
  const ErrorByPosition found =
      error_by_position(with_errors({{1e-5, 1e-5}, {3, 0.5}, {3, 1.1}, {1e-5, 3}}).errors());
  using Column = std::optional<std::int64_t>;
  EXPECT_EQ(found.lone_column, (std::vector<Column>{{}, 1, {}, 2}));
  EXPECT_TRUE(error_by_position(with_errors({{1, 1}}).errors()).lone_column.empty());
  std::vector<RowError> pairs(256, RowError{0, 1e-5, 3});  // bins of two rows
  pairs[1] = {1, 0.5, 7};
  EXPECT_EQ(error_by_position(pairs).lone_column.front(), 7) << "that of the bin's largest error";
}

// Across the blocks of a row as within one.
TEST(ErrorByPosition, TheColumnIsTheLowestOfTheLargestError) {
  std::vector<float> reference(10'000, 1), subject = reference;
  subject[7'777] = 3;
  RowComparison comparison(2);
  comparison.add(0, subject, reference);
  EXPECT_EQ(comparison.errors()[0].lone_column, 7'777);
  subject[9'999] = subject[2'047] = 3;
  comparison.add(1, subject, reference);
  EXPECT_EQ(comparison.errors()[1].lone_column, std::nullopt);
  EXPECT_EQ(comparison.worst()->column, 7'777);
}

TEST(ErrorByPosition, RowsAfterOneThatIsNotFiniteAreStillThere) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const ErrorByPosition found =
      error_by_position(with_errors({{0, 0}, {nan, 0}, {0.5, 0}, {0, INFINITY}}).errors());
  EXPECT_EQ(found.not_finite, 2);
  EXPECT_EQ(found.equal, 1);
  ASSERT_EQ(found.max_abs_error.size(), 4U);
  EXPECT_TRUE(std::isnan(found.max_abs_error[1]) && std::isnan(found.max_abs_error[3]));
  EXPECT_EQ(found.max_abs_error[2], 0.5);
  EXPECT_TRUE(error_by_position({}).empty());
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

// Three rows of 2,000 lie above the 99.9th percentile's rank, two do not; the median sees neither.
TEST(RowComparison, TheQuantilesOfKlAreByRank) {
  for (const std::size_t bad : {0U, 1U, 2U, 3U}) {
    Rows reference(2000, {0, 1, 2}), subject = reference;
    for (std::size_t i = 0; i < bad; ++i) subject[617 * i][0] = 9;
    const RowComparison got = compared(subject, reference);
    EXPECT_EQ(number(got, "kl_median@1"), 0);
    EXPECT_EQ(number(got, "kl_p999@1") > 1, bad == 3) << bad << " bad rows";
    EXPECT_EQ(number(got, "kl_max@1") > 1, bad > 0);
    EXPECT_NEAR(number(got, "kl_mean@1"), number(got, "kl_max@1") * static_cast<double>(bad) / 2000,
                1e-15);
  }
  // Of an even number of rows the median is the mean of the two in the middle.
  const RowComparison two = compared({{0, 0}, {0, 3}}, {{0, 0}, {0, 0}});
  EXPECT_EQ(number(two, "kl_median@1"), number(two, "kl_max@1") / 2);
  const RowComparison three = compared({{0, 0}, {0, 3}, {0, 1}}, {{0, 0}, {0, 0}, {0, 0}});
  EXPECT_EQ(number(three, "kl_median@1"), number(compared({{0, 1}}, {{0, 0}}), "kl_max@1"));
}

TEST(RowComparison, OverlapSeesWhatTop1DoesNot) {
  std::vector<float> reference(5000), subject;
  for (std::size_t i = 0; i < reference.size(); ++i) reference[i] = -static_cast<float>(i);
  subject = reference;
  subject[4999] = -0.5F;  // pushes the fifth out of five, the tenth out of ten
  const RowComparison one = compared({reference, subject}, {reference, reference});
  EXPECT_EQ(top1(one), (Agreement{2, 2}));
  EXPECT_EQ(number(one, "top5_overlap@1"), 0.8);
  EXPECT_EQ(number(one, "top10_overlap@1"), 0.9);
  subject = reference;
  std::ranges::reverse(subject);
  const RowComparison none = compared({subject}, {reference});
  EXPECT_EQ(number(none, "top5_overlap@1"), 0);
  EXPECT_EQ(number(none, "top10_overlap@1"), 0);
}

TEST(RowComparison, OverlapOfFewColumnsAndOfTies) {
  const RowComparison three = compared({{3, 2, 1}}, {{1, 2, 3}});
  EXPECT_EQ(number(three, "top5_overlap@1"), 1) << "all three of three";
  const std::vector<float> flat(9001, 7);
  std::vector<float> last = flat;
  last[9000] = 8;
  const RowComparison ties = compared({last}, {flat});
  EXPECT_EQ(number(ties, "top5_overlap@1"), 0.8) << "{9000, 0, 1, 2, 3} and {0, 1, 2, 3, 4}";
  EXPECT_EQ(ties.worst()->subject_top5[1].column, 0);
}

TEST(RowComparison, WithoutKlTheOthersAreTheSame) {
  const Rows reference = random_rows(5, 5000, 12), subject = random_rows(5, 5000, 13);
  RowComparison without(2, false);
  for (std::size_t i = 0; i < reference.size(); ++i) {
    without.add(static_cast<std::int64_t>(i), subject[i], reference[i]);
  }
  MetricValues want = compared(subject, reference).metrics();
  EXPECT_EQ(std::erase_if(want, [](const auto& one) { return one.first.starts_with("kl_"); }), 4U);
  EXPECT_EQ(without.metrics(), want);
}

// The kernels of every instruction set.

class Kernels : public ::testing::TestWithParam<const MetricKernels*> {};

TEST_P(Kernels, GiveTheBitsOfTheGenericOnes) {
  const float tiny = std::numeric_limits<float>::denorm_min();
  const float huge = std::numeric_limits<float>::max();
  std::vector<std::int64_t> lengths = {255, 256, 257, 271, 2032, 2047, 2048};
  for (std::int64_t n = 1; n <= 33; ++n) lengths.push_back(n);
  for (const float spread : {1e-3F, 5.0F, 300.0F}) {
    auto s = random_rows(1, 2048, 14, spread)[0], r = random_rows(1, 2048, 15, spread)[0];
    if (spread == 5.0F) s[0] = tiny, r[1] = -tiny, s[2] = -0.0F, r[2] = 0.0F, r[3] = -huge;
    for (const std::int64_t n : lengths) {
      ErrorSums got, want;
      GetParam()->sum_errors(s.data(), r.data(), n, &got);
      metric_kernels().back()->sum_errors(s.data(), r.data(), n, &want);
      EXPECT_EQ(got.max, want.max);
      EXPECT_EQ(got.abs, want.abs);
      EXPECT_EQ(got.squares, want.squares);
      EXPECT_EQ(got.reference2, want.reference2);
      EXPECT_EQ(got.ulps, want.ulps);
      EXPECT_TRUE(std::ranges::equal(got.subject_max, want.subject_max));
      EXPECT_TRUE(std::ranges::equal(got.reference_max, want.reference_max));
      const auto top = [n](const std::vector<float>& row) {
        return static_cast<double>(*std::max_element(row.begin(), row.begin() + n));
      };
      ExponentialSums got_z, want_z;
      GetParam()->sum_exponentials(s.data(), r.data(), n, top(s), top(r), &got_z);
      metric_kernels().back()->sum_exponentials(s.data(), r.data(), n, top(s), top(r), &want_z);
      EXPECT_EQ(got_z.subject, want_z.subject) << n << " columns, spread " << spread;
      EXPECT_EQ(got_z.reference, want_z.reference);
      EXPECT_EQ(got_z.weighted, want_z.weighted);
    }
  }
}

TEST_P(Kernels, KeepTheMaximumOfEachTile) {
  std::vector<float> s = random_rows(1, 2048, 16)[0], r = random_rows(1, 2048, 17)[0];
  for (float& x : s) x = -1 - std::fabs(x);  // what fills up the last step is above them all
  for (float& x : r) x = -1 - std::fabs(x);
  for (const std::int64_t n : {1, 15, 16, 17, 256, 257, 1000, 2047, 2048}) {
    ErrorSums got;
    GetParam()->sum_errors(s.data(), r.data(), n, &got);
    for (std::int64_t begin = 0; begin < n; begin += kTileColumns) {
      const auto end = std::min(begin + kTileColumns, n);
      const auto tile = static_cast<std::size_t>(begin / kTileColumns);
      EXPECT_EQ(got.subject_max[tile], *std::max_element(s.begin() + begin, s.begin() + end));
      EXPECT_EQ(got.reference_max[tile], *std::max_element(r.begin() + begin, r.begin() + end));
    }
  }
}

TEST_P(Kernels, ComputeExponentialsAsTheirHeaderSays) {
  const std::vector<float> zero(1, 0);
  long double near = 0, far = 0;
  for (float x = 0; x > -700; x -= 0.01F) {
    ExponentialSums sums;
    GetParam()->sum_exponentials(&x, zero.data(), 1, 0, 0, &sums);
    const long double want = std::exp(static_cast<long double>(x));
    const long double error = std::fabs(sums.subject / want - 1);
    (want > 1e-20L ? near : far) = std::max(want > 1e-20L ? near : far, error);
  }
  EXPECT_LT(near, 1e-14L);
  EXPECT_LT(far, 1e-12L);
  for (const float x : {-701.0F, -1e30F, -std::numeric_limits<float>::max()}) {
    ExponentialSums sums;
    GetParam()->sum_exponentials(&x, zero.data(), 1, 0, 0, &sums);
    EXPECT_NEAR(sums.subject, 0, 1e-303);
  }
}

INSTANTIATE_TEST_SUITE_P(, Kernels, ::testing::ValuesIn(metric_kernels()),
                         [](const auto& kernels) { return kernels.param->instruction_set; });

// NaN and infinity are never laundered.

TEST(RowComparison, OneNonFiniteValueOnEitherSideSpoilsEverything) {
  for (const float bad : {kNaN, -kNaN, kInf, -kInf}) {
    for (const int side : {0, 1, 2}) {
      for (const std::size_t row : {0U, 1U, 2U}) {
        for (const std::size_t column : {0U, 2047U, 2048U, 8999U}) {
          Rows reference = random_rows(3, 9000, 9), subject = reference;
          if (side != 1) subject[row][column] = bad;
          if (side != 0) reference[row][column] = bad;
          const RowComparison got = compared(subject, reference);
          EXPECT_FALSE(finite(got));
          for (const char* name :
               {"max_abs_error@1", "mean_abs_error@1", "rel_l2@1", "max_ulp@1", "kl_max@1",
                "kl_mean@1", "kl_median@1", "kl_p999@1", "top5_overlap@1", "top10_overlap@1"}) {
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

// The peak of the memory this process has had, in bytes.
std::int64_t peak_resident_bytes() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

// 40,960 rows of 151,936 columns, 50 GB of logits on the two sides, come and go in blocks; of each
// row eight bytes stay. (Fewer rows under a sanitizer and in debug builds, where it would take
// minutes.)
TEST(RowComparison, TheLogitsOfALongPromptInBoundedMemory) {
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && \
    !defined(_GLIBCXX_ASSERTIONS)
  constexpr std::int64_t kRows = 40'960;
#else
  constexpr std::int64_t kRows = 640;
#endif
  constexpr std::int64_t kBlock = 32, kColumns = 151'936;
  const auto subject = random_rows(kBlock, kColumns, 5),
             reference = random_rows(kBlock, kColumns, 6);
  std::vector<float> s, r;
  for (const auto& row : subject) s.insert(s.end(), row.begin(), row.end());
  for (const auto& row : reference) r.insert(r.end(), row.begin(), row.end());
  RowComparison comparison(2);
  std::vector<std::int64_t> rows(kBlock);
  std::int64_t before = 0;
  for (std::int64_t at = 0; at < kRows; at += kBlock) {
    std::iota(rows.begin(), rows.end(), at);
    comparison.add_rows(rows, s, r);
    if (at == 0) before = peak_resident_bytes();
  }
  EXPECT_EQ(comparison.rows(), kRows);
  EXPECT_EQ(std::get<Agreement>(comparison.metrics().at("top1_agreement@1")).of, kRows);
  EXPECT_LT(peak_resident_bytes() - before, 8 << 20) << "one block alone is 39 MB";
}

TEST(Place, AsJson) {
  const RowComparison got = compared({{1, 5, 3, 2, 4, 0}}, {{1, 5, 3, 2, 4, 9}});
  const nlohmann::json json = place_json(*got.worst(), "token_id");
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
