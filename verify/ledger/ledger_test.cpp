#include "verify/ledger/ledger.h"

#include <signal.h>
#include <sys/resource.h>

#include <thread>

#include "formats/sha256.h"
#include "verify/ledger/journal.h"
#include "verify/ledger/locked_append.h"
#include "verify/testing/temporary_project.h"

namespace octlm::verify {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::message_of;

class LedgerFile : public testing::TemporaryProject {
 protected:
  // Two chains of three and one line.
  LedgerFile() {
    registered("EXP-1");
    registered("EXP-2");
    auto more = document("EXP-1");
    more["cases"].push_back({{"name", "b"}, {"token_ids", {4}}});
    amended(more);
    withdraw_claim(project_, "EXP-1", "done");
    all_ = ledger_lines();
  }

  std::string problem_of(const std::vector<std::string>& lines) const {
    write_ledger(lines);
    const auto problems = ledger().problems;
    return problems.empty() ? "" : problems.front();
  }
  std::vector<std::string> without(std::size_t index) const {
    auto lines = all_;
    lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(index));
    return lines;
  }

  std::vector<std::string> all_;
};

TEST_F(LedgerFile, EachLineNamesTheOneBeforeItInItsChain) {
  ASSERT_EQ(all_.size(), 4U);
  const auto prev = [&](std::size_t i) { return nlohmann::json::parse(all_[i])["prev"]; };
  EXPECT_EQ(prev(0), kFirstPrev);
  EXPECT_EQ(prev(1), kFirstPrev);
  EXPECT_EQ(prev(2), formats::sha256(all_[0]));
  EXPECT_EQ(prev(3), formats::sha256(all_[2]));
  EXPECT_THAT(ledger().problems, IsEmpty());
}

TEST_F(LedgerFile, TheHeadIsOfTheSortedHeads) {
  std::vector<std::string> heads = {formats::sha256(all_[3]), formats::sha256(all_[1])};
  for (int i = 3; i < 9; ++i) {
    registered("EXP-" + std::to_string(i));
    heads.push_back(formats::sha256(ledger_lines().back()));
  }
  std::sort(heads.begin(), heads.end());
  std::string text;
  for (const std::string& head : heads) text += head + "\n";
  EXPECT_EQ(ledger().head(), formats::sha256(text));
}

// Two branches that registered different experiments: the lines may come in either order.
TEST_F(LedgerFile, ChainsDoNotDependOnEachOther) {
  const std::string head = ledger().head();
  write_ledger({all_[1], all_[0], all_[2], all_[3]});
  EXPECT_THAT(ledger().problems, IsEmpty());
  EXPECT_EQ(ledger().head(), head);
}

TEST_F(LedgerFile, FindsALineThatWasEdited) {
  for (const std::size_t i : {0U, 2U}) {
    auto lines = all_;
    const std::size_t at = lines[i].find("\"time\":\"20");
    lines[i].replace(at, 10, "\"time\":\"19");
    write_ledger(lines);
    EXPECT_THAT(ledger().problems, ::testing::Contains(HasSubstr("was edited or removed"))) << i;
  }
}

TEST_F(LedgerFile, FindsASpecEditedInTheLastLine) {
  auto lines = all_;
  const std::size_t at = lines[1].find("\"at_most\":1.0");
  ASSERT_NE(at, std::string::npos);
  lines[1].replace(at, 13, "\"at_most\":9.0");
  EXPECT_THAT(problem_of(lines), HasSubstr("line 2 (EXP-2, register) was edited: its digest"));
}

TEST_F(LedgerFile, FindsALineRemovedInsideAChain) {
  EXPECT_THAT(problem_of(without(2)),
              HasSubstr("line 3 (EXP-1, withdraw) follows a line that is not there"));
  EXPECT_THAT(problem_of(without(0)), HasSubstr("follows a line that is not there"));
}

TEST_F(LedgerFile, FindsLinesReordered) {
  EXPECT_THAT(problem_of({all_[0], all_[1], all_[3], all_[2]}), HasSubstr("were reordered"));
  EXPECT_THAT(problem_of({all_[2], all_[0], all_[1], all_[3]}), HasSubstr("were reordered"));
}

