#include "experiments/engines/checkpoint_store.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "formats/sha256.h"
#include "model/testing/tiny_checkpoint.h"

namespace octlm::experiments {
namespace {

namespace fs = std::filesystem;

const std::string kRevision(40, 'a');

class Store : public ::testing::Test {
 protected:
  Store() {
    setenv("XDG_CACHE_HOME", (home_.path() / "cache").c_str(), 1);
    setenv("HF_HOME", (home_.path() / "hf").c_str(), 1);
    unsetenv("HF_HUB_CACHE");
  }
  fs::path make(const fs::path& relative) {
    const fs::path folder = home_.path() / relative;
    fs::create_directories(folder);
    std::ofstream(folder / "config.json") << "{}";
    return folder;
  }
  static std::string found(const ModelReference& model, const ModelPaths& paths = {}) {
    const auto result = find_checkpoint(model, paths);
    if (const auto* absent = std::get_if<verify::NotRun>(&result))
      return absent->needs + ": " + absent->reason;
    return std::get<CheckpointFolder>(result).path;
  }

  model::testing::TemporaryFolder home_;
};

TEST_F(Store, AbsentNamesTheCommandThatGetsIt) {
  EXPECT_EQ(found({"smollm2-135m-instruct", "", {}}),
            "weights: no weights of smollm2-135m-instruct here; get them with: ./octlm fetch "
            "smollm2-135m-instruct");
}

TEST_F(Store, LooksInTheOrderOfItsHeader) {
  const ModelReference model{"org/name", kRevision, {}};
  const auto hub = make(fs::path("hf/hub/models--org--name/snapshots") / kRevision);
  EXPECT_EQ(found(model), hub.string());
  const auto ours = make(fs::path("cache/octlm/checkpoints/org--name") / kRevision);
  EXPECT_EQ(found(model), ours.string());
  const auto given = make("elsewhere");
  EXPECT_EQ(found(model, {{"org/name", given}}), given.string());
  EXPECT_NE(found({"org/name", std::string(40, 'b'), {}}).find("weights:"), std::string::npos)
      << "another revision is another checkpoint";
}

TEST_F(Store, AFolderWithoutConfigIsNotACheckpoint) {
  fs::create_directories(home_.path() / "cache/octlm/checkpoints/half");
  EXPECT_NE(found({"half", "", {}}).find("weights:"), std::string::npos);
}

TEST_F(Store, ModelArgumentIsAFolderOrAName) {
  const auto folder = make("cache/octlm/checkpoints/mine");
  EXPECT_EQ(resolve_model_argument("mine"), folder);
  EXPECT_EQ(resolve_model_argument(folder.string()), folder);
  EXPECT_THROW(resolve_model_argument("absent"), std::invalid_argument);
  const auto hub = make(fs::path("cache/octlm/checkpoints/org--name") / kRevision);
  EXPECT_EQ(resolve_model_argument("org/name"), hub);
  make(fs::path("cache/octlm/checkpoints/org--name") / std::string(40, 'b'));
  EXPECT_THROW(resolve_model_argument("org/name"), std::invalid_argument)
      << "two revisions: which?";
}

TEST_F(Store, ModelPathsAreParsedStrictly) {
  ModelPaths paths;
  add_model_path(paths, "name=" + home_.path().string());
  EXPECT_EQ(paths.at("name"), home_.path());
  for (const std::string bad : {"name", "=path", "name=", "name=/no/such/folder"}) {
    EXPECT_THROW(add_model_path(paths, bad), std::invalid_argument) << bad;
  }
}

TEST_F(Store, FilesAreHeldAgainstTheirHashes) {
  const auto folder = make("weights");
  ModelReference model{"m", "", {{"config.json", formats::sha256("{}")}}};
  EXPECT_TRUE(mismatched_files(folder, model).empty());
  EXPECT_NO_THROW(require_files(folder, model));
  std::ofstream(folder / "config.json") << "{ }";
  ASSERT_EQ(mismatched_files(folder, model).size(), 1U);
  EXPECT_NE(mismatched_files(folder, model)[0].find("config.json: sha256 is"), std::string::npos);
  EXPECT_THROW(require_files(folder, model), std::runtime_error);
  model.files = {{"model.safetensors", formats::sha256("")}};
  EXPECT_NE(mismatched_files(folder, model)[0].find("absent"), std::string::npos);
}

}  // namespace
}  // namespace octlm::experiments
