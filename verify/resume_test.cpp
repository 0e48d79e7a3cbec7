// Labels, attempts and exit codes of runs that a ledger knows; runs that are killed and resumed.
#include "verify/resume.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "verify/testing/temporary_project.h"

namespace octlm::verify {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::key;
using testing::message_of;

namespace fs = std::filesystem;

class Ledgered : public testing::TemporaryProject {};

TEST_F(Ledgered, ARegisteredPassIsAPass) {
  const RunResult got = run_once(registered("EXP-1"), 0.5);
  EXPECT_EQ(got.summary.exit_code, 0);
  EXPECT_EQ(got.summary.pass, 1);
  EXPECT_EQ(got.info.ledger_head, ledger().head());
  EXPECT_EQ(got.experiments[0].trust.label, "confirmatory");
  EXPECT_EQ(got.experiments[0].trust.attempts.at("cpu").attempt, 1);
}

// Section 5's order: 3 before 1 and 4.
TEST_F(Ledgered, WhatIsUnregisteredRunsAndEndsWith3) {
  const Spec spec = write(document("EXP-1"));
  const RunResult got = run_once(spec, 0.5);
  EXPECT_EQ(got.summary.exit_code, 3);
  EXPECT_EQ(got.summary.pass, 0);
  EXPECT_EQ(got.summary.uncounted, 1);
  EXPECT_EQ(got.experiments[0].judgement.verdict, Verdict::kPass);
  EXPECT_THAT(got.summary.why, HasSubstr("EXP-1 is unregistered"));
  EXPECT_EQ(run_once(spec, 1.5).summary.exit_code, 3);
  EXPECT_EQ(run_with(
                spec,
                [](auto&) {
                  return NotRun{"no weights", "weights"};
                },
                "c0de")
                .summary.exit_code,
            3);
}

TEST_F(Ledgered, WhatIsExploratoryEndsWith3) {
  run_once(registered("EXP-1"), 1.5);
  auto looser = document("EXP-1");
  looser["criteria"][0]["at_most"] = 2.0;
  const RunResult got = run_once(amended(looser), 1.5);
  EXPECT_EQ(got.experiments[0].judgement.verdict, Verdict::kPass);
  EXPECT_EQ(got.summary.exit_code, 3);
  EXPECT_EQ(got.summary.uncounted, 1);
}

TEST_F(Ledgered, ARegisteredFailIs1) {
  EXPECT_EQ(run_once(registered("EXP-1"), 1.5).summary.exit_code, 1);
}

TEST_F(Ledgered, AnInvalidLedgerStopsBeforeAnythingIsRun) {
  const Spec spec = registered("EXP-1");
  std::ofstream(project_.ledger(), std::ios::app) << "<<<<<<< ours\n";
  EXPECT_THAT(message_of<LedgerInvalid>([&] { run_once(spec, 0.5); }), HasSubstr("line 2"));
  EXPECT_FALSE(fs::exists(project_.reports()));
}

TEST_F(Ledgered, APassAfterAFailWithEqualCodeIsAFail) {
  const Spec spec = registered("EXP-1");
  const RunResult first = run_once(spec, 1.5);
  const RunResult again = run_once(spec, 0.5);
  EXPECT_EQ(again.experiments[0].judgement.verdict, Verdict::kFail);
  EXPECT_THAT(again.experiments[0].judgement.reason,
              HasSubstr("failed before with the same spec, code and engines: the attempt of 2"));
  EXPECT_THAT(again.experiments[0].judgement.reason,
              HasSubstr(", run " + first.info.folder.filename().string() + "; to go on, change"));
  EXPECT_EQ(again.experiments[0].trust.attempts.at("cpu").attempt, 2);
  EXPECT_EQ(again.experiments[0].trust.attempts.at("cpu").failed, 2);
  EXPECT_EQ(again.summary.exit_code, 1);
  const RunResult mended = run_once(spec, 0.5, "new code");
  EXPECT_EQ(mended.summary.exit_code, 0);
  EXPECT_EQ(mended.experiments[0].trust.attempts.at("cpu").attempt, 1);
}

TEST_F(Ledgered, AForeignSubjectCountsWithItsOwnCode) {
  const Spec spec = registered("EXP-1");
  const auto with = [&](const std::string& subject, double error) {
    RunOptions options{.reports = project_.reports(), .project = project_};
    options.info.code_sha256 = "c0de";
    options.info.subject_sha256 = subject;
    std::vector<RunItem> items;
    items.push_back({spec, std::make_unique<testing::FakeExperiment>(
                               std::vector{key("story")}, [=](auto&) { return measured(error); })});
    return run(options, items).summary.exit_code;
  };
  EXPECT_EQ(with("engine 1", 1.5), 1);
  EXPECT_EQ(with("engine 1", 0.5), 1);
  EXPECT_EQ(with("engine 2", 0.5), 0);
}

// What an attempt is with is part of what it is: a mended engine, recording or checkpoint is
// another attempt, and the one that failed stays what it was.
TEST_F(Ledgered, AnAttemptIsThatOfItsEngines) {
  const Spec spec = registered("EXP-1");
  const auto with = [&](const nlohmann::json& identity, double error) {
    auto experiment = std::make_unique<testing::FakeExperiment>(
        std::vector{key("story")}, [=](auto&) { return measured(error); });
    experiment->identity = [identity] { return identity; };
    RunOptions options{.reports = project_.reports(), .project = project_};
    options.info.code_sha256 = "c0de";
    std::vector<RunItem> items;
    items.push_back({spec, std::move(experiment)});
    return run(options, items).experiments[0];
  };
  const nlohmann::json broken = {
      {"checkpoint", {{"weights", "ab"}}},
      {"subject", {{"engine", "mine"}, {"version", "1"}, {"sha256", "11"}, {"files", 3}}},
      {"reference", {{"engine", "theirs"}, {"version", "4"}, {"source", "recorded"}}}};
  EXPECT_EQ(with(broken, 1.5).judgement.verdict, Verdict::kFail);
  const ExperimentResult same = with(broken, 0.5);
  EXPECT_EQ(same.judgement.verdict, Verdict::kFail);
  EXPECT_THAT(same.trust.attempts.at("cpu").engines,
              HasSubstr("mine 1 and 3 files against theirs 4 (recorded) ["));
  EXPECT_THAT(same.judgement.reason, HasSubstr("mine 1 and 3 files"));
  for (const char* mended : {"/checkpoint/weights", "/subject/version", "/subject/sha256",
                             "/reference/version", "/reference/sha256"}) {
    nlohmann::json other = broken;
    other[nlohmann::json::json_pointer(mended)] = "another";
    const ExperimentResult passed = with(other, 0.5);
    EXPECT_EQ(passed.judgement.verdict, Verdict::kPass) << mended;
    EXPECT_EQ(passed.trust.attempts.at("cpu").attempt, 1) << mended;
  }
  EXPECT_EQ(with(broken, 0.5).judgement.verdict, Verdict::kFail) << "for good";
}

// The intent stands on the disk before the first number does.
TEST_F(Ledgered, TheIntentComesFirst) {
  const Spec spec = registered("EXP-1");
  std::size_t seen = 0;
  run_with(
      spec,
      [&](auto&) {
        const Journal journal = read_journal(project_.journal());
        seen = journal.attempts.size();
        EXPECT_FALSE(journal.attempts.at(0).result);
        EXPECT_EQ(journal.attempts.at(0).intent.label, "confirmatory");
        return measured(0.5);
      },
      "c0de");
  EXPECT_EQ(seen, 1U);
  EXPECT_EQ(read_journal(project_.journal()).attempts.at(0).result->verdict, "pass");
}

TEST_F(Ledgered, AJournalThatCannotBeWrittenStopsBeforeTheFirstNumber) {
  const Spec spec = registered("EXP-1");
  fs::create_directories(project_.journal());  // a folder in its place
  bool compared = false;
  const auto answer = [&](auto&) {
    compared = true;
    return measured(0.5);
  };
  EXPECT_THAT(message_of<std::runtime_error>([&] { run_with(spec, answer, "c0de"); }),
              HasSubstr("journal.jsonl"));
  EXPECT_FALSE(compared);
}

class Resumed : public testing::TemporaryProject {
 protected:
  Resumed() : spec_(registered("EXP-1")) {}

