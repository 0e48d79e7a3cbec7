#include "model/chat_template/chat_request.h"

#include <stdexcept>
#include <unordered_set>
#include <vector>

#include "model/strict_json.h"

namespace octlm::model {
namespace {

constexpr std::size_t kMaxDepth = 64;

[[noreturn]] void reject(const std::string& where, const std::string& what) {
  throw std::invalid_argument(where + ": " + what);
}

// Builds the document, and refuses what a plain parser would change in silence: nlohmann makes a
// double of an integer that is too large, and keeps the last of two equal keys.
class StrictBuilder final : public nlohmann::json_sax<OrderedJson> {
 public:
  explicit StrictBuilder(const std::string& where) : where_(where) {}

  OrderedJson take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override {
    if (value > static_cast<number_unsigned_t>(INT64_MAX))
      reject(where_, "an integer of more than 64 bits");
    return add(static_cast<number_integer_t>(value));
  }
  bool number_float(number_float_t value, const string_t& written) override {
    if (written.find_first_of(".eE") == string_t::npos)
      reject(where_, "an integer of more than 64 bits");
    return add(value);
  }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(OrderedJson::object()); }
  bool start_array(std::size_t) override { return open(OrderedJson::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    if (!keys_.back().insert(name).second) reject(where_, "duplicate key " + in_quotes(name));
    key_ = std::move(name);
    return true;
  }
  bool parse_error(std::size_t at, const std::string&,
                   const nlohmann::detail::exception&) override {
    reject(where_, "not JSON, at byte " + std::to_string(at));
  }

 private:
  // ordered_json looks every key up when one is added; the keys are known to differ, so this does
  // not.
  OrderedJson& place(OrderedJson value) {
    if (open_.empty()) return root_ = std::move(value);
    OrderedJson& parent = *open_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return parent.back();
    }
    auto& members = parent.get_ref<OrderedJson::object_t&>();
    static_cast<std::vector<OrderedJson::object_t::value_type>&>(members).emplace_back(
        key_, std::move(value));
    return members.back().second;
  }
  bool add(OrderedJson value) {
    place(std::move(value));
    return true;
  }
  bool open(OrderedJson value) {
    if (open_.size() >= kMaxDepth)
      reject(where_, "nested more than " + std::to_string(kMaxDepth) + " deep");
    OrderedJson& placed = place(std::move(value));
    open_.push_back(&placed);
    keys_.emplace_back();
    return true;
  }
  bool close() {
    open_.pop_back();
    keys_.pop_back();
    return true;
  }

  std::string where_;
  OrderedJson root_;
  std::vector<OrderedJson*> open_;
  std::vector<std::unordered_set<std::string>> keys_;
  std::string key_;
};

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
  if (text.find('\0') != std::string_view::npos) reject(where, "not JSON: it contains a NUL byte");
  if (text.starts_with("\xef\xbb\xbf")) reject(where, "not JSON: it starts with a byte order mark");
  StrictBuilder builder(where);
  OrderedJson::sax_parse(text.begin(), text.end(), &builder);
  OrderedJson document = builder.take();
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
      const std::string nearest = nearest_name(name, kKnown);
      reject(where, "unknown key " + in_quotes(name) +
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
