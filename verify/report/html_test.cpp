#include "verify/report/html.h"

#include <gmock/gmock.h>

#include <fstream>
#include <map>
#include <set>

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

using testing::at_most;
using testing::compared;
using testing::experiment;
using ::testing::HasSubstr;
using testing::key;
using ::testing::MatchesRegex;
using ::testing::Not;
using testing::run_of;
using testing::spec_of;
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

// A bound that a broken engine would keep as well is no ground for the word.
TEST(Sentence, MatchesIsSaidOnlyOfABoundThatSeesScale) {
  const RunResult run = run_of({experiment("EXP-1", {compared(key("story"), 8.07)}, 1e9)});
  EXPECT_EQ(verdict(run),
            "octlm 1a2b3c4 (cpu) differs from transformers 4.57.6 (live) by no more than its "
            "bounds allow in 1 of 1 comparison.");
}

TEST(Sentence, TeethThatNobodyHasShownAreSaid) {
  RunResult run = green();
  run.experiments[0].must_catch = {"a_fault"};
  EXPECT_EQ(verdict(run),
            "octlm 1a2b3c4 (cpu) matches transformers 4.57.6 (live) in 2 of 2 comparisons. Teeth "
            "not shown: no planted fault was tried in EXP-1.");
  run.experiments[0].trust.teeth = "1 of 1";
  EXPECT_THAT(verdict(run), Not(HasSubstr("eeth")));
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
                           " src=", "http:", "https:", " onload", " onclick"}) {
    EXPECT_THAT(text, Not(HasSubstr(word)));
  }
  for (std::size_t at = text.find("href="); at != std::string::npos;
       at = text.find("href=", at + 1))
    EXPECT_EQ(text.substr(at, 7), "href=\"#") << "within the page";
}

// A link leads to what it names, and no two places have one name.
TEST(Html, EveryExperimentHasAnAnchorAndIsLinkedToIt) {
  RunResult run = run_of({experiment("EXP-1", {compared(key("a"), 1e-4)}),
                          experiment("EXP-2", {{key("a"), NotRun{"no weights", "weights"}}}),
                          experiment("coverage", {compared(key("a"), 2e-3)})});
  run.not_started = {"EXP-3"};
  const std::string text = page(run);
  std::set<std::string> names;
  for (std::size_t at = text.find(" id=\""); at != std::string::npos;
       at = text.find(" id=\"", at + 1)) {
    const std::string name = text.substr(at + 5, text.find('"', at + 5) - at - 5);
    EXPECT_TRUE(names.insert(name).second) << name << " twice";
  }
  for (std::size_t at = text.find("href=\"#"); at != std::string::npos;
       at = text.find("href=\"#", at + 1)) {
    EXPECT_TRUE(names.contains(text.substr(at + 7, text.find('"', at + 7) - at - 7)));
  }
  EXPECT_THAT(text, HasSubstr("id=\"EXP-1\""));
  for (const std::string& part :
       {html::rulers_section(run).text(), html::not_checked_section(run).text(),
        html::trust_table(run).text()}) {
    EXPECT_THAT(part, HasSubstr("<a href=\"#EXP-2\">"));
  }
  EXPECT_THAT(html::coverage_section(run).text(), HasSubstr("<a href=\"#experiment-coverage\">✕"))
      << "a cell leads to what is worst in it";
  EXPECT_THAT(html::failure_section(run).text(), HasSubstr("<a href=\"#experiment-coverage\">"));
}

