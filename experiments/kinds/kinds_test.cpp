// Every kind, run by the runner on fake engines: passes on equal sides, fails just above its bound,
// never passes without weights.
#include "experiments/kinds/kinds.h"
#include "experiments/commands/octlm_program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "experiments/kinds/model_experiment.h"
#include "experiments/testing/fake_engine.h"
#include "formats/error.h"
#include "formats/sha256.h"
#include "model/testing/tiny_checkpoint.h"
#include "model/tokenizer/testing/tiny_tokenizer.h"
#include "reference/request.h"
#include "verify/runner.h"

namespace octlm::experiments {
namespace {

using model::testing::TemporaryFolder;
using testing::FakeEngine;

// A machine on which everything is there: two fake engines, any folder.
struct FakeMachine {
  TemporaryFolder folder;
  std::function<void(FakeEngine&)> set_subject = [](FakeEngine&) {};
  std::int64_t vocab = 11;
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
      engine->vocab = vocab;
      set_subject(*engine);
      return engine;
    };
    fakes.open_reference =
        [this](const EngineRequest& request) -> OrNotRun<std::unique_ptr<reference::Engine>> {
      opened.push_back(request);
      auto engine = std::make_unique<FakeEngine>();
      engine->vocab = vocab;
      return engine;
    };
    return fakes;
  }
};

const char* kLogitParity = R"({
  "schema": 1, "id": "EXP-900", "title": "t", "kind": "logit_parity", "tags": [],
  "question": "q", "prediction": "p", "model": {"id": "fake"},
  "reference": {"engine": "transformers", "attention": "eager", "dtype": "float32", "tf32": false},
  "subject": {"engine": "octlm", "dtype": "float32", "devices": ["cpu", "cuda"],
              "paths": ["full", "cached:half"]},
  "cases": [{"name": "three", "token_ids": [1, 2, 3]}, {"name": "one", "token_ids": [4]}],
  "parameters": {},
  "criteria": [{"metric": "max_abs_error@1", "at_most": 1e-3, "derivation": "d"},
               {"metric": "finite@1", "equals": true}],
  "also_record": ["kl_max@1"], "must_catch": ["rope_interleaved"], "stop_rule": "s"})";

const char* kCachedParity = R"({
  "schema": 1, "id": "EXP-901", "title": "t", "kind": "cached_parity", "tags": [],
  "question": "q", "prediction": "p", "model": {"id": "fake"},
  "subject": {"engine": "octlm", "dtype": "float32", "devices": ["cpu"],
              "paths": ["cached:every", "chunked:2"]},
  "cases": [{"name": "two", "length": 2}, {"name": "five", "length": 5}],
  "parameters": {"token_ids": [1, 2, 3, 4, 5]},
  "criteria": [{"metric": "max_abs_error@1", "at_most": 1e-3, "derivation": "d"}],
  "also_record": [], "must_catch": [], "stop_rule": "s"})";

verify::RunResult run(FakeMachine& machine, const std::string& spec_text) {
  const Environment environment = machine.environment();
  const auto kinds = all_kinds();
  std::vector<verify::RunItem> items;
  items.push_back(verify::read_item(verify::parse_spec(spec_text, "test.json", kinds), kinds));
  TemporaryFolder reports;
  verify::RunOptions options;
  options.info.program = octlm_program();
  options.reports = reports.path();
  options.host = &environment;
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
  machine.vocab = 128;
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
                     formats::sha256("these") + "\"}}");
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
    } catch (const formats::FormatError& error) {
      EXPECT_NE(std::string(error.what()).find(item.says), std::string::npos) << error.what();
    }
  }
}

// A criterion is judged by one meaning: the same name means the same wherever it is listed.
TEST(Kinds, EveryMetricIsExplainedOnce) {
  std::map<std::string, std::string> meanings;
  for (const auto& metric : verify::metric_definitions()) meanings[metric.name] = metric.meaning;
  for (const auto& kind : all_kinds()) {
    for (const auto& metric : kind.metrics) {
      EXPECT_EQ(meanings.try_emplace(metric.name, metric.meaning).first->second, metric.meaning);
      EXPECT_FALSE(metric.meaning.empty()) << metric.name;
    }
  }
  EXPECT_TRUE(meanings.contains("files_match@1"));
}

