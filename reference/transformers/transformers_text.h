// Hugging Face's tokenizers and Transformers' chat templates as a TextEngine, running in this
// process (text_reference.py). Needs neither weights nor PyTorch.
#pragma once

#include <filesystem>
#include <memory>

#include "reference/text_engine.h"

namespace octlm::reference {

struct TransformersTextOptions {
  std::filesystem::path python;  // the environment's interpreter (python.h)
  std::filesystem::path folder;  // with tokenizer.json and tokenizer_config.json
};

// kLiteral is the same tokenizer.json without added tokens and normaliser; a text with a byte that
// the vocabulary lacks is refused there, where the library would drop it. kOneByOne is kWhole: one
// by one is for the other side to get right. A chat's `ids` are apply_chat_template's where the
// chat's own words hold no control string, and put together from what the template wrote and what
// it did not where they do.
//
// Throws std::runtime_error for an environment or a folder that cannot be used. Belongs to one
// thread at a time.
std::unique_ptr<TextEngine> make_transformers_text(const TransformersTextOptions& options);

}  // namespace octlm::reference
