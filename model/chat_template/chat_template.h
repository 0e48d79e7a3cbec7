// The chat template of a checkpoint: its own Jinja source, run by a small interpreter, to a text of
// which every byte knows who wrote it. Equal to Transformers' rendering, or an error that names
// what is lacking: never another template in its place (ggml-org/llama.cpp#13178, google/minja#82).
//
// A template is untrusted. It sees only the values it is given and the operations that
// docs/chat-templates.md lists, in bounded time and memory.
#pragma once

#include <ctime>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "model/chat_template/budget.h"
#include "model/chat_template/chat_request.h"
#include "model/rendered_text.h"

namespace octlm::model {

struct TemplateOptions {
  Limits limits;
  std::function<std::tm()> clock;  // for strftime_now; the local time when empty
};

class ChatTemplate {
 public:
  // The template of the folder (template_source.h), and the checkpoint's special tokens as its
  // variables. Throws std::runtime_error with file and line.
  static ChatTemplate load(const std::filesystem::path& folder,
                           const TemplateOptions& options = {});

  // `where` names the source in messages. `special_tokens`: {"bos_token": "<s>", ...}, which count
  // as written by the template.
  static ChatTemplate parse(std::string_view source, const std::string& where,
                            const OrderedJson& special_tokens = OrderedJson::object(),
                            const TemplateOptions& options = {});

  // Throws std::invalid_argument for what is not a chat (chat_request.h), and TemplateError
  // (errors.h, a std::runtime_error, with file and line) when the template fails on it or lacks
  // something.
  RenderedText render(const ChatRequest& request) const;

 private:
  struct Parsed;
  explicit ChatTemplate(std::shared_ptr<const Parsed> parsed) : parsed_(std::move(parsed)) {}
  std::shared_ptr<const Parsed> parsed_;
};

}  // namespace octlm::model