TEST_F(LedgerFile, FindsALineInserted) {
  auto line = nlohmann::json::parse(all_[2]);
  line["reason"] = "another";
  auto lines = all_;
  lines.insert(lines.begin() + 3, line.dump());
  EXPECT_THAT(problem_of(lines), HasSubstr("a line was inserted"));
  lines = all_;
  lines.insert(lines.begin() + 1, all_[0]);
  EXPECT_THAT(problem_of(lines), HasSubstr("a line was inserted"));
}

TEST_F(LedgerFile, FindsAClassThatIsNotThatOfTheChange) {
  auto line = nlohmann::json::parse(all_[2]);
  line["class"] = "loosening";
  EXPECT_THAT(problem_of({all_[0], all_[1], line.dump()}), HasSubstr("its changes or its class"));
  line = nlohmann::json::parse(all_[2]);
  line["changes"] = nlohmann::json::array();
  EXPECT_THAT(problem_of({all_[0], all_[1], line.dump()}), HasSubstr("its changes or its class"));
}

TEST_F(LedgerFile, FindsWhatNoCommandWouldWrite) {
  const auto next = [&](const std::string& line, nlohmann::json changes) {
    auto json = nlohmann::json::parse(line);
    json.update(changes);
    return json.dump();
  };
  const auto again = next(all_[0], {{"prev", formats::sha256(all_[0])}});
  EXPECT_THAT(problem_of({all_[0], again}), HasSubstr("registers it a second time"));
  const auto first = next(all_[3], {{"prev", kFirstPrev}});
  EXPECT_THAT(problem_of({first}), HasSubstr("comes before its registration"));
  const auto after = next(all_[3], {{"prev", formats::sha256(all_[3])}});
  EXPECT_THAT(problem_of({all_[0], all_[2], all_[3], after}),
              HasSubstr("comes after its withdrawal"));
  const auto other = next(all_[1], {{"experiment", "EXP-3"}});
  EXPECT_THAT(problem_of({other}), HasSubstr("the spec of another experiment"));
  const auto older = next(all_[2], {{"time", "2020-01-01T00:00:00Z"}});
  EXPECT_THAT(problem_of({all_[0], older}), HasSubstr("is older than the line before it"));
}

TEST_F(LedgerFile, RefusesLinesThatAreNoLines) {
  for (const char* line :
       {"", "{", "[]", "1", "{\"experiment\": \"EXP-1\"}", "<<<<<<< HEAD", "{\"a\": 1, \"a\": 2}",
        R"({"experiment":"EXP-1","entry":"sign","prev":"0","time":"t","commit":"c"})",
        R"({"experiment":"EXP-1","entry":"withdraw","prev":"0","time":"t","commit":"c"})",
        R"({"experiment":"EXP-1","entry":"register","prev":"0","time":"t","commit":"c",)"
        R"("spec_sha256":"x","spec":{"id":"EXP-1","criteria":[{}]},"files":{},"metrics":[],)"
        R"("prior_results":{"computed":false,"declared":false,"source":""}})"}) {
    EXPECT_THAT(problem_of({all_[1], line}), HasSubstr("line 2")) << line;
  }
  auto boundless = nlohmann::json::parse(all_[1]);
  boundless["spec"]["criteria"][0].erase("at_most");
  EXPECT_THAT(problem_of({boundless.dump()}), HasSubstr("expected one bound"));
  auto unknown = nlohmann::json::parse(all_[1]);
  unknown["approved"] = true;
  EXPECT_THAT(problem_of({unknown.dump()}), HasSubstr("approved"));
}

TEST_F(LedgerFile, FindsALineThatWasCutOff) {
  std::ofstream(project_.ledger()) << all_[1] << '\n' << all_[0].substr(0, 30);
  EXPECT_THAT(ledger().problems, ElementsAre(HasSubstr("line 2 does not end")));
}

TEST_F(LedgerFile, AnInvalidLedgerIsNotAppendedTo) {
  write_ledger(without(2));
  EXPECT_THAT(message_of<LedgerInvalid>([&] { registered("EXP-3"); }),
              HasSubstr("the ledger is invalid"));
  EXPECT_EQ(ledger_lines(), without(2));
}

