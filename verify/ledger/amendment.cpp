#include "verify/ledger/amendment.h"

#include <algorithm>
#include <array>

namespace octlm::verify {
namespace {

using Json = nlohmann::json;

class Differ {
 public:
  std::vector<Change> changes;

  void note(const std::string& field, std::optional<Json> from, std::optional<Json> to,
            bool narrows) {
    changes.push_back({field, std::move(from), std::move(to), narrows});
  }

  // A member that may differ in any way; absent counts as a value.
  void member(const std::string& field, const Json& before, const Json& after,
              const std::string& key, bool narrows) {
    const auto at = [&](const Json& object) -> std::optional<Json> {
      return object.contains(key) ? std::optional(object[key]) : std::nullopt;
    };
    if (at(before) != at(after)) note(field, at(before), at(after), narrows);
  }

  // Lists whose order means nothing: more is stricter.
  void list(const std::string& field, const Json& before, const Json& after,
            const std::string& key) {
    const auto elements = [&](const Json& object) {
      std::vector<Json> all;
      if (object.contains(key) && object[key].is_array())
        all = object[key].get<std::vector<Json>>();
      return all;
    };
    std::vector<Json> was = elements(before);
    std::vector<Json> is = elements(after);
    const bool differed = was != is;
    std::erase_if(was, [&](const Json& one) {
      const auto same = std::find(is.begin(), is.end(), one);
      if (same == is.end()) return false;
      is.erase(same);
      return true;
    });
    for (const Json& gone : was) note(field, gone, std::nullopt, false);
    for (const Json& fresh : is) note(field, std::nullopt, fresh, true);
    if (differed && was.empty() && is.empty()) note(field, "order", "order", true);
  }
};

// Every key of either object, sorted.
std::vector<std::string> keys_of(const Json& one, const Json& other) {
  Json both = one;
  both.update(other);
  std::vector<std::string> keys;
  for (const auto& [key, value] : both.items()) keys.push_back(key);
  return keys;
}

bool is_one_of(const std::string& key, std::initializer_list<const char*> names) {
  return std::find(names.begin(), names.end(), key) != names.end();
}

// Criteria: matched by what they judge, then compared by bound.

constexpr std::array kBounds = {"at_most", "at_least", "equals"};

std::string bound_of(const Json& criterion) {
  for (const char* bound : kBounds) {
    if (criterion.contains(bound)) return bound;
  }
  return "";
}

bool judges_the_same(const Json& one, const Json& other) {
  Json a = one, b = other;
  for (Json* json : {&a, &b}) {
    json->erase("derivation");
    (*json)[bound_of(*json)] = nullptr;
  }
  return a == b;
}

bool tightens(const std::string& bound, const Json& from, const Json& to) {
  if (!from.is_number() || !to.is_number()) return false;
  if (bound == "at_most") return to < from;
  return bound == "at_least" && to > from;
}

void compare_criterion(Differ& differ, const Json& before, const Json& after) {
  const std::string field = "criteria[" + before["metric"].get<std::string>() + "]";
  const std::string bound = bound_of(before);
  differ.member(field + "." + bound, before, after, bound,
                tightens(bound, before[bound], after[bound]));
  differ.member(field + ".derivation", before, after, "derivation", true);
}

void compare_criteria(Differ& differ, const Json& before, const Json& after) {
  std::vector<Json> fresh = after["criteria"].get<std::vector<Json>>();
  for (const Json& old : before["criteria"]) {
    const auto match = std::find_if(fresh.begin(), fresh.end(),
                                    [&](const Json& one) { return judges_the_same(old, one); });
    if (match == fresh.end()) {
      differ.note("criteria", old, std::nullopt, false);
      continue;
    }
    compare_criterion(differ, old, *match);
    fresh.erase(match);
  }
  for (const Json& one : fresh) differ.note("criteria", std::nullopt, one, true);
}

// Cases: a name is prose, unless a criterion speaks of cases by name.

bool names_matter(const Json& spec) {
  return std::any_of(spec["criteria"].begin(), spec["criteria"].end(), [](const Json& one) {
    return one.contains("when") && one["when"].contains("case");
  });
}

Json without_names(Json cases) {
  for (Json& one : cases) {
    if (one.is_object()) one.erase("name");
  }
  return cases;
}

void compare_cases(Differ& differ, const Json& before, const Json& after) {
  const Json none = Json::array();
  const Json was = before.value("cases", none);
  const Json is = after.value("cases", none);
  if (names_matter(before) || names_matter(after)) {
    differ.list("cases", before, after, "cases");
  } else if (without_names(was) == without_names(is)) {
    if (was != is) differ.note("cases.name", was, is, true);
  } else {
    differ.list("cases", {{"cases", without_names(was)}}, {{"cases", without_names(is)}}, "cases");
  }
}

void compare_subject(Differ& differ, const Json& before, const Json& after) {
  for (const std::string& key : keys_of(before, after)) {
    if (is_one_of(key, {"devices", "paths"})) {
      differ.list("subject." + key, before, after, key);
    } else {
      differ.member("subject." + key, before, after, key, false);
    }
  }
}

bool both_objects(const Json& before, const Json& after, const std::string& key) {
  return before.contains(key) && after.contains(key) && before[key].is_object() &&
         after[key].is_object();
}

void compare_specs(Differ& differ, const Json& before, const Json& after) {
  for (const std::string& key : keys_of(before, after)) {
    if (key == "criteria") {
      compare_criteria(differ, before, after);
    } else if (key == "cases") {
      compare_cases(differ, before, after);
    } else if (key == "subject" && both_objects(before, after, key)) {
      compare_subject(differ, before[key], after[key]);
    } else if (is_one_of(key, {"also_record", "must_catch"})) {
      differ.list(key, before, after, key);
    } else {
      differ.member(key, before, after, key,
                    is_one_of(key, {"$schema", "title", "question", "prediction"}));
    }
  }
}

// A file may come with the case that names it; its content may not change.
void compare_files(Differ& differ, const Json& before, const Json& after) {
  for (const std::string& name : keys_of(before, after)) {
    differ.member("files." + name, before, after, name, !before.contains(name));
  }
}

}  // namespace

bool Amendment::narrows() const {
  return std::all_of(changes.begin(), changes.end(), [](const Change& one) { return one.narrows; });
}

std::string Amendment::class_name() const { return narrows() ? "narrowing" : "loosening"; }

nlohmann::json Amendment::changes_json() const {
  Json list = Json::array();
  for (const Change& change : changes) {
    Json one = {{"field", change.field}, {"class", change.narrows ? "narrowing" : "loosening"}};
    if (change.from) one["from"] = *change.from;
    if (change.to) one["to"] = *change.to;
    list.push_back(std::move(one));
  }
  return list;
}

Amendment amendment(const Json& before, const Json& after) {
  Differ differ;
  compare_specs(differ, before["spec"], after["spec"]);
  compare_files(differ, before["files"], after["files"]);
  return {std::move(differ.changes)};
}

}  // namespace octlm::verify