// A record of which everything is hostile that comes from outside: comparisons that hold, break,
// were not run and broke, of rows and of lists, in a run with everything that a page can say.
RunResult hostile_run(bool red) {
  const ComparisonKey hostile = {kHostile, kHostile, kHostile, kHostile};
  const nlohmann::json entry = {{"position", 1}, {"token_id", 5}, {"token", kHostile}};
  const nlohmann::json top5 = {{{"token_id", 7}, {"value", 2.5}, {"text", kHostile}}};
  const auto measured = [&](double error) {
    Measurement made{{{kHostile, error},
                      {"max_abs_error@1", error},
                      {"finite@1", true},
                      {"another" + std::string(kHostile), 1.0}}};
    made.record = {{"subject", {{"engine", kHostile}, {"version", kHostile}, {"source", kHostile}}},
                   {"reference", {{"engine", "r"}, {"version", kHostile}, {"source", kHostile}}},
                   {"model", kHostile},
                   {"worst",
                    {{"position", 6},
                     {"token_id", 7},
                     {"text", kHostile},
                     {"context", kHostile},
                     {"subject", 1},
                     {"reference", 2},
                     {"subject_top5", top5},
                     {"reference_top5", top5}}}};
    made.errors = error_by_position(std::vector<RowError>{{0, error}, {1, 2 * error}});
    return made;
  };
  ExperimentResult one;
  one.comparisons = {{hostile, measured(1e-4)}, {hostile, NotRun{kHostile, kHostile}}};
  if (red) {
    one.comparisons.push_back({hostile, measured(2e-3)});
    one.comparisons.push_back({hostile, Broken{kHostile}});
  }
  Spec spec = spec_of(kHostile, {at_most(kHostile, 1e-3), at_most("max_abs_error@1", 1e-3)});
  for (Criterion& criterion : spec.criteria) {
    criterion.derivation = kHostile;
    criterion.when = {{"device", kHostile}};
  }
  one.judgement = judge(spec, one.comparisons);
  one.judgement.reason = kHostile;
  for (DeviceResult& device : one.judgement.devices) device.reason = kHostile;
  for (CriterionResult& criterion : one.judgement.criteria) criterion.note = kHostile;
  one.id = one.title = one.kind = one.model = one.spec_file = one.spec_sha256 = kHostile;
  one.trust.label = one.trust.why = one.trust.registered_time = kHostile;
  one.trust.last_amendment = one.trust.teeth = one.trust.prior_source = kHostile;
  one.trust.registered_commit = one.trust.entry = kHostile;
  one.trust.prior_results = true;
  one.trust.attempts[kHostile] = {2, 1, 1, kHostile};
  ExperimentResult lists = experiment("EXP-2", {compared(key("a"), red ? 2e-3 : 1e-4)});
  std::get<Measurement>(lists.comparisons[0].outcome).record["differences"][kHostile] = {
      {"given", kHostile},           {"against", kHostile},
      {"subject_refuses", kHostile}, {"reference_refuses", kHostile},
      {"subject", {entry}},          {"reference", {entry}}};
  auto& differences = std::get<Measurement>(lists.comparisons[0].outcome).record["differences"];
  differences["text" + std::string(kHostile)] = {{"subject", kHostile}, {"reference", {kHostile}}};
  RunResult run = run_of({one, lists});
  run.info.command = run.info.commit = run.info.started = run.info.version = kHostile;
  run.info.ledger_head = run.info.resumed = run.info.code_sha256 = kHostile;
  run.info.subject_sha256 = kHostile;
  run.info.environment = {{kHostile, kHostile}, {"list", {kHostile}}};
  run.not_started = {kHostile};
  run.summary.why = kHostile;
  run.ended = !red;
  run.info.folder = kHostile;
  return run;
}

