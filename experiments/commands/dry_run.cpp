#include "experiments/commands/dry_run.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "experiments/engines/checkpoint_store.h"
#include "experiments/engines/local_environment.h"
#include "experiments/kinds/case_ids.h"
#include "experiments/kinds/model_experiment.h"
#include "experiments/kinds/spec_parts.h"
#include "formats/error.h"
#include "reference/split.h"
#include "verify/measures.h"

namespace octlm::experiments {
namespace {

namespace fs = std::filesystem;

// What a core does in float32 on matrices, and what the memory delivers: a small machine of today.
constexpr double kFlopsPerCore = 2e10;
constexpr double kBytesPerSecond = 1e10;
constexpr double kReferenceStart_s = 10;  // importing PyTorch and Transformers

std::int64_t weight_bytes(const fs::path& folder) {
  std::int64_t bytes = 0;
  for (const auto& file : fs::directory_iterator(folder)) {
    if (file.path().extension() == ".safetensors")
      bytes += static_cast<std::int64_t>(file.file_size());
  }
  return bytes;
}

// Both sides make the pass; a call reads every weight once, as float32, and multiplies with it.
double seconds_of(const Work::Pass& pass, double parameters) {
  const double whole =
      2 * parameters * static_cast<double>(pass.positions) / (kFlopsPerCore * available_cpus());
  const auto reading = [&](std::int64_t times) {
    return static_cast<double>(times) * 4 * parameters / kBytesPerSecond;
  };
  return std::max(whole, reading(pass.calls)) + std::max(whole, reading(1));
}

double seconds_of(const Work& work, double parameters) {
  double seconds = work.python ? kReferenceStart_s : 0;
  for (const Work::Pass& pass : work.passes) seconds += seconds_of(pass, parameters);
  return std::max(1.0, seconds);
}

}  // namespace

std::optional<Estimate> estimate_of(const ModelExperiment& experiment, const fs::path& folder) {
  const std::int64_t stored = weight_bytes(folder);
  if (stored == 0) return std::nullopt;
  const Work work = experiment.work();
  // At most: weights may have more than 16 bits.
  const double parameters = static_cast<double>(stored) / 2;
  std::int64_t longest = 0;
  for (const Work::Pass& pass : work.passes) longest = std::max(longest, pass.positions);
  // A pass adds its logits.
  const double bytes = (2 * work.stored + 4 * work.widened) * parameters +
                       4.0 * static_cast<double>(longest * stated_size(folder, "vocab_size")) + 5e8;
  return Estimate{seconds_of(work, parameters), bytes};
}

namespace {

// Fills in their ids; why the cases' texts and chats cannot be what the spec says, with this
// checkpoint's tokenizer; "" when they can.
std::string problem_of_cases(std::vector<TokenCase>& cases, const fs::path& folder) {
  try {
    const auto absent = fill_token_ids(cases, folder);
    return absent ? absent->reason : "";
  } catch (const formats::FormatError& error) {
    return error.what();
  }
}

std::vector<std::string> measures_of(const CheckedSpec& checked, const ModelReference& model,
                                     const std::vector<TokenCase>& cases) {
  std::vector<std::string> measures;
  for (const verify::ComparisonKey& key : checked.plan) {
    const auto one = std::ranges::find(cases, key.case_name, &TokenCase::name);
    if (one == cases.end() || one->ids_from == "spec") continue;  // known without a tokenizer
    measures.push_back(verify::measure(checked.spec.kind, key, measured_of(model, *one)));
  }
  return measures;
}

}  // namespace

DryRun dry_run(const CheckedSpec& checked, const ModelPaths& models) {
  DryRun found;
  const auto* experiment = about_a_model(*checked.experiment);
  if (experiment == nullptr) return found;
  const auto place = find_checkpoint(experiment->model(), models);
  if (const auto* absent = std::get_if<verify::NotRun>(&place)) {
    found.absent = absent->reason;
    return found;
  }
  const fs::path folder = std::get<CheckpointFolder>(place).path;
  found.checkpoint = folder;
  found.findings = mismatched_files(folder, experiment->model());
  std::vector<TokenCase> cases = experiment->sequences();
  const std::string problem = problem_of_cases(cases, folder);
  if (!problem.empty()) found.findings.push_back(problem);
  if (problem.empty()) found.measures = measures_of(checked, experiment->model(), cases);
  found.estimate = estimate_of(*experiment, folder);
  return found;
}

std::string estimate_text(const Estimate& estimate) {
  char text[160];
  std::snprintf(text, sizeof text,
                "about %.0f s on the cpu here and %.1f GB of memory (rough: sizes times a typical "
                "machine)",
                estimate.seconds, estimate.bytes / 1e9);
  return text;
}

void require_claimable(CheckedSpec& checked) {
  const std::string file = checked.spec.file.string();
  formats::Findings findings;
  for (const std::string& place : checked.spec.to_be_written) {
    findings.add(file + ": " + place + ": is still to be written: it says " +
                 std::string(verify::kToBeWritten));
  }
  const DryRun found = dry_run(checked, {});
  for (const std::string& finding : found.findings) findings.add(file + ": " + finding);
  findings.raise();
  auto& measures = checked.spec.measures;
  measures.insert(measures.end(), found.measures.begin(), found.measures.end());
}

}  // namespace octlm::experiments
