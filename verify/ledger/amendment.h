// What changed between two versions of a claim, and whether it became stricter.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace octlm::verify {

struct Change {
  std::string field;                   // "criteria[max_abs_error@1].at_most", "cases"
  std::optional<nlohmann::json> from;  // absent: added
  std::optional<nlohmann::json> to;    // absent: removed
  bool narrows = false;
};

// Narrowing: every change adds a case, path, device, planted fault, criterion or recorded metric,
// tightens a bound, or is prose. Loosening: any other, so that what nobody thought of counts as
// one.
struct Amendment {
  std::vector<Change> changes;

  bool narrows() const;
  std::string class_name() const;       // "narrowing", "loosening"
  nlohmann::json changes_json() const;  // [{"field", "from"?, "to"?, "class"}]
};

// `before` and `after` hold {"spec": the document, "files": {name: sha256}}, as a ledger line does.
Amendment amendment(const nlohmann::json& before, const nlohmann::json& after);

}  // namespace octlm::verify
