#include "verify/metrics/metric_value.h"

#include <cmath>
#include <cstdio>
#include <limits>

namespace octlm::verify {
namespace {

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

}  // namespace

nlohmann::json number_json(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

nlohmann::json metric_json(const MetricValue& value) {
  return std::visit(Overloaded{
                        [](double number) { return number_json(number); },
                        [](const Agreement& agreement) {
                          return nlohmann::json{{"agree", agreement.agree}, {"of", agreement.of}};
                        },
                        [](auto other) { return nlohmann::json(other); },
                    },
                    value);
}

nlohmann::json metrics_json(const MetricValues& values) {
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [name, value] : values) json[name] = metric_json(value);
  return json;
}

nlohmann::json without_non_finite(nlohmann::json value) {
  if (value.is_number_float()) return number_json(value.get<double>());
  if (value.is_structured()) {
    for (auto& member : value) member = without_non_finite(std::move(member));
  }
  return value;
}

double as_number(const MetricValue& value) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  return std::visit(Overloaded{
                        [](double number) { return number; },
                        [](bool) { return kNaN; },
                        [](std::int64_t integer) { return static_cast<double>(integer); },
                        [](const Agreement& agreement) {
                          return agreement.of == 0 ? kNaN
                                                   : static_cast<double>(agreement.agree) /
                                                         static_cast<double>(agreement.of);
                        },
                    },
                    value);
}

std::string number_text(double value) {
  if (!std::isfinite(value)) return number_json(value).get<std::string>();
  char text[32];
  const double size = std::fabs(value);
  const bool plain = size == 0 || (size >= 1e-2 && size < 1e6);
  std::snprintf(text, sizeof text, plain ? "%.6g" : "%.3e", value);
  return text;
}

std::string metric_text(const MetricValue& value) {
  return std::visit(Overloaded{
                        [](double number) { return number_text(number); },
                        [](bool truth) -> std::string { return truth ? "true" : "false"; },
                        [](std::int64_t integer) { return std::to_string(integer); },
                        [](const Agreement& agreement) {
                          return std::to_string(agreement.agree) + " of " +
                                 std::to_string(agreement.of);
                        },
                    },
                    value);
}

}  // namespace octlm::verify