TEST(Html, HostileTextIsText) {
  RunDifference changed;
  changed.changes.push_back({RunChange::Weight::kWorse, kHostile, "", kHostile});
  for (const bool red : {false, true}) {
    const RunResult run = hostile_run(red);
    const std::string text = html_report(run, {PublishedRun{kHostile, changed}, true});
    EXPECT_EQ(formats::find_invalid_utf8(text), std::string::npos);
    for (const char* mark : {"<script", "<img", "\x1b", "\x01", "\xE2\x80\xAE", "</script>",
                             "</style><s", "onerror=alert(1)>\""}) {
      EXPECT_THAT(text, Not(HasSubstr(mark)));
      EXPECT_THAT(junit_xml(run), Not(HasSubstr(mark)));
    }
    // Every place that shows such a text was reached.
    for (const auto& [name, part] : std::map<std::string, std::string>{
             {"headline", html::headline_section(run, {}).text()},
             {"coverage", html::coverage_section(run).text()},
             {"rulers", html::rulers_section(run).text()},
             {"failures", html::failure_section(run).text()},
             {"trust", html::trust_section(run).text()},
             {"trust table", html::trust_table(run).text()},
             {"not checked", html::not_checked_section(run).text()},
             {"experiments", html::experiments_section(run).text()},
             {"environment", html::environment_section(run).text()},
             {"command", html::command_section(run).text()},
             {"differences",
              html::differences_markup(run.info.program, run.experiments[1].comparisons[0]).text()},
             {"top 5",
              html::top5_tables(run.info.program, run.experiments[0].comparisons[0]).text()},
             {"place",
              html::place_facts(run.info.program, run.experiments[0].comparisons[0]).text()},
             {"tightest", html::tightest_section(run).text()}}) {
      if (name == "failures" && !red) continue;
      EXPECT_THAT(part, HasSubstr("&lt;script&gt;alert(1)")) << name;
    }
  }
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

std::string without_links(std::string text) {
  for (std::size_t at = text.find("<a "); at != std::string::npos; at = text.find("<a ", at)) {
    text.erase(at, text.find('>', at) + 1 - at);
  }
  for (std::size_t at = text.find("</a>"); at != std::string::npos; at = text.find("</a>", at)) {
    text.erase(at, 4);
  }
  return text;
}

std::string grid_of(const RunResult& run) {
  const std::string text = page(run);
  const std::size_t grid = text.find("<table class=\"grid\">");
  return without_links(text.substr(grid, text.find("</table>", grid) - grid));
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
    return without_links(text.substr(at, text.find("</td>", at) - at));
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
  EXPECT_THAT(html::rulers_section(run).text(), HasSubstr("◇</i> not measured"));
  run.experiments.push_back(floor);
  EXPECT_EQ(noise_floor(run, "tiny", "cpu", "max_abs_error@1")->value, 7e-5);
  EXPECT_FALSE(noise_floor(run, "tiny", "cuda", "max_abs_error@1"));
  EXPECT_THAT(html::rulers_section(run).text(), HasSubstr("◇</i> 7e-5"));
  run.experiments.back().model = "another";
  EXPECT_THAT(html::rulers_section(run).text(), HasSubstr("◇</i> not measured"));
  EXPECT_THAT(verdict(run), HasSubstr("in 2 of 2"))
      << "the floor is no comparison with the reference";
}

TEST(Html, TheTightestSpotIsShownWhenGreen) {
  const std::string text = html::tightest_section(green()).text();
  EXPECT_THAT(text, HasSubstr("b, full, cpu, float32"));
  EXPECT_THAT(text, HasSubstr("<b>20 %</b> of the bound used"));
  EXPECT_THAT(text, HasSubstr("token 7 <q><bdi> mat</bdi></q>"));
  EXPECT_THAT(text, HasSubstr("<details><summary>top 5"));
}

TEST(Html, AFailureIsTracedAsFarAsTheRecordGoes) {
  const std::string text =
      html::failure_section(
          run_of({experiment("EXP-1", {compared(key("a"), 1e-4),
                                       compared(key("a", "cpu", "cached:half"), 2e-3)})}))
          .text();
  // Each line says of which comparison it speaks.
  const std::string where =
      " <span class=\"quiet\">in <bdi>a, cached:half, cpu, float32</bdi></span>";
  EXPECT_THAT(text, HasSubstr("<b>6</b>" + where));
  EXPECT_THAT(text, HasSubstr("decode (a call of 1 from position 6)" + where));
  EXPECT_THAT(text, HasSubstr("not localised" + where));
  EXPECT_THAT(text, HasSubstr("<dt>where it is wrong</dt><dd>not recorded" + where));
  EXPECT_THAT(text, HasSubstr("the full pass holds and a split one does not (not tried)" + where));
  EXPECT_THAT(text, HasSubstr("<h4>The largest difference" + where));
  EXPECT_THAT(text, HasSubstr("./octlm run EXP-1 --device cpu</code></dd>"));
}

TEST(Html, AFailureSaysWhatTheErrorLooksLike) {
  ComparisonResult half = compared(key("a", "cpu", "cached:half"), 2e-3);
  std::vector<RowError> rows;
  for (std::int64_t row = 0; row < 12; ++row) rows.push_back({row, row < 5 ? 1e-5 : 1.5e-3});
  std::get<Measurement>(half.outcome).errors = error_by_position(rows);
  const std::string text = html::failure_section(run_of({experiment("EXP-1", {half})})).text();
  EXPECT_THAT(text, HasSubstr("<dd>only after the split at position 5"));
}

// What can be pasted is whole: the program says how, from what the record keeps of its arguments.
TEST(Html, TheCommandIsTheProgramsOwn) {
  RunResult run = run_of({experiment("EXP-1", {compared(key("a"), 2e-3)})});
  run.info.command = "octlm run EXP-1 --out /old";
  run.info.request = {{"models", {"tiny=/some where"}}};
  run.info.program.repeat = [](const Repeat& what) {
    return "run " + what.experiment + "," + what.spec_file + "," + what.device + " '" +
           what.request["models"][0].get<std::string>() + "'";
  };
  EXPECT_THAT(html::failure_section(run).text(),
              HasSubstr("<code>run EXP-1,EXP-1.json,cpu &#39;tiny=/some where&#39;</code>"));
  for (const std::string& text : {html::command_section(run).text(), markdown_summary(run)}) {
    EXPECT_THAT(text, Not(HasSubstr("--out")));
    EXPECT_THAT(text, HasSubstr("run ,, "));
  }
  EXPECT_THAT(junit_xml(run), HasSubstr("to repeat: run EXP-1,EXP-1.json,cpu"));
  run.info.request["models"][0] = "tiny=/some\nwhere";  // is not what a page can show
  EXPECT_THAT(html::failure_section(run).text(), Not(HasSubstr("<code>")));
  EXPECT_THAT(html::command_section(run).text(), HasSubstr("octlm run EXP-1 --out /old"));
}

TEST(Html, TheFirstBadPositionIsThatOfTheBoundNotOfTheLargestError) {
  ComparisonResult one = compared(key("a"), 2e-3);
  auto& record = std::get<Measurement>(one.outcome).record;
  record["rising"] = {{0, 1e-5}, {3, 1.5e-3}, {6, 2e-3}};
  EXPECT_THAT(html::failure_section(run_of({experiment("EXP-1", {one})})).text(),
              HasSubstr("<b>3</b> "));
  record["rising"] = {{0, 1e-5}, {6, 2e-3}};
  EXPECT_THAT(html::failure_section(run_of({experiment("EXP-1", {one})})).text(),
              HasSubstr("<b>6</b> "));
  record["rising"] = "strange";
  EXPECT_THAT(html::failure_section(run_of({experiment("EXP-1", {one})})).text(),
              HasSubstr("<b>6</b> "));
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
  const std::string text = html::failure_section(run_of({experiment("EXP-1", {one})})).text();
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
    EXPECT_THAT(html::failure_section(run_of({one})).text(), Not(HasSubstr("octlm run"))) << id;
  }
}

