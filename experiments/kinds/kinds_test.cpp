// Every kind, run by the runner on fake engines: passes on equal sides, fails just above its bound,
// never passes without weights.
#include "experiments/commands/octlm_program.h"
#include "experiments/kinds/kinds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "experiments/kinds/own_metrics.h"
#include "experiments/testing/fake_engine.h"
#include "model/testing/tiny_checkpoint.h"
#include "model/tokenizer/testing/tiny_tokenizer.h"
#include "reference/sha256.h"
#include "verify/runner.h"
#include "verify/sha256.h"

namespace octlm::experiments {
namespace {

using model::testing::TemporaryFolder;
using testing::FakeEngine;

// A machine on which everything is there: two fake engines, any folder.
struct FakeMachine {
  TemporaryFolder folder;
  std::function<void(FakeEngine&)> set_subject = [](FakeEngine&) {};
  bool have_weights = true;
  bool have_cuda = false;
  std::vector<EngineRequest> opened;

  Environment environment() {
    Environment fakes;
    fakes.find_checkpoint = [this](const ModelReference& model) -> OrNotRun<CheckpointFolder> {
      if (have_weights) return CheckpointFolder{folder.path()};
      return verify::NotRun{
          "no weights of " + model.id + " here; get them with: ./octlm fetch " + model.id,
          "weights"};
    };
    fakes.open_subject =
        [this](const EngineRequest& request) -> OrNotRun<std::unique_ptr<reference::Engine>> {
      opened.push_back(request);
      if (request.device == "cuda" && !have_cuda) return verify::NotRun{"no cuda", "cuda"};
      auto engine = std::make_unique<FakeEngine>();
      set_subject(*engine);
      return engine;
    };
    fakes.open_reference =
        [this](const EngineRequest& request) -> OrNotRun<std::unique_ptr<reference::Engine>> {
      opened.push_back(request);
      return std::make_unique<FakeEngine>();
    };
    return fakes;
  }
};

const char* kLogitParity = R"({
  "schema": 1, "id": "EXP-900", "title": "t", "kind": "logit_parity", "tags": [],
  "question": "q", "prediction": "p", "model": {"id": "fake"},
  "reference": {"engine": "transformers", "attention": "eager", "dtype": "float32", "tf32": false},
  "subject": {"engine": "octlm", "dtype": "float32", "devices": ["cpu", "cuda"], "paths": ["full", "cached:half"]},
  "cases": [{"name": "three", "token_ids": [1, 2, 3]}, {"name": "one", "token_ids": [4]}],
  "parameters": {},
  "criteria": [{"metric": "max_abs_error@1", "at_most": 1e-3, "derivation": "d"},
               {"metric": "finite@1", "equals": true}],
  "also_record": ["kl_max@1"], "must_catch": ["rope_interleaved"], "stop_rule": "s"})";

const char* kCachedParity = R"({
  "schema": 1, "id": "EXP-901", "title": "t", "kind": "cached_parity", "tags": [],
  "question": "q", "prediction": "p", "model": {"id": "fake"},
  "subject": {"engine": "octlm", "dtype": "float32", "devices": ["cpu"], "paths": ["cached:every", "chunked:2"]},
  "cases": [{"name": "two", "length": 2}, {"name": "five", "length": 5}],
  "parameters": {"token_ids": [1, 2, 3, 4, 5]},
  "criteria": [{"metric": "max_abs_error@1", "at_most": 1e-3, "derivation": "d"}],
  "also_record": [], "must_catch": [], "stop_rule": "s"})";

verify::RunResult run(FakeMachine& machine, const std::string& spec_text) {
  const Environment environment = machine.environment();
  const auto kinds = all_kinds(environment);
  std::vector<verify::RunItem> items;
  auto spec = verify::parse_spec(spec_text, "test.json", kinds);
  auto experiment = verify::find_kind(spec.kind, kinds, "test.json").read(spec);
  items.push_back({std::move(spec), std::move(experiment)});
  TemporaryFolder reports;
  verify::RunOptions options;
  options.info.program = octlm_program();
  options.reports = reports.path();
  return verify::run(options, items);
}

const verify::ExperimentResult& only(const verify::RunResult& run) { return run.experiments.at(0); }

std::function<void(FakeEngine&)> off_by(float amount) {
  return [amount](FakeEngine& engine) {
    engine.fault = [amount](std::int64_t position, std::vector<float>& row) {
      if (position == 2) row[3] += amount;
    };
  };
}

