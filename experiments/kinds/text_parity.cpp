#include "experiments/kinds/text_parity.h"

#include <utility>

#include "experiments/kinds/model_experiment.h"
#include "experiments/kinds/prompt_files.h"
#include "experiments/kinds/sides.h"
#include "experiments/kinds/text_comparison.h"

namespace octlm::experiments {
namespace {

using formats::ObjectReader;

std::string read_engine(const formats::Reader& reader, const char* name) {
  std::string engine;
  reader.object([&](ObjectReader& members) { engine = members.required("engine").one_of({name}); });
  return engine;
}

class TextParity final : public ModelExperiment {
 public:
  TextParity(const verify::Spec& spec, std::vector<TextCase> cases)
      : model_(read_model(spec.part("model"))),
        reference_engine_(read_engine(spec.part("reference"), "transformers")),
        subject_engine_(read_engine(spec.part("subject"), "octlm")),
        cases_(std::move(cases)) {}

  std::vector<verify::ComparisonKey> comparisons() const override {
    std::vector<verify::ComparisonKey> keys;
    for (const TextCase& text_case : cases_)
      keys.push_back({text_case.name, text_case.path, "cpu", ""});
    return keys;
  }

  const ModelReference& model() const override { return model_; }
  Work work() const override { return {.python = true}; }
  Reads reads() const override { return {.text = true}; }
  const TextCase& text_case(std::size_t index) const { return cases_[index]; }

 protected:
  verify::Opened open_on(const std::string& device, const Environment& environment) const override;

 private:
  ModelReference model_;
  std::string reference_engine_, subject_engine_;
  std::vector<TextCase> cases_;
};

class TextParitySession final : public verify::Session {
 public:
  TextParitySession(const TextParity& experiment, Sides<reference::TextEngine> sides)
      : experiment_(experiment), sides_(std::move(sides)) {}

  nlohmann::json identity() const override { return sides_.identity(); }

  verify::Outcome compare(std::size_t index) override {
    const TextCase& text_case = experiment_.text_case(index);
    TextComparison comparison(*sides_.subject, *sides_.reference);
    if (text_case.path == "chat") {
      render(comparison, text_case);
    } else if (text_case.path == "decode") {
      decode(comparison, text_case);
    } else {
      encode(comparison, text_case);
    }
    auto measurement = comparison.finish();
    measurement.record["model"] = experiment_.model().id;
    return measurement;
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

  const TextParity& experiment_;
  Sides<reference::TextEngine> sides_;
};

verify::Opened TextParity::open_on(const std::string&, const Environment& environment) const {
  auto sides = open_sides<reference::TextEngine>(
      environment,
      {.model = model_,
       .subject =
           [&](const std::filesystem::path& folder) {
             return environment.open_text_subject({.engine = subject_engine_, .folder = folder});
           },
       .reference =
           [&](const std::filesystem::path& folder) {
             return environment.open_text_reference(
                 {.engine = reference_engine_, .folder = folder});
           }});
  if (auto* absent = std::get_if<verify::NotRun>(&sides)) return std::move(*absent);
  return std::make_unique<TextParitySession>(
      *this, std::get<Sides<reference::TextEngine>>(std::move(sides)));
}

}  // namespace

std::unique_ptr<verify::Experiment> make_text_parity(const verify::Spec& spec,
                                                     std::vector<TextCase> cases) {
  return std::make_unique<TextParity>(spec, std::move(cases));
}

}  // namespace octlm::experiments
