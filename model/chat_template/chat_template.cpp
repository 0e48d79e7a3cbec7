#include "model/chat_template/chat_template.h"

#include <algorithm>
#include <vector>

#include "model/chat_template/errors.h"
#include "model/chat_template/evaluator.h"
#include "model/chat_template/syntax/lexer.h"
#include "model/chat_template/syntax/parser.h"
#include "model/chat_template/template_source.h"
#include "model/chat_template/values/unicode.h"

namespace octlm::model {
namespace {

// One line, whatever the template put into its message.
std::string one_line(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  if (text.size() > 500) text.resize(500);
  return text;
}

std::string at(const std::string& where, int line, const std::string& what) {
  return where + ":" + std::to_string(line) + ": " + one_line(what);
}

jinja::Body parse_at(std::string_view source, const std::string& where) {
  const std::size_t invalid = jinja::first_invalid_utf8(source);
  if (invalid != std::string_view::npos) {
    throw TemplateError(where + ": not UTF-8 at byte " + std::to_string(invalid));
  }
  try {
    return jinja::parse(source);
  } catch (const jinja::SyntaxMistake& mistake) {
    const std::string message = at(where, mistake.line, mistake.what);
    if (mistake.unsupported) throw UnsupportedError(message, UnsupportedError::Whole{});
    throw TemplateError(message);
  }
}

jinja::Value from_json(jinja::Runtime& runtime, const OrderedJson& json, Origin origin) {
  using jinja::Value;
  const Budget::Level level(runtime.budget);
  switch (json.type()) {
    case OrderedJson::value_t::null:
      return Value(jinja::None{}, origin);
    case OrderedJson::value_t::boolean:
      return Value::boolean(json.get<bool>(), origin);
    case OrderedJson::value_t::number_integer:
      return Value::integer(json.get<std::int64_t>(), origin);
    case OrderedJson::value_t::number_unsigned: {
      const auto number = json.get<std::uint64_t>();
      if (number > static_cast<std::uint64_t>(INT64_MAX))
        return Value::big_integer(std::to_string(number), origin);
      return Value::integer(static_cast<std::int64_t>(number), origin);
    }
    case OrderedJson::value_t::number_float:
      return Value::real(json.get<double>(), origin);
    case OrderedJson::value_t::binary: {  // chat_request.h: the digits of a greater integer
      const auto& digits = json.get_binary();
      return Value::big_integer(std::string(digits.begin(), digits.end()), origin);
    }
    case OrderedJson::value_t::string: {
      const auto& bytes = json.get_ref<const std::string&>();
      if (jinja::first_invalid_utf8(bytes) != std::string::npos)
        throw std::invalid_argument("[chat] a string is not UTF-8");
      jinja::TextBuilder text(runtime);
      text.append(bytes, origin);
      return Value::string(text.take());
    }
    case OrderedJson::value_t::array: {
      std::vector<Value> items;
      for (const auto& one : json) items.push_back(from_json(runtime, one, origin));
      return runtime.list(std::move(items), origin);
    }
    case OrderedJson::value_t::object: {
      std::vector<std::pair<Value, Value>> entries;
      for (const auto& [key, value] : json.items()) {
        entries.emplace_back(from_json(runtime, OrderedJson(key), origin),
                             from_json(runtime, value, origin));
      }
      return runtime.dict(std::move(entries), origin);
    }
    default:
      throw std::invalid_argument("[chat] a value that JSON does not have");
  }
}

std::tm local_now() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  return local;
}

}  // namespace

struct ChatTemplate::Parsed {
  struct One {
    std::string name;
    std::string where;
    jinja::Body body;
  };
  std::vector<One> templates;
  OrderedJson special_tokens;
  TemplateOptions options;

  // Transformers' choice: tool_use when there are tools and it exists, else default.
  const One& choose(bool has_tools) const {
    const auto named = [this](std::string_view name) {
      return std::ranges::find(templates, name, &One::name);
    };
    if (has_tools && named("tool_use") != templates.end()) return *named("tool_use");
    if (named("default") != templates.end()) return *named("default");
    throw TemplateError(templates.front().where +
                        ": several chat templates, and none is named 'default'");
  }
};

ChatTemplate ChatTemplate::load(const std::filesystem::path& folder,
                                const TemplateOptions& options) {
  const TemplateSource source = find_template(folder);
  auto parsed = std::make_shared<Parsed>();
  parsed->special_tokens = source.special_tokens;
  parsed->options = options;
  for (const NamedTemplate& one : source.templates) {
    const bool can_be_chosen = one.name == "default" || one.name == "tool_use";
    parsed->templates.push_back(
        {one.name, one.where, can_be_chosen ? parse_at(one.source, one.where) : jinja::Body()});
  }
  return ChatTemplate(std::move(parsed));
}

ChatTemplate ChatTemplate::parse(std::string_view source, const std::string& where,
                                 const OrderedJson& special_tokens,
                                 const TemplateOptions& options) {
  auto parsed = std::make_shared<Parsed>();
  parsed->special_tokens = special_tokens;
  parsed->options = options;
  parsed->templates.push_back({"default", where, parse_at(source, where)});
  return ChatTemplate(std::move(parsed));
}

RenderedText ChatTemplate::render(const ChatRequest& request) const {
  check(request);
  const Parsed::One& chosen = parsed_->choose(request.tools.has_value());
  jinja::Runtime runtime(parsed_->options.limits,
                         parsed_->options.clock ? parsed_->options.clock : local_now);
  jinja::Evaluator evaluator(runtime);
  try {
    const auto given = std::make_shared<jinja::Scope>();
    const auto give = [&](const OrderedJson& variables, Origin origin) {
      for (const auto& [name, value] : variables.items())
        given->set(name, from_json(runtime, value, origin));
    };
    give(parsed_->special_tokens, Origin::kTemplate);
    give(request.variables, Origin::kUser);
    give({{"messages", request.messages}, {"documents", nullptr}}, Origin::kUser);
    given->set("tools", from_json(runtime, request.tools.value_or(nullptr), Origin::kUser));
    given->set("add_generation_prompt", jinja::Value::boolean(request.add_generation_prompt));
    if (request.enable_thinking)
      given->set("enable_thinking", jinja::Value::boolean(*request.enable_thinking));
    return evaluator.render(chosen.body, given);
  } catch (const UnsupportedError& error) {
    throw UnsupportedError(at(chosen.where, evaluator.line(), error.what()),
                           UnsupportedError::Whole{});
  } catch (const LimitError& error) {
    throw LimitError(at(chosen.where, evaluator.line(), error.what()));
  } catch (const TemplateError& error) {
    throw TemplateError(at(chosen.where, evaluator.line(), error.what()));
  }
}

}  // namespace octlm::model
