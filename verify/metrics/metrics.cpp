// Each row is cut into blocks of columns that stay in a core's cache: a block is read from memory
// once, for its errors and maxima, and again from the cache for its exponentials
// (metrics_kernels.h), by one thread. Then each row is put together from its blocks by one thread,
// and the total from the rows by the caller, in the order of the data. So the bits depend on
// neither the threads nor how rows were grouped into calls.
//
// KL(p_r || p_s) with p = softmax: sum p_r (r - s) - log Z_r + log Z_s. Each block keeps its sums
// relative to its own maximum; merging rescales them to the larger one.
//
// The largest k values of a row are found in the few tiles whose maximum is not below the k-th
// largest of the tiles' maxima: no others can hold one.
#include "verify/metrics/metrics.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "verify/metrics/metrics_kernels.h"
#include "verify/metrics/workers.h"

namespace octlm::verify {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kTop = 10;  // of each row and side; top5 and top10 are its beginnings

// Floats in the order of the reals, as integers: neighbours differ by one, -0 and +0 by none.
std::int64_t float_rank(float value) {
  const auto bits = std::bit_cast<std::int32_t>(value);
  return bits >= 0 ? bits : -static_cast<std::int64_t>(bits & 0x7FFFFFFF);
}

std::int64_t ulp_distance(float a, float b) { return std::abs(float_rank(a) - float_rank(b)); }

struct BlockSums {
  ErrorSums errors;
  ExponentialSums exponentials;
  double subject_max = 0;
  double reference_max = 0;

  bool finite() const { return std::isfinite(errors.abs); }
};

double largest(const float* tiles, std::int64_t columns) {
  const std::int64_t count = (columns + kTileColumns - 1) / kTileColumns;
  return static_cast<double>(*std::max_element(tiles, tiles + count));
}

BlockSums sum_block(const MetricKernels& kernels, const float* subject, const float* reference,
                    std::int64_t columns, bool with_kl) {
  BlockSums sums;
  kernels.sum_errors(subject, reference, columns, &sums.errors);
  if (!sums.finite()) return sums;
  sums.subject_max = largest(sums.errors.subject_max, columns);
  sums.reference_max = largest(sums.errors.reference_max, columns);
  if (with_kl) {
    kernels.sum_exponentials(subject, reference, columns, sums.subject_max, sums.reference_max,
                             &sums.exponentials);
  }
  return sums;
}

// Adds the block that follows to its left.
void merge(BlockSums& row, const BlockSums& block) {
  row.errors.max = std::max(row.errors.max, block.errors.max);
  row.errors.abs += block.errors.abs;
  row.errors.squares += block.errors.squares;
  row.errors.reference2 += block.errors.reference2;
  row.errors.ulps = std::max(row.errors.ulps, block.errors.ulps);
  row.errors.reference_min = std::min(row.errors.reference_min, block.errors.reference_min);

  const double subject = std::max(row.subject_max, block.subject_max);
  row.exponentials.subject = row.exponentials.subject * std::exp(row.subject_max - subject) +
                             block.exponentials.subject * std::exp(block.subject_max - subject);
  const double reference = std::max(row.reference_max, block.reference_max);
  const double left = std::exp(row.reference_max - reference);
  const double right = std::exp(block.reference_max - reference);
  row.exponentials.reference =
      row.exponentials.reference * left + block.exponentials.reference * right;
  row.exponentials.weighted =
      row.exponentials.weighted * left + block.exponentials.weighted * right;
  row.subject_max = subject;
  row.reference_max = reference;
}

double kl_divergence(const BlockSums& row) {
  const ExponentialSums& z = row.exponentials;
  const double log_z_reference = row.reference_max + std::log(z.reference);
  const double log_z_subject = row.subject_max + std::log(z.subject);
  const double kl = z.weighted / z.reference - log_z_reference + log_z_subject;
  return kl < 0 ? 0 : kl;  // rounding may leave it a hair below zero
}

// Largest first, lowest column on ties; NaN first.
bool above(const ColumnValue& a, const ColumnValue& b) {
  const bool a_nan = std::isnan(a.value), b_nan = std::isnan(b.value);
  if (a_nan != b_nan) return a_nan;
  if (!a_nan && a.value != b.value) return a.value > b.value;
  return a.column < b.column;
}

// The first kTop of the order above among the values given so far. REQUIRES: ascending columns.
struct TopValues {
  ColumnValue list[kTop];
  std::size_t count = 0;

