// Opening a checkpoint: the accounting of tensors (known-fault kind 2), the tied head, the folder,
// and values that are not finite.
#include "model/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "model/finite_scan.h"
#include "model/testing/tiny_checkpoint.h"

namespace octlm::model {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::make_tiny_checkpoint;
using ::testing::Not;
using testing::shard_name;
using ::testing::StartsWith;
using testing::TemporaryFolder;
using testing::TinyCheckpoint;
using testing::TinyOptions;
using testing::TinyTensor;

const std::string kEmbedding = "model.embed_tokens.weight";
const std::string kHead = "lm_head.weight";
const std::string kUp = "model.layers.1.mlp.up_proj.weight";

std::string read_text(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}
void write_text(const fs::path& path, const std::string& text) {
  fs::remove(path);  // truncating in place makes some file systems flush to the disk at close
  std::ofstream(path, std::ios::binary) << text;
}

// What opening says; "" when the checkpoint opened.
std::string refusal(const fs::path& folder, const Checkpoint::Options& options = {}) {
  try {
    Checkpoint::open(folder, options);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}
std::string refusal(const TinyCheckpoint& checkpoint) {
  const TemporaryFolder folder;
  checkpoint.write(folder.path());
  return refusal(folder.path());
}

bool same_bytes(const ConstTensorView& view, const TinyTensor& tensor) {
  return view.dtype == tensor.dtype && view.bytes() == tensor.bytes.size() &&
         std::memcmp(view.data, tensor.bytes.data(), tensor.bytes.size()) == 0;
}

void set_config(TinyCheckpoint& checkpoint, const std::string& field, const json& value) {
  json config = json::parse(checkpoint.config_json);
  config[field] = value;
  checkpoint.config_json = config.dump();
}

TEST(Checkpoint, GivesEveryTensorAsStored) {
  for (const char* model_type : {"qwen3", "llama"}) {
    for (const DType dtype : {DType::kBFloat16, DType::kFloat16, DType::kFloat32}) {
      for (const bool sharded : {false, true}) {
        for (const bool read : {false, true}) {
          const TemporaryFolder folder;
          const TinyCheckpoint tiny = make_tiny_checkpoint(
              {.model_type = model_type, .tie_word_embeddings = false, .dtype = dtype});
          sharded ? tiny.write_sharded(folder.path(), 3) : tiny.write(folder.path());
          const Checkpoint checkpoint =
              Checkpoint::open(folder.path(), {.read_instead_of_map = read});
          ASSERT_EQ(checkpoint.stored().size(), tiny.tensors.size());
          for (const auto& [name, tensor] : tiny.tensors) {
            EXPECT_TRUE(same_bytes(checkpoint.tensor(name), tensor)) << name;
          }
          EXPECT_EQ(checkpoint.files().size(), sharded ? 3u : 1u);
          EXPECT_THAT(checkpoint.notes(), IsEmpty());
          EXPECT_EQ(checkpoint.unique_parameters(), checkpoint.stored_elements());
          EXPECT_TRUE(checkpoint.unchanged());
          EXPECT_EQ(checkpoint.config().model_type, model_type);
          EXPECT_THROW(checkpoint.tensor("model.norm.bias"), std::invalid_argument);
        }
      }
    }
  }
}

TEST(Checkpoint, OutlivesBeingMoved) {
  const TemporaryFolder folder;
  const TinyCheckpoint tiny = make_tiny_checkpoint({});
  tiny.write(folder.path());
  Checkpoint first = Checkpoint::open(folder.path());
  const ConstTensorView view = first.tensor(kUp);
  const Checkpoint second = std::move(first);
  EXPECT_EQ(second.tensor(kUp).data, view.data);
  EXPECT_TRUE(same_bytes(view, tiny.tensors.at(kUp)));
}

// One error shows everything that is wrong with the tensors.
// sgl-project/sglang#32279, mlc-ai/mlc-llm#3494, EricLBuehler/candle-vllm#167.
TEST(Accounting, MissingUnexpectedAndMisshapedAreListedTogether) {
  TinyCheckpoint tiny = make_tiny_checkpoint({});
  tiny.tensors.erase("model.layers.0.self_attn.q_norm.weight");
  tiny.tensors.erase("model.norm.weight");
  tiny.tensors["model.layers.0.mlp.up_proj.bias"] = {
      DType::kBFloat16, {48}, std::vector<std::byte>(96)};
  tiny.tensors[kUp].shape = {32, 48};  // transposed
  const std::string message = refusal(tiny);
  EXPECT_THAT(message,
              HasSubstr("(4 problems); fetch the checkpoint again, or check config.json\n"));
  EXPECT_THAT(message, HasSubstr("\n  missing: 'model.layers.0.self_attn.q_norm.weight' [16]"));
  EXPECT_THAT(message, HasSubstr("\n  missing: 'model.norm.weight' [32]"));
  EXPECT_THAT(message, HasSubstr("\n  unexpected: 'model.layers.0.mlp.up_proj.bias' [48], which "
                                 "Qwen3ForCausalLM does not use"));
  EXPECT_THAT(message, HasSubstr("\n  misshaped: '" + kUp + "' is [32, 48], expected [48, 32]"));
}

// Without "model." in front, as a base model is saved (Qwen3-Embedding).
void rename_all(TinyCheckpoint& tiny, const std::function<std::string(const std::string&)>& to) {
  std::map<std::string, TinyTensor> renamed;
  for (auto& [name, tensor] : tiny.tensors) renamed[to(name)] = std::move(tensor);
  tiny.tensors = std::move(renamed);
}
std::string without_model(const std::string& name) {
  return name.starts_with("model.") ? name.substr(6) : name;
}
TinyTensor float32_tensor(std::vector<std::int64_t> shape, float value) {
  std::size_t count = 1;
  for (const auto extent : shape) count *= static_cast<std::size_t>(extent);
  const std::vector<float> values(count, value);
  const auto* bytes = reinterpret_cast<const std::byte*>(values.data());
  return {DType::kFloat32, std::move(shape), {bytes, bytes + count * sizeof(float)}};
}

// jzhang38/TinyLlama#127, huggingface/transformers#35255: files of Llama-2's age hold what
// Transformers computes afresh. It ignores them; so do we, and say which.
TEST(Ignored, StoredBuffersAreNamedAndNotRead) {
  for (const bool sharded : {false, true}) {
    TinyCheckpoint tiny = make_tiny_checkpoint({.model_type = "llama"});
    const std::vector<std::string> ignored = {"model.layers.0.self_attn.bias",
                                              "model.layers.0.self_attn.masked_bias",
                                              "model.layers.0.self_attn.rotary_emb.inv_freq",
                                              "model.layers.1.self_attn.rotary_emb.cos_cached",
                                              "model.layers.1.self_attn.rotary_emb.inv_freq",
                                              "model.rotary_emb.inv_freq"};
    for (const std::string& name : ignored) tiny.tensors[name] = float32_tensor({8}, 3.0F);
    tiny.tensors[ignored[0]] =
        float32_tensor({1, 1, 4, 4}, -std::numeric_limits<float>::infinity());
    tiny.tensors[ignored[1]] = float32_tensor({}, -1e4F);
    const TemporaryFolder folder;
    sharded ? tiny.write_sharded(folder.path(), 2) : tiny.write(folder.path());
    const Checkpoint checkpoint = Checkpoint::open(folder.path());
    EXPECT_THAT(checkpoint.ignored(), ::testing::UnorderedElementsAreArray(ignored));
    EXPECT_THAT(checkpoint.notes(), ElementsAre(HasSubstr(ignored[2])));
    EXPECT_THROW(checkpoint.tensor(ignored[2]), std::invalid_argument);
    EXPECT_EQ(checkpoint.unique_parameters(),
              Checkpoint::open([&] {
                static const TemporaryFolder clean;
                make_tiny_checkpoint({.model_type = "llama"}).write(clean.path());
                return clean.path();
              }())
                  .unique_parameters());
  }
}

// A parameter of a similar name is none of them.
TEST(Ignored, ParametersAreNot) {
  for (const auto& [name, tensor] : std::map<std::string, TinyTensor>{
           {"model.layers.0.self_attn.bias", float32_tensor({64}, 1)},
           {"model.layers.0.self_attn.bias", float32_tensor({2, 1, 4, 4}, 1)},
           {"model.layers.0.self_attn.masked_bias", float32_tensor({2}, 1)},
           {"model.layers.0.self_attn.q_proj.bias", float32_tensor({64, 64}, 1)},
           {"model.layers.0.self_attn.my_rotary_emb.inv_freq", float32_tensor({8}, 1)},
           {"model.layers.0.self_attn.rotary_emb.inv_freq.scale", float32_tensor({8}, 1)}}) {
    TinyCheckpoint tiny = make_tiny_checkpoint({});
    tiny.tensors[name] = tensor;
    EXPECT_THAT(refusal(tiny), HasSubstr("unexpected: '" + name + "'"));
  }
}

// vllm-project/vllm#19250
TEST(BaseNames, LoadAsTransformersLoadsThem) {
  for (const char* model_type : {"llama", "qwen3"}) {
    const TinyCheckpoint plain = make_tiny_checkpoint({.model_type = model_type});
    TinyCheckpoint base = plain;
    rename_all(base, without_model);
    base.tensors["layers.1.self_attn.rotary_emb.inv_freq"] = float32_tensor({8}, 1);
    for (const bool sharded : {false, true}) {
      const TemporaryFolder folder;
      sharded ? base.write_sharded(folder.path(), 3) : base.write(folder.path());
      const Checkpoint checkpoint = Checkpoint::open(folder.path());
      EXPECT_TRUE(checkpoint.has_base_names());
      EXPECT_THAT(checkpoint.notes(),
                  ::testing::Contains(HasSubstr("without the prefix 'model.'")));
      for (const auto& [name, tensor] : plain.tensors) {
        EXPECT_TRUE(same_bytes(checkpoint.tensor(name), tensor)) << name;
      }
      EXPECT_TRUE(same_bytes(checkpoint.tensor(kHead), plain.tensors.at(kEmbedding)));
    }
    TinyCheckpoint incomplete = base;
    incomplete.tensors.erase("norm.weight");
    EXPECT_THAT(refusal(incomplete), HasSubstr("missing: 'model.norm.weight'"));
  }
}

// Transformers draws the head at random, or calls the file corrupted.
TEST(BaseNames, AreRefusedByTheirCauseWithoutAHead) {
  TinyCheckpoint base = make_tiny_checkpoint({.tie_word_embeddings = false});
  rename_all(base, without_model);
  EXPECT_THAT(refusal(base), HasSubstr("config.json: all but lm_head.weight lack the prefix "
                                       "'model.', which Transformers 4.57.6 refuses"));
  base.tensors.erase(kHead);
  EXPECT_THAT(refusal(base), HasSubstr("config.json: these are a base model's tensors, without the "
                                       "prefix 'model.' and without a head"));
}

// openclaw/openclaw#70140: 48 findings of one cause. The cause comes first, then one finding a
// line.
TEST(Cause, ComesBeforeTheFindings) {
  const auto cause_of = [](const std::function<void(TinyCheckpoint&)>& change,
                           TinyOptions options) {
    TinyCheckpoint tiny = make_tiny_checkpoint(options);
    change(tiny);
    const std::string message = refusal(tiny);
    return message.substr(0, message.find('\n'));
  };
  const auto prefixed = [](std::string prefix) {
    return [prefix](TinyCheckpoint& tiny) {
      rename_all(tiny, [&](const std::string& name) { return prefix + name; });
    };
  };
  for (const bool tied : {true, false}) {
    const TinyOptions options{.tie_word_embeddings = tied};
    for (const std::string prefix : {"module.", "_orig_mod.", "model.", "base_model.model."}) {
      EXPECT_THAT(cause_of(prefixed(prefix), options),
                  HasSubstr("config.json: all have the prefix '" + prefix + "' too much ("));
    }
  }
  EXPECT_THAT(cause_of([](auto& tiny) { set_config(tiny, "num_hidden_layers", 3); }, {}),
              HasSubstr("they are those of 2 layers, and config.json says num_hidden_layers: 3 (11 "
                        "problems)"));
  EXPECT_THAT(cause_of([](auto& tiny) { set_config(tiny, "num_hidden_layers", 1); }, {}),
              HasSubstr("they are those of 2 layers, and config.json says num_hidden_layers: 1"));
  EXPECT_THAT(cause_of(
                  [](auto& tiny) {
                    tiny.tensors["model.layers.0.mlp.up_proj.weight_scale_inv"] =
                        float32_tensor({1}, 1);
                  },
                  {}),
              HasSubstr("quantised weights"));
  EXPECT_THAT(
      cause_of(
          [](auto& tiny) {
            tiny.tensors = {{"base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight",
                             float32_tensor({1, 1}, 1)}};
          },
          {}),
      HasSubstr("a LoRA adapter's"));
  EXPECT_THAT(cause_of([](auto& tiny) { tiny.tensors.erase("model.norm.weight"); }, {}),
              HasSubstr("config.json (1 problem);"));
}

TEST(Accounting, ShapesMustEqualNotJustTheirSize) {
  TinyCheckpoint tiny = make_tiny_checkpoint({});
  tiny.tensors[kUp].shape = {48, 32, 1};
  EXPECT_THAT(refusal(tiny), HasSubstr("misshaped: '" + kUp + "' is [48, 32, 1]"));
}

TEST(Accounting, AnotherArchitecturesTensorsAreRefused) {
  TinyCheckpoint tiny = make_tiny_checkpoint({});
  set_config(tiny, "architectures", json::array({"LlamaForCausalLM"}));
  set_config(tiny, "model_type", "llama");
  EXPECT_THAT(refusal(tiny),
              AllOf(HasSubstr("(4 problems)"),
                    HasSubstr("unexpected: 'model.layers.1.self_attn.k_norm.weight'")));
  TinyCheckpoint more_layers = make_tiny_checkpoint({});
  set_config(more_layers, "num_hidden_layers", 3);
  EXPECT_THAT(refusal(more_layers), HasSubstr("(11 problems)"));
}

// huggingface/candle#2930, sgl-project/sglang#18024: the head, tied and not.
// Transformers 4.57.6, run on these cases: embedding; embedding, the stored head dropped in
// silence; the stored head; a random head and a warning.
TEST(TiedHead, TiedAndAbsentIsTheEmbedding) {
  const TemporaryFolder folder;
  const TinyCheckpoint tiny = make_tiny_checkpoint({});
  tiny.write(folder.path());
  const Checkpoint checkpoint = Checkpoint::open(folder.path());
  EXPECT_EQ(checkpoint.tensor(kHead).data, checkpoint.tensor(kEmbedding).data);
  EXPECT_TRUE(same_bytes(checkpoint.tensor(kHead), tiny.tensors.at(kEmbedding)));
}

// As Qwen3-0.6B is published: counted among the stored entries, not among the parameters.
TEST(TiedHead, TiedAndStoredEqualIsCountedOnce) {
  for (const int shards : {1, 4}) {
    const TemporaryFolder folder;
    make_tiny_checkpoint({.stored_lm_head = true}).write_sharded(folder.path(), shards);
    const Checkpoint checkpoint = Checkpoint::open(folder.path());
    EXPECT_EQ(checkpoint.stored_elements() - checkpoint.unique_parameters(), 64 * 32);
    EXPECT_EQ(checkpoint.tensor(kHead).data, checkpoint.tensor(kEmbedding).data);
  }
}

TEST(TiedHead, TiedAndStoredDifferentIsRefused) {
  TinyCheckpoint tiny = make_tiny_checkpoint({.stored_lm_head = true});
  tiny.tensors[kHead].bytes.back() ^= std::byte{1};
  EXPECT_THAT(refusal(tiny), AllOf(HasSubstr("tensor 'lm_head.weight' differs"),
                                   HasSubstr("Transformers 4.57.6 would use the embedding"),
                                   Not(HasSubstr("\n"))));
  // The same bytes read as another dtype are not the same values.
  tiny.tensors[kHead] = tiny.tensors.at(kEmbedding);
  EXPECT_EQ(refusal(tiny), "");
  tiny.tensors[kHead].dtype = DType::kFloat16;
  EXPECT_THAT(refusal(tiny), HasSubstr("tensor 'lm_head.weight' differs"));
}

TEST(TiedHead, UntiedIsTheStoredHead) {
  const TemporaryFolder folder;
  const TinyCheckpoint tiny = make_tiny_checkpoint({.tie_word_embeddings = false});
  ASSERT_NE(tiny.tensors.at(kHead).bytes, tiny.tensors.at(kEmbedding).bytes);
  tiny.write(folder.path());
  const Checkpoint checkpoint = Checkpoint::open(folder.path());
  EXPECT_TRUE(same_bytes(checkpoint.tensor(kHead), tiny.tensors.at(kHead)));
  EXPECT_TRUE(same_bytes(checkpoint.tensor(kEmbedding), tiny.tensors.at(kEmbedding)));
}

TEST(TiedHead, UntiedAndAbsentIsRefused) {
  TinyCheckpoint tiny = make_tiny_checkpoint({.tie_word_embeddings = false});
  tiny.tensors.erase(kHead);
  EXPECT_THAT(refusal(tiny), AllOf(HasSubstr("missing: 'lm_head.weight' [64, 32]"),
                                   HasSubstr("tie_word_embeddings is false")));
}

TEST(TiedHead, MisshapedIsRefusedEvenWhenTied) {
  TinyCheckpoint tiny = make_tiny_checkpoint({.stored_lm_head = true});
  tiny.tensors[kHead].shape = {32, 64};
  EXPECT_THAT(refusal(tiny), HasSubstr("misshaped: 'lm_head.weight'"));
}

class ShardedTest : public ::testing::Test {
 protected:
  ShardedTest() { tiny_.write_sharded(folder_.path(), 3); }
  fs::path path(const std::string& name) const { return folder_.path() / name; }
  json index() const { return json::parse(read_text(path("model.safetensors.index.json"))); }
  void write_index(const json& index) const {
    write_text(path("model.safetensors.index.json"), index.dump());
  }
  std::string refusal() const { return model::refusal(folder_.path()); }

  TinyCheckpoint tiny_ = make_tiny_checkpoint({});
  TemporaryFolder folder_;
};

// sgl-project/sglang#32279, GeeeekExplorer/nano-vllm#264, huggingface/transformers#34759.
TEST_F(ShardedTest, MissingShardsAreListed) {
  fs::remove(path(shard_name(0, 3)));
  fs::remove(path(shard_name(2, 3)));
  EXPECT_THAT(refusal(), AllOf(StartsWith(path("model.safetensors.index.json").string()),
                               HasSubstr("\n  missing file: " + shard_name(0, 3)),
                               HasSubstr("\n  missing file: " + shard_name(2, 3))));
}

TEST_F(ShardedTest, IndexMustSayWhatTheFilesHold) {
  json index = this->index();
  index["weight_map"].erase(kUp);
  write_index(index);
  EXPECT_THAT(refusal(), HasSubstr("not in the index: '" + kUp + "', stored in model-0000"));

  index = json::parse(index.dump());
  index["weight_map"][kUp] = shard_name(0, 3);  // it is in another one
  write_index(index);
  EXPECT_THAT(refusal(),
              HasSubstr("not where the index says: '" + kUp + "' is not in " + shard_name(0, 3)));
}

TEST_F(ShardedTest, TensorInNoFileIsRefused) {
  json index = this->index();
  index["weight_map"]["model.layers.9.mlp.up_proj.weight"] = shard_name(0, 3);
  write_index(index);
  EXPECT_THAT(refusal(), HasSubstr("'model.layers.9.mlp.up_proj.weight' is not in"));
}

TEST_F(ShardedTest, TensorInTwoFilesIsRefused) {
  TinyCheckpoint one;
  one.tensors[kUp] = tiny_.tensors.at(kUp);
  const TemporaryFolder other;
  one.write(other.path());
  fs::copy(other.path() / "model.safetensors", path("extra.safetensors"));
  json index = this->index();
  index["weight_map"]["model.norm.weight"] = "extra.safetensors";
  write_index(index);
  EXPECT_THAT(refusal(), HasSubstr("duplicate: '" + kUp + "' is in extra.safetensors and in"));
}

// Blaizzy/mlx-vlm#1464, #1827: a stray file is not merged in.
TEST_F(ShardedTest, StrayFileIsIgnoredAndMentioned) {
  make_tiny_checkpoint({.seed = 2}).write(folder_.path());  // another model.safetensors
  write_text(path("notes.safetensors"), "not even a safetensors file");
  const Checkpoint checkpoint = Checkpoint::open(folder_.path());
  EXPECT_TRUE(same_bytes(checkpoint.tensor(kUp), tiny_.tensors.at(kUp)));
  EXPECT_THAT(checkpoint.notes(),
              ElementsAre(AllOf(StartsWith("model.safetensors: ignored"),
                                HasSubstr("Transformers 4.57 would load it")),
                          StartsWith("notes.safetensors: ignored, the index does not name it")));
}

// huggingface/transformers#47176, #46913, huggingface/diffusers#14175: names that leave the folder.
TEST_F(ShardedTest, ShardNamesCannotLeaveTheFolder) {
  const json good = index();
  for (const char* name :
       {"../x.safetensors", "/abs.safetensors", "a/../../x.safetensors", "x\\y.safetensors", "..",
        ".", "", "./model.safetensors", "sub/model.safetensors", "a\nb.safetensors"}) {
    json index = good;
    index["weight_map"][kUp] = name;
    write_index(index);
    EXPECT_THAT(refusal(), AllOf(StartsWith(path("model.safetensors.index.json").string()),
                                 HasSubstr("is not a plain file name"), Not(HasSubstr("\n"))))
        << name;
  }
  json index = good;
  index["weight_map"][kUp] = "pytorch_model.bin";
  write_index(index);
  EXPECT_THAT(refusal(), HasSubstr("'pytorch_model.bin' is not a safetensors file"));
}

TEST_F(ShardedTest, AShardThatIsALinkOutOfTheFolderIsRefused) {
  const TemporaryFolder elsewhere;
  const fs::path shard = folder_.path() / shard_name(1, 3);
  const fs::path moved = elsewhere.path() / "x.safetensors";
  fs::copy(shard, moved);
  fs::remove(shard);
  fs::create_symlink(moved, shard);
  EXPECT_THAT(refusal(), AllOf(StartsWith(path("model.safetensors.index.json").string()),
                               HasSubstr("shard '" + shard_name(1, 3) + "' is a link that leaves"),
                               HasSubstr(moved.string())));
  // Within the folder it may be called what it likes.
  fs::remove(shard);
  fs::create_directory(folder_.path() / "parts");
  fs::copy(moved, folder_.path() / "parts/x");
  fs::create_symlink("parts/x", shard);
  EXPECT_NO_THROW(Checkpoint::open(folder_.path()));
}

// A Hugging Face cache: snapshots/<revision>/ holds links to ../../blobs/<hash>.
TEST_F(ShardedTest, HuggingFaceCacheLinksLoad) {
  const TemporaryFolder cache;
  const fs::path snapshot = cache.path() / "snapshots/c1899de2";
  fs::create_directories(snapshot);
  fs::create_directories(cache.path() / "blobs");
  int number = 0;
  for (const auto& entry : fs::directory_iterator(folder_.path())) {
    const std::string blob = "blob" + std::to_string(number++);
    fs::copy(entry.path(), cache.path() / "blobs" / blob);
    fs::create_symlink("../../blobs/" + blob, snapshot / entry.path().filename());
  }
  const Checkpoint checkpoint = Checkpoint::open(snapshot);
  EXPECT_TRUE(same_bytes(checkpoint.tensor(kUp), tiny_.tensors.at(kUp)));
  // A blob that was cleaned away is a missing file.
  fs::remove(fs::canonical(snapshot / shard_name(1, 3)));
  EXPECT_THAT(model::refusal(snapshot), HasSubstr("missing file: " + shard_name(1, 3)));
}

TEST_F(ShardedTest, MalformedIndexIsRefused) {
  for (const char* text :
       {"", "[]", "{}", R"({"weight_map":{}})", R"({"weight_map":[]})", R"({"weight_map":null})",
        R"({"weight_map":{"a":1}})", R"({"weight_map":{"a":"x.safetensors","a":"y.safetensors"}})",
        R"({"weight_map":{"a":"x.safetensors"},"weights":{}})"}) {
    write_text(path("model.safetensors.index.json"), text);
    EXPECT_THAT(refusal(), AllOf(StartsWith(path("model.safetensors.index.json").string() + ":"),
                                 Not(HasSubstr("\n"))))
        << text;
  }
}

TEST_F(ShardedTest, DamagedShardIsNamed) {
  fs::resize_file(path(shard_name(1, 3)), fs::file_size(path(shard_name(1, 3))) - 1);
  EXPECT_THAT(refusal(), StartsWith(path(shard_name(1, 3)).string() + ": truncated"));
}

// ggml-org/llama.cpp#6774, ollama/ollama#17149, at the level of a checkpoint: no signal, one line.
TEST(Folder, DamagedFilesAreNamed) {
  const TemporaryFolder folder;
  make_tiny_checkpoint({}).write(folder.path());
  const fs::path file = folder.path() / "model.safetensors";
  const std::string good = read_text(file);
  for (const std::size_t size :
       {good.size() - 1, good.size() / 2, std::size_t{7}, std::size_t{0}}) {
    write_text(file, good.substr(0, size));
    EXPECT_THAT(refusal(folder.path()), StartsWith(file.string() + ": truncated"));
    EXPECT_THAT(refusal(folder.path(), {.read_instead_of_map = true}),
                StartsWith(file.string() + ": truncated"));
  }
}

TEST(Folder, WhatIsNoCheckpointIsSaidInOneLine) {
  const TemporaryFolder folder;
  const std::string name = folder.path().string();
  const auto expect = [&](const std::string& message) {
    EXPECT_THAT(refusal(folder.path()),
                AllOf(StartsWith(name), HasSubstr(message), Not(HasSubstr("\n"))));
  };
  EXPECT_EQ(refusal(folder.path() / "nowhere"), name + "/nowhere: there is no such folder");
  expect("the folder is empty");
  write_text(folder.path() / "README.md", "hello");
  expect("no config.json in it, so this is not a checkpoint");
  EXPECT_THAT(refusal(folder.path() / "README.md"), HasSubstr("not a folder"));
  write_text(folder.path() / "model.gguf", "GGUF");
  expect("found 'model.gguf', which octlm does not read");
  write_text(folder.path() / "config.json", make_tiny_checkpoint({}).config_json);
  expect("found 'model.gguf', which octlm does not read");
  fs::remove(folder.path() / "model.gguf");
  expect("no weights: neither model.safetensors nor model.safetensors.index.json");
  write_text(folder.path() / "pytorch_model.bin", "\x80\x02");
  expect("found 'pytorch_model.bin', which may be a pickle and is never opened");
  fs::create_directory(folder.path() / "model.safetensors");
  expect("model.safetensors: not a regular file");
}

TEST(Folder, ConfigErrorsNameTheFile) {
  TinyCheckpoint tiny = make_tiny_checkpoint({});
  set_config(tiny, "attention_bias", true);
  EXPECT_THAT(refusal(tiny), HasSubstr("/config.json: field 'attention_bias': found true"));
}

// safetensors/safetensors#231, #607, ggml-org/llama.cpp#18291: data that is not aligned.
TEST(Alignment, MisalignedTensorsAreCopiedAligned) {
  const TemporaryFolder folder;
  const TinyCheckpoint tiny = make_tiny_checkpoint({.dtype = DType::kFloat32});
  tiny.write(folder.path());
  const fs::path file = folder.path() / "model.safetensors";
  const std::string aligned = read_text(file);
  std::uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, aligned.data(), sizeof header_bytes);
  for (const std::uint64_t shift : {1, 2, 3}) {
    const std::uint64_t longer = header_bytes + shift;
    std::string moved(reinterpret_cast<const char*>(&longer), sizeof longer);
    moved += aligned.substr(8, header_bytes) + std::string(shift, ' ') +
             aligned.substr(8 + header_bytes);
    write_text(file, moved);
    for (const bool read : {false, true}) {
      const Checkpoint checkpoint = Checkpoint::open(folder.path(), {.read_instead_of_map = read});
      for (const auto& [name, tensor] : tiny.tensors) {
        const ConstTensorView view = checkpoint.tensor(name);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(view.data) % 4, 0u);
        EXPECT_TRUE(same_bytes(view, tensor)) << name;
        EXPECT_GT(view.as<float>()[0] + 100.0f, 0.0f);  // a float load, for UBSan to judge
      }
      EXPECT_THAT(checkpoint.notes(), ElementsAre(HasSubstr("are not aligned")));
    }
  }
}

