#include "verify/runner.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>

#include <thread>

#include "verify/provenance.h"
#include "verify/testing/fake_experiment.h"
#include "verify/testing/language_program.h"

namespace octlm::verify {
namespace {

using testing::at_most;
using testing::FakeExperiment;
using ::testing::HasSubstr;
using testing::key;
using testing::message_of;
using testing::spec_of;
using testing::TemporaryFolder;

namespace fs = std::filesystem;

Outcome good(const ComparisonKey&) { return Measurement{{{"m@1", 0.5}}}; }
Outcome bad(const ComparisonKey&) { return Measurement{{{"m@1", 1.5}}}; }
Outcome no_weights(const ComparisonKey&) { return NotRun{"no weights: octlm fetch x", "weights"}; }
Outcome breaks(const ComparisonKey&) { throw std::runtime_error("the engine broke"); }

RunItem item(const std::string& id, FakeExperiment::Answer answer,
             std::vector<ComparisonKey> plan = {key("story")},
             FakeExperiment::Preparation preparation = {}) {
  return {
      spec_of(id, {at_most("m@1", 1)}),
      std::make_unique<FakeExperiment>(std::move(plan), std::move(answer), std::move(preparation))};
}

FakeExperiment& fake(RunItem& item) { return dynamic_cast<FakeExperiment&>(*item.experiment); }

template <class... Items>
std::vector<RunItem> items(Items... all) {
  std::vector<RunItem> list;
  (list.push_back(std::move(all)), ...);
  return list;
}

struct Ran {
  RunResult result;
  std::vector<nlohmann::json> lines;
};

Ran ran(std::vector<RunItem> list, RunOptions options = {}) {
  const TemporaryFolder folder;
  options.reports = folder.path();
  options.info.program = testing::language_program();
  Ran ran = {run(options, list), {}};
  ran.lines = testing::lines_of(ran.result.info.folder / "results.jsonl");
  return ran;
}

int exit_code(std::vector<RunItem> list, RunOptions options = {}) {
  return ran(std::move(list), std::move(options)).result.summary.exit_code;
}

TEST(ExitCode, InTheirOrder) {
  EXPECT_EQ(exit_code(items(item("EXP-1", good))), 0);
  EXPECT_EQ(exit_code(items(item("EXP-1", good), item("EXP-2", no_weights))), 0);
  EXPECT_EQ(exit_code(items(item("EXP-1", good), item("EXP-2", breaks))), 4);
  EXPECT_EQ(exit_code(items(item("EXP-1", good), item("EXP-2", bad))), 1);
  EXPECT_EQ(exit_code(items(item("EXP-1", breaks), item("EXP-2", bad), item("EXP-3", no_weights))),
            1);
}

TEST(ExitCode, NothingThatComparedNothingIsGreen) {
  EXPECT_EQ(exit_code(items(item("EXP-1", no_weights))), 4);
  EXPECT_EQ(exit_code(items(item("EXP-1", [](auto&) { return NotRun{"nothing to do"}; }))), 4);
  EXPECT_EQ(exit_code(items(item("EXP-1", [](auto&) { return Measurement{}; }))), 1);  // no metric
}

TEST(ExitCode, ARequiredThingThatIsAbsentIsRed) {
  const auto with = [](const std::string& word, FakeExperiment::Answer second) {
    return exit_code(items(item("EXP-1", good), item("EXP-2", std::move(second))),
                     {.require = {word}});
  };
  EXPECT_EQ(with("weights", good), 0);
  EXPECT_EQ(with("weights", no_weights), 4);
  EXPECT_EQ(with("reference", no_weights), 0);
  EXPECT_EQ(with("cpu", good), 0);
  EXPECT_EQ(with("cuda", good), 4);  // no spec has it: it was not checked
  const auto cuda = [] { return item("EXP-3", good, {key("a", "cuda")}); };
  EXPECT_EQ(exit_code(items(cuda()), {.require = {"cuda"}}), 0);
  EXPECT_EQ(exit_code(items(cuda(), item("EXP-4", bad)), {.require = {"weights"}}), 1);
}

std::string refusal(std::vector<RunItem> list, RunOptions options = {}) {
  const TemporaryFolder folder;
  options.reports = folder.path() / "reports";
  options.info.program = testing::language_program();
  const std::string what = message_of<Refused>([&] { run(options, list); });
  EXPECT_FALSE(fs::exists(options.reports)) << "nothing is written";
  return what;
}

TEST(Run, RefusesWhatCannotBeJudged) {
  EXPECT_THAT(refusal({}), HasSubstr("no experiment is selected"));
  EXPECT_THAT(refusal(items(item("EXP-1", good), item("EXP-1", good))),
              HasSubstr("selected twice"));
  EXPECT_THAT(refusal(items(item("EXP-1", good, {}))), HasSubstr("EXP-1: it plans no comparison"));
  EXPECT_THAT(refusal(items(item("EXP-1", good, {key("a"), key("a")}))), HasSubstr("twice"));
  EXPECT_THAT(refusal(items(item("EXP-1", good)), {.devices = {"cuda"}}),
              HasSubstr("no selected experiment has a comparison on cuda"));
  EXPECT_THAT(refusal(items(item("EXP-1", good)), {.require = {"wieghts"}}),
              HasSubstr("did you mean \"weights\"?"));
}

TEST(Run, ADeviceThatWasNotAskedForIsNotRun) {
  const Ran got =
      ran(items(item("EXP-1", good, {key("a", "cpu")}), item("EXP-2", good, {key("a", "cuda")})),
          {.devices = {"cpu"}});
  EXPECT_EQ(got.result.experiments[0].judgement.verdict, Verdict::kPass);
  EXPECT_EQ(got.result.experiments[1].judgement.verdict, Verdict::kNotRun);
  EXPECT_EQ(got.result.summary.not_run, 1);
}

TEST(Run, AnErrorInOneComparisonAndTheRunGoesOn) {
  const Ran got = ran(items(
      item("EXP-1", [](const ComparisonKey& k) { return k.case_name == "b" ? breaks(k) : good(k); },
           {key("a"), key("b"), key("c")})));
  const ExperimentResult& experiment = got.result.experiments[0];
  EXPECT_EQ(experiment.judgement.verdict, Verdict::kError);
  EXPECT_EQ(experiment.compared(), 2);
  EXPECT_EQ(experiment.judgement.reason, "b, full, cpu, float32: the engine broke");
  EXPECT_EQ(got.lines[3]["type"], "not_compared");
  EXPECT_EQ(got.lines[3]["verdict"], "error");
  EXPECT_EQ(got.lines[3]["reason"], "the engine broke");
}

TEST(Run, WhateverIsThrownIsAnError) {
  EXPECT_EQ(exit_code(items(item("EXP-1", [](auto&) -> Outcome { throw 1; }))), 4);
  EXPECT_EQ(exit_code(items(item("EXP-1", [](auto&) -> Outcome { throw std::bad_alloc(); }))), 4);
  EXPECT_EQ(
      exit_code(items(item("EXP-1", good, {key("a")},
                           [](auto&) -> std::optional<NotRun> { throw std::runtime_error("x"); }))),
      4);
}

TEST(Run, AFailedReleaseIsAnError) {
  RunItem leaky = item("EXP-1", good, {key("a"), key("b")});
  fake(leaky).closing = [] { throw std::runtime_error("cannot free"); };
  const Ran got = ran(items(std::move(leaky)));
  EXPECT_EQ(got.result.experiments[0].compared(), 1);
  EXPECT_EQ(got.result.experiments[0].judgement.verdict, Verdict::kError);
  EXPECT_EQ(got.result.experiments[0].judgement.reason,
            "b, full, cpu, float32: release: cannot free");
}

TEST(Run, ADeviceThatCannotBePreparedIsNotRunWithTheReason) {
  const Ran got =
      ran(items(item("EXP-1", good, {key("a", "cpu"), key("a", "cuda"), key("b", "cuda")},
                     [](const std::string& device) -> std::optional<NotRun> {
                       if (device == "cpu") return std::nullopt;
                       return NotRun{"no GPU here", "cuda"};
                     })));
  const Judgement& judgement = got.result.experiments[0].judgement;
  EXPECT_EQ(judgement.verdict, Verdict::kPass);
  EXPECT_EQ(judgement.devices[1].verdict, Verdict::kNotRun);
  EXPECT_EQ(judgement.reason, "cuda: no GPU here");
  EXPECT_EQ(got.lines.size(), 7U);
}

TEST(Run, ClosesAndFreesAfterEachDevice) {
  auto list = items(item("EXP-1", breaks, {key("a", "cpu"), key("a", "cuda")}));
  const TemporaryFolder folder;
  run({.reports = folder.path()}, list);
  EXPECT_EQ(fake(list[0]).closed, 2);
  EXPECT_EQ(fake(list[0]).destroyed, 2);
}

TEST(Run, WhatCannotSayWhatItIsIsFreedAndAnError) {
  auto list = items(item("EXP-1", good));
  fake(list[0]).identity = []() -> nlohmann::json { throw std::runtime_error("who am I"); };
  const TemporaryFolder folder;
  const RunResult result = run({.reports = folder.path()}, list);
  EXPECT_EQ(result.experiments[0].judgement.verdict, Verdict::kError);
  EXPECT_THAT(result.experiments[0].judgement.reason, HasSubstr("who am I"));
  EXPECT_EQ(fake(list[0]).destroyed, 1);
}

// Entries are told apart by their place in the whole plan, whatever part of it runs.
TEST(Run, MeasuresTheEntryOfThePlanThatItNames) {
  std::vector<std::string> measured;
  const auto note = [&](const ComparisonKey& k) {
    measured.push_back(k.case_name + " " + k.device);
    return good(k);
  };
  ran(items(item("EXP-1", note,
                 {key("a", "cpu"), key("a", "cuda"), key("b", "cpu"), key("b", "cuda")})),
      {.devices = {"cuda"}});
  EXPECT_THAT(measured, ::testing::ElementsAre("a cuda", "b cuda"));
}

TEST(Run, GivesEveryExperimentItsHost) {
  struct Shop final : Host {
    double stock = 0.25;
  };
  struct Customer final : Experiment {
    std::vector<ComparisonKey> comparisons() const override { return {key("a")}; }
    Opened open(const std::string&, const Host& host) const override {
      struct Bought final : Session {
        double value = 0;
        Outcome compare(std::size_t) override { return Measurement{{{"m@1", value}}}; }
      };
      auto bought = std::make_unique<Bought>();
      bought->value = dynamic_cast<const Shop&>(host).stock;
      return bought;
    }
  };
  const auto customer = [] {
    return RunItem{spec_of("EXP-1", {at_most("m@1", 1)}), std::make_unique<Customer>()};
  };
  const Shop shop;
  EXPECT_EQ(exit_code(items(customer()), {.host = &shop}), 0);
  EXPECT_EQ(exit_code(items(customer())), 4) << "a host that has nothing";
}

// Further lines.

Outcome with_lines(const ComparisonKey&) {
  return Measurement{
      {{"m@1", 0.5}},
      {},
      {{"flip", {{"position", 7}, {"case", "another"}}}, {"flip", {{"position", 9}}}}};
}

TEST(Run, WritesAComparisonsFurtherLinesBesideIt) {
  const Ran got = ran(items(item("EXP-1", with_lines)));
  ASSERT_EQ(got.lines.size(), 7U);
  EXPECT_EQ(got.lines[2], nlohmann::json({{"type", "flip"},
                                          {"experiment", "EXP-1"},
                                          {"case", "story"},
                                          {"path", "full"},
                                          {"device", "cpu"},
                                          {"dtype", "float32"},
                                          {"position", 7}}));
  EXPECT_EQ(got.lines[3]["position"], 9);
  EXPECT_EQ(got.lines[4]["type"], "comparison");
}

TEST(Run, AFurtherLineIsNotOneOfTheFrameworks) {
  for (const char* type : {"comparison", "summary", "run"}) {
    const Ran got = ran(items(item("EXP-1", [type](auto&) {
      return Measurement{{{"m@1", 0.5}}, {}, {{type, {}}}};
    })));
    EXPECT_EQ(got.result.experiments[0].judgement.verdict, Verdict::kError) << type;
    EXPECT_THAT(got.result.experiments[0].judgement.reason, HasSubstr("the framework's own"));
  }
}

// Kinds.

TEST(Role, HasAName) {
  for (const Role role : kRoles) EXPECT_EQ(role_named(role_name(role)), role);
  EXPECT_EQ(role_named("floor"), std::nullopt);
}

TEST(ReadItem, IsTheSpecAsItsKindReadsIt) {
  const std::vector<Kind> kinds = {
      {.name = "other", .summary = ""},
      {.name = "fake", .summary = "", .role = Role::kNoiseFloor, .read = [](const Spec&) {
         return std::make_unique<FakeExperiment>(std::vector{key("a")}, good);
       }}};
  std::vector<RunItem> list;
  list.push_back(read_item(spec_of("EXP-1", {at_most("m@1", 1)}), kinds));
  const Ran got = ran(std::move(list));
  EXPECT_EQ(got.result.experiments[0].role, Role::kNoiseFloor);
  EXPECT_EQ(got.result.summary.exit_code, 0);
  Spec unknown = spec_of("EXP-1", {});
  unknown.kind = "fak";
  EXPECT_THAT(message_of<formats::FormatError>([&] { read_item(unknown, kinds); }),
              HasSubstr("did you mean \"fake\"?"));
}

TEST(Run, ANeedThatNoRequireCouldNameIsAnError) {
  const Ran got = ran(items(item("EXP-1", [](auto&) { return NotRun{"x", "wieghts"}; })));
  EXPECT_EQ(got.result.experiments[0].judgement.verdict, Verdict::kError);
  EXPECT_THAT(got.result.experiments[0].judgement.reason, HasSubstr("\"wieghts\""));
}

TEST(Run, MakesItsFolderAndPointsLatestAtIt) {
  const TemporaryFolder folder;
  std::vector<fs::path> made;
  for (int i = 0; i < 3; ++i) {
    auto list = items(item("EXP-1", good));
    made.push_back(run({.reports = folder.path() / "reports"}, list).info.folder);
    EXPECT_EQ(fs::canonical(folder.path() / "reports" / "latest"), fs::canonical(made.back()));
    EXPECT_THAT(made.back().filename().string(),
                ::testing::MatchesRegex("[0-9]{8}T[0-9]{6}Z-[0-9]+"));
    EXPECT_TRUE(fs::exists(made.back() / "results.jsonl"));
    for (const char* name : {"summary.md", "junit.xml", "report.html"}) {
      EXPECT_TRUE(fs::exists(made.back() / name)) << name;
    }
  }
  EXPECT_NE(made[0], made[1]);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path() / "reports"), {}), 4);
}

