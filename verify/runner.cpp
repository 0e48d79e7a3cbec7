#include "verify/runner.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <exception>
#include <iterator>
#include <set>

#include "verify/criteria.h"
#include "verify/report_jsonl.h"
#include "verify/report_markdown.h"

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

std::string utc(const char* format) {
  const std::time_t time = std::time(nullptr);
  std::tm parts = {};
  gmtime_r(&time, &parts);
  char text[64];
  std::strftime(text, sizeof text, format, &parts);
  return text;
}

// --- the plan
// --------------------------------------------------------------------------------------

struct Plan {
  std::vector<ComparisonKey> keys;   // selected, in order
  std::vector<std::string> devices;  // of `keys`, in order
};

std::vector<std::string> devices_of(const std::vector<ComparisonKey>& keys) {
  std::vector<std::string> devices;
  for (const ComparisonKey& key : keys) {
    if (std::find(devices.begin(), devices.end(), key.device) == devices.end()) {
      devices.push_back(key.device);
    }
  }
  return devices;
}

Plan make_plan(const RunItem& item, const std::vector<std::string>& devices) {
  Plan plan;
  plan.keys = item.experiment->comparisons();
  if (const std::string fault = plan_fault(item.spec, plan.keys); !fault.empty()) {
    throw Refused(item.spec.file.string() + ": " + item.spec.id + ": " + fault);
  }
  if (!devices.empty()) {
    std::erase_if(plan.keys, [&](const ComparisonKey& key) {
      return std::find(devices.begin(), devices.end(), key.device) == devices.end();
    });
  }
  plan.devices = devices_of(plan.keys);
  return plan;
}

void check_require(const std::vector<std::string>& require) {
  std::vector<std::string> known(kNeeds.begin(), kNeeds.end());
  known.emplace_back("cpu");
  for (const std::string& word : require) {
    if (std::find(known.begin(), known.end(), word) == known.end()) {
      throw Refused("--require: \"" + word + "\" is not known" + suggestion(word, known));
    }
  }
}

std::vector<Plan> make_plans(const RunOptions& options, const std::vector<RunItem>& items) {
  check_require(options.require);
  if (items.empty()) throw Refused("no experiment is selected");
  std::set<std::string> ids;
  std::vector<Plan> plans;
  std::size_t comparisons = 0;
  for (const RunItem& item : items) {
    if (!ids.insert(item.spec.id).second) throw Refused(item.spec.id + " is selected twice");
    plans.push_back(make_plan(item, options.devices));
    comparisons += plans.back().keys.size();
  }
  if (comparisons == 0) {
    std::string asked;
    for (const std::string& device : options.devices) asked += (asked.empty() ? "" : ", ") + device;
    throw Refused("no selected experiment has a comparison on " + asked);
  }
  return plans;
}

// --- the folder
// ------------------------------------------------------------------------------------

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
  const std::string time = utc("%Y%m%dT%H%M%SZ");
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

void refuse_used_folder(const RunOptions& options) {
  std::error_code error;
  if (options.out && std::filesystem::exists(*options.out / "results.jsonl", error)) {
    throw Refused(options.out->string() + ": holds the results of another run");
  }
}

// --- one experiment
// --------------------------------------------------------------------------------

using ComparisonOutcome = decltype(ComparisonResult::outcome);

ComparisonOutcome checked(NotRun not_run) {
  const bool known = not_run.needs.empty() ||
                     std::find(kNeeds.begin(), kNeeds.end(), not_run.needs) != kNeeds.end();
  if (!known)
    return Broken{"its kind needs \"" + not_run.needs + "\", which is no word of --require"};
  return not_run;
}

