#include "reference/transformers/transformers_text.h"

#include <pybind11/stl.h>

#include <stdexcept>
#include <tuple>
#include <utility>

#include "reference/transformers/embedded_source.h"
#include "reference/transformers/held.h"
#include "reference/transformers/python.h"
#include "reference/transformers/python_call.h"
#include "reference/transformers/transformers.h"

namespace octlm::reference {
namespace {

namespace py = pybind11;
using Ids = std::vector<std::int32_t>;

py::list to_python(std::span<const std::string> texts) {
  py::list list(texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) list[i] = py::str(texts[i]);
  return list;
}

class TransformersText final : public TextEngine {
 public:
  explicit TransformersText(const std::filesystem::path& folder)
      : engine_(with_python("reading the tokenizer of " + folder.string() + " with Transformers",
                            [&] { return Held(load(folder)); })),
        files_(reference_files(false)) {}

  EngineDescription description() const override {
    return with_python("reading the tokenizer's settings", [&] {
      EngineDescription description{"transformers", "", "live",
                                    to_json((*engine_).attr("settings")())};
      description.version = description.settings.at("transformers").get<std::string>();
      description.uncounted_because = files_.reasons;
      return description;
    });
  }

  std::vector<Encoding> encode(std::span<const std::string> texts, TextMode mode) override {
    using Answers = std::vector<std::tuple<Ids, Ids, std::string>>;
    auto answers = with_python("tokenizing with Hugging Face", [&] {
      return (*engine_)
          .attr("encode")(to_python(texts), mode == TextMode::kLiteral)
          .cast<Answers>();
    });
    expect(answers.size(), texts.size());
    std::vector<Encoding> encodings;
    for (auto& [ids, spans, refusal] : answers) {
      encodings.push_back(refusal.empty() ? Encoding{std::move(ids), std::move(spans), ""}
                                          : Encoding{{}, {}, std::move(refusal)});
    }
    return encodings;
  }

  std::vector<std::string> decode(std::span<const Ids> ids, Decoding decoding) override {
    const auto texts = with_python("decoding with Hugging Face", [&] {
      return (*engine_)
          .attr("decode")(std::vector<Ids>(ids.begin(), ids.end()),
                          decoding == Decoding::kSkippingSpecial)
          .cast<std::vector<std::string>>();
    });
    expect(texts.size(), ids.size());
    return texts;
  }

  std::vector<Rendering> render(std::span<const std::string> chats) override {
    return with_python("rendering chats with Transformers", [&] {
      std::vector<Rendering> renderings;
      for (const std::string& chat : chats) {
        auto [text, ids, compatible_ids, origin_known, refusal] =
            (*engine_)
                .attr("render")(py::str(chat))
                .cast<std::tuple<std::string, Ids, Ids, bool, std::string>>();
        renderings.push_back({std::move(text), std::move(ids), std::move(compatible_ids),
                              origin_known, std::move(refusal)});
      }
      return renderings;
    });
  }

  Ids control_ids() override {
    return with_python("reading the added tokens",
                       [&] { return (*engine_).attr("control_ids")().cast<Ids>(); });
  }

  std::string token(std::int32_t id) override {
    return with_python("reading a token",
                       [&] { return (*engine_).attr("token")(id).cast<std::string>(); });
  }

 private:
  static py::object load(const std::filesystem::path& folder) {
    const auto module = embedded_module("octlm_text_reference", text_reference_py);
    return module.attr("TextEngine")(folder.string());
  }

  static void expect(std::size_t answers, std::size_t questions) {
    if (answers != questions)
      throw std::runtime_error("[transformers] one answer for each text was expected");
  }

  Held engine_;
  ReferenceFiles files_;
};

}  // namespace

std::unique_ptr<TextEngine> make_transformers_text(const TransformersTextOptions& options) {
  start_python(options.python);
  return std::make_unique<TransformersText>(options.folder);
}

}  // namespace octlm::reference
