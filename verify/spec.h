// An experiment as it is claimed: the envelope of a spec file, read strictly (docs/spec-format.md).
// What model, reference, subject, cases and parameters hold is the kind's to read, as strictly.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "formats/json_reader.h"

namespace octlm::verify {

struct Kind;

// What a text starts with that a new spec leaves for the author.
inline constexpr std::string_view kToBeWritten = "REPLACE:";

struct Criterion {
  enum class Bound { kAtMost, kAtLeast, kEquals };

  std::string metric;  // "max_abs_error@1"
  nlohmann::json params = nlohmann::json::object();
  // Which comparisons it judges: all those whose device, dtype, path and case are the ones given
  // here.
  std::map<std::string, std::string> when = {};
  Bound bound = Bound::kAtMost;
  std::variant<double, bool> limit = 0.0;  // a bool only for kEquals
  std::string derivation;                  // why this value; may be empty for kEquals
  // One of the kind's scales, and no looser: a comparison that it judges and that holds is a match.
  bool sees_scale = false;
};

const char* bound_name(Criterion::Bound bound);  // "at_most", "at_least", "equals"

// A bound on a metric, in its own direction, at which what a claim of equality denies would still
// show: no looser than this.
struct Scale {
  std::string metric;                   // one of the kind's, or of metric_definitions()
  double loosest = 0;                   // of an error the greatest bound, of an agreement the least
  std::vector<std::string> paths = {};  // of the comparisons that it is for; empty: of all
};

struct Spec {
  std::filesystem::path file;
  nlohmann::json raw;  // the whole document

  std::string id;  // "EXP-074"
  std::string title;
  std::string kind;
  std::vector<std::string> tags;
  std::string question;
  std::string prediction;
  std::vector<Criterion> criteria;
  // The kind's, one of which must bound each comparison; empty: it claims no equality.
  std::vector<Scale> scales;
  std::vector<std::string> also_record;
  std::vector<std::string> must_catch;
  std::string stop_rule;

  // sha256 over everything that can change a verdict: see digest_input.
  std::string sha256;
  // sha256 over what is measured, without the claim: see measurement_input. "" of a spec made by
  // hand.
  std::string measurement_sha256;
  // Of each comparison it asks for (verify/measures.h); empty until its kind has read it.
  std::vector<std::string> measures = {};
  // The files it names (Kind::files), by content.
  std::map<std::string, std::string> file_sha256;
  // The places whose text still starts with kToBeWritten: "$.question", "$.cases[0].name".
  std::vector<std::string> to_be_written;

  // The kind's parts: "model", "reference", "subject", "cases", "parameters". `part` is for those
  // the kind lists (they are there, and `cases` is a non-empty array). The readers point into this
  // Spec.
  formats::Reader part(const std::string& name) const;

  bool has_tag(std::string_view tag) const;
};

// "EXP-074": capitals, a dash, digits.
bool is_experiment_id(const std::string& text);

// Reads and checks the envelope and takes the digest; the kind's own part is left to Kind::read.
// Throws formats::FormatError.
Spec read_spec(const std::filesystem::path& file, std::span<const Kind> kinds);
Spec parse_spec(std::string_view text, const std::filesystem::path& file,
                std::span<const Kind> kinds);

// The same, with what is wrong beside it in place of thrown: what could not be read of the envelope
// is as it is by default. Throws formats::FormatError only when it is no JSON, or of no known kind.
struct ParsedSpec {
  Spec spec;
  formats::Findings findings;
};
ParsedSpec parse_with_findings(std::string_view text, const std::filesystem::path& file,
                               std::span<const Kind> kinds);

// The kind called `name`. Throws formats::FormatError with the nearest name.
const Kind& find_kind(std::string_view name, std::span<const Kind> kinds, const std::string& where);

// What the digest is taken over, as canonical JSON (RFC 8785): {"files": {name: sha256}, "spec":
// ...}. `spec` is the document less prose: title, question, prediction, each derivation, and the
// names of cases unless a criterion's `when` refers to them. `files` are those the spec names
// (Kind::files).
std::string digest_input(const Spec& spec, const std::map<std::string, std::string>& file_sha256);

// The same of that part of the spec from which the numbers follow: kind, model, reference, subject,
// cases and parameters. Two specs that differ in their id and their bounds alone see the same
// numbers.
std::string measurement_input(const Spec& spec,
                              const std::map<std::string, std::string>& file_sha256);

}  // namespace octlm::verify
