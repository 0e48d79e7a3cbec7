#include "experiments/kinds/logit_parity.h"

#include <utility>

#include "experiments/kinds/logit_comparison.h"
#include "experiments/kinds/model_experiment.h"
#include "experiments/kinds/sides.h"
#include "experiments/kinds/starting_parts.h"
#include "experiments/kinds/token_text.h"

namespace octlm::experiments {
namespace {

class LogitParity final : public ModelExperiment {
 public:
  struct Planned {
    std::string device;
    std::size_t token_case;  // its place in cases
    reference::Split path;
  };

  LogitParity(const verify::Spec& spec, const std::vector<std::string>& engines) {
    formats::Findings findings;
    findings.collect([&] { model_ = read_model(spec.part("model")); });
    findings.collect([&] { reference_ = read_reference(spec.part("reference"), engines); });
    findings.collect([&] { subject_ = read_subject(spec.part("subject"), engines); });
    findings.collect([&] { cases_ = read_token_cases(spec.part("cases")); });
    findings.raise();
    for (const std::string& device : subject_.devices) {
      for (std::size_t i = 0; i < cases_.size(); ++i) {
        for (const reference::Split& path : subject_.paths) plan_.push_back({device, i, path});
      }
    }
  }

  std::vector<verify::ComparisonKey> comparisons() const override {
    std::vector<verify::ComparisonKey> keys;
    for (const Planned& one : plan_) {
      keys.push_back({cases_[one.token_case].name, one.path.text(), one.device, subject_.dtype});
    }
    return keys;
  }

  const ModelReference& model() const override { return model_; }
  std::vector<TokenCase> sequences() const override { return cases_; }
  const ReferencePart* logit_reference() const override { return &reference_; }
  Work work() const override {
    Work work{.stored = 1, .widened = 1, .python = true};
    for (const Planned& one : plan_) {
      if (one.device == "cpu")
        add_pass(work, one.path, std::ssize(cases_[one.token_case].token_ids));
    }
    return work;
  }
  const Planned& planned(std::size_t index) const { return plan_[index]; }

 protected:
  verify::Opened open_on(const std::string& device, const Environment& environment) const override;

 private:
  ModelReference model_;
  ReferencePart reference_;
  SubjectPart subject_;
  std::vector<TokenCase> cases_;
  std::vector<Planned> plan_;
};

class LogitParitySession final : public verify::Session {
 public:
  LogitParitySession(const LogitParity& experiment, Sides<reference::Engine> sides)
      : experiment_(experiment), sides_(std::move(sides)) {}

  nlohmann::json identity() const override { return sides_.identity(); }
  nlohmann::json measured(std::size_t index) const override {
    return measured_of(experiment_.model(), sides_.cases[experiment_.planned(index).token_case]);
  }

  verify::Outcome compare(std::size_t index) override {
    const auto& planned = experiment_.planned(index);
    const TokenCase& token_case = sides_.cases[planned.token_case];
    const LogitSide subject{*sides_.subject, {token_case.token_ids, planned.path, {}}};
    const LogitSide reference{*sides_.reference,
                              {token_case.token_ids, reference::Split::full(), {}}};
    if (auto reason = unsupported(subject, reference)) return *reason;
    auto measurement = compare_logits(subject, reference);
    if (sides_.tokenizer) {
      add_token_text(measurement.record["worst"], token_case.token_ids, *sides_.tokenizer);
    }
    measurement.record["model"] = experiment_.model().id;
    measurement.record["ids_from"] = token_case.ids_from;
    return measurement;
  }

 private:
  const LogitParity& experiment_;
  Sides<reference::Engine> sides_;
};

verify::Opened LogitParity::open_on(const std::string& device,
                                    const Environment& environment) const {
  auto sides = open_sides<reference::Engine>(
      environment, {.model = model_,
                    .subject = subject_side(environment, model_, subject_, device),
                    .reference = reference_side(environment, model_, reference_, device),
                    .cases = cases_});
  if (auto* absent = std::get_if<verify::NotRun>(&sides)) return std::move(*absent);
  return std::make_unique<LogitParitySession>(*this,
                                              std::get<Sides<reference::Engine>>(std::move(sides)));
}

nlohmann::ordered_json start(const std::string& checkpoint) {
  auto [folder, vocab, spec] =
      start_with_model(checkpoint, "float32 logits match Transformers", is_weights);
  spec["reference"] = start_reference();
  spec["subject"] = start_subject({"full", "cached:half", "cached:every"});
  spec["cases"] = {
      {{"name", "REPLACE: your prompt, as token ids"}, {"token_ids", start_ids(12, vocab)}},
      {{"name", "REPLACE: another one, longer"}, {"token_ids", start_ids(40, vocab)}}};
  spec["parameters"] = nlohmann::ordered_json::object();
  start_parity_criteria(spec);
  return std::move(spec);
}

}  // namespace

verify::Kind logit_parity(const std::vector<std::string>& engines) {
  return {.name = "logit_parity",
          .summary = "every logit at every position against the reference, on every path",
          .role = verify::Role::kParity,
          .scales = logit_scales(),
          .faults = fault_names(),
          .parts = {"model", "reference", "subject", "cases"},
          .read =
              [engines](const verify::Spec& spec) {
                return std::make_unique<LogitParity>(spec, engines);
              },
          .files = files_of_token_cases,
          .start = start};
}

}  // namespace octlm::experiments
