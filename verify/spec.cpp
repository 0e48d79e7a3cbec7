#include "verify/spec.h"

#include <algorithm>
#include <set>

#include "formats/canonical_json.h"
#include "formats/nearest_name.h"
#include "formats/sha256.h"
#include "verify/kind.h"
#include "verify/metrics/metrics.h"

namespace octlm::verify {
namespace {

const std::vector<std::string> kParts = {"model", "reference", "subject", "cases", "parameters"};
const std::vector<std::string> kWhenKeys = {"device", "dtype", "path", "case"};

template <class Container>
bool contains(const Container& container, std::string_view name) {
  return std::find(container.begin(), container.end(), name) != container.end();
}

std::vector<std::string> known_metrics(const Kind& kind) {
  std::vector<std::string> names;
  for (const auto* definitions : {&kind.metrics, &metric_definitions()}) {
    for (const MetricDefinition& definition : *definitions) names.push_back(definition.name);
  }
  return names;
}

// REQUIRES: one of known_metrics.
const MetricDefinition& definition_of(const std::string& metric, const Kind& kind) {
  const auto own = std::ranges::find(kind.metrics, metric, &MetricDefinition::name);
  return own != kind.metrics.end() ? *own : *find_metric(metric);
}

std::vector<std::string> read_names(const formats::Reader& list,
                                    const std::vector<std::string>& known) {
  std::vector<std::string> names;
  for (const formats::Reader& element : list.array()) {
    names.push_back(element.one_of(known));
    if (std::count(names.begin(), names.end(), names.back()) > 1) {
      element.fail("\"" + names.back() + "\" is listed twice");
    }
  }
  return names;
}

constexpr std::string_view kCapitals = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::string_view kDigits = "0123456789";

bool consists_of(std::string_view text, std::string_view letters) {
  return text.find_first_not_of(letters) == std::string_view::npos;
}

bool is_tag(std::string_view text) {
  return !text.empty() && text.front() != '_' && text.front() != '-' &&
         consists_of(text, "abcdefghijklmnopqrstuvwxyz0123456789_-");
}

std::vector<std::string> read_tags(const formats::Reader& list) {
  std::vector<std::string> tags;
  for (const formats::Reader& element : list.array()) {
    tags.push_back(element.string());
    if (!is_tag(tags.back())) {
      element.fail("a tag is lower-case letters, digits, - and _");
    }
    if (std::count(tags.begin(), tags.end(), tags.back()) > 1) {
      element.fail("\"" + tags.back() + "\" is listed twice");
    }
  }
  return tags;
}

std::map<std::string, std::string> read_when(const formats::Reader& value) {
  std::map<std::string, std::string> when;
  value.object([&](formats::ObjectReader& members) {
    for (const std::string& key : kWhenKeys) {
      if (const auto wanted = members.optional(key)) when[key] = wanted->non_empty_string();
    }
  });
  if (when.empty()) value.fail("is empty: leave it out to judge every comparison");
  return when;
}

// False when there is no bound.
bool read_limit(formats::ObjectReader& members, Criterion& criterion) {
  int bounds = 0;
  const auto number_bound = [&](const char* key, Criterion::Bound bound) {
    if (const auto value = members.optional(key)) {
      criterion.bound = bound;
      criterion.limit = value->number();
      ++bounds;
    }
  };
  number_bound("at_most", Criterion::Bound::kAtMost);
  number_bound("at_least", Criterion::Bound::kAtLeast);
  if (const auto value = members.optional("equals")) {
    criterion.bound = Criterion::Bound::kEquals;
    if (value->raw().is_boolean()) {
      criterion.limit = value->boolean();
    } else {
      criterion.limit = value->number();
    }
    ++bounds;
  }
  if (bounds > 1) members.fail("takes one of at_most, at_least and equals, not several");
  return bounds == 1;
}

// A bound that its metric could never be held against is refused here, not found out by the run.
void check_type(const Criterion& criterion, const MetricDefinition& metric,
                const formats::Reader& value) {
  const bool wants_bool = metric.type == MetricDefinition::Type::kBool;
  if (wants_bool != std::holds_alternative<bool>(criterion.limit)) {
    value.fail(metric.name + (wants_bool ? " is true or false: use equals with one of them"
                                         : " is a number: use a number as its bound"));
  }
}

// Why the bound says nothing of its metric; "" when it does. REQUIRES: check_type.
std::string vacuity(const Criterion& criterion, const MetricDefinition& metric) {
  using Better = MetricDefinition::Better;
  using Bound = Criterion::Bound;
  if (const bool* wanted = std::get_if<bool>(&criterion.limit)) {
    return metric.better == Better::kTrue && !*wanted ? "claims the fault: use true" : "";
  }
  const double limit = std::get<double>(criterion.limit);
  const bool lower = metric.better == Better::kLower;
  const bool higher = metric.better == Better::kHigher;
  const std::string range = metric.name + " is never ";
  const std::string from = "below " + number_text(metric.lowest);
  const std::string to = "above " + number_text(metric.greatest);
  if (criterion.bound != Bound::kAtLeast && limit < metric.lowest) {
    return "can never hold: " + range + from;
  }
  if (criterion.bound != Bound::kAtMost && limit > metric.greatest) {
    return "can never hold: " + range + to;
  }
  switch (criterion.bound) {
    case Bound::kAtMost:
      if (higher)
        return "bounds the good side: of " + metric.name + " more is better, use at_least";
      if (limit >= metric.greatest) return "always holds: " + range + to;
      break;
    case Bound::kAtLeast:
      if (lower) return "bounds the good side: of " + metric.name + " less is better, use at_most";
      if (limit <= metric.lowest) return "always holds: " + range + from;
      break;
    case Bound::kEquals:
      if (lower && limit != metric.lowest) {
        return "fails what is better: of " + metric.name + " less is better, use at_most";
      }
      if (higher && limit != metric.greatest) {
        return "fails what is better: of " + metric.name + " more is better, use at_least";
      }
      break;
  }
  return "";
}

void check_says_something(const Criterion& criterion, const MetricDefinition& metric,
                          const formats::Reader& value) {
  const std::string why = vacuity(criterion, metric);
  if (why.empty()) return;
  const char* bound = bound_name(criterion.bound);
  const formats::Reader at(value.raw().at(bound), value.file(), value.path() + "." + bound);
  at.fail(why);
}

bool within_scale(const Criterion& criterion, const MetricDefinition& metric, const Kind& kind) {
  const auto scale = std::ranges::find(kind.scales, criterion.metric, &Scale::metric);
  if (scale == kind.scales.end()) return false;
  const double limit = std::get<double>(criterion.limit);
  return metric.better == MetricDefinition::Better::kHigher ? limit >= scale->loosest
                                                            : limit <= scale->loosest;
}

void read_params(formats::ObjectReader& members, Criterion& criterion,
                 const std::vector<std::string>& wanted) {
  const auto params = members.optional("params");
  if (!params) {
    if (!wanted.empty()) members.required("params");
    return;
  }
  params->object([&](formats::ObjectReader& inner) {
    for (const std::string& name : wanted) inner.required(name).number();
  });
  criterion.params = params->raw();
}

Criterion read_criterion(const formats::Reader& value, const Kind& kind) {
  Criterion criterion;
  bool bounded = false;
  value.object([&](formats::ObjectReader& members) {
    criterion.metric = members.required("metric").one_of(known_metrics(kind));
    read_params(members, criterion, definition_of(criterion.metric, kind).params);
    if (const auto when = members.optional("when")) criterion.when = read_when(*when);
    bounded = read_limit(members, criterion);
    const bool equals = bounded && criterion.bound == Criterion::Bound::kEquals;
    const auto derivation = members.optional("derivation");
    if (derivation) criterion.derivation = derivation->non_empty_string();
    if (!derivation && bounded && !equals) members.required("derivation");
  });
  if (!bounded) value.fail("has no bound: one of at_most, at_least and equals");
  const MetricDefinition& definition = definition_of(criterion.metric, kind);
  check_type(criterion, definition, value);
  check_says_something(criterion, definition, value);
  criterion.sees_scale = within_scale(criterion, definition, kind);
  return criterion;
}

void read_part(const formats::Reader& part, const std::string& name) {
  if (name == "cases") {
    (void)part.non_empty_array();
  } else {
    part.object([](formats::ObjectReader& all) { all.all(); });
  }
}

void read_parts(formats::ObjectReader& members, const Kind& kind) {
  for (const std::string& name : kParts) {
    if (contains(kind.parts, name)) {
      members.required(name, [&](const formats::Reader& part) { read_part(part, name); });
      continue;
    }
    members.optional(name, [&](const formats::Reader& part) {
      if (name != "parameters" || !part.raw().is_object() || !part.raw().empty()) {
        part.fail("kind " + kind.name + " takes none: nobody would read it");
      }
    });
  }
}

void read_identity(Spec& spec, formats::ObjectReader& members) {
  members.optional("$schema", [](const formats::Reader& schema) { (void)schema.string(); });
  members.required("schema", [](const formats::Reader& schema) {
    if (schema.integer() != 1) schema.fail("this program reads schema 1");
  });
  members.required("id", [&](const formats::Reader& id) {
    spec.id = id.string();
    if (!is_experiment_id(spec.id)) id.fail("expected an id like EXP-074");
  });
  members.required("tags", [&](const formats::Reader& tags) { spec.tags = read_tags(tags); });
  const std::pair<const char*, std::string*> prose[] = {{"title", &spec.title},
                                                        {"question", &spec.question},
                                                        {"prediction", &spec.prediction},
                                                        {"stop_rule", &spec.stop_rule}};
  for (const auto& [key, text] : prose) {
    members.required(key, [&](const formats::Reader& value) { *text = value.non_empty_string(); });
  }
}

// The kind is needed for what follows it: without one, that is not read.
void read_envelope(Spec& spec, formats::ObjectReader& members, std::span<const Kind> kinds) {
  read_identity(spec, members);
  const formats::Reader kind_name = members.required("kind");
  spec.kind = kind_name.string();
  const Kind& kind = find_kind(spec.kind, kinds, kind_name.file() + ": " + kind_name.path());
  spec.scales = kind.scales;
  members.required("criteria", [&](const formats::Reader& criteria) {
    criteria.each_of_non_empty([&](const formats::Reader& criterion) {
      spec.criteria.push_back(read_criterion(criterion, kind));
    });
  });
  members.optional("also_record", [&](const formats::Reader& list) {
    spec.also_record = read_names(list, known_metrics(kind));
  });
  members.optional("must_catch", [&](const formats::Reader& list) {
    spec.must_catch = read_names(list, kind.faults);
  });
  read_parts(members, kind);
}

void find_to_be_written(const nlohmann::json& value, const std::string& path,
                        std::vector<std::string>& places) {
  if (value.is_string() && value.get_ref<const std::string&>().starts_with(kToBeWritten)) {
    places.push_back(path);
  }
  if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i)
      find_to_be_written(value[i], path + "[" + std::to_string(i) + "]", places);
  }
  if (value.is_object()) {
    for (const auto& [key, member] : value.items())
      find_to_be_written(member, path + "." + key, places);
  }
}

