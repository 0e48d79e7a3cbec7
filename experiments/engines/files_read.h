// Which files of a checkpoint's folder an experiment's engines read: what its spec has to pin, so
// that nothing else decides a verdict. Our decoder and Transformers 4.57 count, with
// trust_remote_code off; what a program of somebody else's opens nobody knows.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace octlm::experiments {

struct Reads {
  // Logits are computed: config.json, the safetensors files that Transformers and our decoder
  // choose, every index, and what would make another model of them (an adapter, Python code).
  // generation_config.json is none of them: the reference is given an empty one (load_model).
  bool weights = false;
  // Texts become ids, or chats texts, and the spec does not say which: tokenizer and templates.
  // vocab.json and merges.txt are none of them: both sides need tokenizer.json and then leave them.
  // Of special_tokens_map.json and config.json the same is true once tokenizer_config.json lists
  // the added tokens and names its class.
  bool text = false;
};

// Their names relative to `folder`, sorted; those only that are there.
std::vector<std::string> files_read(const std::filesystem::path& folder, Reads reads);

// Every file there that some engine reads in some experiment, sorted.
std::vector<std::string> files_known(const std::filesystem::path& folder);

}  // namespace octlm::experiments
