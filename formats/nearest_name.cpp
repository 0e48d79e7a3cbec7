#include "formats/nearest_name.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace octlm::formats {
namespace {

constexpr std::size_t kLongest = 100;  // beyond it no slip of ours, and the distance is quadratic

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearest_name(std::string_view name, std::span<const std::string_view> known) {
  if (name.size() > kLongest) return "";
  std::string_view nearest;
  std::size_t least = std::max<std::size_t>(1, name.size() / 3) + 1;
  for (const std::string_view candidate : known) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < least) {
      least = distance;
      nearest = candidate;
    }
  }
  return std::string(nearest);
}

std::string suggestion(std::string_view name, std::span<const std::string_view> known) {
  const std::string nearest = nearest_name(name, known);
  if (!nearest.empty()) return "; did you mean \"" + nearest + "\"?";
  if (known.empty()) return "; there are none";
  std::string list;
  for (const std::string_view one : known) list.append(list.empty() ? "" : ", ").append(one);
  return "; known: " + list;
}

}  // namespace octlm::formats
