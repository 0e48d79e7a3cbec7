#include "verify/ledger/journal.h"

#include <unistd.h>

#include <algorithm>
#include <set>

#include "formats/json_reader.h"
#include "formats/sha256.h"
#include "verify/ledger/locked_append.h"
#include "verify/provenance.h"

namespace octlm::verify {
namespace {

std::string text_at(const nlohmann::json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_string() ? found->get<std::string>() : "";
}

Attempt read_intent(const nlohmann::json& line, std::string_view text) {
  return {.sha256 = formats::sha256(text),
          .time = text_at(line, "time"),
          .intent = {.key = {text_at(line, "spec_sha256"), text_at(line, "code_sha256"),
                             text_at(line, "device")},
                     .experiment = text_at(line, "experiment"),
                     .measurement_sha256 = text_at(line, "measures"),
                     .run = text_at(line, "run"),
                     .label = text_at(line, "label"),
                     .entry = text_at(line, "entry"),
                     .resumes = text_at(line, "resumes")},
          .engines = {},
          .result = {}};
}

Attempt* attempt_of(Journal& journal, const nlohmann::json& line) {
  const std::string intent = text_at(line, "intent");
  const auto found = std::find_if(journal.attempts.begin(), journal.attempts.end(),
                                  [&](const Attempt& one) { return one.sha256 == intent; });
  return found == journal.attempts.end() ? nullptr : &*found;
}

void take_engines(Journal& journal, const nlohmann::json& line, std::int64_t number) {
  Attempt* attempt = attempt_of(journal, line);
  if (attempt == nullptr || !attempt->intent.key.engines_sha256.empty()) {
    journal.problems.push_back(
        "line " + std::to_string(number) +
        (attempt == nullptr ? ": engines without intent" : ": other engines of one intent"));
    return;
  }
  const auto identity = line.find("identity");
  if (identity == line.end()) return;
  attempt->intent.key.engines_sha256 = engines_sha256(*identity);
  attempt->engines = engines_text(*identity);
}

void take_result(Journal& journal, const nlohmann::json& line, std::int64_t number) {
  const std::string where = "line " + std::to_string(number);
  Attempt* attempt = attempt_of(journal, line);
  if (attempt == nullptr) {
    journal.problems.push_back(where + ": a result without intent: no line before it has sha256 " +
                               text_at(line, "intent"));
  } else if (attempt->result) {
    journal.problems.push_back(where + ": a second result of one intent (" +
                               attempt->intent.experiment + ")");
  } else {
    const auto comparisons = line.find("comparisons");
    const bool counted = comparisons != line.end() && comparisons->is_number_integer();
    attempt->result = {text_at(line, "verdict"), counted ? comparisons->get<std::int64_t>() : 0};
  }
}

// A line that a kill cut off is ended first, so that ours starts a new one.
void append(const std::filesystem::path& journal, const std::string& line) {
  locked_append(journal, [&](std::string_view text) {
    return (text.empty() || text.back() == '\n' ? "" : "\n") + line + "\n";
  });
}

bool has_failed(const Attempt& attempt) {
  return attempt.result && attempt.result->verdict == "fail";
}

// "numpy 1.0 and 3 files", of one side.
std::string side_text(const nlohmann::json& side) {
  if (!side.is_object()) return "";
  std::string text = text_at(side, "engine");
  if (const std::string version = text_at(side, "version"); !version.empty()) text += " " + version;
  const auto files = side.find("files");
  if (files != side.end() && files->is_number_integer()) {
    const auto count = files->get<std::int64_t>();
    text += " and " + std::to_string(count) + (count == 1 ? " file" : " files");
  }
  return text + (text_at(side, "source") == "recorded" ? " (recorded)" : "");
}

bool compared_nothing(const Attempt& attempt) {
  return attempt.result && attempt.result->verdict == "not_run" && attempt.result->comparisons == 0;
}

}  // namespace

std::string attempt_code(const std::string& code_sha256, const std::string& subject_sha256) {
  if (subject_sha256.empty()) return code_sha256;
  return formats::sha256(code_sha256 + "\n" + subject_sha256 + "\n");
}

bool same_thing(const AttemptKey& a, const AttemptKey& b) {
  const bool engines =
      a.engines_sha256 == b.engines_sha256 || a.engines_sha256.empty() || b.engines_sha256.empty();
  return engines && a.spec_sha256 == b.spec_sha256 && a.code_sha256 == b.code_sha256 &&
         a.device == b.device;
}

std::string engines_sha256(const nlohmann::json& identity) {
  if (!identity.is_object() || identity.empty()) return "";
  constexpr auto kReplace = nlohmann::json::error_handler_t::replace;
  return formats::sha256(identity.dump(-1, ' ', false, kReplace));
}

std::string engines_text(const nlohmann::json& identity) {
  constexpr std::size_t kShown = 8;
  if (!identity.is_object() || identity.empty()) return "";
  const auto side = [&](const char* name) {
    const auto found = identity.find(name);
    return found == identity.end() ? std::string() : side_text(*found);
  };
  const std::string subject = side("subject"), reference = side("reference");
  const std::string between = !subject.empty() && !reference.empty() ? " against " : "";
  const std::string sides = subject + between + reference;
  return sides + (sides.empty() ? "[" : " [") + engines_sha256(identity).substr(0, kShown) + "]";
}

const Attempt* Journal::find(const std::string& intent_sha256) const {
  const auto found = std::find_if(attempts.begin(), attempts.end(),
                                  [&](const Attempt& one) { return one.sha256 == intent_sha256; });
  return found == attempts.end() ? nullptr : &*found;
}

const Attempt* Journal::last(const std::string& run, const std::string& experiment,
                             const std::string& device) const {
  const auto found = std::find_if(attempts.rbegin(), attempts.rend(), [&](const Attempt& one) {
    return one.intent.run == run && one.intent.experiment == experiment &&
           one.intent.key.device == device;
  });
  return found == attempts.rend() ? nullptr : &*found;
}

bool Journal::results_exist(const std::string& experiment,
                            const std::string& measurement_sha256) const {
  return std::any_of(attempts.begin(), attempts.end(), [&](const Attempt& one) {
    const bool same =
        one.intent.experiment == experiment ||
        (!measurement_sha256.empty() && one.intent.measurement_sha256 == measurement_sha256);
    return same && one.result && one.result->comparisons > 0;
  });
}

const Attempt* Journal::failed_before(const Attempt& attempt) const {
  const Attempt* last = nullptr;
  for (const Attempt& one : attempts) {
    if (one.sha256 == attempt.sha256) break;
    if (has_failed(one) && same_thing(one.intent.key, attempt.intent.key)) last = &one;
  }
  return last;
}

Trust::Attempts Journal::count(const AttemptKey& key, const std::string& intent) const {
  std::set<std::string> resumed;
  for (const Attempt& one : attempts) resumed.insert(one.intent.resumes);
  Trust::Attempts counted{.intent = intent};
  for (const Attempt& one : attempts) {
    if (!same_thing(one.intent.key, key)) continue;
    const bool failed = has_failed(one);
    const bool counts = failed || !(resumed.contains(one.sha256) || compared_nothing(one));
    counted.attempt += counts;
    counted.failed += failed;
    if (one.sha256 == intent) break;
    counted.abandoned += counts && !one.result;
  }
  return counted;
}

Journal parse_journal(std::string_view text) {
  Journal journal;
  for (std::int64_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view one = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (one.empty()) continue;
    const auto line = formats::parse_or_discard(one);
    const std::string type = line.is_object() ? text_at(line, "type") : "";
    if (type == "intent") {
      journal.attempts.push_back(read_intent(line, one));
    } else if (type == "engines") {
      take_engines(journal, line, number);
    } else if (type == "result") {
      take_result(journal, line, number);
    } else {
      ++journal.torn_lines;
    }
  }
  return journal;
}

Journal read_journal(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::exists(file, error) && !error) return {};
  return parse_journal(formats::read_file(file));
}

