#include "experiments/commands/reduction.h"

#include <gmock/gmock.h>

#include "experiments/kinds/kinds.h"
#include "experiments/testing/fake_engine.h"
#include "formats/testing/message_of.h"
#include "verify/testing/fake_experiment.h"

namespace octlm::experiments {
namespace {

using ::testing::ElementsAre;
using testing::FakeEngine;
using ::testing::HasSubstr;

constexpr int kIds = 40;

nlohmann::json spec_document() {
  std::vector<int> ids;
  for (int i = 0; i < kIds; ++i) ids.push_back(i % 11);
  return {
      {"schema", 1},
      {"id", "EXP-903"},
      {"title", "t"},
      {"kind", "logit_parity"},
      {"tags", {"parity"}},
      {"question", "q"},
      {"prediction", "p"},
      {"model", {{"id", "fake"}}},
      {"reference",
       {{"engine", "transformers"}, {"attention", "eager"}, {"dtype", "float32"}, {"tf32", false}}},
      {"subject",
       {{"engine", "octlm"},
        {"dtype", "float32"},
        {"devices", {"cpu"}},
        {"paths", {"full", "cached:half"}}}},
      {"cases",
       {{{"name", "long"}, {"token_ids", ids}}, {{"name", "other"}, {"token_ids", {1, 2}}}}},
      {"parameters", nlohmann::json::object()},
      {"criteria",
       {{{"metric", "max_abs_error@1"}, {"at_most", 1e-3}, {"derivation", "d"}},
        {{"metric", "max_abs_error@1"},
         {"at_most", 1e-9},
         {"when", {{"case", "other"}}},
         {"derivation", "judges the other case alone"}},
        {{"metric", "finite@1"}, {"equals", true}}}},
      {"also_record", nlohmann::json::array()},
      {"must_catch", nlohmann::json::array()},
      {"stop_rule", "s"}};
}

struct Machine {
  std::function<void(std::int64_t, std::vector<float>&)> fault = [](auto, auto&) {};
  int opened = 0;
  formats::testing::TemporaryFolder checkpoint = {};
  std::vector<verify::Kind> kinds = all_kinds();

  Environment environment() {
    Environment fakes;
    fakes.find_checkpoint = [this](const ModelReference&) -> OrNotRun<CheckpointFolder> {
      return CheckpointFolder{checkpoint.path()};
    };
    fakes.open_subject =
        [this](const EngineRequest&) -> OrNotRun<std::unique_ptr<reference::Engine>> {
      ++opened;
      auto engine = std::make_unique<FakeEngine>();
      engine->fault = fault;
      return engine;
    };
    fakes.open_reference =
        [](const EngineRequest&) -> OrNotRun<std::unique_ptr<reference::Engine>> {
      return std::make_unique<FakeEngine>();
    };
    return fakes;
  }
  Reduction reduce(const std::string& path = "full", const std::string& name = "long",
                   const nlohmann::json& document = spec_document()) {
    const auto spec = verify::parse_spec(document.dump(), "spec.json", kinds);
    const Environment fakes = environment();
    return reduce_case(spec, {name, path, "cpu", "float32"}, fakes, kinds);
  }
};

// Wrong from this position on.
std::function<void(std::int64_t, std::vector<float>&)> from(std::int64_t first) {
  return [first](std::int64_t position, std::vector<float>& row) {
    if (position >= first) row[3] += 0.5F;
  };
}

TEST(Reduction, BisectsToTheFirstPositionThatIsWrong) {
  for (const int first : {0, 1, 17, kIds - 1}) {
    Machine machine{.fault = from(first)};
    const Reduction made = machine.reduce();
    EXPECT_EQ(made.token_ids.size(), static_cast<std::size_t>(first + 1));
    EXPECT_EQ(made.of, static_cast<std::size_t>(kIds));
    EXPECT_TRUE(made.bisected);
    EXPECT_LE(made.measured, 8);
    EXPECT_LE(machine.opened, 3);
    EXPECT_EQ(made.result.judgement.verdict, verify::Verdict::kFail);
    EXPECT_EQ(made.shorter.has_value(), first > 0);
    if (made.shorter) EXPECT_EQ(made.shorter->judgement.verdict, verify::Verdict::kPass);
  }
}

// A failure that comes and goes with the length: bisecting would end at 40, or at 33.
TEST(Reduction, ScansWhereALongerPrefixMayHold) {
  nlohmann::json document = spec_document();
  document["criteria"][0] = {
      {"metric", "mean_abs_error@1"}, {"at_most", 2.5e-3}, {"derivation", "d"}};
  document["criteria"].erase(1);
  document["criteria"].push_back(
      {{"metric", "max_abs_error@1"}, {"at_most", 1}, {"derivation", "d"}});
  Machine machine{.fault = [](std::int64_t position, std::vector<float>& row) {
    if (position == 2 || position == 39) row[3] += position == 2 ? 0.5F : 0.9F;
  }};
  const Reduction made = machine.reduce("full", "long", document);
  EXPECT_FALSE(made.bisected);
  EXPECT_EQ(made.token_ids.size(), 3U);
  EXPECT_EQ(made.measured, 1 + 3);
}

TEST(Reduction, HalvesAreScanned) {
  Machine machine{.fault = from(5)};
  const Reduction made = machine.reduce("cached:half");
  EXPECT_FALSE(made.bisected);
  EXPECT_EQ(made.token_ids.size(), 6U);
}

TEST(Reduction, ItsSpecFailsAgainAndHoldsNothingElse) {
  Machine machine{.fault = from(2)};
  const Reduction made = machine.reduce();
  EXPECT_THAT(made.token_ids, ElementsAre(0, 1, 2));
  EXPECT_EQ(made.spec["id"], "REDUCED-903");
  EXPECT_EQ(made.spec["cases"].size(), 1U);
  EXPECT_EQ(made.spec["cases"][0]["token_ids"], nlohmann::json({0, 1, 2}));
  EXPECT_EQ(made.spec["subject"]["paths"], nlohmann::json({"full"}));
  EXPECT_EQ(made.spec["criteria"].size(), 2U) << "the one for the other case is left out";
  std::vector<verify::RunItem> items;
  items.push_back(verify::read_item(
      verify::parse_spec(made.spec.dump(), "reduced.json", machine.kinds), machine.kinds));
  const Environment fakes = machine.environment();
  const formats::testing::TemporaryFolder reports;
  const auto run = verify::run({.reports = reports.path(), .host = &fakes}, items);
  EXPECT_EQ(run.experiments[0].judgement.verdict, verify::Verdict::kFail);
}

TEST(Reduction, WhatCannotBeReducedIsRefused) {
  Machine sound;
  EXPECT_THAT(formats::testing::message_of<std::invalid_argument>([&] { sound.reduce(); }),
              HasSubstr("the case does not fail"));
  EXPECT_THAT(
      formats::testing::message_of<std::invalid_argument>([&] { sound.reduce("full", "none"); }),
      HasSubstr("no case \"none\""));
}

}  // namespace
}  // namespace octlm::experiments
