// Which template a checkpoint's folder has, and the special tokens that it may name: what
// Transformers' tokenizer takes from the same files.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "model/chat_template/chat_request.h"

namespace octlm::model {

struct NamedTemplate {
  std::string name;  // "default", "tool_use", ...
  std::string source;
  std::string where;  // the file, for messages
};

struct TemplateSource {
  std::vector<NamedTemplate> templates;
  // bos_token, eos_token, additional_special_tokens and the names of extra_special_tokens: those
  // that are set, in tokenizer_config.json or by the tokenizer's class.
  OrderedJson special_tokens;
};

// chat_template.jinja and additional_chat_templates/*.jinja win over tokenizer_config.json's
// chat_template. (chat_template.json belongs to processors; a tokenizer does not read it.) Throws
// std::runtime_error when there is none.
TemplateSource find_template(const std::filesystem::path& folder);

}  // namespace octlm::model