// A bound on a kind's own metric is held against its type when the spec is read.
TEST(Kinds, ABoundThatAnOwnMetricCannotHoldIsRefused) {
  const auto criterion = [](const std::string& equals) {
    return R"({"schema": 1, "id": "EXP-903", "title": "t", "kind": "checkpoint_load", "tags": [],
      "question": "q", "prediction": "p", "model": {"id": "m"},
      "subject": {"engine": "octlm", "devices": ["cpu"]}, "cases": [{"name": "c"}],
      "criteria": [{"metric": "files_match@1", "equals": )" +
           equals + R"(}], "stop_rule": "s"})";
  };
  const auto kinds = all_kinds();
  EXPECT_NO_THROW(verify::parse_spec(criterion("true"), "s.json", kinds));
  EXPECT_THROW(verify::parse_spec(criterion("1"), "s.json", kinds), formats::FormatError);
}

TEST(Kinds, SayTheirRole) {
  std::map<std::string, verify::Role> roles;
  for (const auto& kind : all_kinds()) roles[kind.name] = kind.role;
  EXPECT_EQ(roles,
            (std::map<std::string, verify::Role>{{"checkpoint_load", verify::Role::kFile},
                                                 {"logit_parity", verify::Role::kParity},
                                                 {"cached_parity", verify::Role::kSelf},
                                                 {"noise_floor", verify::Role::kNoiseFloor},
                                                 {"tokenizer_parity", verify::Role::kParity},
                                                 {"template_parity", verify::Role::kParity}}));
}

// What a command asks of an experiment is what its kind parsed.
TEST(ModelExperiment, SaysWhatItIsAboutAndWhatItTakes) {
  const auto kinds = all_kinds();
  const auto parity =
      verify::read_item(verify::parse_spec(kLogitParity, "test.json", kinds), kinds);
  const auto* experiment = about_a_model(*parity.experiment);
  ASSERT_NE(experiment, nullptr);
  EXPECT_EQ(experiment->model().id, "fake");
  ASSERT_NE(experiment->logit_reference(), nullptr);
  EXPECT_EQ(experiment->logit_reference()->attention, "eager");
  ASSERT_EQ(experiment->sequences().size(), 2U);
  EXPECT_EQ(experiment->sequences()[1].token_ids, std::vector<std::int32_t>{4});
  const Work work = experiment->work();
  ASSERT_EQ(work.passes.size(), 3U) << "on the cpu, less cached:half of one position";
  EXPECT_EQ(work.passes[1].positions, 3);
  EXPECT_EQ(work.passes[1].calls, 2);

  const auto cached =
      verify::read_item(verify::parse_spec(kCachedParity, "test.json", kinds), kinds);
  experiment = about_a_model(*cached.experiment);
  ASSERT_NE(experiment, nullptr);
  EXPECT_EQ(experiment->logit_reference(), nullptr);
  EXPECT_EQ(experiment->work().passes.at(2).calls, 5);
}

TEST(ModelExperiment, NeedsAnEnvironment) {
  const auto kinds = all_kinds();
  const auto item = verify::read_item(verify::parse_spec(kLogitParity, "test.json", kinds), kinds);
  EXPECT_THROW((void)item.experiment->open("cpu", verify::Host()), std::invalid_argument);
}

// The one right order: what says no at once comes before what takes long.
TEST(Sides, AreOpenedInTheOneRightOrder) {
  FakeMachine machine;
  std::ofstream(machine.folder.path() / "model.safetensors") << "other";
  std::string text = kLogitParity;
  text.replace(text.find("{\"id\": \"fake\"}"), 14,
               "{\"id\": \"fake\", \"files\": {\"model.safetensors\": \"sha256:" +
                   formats::sha256("these") + "\"}}");
  const auto result = run(machine, text);
  const auto& devices = only(result).judgement.devices;
  EXPECT_EQ(devices[0].verdict, verify::Verdict::kError) << "another file";
  EXPECT_EQ(devices[1].verdict, verify::Verdict::kNotRun) << "no cuda: no file is hashed";
  for (const auto& request : machine.opened) EXPECT_EQ(request.engine, "octlm") << "and no Python";
}

}  // namespace
}  // namespace octlm::experiments
