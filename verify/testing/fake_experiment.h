// What the tests of the framework need: specs in a line, and experiments of ten lines.
#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "formats/testing/message_of.h"
#include "formats/testing/temporary_folder.h"
#include "verify/kind.h"
#include "verify/metrics/metrics.h"
#include "verify/runner.h"
#include "verify/spec.h"

namespace octlm::verify::testing {

// Answers each comparison with a function of its key.
class FakeExperiment : public Experiment {
 public:
  using Answer = std::function<Outcome(const ComparisonKey&)>;
  using Preparation = std::function<std::optional<NotRun>(const std::string& device)>;

  FakeExperiment(std::vector<ComparisonKey> plan, Answer answer, Preparation preparation = {})
      : plan_(std::move(plan)), answer_(std::move(answer)), preparation_(std::move(preparation)) {}

  std::vector<ComparisonKey> comparisons() const override { return plan_; }
  Opened open(const std::string& device, const Host&) const override {
    if (auto absent = preparation_ ? preparation_(device) : std::nullopt) return *absent;
    return std::make_unique<Fake>(*this);
  }

  std::function<nlohmann::json()> identity = [] { return nlohmann::json::object(); };
  std::function<void()> closing = [] {};
  mutable int closed = 0, destroyed = 0;

 private:
  struct Fake final : Session {
    explicit Fake(const FakeExperiment& owner) : experiment(owner) {}
    ~Fake() override { ++experiment.destroyed; }
    nlohmann::json identity() const override { return experiment.identity(); }
    Outcome compare(std::size_t index) override {
      return experiment.answer_(experiment.plan_.at(index));
    }
    void close() override {
      ++experiment.closed;
      experiment.closing();
    }
    const FakeExperiment& experiment;
  };

  std::vector<ComparisonKey> plan_;
  Answer answer_;
  Preparation preparation_;
};

inline ComparisonKey key(const std::string& name, const std::string& device = "cpu",
                         const std::string& path = "full") {
  return {name, path, device, "float32"};
}

inline Criterion at_most(const std::string& metric, double limit) {
  return {.metric = metric, .bound = Criterion::Bound::kAtMost, .limit = limit, .derivation = "x"};
}
inline Criterion at_least(const std::string& metric, double limit) {
  return {.metric = metric, .bound = Criterion::Bound::kAtLeast, .limit = limit, .derivation = "x"};
}
inline Criterion equals(const std::string& metric, std::variant<double, bool> limit) {
  return {.metric = metric, .bound = Criterion::Bound::kEquals, .limit = limit, .derivation = {}};
}

inline Spec spec_of(const std::string& id, std::vector<Criterion> criteria) {
  Spec spec;
  spec.file = id + ".json";
  spec.id = id;
  spec.title = "A claim";
  spec.kind = "fake";
  spec.criteria = std::move(criteria);
  spec.sha256 = std::string(64, '0');
  return spec;
}

// Kinds of the real names and parts whose own part nobody reads: for tests of the envelope.
inline std::vector<Kind> envelope_kinds() {
  using Metric = MetricDefinition;
  const auto count = [](const char* name) {
    return Metric{name, "", "", Metric::Type::kNumber, Metric::Better::kNeither};
  };
  return {
      {.name = "checkpoint_load",
       .summary = "",
       .role = Role::kFile,
       .metrics = {count("stored_tensors@1"),
                   count("stored_elements@1"),
                   count("parameters@1"),
                   {"files_match@1", "", "", Metric::Type::kBool, Metric::Better::kTrue}},
       .parts = {"model", "subject", "cases"}},
      {.name = "logit_parity",
       .summary = "",
       .faults = {"swap_k_v_proj", "stale_kv_slot"},
       .parts = {"model", "reference", "subject", "cases"}},
      {.name = "cached_parity",
       .summary = "",
       .role = Role::kSelf,
       .parts = {"model", "subject", "cases", "parameters"}},
  };
}

using formats::testing::message_of;
using formats::testing::TemporaryFolder;

inline std::string text_of(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

// The lines of a results.jsonl, each parsed.
inline std::vector<nlohmann::json> lines_of(const std::filesystem::path& file) {
  std::vector<nlohmann::json> lines;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

}  // namespace octlm::verify::testing
