#include "experiments/testing/repeat_parity.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "experiments/kinds/model_experiment.h"
#include "experiments/kinds/sides.h"
#include "experiments/kinds/starting_parts.h"

namespace octlm::experiments::testing {
namespace {

class Rows final : public reference::LogitSink {
 public:
  void receive(const reference::LogitBlock& block) override {
    const auto count = static_cast<std::int64_t>(block.positions.size());
    for (std::int64_t i = 0; i < count; ++i) {
      const float* row = block.logits + i * block.vocab;
      rows.emplace_back(row, row + block.vocab);
    }
  }
  std::vector<std::vector<float>> rows;
};

class RepeatParity final : public ModelExperiment {
 public:
  explicit RepeatParity(const verify::Spec& spec)
      : model_(read_model(spec.part("model"))),
        subject_(read_subject(spec.part("subject"))),
        cases_(read_token_cases(spec.part("cases"))) {}

  std::vector<verify::ComparisonKey> comparisons() const override {
    std::vector<verify::ComparisonKey> keys;
    for (const TokenCase& one : cases_) keys.push_back({one.name, "full", "cpu", subject_.dtype});
    return keys;
  }
  const ModelReference& model() const override { return model_; }
  std::vector<TokenCase> sequences() const override { return cases_; }
  Work work() const override {
    Work work{.stored = 1};
    for (const TokenCase& one : cases_)
      add_pass(work, reference::Split::full(), std::ssize(one.token_ids));
    return work;
  }

 protected:
  verify::Opened open_on(const std::string& device, const Environment& environment) const override;

 private:
  ModelReference model_;
  SubjectPart subject_;
  std::vector<TokenCase> cases_;
};

class RepeatParitySession final : public verify::Session {
 public:
  explicit RepeatParitySession(Sides<reference::Engine> sides) : sides_(std::move(sides)) {}
  nlohmann::json identity() const override { return sides_.identity(); }
  verify::Outcome compare(std::size_t index) override {
    const auto first = pass(index), second = pass(index);
    verify::Agreement equal;
    verify::Measurement measurement;
    for (std::size_t i = 0; i < first.size() && i < second.size(); ++i) {
      const bool same =
          std::memcmp(first[i].data(), second[i].data(), first[i].size() * sizeof(float)) == 0;
      equal.agree += same ? 1 : 0;
      ++equal.of;
      if (!same) measurement.lines.push_back({"flip", {{"position", i}}});
    }
    measurement.metrics["bits_equal@1"] = equal;
    return measurement;
  }

 private:
  std::vector<std::vector<float>> pass(std::size_t index) {
    Rows rows;
    const auto session =
        sides_.subject->start({sides_.cases[index].token_ids, reference::Split::full(), {}});
    while (session->advance(rows)) {
    }
    return std::move(rows.rows);
  }

  Sides<reference::Engine> sides_;
};

verify::Opened RepeatParity::open_on(const std::string& device,
                                     const Environment& environment) const {
  auto sides = open_sides<reference::Engine>(
      environment, {.model = model_,
                    .subject = subject_side(environment, model_, subject_, device),
                    .cases = cases_});
  if (auto* absent = std::get_if<verify::NotRun>(&sides)) return std::move(*absent);
  return std::make_unique<RepeatParitySession>(
      std::get<Sides<reference::Engine>>(std::move(sides)));
}

nlohmann::ordered_json start(const std::string& checkpoint) {
  auto [folder, vocab, spec] = start_with_model(checkpoint, "a pass can be repeated", is_weights);
  spec["subject"] = start_subject({"full"});
  spec["cases"] = {{{"name", "REPLACE: a prompt"}, {"token_ids", start_ids(6, vocab)}}};
  spec["criteria"] = nlohmann::ordered_json::array(
      {start_equal("bits_equal@1", "the same input gives the same bits")});
  return std::move(spec);
}

}  // namespace

verify::Kind repeat_parity() {
  return {.name = "repeat_parity",
          .summary = "the bits of a pass against those of the same pass again",
          .role = verify::Role::kSelf,
          .metrics = {{"bits_equal@1", "rows whose bits are the same again", "rows",
                       verify::MetricDefinition::Type::kAgreement,
                       verify::MetricDefinition::Better::kHigher}},
          .parts = {"model", "subject", "cases"},
          .read = [](const verify::Spec& spec) { return std::make_unique<RepeatParity>(spec); },
          .start = start};
}

}  // namespace octlm::experiments::testing
