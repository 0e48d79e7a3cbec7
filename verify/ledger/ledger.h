// experiments/ledger.jsonl: what was claimed, and when (docs/ledger.md). One JSON object a line,
// appended, never changed. The lines of one experiment form a chain: each carries, as `prev`, the
// sha256 of the line before it. Chains do not depend on each other, so two branches that registered
// different experiments merge line by line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace octlm::verify {

// The `prev` of a chain's first line: 64 zeros.
extern const std::string kFirstPrev;

struct LedgerLine {
  std::int64_t number = 0;  // in the file, from 1
  std::string experiment;
  std::string entry;  // "register", "amend", "withdraw", "publish"
  std::string prev;
  std::string time;       // UTC
  std::string sha256;     // of the line's bytes, without the line feed
  nlohmann::json fields;  // the whole line

  // Where it stands, for messages: "line 7 (EXP-101, amend)".
  std::string text() const;
};

using Chain = std::vector<LedgerLine>;

struct Ledger {
  std::map<std::string, Chain> chains;  // by experiment, each in the order of the file
  // What is wrong with it, one sentence each. A ledger with problems labels nothing.
  std::vector<std::string> problems;

  // The chain of an experiment; empty when it is not registered.
  const Chain& chain(const std::string& experiment) const;
  // sha256 over the sorted sha256 of the chains' last lines, each followed by a line feed: it
  // changes with every line, and does not depend on the order in which branches were merged.
  std::string head() const;
};

class LedgerInvalid : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Reads every line and checks chains, digests and order. Never throws: what is wrong is in
// `problems`.
Ledger parse_ledger(std::string_view text);

// The same of a file; one that does not exist is an empty ledger. Throws std::runtime_error when it
// cannot be read.
Ledger read_ledger(const std::filesystem::path& file);

// Throws LedgerInvalid with the first problem and their number.
void require_valid(const Ledger& ledger, const std::string& name);

// The line that continues a chain: `fields` with experiment, entry, prev and time, ready to append.
// Throws std::runtime_error when the chain's last line is younger than this machine's clock.
std::string ledger_line(const Chain& chain, const std::string& experiment, const std::string& entry,
                        const nlohmann::json& fields);

}  // namespace octlm::verify
