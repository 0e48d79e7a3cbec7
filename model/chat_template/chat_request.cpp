#include "model/chat_template/chat_request.h"

#include <cstdint>
#include <stdexcept>

#include "formats/error.h"
#include "formats/nearest_name.h"
#include "formats/quoted.h"
#include "formats/strict_json.h"

namespace octlm::model {
namespace {

constexpr formats::JsonLimits kChatJson{.least_integer = INT64_MIN,
                                        .greatest_integer = std::uint64_t{INT64_MAX},
                                        .digits_beyond = true};

[[noreturn]] void reject(const std::string& where, const std::string& what) {
  throw std::invalid_argument(where + ": " + what);
}

OrderedJson parse_document(std::string_view text, const std::string& where) {
  try {
    return formats::parse_strict_ordered(text, where, kChatJson);
  } catch (const formats::FormatError& error) {
    throw std::invalid_argument(error.what());  // the request is the caller's
  }
}

bool flag(const OrderedJson& value, const std::string& where, const std::string& name) {
  if (!value.is_boolean()) reject(where, name + " must be true or false");
  return value.get<bool>();
}

void check_objects(const OrderedJson& list, const std::string& name) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!list[i].is_object()) {
      throw std::invalid_argument("[chat] " + name + "[" + std::to_string(i) + "] is " +
                                  list[i].type_name() + ", expected an object");
    }
  }
}

}  // namespace

ChatRequest parse_chat_request(std::string_view text, const std::string& where) {
  OrderedJson document = parse_document(text, where);
  if (!document.is_object()) reject(where, "expected an object with \"messages\"");
  ChatRequest request;
  for (auto& [name, value] : document.items()) {
    if (name == "messages") {
      request.messages = std::move(value);
    } else if (name == "tools") {
      if (!value.is_null()) request.tools = std::move(value);
    } else if (name == "add_generation_prompt") {
      request.add_generation_prompt = flag(value, where, name);
    } else if (name == "enable_thinking") {
      request.enable_thinking = flag(value, where, name);
    } else {
      static constexpr std::string_view kKnown[] = {"messages", "tools", "add_generation_prompt",
                                                    "enable_thinking"};
      const std::string nearest = formats::nearest_name(name, kKnown);
      reject(where, "unknown key " + formats::in_quotes(name) +
                        (nearest.empty() ? "" : ", did you mean '" + nearest + "'?"));
    }
  }
  if (!document.contains("messages")) reject(where, "\"messages\" is missing");
  return request;
}

void check(const ChatRequest& request) {
  if (!request.messages.is_array() || request.messages.empty()) {
    throw std::invalid_argument("[chat] messages must be a list of at least one message");
  }
  check_objects(request.messages, "messages");
  for (std::size_t i = 0; i < request.messages.size(); ++i) {
    const auto role = request.messages[i].find("role");
    if (role == request.messages[i].end() || !role->is_string() ||
        role->get_ref<const std::string&>().empty()) {
      throw std::invalid_argument("[chat] messages[" + std::to_string(i) + "] has no role");
    }
  }
  if (request.tools && !request.tools->is_array())
    throw std::invalid_argument("[chat] tools must be a list");
  if (request.tools) check_objects(*request.tools, "tools");
  if (!request.variables.is_object())
    throw std::invalid_argument("[chat] variables must be an object");
}

}  // namespace octlm::model