ComparisonOutcome from(Outcome outcome) {
  if (auto* not_run = std::get_if<NotRun>(&outcome)) return checked(std::move(*not_run));
  return std::get<Measurement>(std::move(outcome));
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

class ExperimentRun {
 public:
  ExperimentRun(const RunItem& item, const Plan& plan, const RunOptions& options,
                const std::vector<Report*>& reports, const SignalWatch& signals)
      : item_(item), plan_(plan), reports_(reports), signals_(signals) {
    result_.id = item.spec.id;
    result_.title = item.spec.title;
    result_.kind = item.spec.kind;
    result_.model = model_of(item.spec);
    result_.spec_file = item.spec.file.string();
    result_.spec_sha256 = item.spec.sha256;
    result_.trust.label = options.label;
    result_.planned = static_cast<std::int64_t>(plan.keys.size());
  }

  ExperimentResult run() {
    const double start = now();
    for (const std::string& device : plan_.devices) run_device(device);
    result_.judgement = judge(item_.spec, result_.comparisons);
    result_.seconds = now() - start;
    for (Report* report : reports_) report->experiment_finished(result_);
    return std::move(result_);
  }

 private:
  // It needs what no --require names, so a device that was interrupted is never a pass.
  static NotRun interrupted() { return {"the run was interrupted", "interrupted"}; }

  void run_device(const std::string& device) {
    std::vector<ComparisonKey> keys;
    std::copy_if(plan_.keys.begin(), plan_.keys.end(), std::back_inserter(keys),
                 [&](const ComparisonKey& key) { return key.device == device; });
    const auto unavailable = prepare(device);
    for (const ComparisonKey& key : keys) {
      ComparisonOutcome outcome = unavailable ? *unavailable : compare(key);
      if (&key == &keys.back()) release(outcome);
      finish(key, std::move(outcome));
    }
  }

  // What breaks while it is freed is an error of the device's last comparison.
  void release(ComparisonOutcome& outcome) {
    if (auto broken = broken_by([&] { item_.experiment->release(); })) {
      outcome = Broken{"release: " + broken->what};
    }
  }

  std::optional<ComparisonOutcome> prepare(const std::string& device) {
    if (signals_.caught()) return interrupted();
    for (Report* report : reports_) report->device_started(result_, device);
    std::optional<NotRun> not_run;
    if (auto broken = broken_by([&] { not_run = item_.experiment->prepare(device); }))
      return *broken;
    if (not_run) return checked(std::move(*not_run));
    return std::nullopt;
  }

  ComparisonOutcome compare(const ComparisonKey& key) {
    if (signals_.caught()) return interrupted();
    for (Report* report : reports_) report->comparison_started(result_, key);
    Outcome outcome;
    if (auto broken = broken_by([&] { outcome = item_.experiment->compare(key); })) return *broken;
    return from(std::move(outcome));
  }

  void finish(const ComparisonKey& key, ComparisonOutcome outcome) {
    result_.comparisons.push_back({key, std::move(outcome)});
    for (Report* report : reports_)
      report->comparison_finished(result_, result_.comparisons.back());
  }

  const RunItem& item_;
  const Plan& plan_;
  const std::vector<Report*>& reports_;
  const SignalWatch& signals_;
  ExperimentResult result_;
};

// --- the exit code
// ---------------------------------------------------------------------------------

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
    const bool device = word == "cpu" || word == "cuda";
    if (missing.contains(word) || (device && !ran_on.contains(word))) {
      words += (words.empty() ? "" : ", ") + word;
    }
  }
  return words;
}

void count(Summary& summary, Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass:
      ++summary.pass;
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

}  // namespace

Summary summarize(const RunResult& run, const std::vector<std::string>& require) {
  Summary summary;
  std::int64_t compared = 0;
  for (const ExperimentResult& experiment : run.experiments) {
    count(summary, experiment.judgement.verdict);
    compared += experiment.compared();
  }
  summary.not_run += static_cast<std::int64_t>(run.not_started.size());
  const auto decide = [&](int code, const std::string& why) {
    summary.exit_code = code;
    summary.why = why;
    return summary;
  };
  if (run.interrupted_by != 0)
    return decide(128 + run.interrupted_by, "Interrupted: not all was run.");
  if (summary.fail > 0) return decide(kExitFail, "A criterion failed.");
  if (summary.error > 0) return decide(kExitError, "Something broke.");
  if (const std::string words = absent(run, require); !words.empty()) {
    return decide(kExitError, "Required and absent: " + words + ".");
  }
  if (compared == 0) return decide(kExitError, "Nothing was compared.");
  if (summary.pass == 0) return decide(kExitError, "Nothing passed.");
  // Until there is a ledger every result is labelled unregistered, and an unregistered pass counts.
  return decide(kExitPass, summary.not_run > 0 ? "What was run passed." : "Everything passed.");
}

RunResult run(const RunOptions& options, std::vector<RunItem>& items) {
  const std::vector<Plan> plans = make_plans(options, items);
  refuse_used_folder(options);

  RunResult result;
  result.info = options.info;
  result.info.started = utc("%Y-%m-%dT%H:%M:%SZ");
  result.info.folder = create_run_folder(options);
  JsonlReport jsonl(result.info.folder / "results.jsonl");
  MarkdownReport markdown(result.info.folder / "summary.md");
  std::vector<Report*> reports = {&jsonl, &markdown};
  reports.insert(reports.end(), options.more_reports.begin(), options.more_reports.end());

  const SignalWatch signals;
  std::int64_t comparisons = 0;
  for (const Plan& plan : plans) comparisons += static_cast<std::int64_t>(plan.keys.size());
  for (Report* report : reports) report->run_started(result.info, comparisons);
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (signals.caught()) {
      result.not_started.push_back(items[i].spec.id);
      continue;
    }
    result.experiments.push_back(
        ExperimentRun(items[i], plans[i], options, reports, signals).run());
  }
  result.interrupted_by = signals.caught();
  result.summary = summarize(result, options.require);
  for (Report* report : reports) report->run_finished(result);
  return result;
}

}  // namespace octlm::verify