TEST(NoLedger, IsEmptyAndValid) {
  const Ledger none = read_ledger("/nonexistent/ledger.jsonl");
  EXPECT_THAT(none.problems, IsEmpty());
  EXPECT_EQ(none.head(), formats::sha256(""));
  EXPECT_TRUE(none.chain("EXP-1").empty());
}

TEST(LockedAppend, WhatCannotBeWrittenWholeIsTakenBack) {
  const testing::TemporaryFolder folder;
  const auto file = folder.path() / "file";
  std::ofstream(file) << "before\n";
  rlimit old = {};
  getrlimit(RLIMIT_FSIZE, &old);
  const rlimit tight = {.rlim_cur = 100, .rlim_max = old.rlim_max};
  signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &tight);
  const std::string what = message_of<std::runtime_error>(
      [&] { locked_append(file, [](auto) { return std::string(1000, 'x'); }); });
  setrlimit(RLIMIT_FSIZE, &old);
  EXPECT_THAT(what, HasSubstr(file.string() + ": cannot be written"));
  EXPECT_EQ(testing::text_of(file), "before\n");
}

TEST(LockedAppend, NothingIsWrittenWhenItIsRefused) {
  const testing::TemporaryFolder folder;
  const auto file = folder.path() / "new" / "file";
  EXPECT_THROW(locked_append(file, [](auto) -> std::string { throw std::invalid_argument("no"); }),
               std::invalid_argument);
  EXPECT_EQ(testing::text_of(file), "");
  EXPECT_THAT(message_of<std::runtime_error>(
                  [] { locked_append("/proc/nowhere/file", [](auto) { return "x"; }); }),
              HasSubstr("/proc/nowhere/file: cannot be written"));
}

TEST(LockedAppend, ManyAtOnce) {
  const testing::TemporaryFolder folder;
  const auto file = folder.path() / "file";
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 25; ++i) {
        // What is read under the lock is what stands there when it is written.
        locked_append(file,
                      [](std::string_view text) { return std::to_string(text.size()) + "\n"; });
      }
    });
  }
  for (auto& thread : threads) thread.join();
  std::istringstream text(testing::text_of(file));
  std::size_t expected = 0, count = 0;
  for (std::string line; std::getline(text, line); ++count) {
    EXPECT_EQ(line, std::to_string(expected));
    expected += line.size() + 1;
  }
  EXPECT_EQ(count, 100U);
}

class JournalFile : public ::testing::Test {
 protected:
  std::string begin(const std::string& device = "cpu", const std::string& resumes = "") {
    return append_intent(file_, {.key = {"spec", "code", device},
                                 .experiment = "EXP-1",
                                 .measurement_sha256 = "these",
                                 .run = "run",
                                 .resumes = resumes});
  }
  std::string attempt(const std::string& verdict, std::int64_t comparisons = 1) {
    const std::string intent = begin();
    append_result(file_, intent, {verdict, comparisons});
    return intent;
  }
  Journal journal() const { return read_journal(file_); }
  bool results_exist(const std::string& experiment, const std::string& measurement) const {
    Spec spec;
    spec.id = experiment;
    spec.measurement_sha256 = measurement;
    return journal().results_of(spec) != nullptr;
  }
  std::string count(const std::string& intent) const {
    const auto counted = journal().count({"spec", "code", "cpu"}, intent);
    return std::to_string(counted.attempt) + " " + std::to_string(counted.failed) + " " +
           std::to_string(counted.abandoned);
  }

  testing::TemporaryFolder folder_;
  std::filesystem::path file_ = folder_.path() / "reports" / "journal.jsonl";
};

TEST_F(JournalFile, CountsAttempts) {
  EXPECT_EQ(count(attempt("pass")), "1 0 0");
  EXPECT_EQ(count(attempt("fail")), "2 1 0");
  begin();  // never ends
  begin("cuda");
  attempt("not_run", 0);  // nothing was there to be compared
  EXPECT_EQ(count(attempt("error")), "4 1 1");
  EXPECT_EQ(journal().count({"spec", "other code", "cpu"}, "").attempt, 0);
}

