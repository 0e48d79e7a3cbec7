// What a person can do wrong, or try, and what the audit says of it.
#include "verify/ledger/audit.h"

#include <signal.h>
#include <sys/resource.h>

#include "formats/sha256.h"
#include "verify/testing/temporary_project.h"

namespace octlm::verify {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::message_of;
using ::testing::Not;

namespace fs = std::filesystem;

class Register : public testing::TemporaryProject {
 protected:
  std::string refusal(const std::function<void()>& action) {
    const auto before = ledger_lines();
    const std::string what = message_of<std::invalid_argument>(action);
    EXPECT_EQ(ledger_lines(), before) << "nothing is written";
    return what;
  }
};

TEST_F(Register, MakesAClaimConfirmatory) {
  const Spec spec = write(document("EXP-1"));
  EXPECT_EQ(trust(spec).label, "unregistered");
  register_claim(project_, spec, {});
  const Trust is = trust(spec);
  EXPECT_EQ(is.label, "confirmatory");
  EXPECT_TRUE(is.counts());
  EXPECT_EQ(is.registered_time.size(), 20U);
  EXPECT_EQ(is.registered_commit, "unknown");  // no repository here
  EXPECT_EQ(is.amendments, 0);
  EXPECT_FALSE(is.prior_results);
}

TEST_F(Register, PriorResultsMakeItAReplication) {
  const Spec spec = registered("EXP-1", {.declared = true, .source = "published record"});
  EXPECT_EQ(trust(spec).label, "replication");
  EXPECT_TRUE(trust(spec).counts());
  EXPECT_EQ(trust(spec).prior_source, "published record");
}

TEST_F(Register, RefusesAnIdTwice) {
  const Spec spec = registered("EXP-1");
  EXPECT_THAT(refusal([&] { register_claim(project_, spec, {}); }),
              HasSubstr("registered already"));
}

TEST_F(Register, RefusesADeclarationWithoutSource) {
  EXPECT_THAT(refusal([&] { registered("EXP-1", {.declared = true, .source = " "}); }),
              HasSubstr("--source"));
}

// The numbers were seen, under this id or another: then they are prior results.
TEST_F(Register, RefusesNoneWhenTheJournalKnowsBetter) {
  const Spec first = write(document("EXP-1"));
  run_once(first, 0.5);
  auto same = document("EXP-2");
  same["criteria"][0]["at_most"] = 0.6;
  const Spec second = write(same);
  auto other = document("EXP-3");
  other["cases"][0]["token_ids"] = {7};
  const Spec third = write(other);
  for (const Spec& spec : {first, second}) {
    EXPECT_THAT(refusal([&] { register_claim(project_, spec, {}); }),
                HasSubstr("such results are in reports/journal.jsonl"));
  }
  register_claim(project_, third, {});
  register_claim(project_, second, {.declared = true, .source = "EXP-1"});
  EXPECT_EQ(trust(second).label, "replication");
  EXPECT_THAT(trust(second).prior_source,
              ::testing::StartsWith("EXP-1; seen in reports/journal.jsonl (EXP-1, run 2"));
}

// Numbers are known by the comparison: a claim that failed, under another id, with its cases
// reversed, renamed or more of them, with a path dropped, a device or a text more, or without its
// empty parameters, would show again what was seen.
TEST_F(Register, ACopyOfWhatWasSeenIsKnown) {
  auto base = document("EXP-1");
  base["subject"]["paths"] = {"full", "half"};
  base["cases"].push_back({{"name", "poem"}, {"token_ids", {4, 5}}});
  const Spec first = write(base);
  run_with(
      first, [](const ComparisonKey&) { return measured(1.5); }, "c0de", plan_of(first));
  std::map<std::string, nlohmann::json> copies;
  const auto copy = [&](const std::string& what) -> nlohmann::json& {
    nlohmann::json& made = copies[what] = base;
    made["id"] = "EXP-" + std::to_string(100 + copies.size());
    return made;
  };
  auto& reversed = copy("reversed")["cases"];
  std::reverse(reversed.begin(), reversed.end());
  copy("renamed")["cases"][0]["name"] = "tale";
  copy("path dropped")["subject"]["paths"] = {"half"};
  copy("case dropped")["cases"].erase(0);
  copy("device more")["subject"]["devices"] = {"cpu", "cuda"};
  copy("case more")["cases"].push_back({{"name", "new"}, {"token_ids", {9}}});
  copy("no parameters").erase("parameters");
  for (const auto& [what, copied] : copies) {
    const Spec spec = write(copied);
    EXPECT_THAT(refusal([&] { register_claim(project_, spec, {}); }),
                HasSubstr("such results are in reports/journal.jsonl (EXP-1, run "))
        << what;
  }
  auto other = base;
  other["id"] = "EXP-200";
  other["cases"].erase(1);
  other["cases"][0]["token_ids"] = {7};
  register_claim(project_, write(other), {});
  EXPECT_EQ(trust(write(other)).label, "confirmatory");
}

// And where no journal is, by what was published.
TEST_F(Register, ACopyOfWhatWasPublishedIsKnown) {
  const Spec spec = registered("EXP-1");
  TemporaryProject::publish(run_once(spec, 1.5).info.folder);
  fs::remove(project_.journal());
  auto copied = document("EXP-2");
  const nlohmann::json fresh = {{"name", "new"}, {"token_ids", {9}}};
  copied["cases"].insert(copied["cases"].begin(), fresh);
  EXPECT_THAT(refusal([&] { register_claim(project_, write(copied), {}); }),
              HasSubstr("the ledger (EXP-1 has 1 of its 2 comparisons)"));
  copied["cases"].erase(1);
  register_claim(project_, write(copied), {});
}

TEST_F(Register, AnEditedSpecIsUnregisteredUntilItIsAmended) {
  registered("EXP-1");
  auto changed = document("EXP-1");
  changed["criteria"][0]["at_most"] = 0.5;
  const Spec spec = write(changed);
  EXPECT_EQ(trust(spec).label, "unregistered");
  EXPECT_THAT(trust(spec).why, HasSubstr("amend it"));
  EXPECT_TRUE(amend_claim(project_, spec, "tighter").narrows());
  EXPECT_EQ(trust(spec).label, "confirmatory");
  EXPECT_EQ(trust(spec).amendments, 1);
  EXPECT_EQ(trust(spec).last_amendment, "narrowing");
}

TEST_F(Register, ALooseningBeforeAnyResultStaysConfirmatory) {
  registered("EXP-1");
  auto looser = document("EXP-1");
  looser["criteria"][0]["at_most"] = 2.0;
  EXPECT_EQ(trust(amended(looser)).label, "confirmatory");
}

TEST_F(Register, ALooseningAfterResultsIsExploratoryForGood) {
  const Spec first = registered("EXP-1");
  run_once(first, 1.5);
  auto looser = document("EXP-1");
  looser["criteria"][0]["at_most"] = 2.0;
  EXPECT_EQ(trust(amended(looser)).label, "exploratory");
  looser["criteria"][0]["at_most"] = 0.1;
  const Spec again = amended(looser);
  EXPECT_EQ(trust(again).label, "exploratory");
  EXPECT_FALSE(trust(again).counts());
}

TEST_F(Register, ALooseningOfAReplicationIsExploratory) {
  registered("EXP-1", {.declared = true, .source = "published record"});
  auto looser = document("EXP-1");
  looser["cases"].push_back({{"name", "b"}, {"token_ids", {4}}});
  looser["must_catch"].clear();
  EXPECT_EQ(trust(amended(looser)).label, "exploratory");
}

TEST_F(Register, RefusesAmendmentsOfNothing) {
  EXPECT_THAT(refusal([&] { amended(document("EXP-1")); }), HasSubstr("not registered"));
  registered("EXP-1");
  EXPECT_THAT(refusal([&] { amended(document("EXP-1")); }), HasSubstr("did not change"));
  auto changed = document("EXP-1");
  changed["title"] = "Another";
  const Spec spec = write(changed);
  EXPECT_THAT(refusal([&] { amend_claim(project_, spec, " "); }), HasSubstr("--reason"));
}

TEST_F(Register, AWithdrawnClaimCountsNoMore) {
  const Spec spec = registered("EXP-1");
  withdraw_claim(project_, "EXP-1", "a mistake");
  EXPECT_EQ(trust(spec).label, "unregistered");
  EXPECT_EQ(trust(spec).why, "withdrawn: a mistake");
  EXPECT_THAT(refusal([&] { withdraw_claim(project_, "EXP-1", "again"); }),
              HasSubstr("was withdrawn"));
  EXPECT_THAT(refusal([&] { register_claim(project_, spec, {}); }),
              HasSubstr("registered already"));
  EXPECT_THAT(refusal([&] { withdraw_claim(project_, "EXP-9", "x"); }),
              HasSubstr("not registered"));
}

class Published : public testing::TemporaryProject {
 protected:
  Published() {
    spec_ = registered("EXP-1");
    run_ = run_once(spec_, 0.5).info.folder;
  }
  fs::path publish() { return TemporaryProject::publish(run_).folder; }

