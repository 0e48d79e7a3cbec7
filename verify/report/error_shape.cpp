#include "verify/report/error_shape.h"

#include <algorithm>
#include <cmath>

#include "verify/lenient_json.h"

namespace octlm::verify {
namespace {

// The bins whose error exceeds the bound, or is none.
std::vector<std::size_t> bad_bins(const ErrorByPosition& errors, double bound) {
  std::vector<std::size_t> bad;
  for (std::size_t bin = 0; bin < errors.max_abs_error.size(); ++bin) {
    if (!(errors.max_abs_error[bin] <= bound)) bad.push_back(bin);
  }
  return bad;
}

std::int64_t end_of(const ErrorByPosition& errors, std::size_t bin) {
  return bin + 1 < errors.first.size() ? errors.first[bin + 1] : errors.last + 1;
}

bool is_exact(const ErrorByPosition& errors) { return errors.rows == std::ssize(errors.first); }

// The column in which every bad bin has its error, and next to nothing beside it.
std::optional<std::int64_t> only_column(const ErrorByPosition& errors,
                                        const std::vector<std::size_t>& bad) {
  if (errors.lone_column.empty()) return std::nullopt;
  const std::optional<std::int64_t> column = errors.lone_column[bad.front()];
  const bool same =
      std::ranges::all_of(bad, [&](std::size_t bin) { return errors.lone_column[bin] == column; });
  return same ? column : std::nullopt;
}

// Does the logarithm of the error follow the position, from the first wrong one on? A correlation
// of 0.7 or more, and a growth by ten or more from one end of the fitted line to the other. (What
// comes before is left out: a step would pass for growth.)
bool grows(const ErrorByPosition& errors, std::size_t from) {
  std::vector<std::pair<double, double>> points;
  for (std::size_t bin = from; bin < errors.first.size(); ++bin) {
    const double error = errors.max_abs_error[bin];
    if (std::isfinite(error) && error > 0) {
      points.push_back({static_cast<double>(errors.first[bin]), std::log10(error)});
    }
  }
  if (points.size() < 8) return false;
  double x = 0, y = 0, xx = 0, yy = 0, xy = 0;
  for (const auto& [position, error] : points) x += position, y += error;
  x /= static_cast<double>(points.size());
  y /= static_cast<double>(points.size());
  for (const auto& [position, error] : points) {
    xx += (position - x) * (position - x);
    yy += (error - y) * (error - y);
    xy += (position - x) * (error - y);
  }
  if (!(xx > 0) || !(yy > 0)) return false;
  const double growth = xy / xx * (points.back().first - points.front().first);
  return xy / std::sqrt(xx * yy) >= 0.7 && growth >= 1;
}

// One line of neighbours that begins and ends within the sequence.
std::string stretch(const ErrorByPosition& errors, const std::vector<std::size_t>& bad) {
  if (bad.back() - bad.front() + 1 != bad.size()) return "";
  const std::int64_t first = errors.first[bad.front()], last = end_of(errors, bad.back()) - 1;
  if (bad.back() + 1 == errors.first.size()) {
    return "from position " + std::to_string(first) + " to the end";
  }
  return "positions " + std::to_string(first) + " to " + std::to_string(last) + " only";
}

}  // namespace

std::optional<std::int64_t> split_of(const ComparisonResult& comparison) {
  const Measurement* measured = comparison.measurement();
  if (!measured) return std::nullopt;
  const auto& calls = member(member(measured->record, "calls"), "subject");
  if (!calls.is_array() || calls.size() < 2 || !calls[1].is_array() || calls[1].empty()) {
    return std::nullopt;
  }
  const auto first = integer_of(calls[1][0]);
  return first && *first > 0 ? first : std::nullopt;
}

std::vector<std::string> error_shape(const Program& program, const ComparisonResult& comparison,
                                     double bound) {
  const Measurement* measured = comparison.measurement();
  if (!measured || measured->errors.empty()) return {};
  const ErrorByPosition& errors = measured->errors;
  const std::vector<std::size_t> bad = bad_bins(errors, bound);
  if (bad.empty()) return {};
  const std::size_t bins = errors.first.size();
  std::vector<std::string> shape;
  if (const auto column = only_column(errors, bad)) {
    shape.push_back("one " + program.column + " only (" + std::to_string(*column) + ")");
  }
  const auto split = split_of(comparison);
  const bool after_split = split && errors.first[bad.front()] >= *split;
  if (bad.size() == bins) {
    shape.push_back(bins == 1 ? "at the only position" : "everywhere");
  } else if (bad.size() == 1 && is_exact(errors)) {
    shape.push_back("one position only (" + std::to_string(errors.first[bad.front()]) + ")");
  } else if (bad.size() == bins - 1 && bad.front() == 1 && end_of(errors, 0) == 1) {
    shape.push_back("position 0 right, the rest wrong");
  }
  if (after_split) shape.push_back("only after the split at position " + std::to_string(*split));
  if (grows(errors, bad.front())) shape.push_back("growing with position");
  if (shape.empty()) shape.push_back(stretch(errors, bad));
  if (shape.front().empty()) {
    shape.front() = "in " + std::to_string(bad.size()) + " of " + std::to_string(bins) +
                    (is_exact(errors) ? " positions" : " stretches of positions") +
                    ", right ones between them";
  }
  return shape;
}

}  // namespace octlm::verify
