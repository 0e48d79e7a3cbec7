#include "verify/ledger/journal.h"

#include <unistd.h>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "formats/json_reader.h"
#include "formats/sha256.h"
#include "verify/ledger/ledger.h"
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
          .finished = {},
          .result = {}};
}

// Appends a line that names the one before it. A line that a kill cut off is ended first, so that
// ours starts a new one. Returns what was appended.
std::string append(const std::filesystem::path& journal, nlohmann::json line) {
  constexpr auto kReplace = nlohmann::json::error_handler_t::replace;
  std::string text;
  locked_append_after(journal, [&](const FileEnd& end) {
    line["prev"] = end.last_line.empty() ? kFirstPrev : formats::sha256(end.last_line);
    text = line.dump(-1, ' ', false, kReplace);
    return (end.torn ? "\n" : "") + text + "\n";
  });
  return text;
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

std::vector<std::string> texts_at(const nlohmann::json& line, const char* key) {
  std::vector<std::string> texts;
  const auto list = line.find(key);
  if (list == line.end() || !list->is_array()) return texts;
  for (const nlohmann::json& one : *list) {
    if (one.is_string()) texts.push_back(one.get<std::string>());
  }
  return texts;
}

bool has_numbers(const Attempt& attempt) {
  const bool measured = std::ranges::any_of(
      attempt.finished, [](const Finished& one) { return !one.measures.empty(); });
  return measured || (attempt.result && attempt.result->comparisons > 0);
}

bool measured_any(const Attempt& attempt, const std::set<std::string>& measures) {
  return std::ranges::any_of(attempt.finished, [&](const Finished& one) {
    return std::ranges::any_of(one.measures,
                               [&](const std::string& each) { return measures.contains(each); });
  });
}

// Reads line by line; a line that a kill cut off is left out.
class Reading {
 public:
  Journal journal;

  void take(std::string_view text, std::int64_t number) {
    const auto line = formats::parse_or_discard(text);
    const std::string type = line.is_object() ? text_at(line, "type") : "";
    number_ = number;
    if (type == "intent") {
      places_[formats::sha256(text)] = journal.attempts.size();
      journal.attempts.push_back(read_intent(line, text));
    } else if (type == "engines") {
      take_engines(line);
    } else if (type == "comparison") {
      take_finished(line);
    } else if (type == "result") {
      take_result(line);
    } else {
      ++journal.torn_lines;
      return;
    }
    check_link(line);
    last_ = text;
  }

 private:
  void problem(const std::string& what) {
    journal.problems.push_back("line " + std::to_string(number_) + ": " + what);
  }

  // Journals from before the chain began go on as one.
  void check_link(const nlohmann::json& line) {
    const std::string prev = text_at(line, "prev");
    if (prev.empty() && !chained_) return;
    chained_ = true;
    if (prev == (last_.empty() ? kFirstPrev : formats::sha256(last_))) return;
    problem("does not follow the line before it: one was edited, removed, inserted or moved");
  }

  Attempt* attempt_of(const nlohmann::json& line) {
    const auto place = places_.find(text_at(line, "intent"));
    return place == places_.end() ? nullptr : &journal.attempts[place->second];
  }

  void take_engines(const nlohmann::json& line) {
    Attempt* attempt = attempt_of(line);
    if (attempt == nullptr) return problem("engines without intent");
    if (!attempt->intent.key.engines_sha256.empty()) return problem("other engines of one intent");
    const auto identity = line.find("identity");
    if (identity == line.end()) return;
    attempt->intent.key.engines_sha256 = engines_sha256(*identity);
    attempt->engines = engines_text(*identity);
  }

  void take_finished(const nlohmann::json& line) {
    Attempt* attempt = attempt_of(line);
    if (attempt == nullptr) return problem("a comparison without intent");
    attempt->finished.push_back({.key = {text_at(line, "case"), text_at(line, "path"),
                                         text_at(line, "device"), text_at(line, "dtype")},
                                 .sha256 = text_at(line, "sha256"),
                                 .measures = texts_at(line, "measures")});
  }

  void take_result(const nlohmann::json& line) {
    Attempt* attempt = attempt_of(line);
    if (attempt == nullptr) {
      return problem("a result without intent: no line before it has sha256 " +
                     text_at(line, "intent"));
    }
    if (attempt->result)
      return problem("a second result of one intent (" + attempt->intent.experiment + ")");
    const auto comparisons = line.find("comparisons");
    const bool counted = comparisons != line.end() && comparisons->is_number_integer();
    attempt->result = {text_at(line, "verdict"), counted ? comparisons->get<std::int64_t>() : 0};
  }

  std::unordered_map<std::string, std::size_t> places_;  // of attempts, by the intent's sha256
  std::string_view last_;                                // the last line that was whole
  std::int64_t number_ = 0;
  bool chained_ = false;
};

bool compared_nothing(const Attempt& attempt) {
  return attempt.result && attempt.result->verdict == "not_run" && attempt.result->comparisons == 0;
}

}  // namespace

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

const Attempt* Journal::results_of(const Spec& spec) const {
  const std::set<std::string> measures(spec.measures.begin(), spec.measures.end());
  const auto same = [&](const Attempt& one) {
    const Intent& intent = one.intent;
    const bool whole =
        intent.experiment == spec.id ||
        (!spec.measurement_sha256.empty() && intent.measurement_sha256 == spec.measurement_sha256);
    return (whole && has_numbers(one)) || measured_any(one, measures);
  };
  const auto found = std::ranges::find_if(attempts, same);
  return found == attempts.end() ? nullptr : &*found;
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
  Reading reading;
  for (std::int64_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view one = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (!one.empty()) reading.take(one, number);
  }
  return std::move(reading.journal);
}

Journal read_journal(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::exists(file, error) && !error) return {};
  return parse_journal(formats::read_file(file));
}

void require_valid(const Journal& journal, const std::string& name) {
  if (journal.problems.empty()) return;
  throw LedgerInvalid(name + ": the journal is damaged: " + journal.problems.front() +
                      "; an audit lists everything");
}

std::string append_intent(const std::filesystem::path& journal, const Intent& intent) {
  return formats::sha256(append(journal, {{"type", "intent"},
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
                                          {"resumes", intent.resumes}}));
}

void append_engines(const std::filesystem::path& journal, const std::string& intent_sha256,
                    const nlohmann::json& identity) {
  append(journal, {{"type", "engines"},
                   {"time", utc_now_precise()},
                   {"intent", intent_sha256},
                   {"identity", identity}});
}

void append_finished(const std::filesystem::path& journal, const std::string& intent_sha256,
                     const Finished& finished) {
  append(journal, {{"type", "comparison"},
                   {"time", utc_now_precise()},
                   {"intent", intent_sha256},
                   {"case", finished.key.case_name},
                   {"path", finished.key.path},
                   {"device", finished.key.device},
                   {"dtype", finished.key.dtype},
                   {"sha256", finished.sha256},
                   {"measures", finished.measures}});
}

void append_result(const std::filesystem::path& journal, const std::string& intent_sha256,
                   const AttemptResult& result) {
  append(journal, {{"type", "result"},
                   {"time", utc_now_precise()},
                   {"intent", intent_sha256},
                   {"verdict", result.verdict},
                   {"comparisons", result.comparisons}});
}

}  // namespace octlm::verify