  Spec spec_;
  fs::path run_;
};

TEST_F(Published, ARunFitsTheLedger) {
  const fs::path folder = publish();
  EXPECT_EQ(testing::text_of(folder / "results.jsonl"), testing::text_of(run_ / "results.jsonl"));
  const auto line = nlohmann::json::parse(ledger_lines().back());
  EXPECT_EQ(line["entry"], "publish");
  EXPECT_EQ(line["verdict"], "pass");
  EXPECT_EQ(line["artefacts"].size(), std::size(kArtefacts));
  EXPECT_THAT(problems(), IsEmpty());
  EXPECT_THAT(notes(), IsEmpty()) << "it anchors its claim";
}

TEST_F(Published, DoesNotTellWhereTheCheckoutWas) {
  for (const std::string& line : lines(run_ / "results.jsonl")) {
    const auto json = nlohmann::json::parse(line);
    if (json["type"] == "experiment") {
      EXPECT_EQ(json["spec"], "experiments/registered/EXP-1.json");
    }
    EXPECT_THAT(line, Not(HasSubstr(project_.root.string())));
  }
}

TEST_F(Published, RefusesWhatIsNotInTheLedgerOrTheJournal) {
  const auto refused = [&](const fs::path& folder) {
    const auto before = ledger_lines();
    const std::string what =
        message_of<std::invalid_argument>([&] { TemporaryProject::publish(folder); });
    EXPECT_EQ(ledger_lines(), before);
    EXPECT_FALSE(fs::exists(project_.published() / folder.filename()));
    return what;
  };
  EXPECT_THAT(refused(run_once(write(document("EXP-2")), 0.5).info.folder),
              HasSubstr("EXP-2 is unregistered"));
  fs::remove(project_.journal());
  EXPECT_THAT(refused(run_), HasSubstr("the journal has no finished attempt"));
  EXPECT_THAT(refused(project_.root / "nowhere"), HasSubstr("nowhere"));
}

TEST_F(Published, RefusesAnotherVerdictThanTheJournals) {
  replace(run_ / "results.jsonl", "\"devices\":{\"cpu\":\"pass\"}",
          "\"devices\":{\"cpu\":\"error\"}");
  EXPECT_THAT(message_of<std::invalid_argument>([&] { publish(); }), HasSubstr("another verdict"));
}

TEST_F(Published, RefusesTwiceAndUnfinished) {
  publish();
  EXPECT_THAT(message_of<std::invalid_argument>([&] { publish(); }),
              HasSubstr("published already"));
  const fs::path killed = project_.reports() / "killed";
  fs::create_directory(killed);
  write_lines(killed / "results.jsonl", {lines(run_ / "results.jsonl").front()});
  EXPECT_THAT(message_of<std::invalid_argument>([&] { TemporaryProject::publish(killed); }),
              HasSubstr("did not end"));
}

// What `publish` says when no file may grow beyond so many bytes: a disk that is full.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &old_);
    old_handler_ = signal(SIGXFSZ, SIG_IGN);
    const rlimit tight = {.rlim_cur = bytes, .rlim_max = old_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &tight);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &old_);
    signal(SIGXFSZ, old_handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit old_ = {};
  sighandler_t old_handler_ = SIG_DFL;
};

