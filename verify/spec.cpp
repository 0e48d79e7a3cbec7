#include "verify/spec.h"

#include <algorithm>
#include <regex>
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

std::vector<std::string> read_tags(const formats::Reader& list) {
  static const std::regex kTag("[a-z0-9][a-z0-9_-]*");
  std::vector<std::string> tags;
  for (const formats::Reader& element : list.array()) {
    tags.push_back(element.string());
    if (!std::regex_match(tags.back(), kTag)) {
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
  check_type(criterion, definition_of(criterion.metric, kind), value);
  return criterion;
}

void read_parts(formats::ObjectReader& members, const Kind& kind) {
  for (const std::string& name : kParts) {
    const bool wanted = contains(kind.parts, name);
    if (wanted) {
      const formats::Reader part = members.required(name);
      if (name == "cases") {
        part.non_empty_array();
      } else {
        part.object([](formats::ObjectReader& all) { all.all(); });
      }
    } else if (const auto part = members.optional(name)) {
      if (name != "parameters" || !part->raw().is_object() || !part->raw().empty()) {
        part->fail("kind " + kind.name + " takes none: nobody would read it");
      }
    }
  }
}

void read_envelope(Spec& spec, formats::ObjectReader& members, std::span<const Kind> kinds) {
  static const std::regex kId("[A-Z]{2,12}-[0-9]{1,9}");
  const formats::Reader schema = members.required("schema");
  if (schema.integer() != 1) schema.fail("this program reads schema 1");
  const formats::Reader id = members.required("id");
  spec.id = id.string();
  if (!std::regex_match(spec.id, kId)) id.fail("expected an id like EXP-074");
  spec.title = members.required("title").non_empty_string();
  const formats::Reader kind_name = members.required("kind");
  spec.kind = kind_name.string();
  const Kind& kind = find_kind(spec.kind, kinds, kind_name.file() + ": " + kind_name.path());
  spec.tags = read_tags(members.required("tags"));
  spec.question = members.required("question").non_empty_string();
  spec.prediction = members.required("prediction").non_empty_string();
  for (const formats::Reader& criterion : members.required("criteria").non_empty_array()) {
    spec.criteria.push_back(read_criterion(criterion, kind));
  }
  if (const auto list = members.optional("also_record")) {
    spec.also_record = read_names(*list, known_metrics(kind));
  }
  if (const auto list = members.optional("must_catch")) {
    spec.must_catch = read_names(*list, kind.faults);
  }
  spec.stop_rule = members.required("stop_rule").non_empty_string();
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

formats::Reader Spec::part(const std::string& name) const {
  return formats::Reader(raw.at(name), file.string(), "$." + name);
}

bool Spec::has_tag(std::string_view tag) const { return contains(tags, tag); }

Spec parse_spec(std::string_view text, const std::filesystem::path& file,
                std::span<const Kind> kinds) {
  Spec spec;
  spec.file = file;
  spec.raw = formats::parse_strict(text, file.string());
  formats::Reader(spec.raw, file.string()).object([&](formats::ObjectReader& members) {
    read_envelope(spec, members, kinds);
  });
  const Kind& kind = find_kind(spec.kind, kinds, file.string());
  spec.file_sha256 = hash_files(spec, kind);
  spec.sha256 = formats::sha256(digest_input(spec, spec.file_sha256));
  spec.measurement_sha256 = formats::sha256(measurement_input(spec, spec.file_sha256));
  find_to_be_written(spec.raw, "$", spec.to_be_written);
  return spec;
}

Spec read_spec(const std::filesystem::path& file, std::span<const Kind> kinds) {
  return parse_spec(formats::read_file(file), file, kinds);
}

std::string digest_input(const Spec& spec, const std::map<std::string, std::string>& file_sha256) {
  nlohmann::json claim = spec.raw;
  for (const char* prose : {"title", "question", "prediction"}) claim.erase(prose);
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
