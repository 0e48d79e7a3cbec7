// JSON lines on stdin: {"template", "messages", "tools"?, "add_generation_prompt"?,
// "enable_thinking"?, "variables"?, "special_tokens"?}. JSON lines on stdout: {"text", "user":
// [[begin, end], ...]} with the bytes that came from outside, or {"error", "kind": "chat" |
// "template" | "unsupported" | "limit"}. The clock stands at 2024-07-26 14:05:09, a Friday.
#include <ctime>
#include <iostream>
#include <string>

#include "model/chat_template/chat_template.h"
#include "model/chat_template/errors.h"

namespace {

using octlm::model::OrderedJson;

std::tm clock_of_the_test() {
  std::tm now{};
  now.tm_year = 124;
  now.tm_mon = 6;
  now.tm_mday = 26;
  now.tm_hour = 14;
  now.tm_min = 5;
  now.tm_sec = 9;
  now.tm_wday = 5;
  now.tm_yday = 207;
  return now;
}

OrderedJson render(OrderedJson line) {
  octlm::model::TemplateOptions options;
  options.clock = clock_of_the_test;
  const auto chat_template = octlm::model::ChatTemplate::parse(
      line.at("template").get<std::string>(), "template",
      line.value("special_tokens", OrderedJson::object()), options);
  octlm::model::ChatRequest request;
  request.variables = line.value("variables", OrderedJson::object());
  for (const char* done : {"template", "special_tokens", "variables"}) line.erase(done);
  auto parsed = octlm::model::parse_chat_request(line.dump(), "line");
  parsed.variables = request.variables;
  const auto rendered = chat_template.render(parsed);
  OrderedJson user = OrderedJson::array();
  for (const auto& run : rendered.runs()) {
    if (run.origin == octlm::model::Origin::kUser) user.push_back({run.begin, run.end});
  }
  return {{"text", rendered.text()}, {"user", user}};
}

OrderedJson answer(const std::string& line) {
  using namespace octlm::model;
  try {
    return render(OrderedJson::parse(line));
  } catch (const UnsupportedError& error) {
    return {{"error", error.what()}, {"kind", "unsupported"}};
  } catch (const LimitError& error) {
    return {{"error", error.what()}, {"kind", "limit"}};
  } catch (const TemplateError& error) {
    return {{"error", error.what()}, {"kind", "template"}};
  } catch (const std::invalid_argument& error) {
    return {{"error", error.what()}, {"kind", "chat"}};
  }
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << answer(line).dump(-1, ' ', false, OrderedJson::error_handler_t::replace)
              << std::endl;
  }
}