TEST_F(Published, IsTakenBackWhenTheLedgerCannotBeWritten) {
  for (int i = 2; i < 8; ++i)
    registered("EXP-" + std::to_string(i), {.declared = true, .source = "EXP-1"});
  const auto size = fs::file_size(project_.ledger());
  ASSERT_GT(size, fs::file_size(run_ / "results.jsonl")) << "only the ledger meets the limit";
  std::string what;
  {
    const Program program = testing::language_program();
    const auto render = [](const fs::path&, const fs::path& to) {
      for (const std::string name : kArtefacts) {
        if (name != "results.jsonl") std::ofstream(to / name) << "small";
      }
    };
    const FileSizeLimit limit(size + 100);
    what = message_of<std::runtime_error>([&] {
      publish_run(project_, run_, {.kinds = kinds_, .program = program, .render = render});
    });
  }
  EXPECT_THAT(what, HasSubstr("ledger.jsonl: cannot be written"));
  EXPECT_EQ(fs::file_size(project_.ledger()), size);
  EXPECT_TRUE(fs::is_empty(project_.published()));
}

TEST_F(Published, LeavesNothingWhenACopyDoesNotFit) {
  const auto before = ledger_lines();
  std::string what;
  {
    const FileSizeLimit limit(fs::file_size(run_ / "results.jsonl") / 2);
    what = message_of<std::runtime_error>([&] { publish(); });
  }
  EXPECT_THAT(what, HasSubstr("results.jsonl"));
  EXPECT_EQ(ledger_lines(), before);
  EXPECT_TRUE(fs::is_empty(project_.published())) << "a partial copy was left";
}