// An odd number of 16-bit elements in front moves the float32 tensors behind it off their
// alignment.
TEST(Alignment, OddTensorBeforeWiderOnes) {
  const TemporaryFolder folder;
  const TinyOptions odd = {.hidden_size = 33, .vocab_size = 63, .dtype = DType::kFloat32};
  TinyOptions narrow = odd;
  narrow.dtype = DType::kBFloat16;
  TinyCheckpoint tiny = make_tiny_checkpoint(odd);
  tiny.tensors[kEmbedding] = make_tiny_checkpoint(narrow).tensors.at(kEmbedding);
  ASSERT_EQ(tiny.tensors.begin()->first, kEmbedding);  // stored first
  tiny.write(folder.path());
  const Checkpoint checkpoint = Checkpoint::open(folder.path());
  for (const auto& [name, tensor] : tiny.tensors) {
    EXPECT_TRUE(same_bytes(checkpoint.tensor(name), tensor)) << name;
  }
  EXPECT_THAT(checkpoint.notes(), ElementsAre(HasSubstr("23 tensors are not aligned")));
}

template <class Bits>
void plant(TinyTensor& tensor, std::size_t element, Bits bits) {
  std::memcpy(tensor.bytes.data() + element * sizeof(Bits), &bits, sizeof(Bits));
}

