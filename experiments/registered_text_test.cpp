// The registered specs about text, where the real tokenizer files are: those of ../shared/models,
// or a checkpoint in the cache. Where that folder exists nothing of this may be left out.
#include <gtest/gtest.h>

#include <iostream>

#include "experiments/commands/octlm_program.h"
#include "experiments/commands/selection.h"
#include "experiments/engines/local_environment.h"
#include "experiments/kinds/case_ids.h"
#include "experiments/kinds/kinds.h"
#include "experiments/kinds/model_experiment.h"
#include "formats/json_reader.h"
#include "model/testing/tiny_checkpoint.h"
#include "reference/transformers/python.h"
#include "verify/runner.h"

namespace octlm::experiments {
namespace {

namespace fs = std::filesystem;

const fs::path kSource = OCTLM_SOURCE_DIR;
const fs::path kRegistered = kSource / "experiments" / "registered";
const fs::path kShared = kSource.parent_path() / "shared" / "models";

// Which folder of kShared has a model's tokenizer. The synthetic model has Qwen's vocabulary, and
// the ids of its spec are those of Qwen's tokenizer.
const std::map<std::string, std::string> kFolders = {
    {"Qwen/Qwen3-0.6B", "qwen3-0.6b"},
    {"qwen3-0.6b-synthetic", "qwen3-0.6b"},
    {"smollm2-135m-instruct", "smollm2-135m-instruct"}};

// The folder with a model's tokenizer.json; "" when it is not on this machine.
fs::path tokenizer_folder(const ModelReference& model) {
  const auto known = kFolders.find(model.id);
  if (known != kFolders.end() && fs::exists(kShared / known->second / "tokenizer.json"))
    return kShared / known->second;
  const auto found = find_checkpoint(model, {});
  const auto* folder = std::get_if<CheckpointFolder>(&found);
  return folder != nullptr && fs::exists(folder->path / "tokenizer.json") ? folder->path
                                                                          : fs::path();
}

TEST(RegisteredSpecs, GiveTheIdsOfTheirTexts) {
  const auto kinds = all_kinds();
  std::size_t compared = 0;
  for (const auto& spec : select_specs(kRegistered, {"*"}, kinds)) {
    const auto item = verify::read_item(spec, kinds);
    const auto* experiment = about_a_model(*item.experiment);
    auto cases = experiment != nullptr ? experiment->sequences() : std::vector<TokenCase>();
    if (cases.empty()) continue;
    const fs::path folder = tokenizer_folder(experiment->model());
    if (folder.empty()) {
      ASSERT_FALSE(fs::exists(kShared)) << "no tokenizer of " << spec.id;
      std::cout << "not run: no tokenizer of " << spec.id << " on this machine\n";
      continue;
    }
    EXPECT_NO_THROW(EXPECT_FALSE(fill_token_ids(cases, folder))) << spec.id;
    for (const TokenCase& one : cases) {
      EXPECT_EQ(one.ids_from, "spec, equal to its text") << spec.id << " " << one.name;
      ++compared;
    }
  }
  if (compared == 0) GTEST_SKIP() << "not run: no tokenizer is on this machine";
}

class TextSpecs : public ::testing::TestWithParam<const char*> {};

TEST_P(TextSpecs, HoldOnTheRealFiles) {
  LocalOptions options;
  for (const auto& [id, name] : kFolders) {
    if (fs::exists(kShared / name)) options.models[id] = kShared / name;
  }
  const Environment environment = local_environment(options);
  const auto kinds = all_kinds();
  std::vector<verify::RunItem> items;
  items.push_back(verify::read_item(
      verify::read_spec(kRegistered / (std::string(GetParam()) + ".json"), kinds), kinds));
  const std::size_t planned = items[0].experiment->comparisons().size();
  model::testing::TemporaryFolder reports;
  const auto result = verify::run(
      {.reports = reports.path(), .host = &environment, .info = {.program = octlm_program()}},
      items);
  const auto& judgement = result.experiments.at(0).judgement;
  if (judgement.verdict == verify::Verdict::kNotRun && !fs::exists(kShared)) {
    GTEST_SKIP() << "not run: " << judgement.reason;
  }
  EXPECT_EQ(judgement.verdict, verify::Verdict::kPass) << judgement.reason;
  EXPECT_EQ(result.experiments.at(0).compared(), static_cast<std::int64_t>(planned));
}

INSTANTIATE_TEST_SUITE_P(Registered, TextSpecs, ::testing::Values("EXP-075", "EXP-106", "EXP-109"));

}  // namespace
}  // namespace octlm::experiments

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  octlm::reference::flush_and_exit(RUN_ALL_TESTS());
}
