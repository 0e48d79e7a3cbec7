#include "experiments/engines/files_read.h"

#include <gmock/gmock.h>

#include <fstream>

#include "model/testing/tiny_checkpoint.h"

namespace octlm::experiments {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class FilesRead : public ::testing::Test {
 protected:
  void put(const std::string& name, const std::string& text = "{}") {
    fs::create_directories((folder_.path() / name).parent_path());
    std::ofstream(folder_.path() / name) << text;
  }
  std::vector<std::string> of(Reads reads) const { return files_read(folder_.path(), reads); }

  model::testing::TemporaryFolder folder_;
};

TEST_F(FilesRead, OfWeightsWhatMakesTheModel) {
  for (const char* name :
       {"config.json", "generation_config.json", "model.safetensors", "tokenizer.json",
        "chat_template.jinja", "vocab.json", "consolidated.safetensors", "manifest.json"})
    put(name);
  EXPECT_THAT(of({.weights = true}), ElementsAre("config.json", "model.safetensors"));
  put("adapter_config.json");
  put("modeling.py");
  put("other.safetensors.index.json");
  put("model.safetensors.index.json", R"({"weight_map": {"a": "one.safetensors"}})");
  put("one.safetensors");
  EXPECT_THAT(of({.weights = true}),
              ElementsAre("adapter_config.json", "config.json", "model.safetensors",
                          "model.safetensors.index.json", "modeling.py", "one.safetensors",
                          "other.safetensors.index.json"));
}

TEST_F(FilesRead, OfTextWhatMakesIdsAndTemplates) {
  for (const char* name :
       {"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json",
        "special_tokens_map.json", "vocab.json", "merges.txt"})
    put(name);
  EXPECT_THAT(of({.text = true}), ElementsAre("config.json", "special_tokens_map.json",
                                              "tokenizer.json", "tokenizer_config.json"));
  put("tokenizer_config.json", R"({"tokenizer_class": "X", "added_tokens_decoder": {}})");
  EXPECT_THAT(of({.text = true}), ElementsAre("tokenizer.json", "tokenizer_config.json"));
  for (const char* name : {"added_tokens.json", "chat_template.jinja", "tokenizer.model",
                           "additional_chat_templates/tool.jinja"})
    put(name);
  EXPECT_THAT(of({.text = true}),
              ElementsAre("added_tokens.json", "additional_chat_templates/tool.jinja",
                          "chat_template.jinja", "tokenizer.json", "tokenizer.model",
                          "tokenizer_config.json"));
}

TEST_F(FilesRead, ADamagedIndexOrAnAbsentFolderNamesNothing) {
  put("model.safetensors.index.json", "[");
  EXPECT_THAT(of({.weights = true}), ElementsAre("model.safetensors.index.json"));
  EXPECT_THAT(files_read(folder_.path() / "absent", {.weights = true, .text = true}), IsEmpty());
}

}  // namespace
}  // namespace octlm::experiments
