#include "verify/report/junit.h"

#include <gmock/gmock.h>

#include "formats/utf8.h"
#include "verify/testing/sample_run.h"

namespace octlm::verify {
namespace {

using testing::compared;
using testing::experiment;
using ::testing::HasSubstr;
using testing::key;
using ::testing::Not;
using testing::run_of;

std::size_t times(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
    ++count;
  return count;
}

TEST(Junit, WhatHoldsAndCountsIsPlain) {
  const std::string xml = junit_xml(run_of({experiment("EXP-1", {compared(key("story"), 1e-4)})}));
  EXPECT_THAT(xml, HasSubstr("<testsuites name=\"octlm\" tests=\"2\" failures=\"0\" errors=\"0\""));
  EXPECT_THAT(xml, HasSubstr("name=\"story, full, cpu, float32\" classname=\"octlm.EXP-1\" "
                             "time=\"4.000\"/>"));
  EXPECT_THAT(xml, HasSubstr("name=\"verdict on cpu\" classname=\"octlm.EXP-1\" time=\"0\"/>"));
  EXPECT_THAT(xml, HasSubstr("timestamp=\"2026-03-01T12:00:00\""));
  EXPECT_EQ(times(xml, "<skipped"), 0U);
}

TEST(Junit, AFailureSaysItsOwnNumber) {
  const std::string xml = junit_xml(run_of({experiment(
      "EXP-1", {compared(key("a"), 2e-3), compared(key("b"), 1e-4), compared(key("c"), 5e-3)})}));
  EXPECT_THAT(xml, HasSubstr("<skipped message=\"fails: max_abs_error@1 2.000e-03 not &lt;= "
                             "1.000e-03; counted once, by the verdict on cpu\"/>"));
  EXPECT_THAT(xml, HasSubstr("<skipped message=\"fails: max_abs_error@1 5.000e-03 not"));
  EXPECT_THAT(xml, HasSubstr("name=\"b, full, cpu, float32\" classname=\"octlm.EXP-1\" "
                             "time=\"4.000\"/>"));
}

// One experiment that failed is one failure, however many comparisons broke; with all that there is
// to know of it.
TEST(Junit, AFailingExperimentIsCountedOnce) {
  RunResult run = run_of({experiment(
      "EXP-1", {compared(key("a"), 2e-3), compared(key("b"), 1e-4), compared(key("c"), 5e-3)})});
  const std::string xml = junit_xml(run);
  EXPECT_THAT(xml, HasSubstr("tests=\"4\" failures=\"1\" errors=\"0\" skipped=\"2\""));
  EXPECT_THAT(xml, HasSubstr("name=\"octlm\" tests=\"4\" failures=\"1\" errors=\"0\""));
  EXPECT_EQ(times(xml, "<failure"), 1U);
  const std::size_t at = xml.find("<failure");
  const std::string text = xml.substr(at, xml.find("</failure>") - at);
  for (const char* part :
       {"\nfails in a, full, cpu, float32: max_abs_error@1 2.000e-03 not &lt;= 1.000e-03",
        "\nfails in c, full, cpu, float32: max_abs_error@1 5.000e-03 not &lt;= 1.000e-03",
        "first bad position 6",
        "at position 6, token 7 &quot; mat&quot;: subject 2.5, reference 2.25",
        "\nengine: octlm 0.1", "\nto repeat: ./octlm run EXP-1 --device cpu"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_THAT(xml, HasSubstr("<property name=\"subject\" value=\"octlm 0.1\"/>"));
  EXPECT_THAT(xml,
              HasSubstr("<property name=\"reference\" value=\"transformers 4.57.6 (live)\"/>"));
  EXPECT_THAT(xml, HasSubstr("under test: octlm 0.1</system-out>"));
}

TEST(Junit, NaNIsAFailure) {
  const std::string xml =
      junit_xml(run_of({experiment("EXP-1", {compared(key("a"), std::nan(""))})}));
  EXPECT_THAT(xml,
              HasSubstr("fails in a, full, cpu, float32: max_abs_error@1 nan not &lt;= 1.000e-03"));
}

// I7: what was not run is never a pass, and neither is what was measured beside it.
TEST(Junit, NotRunIsSkippedWithItsReason) {
  const std::string xml = junit_xml(run_of({experiment(
      "EXP-1", {compared(key("a"), 1e-4), {key("b"), NotRun{"no weights here", "weights"}}})}));
  EXPECT_THAT(xml, HasSubstr("tests=\"3\" failures=\"0\" errors=\"0\" skipped=\"3\""));
  EXPECT_THAT(xml, HasSubstr("<skipped message=\"not run: no weights here\"/>"));
  EXPECT_THAT(xml, HasSubstr("<skipped message=\"holds, but the device has no verdict: no weights "
                             "here\"/>"));
}

TEST(Junit, APassThatDoesNotCountIsNoPlainPass) {
  const std::string xml =
      junit_xml(run_of({experiment("EXP-1", {compared(key("a"), 1e-4)}, 1e-3, "exploratory")}));
  EXPECT_THAT(xml, HasSubstr("tests=\"2\" failures=\"0\" errors=\"0\" skipped=\"2\""));
  EXPECT_THAT(xml, HasSubstr("passed, but it does not count: EXP-1 is exploratory: as the ledger"));
}

TEST(Junit, WithoutALedgerEveryPassCounts) {
  RunResult run = run_of({experiment("EXP-1", {compared(key("a"), 1e-4)}, 1e-3, "unregistered")});
  run.info.ledger_head.reset();
  EXPECT_EQ(times(junit_xml(run), "<skipped"), 0U);
}

TEST(Junit, WhatBrokeIsAnError) {
  const std::string xml =
      junit_xml(run_of({experiment("EXP-1", {{key("a"), Broken{"cannot open <x>"}}})}));
  EXPECT_THAT(xml, HasSubstr("tests=\"2\" failures=\"0\" errors=\"1\" skipped=\"1\""));
  EXPECT_THAT(xml, HasSubstr("\nerror in a, full, cpu, float32: cannot open &lt;x&gt;\n"));
}

TEST(Junit, AFailThatRestsOnAnEarlierOneIsAFailure) {
  ExperimentResult one = experiment("EXP-1", {compared(key("a"), 1e-4)});
  one.judgement.devices[0].verdict = one.judgement.verdict = Verdict::kFail;
  one.judgement.devices[0].reason = "it holds now, but failed before";
  const std::string xml = junit_xml(run_of({one}));
  EXPECT_THAT(xml, HasSubstr("tests=\"2\" failures=\"1\""));
}

TEST(Junit, WhatTheRunDidNotReachIsThere) {
  RunResult run = run_of({experiment("EXP-1", {compared(key("a"), 1e-4)})});
  run.not_started = {"EXP-2"};
  run.interrupted_by = 2;
  const std::string xml = junit_xml(run);
  EXPECT_THAT(xml, HasSubstr("<testsuite name=\"EXP-2\""));
  EXPECT_THAT(xml, HasSubstr("<skipped message=\"not run: the run ended before it\"/>"));
  EXPECT_THAT(xml, HasSubstr("<testsuite name=\"the run\""));
  EXPECT_THAT(xml, HasSubstr("<testsuites name=\"octlm\" tests=\"4\" failures=\"0\" errors=\"1\""));
}

// Everything that XML 1.0 forbids, and everything that would end an attribute or an element.
TEST(Junit, HoldsNoCharacterThatXmlForbids) {
  std::string hostile = "]]>\"'<&>\xEF\xBF\xBE\xEF\xBF\xBF\xED\xA0\x80\xff\xC0\x80\xF5\x80\x80\x80";
  for (int c = 0; c < 0x20; ++c) hostile += static_cast<char>(c);
  ExperimentResult one = experiment(
      "EXP-1",
      {compared(key(hostile), 2e-3), {key("b"), Broken{hostile}}, {key("c"), NotRun{hostile, ""}}});
  one.id = one.title = one.kind = one.trust.label = hostile;
  one.judgement.reason = hostile;
  const std::string xml = junit_xml(run_of({one}));
  ASSERT_EQ(formats::find_invalid_utf8(xml), std::string::npos);
  for (std::size_t at = 0; at < xml.size();) {
    const formats::CodePoint c = formats::checked_code_point(xml, at);
    EXPECT_TRUE(c.value == '\n' || (c.value >= 0x20 && c.value != 0xFFFE && c.value != 0xFFFF))
        << "U+" << std::hex << c.value;
    at += c.bytes;
  }
  EXPECT_THAT(xml, Not(HasSubstr("]]>")));
  EXPECT_THAT(xml, HasSubstr("\\u{fffe}\\u{ffff}"));
  EXPECT_THAT(xml, HasSubstr("\\x00"));
}

}  // namespace
}  // namespace octlm::verify