TEST_F(JournalFile, AResumedAttemptIsOne) {
  const std::string first = begin();
  const std::string second = begin("cpu", first);
  EXPECT_EQ(count(second), "1 0 0");
  EXPECT_EQ(journal().last("run", "EXP-1", "cpu")->sha256, second);
  EXPECT_EQ(journal().last("run", "EXP-2", "cpu"), nullptr);
}

TEST_F(JournalFile, SurvivesALineThatAKillCutOff) {
  attempt("fail");
  std::ofstream(file_, std::ios::app) << "{\"type\":\"intent\",\"ti";
  EXPECT_EQ(journal().torn_lines, 1);
  EXPECT_EQ(count(attempt("pass")), "2 1 0");
  EXPECT_EQ(journal().torn_lines, 1);
  EXPECT_THAT(journal().problems, IsEmpty());
}

TEST_F(JournalFile, FindsAResultWithoutIntent) {
  append_result(file_, std::string(64, 'a'), {"pass", 3});
  EXPECT_THAT(journal().problems, ElementsAre(HasSubstr("line 1: a result without intent")));
}

TEST_F(JournalFile, FindsASecondResult) {
  append_result(file_, attempt("fail"), {"pass", 1});
  EXPECT_THAT(journal().problems, ElementsAre(HasSubstr("a second result")));
  EXPECT_EQ(journal().attempts[0].result->verdict, "fail");
}

TEST_F(JournalFile, KnowsWhatAnAttemptWasWith) {
  const nlohmann::json one = {{"subject", {{"engine", "mine"}, {"version", "1"}}}};
  const nlohmann::json other = {{"subject", {{"engine", "mine"}, {"version", "2"}}}};
  const auto attempt_with = [&](const nlohmann::json& identity, const char* verdict) {
    const std::string intent = begin();
    append_engines(file_, intent, identity);
    append_result(file_, intent, {verdict, 1});
    return intent;
  };
  const auto counted = [&](const std::string& intent) {
    const Journal read = journal();
    const auto found = read.count(read.find(intent)->intent.key, intent);
    return std::to_string(found.attempt) + " " + std::to_string(found.failed);
  };
  const std::string failed = attempt_with(one, "fail"), mended = attempt_with(other, "pass");
  EXPECT_EQ(counted(failed), "1 1");
  EXPECT_EQ(counted(mended), "1 0");
  EXPECT_EQ(counted(attempt_with(one, "pass")), "2 1");
  const Journal read = journal();
  EXPECT_EQ(read.failed_before(read.attempts[1]), nullptr);
  EXPECT_EQ(read.failed_before(read.attempts[2]), &read.attempts[0]);
  EXPECT_THAT(read.attempts[1].engines, HasSubstr("mine 2 ["));
  EXPECT_NE(read.attempts[1].engines, read.attempts[0].engines);
  EXPECT_THAT(read.problems, IsEmpty());
}

// An old journal does not say what its attempts were with: they count as before.
TEST_F(JournalFile, AnAttemptWithUnknownEnginesMayHaveBeenAtTheSame) {
  attempt("fail");
  const std::string known = begin();
  append_engines(file_, known, {{"subject", {{"engine", "mine"}}}});
  append_result(file_, known, {"pass", 1});
  const Journal read = journal();
  EXPECT_EQ(read.count(read.attempts[1].intent.key, known).failed, 1);
  EXPECT_EQ(read.failed_before(read.attempts[1]), &read.attempts[0]);
}

TEST_F(JournalFile, FindsEnginesWithoutIntentAndOthersOfOne) {
  append_engines(file_, std::string(64, 'a'), {{"subject", {{"engine", "x"}}}});
  const std::string intent = begin();
  append_engines(file_, intent, {{"subject", {{"engine", "x"}}}});
  append_engines(file_, intent, {{"subject", {{"engine", "y"}}}});
  EXPECT_THAT(journal().problems, ElementsAre(HasSubstr("line 1: engines without intent"),
                                              HasSubstr("line 4: other engines of one intent")));
  EXPECT_THAT(journal().attempts[0].engines, HasSubstr("x ["));
}

