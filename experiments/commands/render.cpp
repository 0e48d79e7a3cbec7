// octlm render: a filter, so that anybody can check chats with their own tools.
//   stdin   {"messages": [...], "tools"?, "add_generation_prompt"?, "enable_thinking"?}
//   stdout  {"text": "...", "ids": [...]}
// One chat a line, one answer a line, in order.
// A bad line gives {"error"}; the others go on, and the exit code is 4. What a message contains
// never becomes a control token, whatever it looks like.
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "experiments/commands/commands.h"
#include "experiments/commands/filter.h"
#include "experiments/engines/checkpoint_store.h"
#include "model/chat_template/chat_template.h"
#include "model/chat_template/errors.h"
#include "model/tokenizer/tokenizer.h"

namespace octlm::experiments {
namespace {

nlohmann::json answer(const std::string& line, const std::string& where,
                      const model::ChatTemplate& chat_template, const model::Tokenizer& tokenizer) {
  const auto chat = model::parse_chat_request(line, where);
  try {
    const model::RenderedText text = chat_template.render(chat);
    return {{"text", text.text()}, {"ids", tokenizer.encode_rendered(text)}};
  } catch (const model::TemplateError& error) {  // the template refuses this chat
    return {{"error", error.what()}};
  }
}

int render(const std::string& model) {
  const auto folder = resolve_model_argument(model);
  const auto chat_template = opened([&] { return model::ChatTemplate::load(folder); });
  const auto tokenizer = opened([&] { return model::Tokenizer::load(folder); });
  return run_line_filter(std::cin, std::cout,
                         [&](const std::string& line, const std::string& where) {
                           return answer(line, where, chat_template, tokenizer);
                         });
}

}  // namespace

void add_render(CommandLine& line) {
  auto model = std::make_shared<std::string>();
  CLI::App* command = line.app.add_subcommand(
      "render",
      "JSON lines {\"messages\", ...} on stdin -> {\"text\", \"ids\"}, by the chat template");
  command
      ->add_option("--model", *model,
                   "checkpoint folder (no weights needed), or a name in the cache")
      ->required();
  command->callback(
      [&action = line.action, model] { action = [model] { return render(*model); }; });
}

}  // namespace octlm::experiments
