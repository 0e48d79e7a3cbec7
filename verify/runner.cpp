#include "verify/runner.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <iterator>
#include <set>

#include "formats/folder_lock.h"
#include "formats/nearest_name.h"
#include "verify/criteria.h"
#include "verify/ledger/attempt_log.h"
#include "verify/provenance.h"
#include "verify/report/jsonl.h"
#include "verify/report/rendering.h"
#include "verify/resume.h"
#include "verify/run_preview.h"

namespace octlm::verify {
namespace {

volatile sig_atomic_t caught_signal = 0;

void catch_signal(int signal) { caught_signal = signal; }

// While this lives, SIGINT and SIGTERM are noted; the second of a kind does what it did before.
class SignalWatch {
 public:
  SignalWatch() {
    caught_signal = 0;
    struct sigaction action = {};
    action.sa_handler = catch_signal;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(SIGINT, &action, &interrupt_);
    sigaction(SIGTERM, &action, &terminate_);
  }
  ~SignalWatch() {
    sigaction(SIGINT, &interrupt_, nullptr);
    sigaction(SIGTERM, &terminate_, nullptr);
  }
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  int caught() const { return caught_signal; }

 private:
  struct sigaction interrupt_ = {};
  struct sigaction terminate_ = {};
};

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Planned {
  std::size_t index = 0;  // in Experiment::comparisons()
  ComparisonKey key;
};

struct Plan {
  std::vector<Planned> comparisons;  // selected, in order
  std::vector<std::string> devices;  // of those, in order
};

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

Plan make_plan(const RunItem& item, const std::vector<std::string>& devices) {
  const std::vector<ComparisonKey> keys = item.experiment->comparisons();
  if (const std::string problem = plan_problem(item.spec, keys); !problem.empty()) {
    throw Refused(item.spec.file.string() + ": " + item.spec.id + ": " + problem);
  }
  Plan plan;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::string& device = keys[i].device;
    if (!devices.empty() && !contains(devices, device)) continue;
    plan.comparisons.push_back({i, keys[i]});
    if (!contains(plan.devices, device)) plan.devices.push_back(device);
  }
  return plan;
}

// What can be absent: the words of --require.
std::vector<std::string> words_of_require(const Program& program) {
  std::vector<std::string> words = program.needs;
  words.insert(words.end(), program.devices.begin(), program.devices.end());
  return words;
}

void check_require(const std::vector<std::string>& require, const Program& program) {
  const std::vector<std::string> known = words_of_require(program);
  for (const std::string& word : require) {
    if (std::find(known.begin(), known.end(), word) == known.end()) {
      throw Refused("--require: \"" + word + "\" is not known" + formats::suggestion(word, known));
    }
  }
}

std::vector<Plan> make_plans(const RunOptions& options, const std::vector<RunItem>& items) {
  check_require(options.require, options.info.program);
  if (items.empty()) throw Refused("no experiment is selected");
  std::set<std::string> ids;
  std::vector<Plan> plans;
  std::size_t comparisons = 0;
  for (const RunItem& item : items) {
    if (!ids.insert(item.spec.id).second) throw Refused(item.spec.id + " is selected twice");
    plans.push_back(make_plan(item, options.devices));
    comparisons += plans.back().comparisons.size();
  }
  if (comparisons == 0) {
    std::string asked;
    for (const std::string& device : options.devices) asked += (asked.empty() ? "" : ", ") + device;
    throw Refused("no selected experiment has a comparison on " + asked);
  }
  return plans;
}

[[noreturn]] void cannot_create(const std::filesystem::path& path, const std::error_code& error) {
  throw std::runtime_error(path.string() + ": cannot be created: " + error.message());
}

void create_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) cannot_create(folder, error);
}

// <UTC time>-<n> with the first n that is free: making a folder is atomic, so two runs never share
// one.
std::filesystem::path create_numbered(const std::filesystem::path& reports) {
  create_folder(reports);
  std::string time = utc_now();  // 2026-01-31T12:00:00Z -> 20260131T120000Z
  std::erase_if(time, [](char c) { return c == '-' || c == ':'; });
  for (int n = 1;; ++n) {
    const std::filesystem::path folder = reports / (time + "-" + std::to_string(n));
    std::error_code error;
    if (std::filesystem::create_directory(folder, error)) return folder;
    if (error) cannot_create(folder, error);
  }
}