TEST(Finite, NanAndInfinityAreRefusedByTensorAndElement) {
  struct Case {
    DType dtype;
    std::uint32_t bits;
    const char* name;
  };
  for (const Case& c :
       {Case{DType::kBFloat16, 0x7fc0, "nan"}, Case{DType::kBFloat16, 0xff81, "nan"},
        Case{DType::kBFloat16, 0x7f80, "inf"}, Case{DType::kBFloat16, 0xff80, "-inf"},
        Case{DType::kFloat16, 0x7e00, "nan"}, Case{DType::kFloat16, 0xfc01, "nan"},
        Case{DType::kFloat16, 0x7c00, "inf"}, Case{DType::kFloat16, 0xfc00, "-inf"},
        Case{DType::kFloat32, 0x7fc00000, "nan"}, Case{DType::kFloat32, 0xff800001, "nan"},
        Case{DType::kFloat32, 0x7f800000, "inf"}, Case{DType::kFloat32, 0xff800000, "-inf"}}) {
    const TinyCheckpoint good = make_tiny_checkpoint({.dtype = c.dtype});
    const std::size_t last = good.tensors.at(kUp).bytes.size() / dtype_bytes(c.dtype) - 1;
    for (const std::size_t element : {std::size_t{0}, std::size_t{777}, last}) {
      TinyCheckpoint tiny = good;
      if (c.dtype == DType::kFloat32) {
        plant(tiny.tensors[kUp], element, c.bits);
      } else {
        plant(tiny.tensors[kUp], element, static_cast<std::uint16_t>(c.bits));
      }
      const TemporaryFolder folder;
      tiny.write(folder.path());
      EXPECT_THAT(refusal(folder.path()),
                  AllOf(HasSubstr("model.safetensors: tensor '" + kUp + "' [48, 32]: element " +
                                  std::to_string(element) + " (row-major) is " + c.name + ";"),
                        Not(HasSubstr("\n"))));
      EXPECT_EQ(refusal(folder.path(), {.check_finite = false}), "");
    }
  }
}