std::map<std::string, std::string> hash_files(const Spec& spec, const Kind& kind) {
  std::map<std::string, std::string> hashes;
  if (!kind.files) return hashes;
  for (const auto& [name, file] : kind.files(spec)) {
    try {
      hashes[name] = formats::sha256_file(file);
    } catch (const std::runtime_error& error) {
      throw formats::FormatError(spec.file.string() + ": it names " + name + ": " + error.what());
    }
  }
  return hashes;
}

}  // namespace

const char* bound_name(Criterion::Bound bound) {
  switch (bound) {
    case Criterion::Bound::kAtMost:
      return "at_most";
    case Criterion::Bound::kAtLeast:
      return "at_least";
    case Criterion::Bound::kEquals:
      return "equals";
  }
  return "";
}

const Kind& find_kind(std::string_view name, std::span<const Kind> kinds,
                      const std::string& where) {
  std::vector<std::string> names;
  for (const Kind& kind : kinds) {
    if (kind.name == name) return kind;
    names.push_back(kind.name);
  }
  throw formats::FormatError(where + ": there is no kind \"" + std::string(name) + "\"" +
                             formats::suggestion(name, names));
}

bool is_experiment_id(const std::string& text) {
  const std::size_t dash = text.find('-');
  if (dash == std::string::npos) return false;
  const std::string_view letters = std::string_view(text).substr(0, dash);
  const std::string_view digits = std::string_view(text).substr(dash + 1);
  return letters.size() >= 2 && letters.size() <= 12 && !digits.empty() && digits.size() <= 9 &&
         consists_of(letters, kCapitals) && consists_of(digits, kDigits);
}

