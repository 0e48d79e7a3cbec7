#include "verify/ledger/ledger.h"

#include <algorithm>
#include <set>

#include "formats/json_reader.h"
#include "formats/sha256.h"
#include "verify/ledger/amendment.h"
#include "verify/provenance.h"
#include "verify/spec.h"

namespace octlm::verify {

const std::string kFirstPrev(64, '0');

namespace {

// One line: its members, each of its type.

void read_digests(const formats::Reader& object) {
  object.object([](formats::ObjectReader& members) {
    for (const auto& [name, value] : members.all()) value.non_empty_string();
  });
}

// As much of a spec as amendments are computed from. Whether it is a good one was asked when it was
// registered, by the program of that day.
void read_spec_shape(const formats::Reader& spec) {
  spec.object([](formats::ObjectReader& members) {
    members.all();
    members.required("id").non_empty_string();
    if (const auto cases = members.optional("cases")) cases->array();
    for (const formats::Reader& criterion : members.required("criteria").non_empty_array()) {
      criterion.object([](formats::ObjectReader& parts) {
        parts.all();
        parts.required("metric").non_empty_string();
        int bounds = 0;
        for (const char* bound : {"at_most", "at_least", "equals"}) {
          if (parts.optional(bound)) ++bounds;
        }
        if (bounds != 1) parts.fail("expected one bound");
      });
    }
  });
}

// Absent in lines from before they were kept.
void read_measures(formats::ObjectReader& members) {
  const auto measures = members.optional("measures");
  if (!measures) return;
  for (const formats::Reader& one : measures->array()) one.non_empty_string();
}

void read_claim(formats::ObjectReader& members) {
  read_measures(members);
  members.required("spec_sha256").non_empty_string();
  read_spec_shape(members.required("spec"));
  read_digests(members.required("files"));
  for (const formats::Reader& metric : members.required("metrics").array())
    metric.non_empty_string();
}

void read_prior(const formats::Reader& prior) {
  prior.object([](formats::ObjectReader& members) {
    members.required("computed").boolean();
    members.required("declared").boolean();
    members.required("source").string();
  });
}

void read_publication(formats::ObjectReader& members) {
  members.required("run").non_empty_string();
  read_digests(members.required("artefacts"));
  members.required("verdict").non_empty_string();
  members.required("label").non_empty_string();
  for (const char* key : {"devices", "intents"}) read_digests(members.required(key));
  if (const auto engines = members.optional("engines")) read_digests(*engines);
  read_measures(members);
  for (const char* key : {"spec_sha256", "code_sha256", "entry_sha256"}) {
    members.required(key).non_empty_string();
  }
}

LedgerLine read_line(std::string_view text, std::int64_t number) {
  LedgerLine line;
  line.number = number;
  line.sha256 = formats::sha256(text);
  line.fields = formats::parse_strict(text, "line " + std::to_string(number));
  formats::Reader(line.fields, "line " + std::to_string(number))
      .object([&](formats::ObjectReader& members) {
        line.experiment = members.required("experiment").non_empty_string();
        line.entry = members.required("entry").one_of({"register", "amend", "withdraw", "publish"});
        line.prev = members.required("prev").non_empty_string();
        line.time = members.required("time").non_empty_string();
        members.required("commit").non_empty_string();
        if (line.entry == "publish") return read_publication(members);
        if (line.entry != "register") members.required("reason").non_empty_string();
        if (line.entry == "withdraw") return;
        read_claim(members);
        read_prior(members.required("prior_results"));
        if (line.entry == "amend") {
          members.required("class").one_of({"narrowing", "loosening"});
          members.required("changes").array();
        }
      });
  return line;
}

std::vector<LedgerLine> read_lines(std::string_view text, std::vector<std::string>& problems) {
  std::vector<LedgerLine> lines;
  for (std::int64_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) {
      problems.push_back("line " + std::to_string(number) + " does not end: it was cut off");
      break;
    }
    try {
      lines.push_back(read_line(text.substr(0, end), number));
    } catch (const formats::FormatError& error) {
      problems.push_back(error.what());
    }
    text.remove_prefix(end + 1);
  }
  return lines;
}

// A chain: does each line follow the one before it?

// Why `line`, at `index`, does not follow the line before it.
std::string break_text(const Chain& chain, std::size_t index) {
  const LedgerLine& line = chain[index];
  const auto names = [&](const LedgerLine& other) { return other.sha256 == line.prev; };
  const auto here = chain.begin() + static_cast<std::ptrdiff_t>(index);
  if (std::find_if(here, chain.end(), names) != chain.end()) {
    return line.text() + " stands before the line that it follows: lines were reordered";
  }
  const bool forks = line.prev == kFirstPrev || std::find_if(chain.begin(), here, names) != here;
  if (forks) {
    return line.text() + " follows the same line as one before it: a line was inserted or " +
           "reordered, or two branches changed this experiment";
  }
  return line.text() + " follows a line that is not there: that line was edited or removed";
}

void check_links(const Chain& chain, std::vector<std::string>& problems) {
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const std::string& expected = i == 0 ? kFirstPrev : chain[i - 1].sha256;
    if (chain[i].prev != expected) problems.push_back(break_text(chain, i));
    if (i > 0 && chain[i].time < chain[i - 1].time) {
      problems.push_back(chain[i].text() + " is older than the line before it");
    }
  }
}

