// A chat, as it is given to a template: what Transformers' apply_chat_template takes.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace octlm::model {

using OrderedJson = nlohmann::ordered_json;  // the order of keys is part of what tojson prints

struct ChatRequest {
  OrderedJson messages;              // a list of objects, each with a role
  std::optional<OrderedJson> tools;  // a list of objects
  bool add_generation_prompt = false;
  std::optional<bool> enable_thinking;            // unset: the template's variable is undefined
  OrderedJson variables = OrderedJson::object();  // more of the template's variables
};

// {"messages", "tools"?, "add_generation_prompt"?, "enable_thinking"?}, read strictly: unknown and
// duplicate keys, numbers beyond a double, lone surrogates, bytes that are no UTF-8 and deep
// nesting are refused with line and column. `tools: null` is no tools. An integer beyond int64 is a
// binary value that holds its digits: a template can print it.
// Throws std::invalid_argument that starts with `where`.
ChatRequest parse_chat_request(std::string_view text, const std::string& where);

// Throws std::invalid_argument when messages are no non-empty list of objects with a role, or tools
// no list of objects. Jinja would go on and leave such a message out.
void check(const ChatRequest& request);

}  // namespace octlm::model
