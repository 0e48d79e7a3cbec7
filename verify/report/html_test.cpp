#include "verify/report/html.h"

#include <gmock/gmock.h>

#include <fstream>

#include "formats/error.h"
#include "formats/utf8.h"
#include "verify/lines.h"
#include "verify/read_back.h"
#include "verify/report/html_sections.h"
#include "verify/report/jsonl.h"
#include "verify/report/junit.h"
#include "verify/report/markdown.h"
#include "verify/report/rendering.h"
#include "verify/testing/sample_run.h"

namespace octlm::verify {
namespace {

using testing::compared;
using testing::experiment;
using ::testing::HasSubstr;
using testing::key;
using ::testing::MatchesRegex;
using ::testing::Not;
using testing::run_of;
using ::testing::StartsWith;

constexpr const char* kHostile =
    "</script></style><script>alert(1)</script><img src=x onerror=alert(1)>\" ' & \x1b[31m \x01 "
    "\xE2\x80\xAE \xff http://e.example";

RunResult green() {
  return run_of({experiment("EXP-1", {compared(key("story"), 1e-4), compared(key("b"), 2e-4)})});
}

std::string page(const RunResult& run) { return html_report(run, {}); }

std::string verdict(const RunResult& run) { return html::sentence(run).verdict; }
std::string not_checked_in(const RunResult& run) { return html::sentence(run).not_checked; }

TEST(Sentence, MatchesWhenEveryComparisonHoldsAndCounts) {
  EXPECT_EQ(verdict(green()),
            "octlm 1a2b3c4 (cpu) matches transformers 4.57.6 (live) in 2 of 2 comparisons.");
  EXPECT_EQ(not_checked_in(green()), "cuda, 16 bits, beyond 200 tokens");
}

TEST(Sentence, DoesNotMatchWhenOneFails) {
  const RunResult run =
      run_of({experiment("EXP-1", {compared(key("story"), 1e-4), compared(key("b"), 2e-3)})});
  EXPECT_EQ(verdict(run),
            "octlm 1a2b3c4 (cpu) does not match transformers 4.57.6 (live): 1 of 2 comparisons "
            "breaks a bound (EXP-1).");
}

TEST(Sentence, NothingComparedIsNoMatch) {
  const RunResult run =
      run_of({experiment("EXP-1", {{key("a"), NotRun{"no weights", "weights"}}})});
  EXPECT_EQ(verdict(run), "Nothing was compared.");
  EXPECT_EQ(not_checked_in(run), "cpu, cuda, 16 bits, EXP-1, 1 of 1 planned comparison");
  EXPECT_EQ(verdict(run_of({})), "Nothing was compared.");
}

TEST(Sentence, NeverSaysMatchesUnlessAllOfItIsAPass) {
  RunResult exploratory =
      run_of({experiment("EXP-1", {compared(key("a"), 1e-4)}, 1e-3, "exploratory")});
  EXPECT_THAT(verdict(exploratory), HasSubstr("in 1 of 1 comparison, none of which counts."));
  RunResult partly = run_of({experiment(
      "EXP-1", {compared(key("a"), 1e-4), {key("b"), NotRun{"no weights", "weights"}}})});
  EXPECT_THAT(verdict(partly), HasSubstr("in 1 of 1 comparison, none of which counts."));
  RunResult broken = run_of({experiment("EXP-1", {compared(key("a"), 1e-4)}),
                             experiment("EXP-2", {{key("a"), Broken{"x"}}})});
  EXPECT_THAT(verdict(broken), StartsWith("Something broke in EXP-2."));
  RunResult before = green();  // it holds now, and failed before with the same code
  before.experiments[0].judgement.verdict = Verdict::kFail;
  before.experiments[0].judgement.devices[0].verdict = Verdict::kFail;
  before.summary = summarize(before, {});
  EXPECT_EQ(verdict(before), "1 experiment does not hold: EXP-1.");
  RunResult killed = green();
  killed.ended = false;
  EXPECT_THAT(verdict(killed), StartsWith("This run did not end. Until then: "));
  RunResult itself =
      run_of({experiment("EXP-1", {compared(key("a", "cpu", "cached:half"), 1e-4, "octlm")})});
  EXPECT_EQ(verdict(itself),
            "Nothing was compared with a reference; 1 check of other kinds was made.");
  for (const RunResult* run : {&exploratory, &partly, &broken, &before, &itself}) {
    EXPECT_THAT(verdict(*run), Not(HasSubstr("matches")));
  }
}

// A device that was not run is not among everything.
TEST(Sentence, EverythingPassedOnlyWhenEverythingWasCompared) {
  EXPECT_EQ(green().summary.why, "Everything passed.");
  const RunResult run = run_of({experiment(
      "EXP-1", {compared(key("a"), 1e-4), {key("a", "cuda"), NotRun{"no GPU", "cuda"}}})});
  EXPECT_EQ(run.summary.exit_code, 0);
  EXPECT_EQ(run.summary.why, "What was run passed.");
}

TEST(Html, TheFirstScreenIsInOrder) {
  for (const bool red : {false, true}) {
    const std::string text =
        page(run_of({experiment("EXP-1", {compared(key("a"), red ? 2e-3 : 1e-4)})}));
    std::size_t before = 0;
    for (const std::string id :
         {"<h1>", "id=\"coverage\"", red ? "id=\"failures\"" : "id=\"rulers\"", "id=\"tightest\"",
          "id=\"trust\"", "id=\"changes\"", "id=\"command\"", "id=\"experiments\""}) {
      const std::size_t at = text.find(id);
      ASSERT_NE(at, std::string::npos) << id;
      EXPECT_GT(at, before) << id;
      before = at;
    }
    EXPECT_EQ(text.find("id=\"failures\"") != std::string::npos, red);
  }
}

TEST(Html, AsksForNothingAndRunsNothing) {
  const std::string text = page(green());
  EXPECT_THAT(text, HasSubstr("content=\"default-src 'none'; style-src 'unsafe-inline'"));
  for (const char* word : {"<script", "<link", "<img", "<iframe", "url(", "@import",
                           " src=", "href=", "http:", "https:", " onload", " onclick"}) {
    EXPECT_THAT(text, Not(HasSubstr(word)));
  }
}

TEST(Html, HostileTextIsText) {
  ExperimentResult one =
      experiment("EXP-1", {compared({kHostile, kHostile, kHostile, kHostile}, 1e-4),
                           compared(key("b"), 2e-3),
                           {key("c"), Broken{kHostile}},
                           {key("d"), NotRun{kHostile, ""}}});
  one.id = one.title = one.kind = one.model = one.spec_file = kHostile;
  one.trust.label = one.trust.why = one.trust.registered_time = kHostile;
  one.trust.last_amendment = one.trust.teeth = kHostile;
  one.trust.attempts[kHostile] = {2, 1, 1, kHostile};
  one.judgement.reason = kHostile;
  auto& record = std::get<Measurement>(one.comparisons[0].outcome).record;
  record["worst"]["text"] = kHostile;
  record["worst"]["subject_top5"][0]["text"] = kHostile;
  record["reference"] = {{"engine", kHostile}, {"version", kHostile}, {"source", kHostile}};
  RunResult run = run_of({one});
  run.info.command = run.info.commit = run.info.started = run.info.version = kHostile;
  run.info.ledger_head = kHostile;
  run.info.environment = {{"cpu", kHostile}, {"list", {kHostile}}};
  run.not_started = {kHostile};
  run.summary.why = kHostile;
  RunDifference changed;
  changed.changes.push_back({RunChange::Weight::kWorse, kHostile, "", kHostile});
  const std::string text = html_report(run, {PublishedRun{kHostile, changed}, true});
  EXPECT_EQ(formats::find_invalid_utf8(text), std::string::npos);
  for (const char* mark : {"<script", "<img", "\x1b", "\x01", "\xE2\x80\xAE", "</script>"}) {
    EXPECT_THAT(text, Not(HasSubstr(mark)));
  }
  EXPECT_THAT(text, HasSubstr("&lt;script&gt;alert(1)"));
}

// What a record holds is anybody's: no type of it may break the page.
TEST(Html, AStrangeRecordIsNoCrash) {
  const nlohmann::json strange[] = {nullptr,    1,    "x",   {1, 2},
                                    {{"a", 1}}, true, 1e300, std::uint64_t{1} << 63};
  for (const auto& what : strange) {
    ExperimentResult one =
        experiment("EXP-1", {compared(key("a"), 2e-3), compared(key("b"), 1e-4)});
    for (ComparisonResult& comparison : one.comparisons) {
      auto& record = std::get<Measurement>(comparison.outcome).record;
      for (const char* name : {"subject", "reference", "calls", "seconds", "positions", "model"}) {
        record[name] = what;
      }
      for (auto& member : record["worst"]) member = what;
    }
    EXPECT_THAT(page(run_of({one})), HasSubstr("</html>"));
    for (ComparisonResult& comparison : one.comparisons) {
      std::get<Measurement>(comparison.outcome).record = what;
    }
    RunResult run = run_of({one});
    run.info.environment = what;
    EXPECT_THAT(page(run), HasSubstr("</html>"));
    EXPECT_THAT(junit_xml(run), HasSubstr("</testsuites>"));
  }
}

std::string grid_of(const RunResult& run) {
  const std::string text = page(run);
  const std::size_t grid = text.find("<table class=\"grid\">");
  return text.substr(grid, text.find("</table>", grid) - grid);
}

TEST(Html, WhatNobodyAsksForIsHatchedNotLeftOut) {
  const std::string text = page(green());
  for (const char* column : {"cuda", "16 bits"}) {
    EXPECT_THAT(text, HasSubstr(std::string(">") + column + "</th>"));
  }
  const std::string table = grid_of(green());
  EXPECT_THAT(table, HasSubstr("<td class=\"c pass\">✓ 20 %</td>"));
  std::size_t hatched = 0;
  for (std::size_t at = table.find("hatched"); at != std::string::npos;
       at = table.find("hatched", at + 1)) {
    ++hatched;
  }
  EXPECT_EQ(hatched, 3U);  // 16 bits on cpu; float32 and 16 bits on cuda
}

// A device without a comparison has one column for all its paths, until something is compared
// there.
TEST(Html, WhereNothingWasComparedOneColumnStandsForEveryPath) {
  const auto absent = [](const char* path) {
    return ComparisonResult{key("a", "cuda", path), NotRun{"no cuda backend", "cuda"}};
  };
  const std::string none = grid_of(run_of(
      {experiment("EXP-1", {compared(key("a"), 1e-4), absent("full"), absent("cached:half")})}));
  EXPECT_THAT(none, Not(HasSubstr("half")));
  EXPECT_THAT(none, HasSubstr("<td class=\"c hatched\">not run</td>"));
  for (const ComparisonResult& one :
       {compared(key("a", "cuda"), 1e-4), ComparisonResult{key("a", "cuda"), Broken{"x"}}}) {
    const std::string some = grid_of(
        run_of({experiment("EXP-1", {compared(key("a"), 1e-4), one, absent("cached:half")})}));
    EXPECT_THAT(some, HasSubstr("half"));
    EXPECT_THAT(some, HasSubstr("<td class=\"c hatched\">not run</td>"));
  }
  ComparisonKey half = key("a");
  half.dtype = "bfloat16";
  const std::string typed = grid_of(run_of({experiment("EXP-1", {compared(half, 1e-4)})}));
  EXPECT_THAT(typed, HasSubstr(">bfloat16</th>"));
  EXPECT_THAT(typed, HasSubstr(">float16</th>"));
}

TEST(Html, ACellSaysTheWorstThatIsInIt) {
  const auto cell = [](std::vector<ComparisonResult> comparisons, const std::string& label) {
    const std::string text =
        page(run_of({experiment("EXP-1", std::move(comparisons), 1e-3, label)}));
    const std::size_t row = text.find("<tbody>");
    const std::size_t at = text.find("<td", row);
    return text.substr(at, text.find("</td>", at) - at);
  };
  const auto held = compared(key("a"), 1e-4), failed = compared(key("b"), 2e-3);
  const auto nan = compared(key("c"), std::nan(""));
  const ComparisonResult absent = {key("d"), NotRun{"no weights", "weights"}};
  EXPECT_THAT(cell({held}, "confirmatory"), HasSubstr("c pass\">✓ 10 %"));
  EXPECT_THAT(cell({held, failed}, "confirmatory"), HasSubstr("c fail\">✕ 200 %"));
  EXPECT_THAT(cell({held, nan}, "confirmatory"), HasSubstr("c fail\">✕ fail"));
  EXPECT_THAT(cell({held, absent}, "confirmatory"),
              HasSubstr("c uncounted\">◌ 10 %<small>no verdict</small><small>1 of 2"));
  EXPECT_THAT(cell({absent}, "confirmatory"), HasSubstr("c hatched\">not run"));
  EXPECT_THAT(cell({held}, "exploratory"), HasSubstr("c uncounted\">◌ 10 %<small>exploratory"));
  EXPECT_THAT(cell({{key("e"), Broken{"x"}}}, "confirmatory"), HasSubstr("c error\">! error"));
}

TEST(Html, TheFloorIsTheRunsOwnForTheSameModel) {
  ExperimentResult floor = experiment(
      "EXP-9", {compared(key("a", "cpu", "sdpa"), 5e-5), compared(key("b", "cpu", "sdpa"), 7e-5)},
      1.0);
  floor.kind = "floor";
  floor.role = Role::kNoiseFloor;
  RunResult run = green();
  EXPECT_FALSE(noise_floor(run, "tiny", "cpu", "max_abs_error@1"));
  EXPECT_THAT(html::rulers_section(run), HasSubstr("◇</i> not measured"));
  run.experiments.push_back(floor);
  EXPECT_EQ(noise_floor(run, "tiny", "cpu", "max_abs_error@1")->value, 7e-5);
  EXPECT_FALSE(noise_floor(run, "tiny", "cuda", "max_abs_error@1"));
  EXPECT_THAT(html::rulers_section(run), HasSubstr("◇</i> 7e-5"));
  run.experiments.back().model = "another";
  EXPECT_THAT(html::rulers_section(run), HasSubstr("◇</i> not measured"));
  EXPECT_THAT(verdict(run), HasSubstr("in 2 of 2"))
      << "the floor is no comparison with the reference";
}

TEST(Html, TheTightestSpotIsShownWhenGreen) {
  const std::string text = html::tightest_section(green());
  EXPECT_THAT(text, HasSubstr("b, full, cpu, float32"));
  EXPECT_THAT(text, HasSubstr("<b>20 %</b> of the bound used"));
  EXPECT_THAT(text, HasSubstr("token 7 <q><bdi> mat</bdi></q>"));
  EXPECT_THAT(text, HasSubstr("<details><summary>top 5"));
}

TEST(Html, AFailureIsTracedAsFarAsTheRecordGoes) {
  const std::string text = html::failure_section(run_of({experiment(
      "EXP-1", {compared(key("a"), 1e-4), compared(key("a", "cpu", "cached:half"), 2e-3)})}));
  EXPECT_THAT(text, HasSubstr("<b>6</b> in a, cached:half, cpu"));
  EXPECT_THAT(text, HasSubstr("decode (a call of 1 from position 6)"));
  EXPECT_THAT(text, HasSubstr("not localised"));
  EXPECT_THAT(text, HasSubstr("the full pass holds and a split one does not"));
  EXPECT_THAT(text, HasSubstr("./octlm run EXP-1 --device cpu</code></dd>"));
  RunResult elsewhere = run_of({experiment("EXP-1", {compared(key("a"), 2e-3)})});
  elsewhere.info.request = {{"models", {"tiny=/somewhere"}}};
  EXPECT_THAT(html::failure_section(elsewhere),
              HasSubstr("--device cpu</code> and the --model of"));
}

TEST(Html, TheFirstBadPositionIsThatOfTheBoundNotOfTheLargestError) {
  ComparisonResult one = compared(key("a"), 2e-3);
  auto& record = std::get<Measurement>(one.outcome).record;
  record["rising"] = {{0, 1e-5}, {3, 1.5e-3}, {6, 2e-3}};
  EXPECT_THAT(html::failure_section(run_of({experiment("EXP-1", {one})})),
              HasSubstr("<b>3</b> in"));
  record["rising"] = {{0, 1e-5}, {6, 2e-3}};
  EXPECT_THAT(html::failure_section(run_of({experiment("EXP-1", {one})})),
              HasSubstr("<b>6</b> in"));
  record["rising"] = "strange";
  EXPECT_THAT(html::failure_section(run_of({experiment("EXP-1", {one})})),
              HasSubstr("<b>6</b> in"));
}

// Both lists of tokens, aligned by their positions.
TEST(Html, ADifferenceOfTextIsShownTokenByToken) {
  ComparisonResult one = compared(key("hard texts", "cpu", "literal"), 2e-3);
  auto& record = std::get<Measurement>(one.outcome).record;
  record.erase("worst");
  const auto token = [](int position, int id, const char* text) {
    return nlohmann::json{{"position", position}, {"token_id", id}, {"token", text}};
  };
  record["differences"]["ids_equal@1"] = {
      {"given", "a<b>c"},
      {"position", 1},
      {"subject", {token(0, 5, "a"), token(1, 6, "<b"), token(2, 7, ">c")}},
      {"reference", {token(0, 5, "a"), token(1, 8, "<b>")}}};
  record["differences"]["roundtrip_equal@1"] = {{"subject", "x"}, {"reference", kHostile}};
  record["differences"]["text_equal@1"] = "strange";
  const std::string text = html::failure_section(run_of({experiment("EXP-1", {one})}));
  EXPECT_THAT(text, HasSubstr("<td>5<small><q><bdi>a</bdi></q></small></td>"));
  EXPECT_THAT(text, HasSubstr("<td class=\"apart\">6<small><q><bdi>&lt;b</bdi></q></small></td>"));
  EXPECT_THAT(text, HasSubstr("<td class=\"apart\">8<small><q><bdi>&lt;b&gt;</bdi></q></small>"));
  EXPECT_THAT(text, HasSubstr("<td class=\"quiet\">none</td>"))
      << "the reference's list is shorter";
  EXPECT_THAT(text, HasSubstr("first differences"));
  EXPECT_THAT(text, Not(HasSubstr("prefill")));
  EXPECT_THAT(text, Not(HasSubstr("<script")));
}

// What is offered to be pasted into a shell comes from no file.
TEST(Html, AnIdThatIsNoWordIsNoCommand) {
  ExperimentResult one = experiment("EXP-1", {compared(key("a"), 2e-3)});
  for (const char* id : {"x; rm -rf ~", "$(id)", "-x", ""}) {
    one.id = id;
    EXPECT_THAT(html::failure_section(run_of({one})), Not(HasSubstr("octlm run"))) << id;
  }
}

TEST(Html, WhatFailedIsNotSaidToBeJustUsedUp) {
  const std::string text = page(run_of({experiment("EXP-1", {compared(key("a"), 1.001e-3)})}));
  EXPECT_THAT(text, HasSubstr("✕ over 100 %"));
}

TEST(Html, AHundredExperimentsAreASmallPage) {
  std::vector<ExperimentResult> experiments;
  for (int i = 0; i < 100; ++i) {
    std::vector<ComparisonResult> comparisons;
    for (int c = 0; c < 40; ++c) comparisons.push_back(compared(key(std::to_string(c)), 1e-4));
    experiments.push_back(experiment("EXP-" + std::to_string(i), std::move(comparisons)));
  }
  EXPECT_LT(page(run_of(std::move(experiments))).size(), 2'500'000U);
}

class ReadBack : public ::testing::Test {
 protected:
  void write(const RunResult& run) {
    JsonlReport report(folder_.path() / "results.jsonl");
    report.run_started(run.info);
    for (const ExperimentResult& one : run.experiments) {
      for (const ComparisonResult& comparison : one.comparisons) {
        report.comparison_finished(one, comparison);
      }
      report.experiment_finished(one);
    }
    report.run_finished(run);
  }
  void cut(std::size_t lines, const std::string& rest = "") {
    const auto all = testing::text_of(folder_.path() / "results.jsonl");
    std::size_t at = 0;
    for (std::size_t i = 0; i < lines; ++i) at = all.find('\n', at) + 1;
    std::ofstream(folder_.path() / "results.jsonl") << all.substr(0, at) << rest;
  }
  RunResult read() { return read_back(read_run_file(folder_.path()), testing::language_program()); }

