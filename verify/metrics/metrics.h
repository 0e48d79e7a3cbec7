// The metrics: versioned definitions, and one streaming pass that computes the whole family.
// A changed definition is a new version; a version never changes. Formulas, ties and accuracy:
// docs/metrics.md.
//
// With s, r the subject's and the reference's values over all rows added (float32, compared in
// float64) and KL of a row = KL(softmax(r) || softmax(s)) in nats:
//   max_abs_error@1     max |s - r|
//   mean_abs_error@1    mean |s - r|
//   rel_l2@1            ||s - r||_2 / ||r||_2 over all rows; 0 when s = r = 0, inf when only r = 0
//   max_ulp@1           max distance in float32 ulps: how many floats lie between; -0 is +0
//   kl_max@1, kl_mean@1, kl_median@1, kl_p999@1     over the rows
//   top1_agreement@1    rows whose largest value has the same column, of all rows
//   top5_overlap@1, top10_overlap@1     smallest share over the rows of the k largest in common
//   finite@1            every s and every r is finite
//   constant_error@1    max over the rows of (max r - min r) / 2: what the best constant row errs
// Of equal values the lowest column is the largest. When one s or r is not finite, finite@1 is
// false, top1_agreement@1 is 0 of all rows, and every other metric is NaN: nothing that saw a NaN
// can hold a bound. With no row at all there is no metric.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "verify/metrics/error_by_position.h"
#include "verify/metrics/metric_value.h"

namespace octlm::verify {

// The unit of what is compared, whatever that is.
inline constexpr const char* kOwnUnit = "values";

struct MetricDefinition {
  enum class Type { kNumber, kBool, kAgreement };
  // kNeither: a count of what is there, which a spec states as it should be.
  enum class Better { kLower, kHigher, kTrue, kNeither };

  std::string name;     // "max_abs_error@1"
  std::string meaning;  // one line
  std::string unit;     // kOwnUnit, "nats", "ulps", "ratio", "rows"; "" for a bool
  Type type = Type::kNumber;
  Better better = Better::kLower;
  std::vector<std::string> params = {};  // what a criterion's `params` must hold, exactly
  // Of a number: the values that it can have. An agreement is a share: 0 to 1.
  double lowest = 0;
  double greatest = type == Type::kAgreement ? 1 : std::numeric_limits<double>::infinity();
  // The metric that tells what this one would be of a subject that knows nothing: an upper bound
  // at or above it says nothing of that comparison. "": none tells.
  std::string of_nothing = {};
};

const std::vector<MetricDefinition>& metric_definitions();
const MetricDefinition* find_metric(std::string_view name);  // nullptr when there is none
// The names of metric_definitions(): what RowComparison produces.
std::vector<std::string> row_metrics();

// One value of a row and its column.
struct ColumnValue {
  std::int64_t column = 0;
  float value = 0;
};

// Where the two sides are farthest apart: the largest |s - r|, or the first non-finite value.
struct Place {
  std::int64_t row = 0;  // the label given to add()
  std::int64_t column = 0;
  float subject = 0;
  float reference = 0;
  std::optional<std::int64_t> ulps;  // absent when one of them is NaN
  // Of that row, largest first, lowest column on ties; NaN first.
  std::vector<ColumnValue> subject_top5;
  std::vector<ColumnValue> reference_top5;
};

// {position, COLUMN, subject, reference, ulps, subject_top5: [{COLUMN, value}], reference_top5}:
// the `worst` of results.jsonl, less the text, which a kind adds. COLUMN: Program::column_field.
nlohmann::json place_json(const Place& place, const std::string& column_field);

// Accumulates rows. Of each it keeps its KL and its largest error; and the result has the same bits
// for any number of threads, any division into blocks and any instruction set, but for what the C
// library's exp and log add to the KL. Not for use from several threads at once.
class RowComparison {
 public:
  // threads = 0: as many as the machine has. Without KL there are no kl_* metrics, and it is twice
  // as fast.
  explicit RowComparison(int threads = 0, bool with_kl = true);
  ~RowComparison();
  RowComparison(RowComparison&&) noexcept;
  RowComparison& operator=(RowComparison&&) noexcept;

  // Throws std::invalid_argument when the lengths differ, are zero, or change from one row to the
  // next.
  void add(std::int64_t row, std::span<const float> subject, std::span<const float> reference);

  // Several rows at once, row-major [rows.size(), columns]: the fast way.
  void add_rows(std::span<const std::int64_t> rows, std::span<const float> subject,
                std::span<const float> reference);

  std::int64_t rows() const;
  MetricValues metrics() const;        // empty when no row was added
  std::optional<Place> worst() const;  // nullopt when no row was added
  // Of the rows whose largest |s - r| is larger than that of every row before: in their order, up
  // to the first that is not finite. So the first of these whose error exceeds a bound is the first
  // row that does. Random errors give a handful; after 256 of them only those are kept that are
  // larger by a quarter.
  const std::vector<RowError>& rising() const;
  // Of every row, those after one that is not finite as well.
  const std::vector<RowError>& errors() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace octlm::verify
