#include "experiments/kinds/logit_parity.h"

#include <algorithm>
#include <stdexcept>

#include "experiments/engines/checkpoint_store.h"
#include "experiments/kinds/case_ids.h"
#include "experiments/kinds/logit_comparison.h"
#include "experiments/kinds/prompt_files.h"
#include "experiments/kinds/spec_parts.h"
#include "experiments/kinds/token_text.h"
#include "verify/metrics/metrics.h"

namespace octlm::experiments {
namespace {

class LogitParity final : public verify::Experiment {
 public:
  LogitParity(const verify::Spec& spec, const Environment& environment)
      : environment_(environment),
        model_(read_model(spec.part("model"))),
        reference_part_(read_reference(spec.part("reference"), engine_names(environment.engines))),
        subject_part_(read_subject(spec.part("subject"), engine_names(environment.engines))),
        cases_(read_token_cases(spec.part("cases"))) {}

  std::vector<verify::ComparisonKey> comparisons() const override {
    std::vector<verify::ComparisonKey> keys;
    for (const std::string& device : subject_part_.devices) {
      for (const TokenCase& token_case : cases_) {
        for (const reference::Path& path : subject_part_.paths) {
          keys.push_back({token_case.name, path.text(), device, subject_part_.dtype});
        }
      }
    }
    return keys;
  }

  std::optional<verify::NotRun> prepare(const std::string& device) override {
    auto found = environment_.find_checkpoint(model_);
    if (auto* absent = std::get_if<verify::NotRun>(&found)) return *absent;
    const auto folder = std::get<CheckpointFolder>(found).path;

    auto subject = environment_.open_subject({.engine = subject_part_.engine,
                                              .folder = folder,
                                              .model = model_,
                                              .dtype = subject_part_.dtype,
                                              .device = device});
    if (auto* absent = std::get_if<verify::NotRun>(&subject)) return *absent;
    require_files(folder, model_);
    if (auto absent = fill_token_ids(cases_, folder, &words_)) return absent;
    auto reference = environment_.open_reference({.engine = reference_part_.engine,
                                                  .folder = folder,
                                                  .model = model_,
                                                  .dtype = reference_part_.dtype,
                                                  .device = device,
                                                  .attention = reference_part_.attention,
                                                  .tf32 = reference_part_.tf32});
    if (auto* absent = std::get_if<verify::NotRun>(&reference)) return *absent;
    subject_ = std::move(std::get<std::unique_ptr<reference::Engine>>(subject));
    reference_ = std::move(std::get<std::unique_ptr<reference::Engine>>(reference));
    checkpoint_ = checkpoint_identity(folder, model_);
    return std::nullopt;
  }

  nlohmann::json identity() const override {
    return {{"checkpoint", checkpoint_},
            {"subject", engine_identity(*subject_)},
            {"reference", engine_identity(*reference_)}};
  }

  verify::Outcome compare(const verify::ComparisonKey& key) override {
    const auto token_case = std::ranges::find(cases_, key.case_name, &TokenCase::name);
    const auto path = reference::Path::parse(key.path);
    const LogitSide subject{*subject_, {token_case->token_ids, path, {}}};
    const LogitSide reference{*reference_, {token_case->token_ids, reference::Path::full(), {}}};
    if (auto reason = unsupported(subject, reference)) return *reason;
    auto measurement = compare_logits(subject, reference);
    if (words_) add_token_text(measurement.record["worst"], token_case->token_ids, *words_);
    measurement.record["model"] = model_.id;
    measurement.record["ids_from"] = token_case->ids_from;
    return measurement;
  }

  void release() override {
    subject_.reset();
    reference_.reset();
  }

 private:
  const Environment& environment_;
  ModelReference model_;
  ReferencePart reference_part_;
  SubjectPart subject_part_;
  std::vector<TokenCase> cases_;
  std::optional<model::Tokenizer> words_;  // when the cases have text
  std::unique_ptr<reference::Engine> subject_;
  std::unique_ptr<reference::Engine> reference_;
  nlohmann::json checkpoint_;
};

}  // namespace

verify::Kind logit_parity(const Environment& environment) {
  return {.name = "logit_parity",
          .summary = "every logit at every position against the reference, on every path",
          .metrics = verify::row_metrics(),
          .faults = fault_names(),
          .parts = {"model", "reference", "subject", "cases"},
          .read =
              [&environment](const verify::Spec& spec) {
                return std::make_unique<LogitParity>(spec, environment);
              },
          .files = files_of_cases};
}

}  // namespace octlm::experiments
