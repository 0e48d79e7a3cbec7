// Test support: writes small, complete checkpoints (config.json + safetensors) to a folder, with
// weights drawn so that a wrong decoder shows (norm weights away from 1, distinct matrices), and
// lets a test break them in one place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "formats/testing/temporary_folder.h"
#include "model/config.h"
#include "model/tensor.h"

namespace octlm::model::testing {

struct TinyTensor {
  DType dtype = DType::kBFloat16;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;  // little-endian, as stored
};

// What is about to be written; a test may change anything before write().
struct TinyCheckpoint {
  std::string config_json;
  std::map<std::string, TinyTensor> tensors;

  // Writes config.json and model.safetensors into `folder` (created).
  void write(const std::filesystem::path& folder) const;
  // The same in `shards` files with model.safetensors.index.json.
  void write_sharded(const std::filesystem::path& folder, int shards) const;
};

// "model-00001-of-00003.safetensors" for shard 0 of 3.
std::string shard_name(int shard, int shards);

struct TinyOptions {
  std::string model_type = "qwen3";  // or "llama"
  std::int64_t hidden_size = 32;
  std::int64_t num_hidden_layers = 2;
  std::int64_t num_attention_heads = 4;
  std::int64_t num_key_value_heads = 2;
  std::int64_t head_dim = 16;  // not hidden_size / num_attention_heads
  std::int64_t intermediate_size = 48;
  std::int64_t vocab_size = 64;
  std::int64_t max_position_embeddings = 128;
  bool tie_word_embeddings = true;
  bool stored_lm_head = false;  // tied, and the duplicate stored as Qwen3-0.6B does
  DType dtype = DType::kBFloat16;
  std::uint64_t seed = 1;
};

TinyCheckpoint make_tiny_checkpoint(const TinyOptions& options);

using formats::testing::TemporaryFolder;

}  // namespace octlm::model::testing
