// reports/journal.jsonl: every attempt made in this checkout, whatever became of it. Four kinds of
// line, appended and synced: an `intent` before the first number of an experiment on a device,
// `engines` when what is compared is ready and known, a `comparison` when one is finished and before
// the run's own record has it, and a `result` after the last number; these three name the sha256 of
// their intent's line. An intent without a result is an attempt that was abandoned: a crash, a kill,
// or one still at work. Each line names, as `prev`, the sha256 of the line before it, so that an
// edit in the middle shows; the end is held by nothing. It is local: the ledger is what clones agree
// on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "verify/result.h"
#include "verify/spec.h"

namespace octlm::verify {

// Attempts with the same key are attempts at the same thing.
struct AttemptKey {
  std::string spec_sha256;
  std::string code_sha256;  // the program's
  std::string device;
  // Of Experiment::identity: checkpoint, engines, their versions and files. "" when it is unknown:
  // the attempt ended before, or is of a journal that did not have it.
  std::string engines_sha256 = {};
};
// One whose engines are not known may have been at the same.
bool same_thing(const AttemptKey& a, const AttemptKey& b);

// "one 1.0 and 3 files against another 4.57.6 (recorded) [5b1c2d3e]": whose identity it is,
// and the beginning of its sha256, which tells two of the same name apart. "" for an empty one.
std::string engines_text(const nlohmann::json& identity);
std::string engines_sha256(const nlohmann::json& identity);

struct Intent {
  AttemptKey key;
  std::string experiment = {};
  std::string measurement_sha256 = {};  // Spec's; in the file, "measures"
  std::string run = {};                 // the folder of its reports
  std::string label = {};               // at that time
  std::string entry = {};    // the ledger line it rests on, by sha256; "" when unregistered
  std::string resumes = {};  // the intent, by sha256, that it goes on with; "" of a new attempt
};

struct AttemptResult {
  std::string verdict;  // "pass", "fail", "not_run", "error"
  std::int64_t comparisons = 0;
};

// A comparison that was finished, whatever came of it.
struct Finished {
  ComparisonKey key;
  std::string sha256;                      // of what the record has of it: finished_sha256
  std::vector<std::string> measures = {};  // verify/measures.h; empty when nothing was measured
};

struct Attempt {
  std::string sha256;  // of the intent's line
  std::string time;    // of the intent
  Intent intent;
  std::string engines;             // in words: engines_text; "" when they are not known
  std::vector<Finished> finished;  // in order
  std::optional<AttemptResult> result;
};

struct Journal {
  std::vector<Attempt> attempts;      // in the order of their intents
  std::vector<std::string> problems;  // a line edited or removed, a result without intent, ...
  std::int64_t torn_lines = 0;        // left by a kill in the middle of a write; not a problem

  const Attempt* find(const std::string& intent_sha256) const;
  // The last attempt of a run at an experiment on a device; nullptr when there is none.
  const Attempt* last(const std::string& run, const std::string& experiment,
                      const std::string& device) const;
  // The first attempt that showed numbers of this experiment, or numbers that it would measure
  // again, under whatever id: its measurement as a whole, or any of its measures. nullptr: none did.
  const Attempt* results_of(const Spec& spec) const;
  // The failed attempt at the same before this one that is the latest; nullptr when there is none.
  const Attempt* failed_before(const Attempt& attempt) const;
  // How often the thing was tried, with `intent` as the latest. Left out: attempts that compared
  // nothing because something was absent, and those that a later one resumed.
  Trust::Attempts count(const AttemptKey& key, const std::string& intent) const;
};

Journal parse_journal(std::string_view text);
// A file that does not exist is an empty journal.
Journal read_journal(const std::filesystem::path& file);

// Throws LedgerInvalid with the first problem: nothing is to rest on it.
void require_valid(const Journal& journal, const std::string& name);

// They throw std::runtime_error when the line cannot be written and synced. Processes may write at
// once: one line is one write, under a lock. Of an intent the sha256 is returned.
std::string append_intent(const std::filesystem::path& journal, const Intent& intent);
// What the attempt is with, as Experiment::identity has it.
void append_engines(const std::filesystem::path& journal, const std::string& intent_sha256,
                    const nlohmann::json& identity);
void append_finished(const std::filesystem::path& journal, const std::string& intent_sha256,
                     const Finished& finished);
void append_result(const std::filesystem::path& journal, const std::string& intent_sha256,
                   const AttemptResult& result);

}  // namespace octlm::verify