formats::Reader Spec::part(const std::string& name) const {
  return formats::Reader(raw.at(name), file.string(), "$." + name);
}

bool Spec::has_tag(std::string_view tag) const { return contains(tags, tag); }

ParsedSpec parse_with_findings(std::string_view text, const std::filesystem::path& file,
                               std::span<const Kind> kinds) {
  ParsedSpec parsed;
  Spec& spec = parsed.spec;
  spec.file = file;
  spec.raw = formats::parse_strict(text, file.string());
  const bool whole = parsed.findings.collect([&] {
    formats::Reader(spec.raw, file.string()).object([&](formats::ObjectReader& members) {
      read_envelope(spec, members, kinds);
    });
  });
  if (spec.kind.empty() || std::ranges::find(kinds, spec.kind, &Kind::name) == kinds.end())
    parsed.findings.raise();
  find_to_be_written(spec.raw, "$", spec.to_be_written);
  if (!whole) return parsed;
  const Kind& kind = find_kind(spec.kind, kinds, file.string());
  parsed.findings.collect([&] { spec.file_sha256 = hash_files(spec, kind); });
  spec.sha256 = formats::sha256(digest_input(spec, spec.file_sha256));
  spec.measurement_sha256 = formats::sha256(measurement_input(spec, spec.file_sha256));
  return parsed;
}