std::string append_intent(const std::filesystem::path& journal, const Intent& intent) {
  const nlohmann::json line = {{"type", "intent"},
                               {"time", utc_now_precise()},
                               {"process", ::getpid()},
                               {"run", intent.run},
                               {"experiment", intent.experiment},
                               {"device", intent.key.device},
                               {"spec_sha256", intent.key.spec_sha256},
                               {"measures", intent.measurement_sha256},
                               {"code_sha256", intent.key.code_sha256},
                               {"label", intent.label},
                               {"entry", intent.entry},
                               {"resumes", intent.resumes}};
  constexpr auto kReplace = nlohmann::json::error_handler_t::replace;
  const std::string text = line.dump(-1, ' ', false, kReplace);
  append(journal, text);
  return formats::sha256(text);
}

void append_engines(const std::filesystem::path& journal, const std::string& intent_sha256,
                    const nlohmann::json& identity) {
  const nlohmann::json line = {{"type", "engines"},
                               {"time", utc_now_precise()},
                               {"intent", intent_sha256},
                               {"identity", identity}};
  constexpr auto kReplace = nlohmann::json::error_handler_t::replace;
  append(journal, line.dump(-1, ' ', false, kReplace));
}

void append_result(const std::filesystem::path& journal, const std::string& intent_sha256,
                   const AttemptResult& result) {
  const nlohmann::json line = {{"type", "result"},
                               {"time", utc_now_precise()},
                               {"intent", intent_sha256},
                               {"verdict", result.verdict},
                               {"comparisons", result.comparisons}};
  append(journal, line.dump());
}

}  // namespace octlm::verify
