// What several kinds begin a spec with, for their Kind::start. JSON has no comments, so what is the
// author's to write says REPLACE in its own text (verify::kToBeWritten).
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace octlm::experiments {

struct ModelStart {
  std::filesystem::path folder;
  std::int64_t vocab = 0;
  nlohmann::ordered_json spec;  // title and model
};

// `checkpoint`: a folder, or a name in the cache. The model's `files`, whose sha256 pins it, are
// those that `is_about` picks. Throws std::invalid_argument when there is no such checkpoint.
ModelStart start_with_model(const std::string& checkpoint, const std::string& claim,
                            bool (*is_about)(const std::string& file));
bool is_weights(const std::string& file);
bool is_text(const std::string& file);

// Ids spread over the vocabulary, none of them the first few: those are often controls.
nlohmann::ordered_json start_ids(std::int64_t count, std::int64_t vocab);

nlohmann::ordered_json start_reference();  // Transformers, eager, float32
nlohmann::ordered_json start_subject(const std::vector<std::string>& paths);  // float32, cpu

// Writes `criteria` and `also_record` of a comparison of logits.
void start_parity_criteria(nlohmann::ordered_json& spec);
// {"metric", "equals": 1, "derivation"}
nlohmann::ordered_json start_equal(const char* metric, const char* derivation);

}  // namespace octlm::experiments
