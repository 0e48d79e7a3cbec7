// The noise floor on fake engines: what is opened for each variant, what passes and fails, and that
// nothing without the live reference, or against the very same settings, is called a measurement.
#include "experiments/kinds/noise_floor.h"
#include "experiments/commands/octlm_program.h"

#include <gtest/gtest.h>

#include "experiments/engines/environment.h"
#include "experiments/testing/fake_engine.h"
#include "formats/error.h"
#include "model/testing/tiny_checkpoint.h"
#include "verify/runner.h"

namespace octlm::experiments {
namespace {

using model::testing::TemporaryFolder;
using testing::FakeEngine;

const std::string kSpec = R"({
  "schema": 1, "id": "EXP-902", "title": "t", "kind": "noise_floor", "tags": [],
  "question": "q", "prediction": "p", "model": {"id": "fake"},
  "reference": {"engine": "transformers", "attention": "eager", "dtype": "float32", "tf32": false},
  "cases": [{"name": "three", "token_ids": [1, 2, 3]}, {"name": "one", "token_ids": [4]}],
  "parameters": {"devices": ["cpu"], "variants": [
    {"name": "sdpa", "attention": "sdpa", "path": "full", "threads": 0},
    {"name": "in two calls", "attention": "eager", "path": "cached:half", "threads": 0},
    {"name": "one thread", "attention": "eager", "path": "full", "threads": 1}]},
  "criteria": [{"metric": "max_abs_error@1", "at_most": 1e-3, "derivation": "d"},
               {"metric": "finite@1", "equals": true}],
  "also_record": ["kl_max@1"], "must_catch": [], "stop_rule": "s"})";

struct FakeMachine {
  TemporaryFolder folder;
  std::function<void(FakeEngine&, const EngineRequest&)> set = [](auto&, auto&) {};
  bool live = true;
  std::vector<EngineRequest> opened;

  struct Recorded final : reference::Engine {
    FakeEngine engine;
    reference::EngineDescription description() const override {
      return {"fake", "1", "recorded", {}};
    }
    reference::Capabilities capabilities() const override { return engine.capabilities(); }
    std::int64_t vocab_size() const override { return engine.vocab_size(); }
    std::int64_t max_positions() const override { return engine.max_positions(); }
    std::unique_ptr<reference::Session> open_session(
        const reference::SessionOptions& options) override {
      return engine.open_session(options);
    }
  };

  verify::RunResult run(const std::string& text) {
    Environment fakes;
    fakes.find_checkpoint = [this](const ModelReference&) -> OrNotRun<CheckpointFolder> {
      return CheckpointFolder{folder.path()};
    };
    fakes.open_subject = [](const EngineRequest&) -> OrNotRun<std::unique_ptr<reference::Engine>> {
      throw std::logic_error("the noise floor is the reference's alone");
    };
    fakes.open_reference =
        [this](const EngineRequest& request) -> OrNotRun<std::unique_ptr<reference::Engine>> {
      opened.push_back(request);
      if (!live) return std::make_unique<Recorded>();
      auto engine = std::make_unique<FakeEngine>();
      set(*engine, request);
      return engine;
    };
    const std::vector<verify::Kind> kinds = {noise_floor()};
    std::vector<verify::RunItem> items;
    items.push_back(verify::read_item(verify::parse_spec(text, "test.json", kinds), kinds));
    TemporaryFolder reports;
    verify::RunOptions options;
    options.host = &fakes;
    options.info.program = octlm_program();
    options.reports = reports.path();
    return verify::run(options, items);
  }
};

std::string with(const std::string& from, const std::string& to) {
  std::string text = kSpec;
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(NoiseFloor, ComparesEveryVariantWithTheReferencesOwnPass) {
  FakeMachine machine;
  const auto result = machine.run(kSpec);
  EXPECT_EQ(result.summary.exit_code, verify::kExitPass);
  const auto& experiment = result.experiments.at(0);
  EXPECT_EQ(experiment.compared(), 5) << "three variants, two cases, less two calls for one token";
  ASSERT_EQ(machine.opened.size(), 3U) << "the reference, SDPA, and one thread";
  EXPECT_EQ(machine.opened[0].attention, "eager");
  EXPECT_EQ(machine.opened[0].threads, 0);
  EXPECT_EQ(machine.opened[1].attention, "sdpa");
  EXPECT_EQ(machine.opened[2].threads, 1);
  const auto* calls = experiment.comparisons.at(2).measurement();
  ASSERT_NE(calls, nullptr);
  EXPECT_EQ(experiment.comparisons.at(2).key.path, "in two calls");
  EXPECT_EQ(calls->record["calls"]["subject"].size(), 2U);
  EXPECT_EQ(calls->record["calls"]["reference"].size(), 1U);
  EXPECT_EQ(calls->record["model"], "fake");
  EXPECT_EQ(calls->record["variant"]["path"], "cached:half");
}

TEST(NoiseFloor, FailsJustAboveTheBoundAndPassesJustBelow) {
  for (const float amount : {0.0009F, 0.0011F}) {
    FakeMachine machine;
    machine.set = [amount](FakeEngine& engine, const EngineRequest& request) {
      if (request.attention != "sdpa") return;
      engine.fault = [amount](std::int64_t position, std::vector<float>& row) {
        if (position == 2) row[3] += amount;
      };
    };
    EXPECT_EQ(machine.run(kSpec).summary.exit_code,
              amount < 0.001F ? verify::kExitPass : verify::kExitFail);
  }
}

// A recording gives the same logits whatever is asked of it: a noise floor of zero.
TEST(NoiseFloor, ARecordingHasNone) {
  FakeMachine machine;
  machine.live = false;
  const auto result = machine.run(kSpec);
  EXPECT_EQ(result.experiments.at(0).compared(), 0);
  EXPECT_EQ(result.experiments.at(0).judgement.verdict, verify::Verdict::kNotRun);
  EXPECT_NE(result.experiments.at(0).judgement.reason.find("live"), std::string::npos);
}

TEST(NoiseFloor, ReadsItsPartStrictly) {
  struct Case {
    const char *from, *to, *says;
  };
  for (const Case& item : std::vector<Case>{
           {"\"path\": \"cached:half\"", "\"path\": \"full\"", "differs in nothing"},
           {"\"name\": \"in two calls\"", "\"name\": \"sdpa\"", "another variant"},
           {"\"cached:half\"", "\"cached:third\"", "cached:third"},
           {"\"threads\": 1", "\"threads\": -1", "threads"},
           {"\"threads\": 1", "\"thread\": 1", "threads"},
           {"\"attention\": \"sdpa\"", "\"attention\": \"flash\"", "flash"},
           {"\"devices\": [\"cpu\"], ", "", "devices"},
           {"\"must_catch\": []", "\"must_catch\": [\"rope_interleaved\"]", "rope_interleaved"}}) {
    FakeMachine machine;
    try {
      machine.run(with(item.from, item.to));
      ADD_FAILURE() << "accepted " << item.to;
    } catch (const formats::FormatError& error) {
      EXPECT_NE(std::string(error.what()).find(item.says), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace octlm::experiments
