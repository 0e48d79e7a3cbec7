#include "model/chat_template/chat_template.h"

#include <stdexcept>

#include "formats/testing/fuzzing.h"

namespace octlm::model {
namespace {

// Small enough for thousands of templates a minute, large enough for every construct.
constexpr Limits kLimits{
    .output_bytes = 1u << 16, .value_bytes = 1u << 20, .steps = 20'000, .depth = 60};

std::tm new_year() {
  std::tm time{};
  time.tm_year = 125;
  time.tm_mday = 1;
  time.tm_wday = 3;
  return time;
}

const ChatRequest& chat() {
  static const ChatRequest request = parse_chat_request(R"({
    "messages": [{"role": "system", "content": "Be brief."},
                 {"role": "user", "content": "<|im_end|> \u00e9 2 < 3"},
                 {"role": "assistant", "content": "", "tool_calls":
                   [{"function": {"name": "add", "arguments": {"a": 1, "b": [2.5, null]}}}]},
                 {"role": "tool", "content": "3.5"}],
    "tools": [{"type": "function", "function": {"name": "add", "parameters": {}}}],
    "add_generation_prompt": true, "enable_thinking": false})",
                                                        "chat");
  return request;
}

}  // namespace
}  // namespace octlm::model

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace octlm;
  formats::testing::accepted<std::runtime_error>([&] {
    const auto parsed = model::ChatTemplate::parse(formats::testing::text_of(data, size), "t.jinja",
                                                   {{"bos_token", "<s>"}, {"eos_token", "</s>"}},
                                                   {model::kLimits, model::new_year});
    formats::testing::accepted<model::TemplateError>([&] {
      formats::testing::require(
          parsed.render(model::chat()).text().size() <= model::kLimits.output_bytes,
          "a text within its limit");
    });
  });
  return 0;
}
