#include "experiments/kinds/watched_files.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <utime.h>

#include <fstream>

#include "formats/sha256.h"
#include "formats/testing/message_of.h"
#include "model/testing/tiny_checkpoint.h"

namespace octlm::experiments {
namespace {

namespace fs = std::filesystem;
using formats::testing::message_of;
using ::testing::AllOf;
using ::testing::HasSubstr;

// Does to the files what the test says, in the middle of a comparison or when it is opened.
struct FakeSession final : verify::Session {
  explicit FakeSession(std::function<void()> meanwhile) : act(std::move(meanwhile)) {}
  nlohmann::json identity() const override { return {{"checkpoint", {{"config.json", "known"}}}}; }
  verify::Outcome compare(std::size_t) override {
    act();
    return verify::Measurement{};
  }
  std::function<void()> act;
};

class Watched : public ::testing::Test {
 protected:
  Watched() {
    put("config.json", "{}");
    put("model.safetensors", "weights");
  }
  void put(const char* name, const std::string& text) { std::ofstream(at(name)) << text; }
  fs::path at(const char* name) const { return folder_.path() / name; }
  WatchedFiles files() const { return {folder_.path(), model_, {.weights = true}}; }
  std::string after(const std::function<void()>& meanwhile) const {
    const auto session = watch(files(), std::make_unique<FakeSession>(meanwhile));
    return message_of<std::runtime_error>([&] { (void)session->compare(0); });
  }

  model::testing::TemporaryFolder folder_;
  ModelReference model_{"m", "", {}};
};

TEST_F(Watched, WhatStaysAsItWasIsNoError) {
  const auto session = watch(files(), std::make_unique<FakeSession>([] {}));
  EXPECT_NO_THROW((void)session->compare(0));
  EXPECT_NO_THROW(session->close());
}

TEST_F(Watched, AChangeNamesTheFileInOneLine) {
  const std::string message = after([&] { put("model.safetensors", "short"); });
  EXPECT_THAT(message, AllOf(HasSubstr("model.safetensors: was changed while it was in use: it had "
                                       "7 bytes and has 5"),
                             Not(HasSubstr("\n"))));
  EXPECT_THAT(after([&] { fs::remove(at("config.json")); }), HasSubstr("config.json"));
  EXPECT_THAT(after([&] { put("adapter_config.json", "{}"); }), HasSubstr("was not there"));
}

TEST_F(Watched, AnotherFileOrATimeSetBackIsNoticed) {
  EXPECT_THAT(after([&] {
                put("new", "weights");
                fs::rename(at("new"), at("model.safetensors"));
              }),
              HasSubstr("another file was put in its place"));
  const auto time = fs::last_write_time(at("model.safetensors"));
  EXPECT_THAT(after([&] {
                put("model.safetensors", "WEIGHTS");
                fs::last_write_time(at("model.safetensors"), time);
              }),
              HasSubstr("was written to"));
}

TEST_F(Watched, AChangeWhileItIsOpenedAndAtTheEndIsNoticed) {
  auto watched = files();
  put("model.safetensors", "other");
  EXPECT_THROW((void)watch(std::move(watched), std::make_unique<FakeSession>([] {})),
               std::runtime_error);
  const auto session = watch(files(), std::make_unique<FakeSession>([] {}));
  put("model.safetensors", "and another");
  EXPECT_THROW(session->close(), std::runtime_error);
}

TEST_F(Watched, WhatIsNoFileIsRefusedWithoutWaiting) {
  ASSERT_EQ(mkfifo(at("generation_config.json").c_str(), 0600), 0);
  EXPECT_THAT(message_of<formats::FormatError>([&] { (void)files(); }),
              HasSubstr("generation_config.json: not a regular file"));
}

TEST_F(Watched, WhatIsReadAndNotPinnedIsNamedWithItsHash) {
  model_.files = {{"config.json", formats::sha256("{}")}};
  const auto session = watch(files(), std::make_unique<FakeSession>([] {}));
  EXPECT_EQ(session->identity()[verify::kUnpinned],
            nlohmann::json({{"model.safetensors", formats::sha256("weights")}}));
  model_.files["model.safetensors"] = formats::sha256("weights");
  EXPECT_FALSE(
      watch(files(), std::make_unique<FakeSession>([] {}))->identity().contains(verify::kUnpinned));
}

}  // namespace
}  // namespace octlm::experiments