TEST(LogitParity, PassesOnEqualSidesAndCountsComparisons) {
  FakeMachine machine;
  const auto result = run(machine, kLogitParity);
  EXPECT_EQ(result.summary.exit_code, verify::kExitPass);
  EXPECT_EQ(only(result).compared(), 3) << "two cases, two paths, less cached:half of one position";
  ASSERT_EQ(only(result).judgement.devices.size(), 2U);
  EXPECT_EQ(only(result).judgement.devices[0].verdict, verify::Verdict::kPass);
  EXPECT_EQ(only(result).judgement.devices[1].verdict, verify::Verdict::kNotRun);
}

TEST(LogitParity, FailsJustAboveTheBoundAndPassesJustBelow) {
  FakeMachine machine;
  machine.set_subject = off_by(0.0011F);
  EXPECT_EQ(run(machine, kLogitParity).summary.exit_code, verify::kExitFail);
  machine.set_subject = off_by(0.0009F);
  EXPECT_EQ(run(machine, kLogitParity).summary.exit_code, verify::kExitPass);
}

// A user's own program need not have a cache: what it lacks is listed as not checked, and nothing
// fails.
TEST(LogitParity, APathThatTheSubjectLacksIsNotRun) {
  FakeMachine machine;
  machine.set_subject = [](FakeEngine& engine) { engine.paths = {"full"}; };
  const auto result = run(machine, kLogitParity);
  EXPECT_EQ(result.summary.exit_code, verify::kExitPass);
  EXPECT_EQ(only(result).compared(), 2);
  const auto& half = only(result).comparisons.at(1);
  ASSERT_NE(half.not_run(), nullptr);
  EXPECT_EQ(half.not_run()->reason, "unsupported: fake has no path cached:half");
}

TEST(LogitParity, TheReferenceTakesEverySequenceWhole) {
  FakeMachine machine;
  const auto result = run(machine, kLogitParity);
  for (const auto& comparison : only(result).comparisons) {
    if (const auto* measurement = comparison.measurement()) {
      EXPECT_EQ(measurement->record["calls"]["reference"].size(), 1U);
    }
  }
}

TEST(LogitParity, PassesTheSpecOnToTheEngines) {
  FakeMachine machine;
  run(machine, kLogitParity);
  ASSERT_GE(machine.opened.size(), 2U);
  EXPECT_EQ(machine.opened[0].engine, "octlm");
  EXPECT_EQ(machine.opened[1].engine, "transformers");
  EXPECT_EQ(machine.opened[1].attention, "eager");
  EXPECT_FALSE(machine.opened[1].tf32);
}

TEST(LogitParity, TakesATextInPlaceOfIdsAndRefusesIdsThatAreNotItsOwn) {
  FakeMachine machine;
  std::string text = kLogitParity;
  text.replace(text.find("\"token_ids\": [1, 2, 3]"), 22, "\"text\": \"abc\"");
  EXPECT_EQ(only(run(machine, text)).judgement.verdict, verify::Verdict::kNotRun)
      << "no tokenizer.json";
  std::ofstream(machine.folder.path() / "tokenizer.json") << model::testing::tiny().dump();
  const auto result = run(machine, text);
  EXPECT_EQ(result.summary.exit_code, verify::kExitPass);
  const auto& record = only(result).comparisons.at(0).measurement()->record;
  EXPECT_EQ(record.at("ids_from"), "text");
  EXPECT_EQ(record.at("token_ids_sha256"),
            reference::sha256_of_ids(std::vector<std::int32_t>{97, 98, 99}));
  text.replace(text.find("\"text\": \"abc\""), 13, "\"text\": \"abc\", \"token_ids\": [97, 98]");
  const auto refused = run(machine, text);
  EXPECT_EQ(only(refused).judgement.verdict, verify::Verdict::kError);
  EXPECT_EQ(only(refused).compared(), 0);
}

// uxlfoundation/oneDNN#1961, ROCm/TheRock#641: what was not run counted as passed.
TEST(AllKinds, WithoutWeightsNothingPasses) {
  for (const char* spec : {kLogitParity, kCachedParity}) {
    FakeMachine machine;
    machine.have_weights = false;
    const auto result = run(machine, spec);
    EXPECT_EQ(only(result).judgement.verdict, verify::Verdict::kNotRun);
    EXPECT_NE(only(result).judgement.reason.find("./octlm fetch fake"), std::string::npos);
    EXPECT_EQ(result.summary.exit_code, verify::kExitError);
  }
}

