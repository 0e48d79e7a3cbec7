#include "experiments/kinds/checkpoint_load.h"

#include <chrono>

#include "experiments/engines/checkpoint_store.h"
#include "experiments/kinds/spec_parts.h"
#include "model/checkpoint.h"

namespace octlm::experiments {
namespace {

using verify::ObjectReader;
using verify::Reader;

class CheckpointLoad final : public verify::Experiment {
 public:
  CheckpointLoad(const verify::Spec& spec, const Environment& environment)
      : environment_(environment) {
    model_ = read_model(spec.part("model"));
    spec.part("subject").object([&](ObjectReader& members) {
      members.required("engine").one_of({"octlm"});
      devices_ = read_devices(members.required("devices"));
    });
    for (const Reader& item : spec.part("cases").non_empty_array()) {
      item.object([&](ObjectReader& members) {
        cases_.push_back(members.required("name").non_empty_string());
      });
    }
  }

  std::vector<verify::ComparisonKey> comparisons() const override {
    std::vector<verify::ComparisonKey> keys;
    for (const std::string& device : devices_) {
      for (const std::string& name : cases_) keys.push_back({name, "", device, ""});
    }
    return keys;
  }

  std::optional<verify::NotRun> prepare(const std::string& device) override {
    if (!environment_.subject_command.empty()) {
      return verify::NotRun{"unsupported: this is about octlm's own reader, and the subject is " +
                            environment_.subject_command};
    }
    if (device != "cpu") return verify::NotRun{"this build has no " + device + " backend", device};
    auto found = environment_.find_checkpoint(model_);
    if (auto* absent = std::get_if<verify::NotRun>(&found)) return *absent;
    folder_ = std::get<CheckpointFolder>(found).path;
    return std::nullopt;
  }

  nlohmann::json identity() const override {
    return {{"checkpoint", checkpoint_identity(folder_, model_)}};
  }

  verify::Outcome compare(const verify::ComparisonKey&) override {
    const auto start = std::chrono::steady_clock::now();
    const auto checkpoint = model::Checkpoint::open(folder_);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    const auto mismatches = mismatched_files(folder_, model_);

    verify::Measurement measurement;
    measurement.metrics["stored_tensors@1"] = static_cast<std::int64_t>(checkpoint.stored().size());
    measurement.metrics["stored_elements@1"] = checkpoint.stored_elements();
    measurement.metrics["parameters@1"] = checkpoint.unique_parameters();
    measurement.metrics["files_match@1"] = !model_.files.empty() && mismatches.empty();
    measurement.record["subject"] = {{"engine", "octlm"}};
    measurement.record["seconds"] = {{"subject", seconds.count()}};
    measurement.record["file_mismatches"] = mismatches;
    measurement.record["notes"] = checkpoint.notes();
    measurement.record["ignored_tensors"] = checkpoint.ignored();
    return measurement;
  }

 private:
  const Environment& environment_;
  ModelReference model_;
  std::vector<std::string> devices_;
  std::vector<std::string> cases_;
  std::filesystem::path folder_;
};

}  // namespace

verify::Kind checkpoint_load(const Environment& environment) {
  return {
      .name = "checkpoint_load",
      .summary = "every tensor read once, with its name and shape, from the files the spec names",
      .metrics = {"stored_tensors@1", "stored_elements@1", "parameters@1", "files_match@1"},
      .faults = {},
      .parts = {"model", "subject", "cases"},
      .read = [&environment](const verify::Spec& spec) {
        return std::make_unique<CheckpointLoad>(spec, environment);
      }};
}

}  // namespace octlm::experiments