  RunResult go(RunOptions options = {}) {
    options.reports = project_.reports();
    options.project = project_;
    options.info.code_sha256 = code_;
    options.info.program = testing::language_program();
    std::vector<RunItem> items;
    auto experiment = std::make_unique<testing::FakeExperiment>(
        std::vector{key("a"), key("b"), key("c")}, [this](const ComparisonKey& at) {
          compared_.push_back(at.case_name);
          if (at.case_name == kill_at_) raise(signal_);
          auto outcome = measured(at.case_name == "a" ? error_ : 0.25);
          std::get<Measurement>(outcome).lines = further_;
          return outcome;
        });
    experiment->identity = [this] {
      nlohmann::json identity = {{"reference", reference_}};
      if (!unpinned_.empty()) identity[kUnpinned] = {{unpinned_, "ab"}};
      return identity;
    };
    items.push_back({spec_, std::move(experiment)});
    return run(options, items);
  }
  RunResult resume(const fs::path& folder) {
    kill_at_ = "";
    compared_.clear();
    return go({.resume = folder});
  }

  // A child process runs, and dies in the middle of comparison `at`.
  fs::path killed_at(const std::string& at) {
    kill_at_ = at;
    signal_ = SIGKILL;
    const pid_t child = fork();
    if (child == 0) {
      go();
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status));
    return fs::canonical(project_.reports() / "latest");
  }