// The link is made under another name and renamed: it never points nowhere.
void point_latest(const std::filesystem::path& folder) {
  const std::filesystem::path latest = folder.parent_path() / "latest";
  const std::filesystem::path fresh =
      folder.parent_path() / (".latest-" + folder.filename().string());
  std::error_code error;
  std::filesystem::create_directory_symlink(folder.filename(), fresh, error);
  if (!error) std::filesystem::rename(fresh, latest, error);
  if (error) {
    std::error_code ignored;
    std::filesystem::remove(fresh, ignored);
    throw std::runtime_error(latest.string() + ": cannot be linked to the run: " + error.message());
  }
}

std::filesystem::path create_run_folder(const RunOptions& options) {
  if (!options.out) {
    std::filesystem::path folder = create_numbered(options.reports);
    point_latest(folder);
    return folder;
  }
  create_folder(*options.out);
  return *options.out;
}

bool holds_results(const std::filesystem::path& folder) {
  std::error_code error;
  return std::filesystem::exists(folder / "results.jsonl", error);
}

void refuse_used_folder(const RunOptions& options) {
  if (!options.out || !holds_results(*options.out)) return;
  if (const auto busy = formats::at_work_in(*options.out)) throw Refused(*busy);
  throw Refused(options.out->string() + ": holds the results of another run");
}

using ComparisonOutcome = decltype(ComparisonResult::outcome);

ComparisonOutcome checked(NotRun not_run, const Program& program) {
  const std::vector<std::string> words = words_of_require(program);
  if (!not_run.needs.empty() && std::ranges::find(words, not_run.needs) == words.end())
    return Broken{"its kind needs \"" + not_run.needs + "\", which is no word of --require"};
  return not_run;
}

ComparisonOutcome checked(Measurement measurement, const Program&) {
  for (const FurtherLine& line : measurement.lines) {
    if (is_framework_line(line.type))
      return Broken{"its kind writes a line of type \"" + line.type +
                    "\", which is the framework's own"};
  }
  return measurement;
}

ComparisonOutcome from(Outcome outcome, const Program& program) {
  return std::visit([&](auto& what) { return checked(std::move(what), program); }, outcome);
}

// The boundary: whatever an experiment throws becomes an `error` of the comparison at hand.
template <class Action>
std::optional<Broken> broken_by(const Action& action) {
  try {
    action();
    return std::nullopt;
  } catch (const std::exception& error) {
    return Broken{*error.what() == '\0' ? "an exception without a message" : error.what()};
  } catch (...) {
    return Broken{"an exception of an unknown type"};
  }
}

// The name its results are listed under; what else stands in `model` is the kind's.
std::string model_of(const Spec& spec) {
  const auto model = spec.raw.find("model");
  if (model == spec.raw.end() || !model->is_object()) return "";
  const auto id = model->find("id");
  return id != model->end() && id->is_string() ? id->get<std::string>() : "";
}

// The spec's file as the record names it: inside the project, by its place there, so that a
// published record does not tell where the checkout was.
std::string recorded_file(const std::filesystem::path& file,
                          const std::optional<Project>& project) {
  namespace fs = std::filesystem;
  if (!project) return file.string();
  const fs::path inside = fs::absolute(file).lexically_relative(fs::absolute(project->root));
  return inside.empty() || *inside.begin() == ".." ? file.string() : inside.string();
}

class ExperimentRun {
 public:
  ExperimentRun(const RunItem& item, std::string spec_file, const Plan& plan, const Host& host,
                const std::vector<Report*>& reports, const SignalWatch& signals, AttemptLog& log,
                const std::optional<Interrupted>& earlier, const Program& program)
      : item_(item),
        plan_(plan),
        host_(host),
        reports_(reports),
        signals_(signals),
        log_(log),
        earlier_(earlier),
        program_(program) {
    result_.id = item.spec.id;
    result_.title = item.spec.title;
    result_.kind = item.spec.kind;
    result_.model = model_of(item.spec);
    result_.role = item.role;
    result_.must_catch = item.spec.must_catch;
    result_.spec_file = std::move(spec_file);
    result_.spec_sha256 = item.spec.sha256;
    result_.trust = log.trust(item.spec);
    result_.planned = static_cast<std::int64_t>(plan.comparisons.size());
  }

  ExperimentResult run() {
    const double start = now();
    for (const std::string& device : plan_.devices) run_device(device);
    log_.recount(result_.trust);
    result_.trust.settle_reasons();
    result_.judgement = judge(item_.spec, result_.comparisons, failed_before());
    log_.end(result_.judgement, result_.trust);
    result_.seconds = now() - start;
    for (Report* report : reports_) report->experiment_finished(result_);
    return std::move(result_);
  }

