#include "experiments/kinds/checkpoint_load.h"

#include <chrono>
#include <utility>

#include "experiments/engines/checkpoint_store.h"
#include "experiments/kinds/model_experiment.h"
#include "experiments/kinds/sides.h"
#include "experiments/kinds/starting_parts.h"
#include "model/checkpoint.h"
#include "reference/loader_variables.h"

namespace octlm::experiments {
namespace {

using formats::ObjectReader;
using formats::Reader;

class CheckpointLoadSession final : public verify::Session {
 public:
  CheckpointLoadSession(const ModelReference& model, std::filesystem::path folder)
      : model_(model), folder_(std::move(folder)) {}

  nlohmann::json identity() const override {
    nlohmann::json identity = {{"checkpoint", checkpoint_identity(folder_, model_)}};
    add_reasons(identity, reference::loader_reasons(reference::loader_variables()));
    return identity;
  }

  verify::Outcome compare(std::size_t) override {
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
  const ModelReference& model_;
  std::filesystem::path folder_;
};

class CheckpointLoad final : public ModelExperiment {
 public:
  explicit CheckpointLoad(const verify::Spec& spec) : model_(read_model(spec.part("model"))) {
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

  const ModelReference& model() const override { return model_; }
  Work work() const override { return {.stored = 1}; }

 protected:
  verify::Opened open_on(const std::string& device, const Environment& environment) const override {
    if (!environment.subject_command.empty()) {
      return verify::NotRun{"unsupported: this is about octlm's own reader, and the subject is " +
                            environment.subject_command};
    }
    if (device != "cpu") return verify::NotRun{"this build has no " + device + " backend", device};
    const auto found = environment.find_checkpoint(model_);
    if (const auto* absent = std::get_if<verify::NotRun>(&found)) return *absent;
    return std::make_unique<CheckpointLoadSession>(model_, std::get<CheckpointFolder>(found).path);
  }

 private:
  ModelReference model_;
  std::vector<std::string> devices_;
  std::vector<std::string> cases_;
};

nlohmann::ordered_json start(const std::string& checkpoint) {
  using Json = nlohmann::ordered_json;
  auto [folder, vocab, spec] =
      start_with_model(checkpoint, "the checkpoint loads completely", is_weights);
  const auto loaded = model::Checkpoint::open(folder);
  spec["subject"] = {{"engine", "octlm"}, {"devices", {"cpu"}}};
  spec["cases"] = {{{"name", "weights"}}};
  spec["parameters"] = Json::object();
  spec["criteria"] = {{{"metric", "stored_tensors@1"}, {"equals", loaded.stored().size()}},
                      {{"metric", "stored_elements@1"}, {"equals", loaded.stored_elements()}},
                      {{"metric", "parameters@1"}, {"equals", loaded.unique_parameters()}},
                      {{"metric", "files_match@1"}, {"equals", true}}};
  spec["also_record"] = Json::array();
  return std::move(spec);
}

}  // namespace

verify::Kind checkpoint_load() {
  using Metric = verify::MetricDefinition;
  return {
      .name = "checkpoint_load",
      .summary = "every tensor read once, with its name and shape, from the files the spec names",
      .role = verify::Role::kFile,
      .metrics = {{"stored_tensors@1", "tensors in the checkpoint's files", "tensors",
                   Metric::Type::kNumber, Metric::Better::kNeither},
                  {"stored_elements@1", "elements of all of them, duplicates counted", "elements",
                   Metric::Type::kNumber, Metric::Better::kNeither},
                  {"parameters@1", "elements of the model, a tied head counted once", "elements",
                   Metric::Type::kNumber, Metric::Better::kNeither},
                  {"files_match@1", "every file that the spec names has the sha256 it states", "",
                   Metric::Type::kBool, Metric::Better::kTrue}},
      .parts = {"model", "subject", "cases"},
      .read = [](const verify::Spec& spec) { return std::make_unique<CheckpointLoad>(spec); },
      .start = start};
}

}  // namespace octlm::experiments
