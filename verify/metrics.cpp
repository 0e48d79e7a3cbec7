// Each row is cut into blocks of columns that fit the first-level cache. A block is summed up by
// one thread (BlockSums); blocks are merged into rows, and rows into the total, by one thread in
// the order of the data. So the bits depend on neither the threads nor how rows were grouped into
// calls.
//
// KL(p_r || p_s) with p = softmax: sum p_r (r - s) - log Z_r + log Z_s. Each block keeps its sums
// relative to its own maximum; merging rescales them to the larger one.
#include "verify/metrics.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "verify/workers.h"

namespace octlm::verify {
namespace {

constexpr std::int64_t kBlockColumns = 4096;  // 2 x 16 KiB
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Floats in the order of the reals, as integers: neighbours differ by one, -0 and +0 by none.
std::int64_t float_rank(float value) {
  const auto bits = std::bit_cast<std::int32_t>(value);
  return bits >= 0 ? bits : -static_cast<std::int64_t>(bits & 0x7FFFFFFF);
}

std::int64_t ulp_distance(float a, float b) { return std::abs(float_rank(a) - float_rank(b)); }

struct Maximum {
  double value = -std::numeric_limits<double>::infinity();
  std::int64_t column = 0;
  void take(double candidate, std::int64_t at) {
    if (candidate > value) {  // strict: the lowest column wins a tie
      value = candidate;
      column = at;
    }
  }
};

struct BlockSums {
  std::int64_t first_non_finite = -1;  // column; the other sums then mean nothing
  Maximum error;
  double sum_error = 0;
  double sum_error2 = 0;
  double sum_reference2 = 0;
  std::int64_t ulps = 0;
  Maximum subject, reference;
  double z_subject = 0;    // sum exp(s - subject.value)
  double z_reference = 0;  // sum exp(r - reference.value)
  double z_weighted = 0;   // sum exp(r - reference.value) (r - s)
};

BlockSums sum_block(const float* subject, const float* reference, std::int64_t begin,
                    std::int64_t end) {
  BlockSums sums;
  for (std::int64_t i = begin; i < end; ++i) {
    if (!std::isfinite(subject[i]) || !std::isfinite(reference[i])) {
      sums.first_non_finite = i;
      return sums;
    }
    const double s = static_cast<double>(subject[i]);
    const double r = static_cast<double>(reference[i]);
    const double error = std::fabs(s - r);
    sums.error.take(error, i);
    sums.sum_error += error;
    sums.sum_error2 += error * error;
    sums.sum_reference2 += r * r;
    sums.ulps = std::max(sums.ulps, ulp_distance(subject[i], reference[i]));
    sums.subject.take(s, i);
    sums.reference.take(r, i);
  }
  for (std::int64_t i = begin; i < end; ++i) {
    const double s = static_cast<double>(subject[i]);
    const double r = static_cast<double>(reference[i]);
    sums.z_subject += std::exp(s - sums.subject.value);
    const double weight = std::exp(r - sums.reference.value);
    sums.z_reference += weight;
    sums.z_weighted += weight * (r - s);
  }
  return sums;
}

// Adds the block that follows to its left.
void merge(BlockSums& row, const BlockSums& block) {
  if (row.first_non_finite >= 0) return;
  if (block.first_non_finite >= 0) {
    row.first_non_finite = block.first_non_finite;
    return;
  }
  row.error.take(block.error.value, block.error.column);
  row.sum_error += block.sum_error;
  row.sum_error2 += block.sum_error2;
  row.sum_reference2 += block.sum_reference2;
  row.ulps = std::max(row.ulps, block.ulps);

  const double subject = std::max(row.subject.value, block.subject.value);
  row.z_subject = row.z_subject * std::exp(row.subject.value - subject) +
                  block.z_subject * std::exp(block.subject.value - subject);
  const double reference = std::max(row.reference.value, block.reference.value);
  const double left = std::exp(row.reference.value - reference);
  const double right = std::exp(block.reference.value - reference);
  row.z_reference = row.z_reference * left + block.z_reference * right;
  row.z_weighted = row.z_weighted * left + block.z_weighted * right;
  row.subject.take(block.subject.value, block.subject.column);
  row.reference.take(block.reference.value, block.reference.column);
}

double kl_divergence(const BlockSums& row) {
  const double log_z_reference = row.reference.value + std::log(row.z_reference);
  const double log_z_subject = row.subject.value + std::log(row.z_subject);
  const double kl = row.z_weighted / row.z_reference - log_z_reference + log_z_subject;
  return kl < 0 ? 0 : kl;  // rounding may leave it a hair below zero
}

// The larger, or NaN when one is: std::max would drop it.
double larger(double a, double b) { return std::isnan(a) || std::isnan(b) ? kNaN : std::max(a, b); }

std::vector<ColumnValue> top5(const float* row, std::int64_t columns) {
  const auto above = [](const ColumnValue& a, const ColumnValue& b) {
    const bool a_nan = std::isnan(a.value), b_nan = std::isnan(b.value);
    if (a_nan != b_nan) return a_nan;
    if (!a_nan && a.value != b.value) return a.value > b.value;
    return a.column < b.column;
  };
  std::vector<ColumnValue> top;
  for (std::int64_t i = 0; i < columns; ++i) {
    const ColumnValue candidate{i, row[i]};
    if (top.size() == 5 && !above(candidate, top.back())) continue;
    top.insert(std::upper_bound(top.begin(), top.end(), candidate, above), candidate);
    if (top.size() > 5) top.pop_back();
  }
  return top;
}

}  // namespace

const std::vector<MetricDefinition>& metric_definitions() {
  using Type = MetricDefinition::Type;
  using Better = MetricDefinition::Better;
  static const std::vector<MetricDefinition> definitions = {
      {"max_abs_error@1", "largest |subject - reference|", "logits"},
      {"mean_abs_error@1", "mean |subject - reference|", "logits"},
      {"rel_l2@1", "||subject - reference|| / ||reference||, Euclidean, over all rows", "ratio"},
      {"max_ulp@1", "largest distance in float32 ulps", "ulps"},
      {"kl_max@1", "largest KL(softmax(reference) || softmax(subject)) of a row", "nats"},
      {"top1_agreement@1", "rows whose largest value stands in the same column", "rows",
       Type::kAgreement, Better::kHigher},
      {"finite@1", "no NaN and no infinity on either side", "", Type::kBool, Better::kTrue},
  };
  return definitions;
}

const MetricDefinition* find_metric(std::string_view name) {
  for (const MetricDefinition& definition : metric_definitions()) {
    if (definition.name == name) return &definition;
  }
  return nullptr;
}

std::vector<std::string> row_metrics() {
  return {"max_abs_error@1", "mean_abs_error@1", "rel_l2@1", "max_ulp@1",
          "kl_max@1",        "top1_agreement@1", "finite@1"};
}

nlohmann::json place_json(const Place& place) {
  const auto list = [](const std::vector<ColumnValue>& values) {
    nlohmann::json array = nlohmann::json::array();
    for (const ColumnValue& one : values) {
      array.push_back({{"token_id", one.column}, {"value", one.value}});
    }
    return array;
  };
  return {{"position", place.row},
          {"token_id", place.column},
          {"subject", place.subject},
          {"reference", place.reference},
          {"ulps", place.ulps ? nlohmann::json(*place.ulps) : nlohmann::json(nullptr)},
          {"subject_top5", list(place.subject_top5)},
          {"reference_top5", list(place.reference_top5)}};
}

struct RowComparison::State {
  explicit State(int threads) : workers(threads) {}