// What lies beside results.jsonl is ignored: the pages are made anew.
TEST_F(Published, MakesItsOwnPages) {
  std::ofstream(run_ / "report.html") << "<p>all is well";
  std::ofstream(run_ / "summary.md") << "all is well";
  fs::remove(run_ / "junit.xml");
  const fs::path folder = publish();
  EXPECT_THAT(testing::text_of(folder / "report.html"), HasSubstr("EXP-1"));
  EXPECT_THAT(testing::text_of(folder / "summary.md"), Not(HasSubstr("all is well")));
  EXPECT_TRUE(fs::exists(folder / "junit.xml"));
  EXPECT_THAT(problems(), IsEmpty());
}

// Whoever was killed between the copy and the ledger's line left a folder that nobody names.
TEST_F(Published, GoesOnWhereAKilledOneStopped) {
  const fs::path to = project_.published() / run_.filename();
  fs::create_directories(to);
  fs::copy_file(run_ / "results.jsonl", to / "results.jsonl");
  std::ofstream(to / "report.html") << "half of a pa";
  fs::create_directories(project_.published() / ("." + run_.filename().string() + ".partial"));
  EXPECT_EQ(publish(), to);
  EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(Published, LeavesAFolderOfAnother) {
  const fs::path to = project_.published() / run_.filename();
  fs::create_directories(to);
  std::ofstream(to / "results.jsonl") << "mine";
  EXPECT_THAT(message_of<std::invalid_argument>([&] { publish(); }), HasSubstr("move it away"));
  EXPECT_EQ(testing::text_of(to / "results.jsonl"), "mine");
}

// What a hand can do to a results.jsonl, each of which publishes nothing.
TEST_F(Published, RefusesWhatTheJournalDoesNotHave) {
  const auto original = lines(run_ / "results.jsonl");
  const auto at = [&](const std::string& type) {
    return std::ranges::find_if(original,
                                [&](const std::string& line) {
                                  return line.starts_with("{\"type\":\"" + type + "\"");
                                }) -
           original.begin();
  };
  const auto with = [&](const std::string& type, const std::string& what, const std::string& by) {
    auto all = original;
    std::string& line = all[static_cast<std::size_t>(at(type))];
    const std::size_t found = line.find(what);
    EXPECT_NE(found, std::string::npos) << what;
    line.replace(found, what.size(), by);
    return all;
  };
  const auto twice = [&](const std::string& type) {
    auto all = original;
    all.insert(all.begin() + at(type), original[static_cast<std::size_t>(at(type))]);
    return all;
  };
  auto without = original;
  without.erase(without.begin() + at("comparison"));
  const std::vector<std::pair<std::string, std::vector<std::string>>> forged = {
      {"is not what the journal has of this run",
       with("comparison", "\"max_abs_error@1\":0.5", "\"max_abs_error@1\":0.4")},
      {"a second line of", twice("comparison")},
      {"a second line of EXP-1", twice("experiment")},
      {"several summary lines", twice("summary")},
      {"several run lines", twice("run")},
      {"the journal has a comparison of this run that is not there", without},
      {"its verdict is not what follows",
       with("experiment", "\"verdict\":\"pass\"", "\"verdict\":\"fail\"")},
      {"its criteria is not what follows",
       with("experiment", "\"at_most\":1.0", "\"at_most\":9.0")},
      {"its label", with("experiment", "\"label\":\"confirmatory\"", "\"label\":\"replication\"")},
      {"not count", with("summary", "\"pass\":1", "\"pass\":7")},
      {"engines", with("started", "\"identity\":{}", "\"identity\":{\"subject\":{}}")},
  };
  const auto before = ledger_lines();
  for (const auto& [why, all] : forged) {
    write_lines(run_ / "results.jsonl", all);
    const std::string what = message_of<std::invalid_argument>([&] { publish(); });
    EXPECT_THAT(what, HasSubstr(why == "its label" ? " by the ledger" : why));
    EXPECT_THAT(what, Not(HasSubstr("\n")));
    EXPECT_EQ(ledger_lines(), before) << why;
    EXPECT_FALSE(fs::exists(project_.published() / run_.filename())) << why;
  }
  write_lines(run_ / "results.jsonl", original);
  publish();
}

TEST_F(Published, RefusesACopiedFolder) {
  const fs::path copied = project_.reports() / "copy";
  fs::copy(run_, copied);
  EXPECT_THAT(message_of<std::invalid_argument>([&] { TemporaryProject::publish(copied); }),
              HasSubstr("and the folder is called copy"));
  publish();
  EXPECT_THAT(message_of<std::invalid_argument>([&] { TemporaryProject::publish(copied); }),
              HasSubstr("published already"));
}

TEST_F(Published, RefusesADamagedJournal) {
  run_once(spec_, 0.5);  // lines that follow the edited one
  replace(project_.journal(), "\"comparisons\":1", "\"comparisons\":2");
  EXPECT_THAT(message_of<LedgerInvalid>([&] { publish(); }), HasSubstr("the journal is damaged"));
}

using Tampering = Published;

TEST_F(Tampering, NothingIsFoundWhereNothingWasDone) {
  EXPECT_THAT(problems(), IsEmpty());
  EXPECT_THAT(notes(), ElementsAre(HasSubstr("EXP-1: line 1 (EXP-1, register) is not anchored")));
}

TEST_F(Tampering, OfALedgerLineIsAProblem) {
  publish();
  auto all = ledger_lines();
  replace(project_.ledger(), "\"declared\":false", "\"declared\":true");
  EXPECT_THAT(problems(), Contains(HasSubstr("experiments/ledger.jsonl: line 2")));
  write_ledger({all[1], all[0]});
  EXPECT_THAT(problems(), Contains(HasSubstr("reordered")));
  write_ledger({all[1]});
  EXPECT_THAT(problems(), Contains(HasSubstr("follows a line that is not there")));
  write_ledger({all[0], all[0], all[1]});
  EXPECT_THAT(problems(), Contains(HasSubstr("inserted")));
}

// The end of a chain, that the chain itself cannot show.
TEST_F(Tampering, ALineRemovedAtTheEndIsNamedByTheReport) {
  publish();
  const auto all = ledger_lines();
  write_ledger({all[0]});
  EXPECT_THAT(problems(), Contains(HasSubstr("no line of the ledger names this report")));
  write_ledger({});
  EXPECT_THAT(problems(), Contains(HasSubstr("names a line of the ledger that is not there")));
}

TEST_F(Tampering, ASpecEditedAfterRegistration) {
  replace(file_of("EXP-1"), "\"at_most\":1.0", "\"at_most\":5.0");
  EXPECT_THAT(problems(),
              ElementsAre(HasSubstr("EXP-1.json: was edited after registration (loosening: "
                                    "criteria[max_abs_error@1].at_most)")));
}

TEST_F(Tampering, ProseEditedAfterRegistration) {
  replace(file_of("EXP-1"), "Yes.", "It depends.");
  EXPECT_THAT(problems(),
              ElementsAre(HasSubstr("edited after registration (narrowing: prediction)")));
}

TEST_F(Tampering, ASpecThatIsGoneOrUnreadable) {
  fs::remove(file_of("EXP-1"));
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("its file is gone")));
  std::ofstream(file_of("EXP-1")) << "{";
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("EXP-1.json")));
}