TEST(Run, TwoAtOnceDoNotShareAFolder) {
  const TemporaryFolder folder;
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      auto list = items(item("EXP-1", good));
      run({.reports = folder.path()}, list);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 3);  // two, and latest
}

TEST(Run, AGivenFolderIsUsedAsItIs) {
  const TemporaryFolder folder;
  const RunOptions options = {.reports = folder.path() / "reports", .out = folder.path() / "mine"};
  auto list = items(item("EXP-1", good));
  run(options, list);
  EXPECT_TRUE(fs::exists(folder.path() / "mine" / "results.jsonl"));
  EXPECT_FALSE(fs::exists(folder.path() / "reports"));
  EXPECT_THAT(message_of<Refused>([&] { run(options, list); }),
              HasSubstr("results of another run"));
}

TEST(Run, AFolderThatCannotBeWrittenIsOneClearError) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "file") << "x";
  auto list = items(item("EXP-1", good));
  EXPECT_THAT(
      message_of<std::runtime_error>([&] { run({.reports = folder.path() / "file"}, list); }),
      HasSubstr((folder.path() / "file").string()));
  EXPECT_THAT(message_of<std::runtime_error>([&] { run({.reports = "/proc/nowhere"}, list); }),
              HasSubstr("/proc/nowhere: cannot be created"));
}