  // Of two equal values the one before wins, so that once the list is full only a larger one (or a
  // NaN) comes in.
  void take(const float* row, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      if (count == kTop && row[i] <= list[kTop - 1].value) continue;
      insert({i, row[i]});
    }
  }
  void insert(const ColumnValue& candidate) {
    ColumnValue* const place = std::upper_bound(list, list + count, candidate, above);
    if (count < kTop) ++count;
    if (place == list + count) return;  // full, and below all
    std::move_backward(place, list + count - 1, list + count);
    *place = candidate;
  }
  std::vector<ColumnValue> first(std::size_t wanted) const {
    return {list, list + std::min(wanted, count)};
  }
};

TopValues top_values(const float* row, std::int64_t columns) {
  TopValues top;
  top.take(row, 0, columns);
  return top;
}

// Whether any of the values is not below the bound; compiles to a few vector comparisons.
bool reaches(const float* values, std::int64_t count, float bound) {
  int some = 0;
  for (std::int64_t i = 0; i < count; ++i) some |= static_cast<int>(values[i] >= bound);
  return some != 0;
}

void prefetch(const float* begin, const float* end) {
  constexpr std::int64_t kLine = 16;  // floats
  for (; begin < end; begin += kLine) __builtin_prefetch(begin);
}

// The same for a finite row, given the tiles' maxima: only what may be among them is read, and
// asked for before, since it has left the cache.
template <class TileMax>
TopValues top_values(const float* row, std::int64_t columns, const TileMax& tile_max) {
  const std::int64_t tiles = (columns + kTileColumns - 1) / kTileColumns;
  TopValues maxima;
  for (std::int64_t tile = 0; tile < tiles; ++tile) {
    const float max = tile_max(tile);
    if (maxima.count < kTop || max > maxima.list[kTop - 1].value) maxima.insert({tile, max});
  }
  for (std::size_t i = 0; i < maxima.count; ++i) {
    const std::int64_t begin = maxima.list[i].column * kTileColumns;
    prefetch(row + begin, row + std::min(begin + kTileColumns, columns));
  }
  const float least =
      maxima.count < kTop ? -std::numeric_limits<float>::infinity() : maxima.list[kTop - 1].value;
  constexpr std::int64_t kPiece = 32;
  TopValues top;
  for (std::int64_t tile = 0; tile < tiles; ++tile) {
    if (tile_max(tile) < least) continue;
    const std::int64_t end = std::min((tile + 1) * kTileColumns, columns);
    for (std::int64_t i = tile * kTileColumns; i < end; i += kPiece) {
      const std::int64_t piece = std::min(kPiece, end - i);
      if (reaches(row + i, piece, least)) top.take(row, i, i + piece);
    }
  }
  return top;
}

// How many of the first k columns of each are the same, of k (or of all, when there are fewer).
double overlap(const TopValues& a, const TopValues& b, std::size_t k) {
  const std::size_t of = std::min(k, a.count);
  std::size_t common = 0;
  for (std::size_t i = 0; i < of; ++i) {
    common +=
        static_cast<std::size_t>(std::any_of(b.list, b.list + of, [&](const ColumnValue& other) {
          return other.column == a.list[i].column;
        }));
  }
  return static_cast<double>(common) / static_cast<double>(of);
}