  Spec spec_;
  std::string code_ = "c0de", reference_ = "4.57.6", kill_at_, unpinned_;
  int signal_ = SIGINT;
  double error_ = 0.5;
  std::vector<std::string> compared_;
  std::vector<FurtherLine> further_;
};

// What it had read stays known although nothing is opened again.
TEST_F(Resumed, WhatWasReadAndNotPinnedStaysUncounted) {
  unpinned_ = "extra.json";
  const fs::path folder = killed_at("c");
  unpinned_ = "";
  const RunResult run = resume(folder);
  EXPECT_EQ(run.experiments[0].trust.label, "unpinned");
  EXPECT_EQ(run.experiments[0].trust.unpinned.at("extra.json"), "ab");
  EXPECT_EQ(run.summary.exit_code, kExitUnregistered);
}

// Each stays with its comparison: of what was not finished nothing is kept.
TEST_F(Resumed, FurtherLinesStayWithTheirComparison) {
  further_ = {{"flip", {{"position", 3}}}};
  const fs::path folder = killed_at("b");
  std::ofstream(folder / "results.jsonl", std::ios::app)
      << R"({"type":"flip","experiment":"EXP-1","case":"b","path":"full","device":"cpu",)"
      << R"("dtype":"float32","position":3})"
      << "\n";
  resume(folder);
  std::string found;
  for (const auto& line : testing::lines_of(folder / "results.jsonl")) {
    const auto type = line["type"].get<std::string>();
    if (line.contains("case")) found += type + " " + line["case"].get<std::string>() + ", ";
  }
  EXPECT_EQ(found, "flip a, comparison a, flip b, comparison b, flip c, comparison c, ");
}

