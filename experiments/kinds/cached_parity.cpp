#include "experiments/kinds/cached_parity.h"

#include <set>
#include <utility>

#include "experiments/kinds/logit_comparison.h"
#include "experiments/kinds/model_experiment.h"
#include "experiments/kinds/sides.h"
#include "experiments/kinds/starting_parts.h"

namespace octlm::experiments {
namespace {

using formats::ObjectReader;
using formats::Reader;

struct LengthCase {
  std::string name;
  std::int64_t length = 0;
};

class CachedParity final : public ModelExperiment {
 public:
  struct Planned {
    std::string device;
    std::size_t length_case;  // its place in cases_
    reference::Split path;
  };

  CachedParity(const verify::Spec& spec, const std::vector<std::string>& engines) {
    formats::Findings findings;
    findings.collect([&] { model_ = read_model(spec.part("model")); });
    findings.collect([&] { subject_ = read_subject(spec.part("subject"), engines); });
    const bool whole = findings.collect([&] { read_whole(spec.part("parameters")); });
    if (whole) findings.collect([&] { read_cases(spec.part("cases")); });
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
      keys.push_back({cases_[one.length_case].name, one.path.text(), one.device, subject_.dtype});
    }
    return keys;
  }

  const ModelReference& model() const override { return model_; }
  std::vector<TokenCase> sequences() const override { return {whole_}; }
  Work work() const override {
    Work work{.stored = 1};
    for (const Planned& one : plan_) {
      if (one.device == "cpu") add_pass(work, one.path, length(one));
    }
    return work;
  }
  std::vector<nlohmann::json> measured() const override {
    std::vector<nlohmann::json> measured;
    for (const Planned& one : plan_) {
      TokenCase beginning;
      const auto first = whole_.token_ids.begin();
      beginning.token_ids.assign(first, first + length(one));
      measured.push_back(measured_of(model_, beginning));
    }
    return measured;
  }
  const Planned& planned(std::size_t index) const { return plan_[index]; }
  std::int64_t length(const Planned& planned) const { return cases_[planned.length_case].length; }

 protected:
  verify::Opened open_on(const std::string& device, const Environment& environment) const override;

 private:
  void read_whole(const Reader& reader) {
    reader.object([&](ObjectReader& members) {
      whole_.name = "parameters";
      members.required("token_ids",
                       [&](const Reader& ids) { whole_.token_ids = read_token_ids(ids); });
      members.optional("text", [&](const Reader& text) { whole_.text = text.string(); });
    });
  }

  void read_cases(const Reader& reader) {
    std::set<std::string> names;
    reader.each_of_non_empty([&](const Reader& item) {
      item.object([&](ObjectReader& members) {
        LengthCase length_case;
        members.required("name", [&](const Reader& name) {
          length_case.name = name.non_empty_string();
          if (!names.insert(length_case.name).second) name.fail("another case has this name");
        });
        members.required("length", [&](const Reader& length) {
          length_case.length = length.integer(1, std::ssize(whole_.token_ids));
        });
        cases_.push_back(length_case);
      });
    });
  }

  ModelReference model_;
  SubjectPart subject_;
  TokenCase whole_;  // the sequence that the cases are beginnings of
  std::vector<LengthCase> cases_;
  std::vector<Planned> plan_;
};

class CachedParitySession final : public verify::Session {
 public:
  CachedParitySession(const CachedParity& experiment, Sides<reference::Engine> sides)
      : experiment_(experiment), sides_(std::move(sides)) {}

  nlohmann::json identity() const override { return sides_.identity(); }

  verify::Outcome compare(std::size_t index) override {
    const auto& planned = experiment_.planned(index);
    const TokenCase& sequence = sides_.cases[0];
    const auto first = sequence.token_ids.begin();
    const std::vector<std::int32_t> ids(first, first + experiment_.length(planned));
    const LogitSide split{*sides_.subject, {ids, planned.path, {}}};
    const LogitSide whole{*sides_.subject, {ids, reference::Split::full(), {}}};
    if (auto reason = unsupported(split, whole)) return *reason;
    auto measurement = compare_logits(split, whole);
    measurement.record["model"] = experiment_.model().id;
    measurement.record["ids_from"] = sequence.ids_from;
    return measurement;
  }

 private:
  const CachedParity& experiment_;
  Sides<reference::Engine> sides_;
};

verify::Opened CachedParity::open_on(const std::string& device,
                                     const Environment& environment) const {
  auto sides = open_sides<reference::Engine>(
      environment, {.model = model_,
                    .subject = subject_side(environment, model_, subject_, device),
                    .cases = {whole_}});
  if (auto* absent = std::get_if<verify::NotRun>(&sides)) return std::move(*absent);
  return std::make_unique<CachedParitySession>(
      *this, std::get<Sides<reference::Engine>>(std::move(sides)));
}

nlohmann::ordered_json start(const std::string& checkpoint) {
  auto [folder, vocab, spec] =
      start_with_model(checkpoint, "every split of a prompt gives one function", is_weights);
  spec["subject"] = start_subject({"cached:half", "cached:every", "chunked:7"});
  spec["cases"] = {{{"name", "2 tokens"}, {"length", 2}},
                   {{"name", "7 tokens"}, {"length", 7}},
                   {{"name", "40 tokens"}, {"length", 40}}};
  spec["parameters"] = {{"token_ids", start_ids(40, vocab)}};
  start_parity_criteria(spec);
  return std::move(spec);
}

}  // namespace

verify::Kind cached_parity(const std::vector<std::string>& engines) {
  return {.name = "cached_parity",
          .summary = "every split of a prompt against one full pass of the same engine",
          .role = verify::Role::kSelf,
          .scales = logit_scales(),
          .faults = fault_names(),
          .parts = {"model", "subject", "cases", "parameters"},
          .read =
              [engines](const verify::Spec& spec) {
                return std::make_unique<CachedParity>(spec, engines);
              },
          .start = start};
}

}  // namespace octlm::experiments