// Numbers are known by what was measured, under whatever id, as soon as they are finished.
TEST_F(JournalFile, KnowsResultsByWhatTheyMeasure) {
  const std::string intent = begin();
  append_finished(file_, intent, {{"story", "full", "cpu", "float32"}, "digest", {"m1", "m2"}});
  append_finished(file_, intent, {{"other", "full", "cpu", "float32"}, "digest", {}});
  Spec spec;
  spec.id = "EXP-9";
  for (const auto& [measures, known] :
       {std::pair<std::vector<std::string>, bool>{{"m3", "m2"}, true},
        {{"m3"}, false},
        {{}, false}}) {
    spec.measures = measures;
    EXPECT_EQ(journal().results_of(spec) != nullptr, known);
  }
}

// Whoever edits a line, takes one out or moves one, breaks the chain; a kill does not.
TEST_F(JournalFile, IsAChain) {
  attempt("pass");
  attempt("fail");
  attempt("pass");
  ASSERT_THAT(journal().problems, IsEmpty());
  std::vector<std::string> lines;
  std::ifstream stream(file_);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  ASSERT_EQ(lines.size(), 6U);
  const auto problems_of = [&](std::vector<std::string> changed) {
    std::string text;
    for (const std::string& line : changed) text += line + "\n";
    return parse_journal(text).problems;
  };
  const auto broken = HasSubstr("does not follow the line before it");
  auto edited = lines;
  edited[3].replace(edited[3].find("fail"), 4, "pass");
  EXPECT_THAT(problems_of(edited), Contains(broken));
  auto removed = lines;
  removed.erase(removed.begin() + 2, removed.begin() + 4);
  EXPECT_THAT(problems_of(removed), Contains(broken));
  auto moved = lines;
  std::swap(moved[1], moved[5]);
  EXPECT_THAT(problems_of(moved), Contains(broken));
  auto begun = lines;
  begun.erase(begun.begin());
  EXPECT_THAT(problems_of(begun), Contains(broken)) << "the first line is gone";
  auto unchained = lines;
  unchained[4].replace(unchained[4].find("\"prev\""), 6, "\"perv\"");
  EXPECT_THAT(problems_of(unchained), Contains(broken));
  EXPECT_THROW(require_valid(parse_journal(edited[3] + "\n"), "journal"), LedgerInvalid);
}

// A journal that was begun before lines named each other goes on as a chain.
TEST_F(JournalFile, AnOldOneGoesOn) {
  std::filesystem::create_directories(file_.parent_path());
  std::ofstream(file_) << R"({"type":"intent","experiment":"EXP-1","device":"cpu"})" << '\n';
  attempt("pass");
  EXPECT_THAT(journal().problems, IsEmpty());
  EXPECT_EQ(journal().attempts.size(), 2U);
}

// Longer lines than are read at once.
TEST_F(JournalFile, ALongLineIsFollowedToo) {
  const std::string intent = begin();
  append_engines(file_, intent, {{"subject", {{"engine", std::string(100'000, 'x')}}}});
  append_result(file_, intent, {"pass", 1});
  EXPECT_THAT(journal().problems, IsEmpty());
}

TEST_F(JournalFile, KnowsWhoseResultsExist) {
  begin();
  EXPECT_FALSE(results_exist("EXP-1", "these"));
  attempt("pass");
  EXPECT_TRUE(results_exist("EXP-1", "others"));
  EXPECT_TRUE(results_exist("EXP-2", "these"));
  EXPECT_FALSE(results_exist("EXP-2", "others"));
  EXPECT_FALSE(results_exist("EXP-2", ""));
}

TEST_F(JournalFile, HostileLinesAreLeftOut) {
  std::filesystem::create_directories(file_.parent_path());
  std::ofstream(file_) << "[]\n1\n{\"type\": 3}\n{\"type\":\"intent\",\"device\":7}\n"
                       << "{\"type\":\"result\",\"intent\":[]}\n\xff\n"
                       << std::string(1'000'000, '[') << '\n';
  EXPECT_EQ(journal().torn_lines, 5);
  EXPECT_EQ(journal().attempts.size(), 1U);
  EXPECT_EQ(journal().problems.size(), 1U);
}

}  // namespace
}  // namespace octlm::verify
