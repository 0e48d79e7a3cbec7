// A program under test may do anything: each fake here is a shell script that does one thing wrong.
#include "reference/process/process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <sstream>

#include "formats/testing/temporary_folder.h"
#include "reference/process/command_words.h"
#include "reference/recorded/logits_file.h"
#include "reference/testing/sinks.h"

namespace octlm::reference {
namespace {

namespace fs = std::filesystem;
using formats::testing::TemporaryFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::keep;
using testing::KeepingSink;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::int64_t kVocab = 5;

// The program's words, and the functions that its last lines are made of.
constexpr const char* kPrelude = R"sh(#!/bin/sh
here=$(dirname "$0")
echo "$*" >> "$here/started"
while [ $# -gt 0 ]; do
  case "$1" in
    --out) out="$2"; shift ;;
    --path) path="$2"; shift ;;
    --model) model="$2"; shift ;;
    --session) session=1 ;;
  esac
  shift
done
greet() {
  echo '{"name": "fake", "version": "7", "dtypes": ["float32"],' \
       '"devices": ["cpu"], "paths": ["full", "cached:half"]}'
}
request() { read -r line || exit 0; echo "$line" >> "$here/requests"; }
tensor() { cp "$here/$1.safetensors" "$out"; }
reply() { echo "{\"name\": \"logits.0\", \"shape\": [3, 5]$1}"; }

# Of a session: greets, is ready, and answers each line with as many rows as it asks for. "$1" is
# done before it is ready, "$2" with each line before its answer.
value() { echo "$line" | sed "s/.*\"$1\":\"\?\([^]\"}]*\).*/\1/; s/^\[//"; }
count() { echo "$1" | tr ',' '\n' | wc -l; }
serve() {
  greet | sed 's/}/, "session": true}/'
  [ -n "$session" ] || exit 0
  echo loaded >> "$here/loads"
  eval "$1"
  echo '{"ready": true}'
  while read -r line; do
    echo "$line" | sed 's/"out":"[^"]*\//"out":"/' >> "$here/requests"
    out=$(value out); keep=$(value keep | tr -dc 0-9); n=$(count "$(value ids)"); rows=$n
    case "$line" in *positions*) rows=$(count "$(value positions)") ;; esac
    calls=", \"calls\": [[$keep, $n]]"
    eval "$2"
    cp "$here/rows$rows.safetensors" "$out"
    echo "{\"name\": \"logits.0\", \"shape\": [$rows, 5]$calls}"
  done
}
)sh";

class Process : public ::testing::Test {
 protected:
  Process() : home_(folder_.path() / "a folder with spaces"), scratch_(folder_.path() / "scratch") {
    fs::create_directories(home_ / "model");
    fs::create_directories(scratch_);
    setenv("TMPDIR", scratch_.c_str(), 1);
    options.folder = home_ / "model";
    options.vocab_size = kVocab;
    options.max_positions = 16;
    options.silence_s = 20;
    write_tensor("good", "logits.0", 3, kVocab);
    write_tensor("short", "logits.0", 2, kVocab);
    write_tensor("other", "logits.1", 3, kVocab);
    for (const int rows : {1, 2, 3})
      write_tensor("rows" + std::to_string(rows), "logits.0", rows, kVocab);
  }
  ~Process() override {
    EXPECT_TRUE(fs::is_empty(scratch_)) << "temporary files were left";
    unsetenv("TMPDIR");
  }

  void write_tensor(const std::string& file, const std::string& name, std::int64_t rows,
                    std::int64_t vocab) {
    std::vector<float> values(static_cast<std::size_t>(rows * vocab));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    LogitsWriter writer(home_ / (file + ".safetensors"), name, rows, vocab);
    writer.append(values.data(), rows);
    writer.finish();
  }

  void write_program(const std::string& body) {
    const fs::path file = home_ / "engine";
    std::ofstream(file) << kPrelude << body << '\n';
    fs::permissions(file, fs::perms::owner_all);
    options.command = {file.string(), "first argument"};
  }

  std::unique_ptr<Engine> open(const std::string& body) {
    write_program(body);
    return make_process(options);
  }

  LogitRequest request(const std::string& path = "full") {
    return {{1, 2, 3}, Split::parse(path), {}};
  }

