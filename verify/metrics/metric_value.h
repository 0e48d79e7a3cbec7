// What a metric can be, and how it is written in a report.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>

namespace octlm::verify {

// Counted, never a float mean: 187 of 188 positions.
struct Agreement {
  std::int64_t agree = 0;
  std::int64_t of = 0;
  friend bool operator==(const Agreement&, const Agreement&) = default;
};

using MetricValue = std::variant<double, bool, std::int64_t, Agreement>;

// By versioned name: {"max_abs_error@1", 1.1e-4}. A metric that could not be computed is absent.
using MetricValues = std::map<std::string, MetricValue>;

// Numbers as numbers, non-finite ones as the strings "nan", "inf", "-inf"; {agree, of} as an
// object.
nlohmann::json number_json(double value);
nlohmann::json metric_json(const MetricValue& value);
nlohmann::json metrics_json(const MetricValues& values);

// A copy in which every non-finite number, at any depth, is such a string. Everything written to a
// report passes through here: JSON has no NaN, and a library's `null` would hide one.
nlohmann::json without_non_finite(nlohmann::json value);

// The value as the number a bound is held against: an agreement is agree / of (NaN for 0 of 0).
// NaN for a bool, which no order compares.
double as_number(const MetricValue& value);

// For people: "1.049e-04", "true", "40", "187 of 188", "nan".
std::string metric_text(const MetricValue& value);
std::string number_text(double value);

}  // namespace octlm::verify