// The digest is of the spec that the line holds.
void check_claim(const LedgerLine& line, std::vector<std::string>& problems) {
  Spec spec;
  spec.raw = line.fields["spec"];
  const auto files = line.fields["files"].get<std::map<std::string, std::string>>();
  if (formats::sha256(digest_input(spec, files)) != line.fields["spec_sha256"]) {
    problems.push_back(line.text() + " was edited: its digest is not that of its spec");
  }
  if (spec.raw.value("id", nlohmann::json()) != line.experiment) {
    problems.push_back(line.text() + " holds the spec of another experiment");
  }
}

void check_amendment(const LedgerLine& before, const LedgerLine& line,
                     std::vector<std::string>& problems) {
  const Amendment made = amendment(before.fields, line.fields);
  if (made.changes_json() != line.fields["changes"] || made.class_name() != line.fields["class"]) {
    problems.push_back(line.text() + " was edited: its changes or its class (" + made.class_name() +
                       ") are not those of its spec");
  }
}

// register, then amendments and publications, then perhaps a withdrawal.
void check_order(const Chain& chain, std::vector<std::string>& problems) {
  const LedgerLine* claim = nullptr;
  bool withdrawn = false;
  for (const LedgerLine& line : chain) {
    if ((claim == nullptr) != (line.entry == "register")) {
      problems.push_back(
          line.text() + (claim ? " registers it a second time" : " comes before its registration"));
      continue;
    }
    if (withdrawn) problems.push_back(line.text() + " comes after its withdrawal");
    withdrawn |= line.entry == "withdraw";
    if (line.entry != "register" && line.entry != "amend") continue;
    check_claim(line, problems);
    if (claim != nullptr) check_amendment(*claim, line, problems);
    claim = &line;
  }
}

}  // namespace

std::string LedgerLine::text() const {
  return "line " + std::to_string(number) + " (" + experiment + ", " + entry + ")";
}

const Chain& Ledger::chain(const std::string& experiment) const {
  static const Chain kNone;
  const auto found = chains.find(experiment);
  return found == chains.end() ? kNone : found->second;
}

std::string Ledger::head() const {
  std::set<std::string> heads;
  for (const auto& [experiment, chain] : chains) heads.insert(chain.back().sha256);
  std::string text;
  for (const std::string& one : heads) text += one + '\n';
  return formats::sha256(text);
}

Ledger parse_ledger(std::string_view text) {
  Ledger ledger;
  for (LedgerLine& line : read_lines(text, ledger.problems)) {
    ledger.chains[line.experiment].push_back(std::move(line));
  }
  for (const auto& [experiment, chain] : ledger.chains) {
    check_links(chain, ledger.problems);
    check_order(chain, ledger.problems);
  }
  return ledger;
}

Ledger read_ledger(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::exists(file, error) && !error) return {};
  return parse_ledger(formats::read_file(file));
}

void require_valid(const Ledger& ledger, const std::string& name) {
  if (ledger.problems.empty()) return;
  const std::size_t more = ledger.problems.size() - 1;
  throw LedgerInvalid(name + ": the ledger is invalid: " + ledger.problems.front() +
                      (more ? " (and " + std::to_string(more) + " more)" : "") +
                      "; an audit lists everything");
}

std::string ledger_line(const Chain& chain, const std::string& experiment, const std::string& entry,
                        const nlohmann::json& fields) {
  nlohmann::json line = fields;
  line["experiment"] = experiment;
  line["entry"] = entry;
  line["prev"] = chain.empty() ? kFirstPrev : chain.back().sha256;
  line["time"] = utc_now();
  if (!chain.empty() && line["time"] < chain.back().time) {
    throw std::runtime_error("this machine's clock says " + line["time"].get<std::string>() + ", " +
                             chain.back().text() + " is of " + chain.back().time);
  }
  return line.dump() + "\n";
}

}  // namespace octlm::verify