TEST_F(Tampering, ASpecThatNobodyRegisteredIsNoProblem) {
  write(document("EXP-2"));
  EXPECT_THAT(problems(), IsEmpty());
  EXPECT_THAT(notes(), Contains(HasSubstr("EXP-2.json: is not registered")));
}

TEST_F(Tampering, APromptFileEdited) {
  std::ofstream(project_.root / "prompt.json") << "What is two and two?";
  auto with_prompt = document("EXP-2");
  with_prompt["cases"].push_back({{"name", "chat"}, {"chat", "prompt.json"}});
  register_claim(project_, write(with_prompt), {.declared = true, .source = "EXP-1"});
  EXPECT_THAT(problems(), IsEmpty());
  std::ofstream(project_.root / "prompt.json") << "What is one and one?";
  EXPECT_THAT(problems(),
              ElementsAre(HasSubstr("a file that it names was edited after registration: "
                                    "files.prompt.json")));
}

TEST_F(Tampering, APublishedReportEdited) {
  const fs::path folder = publish();
  for (const std::string name : kArtefacts) EXPECT_TRUE(fs::exists(folder / name)) << name;
  replace(folder / "summary.md", "EXP-1", "EXP-l");
  replace(folder / "junit.xml", "EXP-1", "EXP-l");
  replace(folder / "report.html", "EXP-1", "EXP-l");
  EXPECT_THAT(problems(), ::testing::UnorderedElementsAre(HasSubstr("summary.md was edited"),
                                                          HasSubstr("junit.xml was edited"),
                                                          HasSubstr("report.html was edited")));
}