  // What is said of the program when it is opened and asked for three rows.
  std::string error_of(const std::string& body) {
    try {
      const auto engine = open(body);
      keep(*engine, request());
    } catch (const std::runtime_error& error) {
      const std::string what = error.what();
      EXPECT_THAT(what, HasSubstr("engine first argument")) << "the command is named";
      EXPECT_THAT(what, Not(HasSubstr("\n")));
      EXPECT_THAT(what, Not(HasSubstr(scratch_.string()))) << "a file that will be gone";
      return what;
    }
    return "no error";
  }

  std::string text_of(const char* file) {
    std::ostringstream text;
    text << std::ifstream(home_ / file).rdbuf();
    return text.str();
  }

  TemporaryFolder folder_;
  fs::path home_, scratch_;
  ProcessOptions options;
};

TEST_F(Process, DeliversWhatTheProgramWrote) {
  const auto engine = open("greet; request; tensor good; reply");
  EXPECT_EQ(engine->description().engine, "fake");
  EXPECT_EQ(engine->description().version, "7");
  EXPECT_EQ(engine->description().source, "live");
  EXPECT_THAT(engine->capabilities().paths, ElementsAre("full", "cached:half"));
  std::vector<ForwardCall> calls{{9, 9}};
  const auto kept = keep(*engine, request(), &calls);
  EXPECT_THAT(kept.positions, ElementsAre(0, 1, 2));
  ASSERT_EQ(kept.logits.size(), 15U);
  EXPECT_EQ(kept.logits[14], 14.0F);
  EXPECT_TRUE(calls.empty()) << "the program reported none";
  EXPECT_GT(engine->peak_bytes(), 0);
  EXPECT_THAT(text_of("started"), HasSubstr("first argument --model " + options.folder.string() +
                                            " --dtype float32 --device cpu --path full --out "));
  EXPECT_EQ(text_of("requests"), "{\"ids\":[1,2,3]}\n");
}

TEST_F(Process, AsksForPositionsAndTellsThemInTheAnswer) {
  const auto engine =
      open("greet; request; tensor short; echo '{\"name\": \"logits.0\", \"shape\": [2, 5]}'");
  const auto kept = keep(*engine, {{1, 2, 3}, Split::full(), {0, 2}});
  EXPECT_THAT(kept.positions, ElementsAre(0, 2));
  EXPECT_THAT(text_of("requests"), HasSubstr("\"positions\":[0,2]"));
}

TEST_F(Process, CallsAreTheProgramsAndMustFitThePath) {
  const auto engine = open("greet; request; tensor good; reply ', \"calls\": [[0, 1], [1, 2]]'");
  std::vector<ForwardCall> calls;
  keep(*engine, request("cached:half"), &calls);
  EXPECT_EQ(calls, (std::vector<ForwardCall>{{0, 1}, {1, 2}}));
  for (const char* wrong : {"[[0, 3]]", "[[0, 1], [1, 1]]", "[[0, 1], [1, 3]]", "[[1, 2], [0, 1]]",
                            "3", "[[0]]", "[]"}) {
    const auto other =
        open("greet; request; tensor good; reply ', \"calls\": " + std::string(wrong) + "'");
    EXPECT_THROW(keep(*other, request("cached:half")), std::runtime_error) << wrong;
  }
}

TEST_F(Process, ASlowStartIsNoHang) {
  EXPECT_EQ(error_of("sleep 0.3; greet; request; sleep 0.3; tensor good; reply"), "no error");
}

TEST_F(Process, SignsOfLifeKeepASlowProgramGoing) {
  options.silence_s = 1;
  EXPECT_EQ(error_of("greet; request; for i in 1 2 3 4 5; do sleep 0.4; echo layer $i >&2; done; "
                     "tensor good; reply"),
            "no error");
}

struct Wrong {
  const char* body;
  const char* says;
};

