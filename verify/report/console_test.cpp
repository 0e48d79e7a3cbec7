#include "verify/report/console.h"

#include <gmock/gmock.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

#include "verify/report/display_width.h"
#include "verify/report/terminal.h"
#include "verify/testing/sample_run.h"

namespace octlm::verify {
namespace {

using testing::compared;
using testing::experiment;
using ::testing::HasSubstr;
using testing::key;
using ::testing::Not;
using testing::run_of;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

ComparisonResult no_device(const std::string& name) {
  return {key(name, "cuda"), NotRun{"no GPU: nothing would change that", "cuda"}};
}

// A console that is told of a run as the runner does it.
struct Told {
  std::ostringstream progress, table;
  std::size_t columns = 80;
  double now_s = 0;
  ConsoleReport console;

  explicit Told(bool redraw)
      : console(progress, table,
                {.redraw = redraw,
                 .columns = [this] { return columns; },
                 .now_s = [this] { return now_s; }}) {}

  void tell(const RunResult& run, double bound = 1e-3) {
    console.run_started(run.info);
    for (const ExperimentResult& one : run.experiments) tell_of(one, bound);
    console.run_finished(run);
  }
  void tell_of(const ExperimentResult& one, double bound) {
    for (const ComparisonResult& result : one.comparisons) {
      if (result.measurement()) console.comparison_started(one, result.key);
      now_s += 60;
      judged(one, result, bound);
    }
    console.experiment_finished(one);
  }
  void judged(const ExperimentResult& one, const ComparisonResult& result, double bound) {
    const Spec spec = testing::spec_of(
        one.id, {testing::at_most("max_abs_error@1", bound), testing::equals("finite@1", true)});
    console.comparison_judged(one, result, judge(spec, std::span(&result, 1)));
  }
};

// A log that repeats one fact for every comparison buries the rest.
TEST(Console, ALogHasOneLineForEachExperimentAndDevice) {
  Told told(false);
  told.tell(run_of({experiment("EXP-1", {compared(key("a"), 1.2345e-4), compared(key("b"), 1e-5),
                                         no_device("a"), no_device("b")})}));
  EXPECT_EQ(told.progress.str(),
            "EXP-1 cpu: pass, 2 of 2 compared, max_abs_error@1 0.000123 <= 0.001, 12 % of it used\n"
            "EXP-1 cuda: not run: no GPU: nothing would change that\n");
}

TEST(Console, AFailureIsSaidAtOnceWithAllThatIsKnown) {
  for (const bool redraw : {false, true}) {
    Told told(redraw);
    const ExperimentResult one = experiment("EXP-1", {compared(key("story"), 2e-3)});
    told.console.run_started(run_of({one}).info);
    told.judged(one, one.comparisons[0], 1e-3);
    EXPECT_THAT(
        told.progress.str(),
        HasSubstr("EXP-1 fails: max_abs_error@1 0.002 not <= 0.001 in story, full, cpu, float32\n"))
        << redraw;
  }
}

// A metric that no criterion is about fails when it is not finite.
TEST(Console, WhatIsNotFiniteIsSaidAtOnce) {
  Told told(false);
  ExperimentResult one = experiment("EXP-1", {compared(key("story"), 1e-4)});
  std::get<Measurement>(one.comparisons[0].outcome).metrics["rel_l2@1"] = std::nan("");
  told.judged(one, one.comparisons[0], 1e-3);
  EXPECT_THAT(told.progress.str(), HasSubstr("EXP-1 fails: rel_l2@1 nan: must be finite in story"));
}

TEST(Console, WhatBreaksForEveryComparisonIsSaidOnce) {
  Told told(false);
  ExperimentResult one =
      experiment("EXP-1", {{key("a"), Broken{"no header"}}, {key("b"), Broken{"no header"}}});
  for (const auto& result : one.comparisons) told.judged(one, result, 1e-3);
  EXPECT_EQ(lines_of(told.progress.str()).size(), 1U);
  EXPECT_THAT(told.progress.str(), HasSubstr("EXP-1 breaks in a, full, cpu, float32: no header"));
}

TEST(Console, WhatAnInterruptedRunFoundIsNotSaidAgain) {
  Told told(false);
  ExperimentResult one = experiment("EXP-1", {compared(key("story"), 2e-3)});
  one.comparisons[0].kept = true;
  told.judged(one, one.comparisons[0], 1e-3);
  EXPECT_EQ(told.progress.str(), "");
}

TEST(Console, TheLiveLineHasExperimentNumberWorstAndTimeLeft) {
  Told told(true);
  const ExperimentResult one =
      experiment("EXP-1", {compared(key("a"), 1.2e-4), compared(key("b"), 1e-5)});
  told.console.run_started(run_of({one}).info);
  told.now_s = 600;
  told.judged(one, one.comparisons[0], 1e-3);
  told.console.comparison_started(one, one.comparisons[1].key);
  EXPECT_EQ(told.progress.str(),
            "EXP-1 cpu  2 of 2  worst: 12 % of its bound  about 10 min left  b, full, cpu, f");
  told.console.experiment_finished(one);
  EXPECT_THAT(told.progress.str(), HasSubstr("\r\x1b[JEXP-1 cpu: pass, 2 of 2 compared"));
}

// A line that wraps is never erased whole.
TEST(Console, TheLiveLineFitsWhateverIsInIt) {
  for (const std::size_t columns : {1U, 2U, 9U, 40U, 200U}) {
    Told told(true);
    told.columns = columns;
    const ExperimentResult one = experiment("EXP-1", {compared(key("a"), 1e-4)});
    told.console.comparison_started(one, key("日本語の長い名前" + std::string(300, 'x')));
    EXPECT_LT(display_width(told.progress.str()), std::max<std::size_t>(columns, 2)) << columns;
    EXPECT_EQ(told.progress.str().find('\n'), std::string::npos);
  }
}

TEST(Console, ALineThatANarrowerWindowBrokeIsErasedWhole) {
  Told told(true);
  const ExperimentResult one = experiment("EXP-1", {compared(key("a"), 1e-4)});
  told.console.comparison_started(one, key(std::string(300, 'x')));  // 79 columns
  told.columns = 30;
  told.progress.str("");
  told.console.comparison_started(one, key("b"));
  EXPECT_THAT(told.progress.str(), ::testing::StartsWith("\x1b[2A\r\x1b[J"));
}

TEST(Console, ALogHasNoEscapeSequence) {
  Told told(false);
  told.tell(run_of({experiment("EXP-1", {compared(key("a"), 2e-3), no_device("a")})}));
  for (const std::string& text : {told.progress.str(), told.table.str()}) {
    EXPECT_EQ(text.find_first_of("\r\x1b"), std::string::npos);
  }
}

TEST(Console, AnInterruptedRunSaysHowToGoOn) {
  Told told(false);
  RunResult run = run_of({});
  run.info.folder = "reports/it's mine";
  run.interrupted_by = 2;
  told.console.run_finished(run);
  EXPECT_EQ(told.progress.str(),
            "interrupted; to go on: ./octlm run --resume 'reports/it'\\''s mine'\n");
}

TEST(Console, TheTableHasARowForEachDevice) {
  const std::vector<std::string> lines = lines_of(console_table(run_of(
      {experiment("EXP-1", {compared(key("a"), 1.2345e-4), no_device("a"), no_device("b")})})));
  EXPECT_EQ(
      lines[0],
      "id     checkpoint  engine  device  verdict  made  worst against its bound            used");
  EXPECT_EQ(lines[1],
            "EXP-1  tiny        octlm   cpu     pass     1/1   max_abs_error@1 0.000123 <= 0.001  "
            "12 %");
  EXPECT_EQ(
      lines[2],
      "EXP-1  tiny        -       cuda    not run  0/2   -                                  -");
  EXPECT_THAT(
      lines, ::testing::Contains("  EXP-1 cuda: 2 comparisons: no GPU: nothing would change that"));
}

// A script, and a person, take the page from the last line.
TEST(Console, TheLastLineIsThePage) {
  RunResult run = run_of({experiment("EXP-1", {compared(key("a"), 2e-3)})});
  EXPECT_EQ(lines_of(console_table(run)).back(), "reports/x/report.html");
  run.interrupted_by = 2;
  EXPECT_EQ(lines_of(console_table(run)).back(), "reports/x/report.html");
}

TEST(Console, TheTableFits) {
  ExperimentResult one = experiment("EXP-1001", {compared(key("a"), 1e-4), no_device("a")});
  one.model = "some-organisation/日本語-a-very-long-checkpoint-name-135m-instruct";
  auto& record = std::get<Measurement>(one.comparisons[0].outcome).record;
  record["subject"]["engine"] = "an-engine-with-a-very-long-name-indeed";
  for (CriterionResult& criterion : one.judgement.criteria)
    criterion.metric = "metric_of_an_unusual_length_all_in_all@1";
  const auto lines = lines_of(console_table(run_of({one})));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_LE(display_width(lines[i]), kTableColumns) << lines[i];
  EXPECT_THAT(lines[1], HasSubstr("EXP-1001"));
  EXPECT_THAT(lines[1], HasSubstr("pass"));
}

TEST(Console, AFailureDoesNotReadAsHeld) {
  const auto table = [](double error) {
    return console_table(run_of({experiment("EXP-1", {compared(key("story"), error)})}));
  };
  EXPECT_THAT(table(2e-3), HasSubstr("fail     1/1   max_abs_error@1 0.002 not <= 0.001"));
  EXPECT_THAT(table(1.0001e-3), HasSubstr("max_abs_error@1 0.0010001 not <= 0.001"));
  EXPECT_THAT(table(2e-3), HasSubstr("Failed:\n  EXP-1: max_abs_error@1 is 2.000e-03"));
}

// A run that ended at its first failure says of the rest that it was not begun.
TEST(Console, WhatWasNotStartedIsNotChecked) {
  RunResult run = run_of({experiment("EXP-1", {compared(key("a"), 2e-3)})});
  run.not_started = {"EXP-2"};
  EXPECT_THAT(console_table(run),
              HasSubstr("EXP-2 everything: not started: the run was to end at its first failure"));
  run.interrupted_by = 2;
  EXPECT_THAT(console_table(run), HasSubstr("EXP-2 everything: the run was interrupted before it"));
}

// no-color.org: plain text where it is asked for, and where nothing else can be shown.
TEST(Terminal, IsRedrawnOnlyWhereThatIsWanted) {
  int master = -1, terminal = -1;
  ASSERT_EQ(openpty(&master, &terminal, nullptr, nullptr, nullptr), 0);
  const auto set = [](const char* name, const char* value) {
    value == nullptr ? unsetenv(name) : setenv(name, value, 1);
  };
  set("TERM", "xterm");
  set("NO_COLOR", nullptr);
  EXPECT_TRUE(can_redraw(terminal));
  set("NO_COLOR", "1");
  EXPECT_FALSE(can_redraw(terminal));
  set("NO_COLOR", "");  // set and empty: as if it were not
  EXPECT_TRUE(can_redraw(terminal));
  for (const char* kind : {"dumb", ""}) {
    set("TERM", kind);
    EXPECT_FALSE(can_redraw(terminal)) << kind;
  }
  set("TERM", "xterm");
  int pipe_ends[2] = {};
  ASSERT_EQ(pipe(pipe_ends), 0);
  EXPECT_FALSE(can_redraw(pipe_ends[1]));
  struct winsize size = {.ws_row = 20, .ws_col = 33, .ws_xpixel = 0, .ws_ypixel = 0};
  ASSERT_EQ(ioctl(master, TIOCSWINSZ, &size), 0);
  EXPECT_EQ(terminal_columns(terminal), 33U);
  EXPECT_EQ(terminal_columns(pipe_ends[1]), 80U);
  for (const int end : {master, terminal, pipe_ends[0], pipe_ends[1]}) close(end);
}

}  // namespace
}  // namespace octlm::verify
