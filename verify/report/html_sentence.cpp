// The generated sentence. It says "matches" only when every comparison with the reference held,
// there was at least one, each belongs to a pass that counts, and nothing in the run failed or
// broke.
#include <algorithm>
#include <set>

#include "verify/lenient_json.h"
#include "verify/report/html_sections.h"
#include "verify/report/markup.h"
#include "verify/report/text.h"

namespace octlm::verify::html {
namespace {

struct Counts {
  std::int64_t made = 0, held = 0, broke = 0;
  std::int64_t counted = 0;           // held, in a pass that counts
  std::int64_t in_scale = 0;          // held, and bounded where a fault would show
  std::int64_t planned = 0, all = 0;  // of every experiment, parity or not
  std::int64_t longest = 0;           // positions
  std::set<std::string> devices, dtypes, subjects;
};

bool is_counted_pass(const RunResult& run, const ExperimentResult& experiment,
                     const std::string& device) {
  if (!counts(run, experiment)) return false;
  return std::ranges::any_of(experiment.judgement.devices, [&](const DeviceResult& one) {
    return one.device == device && one.verdict == Verdict::kPass;
  });
}

// Does what judges it and holds bound it where a fault would show? Records from before this was
// known do not say: then it is not claimed.
bool is_bounded_in_scale(const ExperimentResult& experiment, const ComparisonResult& comparison) {
  return std::ranges::any_of(experiment.judgement.criteria, [&](const CriterionResult& one) {
    const auto held = judge_one(one, comparison);
    return one.sees_scale && held && held->holds;
  });
}

std::string subject_name(const RunResult& run, const ComparisonResult& comparison) {
  const Side side = side_of(comparison, "subject");
  // A subject in the program's own code: its commit says more than a version.
  if (!run.info.subject_sha256.empty() || run.info.commit.empty() || run.info.commit == "unknown") {
    return side.engine + (side.version.empty() ? "" : " " + side.version);
  }
  return side.engine + " " + run.info.commit.substr(0, 7) +
         (run.info.dirty == true ? ", modified" : "");
}

void count(const RunResult& run, const ExperimentResult& experiment, Counts& counts) {
  for (const ComparisonResult& comparison : experiment.comparisons) {
    if (!comparison.measurement()) continue;
    ++counts.made;
    const ComparisonState state = judged(experiment, comparison).state;
    counts.held += state == ComparisonState::kHeld;
    counts.broke += state == ComparisonState::kBroke;
    if (state == ComparisonState::kHeld) {
      counts.counted += is_counted_pass(run, experiment, comparison.key.device);
      counts.in_scale += is_bounded_in_scale(experiment, comparison);
    }
    counts.devices.insert(comparison.key.device);
    counts.dtypes.insert(comparison.key.dtype);
    counts.subjects.insert(subject_name(run, comparison));
    const auto positions = integer_of(member(comparison.measurement()->record, "positions"));
    counts.longest = std::max(counts.longest, positions.value_or(0));
  }
}

Counts count(const RunResult& run) {
  Counts counts;
  const Tally made = tally(run);
  counts.planned = made.planned;
  counts.all = made.made;
  for (const ExperimentResult& experiment : run.experiments) {
    if (is_parity(experiment)) count(run, experiment, counts);
  }
  return counts;
}

template <class Words>
std::string joined(const Words& words, const char* separator = ", ") {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : separator) + word;
  return text;
}

std::string plural(std::int64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string short_list(std::vector<std::string> ids) {
  if (ids.size() > 4) {
    const std::size_t more = ids.size() - 3;
    ids.resize(3);
    ids.push_back("and " + std::to_string(more) + " more");
  }
  return joined(ids);
}

template <class Wanted>
std::string ids_of(const RunResult& run, const Wanted& wanted) {
  std::vector<std::string> ids;
  for (const ExperimentResult& experiment : run.experiments) {
    if (wanted(experiment)) ids.push_back(experiment.id);
  }
  return short_list(std::move(ids));
}

std::string ids_with(const RunResult& run, Verdict verdict) {
  return ids_of(run, [&](const auto& one) { return one.judgement.verdict == verdict; });
}

// A pass whose planted faults nobody has tried is said to be one.
std::string teeth_text(const RunResult& run) {
  const std::string ids = ids_of(run, [](const ExperimentResult& one) {
    return one.judgement.verdict == Verdict::kPass && one.lacks_teeth();
  });
  return ids.empty() ? "" : " Teeth not shown: no planted fault was tried in " + ids + ".";
}

std::string subject_text(const Counts& counts) {
  return joined(counts.subjects, " and ") + " (" + joined(counts.devices) + ")";
}

std::string failed_text(const RunResult& run, const Counts& counts, const std::string& reference) {
  const std::string ids = ids_with(run, Verdict::kFail);
  const auto others = run.summary.fail;
  if (counts.broke == 0) {
    return plural(others, "experiment") + (others == 1 ? " does" : " do") + " not hold: " + ids +
           ".";
  }
  return subject_text(counts) + " does not match " + reference + ": " +
         std::to_string(counts.broke) + " of " + plural(counts.made, "comparison") +
         (counts.broke == 1 ? " breaks" : " break") + " a bound (" + ids + ").";
}

std::string ended_text(const RunResult& run, const Counts& counts) {
  const std::string reference = joined(references_of(run), " and ");
  if (run.summary.fail > 0) return failed_text(run, counts, reference);
  const std::string in =
      " in " + std::to_string(counts.held) + " of " + plural(counts.made, "comparison");
  const std::string within = subject_text(counts) + " differs from " + reference +
                             " by no more than its bounds allow" + in;
  if (run.summary.error > 0) {
    return "Something broke in " + ids_with(run, Verdict::kError) + "." +
           (counts.made == 0 ? "" : " " + within + " that could be made.");
  }
  if (counts.all == 0) return "Nothing was compared.";
  if (counts.made == 0) {
    return "Nothing was compared with a reference; " + plural(counts.all, "check") +
           " of other kinds " + (counts.all == 1 ? "was" : "were") + " made.";
  }
  if (counts.counted == counts.made && counts.in_scale == counts.made)
    return subject_text(counts) + " matches " + reference + in + "." + teeth_text(run);
  if (counts.held < counts.made) return within + "; the rest has no verdict.";
  if (counts.counted == counts.made) return within + ".";
  return within + (counts.counted == 0 ? ", none of which counts."
                                       : ", of which " + std::to_string(counts.counted) +
                                             (counts.counted == 1 ? " counts." : " count."));
}

std::string not_checked_text(const RunResult& run, const Counts& counts) {
  std::vector<std::string> list;
  const Program& program = run.info.program;
  for (const std::string& device : program.devices) {
    if (!counts.devices.contains(device)) list.push_back(device);
  }
  for (const Precision& precision : program.precisions) {
    const bool compared = std::ranges::any_of(
        precision.dtypes, [&](const std::string& dtype) { return counts.dtypes.contains(dtype); });
    if (precision.in_sentence && !compared) list.push_back(precision.name);
  }
  if (counts.longest > 0) list.push_back("beyond " + plural(counts.longest, program.length));
  std::vector<std::string> ids = run.not_started;
  for (const ExperimentResult& experiment : run.experiments) {
    if (experiment.judgement.verdict == Verdict::kNotRun) ids.push_back(experiment.id);
  }
  if (ids.size() > 4) {
    list.push_back(plural(std::ssize(ids), "experiment") + " that were not run");
  } else {
    list.insert(list.end(), ids.begin(), ids.end());
  }
  if (counts.all < counts.planned) {
    list.push_back(std::to_string(counts.planned - counts.all) + " of " +
                   plural(counts.planned, "planned comparison"));
  }
  return joined(list);
}

Markup overall_badge(const RunResult& run) {
  if (!run.ended) return badge("error", "!", "did not end");
  if (run.interrupted_by != 0) return badge("error", "!", "interrupted");
  if (run.summary.fail > 0) return badge("fail", "✕", "fail");
  if (run.summary.error > 0) return badge("error", "!", "error");
  switch (run.summary.exit_code) {
    case 0:
      return badge("pass", "✓", "pass");
    case 3:
      return badge("uncounted", "◌", "does not count");
    default:
      return badge("not-run", "○", "nothing passed");
  }
}

}  // namespace

Sentence sentence(const RunResult& run) {
  const Counts counts = count(run);
  std::string verdict = ended_text(run, counts);
  if (!run.ended) verdict = "This run did not end. Until then: " + verdict;
  if (run.interrupted_by != 0) verdict = "This run was interrupted. Until then: " + verdict;
  return {verdict, not_checked_text(run, counts)};
}

Markup headline_section(const RunResult& run, const ReportContext& context) {
  const Sentence said = sentence(run);
  Markup text = "<header><p class=\"overall\">" + overall_badge(run) + "<span>" +
                for_markup(headline(run)) + " " + prose_markup(run.summary.why) + "</span><span>" +
                name_markup(run.info.started);
  if (run.ended) text += ", exit code " + number_markup(run.summary.exit_code);
  text += "</span></p><h1>" + prose_markup(said.verdict) + "</h1>";
  if (!said.not_checked.empty()) {
    text +=
        "<p class=\"unchecked\"><b>Not checked:</b> " + prose_markup(said.not_checked) + ".</p>";
  }
  if (context.torn) {
    text += "<p class=\"why\">The last line of results.jsonl was cut off and is left out.</p>";
  }
  return text + "</header>\n";
}

}  // namespace octlm::verify::html