// Forty absences with one reason are one row, and not forty.
TEST(Html, ComparisonsOfAnAbsentDeviceAreOneRow) {
  std::vector<ComparisonResult> comparisons = {compared(key("a"), 1e-4),
                                               {key("z", "cuda"), NotRun{"another reason", ""}}};
  for (int i = 0; i < 40; ++i) {
    comparisons.push_back({key(std::to_string(i), "cuda"), NotRun{"no GPU here", "cuda"}});
  }
  const std::string text =
      html::experiments_section(run_of({experiment("EXP-1", comparisons)})).text();
  EXPECT_THAT(text, HasSubstr(">40 comparisons on cuda</td>"));
  EXPECT_THAT(text, HasSubstr(">not run: no GPU here</td>"));
  const std::size_t table = text.find("<h4>Comparisons");
  const std::string rows = text.substr(table, text.find("</table>", table) - table);
  std::size_t count = 0;
  for (std::size_t at = rows.find("<tr>"); at != std::string::npos; at = rows.find("<tr>", at + 1))
    ++count;
  EXPECT_EQ(count, 4U) << "the head, one measured, one for the forty, one with its own reason";
}

TEST(Html, TheWorstTokenOfEachComparisonStandsOnThePage) {
  const std::string text =
      html::experiments_section(
          run_of({experiment("EXP-1", {compared(key("a"), 1e-4), compared(key("b"), 2e-4)})}))
          .text();
  EXPECT_THAT(text, HasSubstr("<details><summary>Where each comparison is worst</summary>"));
  EXPECT_THAT(text, HasSubstr("<td><bdi>b</bdi></td><td>full</td><td>cpu</td><td class=\"n\">6</td>"
                              "<td>token 7 <q><bdi> mat</bdi></q></td>"));
  EXPECT_THAT(text, HasSubstr("<td class=\"n\">2.5</td><td class=\"n\">2.25</td>"
                              "<td class=\"n\">2.000e-04</td><td class=\"n\">12</td>"));
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
  run.info.folder = folder_.path();
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