 private:
  // It needs what no --require names, so a device that was interrupted is never a pass.
  static NotRun interrupted() { return {"the run was interrupted", "interrupted"}; }

  void run_device(const std::string& device) {
    std::vector<Planned> missing;
    for (const Planned& one : plan_.comparisons) {
      if (one.key.device == device && !keep(one.key)) missing.push_back(one);
    }
    if (earlier_) result_.trust.note_reasons(earlier_->identity(item_.spec.id, device));
    if (missing.empty()) return log_.take_up(item_.spec, device, result_.trust);
    std::unique_ptr<Session> session;
    const auto unavailable = open(device, session);
    for (const Planned& one : missing) {
      ComparisonOutcome outcome = unavailable ? *unavailable : compare(*session, one);
      if (session && &one == &missing.back()) close(session, outcome);
      finish({one.key, std::move(outcome)});
    }
  }

  // Takes over what the interrupted run finished.
  bool keep(const ComparisonKey& key) {
    auto finished = earlier_ ? earlier_->finished(item_.spec.id, key) : std::nullopt;
    if (finished) finish(std::move(*finished));
    return finished.has_value();
  }

  // By device: which attempt at the same thing failed, and what makes another thing of it.
  std::map<std::string, std::string> failed_before() const {
    std::map<std::string, std::string> devices;
    for (const auto& [device, attempts] : result_.trust.attempts) {
      if (attempts.failed_before.empty()) continue;
      const std::string engines = attempts.engines.empty() ? "" : ": " + attempts.engines;
      devices[device] = attempts.failed_before +
                        "; to go on, change the code or the engines (what is compared of them is "
                        "versions and contents" +
                        engines + "), or amend the spec with a reason";
    }
    return devices;
  }

  // What breaks while it is freed is an error of the device's last comparison.
  static void close(std::unique_ptr<Session>& session, ComparisonOutcome& outcome) {
    if (auto broken = broken_by([&] { session->close(); })) {
      outcome = Broken{"release: " + broken->what};
    }
    session.reset();
  }

  // The session, or why there is none.
  std::optional<ComparisonOutcome> open(const std::string& device,
                                        std::unique_ptr<Session>& session) {
    if (signals_.caught()) return interrupted();
    // A run that is resumed has its intent already; whether it may be is known only when the device
    // is ready.
    if (!earlier_) log_.begin(item_.spec, device, result_.trust);
    for (Report* report : reports_) report->device_started(result_, device);
    nlohmann::json identity;
    const auto unavailable = make_ready(device, session, identity);
    if (earlier_ && !unavailable) earlier_->require_identity(item_.spec.id, device, identity);
    if (earlier_) log_.begin(item_.spec, device, result_.trust);
    if (unavailable) return unavailable;
    result_.trust.note_reasons(identity);
    log_.ready(device, identity, result_.trust);
    for (Report* report : reports_) report->device_ready(result_, device, identity);
    return std::nullopt;
  }

  std::optional<ComparisonOutcome> make_ready(const std::string& device,
                                              std::unique_ptr<Session>& session,
                                              nlohmann::json& identity) {
    Opened opened;
    const auto broken = broken_by([&] {
      opened = item_.experiment->open(device, host_);
      const auto* ready = std::get_if<std::unique_ptr<Session>>(&opened);
      if (ready == nullptr) return;
      if (*ready == nullptr)
        throw std::logic_error("its kind opened neither a session nor said why");
      identity = (*ready)->identity();
    });
    if (broken) return broken_or_interrupted(*broken);
    if (auto* not_run = std::get_if<NotRun>(&opened)) return checked(std::move(*not_run), program_);
    session = std::get<std::unique_ptr<Session>>(std::move(opened));
    return std::nullopt;
  }

  // What breaks after the signal was stopped for it, or may have been: resuming makes it again.
  ComparisonOutcome broken_or_interrupted(Broken broken) const {
    if (signals_.caught()) return interrupted();
    return broken;
  }

  ComparisonOutcome compare(Session& session, const Planned& planned) {
    if (signals_.caught()) return interrupted();
    for (Report* report : reports_) report->comparison_started(result_, planned.key);
    Outcome outcome;
    if (auto broken = broken_by([&] { outcome = session.compare(planned.index); }))
      return broken_or_interrupted(*broken);
    return from(std::move(outcome), program_);
  }