TEST(Finite, LargestFiniteValuesPass) {
  const std::vector<std::uint16_t> bf16 = {0x7f7f, 0xff7f, 0x0000, 0x8000, 0x0001};
  const std::vector<std::uint16_t> f16 = {0x7bff, 0xfbff, 0x0000, 0x8000, 0x0001};
  const std::vector<float> f32 = {std::numeric_limits<float>::max(),
                                  -std::numeric_limits<float>::max(),
                                  std::numeric_limits<float>::denorm_min(), -0.0f};
  const std::vector<ConstTensorView> views = {{bf16.data(), DType::kBFloat16, {5}},
                                              {f16.data(), DType::kFloat16, {5}},
                                              {f32.data(), DType::kFloat32, {4}},
                                              {nullptr, DType::kFloat32, {0, 3}}};
  EXPECT_FALSE(find_non_finite(views).has_value());
  EXPECT_FALSE(find_non_finite({}).has_value());
}

// Large enough for several pieces (2^22 elements) and threads: the first finding wins, whether the
// thread that holds the earlier piece comes to it before or after the one that holds the later
// piece.
TEST(Finite, FirstFindingIsReportedWhateverTheThreads) {
  constexpr std::size_t kPiece = std::size_t{1} << 22;
  std::vector<std::uint16_t> values(10 * kPiece, 0x3f80);
  const std::vector<ConstTensorView> views = {
      {values.data(), DType::kBFloat16, {1000}},
      {values.data(), DType::kBFloat16, {static_cast<std::int64_t>(values.size())}}};
  values.back() = 0x7f80;
  for (const auto& [first, later] : {std::pair{7 * kPiece + kPiece / 2, 9 * kPiece - 1},
                                     std::pair{8 * kPiece - 1, 8 * kPiece}}) {
    values[first] = 0xff80;
    values[later] = 0x7fc0;
    for (int repeat = 0; repeat < 5; ++repeat) {
      const auto found = find_non_finite(views);
      ASSERT_TRUE(found.has_value());
      EXPECT_EQ(found->tensor, 1u);
      EXPECT_EQ(found->element, static_cast<std::int64_t>(first));
      EXPECT_EQ(found->value, "-inf");
    }
    values[first] = values[later] = 0x3f80;
  }
}

