#include "verify/report/index.h"

#include <gmock/gmock.h>

#include <fstream>

#include "verify/report/jsonl.h"
#include "verify/testing/sample_run.h"

namespace octlm::verify {
namespace {

namespace fs = std::filesystem;
using testing::compared;
using testing::experiment;
using ::testing::HasSubstr;
using testing::key;
using ::testing::Not;
using testing::run_of;

class Index : public ::testing::Test {
 protected:
  void write(const fs::path& name, RunResult run, const std::string& started) {
    fs::create_directories(folder_.path() / name);
    run.info.started = started;
    JsonlReport report(folder_.path() / name / "results.jsonl");
    report.run_started(run.info);
    for (const ExperimentResult& one : run.experiments) {
      for (const auto& comparison : one.comparisons) report.comparison_finished(one, comparison);
      report.experiment_finished(one);
    }
    report.run_finished(run);
  }
  static RunResult measured(double error) {
    return run_of({experiment("EXP-1", {compared(key("a"), error)})});
  }
  std::vector<IndexedRun> runs() const {
    return indexed_runs(folder_.path(), testing::language_program());
  }
  std::string page() const { return index_page(runs(), testing::language_program()); }

  testing::TemporaryFolder folder_;
};

TEST_F(Index, HoldsEveryRunOnceTheOldestFirst) {
  write("b", measured(2e-3), "2026-03-02T12:00:00Z");
  write("a", measured(1e-4), "2026-03-03T12:00:00Z");
  write("published/c", measured(1e-4), "2026-03-01T12:00:00Z");
  fs::create_directory_symlink("a", folder_.path() / "latest");
  std::ofstream(folder_.path() / "journal.jsonl") << "{}";
  std::ofstream(folder_.path() / "a" / "report.html") << "x";
  const auto found = runs();
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].name, "published/c");
  EXPECT_EQ(found[1].name, "b");
  EXPECT_EQ(found[2].link, "a/report.html");
  EXPECT_EQ(found[1].link, "b/results.jsonl") << "it has no page";
  EXPECT_EQ(found[1].experiments[0].verdict, Verdict::kFail);
  EXPECT_EQ(found[1].experiments[0].engine, "octlm 0.1");
  EXPECT_DOUBLE_EQ(*found[1].experiments[0].used, 2.0);
  const std::string text = page();
  EXPECT_THAT(text, HasSubstr("<h1>octlm: 3 runs</h1>"));
  EXPECT_THAT(text, HasSubstr("href=\"./published/c/results.jsonl\""));
  EXPECT_THAT(text, HasSubstr("<title>b: fail, 200 %</title>"));
  EXPECT_THAT(text,
              HasSubstr("2026-03-01T12:00:00Z: pass, 10 %. 2026-03-02T12:00:00Z: fail, 200 %."));
  EXPECT_THAT(text, Not(HasSubstr("<script")));
  EXPECT_THAT(text, Not(HasSubstr("http:")));
}

TEST_F(Index, AnotherEngineIsASeriesOfItsOwn) {
  RunResult other = measured(1e-4);
  std::get<Measurement>(other.experiments[0].comparisons[0].outcome).record["subject"]["engine"] =
      "another";
  write("a", measured(1e-4), "2026-03-01T12:00:00Z");
  write("b", other, "2026-03-02T12:00:00Z");
  const std::string text = page();
  EXPECT_THAT(text, HasSubstr("octlm 0.1, 1 run; 10 % of its bound"));
  EXPECT_THAT(text, HasSubstr("another 0.1, 1 run; 10 % of its bound"));
}

TEST_F(Index, ADamagedRunIsListedAndHidesNoOther) {
  write("good", measured(1e-4), "2026-03-01T12:00:00Z");
  fs::create_directory(folder_.path() / "empty");
  fs::create_directory(folder_.path() / "strange");
  std::ofstream(folder_.path() / "strange" / "results.jsonl") << "no json\n{}\n";
  const auto found = runs();
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].fault, "");
  EXPECT_NE(found[1].fault, "");
  EXPECT_NE(found[2].fault, "");
  const std::string text = page();
  EXPECT_THAT(text, HasSubstr("<h2 id=\"damaged\">"));
  EXPECT_THAT(text, HasSubstr("<li><b>empty</b>: "));
  EXPECT_THAT(text, HasSubstr("<li><b>strange</b>: "));
  EXPECT_THAT(text, HasSubstr("octlm: 1 run<"));
}

TEST_F(Index, AKilledRunIsNoPass) {
  write("a", measured(1e-4), "2026-03-01T12:00:00Z");
  const std::string all = testing::text_of(folder_.path() / "a" / "results.jsonl");
  std::ofstream(folder_.path() / "a" / "results.jsonl")
      << all.substr(0, all.find("{\"type\":\"exp"));
  EXPECT_EQ(runs()[0].experiments[0].verdict, Verdict::kNotRun);
  EXPECT_THAT(page(), HasSubstr("did not end"));
}

TEST_F(Index, NamesAreTextAndLinksStayInTheFolder) {
  write("javascript:alert(1)", measured(1e-4), "2026-03-01T12:00:00Z");
  RunResult hostile = measured(1e-4);
  hostile.experiments[0].id = hostile.experiments[0].title = "\"><script>";
  write("x\"><script>", hostile, "<script>");
  const std::string text = page();
  EXPECT_THAT(text, Not(HasSubstr("<script")));
  EXPECT_THAT(text, HasSubstr("href=\"./javascript%3Aalert%281%29/results.jsonl\""));
}

TEST_F(Index, NoRunsAreNoError) {
  EXPECT_THAT(page(), HasSubstr("octlm: 0 runs"));
  EXPECT_THROW(indexed_runs(folder_.path() / "nowhere", testing::language_program()),
               std::runtime_error);
}

}  // namespace
}  // namespace octlm::verify
