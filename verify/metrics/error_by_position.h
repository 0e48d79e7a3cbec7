// How the error of a comparison is spread over its positions: small enough for its line of
// results.jsonl, and exact where it counts. A page draws it, and reads from it whether a fault is
// at the start, grows, or begins where the subject's first call ends.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace octlm::verify {

// The largest |s - r| of one row; NaN when a value of it is not finite.
struct RowError {
  std::int64_t row = 0;  // the label given to add()
  double max_abs_error = 0;
  // The column of that error when it alone holds nine tenths of the row's squared error, so that
  // the rest of the row is right beside it.
  std::optional<std::int64_t> lone_column = {};
};

// Rows in the order in which they were added, in at most kBins bins of equally many rows (the last
// may have fewer): each row has a bin of its own when there are no more than kBins.
struct ErrorByPosition {
  static constexpr std::size_t kBins = 128;

  std::int64_t rows = 0;
  std::int64_t last = 0;              // label of the last row
  std::vector<std::int64_t> first;    // by bin: the label of its first row
  std::vector<double> max_abs_error;  // by bin: its largest; NaN when one is not finite
  // By bin: the lone column of its row of largest error. Empty when no bin has one.
  std::vector<std::optional<std::int64_t>> lone_column;

  // Of all rows, each counted once by its largest error: e -> how many are in [2^e, 2^(e+1)).
  std::vector<std::pair<std::int64_t, std::int64_t>> powers_of_two;  // ascending e
  std::int64_t equal = 0;                                            // an error of zero
  std::int64_t not_finite = 0;                                       // a value that is not finite

  bool empty() const { return first.empty(); }
};

ErrorByPosition error_by_position(std::span<const RowError> errors);

}  // namespace octlm::verify