TEST_F(Process, EachThingThatGoesWrongIsOneSentence) {
  const std::vector<Wrong> table = {
      {"echo no model >&2; exit 3",
       "ended with exit code 3 before its line of capabilities; its stderr ends: no model"},
      {"exit 0", "ended before its line of capabilities; it wrote nothing to stderr"},
      {"kill -SEGV $$", "signal 11"},
      {"echo loading...; greet", "its first line \"loading...\""},
      {"echo '{\"name\": \"fake\"}'", "is missing"},
      {"greet | sed 's/}/, \"colour\": 1}/'", "colour"},
      {"greet | sed 's/cached:half/sideways/'", "sideways"},
      {"greet | sed 's/\\[\"cpu\"\\]/[]/'", "devices"},
      {"greet; request; echo out of memory >&2; kill -ABRT $$", "signal 6"},
      {"greet; request; echo out of memory >&2; exit 1",
       "exit code 1 before its answer; its stderr ends: out of memory"},
      {"greet; request; exit 0", "ended without an answer"},
      {"greet; request; tensor good; reply; exit 9", "exit code 9 after its answer"},
      {"greet; request; reply", "cannot be opened"},
      {"greet; request; tensor short; reply", "has the shape [2, 5], its answer says [3, 5]"},
      {"greet; request; tensor other; reply", "has no tensor logits.0"},
      {"greet; request; tensor good; reply; echo done", "more lines than one answer: \"done\""},
      {"greet; request; tensor good; echo computing; reply", "its answer \"computing\""},
      {"greet; request; tensor good; echo '{\"name\": \"logits.0\", \"shape\": [NaN, 5]}'",
       "not JSON"},
      {"greet; request; tensor good; head -c 100000 /dev/zero | tr '\\0' '['; echo",
       "nested deeper"},
      {"greet; request; tensor good; echo '{\"name\": \"logits.0\", \"shape\": [3, -5]}'", "shape"},
      {"greet; request; tensor good; echo '{\"name\": \"logits.0\", \"shape\": [3, 4]}'",
       "expected the shape [3, 5]"},
      {"greet; request; tensor good; echo '{\"name\": \"logits.0\", \"shape\": [15]}'",
       "expected the shape [3, 5]"},
      {"greet; request; tensor good; echo '{\"name\": \"logits.0\", \"shape\": [3e0, 5]}'",
       "shape"},
      {"greet; request; tensor good; echo '{\"name\": \"logits.1\", \"shape\": [3, 5]}'",
       "logits.0"},
      {"greet; request; echo '{\"error\": \"ids are too long\"}'; exit 4",
       "refuses the request: ids are too long"},
      {"greet; request; printf '\\377\\377\\377\\377\\377\\377\\377\\377' > \"$out\"; reply",
       "header length 18446744073709551615"},
      {"greet; request; head -c 40 \"$here/good.safetensors\" > \"$out\"; reply",
       "logits.safetensors"},
      {"greet; request; tensor good; printf x >> \"$out\"; reply", "1 bytes after the last tensor"},
      {"greet; request; mkdir \"$out\"; reply", "not a regular file"},
      {"[ -f \"$here/twice\" ] && echo '{}'; touch \"$here/twice\"; greet; request; tensor good; "
       "reply",
       "when it was first asked"},
      {"greet; request; head -c 5000000 /dev/zero; reply", "more than 4 MiB to stdout"},
  };
  for (const Wrong& wrong : table)
    EXPECT_THAT(error_of(wrong.body), HasSubstr(wrong.says)) << wrong.body;
}

// In the folder, on stdout or on stderr: a flood is stopped, and what is shown of it is short.
TEST_F(Process, AFloodIsStopped) {
  for (const char* flood : {"yes help >&2", "yes", "yes > \"$out\""}) {
    const std::string what = error_of("greet; request; " + std::string(flood));
    ASSERT_THAT(what, HasSubstr("more than the")) << flood;
    const auto at = what.find("has written ") + 12;
    EXPECT_LT(std::stod(what.substr(at)), 4e9) << "stopped late";
    EXPECT_LT(what.size(), 1200U);
  }
}

