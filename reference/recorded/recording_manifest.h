// manifest.json of a recording (recorded.h):
//   {"schema": 1,
//    "producer": {"engine": "transformers", "version": "4.57.6", "settings": {...}},
//    "weights": {"model.safetensors": "sha256:f47f..."}, "dtype": "float32", "attention": "eager",
//    "vocab_size": 151936, "max_positions": 40960,
//    "cases": [{"token_ids": [...], "token_ids_sha256": "...", "tensor": "logits.0",
//               "file": "logits.0.safetensors", "file_sha256": "...", "calls": [[0, 200]]}]}
// token_ids_sha256 is over the ids as little-endian 32-bit integers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "reference/engine.h"
#include "reference/recorded/recorded.h"

namespace octlm::reference {

struct RecordedCase {
  std::vector<std::int32_t> token_ids;
  std::string token_ids_sha256;
  std::string tensor;
  std::string file;  // a name in the recording's folder
  std::string file_sha256;
  std::vector<ForwardCall> calls;
};

struct RecordingManifest {
  EngineDescription producer;
  RecordingKey key;
  std::int64_t vocab_size = 0;
  std::int64_t max_positions = 0;
  std::vector<RecordedCase> cases;
};

// Throws std::runtime_error with file and place: unknown, missing or duplicate keys, wrong types,
// ids that do not have their hash, a case twice, a file name that leaves the folder.
RecordingManifest read_manifest(const std::filesystem::path& folder);
// Written beside, flushed and renamed.
void write_manifest(const RecordingManifest& manifest, const std::filesystem::path& folder);

}  // namespace octlm::reference
