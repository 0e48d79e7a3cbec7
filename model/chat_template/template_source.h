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
  OrderedJson special_tokens;  // bos_token, eos_token, ...: those that are set
};

// chat_template.jinja and additional_chat_templates/*.jinja win over tokenizer_config.json's
// chat_template. (chat_template.json belongs to processors; a tokenizer does not read it.) Throws
// std::runtime_error when there is none.
TemplateSource find_template(const std::filesystem::path& folder);

}  // namespace octlm::model