TEST_F(Process, AHangIsStopped) {
  const auto start = std::chrono::steady_clock::now();
  options.silence_s = 0.3;
  EXPECT_THAT(error_of("sleep 60; greet"), HasSubstr("no sign of life for 0.3 s"));
  EXPECT_THAT(error_of("greet; request; sleep 60"), HasSubstr("no sign of life for 0.3 s"));
  EXPECT_THAT(error_of("greet; request; while :; do echo again >&2; sleep 0.05; done"),
              HasSubstr("had not ended after 3 s"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

// What ignores SIGTERM, and what it has started itself, ends all the same.
TEST_F(Process, WhatIgnoresTheSignalIsKilledWithItsChildren) {
  options.silence_s = 0.3;
  error_of(
      "greet; request; trap '' TERM; sleep 61 & echo $! > \"$here/child\"; while :; do sleep 0.1; "
      "done");
  const std::string child = text_of("child");
  ASSERT_FALSE(child.empty());
  const fs::path process = "/proc/" + child.substr(0, child.find('\n')) + "/stat";
  for (int i = 0; i < 100 && fs::exists(process); ++i) {
    std::string stat;
    std::getline(std::ifstream(process), stat);
    if (stat.find(" Z ") != std::string::npos) return;  // dead, not yet collected by its new parent
    usleep(20000);
  }
  EXPECT_FALSE(fs::exists(process));
}

TEST_F(Process, ADroppedSessionEndsItsProgram) {
  const auto engine = open("greet; request; sleep 60; tensor good; reply");
  const auto start = std::chrono::steady_clock::now();
  engine->start(request()).reset();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

TEST_F(Process, AnErrorOfOneRequestLeavesTheNext) {
  const auto engine =
      open("greet; request; case \"$line\" in *4*) exit 1 ;; esac; tensor good; reply");
  EXPECT_THROW(keep(*engine, {{4, 2, 3}, Split::full(), {}}), std::runtime_error);
  EXPECT_EQ(keep(*engine, request()).positions.size(), 3U);
}

TEST_F(Process, ARequestThatNoEngineTakesIsRefusedBeforeAnythingIsStarted) {
  const auto engine = open("greet; request; tensor good; reply");
  EXPECT_THROW(engine->start({{1, 5}, Split::full(), {}}), std::invalid_argument)
      << "outside the vocabulary";
  EXPECT_THROW(engine->start({{}, Split::full(), {}}), std::invalid_argument);
  EXPECT_THROW(engine->start({std::vector<std::int32_t>(17, 1), Split::full(), {}}),
               std::invalid_argument);
  EXPECT_THROW(engine->start({{1}, Split::parse("cached:half"), {}}), std::invalid_argument);
}

// Programs that stay.

TEST_F(Process, AProgramWithSessionsIsLoadedOnceForManyPasses) {
  const auto engine = open("serve");
  EXPECT_EQ(text_of("loads"), "") << "what it can do is asked before anything is loaded";
  for (int pass = 0; pass < 3; ++pass) {
    std::vector<ForwardCall> calls;
    const auto kept = keep(*engine, request(), &calls);
    EXPECT_THAT(kept.positions, ElementsAre(0, 1, 2));
    ASSERT_EQ(kept.logits.size(), 15U);
    EXPECT_EQ(kept.logits[14], 14.0F);
    EXPECT_EQ(calls, (std::vector<ForwardCall>{{0, 3}}));
  }
  EXPECT_EQ(text_of("loads"), "loaded\n");
  EXPECT_THAT(text_of("started"), HasSubstr("first argument --model " + options.folder.string() +
                                            " --dtype float32 --device cpu --session "
                                            "--capabilities\n"));
  EXPECT_THAT(text_of("requests"), StartsWith("{\"capacity\":3,\"ids\":[1,2,3],\"keep\":0,\"out\":"
                                              "\"logits.safetensors\"}\n"));
  EXPECT_GT(engine->peak_bytes(), 0);
  const auto settings = engine->description().settings;
  EXPECT_EQ(settings.at("version"), "7");
  EXPECT_EQ(settings.at("session"), true);
}

// Loading is over when a pass starts, so that the time of a pass does not hold it; and a program
// that is started for each pass says that its own does.
TEST_F(Process, LoadingIsToldApart) {
  const auto engine = open("serve 'sleep 0.2; echo yes > \"$here/ready\"'");
  const auto pass = engine->start(request());
  EXPECT_EQ(text_of("ready"), "yes\n");
  EXPECT_EQ(text_of("requests"), "") << "nothing has been asked yet";
  const auto settings = engine->description().settings;
  EXPECT_GE(settings.at("load_s").get<double>(), 0.2);
  EXPECT_EQ(settings.at("seconds_include_loading"), false);
  const auto other = open("greet; request; tensor good; reply")->description().settings;
  EXPECT_EQ(other.at("seconds_include_loading"), true);
  EXPECT_EQ(other.contains("load_s"), false);
}

TEST_F(Process, APathIsALineForEachCall) {
  const auto engine = open("serve");
  std::vector<ForwardCall> calls;
  const auto kept = keep(*engine, request("cached:half"), &calls);
  EXPECT_THAT(kept.positions, ElementsAre(0, 1, 2));
  EXPECT_EQ(calls, (std::vector<ForwardCall>{{0, 1}, {1, 2}}));
  EXPECT_EQ(text_of("requests"),
            "{\"capacity\":3,\"ids\":[1],\"keep\":0,\"out\":\"logits.safetensors\"}\n"
            "{\"ids\":[2,3],\"keep\":1,\"out\":\"logits.safetensors\"}\n");
  EXPECT_THROW(engine->start(request("chunked:1")), std::invalid_argument) << "it has no such path";
}

TEST_F(Process, ASessionIsAppendedToAndCropped) {
  const auto engine = open("serve");
  const auto session = engine->open_session({});
  KeepingSink sink;
  const std::vector<std::int32_t> three = {1, 2, 3}, one = {4}, bad = {5};
  const std::vector<std::int64_t> last = {2}, next = {1};
  session->append(three, last, sink);
  EXPECT_THAT(sink.positions, ElementsAre(2)) << "the last row alone";
  session->crop(1);
  EXPECT_THROW(session->append(bad, {}, sink), std::invalid_argument);
  EXPECT_EQ(session->length(), 1);
  session->append(one, next, sink);
  EXPECT_EQ(session->length(), 2);
  session->append(one, {}, sink);
  EXPECT_THAT(sink.positions, ElementsAre(2, 1)) << "of the last append nothing was wanted";
  EXPECT_THAT(text_of("requests"), HasSubstr("\"ids\":[4],\"keep\":1"));
  EXPECT_THAT(text_of("requests"), HasSubstr("\"ids\":[4],\"keep\":2"));
}

// A request that does not fit the pipe at once.
TEST_F(Process, ALongPromptIsWrittenWhileTheProgramReads) {
  options.max_positions = 0;
  const auto engine = open("serve 'sleep 0.3'");
  const LogitRequest longer{std::vector<std::int32_t>(60000, 1), Split::full(), {7, 59999}};
  EXPECT_THAT(keep(*engine, longer).positions, ElementsAre(7, 59999));
}

TEST_F(Process, SequencesAtTheSameTimeHaveTheirOwnPrograms) {
  const auto engine = open("serve");
  const auto first = engine->start(request("cached:half"));
  {
    KeepingSink a, b;
    const auto second = engine->start(request());
    EXPECT_TRUE(first->advance(a));
    EXPECT_TRUE(second->advance(b));
    EXPECT_TRUE(first->advance(a));
    EXPECT_THAT(a.positions, ElementsAre(0, 1, 2));
  }
  keep(*engine, request());
  EXPECT_EQ(text_of("loads"), "loaded\nloaded\n") << "the one that is free serves the third";
}

// Each costs its own comparison; what is broken is started anew, a refusal breaks nothing.
TEST_F(Process, WhatGoesWrongInASessionCostsOnePass) {
  struct Case {
    const char *does, *says;
    bool restarts;
  };
  options.silence_s = 2;
  for (const Case& item : std::vector<Case>{
           {"echo out of memory >&2; kill -SEGV $$",
            "ended with signal 11 (Segmentation fault) before its answer; its stderr ends: out of "
            "memory",
            true},
           {"exit 0", "ended before its answer", true},
           {"sleep 60", "no sign of life for 2 s", true},
           {"echo nonsense; continue", "its answer \"nonsense\"", true},
           {"calls=\", \\\"calls\\\": [[0, 2]]\"", "calls", true},
           {"rows=2", "expected the shape [3, 5]", true},
           {"echo again", "its answer \"again\"", true},
           {"echo; continue", "its answer", true},
           {"head -c 5000000 /dev/zero", "more than 4 MiB", true},
           {"yes help >&2", "more than the", true},
           {"echo \"{\\\"error\\\": \\\"too long\\\"}\"; continue",
            "it refuses the request: too long", false}}) {
    fs::remove(home_ / "loads");
    const auto engine =
        open("serve '' 'case \"$(value ids)\" in *4*) " + std::string(item.does) + " ;; esac'");
    keep(*engine, request());
    try {
      keep(*engine, {{4, 2, 3}, Split::full(), {}});
      ADD_FAILURE() << "no error: " << item.does;
    } catch (const std::runtime_error& error) {
      EXPECT_THAT(error.what(), HasSubstr(item.says)) << item.does;
      EXPECT_THAT(error.what(), HasSubstr("engine first argument"));
      EXPECT_THAT(error.what(), Not(HasSubstr(scratch_.string())));
    }
    EXPECT_EQ(keep(*engine, request()).positions.size(), 3U) << item.does;
    EXPECT_EQ(text_of("loads"), item.restarts ? "loaded\nloaded\n" : "loaded\n") << item.does;
  }
}

TEST_F(Process, ASecondLineIsSeenBeforeTheNextRequest) {
  const auto engine =
      open("serve '' 'case \"$(value ids)\" in *4*) (sleep 0.2; echo more) & ;; esac'");
  keep(*engine, {{4, 2, 3}, Split::full(), {}});
  usleep(600000);
  try {
    keep(*engine, request());
    ADD_FAILURE() << "no error";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("more lines than one answer: \"more\""));
  }
}

TEST_F(Process, AProgramThatDoesNotLoadIsAnErrorOfThePass) {
  options.silence_s = 2;
  for (const auto& [does, says] : std::vector<std::pair<std::string, std::string>>{
           {"echo no weights >&2; exit 3",
            "exit code 3 before its line that it is ready; its "
            "stderr ends: no weights"},
           {"echo loading", "its second line \"loading\", where {\"ready\": true} belongs"},
           {"sleep 60", "no sign of life"}}) {
    const auto engine = open("serve '" + does + "'");
    try {
      engine->start(request());
      ADD_FAILURE() << "no error: " << does;
    } catch (const std::runtime_error& error) {
      EXPECT_THAT(error.what(), HasSubstr(says));
    }
  }
  EXPECT_THAT(error_of("greet | sed \"s/}/, \\\"session\\\": 1}/\""),
              HasSubstr("\"session\" is not true or false"));
  EXPECT_THROW(open("greet; request; tensor good; reply")->open_session({}), std::invalid_argument)
      << "it does not say that it has any";
}

TEST_F(Process, AProgramThatIsNotThere) {
  EXPECT_THAT(program_fault({"no-such-program-of-octlm"}), HasSubstr("on PATH"));
  EXPECT_THAT(program_fault({(home_ / "nothing").string()}), HasSubstr("no file"));
  EXPECT_THAT(program_fault({(home_ / "good.safetensors").string()}),
              HasSubstr("not an executable"));
  EXPECT_EQ(program_fault({"sh"}), "");
  options.command = {"no-such-program-of-octlm"};
  EXPECT_THROW(make_process(options), std::runtime_error);
}

TEST(CommandWords, AreSplitAsAShellWouldWithoutOne) {
  EXPECT_THAT(command_words("python3  my\tengine.py"), ElementsAre("python3", "my", "engine.py"));
  EXPECT_THAT(command_words("'a b'/c \"d e\"f g\\ h"), ElementsAre("a b/c", "d ef", "g h"));
  EXPECT_THAT(command_words("e '' \"\""), ElementsAre("e", "", ""));
  EXPECT_THAT(command_words("e '$(rm x); `y` | z > w'"), ElementsAre("e", "$(rm x); `y` | z > w"));
  EXPECT_THAT(command_words(R"(e "a\"b\\c\$d\n" '\n')"), ElementsAre("e", R"(a"b\c$d\n)", R"(\n)"));
  EXPECT_THAT(command_words("e --x=*"), ElementsAre("e", "--x=*"));
}

TEST(CommandWords, WhatOnlyAShellCouldHonourIsRefused) {
  for (const char* text : {"", "  ", "''", "e 'open", "e \"open", "e \\", "e; rm x", "e | tee",
                           "e > log", "e $(x)", "e `x`", "e $HOME", "e &", "e\nrm x"}) {
    EXPECT_THROW(command_words(text), std::invalid_argument) << text;
  }
}

}  // namespace
}  // namespace octlm::reference