// The value of a sorted list below which, or at which, the share q of it lies (nearest rank).
double nearest_rank(const std::vector<double>& sorted, double q) {
  const auto rank = static_cast<std::size_t>(std::ceil(q * static_cast<double>(sorted.size())));
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

double median(const std::vector<double>& sorted) {
  const std::size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

}  // namespace

const std::vector<MetricDefinition>& metric_definitions() {
  using Type = MetricDefinition::Type;
  using Better = MetricDefinition::Better;
  static const std::vector<MetricDefinition> definitions = {
      {.name = "max_abs_error@1",
       .meaning = "largest |subject - reference|",
       .unit = kOwnUnit,
       .of_nothing = "constant_error@1"},
      {"mean_abs_error@1", "mean |subject - reference|", kOwnUnit},
      {"rel_l2@1", "||subject - reference|| / ||reference||, Euclidean, over all rows", "ratio"},
      {"max_ulp@1", "largest distance in float32 ulps", "ulps"},
      {"kl_max@1", "largest KL(softmax(reference) || softmax(subject)) of a row", "nats"},
      {"kl_mean@1", "mean over the rows of KL(softmax(reference) || softmax(subject))", "nats"},
      {"kl_median@1", "median over the rows of that KL", "nats"},
      {"kl_p999@1", "99.9th percentile over the rows of that KL, nearest rank", "nats"},
      {"top1_agreement@1", "rows whose largest value stands in the same column", "rows",
       Type::kAgreement, Better::kHigher},
      {"top5_overlap@1",
       "smallest share over the rows of the five largest columns in common",
       "ratio",
       Type::kNumber,
       Better::kHigher,
       {},
       0,
       1},
      {"top10_overlap@1",
       "smallest share over the rows of the ten largest columns in common",
       "ratio",
       Type::kNumber,
       Better::kHigher,
       {},
       0,
       1},
      {"finite@1", "no NaN and no infinity on either side", "", Type::kBool, Better::kTrue},
      {"constant_error@1",
       "the least max_abs_error@1 of any subject whose rows are constant: the reference's widest "
       "row, halved",
       kOwnUnit, Type::kNumber, Better::kNeither},
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
  std::vector<std::string> names;
  for (const MetricDefinition& definition : metric_definitions()) names.push_back(definition.name);
  return names;
}

nlohmann::json place_json(const Place& place, const std::string& column_field) {
  const auto list = [&](const std::vector<ColumnValue>& values) {
    nlohmann::json array = nlohmann::json::array();
    for (const ColumnValue& one : values) {
      array.push_back({{column_field, one.column}, {"value", one.value}});
    }
    return array;
  };
  return {{"position", place.row},
          {column_field, place.column},
          {"subject", place.subject},
          {"reference", place.reference},
          {"ulps", place.ulps ? nlohmann::json(*place.ulps) : nlohmann::json(nullptr)},
          {"subject_top5", list(place.subject_top5)},
          {"reference_top5", list(place.reference_top5)}};
}

namespace {

// Does one column hold so much of the row's squared error that the rest is right beside it?
bool is_alone(const ErrorSums& errors) {
  constexpr double kShare = 0.9;  // docs/results.md
  return errors.max > 0 && errors.max * errors.max >= kShare * errors.squares;
}

// The lowest column whose |s - r| is `error`, the row's largest. Only the block with it is read.
std::int64_t column_of_error(std::span<const BlockSums> blocks, double error, const float* subject,
                             const float* reference) {
  const auto block =
      std::ranges::find_if(blocks, [&](const BlockSums& one) { return one.errors.max == error; });
  std::int64_t column = (block - blocks.begin()) * kBlockColumns;
  while (std::fabs(static_cast<double>(subject[column]) - static_cast<double>(reference[column])) !=
         error) {
    ++column;
  }
  return column;
}

}  // namespace

struct RowComparison::State {
  State(int thread_count, bool kl_too) : workers(thread_count), with_kl(kl_too) {}

  // What one row adds.
  struct Row {
    BlockSums sums;  // of all its blocks; the tiles' maxima of the first
    bool finite = true;
    double kl = 0;
    // Of the largest error, the lowest on ties; looked for where it may be the worst or is alone.
    std::int64_t column = 0;
    TopValues subject, reference;
  };

  Workers workers;
  const bool with_kl;
  std::vector<BlockSums> blocks;  // of the rows at hand, reused
  std::vector<Row> together;      // likewise

  std::int64_t rows = 0;
  std::int64_t columns = 0;
  bool finite = true;
  double max_error = -1;
  double sum_error = 0;
  double sum_error2 = 0;
  double sum_reference2 = 0;
  std::uint32_t ulps = 0;
  double widest = 0;       // largest minus smallest value of a reference's row
  std::vector<double> kl;  // of every row: its quantiles need them all
  std::int64_t top1_agree = 0;
  double top5_overlap = 1;
  double top10_overlap = 1;
  std::optional<Place> worst;
  std::vector<RowError> rising;
  std::vector<RowError> errors;  // of every row
  static constexpr std::size_t kRisesKept = 256;

  // Up to kRowsAtOnce rows, so that `blocks` stays small.
  static constexpr std::int64_t kRowsAtOnce = 64;
  // Blocks that one thread takes in their order, so that each can be fetched during the one before.
  static constexpr std::int64_t kBlocksAtOnce = 32;

  std::int64_t blocks_per_row() const { return (columns + kBlockColumns - 1) / kBlockColumns; }
  void add_rows(std::span<const std::int64_t> labels, const float* subject, const float* reference);
  Row put_together(std::int64_t row, const float* subject, const float* reference) const;
  void add_row(std::int64_t label, const Row& row, const float* subject, const float* reference);
  static RowError error_of(std::int64_t label, const Row& row);
  Place place(std::int64_t label, std::int64_t column, const float* subject,
              const float* reference) const;
};

void RowComparison::State::add_rows(std::span<const std::int64_t> labels, const float* subject,
                                    const float* reference) {
  const MetricKernels& kernels = *metric_kernels().front();
  const std::int64_t per_row = blocks_per_row();
  const auto count = static_cast<std::int64_t>(labels.size());
  blocks.resize(static_cast<std::size_t>(count * per_row));
  together.resize(labels.size());
  const std::int64_t tasks_per_row = (per_row + kBlocksAtOnce - 1) / kBlocksAtOnce;
  workers.run(count * tasks_per_row, [&](std::int64_t task) {
    const std::int64_t row = task / tasks_per_row;
    const std::int64_t first = task % tasks_per_row * kBlocksAtOnce;
    for (std::int64_t block = first; block < std::min(first + kBlocksAtOnce, per_row); ++block) {
      const std::int64_t begin = block * kBlockColumns;
      const std::int64_t offset = row * columns + begin;
      blocks[static_cast<std::size_t>(row * per_row + block)] =
          sum_block(kernels, subject + offset, reference + offset,
                    std::min(kBlockColumns, columns - begin), with_kl);
    }
  });
  workers.run(count, [&](std::int64_t row) {
    together[static_cast<std::size_t>(row)] =
        put_together(row, subject + row * columns, reference + row * columns);
  });
  for (std::int64_t row = 0; row < count; ++row) {
    const auto at = static_cast<std::size_t>(row);
    add_row(labels[at], together[at], subject + row * columns, reference + row * columns);
  }
}

RowComparison::State::Row RowComparison::State::put_together(std::int64_t row, const float* subject,
                                                             const float* reference) const {
  const BlockSums* const first = blocks.data() + row * blocks_per_row();
  const std::span own(first, first + blocks_per_row());
  Row sums;
  sums.sums = own.front();
  sums.finite = std::ranges::all_of(own, &BlockSums::finite);
  if (!sums.finite) return sums;
  for (const BlockSums& block : own.subspan(1)) merge(sums.sums, block);
  const ErrorSums& errors = sums.sums.errors;
  if (errors.max > max_error || is_alone(errors))
    sums.column = column_of_error(own, errors.max, subject, reference);
  if (with_kl) sums.kl = kl_divergence(sums.sums);
  const auto tile_of = [&](const auto& maxima, std::int64_t tile) {
    return (own[static_cast<std::size_t>(tile / kBlockTiles)].errors.*maxima)[tile % kBlockTiles];
  };
  sums.subject = top_values(
      subject, columns, [&](std::int64_t tile) { return tile_of(&ErrorSums::subject_max, tile); });
  sums.reference = top_values(reference, columns, [&](std::int64_t tile) {
    return tile_of(&ErrorSums::reference_max, tile);
  });
  return sums;
}

void RowComparison::State::add_row(std::int64_t label, const Row& row, const float* subject,
                                   const float* reference) {
  ++rows;
  errors.push_back(error_of(label, row));
  if (!finite) return;  // nothing can be made good again
  if (!row.finite) {
    std::int64_t column = 0;
    while (std::isfinite(subject[column]) && std::isfinite(reference[column])) ++column;
    worst = place(label, column, subject, reference);
    worst->subject_top5 = top_values(subject, columns).first(5);
    worst->reference_top5 = top_values(reference, columns).first(5);
    finite = false;
    return;
  }
  if (row.sums.errors.max > max_error) {
    max_error = row.sums.errors.max;
    worst = place(label, row.column, subject, reference);
    worst->subject_top5 = row.subject.first(5);
    worst->reference_top5 = row.reference.first(5);
    if (rising.size() < kRisesKept || max_error > 1.25 * rising.back().max_abs_error) {
      rising.push_back(errors.back());
    }
  }
  sum_error += row.sums.errors.abs;
  sum_error2 += row.sums.errors.squares;
  sum_reference2 += row.sums.errors.reference2;
  ulps = std::max(ulps, row.sums.errors.ulps);
  widest =
      std::max(widest, row.sums.reference_max - static_cast<double>(row.sums.errors.reference_min));
  if (with_kl) kl.push_back(row.kl);
  if (row.subject.list[0].column == row.reference.list[0].column) ++top1_agree;
  top5_overlap = std::min(top5_overlap, overlap(row.subject, row.reference, 5));
  top10_overlap = std::min(top10_overlap, overlap(row.subject, row.reference, 10));
}

RowError RowComparison::State::error_of(std::int64_t label, const Row& row) {
  if (!row.finite) return {label, kNaN};
  const ErrorSums& sums = row.sums.errors;
  return {label, sums.max, is_alone(sums) ? std::optional(row.column) : std::nullopt};
}

Place RowComparison::State::place(std::int64_t label, std::int64_t column, const float* subject,
                                  const float* reference) const {
  Place found;
  found.row = label;
  found.column = column;
  found.subject = subject[column];
  found.reference = reference[column];
  if (!std::isnan(found.subject) && !std::isnan(found.reference)) {
    found.ulps = ulp_distance(found.subject, found.reference);
  }
  return found;
}

RowComparison::RowComparison(int threads, bool with_kl)
    : state_(std::make_unique<State>(threads, with_kl)) {}
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
  MetricValues metrics = {
      {"max_abs_error@1", unless_bad(s.max_error)},
      {"mean_abs_error@1", unless_bad(s.sum_error / values)},
      {"rel_l2@1", unless_bad(rel_l2)},
      {"max_ulp@1", unless_bad(static_cast<double>(s.ulps))},
      {"constant_error@1", unless_bad(s.widest / 2)},
      {"top1_agreement@1", Agreement{s.finite ? s.top1_agree : 0, s.rows}},
      {"top5_overlap@1", unless_bad(s.top5_overlap)},
      {"top10_overlap@1", unless_bad(s.top10_overlap)},
      {"finite@1", s.finite},
  };
  if (!s.with_kl) return metrics;
  std::vector<double> sorted = s.finite ? s.kl : std::vector<double>{kNaN};
  double sum = 0;  // in the order of the rows
  for (const double row : sorted) sum += row;
  metrics["kl_mean@1"] = sum / static_cast<double>(sorted.size());
  std::ranges::sort(sorted);
  metrics["kl_max@1"] = sorted.back();
  metrics["kl_median@1"] = median(sorted);
  metrics["kl_p999@1"] = nearest_rank(sorted, 0.999);
  return metrics;
}

std::optional<Place> RowComparison::worst() const { return state_->worst; }

const std::vector<RowError>& RowComparison::rising() const { return state_->rising; }

const std::vector<RowError>& RowComparison::errors() const { return state_->errors; }

}  // namespace octlm::verify
