#include "experiments/kinds/case_ids.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "formats/error.h"
#include "model/chat_template/chat_template.h"

namespace octlm::experiments {
namespace {

namespace fs = std::filesystem;
using Ids = std::vector<std::int32_t>;

model::RenderedText rendered(const TokenCase& token_case,
                             const model::ChatTemplate& chat_template) {
  const auto text = chat_template.render(model::parse_chat_request(*token_case.chat, "its chat"));
  if (!token_case.text.empty() && text.text() != token_case.text) {
    throw std::invalid_argument("its chat is rendered as another text than the one beside it");
  }
  return text;
}

Ids ids_of(const TokenCase& token_case, const model::Tokenizer& tokenizer,
           const std::optional<model::ChatTemplate>& chat_template) {
  if (token_case.chat) return tokenizer.encode_rendered(rendered(token_case, *chat_template));
  if (token_case.mode != "native") return tokenizer.encode_literal(token_case.text);
  return tokenizer.encode_rendered(model::RenderedText::of_template(token_case.text));
}

std::string at(const Ids& ids, std::size_t position) {
  return position < ids.size() ? std::to_string(ids[position]) : "no id";
}

void hold_against(const Ids& given, const Ids& ids, const std::string& what) {
  if (given == ids) return;
  const auto differ = std::ranges::mismatch(given, ids).in1 - given.begin();
  const auto position = static_cast<std::size_t>(differ);
  throw std::invalid_argument(
      "its token_ids are not those of its " + what + ": at position " + std::to_string(position) +
      " they have " + at(given, position) + ", the " + what + " gives " + at(ids, position) + " (" +
      std::to_string(given.size()) + " ids and " + std::to_string(ids.size()) + ")");
}

void fill(TokenCase& token_case, const model::Tokenizer& tokenizer,
          const std::optional<model::ChatTemplate>& chat_template) {
  const std::string what = token_case.chat ? "chat" : "text";
  const Ids ids = ids_of(token_case, tokenizer, chat_template);
  if (ids.empty()) throw std::invalid_argument("its " + what + " has no token");
  if (!token_case.token_ids.empty()) hold_against(token_case.token_ids, ids, what);
  token_case.ids_from = token_case.token_ids.empty() ? what : "spec, equal to its " + what;
  token_case.token_ids = ids;
}

bool has_text(const TokenCase& token_case) { return token_case.chat || !token_case.text.empty(); }

}  // namespace

std::optional<verify::NotRun> fill_token_ids(std::vector<TokenCase>& cases, const fs::path& folder,
                                             std::optional<model::Tokenizer>* used) {
  if (std::ranges::none_of(cases, has_text)) return std::nullopt;
  if (!fs::exists(folder / "tokenizer.json")) {
    const auto needing =
        std::ranges::find_if(cases, [](const TokenCase& one) { return one.token_ids.empty(); });
    if (needing == cases.end()) return std::nullopt;
    return verify::NotRun{
        "the case \"" + needing->name + "\" gives no ids, and " + folder.string() +
            " has no tokenizer.json; give the ids, or a checkpoint with its tokenizer",
        "weights"};
  }
  auto tokenizer = model::Tokenizer::load(folder);
  std::optional<model::ChatTemplate> chat_template;
  if (std::ranges::any_of(cases, [](const TokenCase& one) { return one.chat.has_value(); })) {
    chat_template = model::ChatTemplate::load(folder);
  }
  for (TokenCase& token_case : cases) {
    if (!has_text(token_case)) continue;
    try {
      fill(token_case, tokenizer, chat_template);
    } catch (const std::exception& error) {  // a text, a chat or a template that is refused
      throw formats::FormatError("case \"" + token_case.name + "\": " + error.what());
    }
  }
  if (used != nullptr) used->emplace(std::move(tokenizer));
  return std::nullopt;
}

}  // namespace octlm::experiments
