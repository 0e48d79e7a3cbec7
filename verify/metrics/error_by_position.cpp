#include "verify/metrics/error_by_position.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace octlm::verify {
namespace {

// NaN above every number: a bin with a value that is not finite has no largest error.
bool below(const RowError& one, const RowError& other) {
  const bool one_is = std::isfinite(one.max_abs_error);
  const bool other_is = std::isfinite(other.max_abs_error);
  if (!one_is || !other_is) return one_is && !other_is;
  return one.max_abs_error < other.max_abs_error;
}

}  // namespace

ErrorByPosition error_by_position(std::span<const RowError> errors) {
  ErrorByPosition found;
  if (errors.empty()) return found;
  found.rows = std::ssize(errors);
  found.last = errors.back().row;
  const std::size_t width = (errors.size() + ErrorByPosition::kBins - 1) / ErrorByPosition::kBins;
  bool lone = false;
  for (std::size_t begin = 0; begin < errors.size(); begin += width) {
    const auto bin = errors.subspan(begin, std::min(width, errors.size() - begin));
    const RowError& worst = *std::ranges::max_element(bin, below);
    found.first.push_back(bin.front().row);
    const bool finite = std::isfinite(worst.max_abs_error);
    found.max_abs_error.push_back(finite ? worst.max_abs_error
                                         : std::numeric_limits<double>::quiet_NaN());
    found.lone_column.push_back(finite ? worst.lone_column : std::nullopt);
    lone |= found.lone_column.back().has_value();
  }
  if (!lone) found.lone_column.clear();
  std::map<std::int64_t, std::int64_t> powers;
  for (const RowError& one : errors) {
    if (!std::isfinite(one.max_abs_error)) {
      ++found.not_finite;
    } else if (one.max_abs_error == 0) {
      ++found.equal;
    } else {
      ++powers[std::ilogb(one.max_abs_error)];
    }
  }
  found.powers_of_two.assign(powers.begin(), powers.end());
  return found;
}

}  // namespace octlm::verify