  testing::TemporaryFolder folder_;
};

// Not the whole of two pages.
std::string first_difference(const std::string& one, const std::string& other) {
  if (one == other) return "";
  const auto at = std::mismatch(one.begin(), one.end(), other.begin(), other.end()).first;
  const auto from = std::max<std::ptrdiff_t>(0, at - one.begin() - 80);
  return one.substr(static_cast<std::size_t>(from), 160);
}

RunResult mixed() {
  ExperimentResult pass =
      experiment("EXP-2", {compared(key("z"), 1e-4), compared(key("z", "cuda"), 2e-4),
                           compared(key("b", "cuda"), 2e-4)});
  pass.trust.registered_time = "2026-01-01T00:00:00Z";
  pass.trust.registered_commit = "f00";
  pass.trust.entry = "e";
  pass.trust.amendments = 2;
  pass.trust.last_amendment = "narrowing";
  pass.trust.prior_results = true;
  pass.trust.prior_source = "elsewhere";
  pass.trust.anchored = false;
  pass.seconds = 1.25;
  return run_of(
      {pass,
       experiment("EXP-1", {compared(key("a"), std::nan("")),
                            compared(key("b"), INFINITY),
                            {key("c"), NotRun{"no weights", "weights"}},
                            {key("d"), Broken{"x"}}}),
       experiment("EXP-3", {{key("a", "cuda"), NotRun{"no GPU", "cuda"}}}, 1e-3, "exploratory")});
}

TEST_F(ReadBack, EveryRenderingIsThatOfTheRun) {
  RunResult run = mixed();
  run.not_started = {"EXP-4"};
  run.interrupted_by = 2;
  run.summary = summarize(run, {});
  write(run);
  const RunResult back = read();
  EXPECT_EQ(markdown_summary(back), markdown_summary(run));
  EXPECT_EQ(junit_xml(back), junit_xml(run));
  EXPECT_EQ(first_difference(page(back), page(run)), "");
  EXPECT_EQ(difference_headline(difference(run, back)), "nothing changed");
  EXPECT_EQ(experiment_line(back.experiments[0]), experiment_line(run.experiments[0]));
  EXPECT_EQ(summary_line(back), summary_line(run));
}

// Every prefix of the file is what some kill leaves.
TEST_F(ReadBack, AKilledRunIsNoPassWhereverItWasKilled) {
  const RunResult run = run_of({experiment("EXP-1", {compared(key("a"), 1e-4)}),
                                experiment("EXP-2", {compared(key("a"), 1e-4)})});
  write(run);
  for (std::size_t lines = 5; lines >= 1; --lines) {
    cut(lines, "{\"type\":\"comp");
    const Rendered made =
        render_run(folder_.path(), folder_.path(), std::nullopt, testing::language_program());
    EXPECT_TRUE(made.torn);
    EXPECT_FALSE(made.run.ended);
    EXPECT_NE(made.run.summary.exit_code, 0);
    EXPECT_EQ(made.run.experiments.size() + made.run.not_started.size(), 2U) << lines;
    for (const ExperimentResult& one : made.run.experiments) {
      const bool judged = lines == 5 || (lines >= 3 && one.id == "EXP-1");
      EXPECT_EQ(one.judgement.verdict, judged ? Verdict::kPass : Verdict::kNotRun) << lines;
    }
    const std::string html = testing::text_of(folder_.path() / "report.html");
    EXPECT_THAT(html, HasSubstr("This run did not end."));
    EXPECT_THAT(html, HasSubstr("was cut off"));
    EXPECT_THAT(html, Not(HasSubstr("exit code")));
    EXPECT_THAT(html, Not(HasSubstr("unregistered"))) << "nobody looked";
    EXPECT_THAT(testing::text_of(folder_.path() / "junit.xml"), HasSubstr("<error message="));
  }
}

TEST_F(ReadBack, AStrangeFileIsReadAsFarAsItGoes) {
  const char* const lines[] = {
      "{\"type\":\"comparison\",\"experiment\":7,\"metrics\":[1],\"case\":{}}",
      "{\"type\":\"comparison\",\"experiment\":\"E\",\"metrics\":{\"m@1\":{\"agree\":\"x\"}}}",
      "{\"type\":\"experiment\",\"id\":\"E\",\"verdict\":\"PASS\",\"criteria\":\"x\",\"trust\":3,"
      "\"devices\":{\"cpu\":1}}",
      "{\"type\":\"experiment\",\"criteria\":[7,{\"at_most\":\"nan\",\"metric\":[]},{}],"
      "\"planned\":1e300}",
      "{\"type\":\"summary\",\"exit_code\":\"0\",\"not_started\":{\"a\":1},\"pass\":-1}"};
  std::ofstream file(folder_.path() / "results.jsonl");
  file << "{\"type\":\"run\",\"specs\":[1],\"environment\":null}\n";
  for (const char* line : lines) {
    file << line << '\n' << std::flush;
    const Rendered made =
        render_run(folder_.path(), folder_.path(), std::nullopt, testing::language_program());
    EXPECT_NE(made.run.summary.exit_code, 0);
    for (const auto& one : made.run.experiments) EXPECT_NE(one.judgement.verdict, Verdict::kPass);
  }
}

TEST_F(ReadBack, WhatIsNoRunIsRefused) {
  const auto render = [&] {
    render_run(folder_.path(), folder_.path(), std::nullopt, testing::language_program());
  };
  EXPECT_THROW(render(), formats::FormatError);
  for (const std::string& line : {std::string("{}"), std::string(1'000'000, '[')}) {
    std::ofstream(folder_.path() / "results.jsonl") << line << '\n';
    EXPECT_THROW(render(), formats::FormatError);
  }
}

TEST_F(ReadBack, ThePageSaysWhatChangedSinceTheLastPublishedRun) {
  const Project project{folder_.path()};
  const auto publish = [&](const std::string& name, RunResult run, const std::string& started) {
    std::filesystem::create_directories(project.published() / name);
    run.info.started = started;
    JsonlReport report(project.published() / name / "results.jsonl");
    report.run_started(run.info);
    report.experiment_finished(run.experiments[0]);
    report.run_finished(run);
  };
  write(run_of({experiment("EXP-1", {compared(key("a"), 2e-3)})}));
  const auto html = [&] {
    render_run(folder_.path(), folder_.path(), project, testing::language_program());
    return testing::text_of(folder_.path() / "report.html");
  };
  EXPECT_THAT(html(), HasSubstr("No published run."));
  const RunResult passed = run_of({experiment("EXP-1", {compared(key("a"), 1e-4)})});
  publish("older", passed, "2026-01-01T00:00:00Z");
  publish("old", passed, "2026-02-01T00:00:00Z");
  publish("later than this run", passed, "2026-04-01T00:00:00Z");
  std::filesystem::create_directories(project.published() / "no run");
  EXPECT_THAT(html(), HasSubstr("Against <code>old</code>: 1 worse"));
  EXPECT_THAT(html(), HasSubstr("▼ worse</span> EXP-1 on cpu: pass -&gt; fail"));
}

}  // namespace
}  // namespace octlm::verify