TEST(TinyCheckpointTest, IsTheSameEveryTimeAndTellsNormsApart) {
  const TinyCheckpoint a = make_tiny_checkpoint({});
  const TinyCheckpoint b = make_tiny_checkpoint({});
  for (const auto& [name, tensor] : a.tensors) EXPECT_EQ(tensor.bytes, b.tensors.at(name).bytes);
  EXPECT_NE(a.tensors.at(kUp).bytes, make_tiny_checkpoint({.seed = 2}).tensors.at(kUp).bytes);
  EXPECT_NE(a.tensors.at("model.layers.0.input_layernorm.weight").bytes,
            a.tensors.at("model.layers.0.post_attention_layernorm.weight").bytes);
  // The final norm's weights are near exp(1.75) = 5.75, far from one.
  std::vector<float> norm(32);
  const TinyTensor stored =
      make_tiny_checkpoint({.dtype = DType::kFloat32}).tensors.at("model.norm.weight");
  std::memcpy(norm.data(), stored.bytes.data(), stored.bytes.size());
  for (const float weight : norm) {
    EXPECT_GT(weight, 2.0f);
    EXPECT_LT(weight, 16.0f);
  }
}

// A checkpoint damaged anywhere opens or throws runtime_error; nothing else happens.
TEST(Damage, AnyByteOfAnyFile) {
  const std::uint32_t seed = 74;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const TemporaryFolder folder;
  const TinyOptions small = {.hidden_size = 4,
                             .num_hidden_layers = 1,
                             .num_attention_heads = 2,
                             .num_key_value_heads = 1,
                             .head_dim = 4,
                             .intermediate_size = 4,
                             .vocab_size = 4,
                             .stored_lm_head = true};
  make_tiny_checkpoint(small).write_sharded(folder.path(), 2);
  std::vector<std::pair<fs::path, std::string>> files;
  for (const auto& entry : fs::directory_iterator(folder.path())) {
    files.emplace_back(entry.path(), read_text(entry.path()));
  }
  std::sort(files.begin(), files.end());
  ASSERT_EQ(files.size(), 4u);
  int opened = 0;
  int refused = 0;
  for (int round = 0; round < 4000; ++round) {
    const auto& [path, good] = files[random() % files.size()];
    std::string bad = good;
    const std::size_t at = random() % bad.size();
    switch (random() % 4) {
      case 0:
        bad.resize(at);
        break;
      case 1:
        bad.erase(at, 1 + random() % 16);
        break;
      default:
        bad[at] = static_cast<char>(bad[at] ^ (1 << random() % 8));
        break;
    }
    write_text(path, bad);
    try {
      const Checkpoint checkpoint =
          Checkpoint::open(folder.path(), {.read_instead_of_map = round % 2 == 0});
      EXPECT_EQ(checkpoint.stored().size(), 14u) << "seed " << seed << " round " << round;
      ++opened;
    } catch (const std::runtime_error& error) {
      EXPECT_THAT(error.what(), StartsWith(folder.path().string()));
      ++refused;
    }
    write_text(path, good);
  }
  EXPECT_GT(opened, 100);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace octlm::model
