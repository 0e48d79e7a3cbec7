#include "verify/report/junit.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "verify/lenient_json.h"
#include "verify/report/facts.h"
#include "verify/report/markup.h"
#include "verify/report/repeat_command.h"
#include "verify/report/text.h"

namespace octlm::verify {
namespace {

struct Case {
  enum class Ending { kPass, kFailure, kError, kSkipped };
  Ending ending = Ending::kPass;
  std::string name, type, message;        // the last two of what is no pass
  std::vector<std::string> details = {};  // lines below the message of a failure or an error
  double seconds = 0;
};

struct Suite {
  std::string name;
  double seconds = 0;
  std::vector<std::pair<std::string, std::string>> properties = {};
  std::vector<Case> cases = {};
  std::string output = "";

  std::size_t count(Case::Ending ending) const {
    std::size_t count = 0;
    for (const Case& one : cases) count += one.ending == ending;
    return count;
  }
};

Markup attribute(const Markup& name, const std::string& value) {
  return " " + name + "=\"" + prose_markup(value) + "\"";
}

Markup attribute(const Markup& name, std::size_t count) {
  return attribute(name, std::to_string(count));
}

// xs:decimal knows no exponent.
Markup seconds_attribute(double seconds) {
  char text[32] = "0";
  if (seconds > 0 && seconds < 1e9) std::snprintf(text, sizeof text, "%.3f", seconds);
  return attribute("time", text);
}

// "2026-01-31T12:00:00", without the zone: the schemas take no other form.
std::string timestamp(const std::string& started) {
  constexpr const char* kForm = "0000-00-00T00:00:00";
  if (started.size() < 19) return "1970-01-01T00:00:00";
  for (std::size_t i = 0; i < 19; ++i) {
    const bool digit = started[i] >= '0' && started[i] <= '9';
    if (kForm[i] == '0' ? !digit : started[i] != kForm[i]) return "1970-01-01T00:00:00";
  }
  return started.substr(0, 19);
}

double seconds_of(const ComparisonResult& comparison) {
  const Measurement* measured = comparison.measurement();
  if (!measured) return 0;
  const auto& seconds = member(measured->record, "seconds");
  return number_of(member(seconds, "subject")).value_or(0) +
         number_of(member(seconds, "reference")).value_or(0);
}

// Why a pass on this device would not be one of the suite; "" when it is.
std::string uncounted(const RunResult& run, const ExperimentResult& experiment,
                      const std::string& device) {
  for (const DeviceResult& one : experiment.judgement.devices) {
    if (one.device == device && one.verdict == Verdict::kNotRun) {
      return "the device has no verdict: " + one.reason;
    }
  }
  if (counts(run, experiment)) return "";
  return "it does not count: " + experiment.id + " is " + experiment.trust.label +
         (experiment.trust.why.empty() ? "" : ": " + experiment.trust.why);
}

// Its device failed or broke: there the failure is told, once, with all that belongs to it.
bool is_told_by_verdict(const ExperimentResult& experiment, const std::string& device) {
  return std::ranges::any_of(experiment.judgement.devices, [&](const DeviceResult& one) {
    return one.device == device &&
           (one.verdict == Verdict::kFail || one.verdict == Verdict::kError);
  });
}

// "max_abs_error@1 2.000e-03 not <= 1.000e-03", with this comparison's value and not the worst.
std::string broken_text(const Judged& found, const ComparisonResult& comparison) {
  CriterionResult here = *found.by;
  const auto& metrics = comparison.measurement()->metrics;
  const auto value = metrics.find(here.metric);
  here.value = value == metrics.end() ? std::nullopt : std::optional(value->second);
  here.holds = false;
  return here.metric + " " + criterion_text(here);
}

Case case_of(const RunResult& run, const ExperimentResult& experiment,
             const ComparisonResult& comparison) {
  using Ending = Case::Ending;
  Case made{.name = key_text(comparison.key), .type = "", .message = ""};
  made.seconds = seconds_of(comparison);
  const Judged found = judged(experiment, comparison);
  const bool told = is_told_by_verdict(experiment, comparison.key.device);
  const std::string where = "; counted once, by the verdict on " + comparison.key.device;
  switch (found.state) {
    case ComparisonState::kHeld:
      if (auto why = uncounted(run, experiment, comparison.key.device); !why.empty()) {
        made.ending = Ending::kSkipped;
        made.message = "holds, but " + why;
      }
      break;
    case ComparisonState::kBroke:
      made.ending = told ? Ending::kSkipped : Ending::kFailure;
      made.type = found.by->metric;
      made.message = broken_text(found, comparison);
      if (told) made.message = "fails: " + made.message + where;
      break;
    case ComparisonState::kError:
      made.ending = told ? Ending::kSkipped : Ending::kError;
      made.type = "error";
      made.message = comparison.broken()->what;
      if (told) made.message = "error: " + made.message + where;
      break;
    case ComparisonState::kNotRun:
      made.ending = Ending::kSkipped;
      made.message = "not run: " + comparison.not_run()->reason;
      break;
    case ComparisonState::kNoVerdict:
      made.ending = Ending::kSkipped;
      made.message = "measured, without a verdict: " + experiment.judgement.reason;
      break;
  }
  return made;
}

std::string number_or_word(const nlohmann::json& json) {
  const auto number = number_of(json);
  if (!number) return "not recorded";
  if (!std::isfinite(*number)) return number_text(*number);
  char text[40];  // nine digits tell two float32 values apart
  std::snprintf(text, sizeof text, "%.9g", *number);
  return text;
}

// "largest difference at position 6, column 7 \" mat\": subject 2.5, reference 2.25"
std::string place_text(const Program& program, const ComparisonResult& comparison) {
  const auto& worst = member(comparison.measurement()->record, "worst");
  if (!worst.is_object()) return "";
  const auto position = integer_of(member(worst, "position"));
  const auto column = integer_of(member(worst, program.column_field.c_str()));
  const std::string text = string_of(member(worst, "text"));
  return "largest difference at position " +
         (position ? std::to_string(*position) : "not recorded") + ", " + program.column + " " +
         (column ? std::to_string(*column) : "not recorded") +
         (text.empty() ? "" : " \"" + text + "\"") + ": subject " +
         number_or_word(member(worst, "subject")) + ", reference " +
         number_or_word(member(worst, "reference"));
}

// What broke on the device, comparison by comparison, the engine, and the command to see it again.
std::vector<std::string> details_of(const RunResult& run, const ExperimentResult& experiment,
                                    const std::string& device) {
  constexpr std::size_t kShown = 20;
  std::vector<std::string> lines;
  std::size_t broke = 0;
  for (const ComparisonResult& one : experiment.comparisons) {
    if (one.key.device != device) continue;
    const Judged found = judged(experiment, one);
    if (one.broken()) {
      if (++broke <= kShown)
        lines.push_back("error in " + key_text(one.key) + ": " + one.broken()->what);
      continue;
    }
    if (found.state != ComparisonState::kBroke || ++broke > kShown) continue;
    lines.push_back("fails in " + key_text(one.key) + ": " + broken_text(found, one));
    if (const auto position = first_bad_position(one, found.by)) {
      lines.push_back("  first bad position " + std::to_string(*position));
    }
    if (const std::string place = place_text(run.info.program, one); !place.empty()) {
      lines.push_back("  " + place);
    }
  }
  if (broke > kShown)
    lines.push_back("and " + std::to_string(broke - kShown) + " more comparisons");
  for (const std::string& name : subjects_of(experiment)) lines.push_back("engine: " + name);
  const std::string command = repeat_command(run, experiment, device);
  if (!command.empty()) lines.push_back("to repeat: " + command);
  return lines;
}

Case verdict_case(const RunResult& run, const ExperimentResult& experiment,
                  const std::string& device, Verdict verdict, const std::string& reason) {
  using Ending = Case::Ending;
  Case made{
      .name = device.empty() ? "verdict" : "verdict on " + device, .type = "", .message = reason};
  switch (verdict) {
    case Verdict::kPass:
      made.message = uncounted(run, experiment, device);
      if (!made.message.empty()) {
        made.ending = Ending::kSkipped;
        made.message = "passed, but " + made.message;
      }
      break;
    case Verdict::kFail:
      made.ending = Ending::kFailure;
      made.type = "fail";
      made.details = details_of(run, experiment, device);
      break;
    case Verdict::kError:
      made.ending = Ending::kError;
      made.type = "error";
      made.details = details_of(run, experiment, device);
      break;
    case Verdict::kNotRun:
      made.ending = Ending::kSkipped;
      made.message = "not run: " + reason;
      break;
  }
  return made;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

Suite suite_of(const RunResult& run, const ExperimentResult& experiment) {
  Suite suite{.name = experiment.id, .seconds = experiment.seconds};
  suite.properties = {{"kind", experiment.kind},
                      {"title", experiment.title},
                      {"verdict", verdict_text(experiment)},
                      {"subject", joined(subjects_of(experiment))},
                      {"reference", joined(references_of(experiment))},
                      {"label", experiment.trust.label},
                      {"spec_sha256", experiment.spec_sha256}};
  for (const auto& [device, attempts] : experiment.trust.attempts) {
    if (!attempts.engines.empty())
      suite.properties.emplace_back("engines, " + device, attempts.engines);
  }
  for (const ComparisonResult& comparison : experiment.comparisons) {
    suite.cases.push_back(case_of(run, experiment, comparison));
  }
  for (const DeviceResult& device : experiment.judgement.devices) {
    suite.cases.push_back(
        verdict_case(run, experiment, device.device, device.verdict, device.reason));
  }
  if (experiment.judgement.devices.empty()) {
    suite.cases.push_back(verdict_case(run, experiment, "", experiment.judgement.verdict,
                                       experiment.judgement.reason));
  }
  const std::string subject = joined(subjects_of(experiment));
  suite.output = verdict_text(experiment) + ", " + trust_text(experiment.trust) +
                 (subject.empty() ? "" : ", under test: " + subject);
  return suite;
}

// `package`: the suite's, with its name.
Markup case_text(const std::string& package, const Case& one) {
  const Markup head = "    <testcase" + attribute("name", one.name) +
                      attribute("classname", package) + seconds_attribute(one.seconds);
  if (one.ending == Case::Ending::kPass) return head + "/>\n";
  const Markup element = one.ending == Case::Ending::kFailure ? Markup("failure")
                         : one.ending == Case::Ending::kError ? Markup("error")
                                                              : Markup("skipped");
  const Markup text = head + ">\n      <" + element + attribute("message", one.message);
  if (one.ending == Case::Ending::kSkipped) return text + "/>\n    </testcase>\n";
  Markup lines = prose_markup(one.message);
  for (const std::string& line : one.details) lines += "\n" + prose_markup(line);
  return text + attribute("type", one.type) + ">" + lines + "</" + element + ">\n    </testcase>\n";
}

Markup counts_text(std::size_t tests, std::size_t failures, std::size_t errors) {
  return attribute("tests", tests) + attribute("failures", failures) + attribute("errors", errors);
}

Markup suite_text(const std::string& package, const Suite& suite, std::size_t id,
                  const std::string& time) {
  using Ending = Case::Ending;
  Markup text =
      "  <testsuite" + attribute("name", suite.name) + attribute("package", package) +
      attribute("id", id) + attribute("timestamp", time) + attribute("hostname", "localhost") +
      counts_text(suite.cases.size(), suite.count(Ending::kFailure), suite.count(Ending::kError)) +
      attribute("skipped", suite.count(Ending::kSkipped)) + seconds_attribute(suite.seconds) +
      ">\n    <properties>\n";
  for (const auto& [name, value] : suite.properties) {
    text += "      <property" + attribute("name", name) + attribute("value", value) + "/>\n";
  }
  text += "    </properties>\n";
  for (const Case& one : suite.cases) text += case_text(package + "." + suite.name, one);
  return text + "    <system-out>" + prose_markup(suite.output) +
         "</system-out>\n    <system-err></system-err>\n  </testsuite>\n";
}

// An experiment that the run did not reach is there, and is not a pass.
Suite unreached(const std::string& id) {
  Suite suite{.name = id};
  suite.cases.push_back({.ending = Case::Ending::kSkipped,
                         .name = "verdict",
                         .type = "",
                         .message = "not run: the run ended before it"});
  return suite;
}

// A run that was killed is an error, whatever it had found.
Suite unended(const RunResult& run) {
  Suite suite{.name = "the run"};
  suite.cases.push_back(
      {.ending = Case::Ending::kError, .name = "end", .type = "error", .message = run.summary.why});
  return suite;
}

}  // namespace

std::string junit_xml(const RunResult& run) {
  using Ending = Case::Ending;
  std::vector<Suite> suites;
  for (const ExperimentResult& experiment : run.experiments) {
    suites.push_back(suite_of(run, experiment));
  }
  for (const std::string& id : run.not_started) suites.push_back(unreached(id));
  if (!run.ended || run.interrupted_by != 0) suites.push_back(unended(run));

  std::size_t tests = 0, failures = 0, errors = 0;
  double seconds = 0;
  Markup text;
  const std::string time = timestamp(run.info.started);
  for (std::size_t i = 0; i < suites.size(); ++i) {
    tests += suites[i].cases.size();
    failures += suites[i].count(Ending::kFailure);
    errors += suites[i].count(Ending::kError);
    seconds += suites[i].seconds;
    text += suite_text(run.info.program.name, suites[i], i, time);
  }
  const Markup all = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites" +
                     attribute("name", run.info.program.name) +
                     counts_text(tests, failures, errors) + seconds_attribute(seconds) + ">\n" +
                     text + "</testsuites>\n";
  return all.text();
}

}  // namespace octlm::verify
