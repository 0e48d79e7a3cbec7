// The registered specs: each can be read, and those of the published record run on the synthetic
// checkpoint of the same geometry, with nothing but the file hashes replaced.
#include <gtest/gtest.h>

#include "experiments/commands/octlm_program.h"
#include "experiments/commands/selection.h"
#include "experiments/engines/local_environment.h"
#include "experiments/kinds/kinds.h"
#include "formats/sha256.h"
#include "formats/strict_json.h"
#include "model/testing/tiny_checkpoint.h"
#include "reference/transformers/python.h"
#include "verify/criteria.h"
#include "verify/runner.h"

namespace octlm::experiments {
namespace {

namespace fs = std::filesystem;

const fs::path kRegistered = fs::path(OCTLM_SOURCE_DIR) / "experiments" / "registered";

TEST(RegisteredSpecs, CanAllBeReadAndJudged) {
  const auto kinds = all_kinds();
  const auto specs = select_specs(kRegistered, {"*"}, kinds);
  EXPECT_GE(specs.size(), 7U);
  for (const auto& spec : specs) {
    const auto item = verify::read_item(spec, kinds);
    EXPECT_EQ(verify::plan_problem(spec, item.experiment->comparisons()), "") << spec.id;
    EXPECT_EQ(spec.file.stem(), spec.id) << "a spec's file is named like its id";
  }
}

TEST(RegisteredSpecs, NeverPassWithoutWeights) {
  const Environment environment = [] {
    auto local = local_environment({});
    local.find_checkpoint = [](const ModelReference& model) {
      return find_checkpoint({"absent-" + model.id, "", {}}, {});
    };
    return local;
  }();
  const auto kinds = all_kinds();
  std::vector<verify::RunItem> items;
  for (auto& spec : select_specs(kRegistered, {"*"}, kinds)) {
    items.push_back(verify::read_item(std::move(spec), kinds));
  }
  model::testing::TemporaryFolder reports;
  const auto result = verify::run(
      {.reports = reports.path(), .host = &environment, .info = {.program = octlm_program()}},
      items);
  EXPECT_EQ(result.summary.pass, 0);
  EXPECT_EQ(result.summary.exit_code, verify::kExitError);
  for (const auto& experiment : result.experiments) {
    EXPECT_EQ(experiment.judgement.verdict, verify::Verdict::kNotRun) << experiment.id;
    // What fetch cannot get is not offered: a name without an organisation is nobody's.
    const bool hub = experiment.model.find('/') != std::string::npos;
    EXPECT_NE(experiment.judgement.reason.find(hub ? "./octlm fetch absent-" : "--model absent-"),
              std::string::npos)
        << experiment.judgement.reason;
  }
}

// EXP-073 and EXP-074 as they are registered, on weights that can be had everywhere.
TEST(PublishedRecord, ItsSpecsRunOnTheSyntheticCheckpoint) {
  const auto found =
      find_checkpoint({.id = "qwen3-0.6b-synthetic", .revision = "", .files = {}}, {});
  const auto* folder = std::get_if<CheckpointFolder>(&found);
  if (folder == nullptr) GTEST_SKIP() << "not run: " << std::get<verify::NotRun>(found).reason;

  LocalOptions options;
  options.models = {{"Qwen/Qwen3-0.6B", folder->path}};
  const Environment environment = local_environment(options);
  const auto kinds = all_kinds();
  std::vector<verify::RunItem> items;
  for (const char* id : {"EXP-073", "EXP-074"}) {
    auto document = formats::read_strict(kRegistered / (std::string(id) + ".json"));
    for (auto& [name, hash] : document["model"]["files"].items()) {
      hash = "sha256:" + formats::sha256_file(folder->path / name);
    }
    items.push_back(verify::read_item(verify::parse_spec(document.dump(), id, kinds), kinds));
  }
  model::testing::TemporaryFolder reports;
  const auto result = verify::run(
      {.reports = reports.path(), .host = &environment, .info = {.program = octlm_program()}},
      items);
  ASSERT_EQ(result.experiments.size(), 2U);
  for (const auto& experiment : result.experiments) {
    EXPECT_EQ(experiment.judgement.verdict, verify::Verdict::kPass)
        << experiment.id << ": " << experiment.judgement.reason;
  }
  EXPECT_EQ(result.experiments[0].compared(), 1);
  EXPECT_EQ(result.experiments[1].compared(), 20);
  EXPECT_EQ(result.summary.exit_code, verify::kExitPass);
}

}  // namespace
}  // namespace octlm::experiments

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  octlm::reference::flush_and_exit(RUN_ALL_TESTS());
}
