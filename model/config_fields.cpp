#include "model/config_fields.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "formats/nearest_name.h"

namespace octlm::model {

ConfigFields::ConfigFields(const Json& object, std::string where, std::string path,
                           std::vector<FieldRule> rules)
    : object_(object), where_(std::move(where)), path_(std::move(path)), rules_(std::move(rules)) {
  std::vector<std::string_view> known;
  for (const FieldRule& rule : rules_) known.push_back(rule.name);
  for (const auto& [key, found] : object_.items()) {
    const auto rule = std::find_if(rules_.begin(), rules_.end(),
                                   [&name = key](const FieldRule& r) { return r.name == name; });
    if (rule == rules_.end()) {
      const std::string near = formats::nearest_name(key, known);
      refuse(where_, "unknown field " + in_quotes(full_name(key)) +
                         (near.empty() ? "; octlm does not know what it would change"
                                       : "; did you mean '" + full_name(near) + "'?"));
    }
    if (rule->kind != FieldRule::Kind::kOnly) continue;
    const Json supported = Json::parse(rule->supported);
    if (std::find(supported.begin(), supported.end(), found) == supported.end()) {
      std::string list;
      for (const Json& one : supported) list += (list.empty() ? "" : ", ") + one.dump();
      refuse_field(key, list + " (" + std::string(rule->reason) + ")");
    }
  }
}

const Json* ConfigFields::find(std::string_view name) const {
  assert(std::any_of(rules_.begin(), rules_.end(),
                     [&](const FieldRule& rule) { return rule.name == name; }));
  const auto found = object_.find(std::string(name));
  return found == object_.end() ? nullptr : &*found;
}

bool ConfigFields::present(std::string_view name) const { return find(name) != nullptr; }

bool ConfigFields::has(std::string_view name) const {
  const Json* found = find(name);
  return found != nullptr && !found->is_null();
}

const Json& ConfigFields::value(std::string_view name) const {
  const Json* found = find(name);
  if (found == nullptr) {
    refuse(where_, "missing field '" + full_name(name) + "'; octlm assumes no default for it");
  }
  return *found;
}

void ConfigFields::refuse_field(std::string_view name, const std::string& supported) const {
  refuse(where_, "field '" + full_name(name) + "': found " + as_found(value(name)) +
                     ", supported: " + supported);
}

std::int64_t ConfigFields::integer(std::string_view name, std::int64_t low,
                                   std::int64_t high) const {
  const Json& found = value(name);
  // Beyond int64 nlohmann keeps an unsigned integer; the comparison below must not wrap.
  const bool fits = found.is_number_unsigned()
                        ? found.get<std::uint64_t>() <= static_cast<std::uint64_t>(high) &&
                              found.get<std::int64_t>() >= low
                        : found.is_number_integer() && found.get<std::int64_t>() >= low &&
                              found.get<std::int64_t>() <= high;
  if (!fits) {
    refuse_field(name, "an integer from " + std::to_string(low) + " to " + std::to_string(high));
  }
  return found.get<std::int64_t>();
}

double ConfigFields::positive_number(std::string_view name) const {
  const Json& found = value(name);
  if (!found.is_number() || !(found.get<double>() > 0.0) || !std::isfinite(found.get<double>())) {
    refuse_field(name, "a positive number");
  }
  return found.get<double>();
}

bool ConfigFields::boolean(std::string_view name) const {
  const Json& found = value(name);
  if (!found.is_boolean()) refuse_field(name, "true or false");
  return found.get<bool>();
}

std::string ConfigFields::text(std::string_view name) const {
  const Json& found = value(name);
  if (!found.is_string()) refuse_field(name, "a string");
  return found.get<std::string>();
}

}  // namespace octlm::model
