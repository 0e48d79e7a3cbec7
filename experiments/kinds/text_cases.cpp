#include "experiments/kinds/text_cases.h"

#include <functional>
#include <set>
#include <utility>

#include "experiments/kinds/spec_parts.h"

namespace octlm::experiments {
namespace {

using formats::ObjectReader;
using formats::Reader;

void read_stated_ids(ObjectReader& members, TextCase& text_case) {
  if (const auto ids = members.optional("token_ids")) text_case.stated_ids = read_token_ids(*ids);
}

std::vector<std::string> chats_of(const PromptFile& file, const std::optional<bool>& thinking) {
  auto chats = read_chats(file.path);
  if (thinking) {
    for (std::string& chat : chats) chat = with_thinking(chat, *thinking, file.path.string());
  }
  return chats;
}

void read_chat(ObjectReader& members, Prompts prompts, TextCase& text_case) {
  text_case.path = "chat";
  text_case.file = read_prompt_file(members.required("chat"));
  std::optional<bool> thinking;
  if (const auto given = members.optional("thinking")) thinking = given->boolean();
  std::vector<std::string> chats;
  if (prompts == Prompts::kRead) chats = chats_of(*text_case.file, thinking);
  if (const auto text = members.optional("text")) text_case.stated_text = text->non_empty_string();
  read_stated_ids(members, text_case);
  if (chats.size() > 1 && (text_case.stated_text || !text_case.stated_ids.empty())) {
    members.fail("\"text\" and \"token_ids\" are of one chat, and the file holds several");
  }
  text_case.source = std::move(chats);
}

void read_text(ObjectReader& members, TextCase& text_case) {
  text_case.path = members.required("mode").one_of({"literal", "native"});
  if (const auto text = members.optional("text")) {
    text_case.source = text->string();
    read_stated_ids(members, text_case);
    return;
  }
  members.required("texts").object([&](ObjectReader& texts) {
    if (const auto file = texts.optional("file")) {
      text_case.file = read_prompt_file(*file);
      text_case.source = text_case.file->path;
    } else {
      text_case.source = read_text_set(texts);
    }
  });
}

void read_ids(ObjectReader& members, TextCase& text_case) {
  text_case.path = "decode";
  if (const auto ids = members.optional("ids")) {
    text_case.source = read_id_set(*ids);
  } else {
    text_case.source = read_token_ids(members.required("token_ids"));
  }
}

using ReadCase = std::function<void(const Reader& item, ObjectReader& members, TextCase&)>;

std::vector<TextCase> read_cases(const verify::Spec& spec, const ReadCase& read) {
  std::vector<TextCase> cases;
  std::set<std::string> names;
  spec.part("cases").each_of_non_empty([&](const Reader& item) {
    item.object([&](ObjectReader& members) {
      TextCase text_case;
      const Reader name = members.required("name");
      text_case.name = name.non_empty_string();
      if (!names.insert(text_case.name).second) name.fail("another case has this name");
      read(item, members, text_case);
      cases.push_back(std::move(text_case));
    });
  });
  return cases;
}

}  // namespace

std::vector<TextCase> read_text_cases(const verify::Spec& spec, Prompts prompts) {
  return read_cases(spec, [&](const Reader& item, ObjectReader& members, TextCase& text_case) {
    const auto has = [&](const char* key) { return item.raw().contains(key); };
    if (has("chat")) {
      read_chat(members, prompts, text_case);
    } else if (has("text") || has("texts") || has("mode")) {
      read_text(members, text_case);
    } else {
      read_ids(members, text_case);
    }
  });
}

std::vector<TextCase> read_chat_cases(const verify::Spec& spec, Prompts prompts) {
  return read_cases(spec, [&](const Reader&, ObjectReader& members, TextCase& text_case) {
    read_chat(members, prompts, text_case);
  });
}

}  // namespace octlm::experiments