Spec parse_spec(std::string_view text, const std::filesystem::path& file,
                std::span<const Kind> kinds) {
  ParsedSpec parsed = parse_with_findings(text, file, kinds);
  parsed.findings.raise();
  return std::move(parsed.spec);
}

Spec read_spec(const std::filesystem::path& file, std::span<const Kind> kinds) {
  return parse_spec(formats::read_file(file), file, kinds);
}

std::string digest_input(const Spec& spec, const std::map<std::string, std::string>& file_sha256) {
  nlohmann::json claim = spec.raw;
  for (const char* prose : {"$schema", "title", "question", "prediction"}) claim.erase(prose);
  bool names_matter = false;
  for (nlohmann::json& criterion : claim["criteria"]) {
    criterion.erase("derivation");
    names_matter |= criterion.contains("when") && criterion["when"].contains("case");
  }
  if (!names_matter && claim.contains("cases")) {
    for (nlohmann::json& one : claim["cases"]) {
      if (one.is_object()) one.erase("name");
    }
  }
  return formats::canonical_json({{"files", file_sha256}, {"spec", claim}});
}

std::string measurement_input(const Spec& spec,
                              const std::map<std::string, std::string>& file_sha256) {
  nlohmann::json parts = {{"kind", spec.kind}};
  for (const std::string& name : kParts) {
    if (spec.raw.contains(name)) parts[name] = spec.raw[name];
  }
  if (parts.contains("cases")) {
    for (nlohmann::json& one : parts["cases"]) {
      if (one.is_object()) one.erase("name");
    }
  }
  return formats::canonical_json({{"files", file_sha256}, {"spec", parts}});
}

}  // namespace octlm::verify