TEST_F(Tampering, PublishedResultsEdited) {
  const fs::path folder = publish();
  replace(folder / "results.jsonl", "\"verdict\":\"pass\"", "\"verdict\":\"fail\"");
  EXPECT_THAT(problems(),
              ElementsAre(HasSubstr("results.jsonl was edited"), HasSubstr("its verdict")));
}

TEST_F(Tampering, FilesAddedToAndRemovedFromAReport) {
  const fs::path folder = publish();
  std::ofstream(folder / "index.html") << "<p>all is well";
  fs::remove(folder / "summary.md");
  EXPECT_THAT(problems(),
              ElementsAre(HasSubstr("summary.md is gone"), HasSubstr("index.html was added")));
  fs::remove_all(folder);
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("is gone, and the ledger names it")));
}

TEST_F(Tampering, AReportThatWasNeverPublished) {
  fs::create_directories(project_.published());
  fs::copy(run_, project_.published() / "by hand");
  EXPECT_THAT(problems(),
              ElementsAre(HasSubstr("by hand: no line of the ledger names this report")));
}

TEST_F(Tampering, AResultWithoutIntent) {
  auto all = lines(project_.journal());
  write_lines(project_.journal(), {all.back()});
  EXPECT_THAT(problems(), Contains(HasSubstr("a result without intent")));
  write_lines(project_.journal(), {all[1]});
  EXPECT_THAT(problems(), Contains(HasSubstr("a comparison without intent")));
  write_lines(project_.journal(), all);
  EXPECT_THAT(problems(), IsEmpty());
  replace(project_.journal(), "\"EXP-1\"", "\"EXP-l\"");
  EXPECT_THAT(problems(), Contains(HasSubstr("a result without intent"))) << "an intent edited";
}

TEST_F(Tampering, APublishedResultWithoutIntent) {
  const fs::path file = publish() / "results.jsonl";
  std::string results = testing::text_of(file);
  const std::size_t at = results.find("\"intent\":\"", results.find("\"attempts\"")) + 10;
  std::ofstream(file) << results.replace(at, 64, "");
  EXPECT_THAT(problems(), Contains(HasSubstr("EXP-1 on cpu: a result without intent")));
}

// An amendment that does not say that there were results: another clone's ledger, or a hand.
TEST_F(Tampering, ALooseningAfterResults) {
  auto looser = document("EXP-1");
  looser["criteria"][0]["at_most"] = 2.0;
  const std::string journal = testing::text_of(project_.journal());
  fs::remove(project_.journal());
  amended(looser);
  std::ofstream(project_.journal()) << journal;
  // As if the results were a day older than the amendment: intents are found by their bytes.
  auto all = lines(project_.journal());
  auto intent = nlohmann::json::parse(all.front());
  auto result = nlohmann::json::parse(all.back());
  intent["time"] = "2020-01-01T00:00:00.000000Z";
  for (auto* line : {&intent, &result}) line->erase("prev");  // an old journal
  result["intent"] = formats::sha256(intent.dump());
  write_lines(project_.journal(), {intent.dump(), result.dump()});
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("was registered after results"),
                                      HasSubstr("loosens the claim after results")));
}

