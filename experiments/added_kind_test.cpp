// A kind is one file pair and one line: a kind that the program does not have (repeat_parity) is
// listed, begun, checked, run, judged by its own metric and drawn, by what the commands call.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "experiments/commands/checked_spec.h"
#include "experiments/commands/dry_run.h"
#include "experiments/commands/listing.h"
#include "experiments/commands/new_spec.h"
#include "experiments/engines/environment.h"
#include "experiments/kinds/kinds.h"
#include "experiments/testing/fake_engine.h"
#include "experiments/testing/repeat_parity.h"
#include "model/testing/tiny_checkpoint.h"
#include "verify/runner.h"

namespace octlm::experiments {
namespace {

using model::testing::TemporaryFolder;
using ::testing::HasSubstr;
using ::testing::Not;

class AddedKind : public ::testing::Test {
 protected:
  AddedKind() {
    kinds_.push_back(testing::repeat_parity());  // the one line
    model::testing::make_tiny_checkpoint({}).write(checkpoint_.path());
    file_ = checkpoint_.path() / "EXP-904.json";
    const auto& kind = verify::find_kind("repeat_parity", kinds_, "here");
    std::ofstream(file_) << new_spec(kind, "EXP-904", checkpoint_.path()).dump(2);
    environment_.find_checkpoint = [this](const ModelReference&) -> OrNotRun<CheckpointFolder> {
      return CheckpointFolder{checkpoint_.path()};
    };
    environment_.open_subject =
        [this](const EngineRequest&) -> OrNotRun<std::unique_ptr<reference::Engine>> {
      auto engine = std::make_unique<testing::FakeEngine>();
      engine->vocab = 64;
      engine->fault = fault_;
      return engine;
    };
  }

  static std::string text_of(const std::filesystem::path& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  }

  // The run, and the text of one of its files.
  std::pair<verify::RunResult, std::string> run(const char* file) {
    std::vector<verify::RunItem> items;
    items.push_back(verify::read_item(verify::read_spec(file_, kinds_), kinds_));
    TemporaryFolder reports;
    auto result = verify::run({.reports = reports.path(), .host = &environment_}, items);
    auto text = text_of(result.info.folder / file);
    return {std::move(result), std::move(text)};
  }

  TemporaryFolder checkpoint_;
  std::filesystem::path file_;
  std::vector<verify::Kind> kinds_ = all_kinds();
  Environment environment_;
  std::function<void(std::int64_t, std::vector<float>&)> fault_ = [](auto, auto&) {};
};

TEST_F(AddedKind, IsListedWithItsMetric) {
  std::ostringstream kinds, metrics;
  list_kinds(kinds, kinds_);
  list_metrics(metrics, kinds_);
  EXPECT_THAT(kinds.str(), HasSubstr("repeat_parity  the bits of a pass"));
  EXPECT_THAT(metrics.str(), HasSubstr("bits_equal@1  rows whose bits are the same again [rows]"));
}

TEST_F(AddedKind, IsCheckedAsItWasBegun) {
  const CheckedSpec checked = checked_spec(file_, kinds_);
  EXPECT_EQ(checked.plan.size(), 1U);
  const DryRun found =
      dry_run(checked, {{checkpoint_.path().filename().string(), checkpoint_.path()}});
  EXPECT_EQ(found.checkpoint, checkpoint_.path());
  ASSERT_TRUE(found.estimate.has_value());
  EXPECT_THAT(estimate_text(*found.estimate), ::testing::StartsWith("about 1 s"));
  EXPECT_THAT(checked.spec.to_be_written,
              ::testing::IsSupersetOf({"$.question", "$.cases[0].name"}));
}

TEST_F(AddedKind, IsRunAndDrawnWithItsMetric) {
  const auto [result, html] = run("report.html");
  const auto& experiment = result.experiments.at(0);
  EXPECT_EQ(experiment.judgement.verdict, verify::Verdict::kPass) << experiment.judgement.reason;
  EXPECT_EQ(experiment.role, verify::Role::kSelf);
  EXPECT_THAT(html, HasSubstr("EXP-904"));
  EXPECT_THAT(html, HasSubstr("bits_equal@1"));
  EXPECT_THAT(html, HasSubstr("6 of 6"));
}

TEST_F(AddedKind, IsJudgedByItsMetricAndItsLinesAreWritten) {
  auto calls = std::make_shared<int>(0);
  fault_ = [calls](std::int64_t position, std::vector<float>& row) {
    if (position == 4 && (*calls)++ == 1) row[0] += 1;
  };
  const auto [result, lines] = run("results.jsonl");
  const auto& judgement = result.experiments.at(0).judgement;
  EXPECT_EQ(judgement.verdict, verify::Verdict::kFail);
  EXPECT_THAT(judgement.reason, HasSubstr("bits_equal@1 is 5 of 6"));
  EXPECT_THAT(lines, HasSubstr(R"({"type":"flip",)"));
  EXPECT_THAT(lines, HasSubstr(R"("position":4})"));
  EXPECT_THAT(lines, Not(HasSubstr(R"("position":5})")));
}

}  // namespace
}  // namespace octlm::experiments