TEST_F(Resumed, GoesOnAtTheFirstUnfinishedComparison) {
  const fs::path folder = killed_at("b");
  const auto kept = lines(folder / "results.jsonl");
  ASSERT_EQ(kept.size(), 3U);  // run, started, a
  const RunResult got = resume(folder);
  EXPECT_THAT(compared_, ElementsAre("b", "c"));
  EXPECT_EQ(got.summary.exit_code, 0);
  EXPECT_EQ(got.experiments[0].compared(), 3);
  EXPECT_FALSE(got.info.resumed.empty());
  const auto all = testing::lines_of(folder / "results.jsonl");
  std::string types;
  for (const auto& line : all) types += line["type"].get<std::string>() + " ";
  EXPECT_EQ(types, "run started comparison started comparison comparison experiment summary ");
  EXPECT_EQ(lines(folder / "results.jsonl")[2], kept[2]) << "as it stood";
  EXPECT_EQ(all[0]["resumed"], got.info.resumed);
  EXPECT_EQ(all[0]["started"], nlohmann::json::parse(kept[0])["started"]);
  EXPECT_THAT(testing::text_of(folder / "summary.md"), HasSubstr("esumed"));
  EXPECT_THAT(testing::text_of(folder / "junit.xml"), HasSubstr("tests=\"4\""));
  EXPECT_EQ(got.experiments[0].trust.attempts.at("cpu").attempt, 1) << "one attempt";
  EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(Resumed, ALastLineCutOffIsLeftOut) {
  const fs::path folder = killed_at("c");
  std::ofstream(folder / "results.jsonl", std::ios::app) << "{\"type\":\"comparison\",\"exp";
  resume(folder);
  EXPECT_THAT(compared_, ElementsAre("c"));
  EXPECT_NO_THROW(testing::lines_of(folder / "results.jsonl"));
}

TEST_F(Resumed, AnInterruptedRunIsResumedToo) {
  kill_at_ = "b";
  const RunResult first = go();
  EXPECT_EQ(first.summary.exit_code, 130);
  const RunResult got = resume(first.info.folder);
  EXPECT_THAT(compared_, ElementsAre("c"));
  EXPECT_EQ(got.summary.exit_code, 0);
  EXPECT_EQ(got.experiments[0].compared(), 3);
}

// A fail that was finished cannot be measured again.
TEST_F(Resumed, WhatFailedStaysFailed) {
  error_ = 1.5;
  const fs::path folder = killed_at("b");
  error_ = 0.5;
  const RunResult got = resume(folder);
  EXPECT_THAT(compared_, ElementsAre("b", "c"));
  EXPECT_EQ(got.summary.exit_code, 1);
}

TEST_F(Resumed, ARunKilledAfterItsLastComparisonIsOnlyJudged) {
  const fs::path folder = killed_at("c");
  std::ofstream(folder / "results.jsonl", std::ios::app)
      << R"({"type":"comparison","experiment":"EXP-1","case":"c","path":"full","device":"cpu",)"
      << R"("dtype":"float32","metrics":{"max_abs_error@1":0.25,"finite@1":true}})"
      << "\n";
  const RunResult got = resume(folder);
  EXPECT_THAT(compared_, IsEmpty());
  EXPECT_EQ(got.summary.exit_code, 0);
  EXPECT_EQ(read_journal(project_.journal()).attempts.size(), 1U);
  EXPECT_EQ(read_journal(project_.journal()).attempts[0].result->verdict, "pass");
}

// The journal has its result already.
TEST_F(Resumed, ARunInterruptedAfterItsLastComparisonIsNotRecordedTwice) {
  kill_at_ = "c";
  const RunResult first = go();
  EXPECT_EQ(first.summary.exit_code, 130);
  EXPECT_EQ(resume(first.info.folder).summary.exit_code, 0);
  EXPECT_THAT(compared_, IsEmpty());
  EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(Resumed, RefusesWhatIsNotTheSame) {
  const fs::path folder = killed_at("b");
  const std::string before = testing::text_of(folder / "results.jsonl");
  const auto refused = [&] { return message_of<std::invalid_argument>([&] { resume(folder); }); };
  code_ = "another";
  EXPECT_THAT(refused(), HasSubstr("the code's sha256 was \"c0de\" and is \"another\""));
  code_ = "c0de";
  const Spec same = spec_;
  spec_.sha256 = "another";
  EXPECT_THAT(refused(), HasSubstr("the spec of EXP-1"));
  spec_ = same;
  EXPECT_EQ(testing::text_of(folder / "results.jsonl"), before) << "nothing is written";
  reference_ = "4.58";
  EXPECT_THAT(refused(), HasSubstr("EXP-1 on cpu: the reference was \"4.57.6\" and is \"4.58\""));
  EXPECT_THAT(compared_, IsEmpty());
  reference_ = "4.57.6";
  EXPECT_EQ(resume(folder).summary.exit_code, 0) << "a refusal costs nothing";
}

TEST_F(Resumed, RefusesARunThatEndedAndWhatIsNoRun) {
  const fs::path folder = go().info.folder;
  EXPECT_THAT(message_of<std::invalid_argument>([&] { resume(folder); }),
              HasSubstr("this run ended"));
  EXPECT_THAT(message_of<formats::FormatError>([&] { resume(project_.root); }),
              HasSubstr("results.jsonl"));
  std::ofstream(project_.root / "results.jsonl") << "{}\n";
  EXPECT_THAT(message_of<formats::FormatError>([&] { resume(project_.root); }),
              HasSubstr("no line of a run"));
}

TEST_F(Resumed, AKilledAttemptThatIsNotResumedStaysVisible) {
  killed_at("b");
  kill_at_ = "";
  const auto attempts = go().experiments[0].trust.attempts.at("cpu");
  EXPECT_EQ(attempts.attempt, 2);
  EXPECT_EQ(attempts.abandoned, 1);
  EXPECT_EQ(attempts.failed, 0);
}

// A disk that is full in the middle: one clear error, and what was finished is whole.
TEST_F(Resumed, AFullDiskLosesNoFinishedResult) {
  rlimit old = {};
  getrlimit(RLIMIT_FSIZE, &old);
  signal(SIGXFSZ, SIG_IGN);
  const fs::path out = project_.root / "out";
  const auto fill = [&](const ComparisonKey&) {
    const auto size = fs::file_size(out / "results.jsonl");
    const rlimit tight = {.rlim_cur = size + 20, .rlim_max = old.rlim_max};
    setrlimit(RLIMIT_FSIZE, &tight);
    return measured(0.5);
  };
  RunOptions options{.out = out};
  std::vector<RunItem> items;
  items.push_back({spec_, std::make_unique<testing::FakeExperiment>(std::vector{key("a")}, fill)});
  const std::string what = message_of<std::runtime_error>([&] { run(options, items); });
  setrlimit(RLIMIT_FSIZE, &old);
  EXPECT_THAT(what, HasSubstr("results.jsonl: cannot be written"));
  EXPECT_EQ(testing::lines_of(out / "results.jsonl").size(), 2U);  // run, started: both whole
}

}  // namespace
}  // namespace octlm::verify
