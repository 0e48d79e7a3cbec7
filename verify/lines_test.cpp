// A line is written and read from one description: what was read is what is written again.
#include "verify/lines.h"

#include <gmock/gmock.h>

#include "verify/read_back.h"
#include "verify/report/jsonl.h"
#include "verify/report/rendering.h"
#include "verify/testing/sample_run.h"

namespace octlm::verify {
namespace {

namespace fs = std::filesystem;
using testing::compared;
using testing::experiment;
using testing::key;
using testing::run_of;

// The line of `results.jsonl` that `line` says again, when read and written.
std::string again(const RunFile::Line& line, const RunResult& run) {
  const std::string type = line.type();
  const nlohmann::json& json = line.json;
  if (type == "run") return json_line("run", run_line(run_from(json)));
  if (type == "started") return json_line("started", started_line(started_from(json)));
  if (type == "summary") return json_line("summary", summary_line(run));
  if (type == "experiment") {
    for (const ExperimentResult& one : run.experiments) {
      if (one.id != json.at("id")) continue;
      nlohmann::json fields = experiment_line(one);
      // Records from before it was written: the one field that is not as it was.
      if (!json.contains("role")) fields.erase("role");
      return json_line("experiment", fields);
    }
    return "no such experiment";
  }
  ExperimentResult of;
  of.id = json.at("experiment");
  return json_line(type.c_str(), comparison_line(of, comparison_from(json)));
}

void expect_the_same(const RunFile& file) {
  const RunResult run = read_back(file, testing::language_program());
  for (const RunFile::Line& line : file.lines) EXPECT_EQ(again(line, run), line.text + "\n");
}

TEST(Lines, APublishedRunIsWrittenAgainByteForByte) {
  std::size_t runs = 0;
  for (const auto& folder : fs::directory_iterator(OCTLM_SOURCE_DIR "/reports/published")) {
    if (!folder.is_directory()) continue;
    ++runs;
    const RunFile file = read_run_file(folder.path());
    EXPECT_GT(file.lines.size(), 2U);
    EXPECT_NE(file.summary(), nullptr);
    expect_the_same(file);
  }
  EXPECT_GT(runs, 0U);
}

// What no published run has: errors, numbers that are not finite, every kind of value.
TEST(Lines, AMixedRunIsWrittenAgainByteForByte) {
  const testing::TemporaryFolder folder;
  ComparisonResult counted = compared(key("z"), 1e-4);
  std::get<Measurement>(counted.outcome).metrics["agree@1"] = Agreement{186, 187};
  std::get<Measurement>(counted.outcome).metrics["count@1"] = std::int64_t{272};
  ExperimentResult pass = experiment("EXP-2", {counted, compared(key("z", "cuda"), INFINITY)});
  pass.role = Role::kSelf;
  pass.trust.registered_time = "2026-01-01T00:00:00Z";
  pass.trust.registered_commit = "f00";
  pass.trust.prior_results = true;
  pass.trust.anchored = false;
  pass.judgement.criteria[0].when = {{"device", "cpu"}};
  pass.judgement.criteria[0].note = "a note";
  RunResult run = run_of({pass, experiment("EXP-1", {compared(key("a"), std::nan("")),
                                                     {key("c"), NotRun{"no weights", "weights"}},
                                                     {key("d"), Broken{"x"}}})});
  run.info.subject_sha256 = "5b";
  run.info.request = {{"models", {"a=b"}}};
  run.info.dirty = std::nullopt;
  run.not_started = {"EXP-4"};
  run.interrupted_by = 15;
  run.summary = summarize(run, {});
  {
    JsonlReport report(folder.path() / "results.jsonl");
    report.run_started(run.info);
    for (const ExperimentResult& one : run.experiments) {
      report.device_ready(one, "cpu", {{"reference", "r"}});
      for (const ComparisonResult& each : one.comparisons) report.comparison_finished(one, each);
      report.experiment_finished(one);
    }
    report.run_finished(run);
  }
  expect_the_same(read_run_file(folder.path()));
  const auto lines = testing::lines_of(folder.path() / "results.jsonl");
  EXPECT_EQ(lines.back()["interrupted"], true);
  EXPECT_EQ(lines[4]["role"], "self");
}

TEST(Lines, TheErrorByPositionIsReadAsItWasWritten) {
  ComparisonResult result = compared(key("a"), 2e-3);
  auto& errors = std::get<Measurement>(result.outcome).errors;
  errors = {.rows = 6,
            .last = 9,
            .first = {0, 4, 8},
            .max_abs_error = {1e-5, std::nan(""), 0.1},
            .lone_column = {std::nullopt, std::nullopt, 7},
            .powers_of_two = {{-17, 3}, {-4, 1}},
            .equal = 1,
            .not_finite = 1};
  const ExperimentResult one = experiment("EXP-1", {result});
  nlohmann::json line =
      nlohmann::json::parse(json_line("comparison", comparison_line(one, result)));
  const auto& written = line["error_by_position"];
  EXPECT_EQ(written["positions"], 6);
  EXPECT_EQ(written["first"], (nlohmann::json{0, 4, 8}));
  EXPECT_EQ(written["max_abs_error"], (nlohmann::json{1e-5, "nan", 0.1}));
  EXPECT_EQ(written["lone_column"], (nlohmann::json{nullptr, nullptr, 7}));
  EXPECT_EQ(written["powers_of_two"], (nlohmann::json{{-17, 3}, {-4, 1}}));
  const ComparisonResult back = comparison_from(line);
  EXPECT_EQ(comparison_line(one, back), comparison_line(one, result));
  EXPECT_FALSE(back.measurement()->record.contains("error_by_position"));
  EXPECT_EQ(back.measurement()->errors.powers_of_two, errors.powers_of_two);
  // What no run writes, and what was not written yet, is taken as absent.
  for (const char* strange : {R"("x")", R"({"first": [3, 1], "max_abs_error": [1, 2], "last": 9})",
                              R"({"first": [1], "max_abs_error": [], "last": 9})",
                              R"({"first": [1, 2], "max_abs_error": [1, 2], "last": 0})"}) {
    line["error_by_position"] = nlohmann::json::parse(strange);
    EXPECT_TRUE(comparison_from(line).measurement()->errors.empty()) << strange;
  }
  line.erase("error_by_position");
  EXPECT_TRUE(comparison_from(line).measurement()->errors.empty());
}

// Records from before the role was written: the program says which kinds were no parity.
TEST(Lines, ARoleThatIsNotThereIsThatOfTheKind) {
  const testing::TemporaryFolder folder;
  const auto role = [&](const std::string& fields) {
    std::ofstream(folder.path() / "results.jsonl")
        << "{\"type\":\"run\"}\n{\"type\":\"experiment\",\"id\":\"E\"," << fields << "}\n";
    const RunFile file = read_run_file(folder.path());
    return read_back(file, testing::language_program()).experiments.at(0).role;
  };
  EXPECT_EQ(role(R"("kind": "noise_floor")"), Role::kNoiseFloor);
  EXPECT_EQ(role(R"("kind": "cached_parity")"), Role::kSelf);
  EXPECT_EQ(role(R"("kind": "checkpoint_load")"), Role::kFile);
  EXPECT_EQ(role(R"("kind": "logit_parity")"), Role::kParity);
  EXPECT_EQ(role(R"("kind": "noise_floor", "role": "parity")"), Role::kParity);
  EXPECT_EQ(role(R"("kind": "noise_floor", "role": "strange")"), Role::kNoiseFloor);
}

}  // namespace
}  // namespace octlm::verify