  Workers workers;
  std::vector<BlockSums> blocks;  // of the rows at hand, reused

  std::int64_t rows = 0;
  std::int64_t columns = 0;
  bool finite = true;
  double max_error = -1;
  double sum_error = 0;
  double sum_error2 = 0;
  double sum_reference2 = 0;
  std::int64_t ulps = 0;
  double kl_max = 0;
  std::int64_t top1_agree = 0;
  std::optional<Place> worst;

  // Up to kRowsAtOnce rows, so that `blocks` stays small.
  static constexpr std::int64_t kRowsAtOnce = 64;

  void add_rows(std::span<const std::int64_t> labels, const float* subject, const float* reference);
  void add_row(std::int64_t label, BlockSums row, const float* subject, const float* reference);
  void note_place(std::int64_t label, std::int64_t column, const float* subject,
                  const float* reference);
};

void RowComparison::State::add_rows(std::span<const std::int64_t> labels, const float* subject,
                                    const float* reference) {
  const std::int64_t per_row = (columns + kBlockColumns - 1) / kBlockColumns;
  const auto count = static_cast<std::int64_t>(labels.size());
  blocks.resize(static_cast<std::size_t>(count * per_row));
  workers.run(count * per_row, [&](std::int64_t task) {
    const std::int64_t row = task / per_row;
    const std::int64_t begin = task % per_row * kBlockColumns;
    blocks[static_cast<std::size_t>(task)] =
        sum_block(subject + row * columns, reference + row * columns, begin,
                  std::min(begin + kBlockColumns, columns));
  });
  for (std::int64_t row = 0; row < count; ++row) {
    BlockSums sums = blocks[static_cast<std::size_t>(row * per_row)];
    for (std::int64_t block = 1; block < per_row; ++block) {
      merge(sums, blocks[static_cast<std::size_t>(row * per_row + block)]);
    }
    add_row(labels[static_cast<std::size_t>(row)], sums, subject + row * columns,
            reference + row * columns);
  }
}

void RowComparison::State::add_row(std::int64_t label, BlockSums row, const float* subject,
                                   const float* reference) {
  ++rows;
  if (row.first_non_finite >= 0) {
    if (finite) note_place(label, row.first_non_finite, subject, reference);
    finite = false;
  }
  if (!finite) return;  // nothing can be made good again
  if (row.error.value > max_error) {
    max_error = row.error.value;
    note_place(label, row.error.column, subject, reference);
  }
  sum_error += row.sum_error;
  sum_error2 += row.sum_error2;
  sum_reference2 += row.sum_reference2;
  ulps = std::max(ulps, row.ulps);
  kl_max = larger(kl_max, kl_divergence(row));
  if (row.subject.column == row.reference.column) ++top1_agree;
}

void RowComparison::State::note_place(std::int64_t label, std::int64_t column, const float* subject,
                                      const float* reference) {
  Place place;
  place.row = label;
  place.column = column;
  place.subject = subject[column];
  place.reference = reference[column];
  if (!std::isnan(place.subject) && !std::isnan(place.reference)) {
    place.ulps = ulp_distance(place.subject, place.reference);
  }
  place.subject_top5 = top5(subject, columns);
  place.reference_top5 = top5(reference, columns);
  worst = std::move(place);
}

RowComparison::RowComparison(int threads) : state_(std::make_unique<State>(threads)) {}
RowComparison::~RowComparison() = default;
RowComparison::RowComparison(RowComparison&&) noexcept = default;
RowComparison& RowComparison::operator=(RowComparison&&) noexcept = default;

void RowComparison::add(std::int64_t row, std::span<const float> subject,
                        std::span<const float> reference) {
  add_rows(std::span(&row, 1), subject, reference);
}

void RowComparison::add_rows(std::span<const std::int64_t> rows, std::span<const float> subject,
                             std::span<const float> reference) {
  const auto refuse = [](const std::string& what) {
    throw std::invalid_argument("[RowComparison] " + what);
  };
  if (subject.size() != reference.size()) {
    refuse("the subject has " + std::to_string(subject.size()) + " values, the reference " +
           std::to_string(reference.size()));
  }
  if (rows.empty() && subject.empty()) return;
  if (rows.empty() || subject.empty() || subject.size() % rows.size() != 0) {
    refuse(std::to_string(subject.size()) + " values are not " + std::to_string(rows.size()) +
           " rows");
  }
  const auto columns = static_cast<std::int64_t>(subject.size() / rows.size());
  if (state_->rows > 0 && columns != state_->columns) {
    refuse("rows of " + std::to_string(columns) + " values after rows of " +
           std::to_string(state_->columns));
  }
  state_->columns = columns;
  for (std::size_t begin = 0; begin < rows.size(); begin += State::kRowsAtOnce) {
    const std::size_t count = std::min<std::size_t>(State::kRowsAtOnce, rows.size() - begin);
    const std::size_t offset = begin * static_cast<std::size_t>(columns);
    state_->add_rows(rows.subspan(begin, count), subject.data() + offset,
                     reference.data() + offset);
  }
}

std::int64_t RowComparison::rows() const { return state_->rows; }

MetricValues RowComparison::metrics() const {
  const State& s = *state_;
  if (s.rows == 0) return {};
  const auto unless_bad = [&](double value) { return s.finite ? value : kNaN; };
  const double error_norm = std::sqrt(s.sum_error2);
  const double rel_l2 = error_norm == 0 ? 0 : error_norm / std::sqrt(s.sum_reference2);
  const double values = static_cast<double>(s.rows) * static_cast<double>(s.columns);
  return {
      {"max_abs_error@1", unless_bad(s.max_error)},
      {"mean_abs_error@1", unless_bad(s.sum_error / values)},
      {"rel_l2@1", unless_bad(rel_l2)},
      {"max_ulp@1", unless_bad(static_cast<double>(s.ulps))},
      {"kl_max@1", unless_bad(s.kl_max)},
      {"top1_agreement@1", Agreement{s.finite ? s.top1_agree : 0, s.rows}},
      {"finite@1", s.finite},
  };
}

std::optional<Place> RowComparison::worst() const { return state_->worst; }

}  // namespace octlm::verify