  void finish(ComparisonResult result) {
    result_.comparisons.push_back(std::move(result));
    const ComparisonResult& finished = result_.comparisons.back();
    for (Report* report : reports_) report->comparison_finished(result_, finished);
    const Judgement alone = judge(item_.spec, std::span(&finished, 1));
    for (Report* report : reports_) report->comparison_judged(result_, finished, alone);
  }

  const RunItem& item_;
  const Plan& plan_;
  const Host& host_;
  const std::vector<Report*>& reports_;
  const SignalWatch& signals_;
  AttemptLog& log_;
  const std::optional<Interrupted>& earlier_;
  const Program& program_;
  ExperimentResult result_;
};

// The words of --require that something lacked, or that nothing ran on.
std::string absent(const RunResult& run, const std::vector<std::string>& require) {
  std::set<std::string> missing, ran_on;
  for (const ExperimentResult& experiment : run.experiments) {
    for (const ComparisonResult& comparison : experiment.comparisons) {
      if (const NotRun* not_run = comparison.not_run()) missing.insert(not_run->needs);
      if (comparison.measurement()) ran_on.insert(comparison.key.device);
    }
  }
  std::string words;
  for (const std::string& word : require) {
    const bool device = run.info.program.has_device(word);
    if (missing.contains(word) || (device && !ran_on.contains(word))) {
      words += (words.empty() ? "" : ", ") + word;
    }
  }
  return words;
}

// `ledger`: only confirmatory and replication results count as a pass.
void count(Summary& summary, const ExperimentResult& experiment, bool ledger) {
  switch (experiment.judgement.verdict) {
    case Verdict::kPass:
      ++(ledger && !experiment.trust.counts() ? summary.uncounted : summary.pass);
      break;
    case Verdict::kFail:
      ++summary.fail;
      break;
    case Verdict::kNotRun:
      ++summary.not_run;
      break;
    case Verdict::kError:
      ++summary.error;
      break;
  }
}

// "EXP-900 is unregistered: why."; "" when every label counts.
std::string uncounted_label(const RunResult& run) {
  std::string first;
  std::size_t more = 0;
  for (const ExperimentResult& experiment : run.experiments) {
    const Trust& trust = experiment.trust;
    if (trust.counts()) continue;
    if (!first.empty()) {
      ++more;
      continue;
    }
    first = experiment.id + " is " + trust.label + (trust.why.empty() ? "" : ": " + trust.why);
  }
  return first + (more > 0 ? " (and " + std::to_string(more) + " more)" : "");
}

// The run that `options` go on with, if any; refuses what differs.
std::optional<Interrupted> interrupted_run(const RunOptions& options, RunInfo& info) {
  if (!options.resume) return std::nullopt;
  Interrupted earlier(*options.resume);
  earlier.require_same(info);
  earlier.begin_as(info);
  info.resumed = utc_now();
  return earlier;
}

}  // namespace

bool run_interrupted() { return caught_signal != 0; }

Summary summarize(const RunResult& run, const std::vector<std::string>& require) {
  Summary summary;
  std::int64_t compared = 0, planned = 0;
  const bool ledger = run.info.ledger_head.has_value();
  for (const ExperimentResult& experiment : run.experiments) {
    count(summary, experiment, ledger);
    compared += experiment.compared();
    planned += experiment.planned;
  }
  summary.not_run += static_cast<std::int64_t>(run.not_started.size());
  const auto decide = [&](int code, const std::string& why) {
    summary.exit_code = code;
    summary.why = why;
    return summary;
  };
  if (!run.ended) {
    return decide(kExitError, "This run did not end: it was killed, or it is still at work.");
  }
  if (run.interrupted_by != 0)
    return decide(128 + run.interrupted_by, "Interrupted: not all was run.");
  if (const std::string label = uncounted_label(run); ledger && !label.empty()) {
    return decide(kExitUnregistered, label + ".");
  }
  if (summary.fail > 0) return decide(kExitFail, "A criterion failed.");
  if (summary.error > 0) return decide(kExitError, "Something broke.");
  if (const std::string words = absent(run, require); !words.empty()) {
    return decide(kExitError, "Required and absent: " + words + ".");
  }
  if (compared == 0) return decide(kExitError, "Nothing was compared.");
  if (summary.pass == 0) return decide(kExitError, "Nothing passed.");
  const bool all = summary.not_run == 0 && compared >= planned;
  return decide(kExitPass, !all ? "What was run passed." : "Everything passed.");
}

RunItem read_item(Spec spec, std::span<const Kind> kinds) {
  const Kind& kind = find_kind(spec.kind, kinds, spec.file.string());
  auto experiment = kind.read(spec);
  return {std::move(spec), std::move(experiment), kind.role};
}