TEST(AllKinds, AnotherFileThanTheSpecNamesIsAnError) {
  for (const std::string spec : {kLogitParity, kCachedParity}) {
    FakeMachine machine;
    std::ofstream(machine.folder.path() / "model.safetensors") << "other";
    std::string text = spec;
    text.replace(text.find("{\"id\": \"fake\"}"), 14,
                 "{\"id\": \"fake\", \"files\": {\"model.safetensors\": \"sha256:" +
                     verify::sha256("these") + "\"}}");
    const auto result = run(machine, text);
    EXPECT_EQ(only(result).judgement.verdict, verify::Verdict::kError);
    EXPECT_EQ(only(result).compared(), 0);
    EXPECT_EQ(result.summary.exit_code, verify::kExitError);
  }
}

TEST(CachedParity, ComparesEveryPathWithOneFullPass) {
  FakeMachine machine;
  const auto result = run(machine, kCachedParity);
  EXPECT_EQ(result.summary.exit_code, verify::kExitPass);
  EXPECT_EQ(only(result).compared(), 4);
  const auto* five_every = only(result).comparisons.at(2).measurement();
  ASSERT_NE(five_every, nullptr);
  EXPECT_EQ(five_every->record["calls"]["subject"].size(), 5U);
  EXPECT_EQ(five_every->record["calls"]["reference"].size(), 1U);
}

TEST(CachedParity, FailsWhenAPathComputesSomethingElse) {
  FakeMachine machine;
  machine.set_subject = [](FakeEngine& engine) {
    // A row that depends on how often it has been asked for stands for a path-dependent bug.
    auto asked = std::make_shared<int>(0);
    engine.fault = [asked](std::int64_t, std::vector<float>& row) {
      row[0] += 0.01F * static_cast<float>((*asked)++);
    };
  };
  EXPECT_EQ(run(machine, kCachedParity).summary.exit_code, verify::kExitFail);
}

// harp and others: unknown keys ignored (cppalliance/mrdocs#992, msqd/harp#938).
TEST(AllKinds, ReadTheirPartsStrictly) {
  struct Case {
    const char* from;
    const char* to;
    const char* says;
  };
  const std::vector<Case> cases = {
      {"\"dtype\": \"float32\", \"devices\"", "\"dtyp\": \"float32\", \"devices\"", "dtyp"},
      {"\"tf32\": false", "\"tf32\": false, \"tolerence\": 1", "tolerence"},
      {"\"eager\"", "\"flash\"", "flash"},
      {"\"full\"", "\"fully\"", "fully"},
      {"\"cpu\", \"cuda\"", "\"cpu\", \"cpu\"", "twice"},
      {"[1, 2, 3]", "[]", "token_ids"},
      {"[1, 2, 3]", "[1, -2, 3]", "token_ids"},
      {"[1, 2, 3]", "[1, 2.5, 3]", "token_ids"},
      {"\"one\"", "\"three\"", "name"},
      {"{\"id\": \"fake\"}", "{\"id\": \"org/fake\"}", "revision"},
      {"{\"id\": \"fake\"}", "{\"id\": \"fake\", \"files\": {\"x\": \"sha256:12\"}}", "sha256"},
      {"\"rope_interleaved\"", "\"rope_interleavd\"", "rope_interleaved"},
  };
  for (const Case& item : cases) {
    std::string text = kLogitParity;
    const auto at = text.find(item.from);
    ASSERT_NE(at, std::string::npos) << item.from;
    text.replace(at, std::string(item.from).size(), item.to);
    FakeMachine machine;
    try {
      run(machine, text);
      ADD_FAILURE() << "accepted " << item.to;
    } catch (const verify::SpecError& error) {
      EXPECT_NE(std::string(error.what()).find(item.says), std::string::npos) << error.what();
    }
  }
}

// What `octlm list --metrics` cannot explain, a criterion should not be about.
TEST(Kinds, EveryMetricIsExplained) {
  const Environment environment;
  for (const auto& kind : all_kinds(environment)) {
    for (const auto& metric : kind.metrics) {
      const auto& own = own_metrics();
      EXPECT_TRUE(verify::find_metric(metric) != nullptr ||
                  std::ranges::find(own, metric, &verify::MetricDefinition::name) != own.end())
          << kind.name << ' ' << metric;
    }
  }
}

}  // namespace
}  // namespace octlm::experiments