TEST_F(Tampering, APassAfterAFailWithEqualCode) {
  run_once(spec_, 1.5, "new code");
  const std::string intent =
      append_intent(project_.journal(),
                    {.key = {spec_.sha256, "new code", "cpu"}, .experiment = "EXP-1", .run = "x"});
  append_result(project_.journal(), intent, {"pass", 1});
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("a pass of")));
}

TEST_F(Tampering, APassPublishedAfterAFailWithEqualCode) {
  TemporaryProject::publish(run_once(spec_, 1.5, "new code").info.folder);
  EXPECT_THAT(problems(), IsEmpty()) << "a fail may be published";
  // The same code on another machine, whose journal does not know.
  fs::rename(project_.journal(), project_.root / "elsewhere");
  TemporaryProject::publish(run_once(spec_, 0.5, "new code").info.folder);
  EXPECT_THAT(problems(), Contains(HasSubstr("publishes a pass on cpu after a fail")));
}

TEST_F(Tampering, AnAttemptThatNeverEndedStaysVisible) {
  append_intent(project_.journal(),
                {.key = {spec_.sha256, "c", "cpu"}, .experiment = "EXP-1", .run = "x"});
  EXPECT_THAT(problems(), IsEmpty());
  EXPECT_THAT(notes(), Contains(HasSubstr("1 attempts never ended")));
}

TEST_F(Tampering, AnAttemptThatRestsOnALineThatIsGone) {
  auto looser = document("EXP-1");
  looser["title"] = "Another";
  const Spec spec = amended(looser);
  run_once(spec, 0.5);
  write_ledger({ledger_lines()[0]});
  EXPECT_THAT(problems(), Contains(HasSubstr("rests on a line of the ledger that is not there")));
}

class Tagged : public Published {
 protected:
  void git(const std::string& arguments) {
    const std::string command = "git -C '" + project_.root.string() +
                                "' -c user.name=n -c user.email=e@example.org " + arguments +
                                " >/dev/null 2>&1";
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
  }
};

TEST_F(Tagged, ATagAnchorsTheLinesItHas) {
  EXPECT_THAT(notes(), ElementsAre(HasSubstr("tags cannot be asked for here")));
  git("init -q");
  git("add experiments");
  git("commit -q -m x");
  EXPECT_THAT(notes(), ElementsAre(HasSubstr("no published report or tag names it")));
  EXPECT_EQ(run_once(spec_, 0.5).experiments[0].trust.anchored, false);
  git("tag v1");
  EXPECT_THAT(notes(), IsEmpty());
  EXPECT_EQ(run_once(spec_, 0.5).experiments[0].trust.anchored, true);
  write_ledger({});
  EXPECT_THAT(problems(),
              Contains(HasSubstr("tag v1 names a line of the ledger that is not there")));
}

// What was committed stays: a failing claim cannot be taken out at the end, nor a whole chain, and a
// run sees it as an audit does.
TEST_F(Tagged, WhatWasCommittedIsMissed) {
  registered("EXP-2", {.declared = true, .source = "EXP-1"});
  const auto whole = ledger_lines();
  git("init -q");
  git("add experiments");
  git("commit -q -m x");
  EXPECT_THAT(problems(), IsEmpty());
  write_ledger({whole[0]});
  fs::remove(file_of("EXP-2"));
  EXPECT_THAT(problems(),
              ElementsAre(HasSubstr("EXP-2: a line that was committed to the ledger was "
                                    "edited or removed")));
  const auto refused = HasSubstr("the ledger is invalid: EXP-2: a line that was committed");
  EXPECT_THAT(message_of<LedgerInvalid>([&] { run_once(spec_, 0.5); }), refused);
  EXPECT_THAT(message_of<LedgerInvalid>([&] { publish(); }), refused);
  EXPECT_THAT(message_of<LedgerInvalid>([&] { withdraw_claim(project_, "EXP-1", "x"); }), refused);
  git("add -A");
  git("commit -q -m gone");
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("EXP-2: a line that was committed")))
      << "the history has it";
  write_ledger(whole);
  registered("EXP-3", {.declared = true, .source = "EXP-1"});
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("EXP-2: is registered, and its file is gone")));
}

}  // namespace
}  // namespace octlm::verify
