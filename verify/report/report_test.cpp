#include <gmock/gmock.h>

#include <set>
#include <sstream>

#include "formats/output_file.h"
#include "verify/criteria.h"
#include "verify/lines.h"
#include "verify/metrics/metric_value.h"
#include "verify/report/console.h"
#include "verify/report/display_width.h"
#include "verify/report/escape.h"
#include "verify/report/jsonl.h"
#include "verify/report/markdown.h"
#include "verify/report/text.h"
#include "verify/testing/fake_experiment.h"
#include "verify/testing/language_program.h"
#include "verify/testing/sample_run.h"

namespace octlm::verify {
namespace {

using testing::at_most;
using testing::equals;
using ::testing::HasSubstr;
using testing::key;
using testing::message_of;
using ::testing::Not;
using testing::spec_of;
using ::testing::StartsWith;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr const char* kHostile =
    "BaNaNa-Infinity <script>alert(1)</script> | `x` **b** [l](http://e.example) "
    "\x1b[31mred\x1b]0;t\a \r\n \xE2\x80\xAE \xff";

RunResult run_with(ExperimentResult experiment, const Spec& spec) {
  experiment.id = spec.id;
  experiment.kind = spec.kind;
  if (experiment.title.empty()) experiment.title = spec.title;
  experiment.planned = static_cast<std::int64_t>(experiment.comparisons.size());
  experiment.judgement = judge(spec, experiment.comparisons);
  RunResult run;
  run.info.program = testing::language_program();
  run.info.folder = "reports/x";
  run.info.command = "octlm run";
  run.experiments.push_back(std::move(experiment));
  run.summary = summarize(run, {});
  return run;
}

RunResult mixed_run() {
  ExperimentResult experiment;
  experiment.comparisons = {
      {key("story"),
       Measurement{{{"max_abs_error@1", 1e-4}, {"top1_agreement@1", Agreement{11, 12}}},
                   {{"seconds", {{"subject", 1.5}, {"reference", 2.5}}}}}},
      {key("story", "cpu", "cached:half"),
       Measurement{{{"max_abs_error@1", 2e-4}, {"top1_agreement@1", Agreement{12, 12}}},
                   {{"seconds", {{"subject", 0.5}, {"reference", 0.5}}}}}},
      {key("story", "cuda"), NotRun{"no GPU: nothing would change that", "cuda"}},
      {key("story", "cuda", "cached:half"), NotRun{"no GPU: nothing would change that", "cuda"}}};
  return run_with(std::move(experiment), spec_of("EXP-1", {at_most("max_abs_error@1", 1e-3)}));
}

TEST(Jsonl, TypeComesFirstAndOneLineEach) {
  const std::string line = json_line("comparison", {{"a", 1}, {"zz", "x\ny"}});
  EXPECT_EQ(line, "{\"type\":\"comparison\",\"a\":1,\"zz\":\"x\\ny\"}\n");
}

// I15 (google/benchmark#784): NaN makes no invalid JSON, and no name is harmed.
TEST(Jsonl, NonFiniteNumbersAreStringsAndNamesStay) {
  ExperimentResult experiment;
  experiment.id = "EXP-1";
  const ComparisonResult result = {
      key("BaNaNa-Infinity"),
      Measurement{
          {{"max_abs_error@1", kNaN}, {"rel_l2@1", INFINITY}, {"finite@1", false}},
          {{"subject", {{"engine", "BaNaNa-Infinity"}}},
           {"worst", {{"subject", kNaN}, {"reference", -INFINITY}, {"top", {1.0, kNaN}}}}}}};
  const auto line =
      nlohmann::json::parse(json_line("comparison", comparison_line(experiment, result)));
  EXPECT_EQ(line["case"], "BaNaNa-Infinity");
  EXPECT_EQ(line["subject"]["engine"], "BaNaNa-Infinity");
  EXPECT_EQ(line["metrics"]["max_abs_error@1"], "nan");
  EXPECT_EQ(line["metrics"]["rel_l2@1"], "inf");
  EXPECT_EQ(line["metrics"]["finite@1"], false);
  EXPECT_EQ(line["worst"]["subject"], "nan");
  EXPECT_EQ(line["worst"]["reference"], "-inf");
  EXPECT_EQ(line["worst"]["top"][1], "nan");
}

TEST(Jsonl, BytesThatAreNotUtf8AreReplaced) {
  const auto line = nlohmann::json::parse(json_line("x", {{"text", "a\xff"}, {"k\xff", 1}}));
  EXPECT_EQ(line["text"], "a\xEF\xBF\xBD");
}

TEST(Jsonl, AKindCannotOverwriteTheKey) {
  ExperimentResult experiment;
  experiment.id = "EXP-1";
  const auto line = comparison_line(
      experiment,
      {key("story"),
       Measurement{{{"m@1", 1.0}}, {{"experiment", "EXP-2"}, {"metrics", {{"m@1", 0}}}}}});
  EXPECT_EQ(line["experiment"], "EXP-1");
  EXPECT_EQ(line["metrics"]["m@1"], 1.0);
}

TEST(Jsonl, TheNamesOfTheFormat) {
  const testing::TemporaryFolder folder;
  const RunResult run = mixed_run();
  {
    JsonlReport report(folder.path() / "results.jsonl");
    report.run_started(run.info);
    for (const auto& one : run.experiments[0].comparisons) {
      report.comparison_finished(run.experiments[0], one);
      // Readable after every step, as a killed run leaves it.
      EXPECT_NO_THROW(testing::lines_of(folder.path() / "results.jsonl"));
    }
    report.experiment_finished(run.experiments[0]);
    report.run_finished(run);
  }
  const auto lines = testing::lines_of(folder.path() / "results.jsonl");
  ASSERT_EQ(lines.size(), 7U);
  const char* types[] = {"run",          "comparison", "comparison", "not_compared",
                         "not_compared", "experiment", "summary"};
  for (std::size_t i = 0; i < lines.size(); ++i) EXPECT_EQ(lines[i]["type"], types[i]);
  const auto has = [&](std::size_t line, std::initializer_list<const char*> names) {
    for (const char* name : names) EXPECT_TRUE(lines[line].contains(name)) << name;
  };
  has(0, {"schema", "version", "commit", "dirty", "code_sha256", "command", "started",
          "ledger_head", "environment"});
  has(1, {"experiment", "case", "path", "device", "dtype", "metrics", "seconds"});
  has(3, {"experiment", "case", "path", "device", "dtype", "verdict", "reason", "needs"});
  has(5, {"id", "kind", "verdict", "devices", "reason", "label", "comparisons", "criteria",
          "spec_sha256", "attempt", "seconds"});
  has(6, {"pass", "fail", "not_run", "error", "exit_code"});
  EXPECT_EQ(lines[1]["metrics"]["top1_agreement@1"], (nlohmann::json{{"agree", 11}, {"of", 12}}));
  EXPECT_EQ(lines[5]["verdict"], "pass");
  EXPECT_EQ(lines[5]["devices"], (nlohmann::json{{"cpu", "pass"}, {"cuda", "not_run"}}));
  EXPECT_EQ(lines[5]["label"], "unregistered");
  EXPECT_EQ(lines[5]["comparisons"], 2);
  const auto& criterion = lines[5]["criteria"][0];
  EXPECT_EQ(criterion["metric"], "max_abs_error@1");
  EXPECT_EQ(criterion["device"], "cpu");
  EXPECT_EQ(criterion["at_most"], 1e-3);
  EXPECT_EQ(criterion["value"], 2e-4);
  EXPECT_EQ(criterion["holds"], true);
  EXPECT_DOUBLE_EQ(criterion["used"].get<double>(), 0.2);
  EXPECT_EQ(lines[5]["criteria"][1]["holds"], nullptr);  // cuda: nothing to judge
  EXPECT_THAT(testing::text_of(folder.path() / "results.jsonl"), StartsWith("{\"type\":\"run\","));
}

TEST(Jsonl, AFullDiskIsAnError) {
  EXPECT_THAT(message_of<std::runtime_error>([] { formats::AppendFile("/dev/full").append("x"); }),
              HasSubstr("/dev/full: cannot be written: No space left on device"));
  EXPECT_THAT(message_of<std::runtime_error>([] { JsonlReport("/nonexistent/results.jsonl"); }),
              HasSubstr("cannot be written: No such file"));
  const RunResult run = mixed_run();
  EXPECT_THROW(JsonlReport("/dev/full").run_finished(run), std::runtime_error);
}

TEST(Jsonl, AFileIsReplacedWholeOrNotAtAll) {
  const testing::TemporaryFolder folder;
  const auto file = folder.path() / "summary.md";
  formats::replace_file(file, "one, which is longer");
  formats::replace_file(file, "two");
  EXPECT_EQ(testing::text_of(file), "two");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
  EXPECT_THROW(formats::replace_file("/nonexistent/summary.md", "x"), std::runtime_error);
  std::filesystem::create_directory(folder.path() / "report.html");
  std::ofstream(folder.path() / "report.html" / "x") << "x";
  EXPECT_THROW(formats::replace_file(folder.path() / "report.html", "x"), std::runtime_error);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 2);
}

TEST(Escape, Terminal) {
  EXPECT_EQ(for_terminal("a\x1b[31m\a\r\n\t\x7f"), "a\\x1b[31m\\x07\\r\\n\\t\\x7f");
  // CSI as one C1 character.
  EXPECT_EQ(for_terminal("\xC2\x9B"
                         "31m"),
            "\\u{9b}31m");
  EXPECT_EQ(for_terminal("\xE2\x80\xAE"), "\\u{202e}");
  EXPECT_EQ(for_terminal("\xE2\x80\xA8"), "\\u{2028}");
  EXPECT_EQ(for_terminal("\xff\xe2\x82"), "\\xff\\xe2\\x82");
  EXPECT_EQ(for_terminal("\xEF\xBF\xBE\xEF\xBF\xBF"), "\\u{fffe}\\u{ffff}");
  EXPECT_EQ(for_terminal("日本 é 🙂"), "日本 é 🙂");
}

// openclaw/openclaw#70140: a list of findings is a list, and nothing quoted in it starts a line.
TEST(Escape, AListOfFindingsKeepsItsLines) {
  EXPECT_EQ(for_terminal_lines("one: 2 problems\n  a\x1b[2J\n  b\nc\n d"),
            "one: 2 problems\n  a\\x1b[2J\n  b\\nc\\n d");
}

TEST(Escape, MarkdownHoldsNoMarkup) {
  const std::string safe = for_markdown(kHostile);
  for (const char mark : {'<', '>', '|', '`', '*', '[', ']', '\n', '\x1b'}) {
    EXPECT_EQ(safe.find(mark), std::string::npos) << mark;
  }
  EXPECT_THAT(safe, Not(HasSubstr("://")));
  EXPECT_THAT(safe, StartsWith("BaNaNa-Infinity &#60;script&#62;"));
}

TEST(MetricText, IsShort) {
  EXPECT_EQ(metric_text(1.0486e-4), "1.049e-04");
  EXPECT_EQ(metric_text(0.001), "1.000e-03");
  EXPECT_EQ(metric_text(0.5), "0.5");
  EXPECT_EQ(metric_text(0.0), "0");
  EXPECT_EQ(metric_text(kNaN), "nan");
  EXPECT_EQ(metric_text(true), "true");
  EXPECT_EQ(metric_text(std::int64_t{596049920}), "596049920");
  EXPECT_EQ(metric_text(Agreement{187, 188}), "187 of 188");
}

// Our own words read well as they stand in the file.
TEST(Markdown, AMarkIsEscapedOnlyWhereItIsOne) {
  for (const char* plain : {"checkpoint_load", "max_abs_error@1 1.2e-04", "not run (here)", "f(x)",
                            "finite@1: false", "a__b", "(1) and 2)", "1e-4 <= 1e-3", "1 not <= 2",
                            "pass -> fail", "a + b", "it's \"so\"", "no. # here", "so!"}) {
    EXPECT_EQ(for_markdown(plain), plain);
  }
  EXPECT_EQ(for_markdown("_a_"), "&#95;a&#95;");
  EXPECT_EQ(for_markdown("__a__ b"), "&#95;&#95;a&#95;&#95; b");
  EXPECT_EQ(for_markdown("a _b_"), "a &#95;b&#95;");
  EXPECT_EQ(for_markdown("a_"), "a&#95;");
  EXPECT_EQ(for_markdown("\xC3\xA9_a_"), "\xC3\xA9&#95;a&#95;");
  EXPECT_EQ(for_markdown("(_a_)"), "(&#95;a&#95;)");
  EXPECT_EQ(for_markdown("1) a"), "1&#41; a");
  EXPECT_EQ(for_markdown("[l](http://e.example)"), "&#91;l&#93;(http&#58;//e.example)");
  EXPECT_EQ(for_markdown("![i](x)"), "&#33;&#91;i&#93;(x)");
  EXPECT_EQ(for_markdown("a <b> c"), "a &#60;b&#62; c");
  EXPECT_EQ(for_markdown("<= >"), "&#60;= &#62;") << "at the start; at the end";
  EXPECT_EQ(for_markdown("+ a"), "&#43; a");
  EXPECT_EQ(for_markdown("# a"), "&#35; a");
  EXPECT_EQ(for_markdown("see #12"), "see &#35;12");
  EXPECT_EQ(for_markdown("a->b"), "a-&#62;b");
  EXPECT_EQ(for_markdown("@someone"), "&#64;someone");
  EXPECT_EQ(for_markdown("a@1someone"), "a&#64;1someone");
  EXPECT_EQ(for_markdown("a@1.example"), "a&#64;1.example");
}

TEST(Reports, HostileTextIsHarmless) {
  ExperimentResult experiment;
  experiment.title = kHostile;
  experiment.comparisons = {{key(kHostile), Measurement{{{"max_abs_error@1", 2e-3}}}},
                            {key("b"), NotRun{kHostile, "weights"}},
                            {key("c"), Broken{kHostile}}};
  RunResult run =
      run_with(std::move(experiment), spec_of("EXP-1", {at_most("max_abs_error@1", 1e-3)}));
  run.info.command = kHostile;
  const std::string markdown = markdown_summary(run);
  const std::size_t code = markdown.find("```sh\n");  // in a block of code nothing is markup
  EXPECT_THAT(markdown.substr(0, code), Not(HasSubstr("<script")));
  EXPECT_EQ(markdown.find("```", code + 3), markdown.size() - 4) << "the block ends the file";
  EXPECT_THAT(markdown, HasSubstr("BaNaNa-Infinity"));
  std::ostringstream progress;
  std::ostringstream table;
  for (const bool terminal : {false, true}) {
    ConsoleReport console(progress, table, {.redraw = terminal});
    console.run_started(run.info);
    console.device_started(run.experiments[0], kHostile);
    console.comparison_started(run.experiments[0], key(kHostile));
    for (const auto& one : run.experiments[0].comparisons) {
      console.comparison_judged(
          run.experiments[0], one,
          judge(spec_of("EXP-1", {at_most("max_abs_error@1", 1e-3)}), std::span(&one, 1)));
    }
    console.experiment_finished(run.experiments[0]);
    console.run_finished(run);
  }
  for (const std::string& text : {progress.str(), table.str()}) {
    EXPECT_THAT(text, Not(HasSubstr("\x1b[31m")));
    EXPECT_THAT(text, Not(HasSubstr("\x1b]")));
    EXPECT_THAT(text, Not(HasSubstr("\xE2\x80\xAE")));
  }
}

TEST(Markdown, NotCheckedStandsBeforeTheTable) {
  const std::string text = markdown_summary(mixed_run());
  EXPECT_LT(text.find("**Not checked**"), text.find("| experiment |"));
  EXPECT_THAT(text, HasSubstr("- EXP-1, cuda: 2 comparisons: no GPU"));
  EXPECT_THAT(text, HasSubstr("unregistered"));
}

TEST(Verdict, SaysThatTeethWereNotShown) {
  ExperimentResult made = testing::experiment("EXP-1", {testing::compared(key("a"), 1e-4)});
  EXPECT_EQ(verdict_text(made), "pass (cpu)");
  made.must_catch = {"a_fault"};
  EXPECT_EQ(verdict_text(made), "pass (cpu); teeth not shown");
  made.trust.teeth = "1 of 1";
  EXPECT_EQ(verdict_text(made), "pass (cpu)");
  ExperimentResult failing = testing::experiment("EXP-1", {testing::compared(key("a"), 1)});
  failing.must_catch = {"a_fault"};
  EXPECT_EQ(verdict_text(failing), "fail (cpu)");
}

// Every comparison is counted once, and by what it is between.
TEST(Tally, AddsUp) {
  using testing::compared;
  using testing::experiment;
  ComparisonResult texts = compared(key("texts"), 1e-4);
  std::get<Measurement>(texts.outcome).record["items"] = {{"texts", 1349870}};
  ExperimentResult parity = experiment("EXP-1", {compared(key("a"), 1e-4), texts});
  ExperimentResult control = experiment("EXP-2", {compared(key("a"), 0, "octlm")});
  ExperimentResult self = experiment("EXP-3", {compared(key("a"), 1e-5, "octlm")});
  self.role = Role::kSelf;
  ExperimentResult floor = experiment("EXP-4", {compared(key("a"), 1e-5)});
  floor.role = Role::kNoiseFloor;
  ExperimentResult file = experiment("EXP-5", {compared(key("a"), 0)});
  file.role = Role::kFile;
  RunResult run = testing::run_of({parity, control, self, floor, file});
  const Tally made = tally(run);
  EXPECT_EQ(made.made, 6);
  EXPECT_EQ(made.planned, 6);
  EXPECT_EQ(tally_text(run, made),
            "2 against transformers (1,349,870 texts), 1 of the reference against itself, 2 of "
            "octlm against itself, 1 of files");
  EXPECT_THAT(headline(run), HasSubstr("6 of 6 planned comparisons were made: 2 against"));
}

// What a killed run did not reach was planned all the same.
TEST(Tally, WhatWasNotReachedWasPlanned) {
  RunResult run =
      testing::run_of({testing::experiment("EXP-1", {testing::compared(key("a"), 1e-4)})});
  run.info.planned = 60;
  run.ended = false;
  run.summary = summarize(run, {});
  EXPECT_THAT(headline(run), HasSubstr("1 of 60 planned comparisons were made"));
  const std::string text = markdown_summary(run);
  EXPECT_THAT(text, Not(HasSubstr("Everything that was planned was checked")));
  EXPECT_THAT(text, HasSubstr("- the run, 59 planned comparisons: the run did not end"));
}

// A file that is read as it stands: columns are aligned, and a bound's sign is a sign.
TEST(Markdown, ReadsWellUnrendered) {
  RunResult run = mixed_run();
  auto& record = std::get<Measurement>(run.experiments[0].comparisons[0].outcome).record;
  record["subject"] = {{"engine", "an engine"}, {"version", "2.1"}};
  record["reference"] = {{"engine", "another"}, {"version", "4"}, {"source", "live"}};
  const std::string text = markdown_summary(run);
  EXPECT_THAT(text, HasSubstr("\nUnder test: an engine 2.1; reference: another 4 (live).\n"));
  EXPECT_THAT(text, HasSubstr("max_abs_error@1 2.000e-04 <= 1.000e-03"));
  EXPECT_THAT(text, HasSubstr("To repeat:\n\n```sh\noctlm run\n```\n"));
  for (const char* html : {"&#", "<code>", "<br"}) EXPECT_THAT(text, Not(HasSubstr(html)));
  std::istringstream lines(text);
  std::set<std::size_t> widths;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("|")) widths.insert(display_width(line) + (line.find("✅") != line.npos));
  }
  EXPECT_EQ(widths.size(), 1U) << text;
}

TEST(Markdown, ACommandCannotEndItsBlock) {
  RunResult run = mixed_run();
  run.info.command = "octlm run '```' '````' <b>";
  EXPECT_THAT(markdown_summary(run), HasSubstr("`````sh\noctlm run '```' '````' <b>\n`````\n"));
}

TEST(Markdown, FitsAStepSummary) {
  RunResult run = mixed_run();
  run.experiments[0].title = std::string(5000, '<');
  run.experiments[0].judgement.reason = std::string(100000, '<');
  run.experiments[0].judgement.verdict = Verdict::kFail;
  run.experiments.resize(1000, run.experiments[0]);
  EXPECT_LT(markdown_summary(run).size(), 1U << 20);
}

}  // namespace
}  // namespace octlm::verify
