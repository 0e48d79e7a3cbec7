// octlm tokenize and octlm detokenize: filters over a checkpoint's tokenizer.json. They need no
// weights.
//   tokenize     {"text": "Hello"}     -> {"ids": [9707]}
//   detokenize   {"ids": [9707]}       -> {"text": "Hello"}
// A bad line gives {"error"}; the others go on, and the exit code is 4.
#include <iostream>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "experiments/commands/commands.h"
#include "experiments/commands/filter.h"
#include "experiments/engines/checkpoint_store.h"
#include "formats/json_reader.h"
#include "model/tokenizer/tokenizer.h"

namespace octlm::experiments {
namespace {

struct TokenizeArguments {
  std::string model;
  std::string mode = "literal";
  bool hf_compat = false;
};

std::vector<std::int32_t> encode(const model::Tokenizer& tokenizer, const std::string& text,
                                 const TokenizeArguments& arguments) {
  if (arguments.hf_compat) return tokenizer.encode_hf_compatible(text);
  if (arguments.mode == "literal") return tokenizer.encode_literal(text);
  return tokenizer.encode_rendered(model::RenderedText::of_template(text));
}

int tokenize(const TokenizeArguments& arguments) {
  if (arguments.hf_compat) {
    std::cerr << "octlm: --hf-compat: control strings become control tokens wherever they stand, "
                 "as in Transformers\n";
  }
  const auto tokenizer =
      opened([&] { return model::Tokenizer::load(resolve_model_argument(arguments.model)); });
  return run_filter(
      std::cin, std::cout, [&](const formats::Reader& line, std::int64_t) -> nlohmann::json {
        std::string text;
        line.object(
            [&](formats::ObjectReader& members) { text = members.required("text").string(); });
        return {{"ids", encode(tokenizer, text, arguments)}};
      });
}

int detokenize(const std::string& model_argument) {
  const auto tokenizer =
      opened([&] { return model::Tokenizer::load(resolve_model_argument(model_argument)); });
  return run_filter(std::cin, std::cout,
                    [&](const formats::Reader& line, std::int64_t) -> nlohmann::json {
                      std::vector<std::int32_t> ids;
                      line.object([&](formats::ObjectReader& members) {
                        for (const auto& item : members.required("ids").array()) {
                          ids.push_back(static_cast<std::int32_t>(
                              item.integer(0, std::numeric_limits<std::int32_t>::max())));
                        }
                      });
                      return {{"text", tokenizer.decode(ids)}};
                    });
}

}  // namespace

void add_tokenize(CommandLine& line) {
  auto arguments = std::make_shared<TokenizeArguments>();
  CLI::App* command =
      line.app.add_subcommand("tokenize", "JSON lines {\"text\"} on stdin -> {\"ids\"}");
  command->add_option("--model", arguments->model, "checkpoint folder, or a name in the cache")
      ->required();
  const auto mode =
      command->add_option("--mode", arguments->mode,
                          "literal: text from outside, never a control token (default); "
                          "native: text that a chat template wrote");
  mode->check(CLI::IsMember({"literal", "native"}));
  command->add_flag("--hf-compat", arguments->hf_compat, "as Transformers does")->excludes(mode);
  command->callback([&action = line.action, arguments] {
    action = [arguments] { return tokenize(*arguments); };
  });
}

void add_detokenize(CommandLine& line) {
  auto model_argument = std::make_shared<std::string>();
  CLI::App* command =
      line.app.add_subcommand("detokenize", "JSON lines {\"ids\"} on stdin -> {\"text\"}");
  command->add_option("--model", *model_argument, "checkpoint folder, or a name in the cache")
      ->required();
  command->callback([&action = line.action, model_argument] {
    action = [model_argument] { return detokenize(*model_argument); };
  });
}

}  // namespace octlm::experiments
