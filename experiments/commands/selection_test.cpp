#include "experiments/commands/selection.h"

#include <gtest/gtest.h>

#include <fstream>

#include "experiments/kinds/kinds.h"
#include "model/testing/tiny_checkpoint.h"

namespace octlm::experiments {
namespace {

class Selection : public ::testing::Test {
 protected:
  Selection() : kinds_(all_kinds()) {
    write("EXP-201", R"("fast")");
    write("EXP-202", R"("fast", "slow")");
    write("EXP-210", "");
  }

  void write(const std::string& id, const std::string& tags) {
    std::ofstream(folder_.path() / (id + ".json"))
        << R"({"schema": 1, "id": ")" << id
        << R"(", "title": "t", "kind": "checkpoint_load", "tags": [)" << tags
        << R"(], "question": "q", "prediction": "p", "model": {"id": "m"},)"
        << R"( "subject": {"engine": "octlm", "devices": ["cpu"]}, "cases": [{"name": "c"}],)"
        << R"( "parameters": {}, "criteria": [{"metric": "parameters@1", "equals": 1}],)"
        << R"( "also_record": [], "must_catch": [], "stop_rule": "s"})";
  }

  std::string ids(const std::vector<std::string>& arguments) {
    std::string text;
    for (const auto& spec : select_specs(folder_.path(), arguments, kinds_)) text += spec.id + " ";
    return text;
  }

  model::testing::TemporaryFolder folder_;
  std::vector<verify::Kind> kinds_;
};

TEST_F(Selection, NoArgumentTakesAllThatAreNotSlow) { EXPECT_EQ(ids({}), "EXP-201 EXP-210 "); }

TEST_F(Selection, IdsGlobsAndTags) {
  EXPECT_EQ(ids({"EXP-202"}), "EXP-202 ");
  EXPECT_EQ(ids({"EXP-20*"}), "EXP-201 EXP-202 ");
  EXPECT_EQ(ids({"tag:slow"}), "EXP-202 ");
  EXPECT_EQ(ids({"EXP-210", "EXP-2*", "EXP-201"}), "EXP-201 EXP-202 EXP-210 ")
      << "each once, in order";
}

TEST_F(Selection, AFileNeedsNoFolder) {
  const std::string file = folder_.path() / "EXP-210.json";
  EXPECT_EQ(select_specs("/nowhere", {file}, kinds_).at(0).id, "EXP-210");
}

// Nothing that compared nothing is green: an argument that matches nothing is refused, not skipped.
TEST_F(Selection, AnArgumentThatMatchesNothingIsRefused) {
  for (const char* argument : {"EXP-999", "EXP-9*", "tag:none", ""}) {
    EXPECT_THROW(ids({"EXP-201", argument}), std::invalid_argument) << argument;
  }
  EXPECT_THROW(ids({"no/such/file.json"}), formats::FormatError);
}

}  // namespace
}  // namespace octlm::experiments
