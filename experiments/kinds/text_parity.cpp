#include "experiments/kinds/text_parity.h"

#include <algorithm>
#include <utility>

#include "experiments/engines/checkpoint_store.h"
#include "experiments/kinds/prompt_files.h"
#include "experiments/kinds/spec_parts.h"
#include "experiments/kinds/text_comparison.h"

namespace octlm::experiments {
namespace {

using formats::ObjectReader;

std::string read_engine(const formats::Reader& reader, const char* name) {
  std::string engine;
  reader.object([&](ObjectReader& members) { engine = members.required("engine").one_of({name}); });
  return engine;
}

nlohmann::json identity_of(const reference::TextEngine& engine) {
  const auto description = engine.description();
  return {{"engine", description.engine},
          {"version", description.version},
          {"settings", description.settings}};
}

class TextParity final : public verify::Experiment {
 public:
  TextParity(const verify::Spec& spec, std::vector<TextCase> cases, const Environment& environment)
      : environment_(environment),
        model_(read_model(spec.part("model"))),
        reference_engine_(read_engine(spec.part("reference"), "transformers")),
        subject_engine_(read_engine(spec.part("subject"), "octlm")),
        cases_(std::move(cases)) {}

  std::vector<verify::ComparisonKey> comparisons() const override {
    std::vector<verify::ComparisonKey> keys;
    for (const TextCase& text_case : cases_)
      keys.push_back({text_case.name, text_case.path, "cpu", ""});
    return keys;
  }

  std::optional<verify::NotRun> prepare(const std::string&) override {
    auto found = environment_.find_checkpoint(model_);
    if (auto* absent = std::get_if<verify::NotRun>(&found)) return *absent;
    const auto folder = std::get<CheckpointFolder>(found).path;
    auto subject = environment_.open_text_subject({.engine = subject_engine_, .folder = folder});
    if (auto* absent = std::get_if<verify::NotRun>(&subject)) return *absent;
    require_files(folder, model_);
    auto reference =
        environment_.open_text_reference({.engine = reference_engine_, .folder = folder});
    if (auto* absent = std::get_if<verify::NotRun>(&reference)) return *absent;
    subject_ = std::move(std::get<std::unique_ptr<reference::TextEngine>>(subject));
    reference_ = std::move(std::get<std::unique_ptr<reference::TextEngine>>(reference));
    checkpoint_ = checkpoint_identity(folder, model_);
    return std::nullopt;
  }

  nlohmann::json identity() const override {
    return {{"checkpoint", checkpoint_},
            {"subject", identity_of(*subject_)},
            {"reference", identity_of(*reference_)}};
  }

  verify::Outcome compare(const verify::ComparisonKey& key) override {
    const TextCase& text_case = *std::ranges::find(cases_, key.case_name, &TextCase::name);
    TextComparison comparison(*subject_, *reference_);
    if (text_case.path == "chat") {
      render(comparison, text_case);
    } else if (text_case.path == "decode") {
      decode(comparison, text_case);
    } else {
      encode(comparison, text_case);
    }
    auto measurement = comparison.finish();
    measurement.record["model"] = model_.id;
    return measurement;
  }

  void release() override {
    subject_.reset();
    reference_.reset();
  }

 private:
  static void encode(TextComparison& comparison, const TextCase& text_case) {
    const auto mode =
        text_case.path == "literal" ? reference::TextMode::kLiteral : reference::TextMode::kNative;
    const auto put = [&](std::span<const std::string> texts) {
      comparison.encode(texts, mode, text_case.stated_ids);
    };
    if (const auto* text = std::get_if<std::string>(&text_case.source)) return put({text, 1});
    if (const auto* set = std::get_if<TextSet>(&text_case.source)) return for_each_block(*set, put);
    put(read_texts(std::get<std::filesystem::path>(text_case.source)));
  }

  static void decode(TextComparison& comparison, const TextCase& text_case) {
    const auto put = [&](std::span<const TokenIds> ids) { comparison.decode(ids); };
    if (const auto* ids = std::get_if<TokenIds>(&text_case.source)) return put({ids, 1});
    for_each_block(std::get<IdSet>(text_case.source), put);
  }

  static void render(TextComparison& comparison, const TextCase& text_case) {
    comparison.render(std::get<std::vector<std::string>>(text_case.source),
                      text_case.stated_text.value_or(""), text_case.stated_ids);
  }

  const Environment& environment_;
  ModelReference model_;
  std::string reference_engine_, subject_engine_;
  std::vector<TextCase> cases_;
  std::unique_ptr<reference::TextEngine> subject_, reference_;
  nlohmann::json checkpoint_;
};

}  // namespace

std::unique_ptr<verify::Experiment> make_text_parity(const verify::Spec& spec,
                                                     std::vector<TextCase> cases,
                                                     const Environment& environment) {
  return std::make_unique<TextParity>(spec, std::move(cases), environment);
}

}  // namespace octlm::experiments