namespace {

// Are the kind's parts there, so that it can read them although something else is wrong?
bool has_parts(const Spec& spec, const Kind& kind) {
  return std::ranges::all_of(kind.parts, [&](const std::string& name) {
    const auto part = spec.raw.find(name);
    return part != spec.raw.end() && (name == "cases" ? part->is_array() : part->is_object());
  });
}

}  // namespace

RunItem read_item(const std::filesystem::path& file, std::span<const Kind> kinds) {
  return read_item(formats::read_file(file), file, kinds);
}

RunItem read_item(std::string_view text, const std::filesystem::path& file,
                  std::span<const Kind> kinds) {
  auto [spec, findings] = parse_with_findings(text, file, kinds);
  const Kind& kind = find_kind(spec.kind, kinds, file.string());
  std::unique_ptr<Experiment> experiment;
  if (has_parts(spec, kind)) findings.collect([&] { experiment = kind.read(spec); });
  if (experiment && findings.empty()) {
    const std::string problem = plan_problem(spec, experiment->comparisons());
    if (!problem.empty()) findings.add(file.string() + ": " + problem);
  }
  findings.raise();
  return {std::move(spec), std::move(experiment), kind.role};
}

RunPreview preview(const RunOptions& options, const std::vector<RunItem>& items) {
  const std::vector<Plan> plans = make_plans(options, items);
  refuse_used_folder(options);
  const AttemptLog log(options.project);
  RunInfo info = options.info;
  for (const RunItem& item : items) info.specs[item.spec.id] = item.spec.sha256;
  const std::optional<Interrupted> earlier = interrupted_run(options, info);
  RunPreview made;
  for (std::size_t i = 0; i < items.size(); ++i) {
    RunPreview::Experiment& experiment = made.experiments.emplace_back();
    experiment.trust = log.trust(items[i].spec);
    for (const std::string& device : plans[i].devices) experiment.devices.push_back({device});
    for (const Planned& one : plans[i].comparisons) {
      auto& device =
          *std::ranges::find(experiment.devices, one.key.device, &RunPreview::Device::name);
      ++device.comparisons;
      if (earlier && earlier->finished(items[i].spec.id, one.key)) ++device.kept;
    }
  }
  return made;
}

RunResult run(const RunOptions& options, std::vector<RunItem>& items) {
  const std::vector<Plan> plans = make_plans(options, items);
  refuse_used_folder(options);
  AttemptLog log(options.project);

  RunResult result;
  result.info = options.info;
  result.info.started = utc_now();
  result.info.ledger_head = log.ledger_head();
  for (const RunItem& item : items) result.info.specs[item.spec.id] = item.spec.sha256;
  std::optional<formats::FolderLock> alone;  // nobody else writes into the run's folder
  if (options.resume && holds_results(*options.resume)) alone.emplace(*options.resume);
  const std::optional<Interrupted> earlier = interrupted_run(options, result.info);
  if (!earlier) {
    result.info.folder = create_run_folder(options);
    alone.emplace(result.info.folder);
    refuse_used_folder(options);  // again: another run may have been here since
  }
  log.start_run(result.info.folder,
                attempt_code(result.info.code_sha256, result.info.subject_sha256));
  if (earlier) earlier->rewrite(result.info);
  JsonlReport jsonl(result.info.folder / "results.jsonl");
  RenderedReports rendered(options.project);
  std::vector<Report*> reports = {&jsonl, &rendered};
  reports.insert(reports.end(), options.more_reports.begin(), options.more_reports.end());

  const SignalWatch signals;
  const Host nothing{};
  const Host& host = options.host != nullptr ? *options.host : nothing;
  result.info.planned = 0;
  for (const Plan& plan : plans) result.info.planned += std::ssize(plan.comparisons);
  for (Report* report : reports) report->run_started(result.info);
  bool stopped = false;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (signals.caught() || stopped) {
      result.not_started.push_back(items[i].spec.id);
      continue;
    }
    result.experiments.push_back(
        ExperimentRun(items[i], recorded_file(items[i].spec.file, options.project), plans[i], host,
                      reports, signals, log, earlier, result.info.program)
            .run());
    const Verdict verdict = result.experiments.back().judgement.verdict;
    stopped = options.fail_fast && (verdict == Verdict::kFail || verdict == Verdict::kError);
  }
  result.interrupted_by = signals.caught();
  result.summary = summarize(result, options.require);
  for (Report* report : reports) report->run_finished(result);
  return result;
}

}  // namespace octlm::verify
