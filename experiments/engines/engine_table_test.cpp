// The spec's "engine" is a name of the table of engines, on either side, and what it names is what
// runs.
#include "experiments/engines/engine_table.h"

#include <gtest/gtest.h>

#include <array>
#include <stdexcept>

#include "experiments/commands/octlm_program.h"
#include "experiments/engines/local_environment.h"
#include "experiments/kinds/kinds.h"
#include "experiments/testing/fake_engine.h"
#include "formats/error.h"
#include "model/testing/tiny_checkpoint.h"
#include "verify/runner.h"

namespace octlm::experiments {
namespace {

using model::testing::TemporaryFolder;
using testing::FakeEngine;

std::string spec_text(const std::string& subject, const std::string& reference,
                      const std::string& dtype = "float32") {
  return R"({
  "schema": 1, "id": "EXP-900", "title": "t", "kind": "logit_parity", "tags": [],
  "question": "q", "prediction": "p", "model": {"id": "fake"},
  "reference": {"engine": ")" +
         reference + R"(", "attention": "eager", "dtype": "float32", "tf32": false},
  "subject": {"engine": ")" +
         subject + R"(", "dtype": ")" + dtype + R"(", "devices": ["cpu"], "paths": ["full"]},
  "cases": [{"name": "three", "token_ids": [1, 2, 3]}], "parameters": {},
  "criteria": [{"metric": "max_abs_error@1", "at_most": 1e-3, "derivation": "d"}],
  "also_record": [], "must_catch": [], "stop_rule": "s"})";
}

// A table with two engines of the test's own, which differ by `difference` at one place.
struct Machine {
  TemporaryFolder folder;
  std::vector<EngineRequest> opened;
  float difference = 0;

  verify::RunResult run(const std::string& text) {
    LocalOptions options;
    options.models["fake"] = folder.path();
    options.engines = engine_table(1);
    options.engines.push_back({"fake", [this](const EngineRequest& request) {
                                 opened.push_back(request);
                                 return std::make_unique<FakeEngine>();
                               }});
    options.engines.push_back({"other", [this](const EngineRequest& request) {
                                 opened.push_back(request);
                                 auto engine = std::make_unique<FakeEngine>();
                                 engine->fault = [this](std::int64_t position, auto& row) {
                                   if (position == 1) row[2] += difference;
                                 };
                                 return engine;
                               }});
    const Environment environment = local_environment(options);
    const auto kinds = all_kinds(engine_names(environment.engines));
    std::vector<verify::RunItem> items;
    items.push_back(verify::read_item(verify::parse_spec(text, "test.json", kinds), kinds));
    TemporaryFolder reports;
    verify::RunOptions run_options;
    run_options.reports = reports.path();
    run_options.host = &environment;
    run_options.info.program = octlm_program();
    return verify::run(run_options, items);
  }
};

TEST(EngineTable, TheEngineThatTheSpecNamesIsTheOneThatRuns) {
  Machine machine;
  EXPECT_EQ(machine.run(spec_text("other", "fake")).summary.exit_code, verify::kExitPass);
  ASSERT_EQ(machine.opened.size(), 2U);
  EXPECT_EQ(machine.opened[0].engine, "other");
  EXPECT_EQ(machine.opened[1].engine, "fake");
  machine.difference = 0.1F;
  EXPECT_EQ(machine.run(spec_text("other", "fake")).summary.exit_code, verify::kExitFail)
      << "the subject";
  EXPECT_EQ(machine.run(spec_text("fake", "other")).summary.exit_code, verify::kExitFail)
      << "the reference";
  EXPECT_EQ(machine.run(spec_text("other", "other")).summary.exit_code, verify::kExitPass)
      << "an engine against itself is a control";
}

TEST(EngineTable, ANameThatIsNotInItIsRefusedWhenTheSpecIsRead) {
  for (const auto& [subject, reference, nearest] :
       std::vector<std::array<std::string, 3>>{{"transformer", "fake", "\"transformers\""},
                                               {"fake", "otter", "\"other\""},
                                               {"octllm", "fake", "\"octlm\""}}) {
    Machine machine;
    try {
      machine.run(spec_text(subject, reference));
      ADD_FAILURE() << "accepted " << subject << " and " << reference;
    } catch (const formats::FormatError& error) {
      EXPECT_NE(std::string(error.what()).find(nearest), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find(".engine"), std::string::npos) << error.what();
    }
    EXPECT_TRUE(machine.opened.empty());
  }
}

// An engine that a test has registered is gone with the test's table.
TEST(EngineTable, IsHandedAroundAndNotShared) {
  EXPECT_EQ(engine_names(), (std::vector<std::string>{"octlm", "transformers"}));
  EXPECT_EQ(engine_names(local_environment({}).engines), engine_names());
  EngineRequest request;
  request.engine = "fake";
  EXPECT_THROW(open_engine(engine_table(1), request), std::invalid_argument);
}

TEST(EngineTable, WhatAnEngineLacksIsNotRun) {
  Machine machine;
  const auto result = machine.run(spec_text("fake", "fake", "float64"));
  EXPECT_EQ(result.experiments.at(0).judgement.verdict, verify::Verdict::kNotRun);
  EXPECT_NE(
      result.experiments.at(0).judgement.reason.find("unsupported: fake has no dtype float64"),
      std::string::npos)
      << result.experiments.at(0).judgement.reason;
}

// No setting of a spec is passed over: an engine without it refuses.
TEST(EngineTable, OctlmHasOneAttention) {
  EngineRequest request;
  request.engine = "octlm";
  request.dtype = "float32";
  request.device = "cpu";
  request.attention = "sdpa";
  EXPECT_THROW(open_engine(engine_table(1), request), std::invalid_argument);
  request.attention = "eager";
  request.tf32 = true;
  EXPECT_THROW(open_engine(engine_table(1), request), std::invalid_argument);
}

}  // namespace
}  // namespace octlm::experiments