class Interrupted : public ::testing::TestWithParam<int> {};

TEST_P(Interrupted, StopsAfterTheComparisonAtHandAndIsNeverGreen) {
  const Ran got = ran(items(item("EXP-1",
                                 [](const ComparisonKey& k) {
                                   if (k.case_name == "b") raise(GetParam());
                                   return good(k);
                                 },
                                 {key("a"), key("b"), key("c")}),
                            item("EXP-2", good)));
  EXPECT_EQ(got.result.summary.exit_code, 128 + GetParam());
  EXPECT_EQ(got.result.experiments.size(), 1U);
  EXPECT_EQ(got.result.experiments[0].compared(), 2);
  EXPECT_EQ(got.result.experiments[0].judgement.verdict, Verdict::kNotRun);
  EXPECT_EQ(got.result.not_started, std::vector<std::string>{"EXP-2"});
  EXPECT_EQ(got.result.summary.not_run, 2);
  EXPECT_EQ(got.lines.back()["exit_code"], 128 + GetParam());
  EXPECT_EQ(got.lines.back()["interrupted"], true);
}

INSTANTIATE_TEST_SUITE_P(Signals, Interrupted, ::testing::Values(SIGINT, SIGTERM));

TEST(Run, ASignalOnTheLastComparisonIsNotGreenEither) {
  EXPECT_EQ(exit_code(items(item("EXP-1",
                                 [](const ComparisonKey& k) {
                                   raise(SIGINT);
                                   return good(k);
                                 }))),
            130);
}

TEST(Provenance, OfThisBuild) {
  EXPECT_THAT(code_sha256(), ::testing::MatchesRegex("[0-9a-f]{64}"));
  EXPECT_THAT(version(), ::testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
  const nlohmann::json machine = machine_json();
  EXPECT_FALSE(machine["cpu"]["model"].get<std::string>().empty());
  EXPECT_GT(machine["threads"].get<int>(), 0);
  EXPECT_GT(machine["memory_bytes"].get<std::int64_t>(), 0);
}

TEST(Provenance, NoRepositoryIsUnknown) {
  const TemporaryFolder folder;
  EXPECT_EQ(checkout_state(folder.path()).commit, "unknown");
  EXPECT_EQ(checkout_state(folder.path()).dirty, std::nullopt);
  EXPECT_EQ(checkout_state("/nonexistent'; touch x").commit, "unknown");
}

TEST(Provenance, CommandLineCanBeTypedAgain) {
  const char* arguments[] = {"./octlm", "run", "tag:parity", "--model", "a b'c", ""};
  EXPECT_EQ(command_line(6, arguments), "./octlm run tag:parity --model 'a b'\\''c' ''");
}

}  // namespace
}  // namespace octlm::verify
