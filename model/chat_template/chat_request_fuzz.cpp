#include "model/chat_template/chat_request.h"

#include <stdexcept>

#include "formats/testing/fuzzing.h"
#include "model/chat_template/chat_template.h"

namespace octlm::model {
namespace {

const ChatTemplate& printing_all() {
  static const ChatTemplate parsed = ChatTemplate::parse(
      "{% for m in messages %}{{ m.role }}{{ m.content }}{{ m | tojson }}{% endfor %}"
      "{{ tools | tojson }}{{ messages }}",
      "t.jinja");
  return parsed;
}

}  // namespace
}  // namespace octlm::model

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace octlm;
  formats::testing::accepted<std::invalid_argument>([&] {
    const auto request =
        model::parse_chat_request(formats::testing::text_of(data, size), "chat.json");
    formats::testing::accepted<model::TemplateError>(
        [&] { (void)model::printing_all().render(request); });
  });
  return 0;
}
