#include "experiments/kinds/noise_floor.h"

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

struct Variant {
  std::string name;
  std::string attention;
  reference::Split path = reference::Split::full();
  int threads = 0;
};

Variant read_variant(const Reader& reader) {
  Variant variant;
  reader.object([&](ObjectReader& members) {
    variant.name = members.required("name").non_empty_string();
    variant.attention = members.required("attention").one_of({"eager", "sdpa"});
    variant.path = read_path(members.required("path"));
    variant.threads = static_cast<int>(members.required("threads").integer(0, 1024));
  });
  return variant;
}

nlohmann::json variant_json(const Variant& variant) {
  return {{"name", variant.name},
          {"attention", variant.attention},
          {"path", variant.path.text()},
          {"threads", variant.threads}};
}

// The threads an engine says it has; 0 when it does not say.
int stated_threads(const reference::Engine& engine) {
  const auto settings = engine.description().settings;
  return settings.is_object() ? settings.value("threads", 0) : 0;
}

class NoiseFloor final : public ModelExperiment {
 public:
  struct Planned {
    std::string device;
    std::size_t variant;  // their places in the lists
    std::size_t token_case;
  };

  // The plan goes variant by variant, so that its engine is opened once.
  NoiseFloor(const verify::Spec& spec, const std::vector<std::string>& engines) {
    formats::Findings findings;
    findings.collect([&] { model_ = read_model(spec.part("model")); });
    findings.collect([&] { reference_ = read_reference(spec.part("reference"), engines); });
    findings.collect([&] { cases_ = read_token_cases(spec.part("cases")); });
    findings.collect([&] {
      spec.part("parameters").object([&](ObjectReader& members) {
        members.required("devices", [&](const Reader& list) { devices_ = read_devices(list); });
        members.required("variants", [&](const Reader& list) { read_variants(list); });
      });
    });
    findings.raise();
    for (const std::string& device : devices_) {
      for (std::size_t variant = 0; variant < variants_.size(); ++variant) {
        for (std::size_t i = 0; i < cases_.size(); ++i) plan_.push_back({device, variant, i});
      }
    }
  }

  std::vector<verify::ComparisonKey> comparisons() const override {
    std::vector<verify::ComparisonKey> keys;
    for (const Planned& one : plan_) {
      keys.push_back(
          {cases_[one.token_case].name, variant(one).name, one.device, reference_.dtype});
    }
    return keys;
  }

  const ModelReference& model() const override { return model_; }
  std::vector<TokenCase> sequences() const override { return cases_; }
  const ReferencePart* logit_reference() const override { return &reference_; }
  Work work() const override {
    Work work{.widened = 2, .python = true};
    for (const Planned& one : plan_) {
      if (one.device == "cpu")
        add_pass(work, variant(one).path, std::ssize(cases_[one.token_case].token_ids));
    }
    return work;
  }
  const Planned& planned(std::size_t index) const { return plan_[index]; }
  const Variant& variant(const Planned& planned) const { return variants_[planned.variant]; }

  // The baseline itself computes it, on another path.
  bool on_baseline_engine(const Variant& variant) const {
    return variant.attention == reference_.attention && variant.threads == 0;
  }
  // Does it differ in nothing but its threads?
  bool differs_in_threads_alone(const Variant& variant) const {
    return variant.attention == reference_.attention && variant.path.text() == "full";
  }
  OpenSide<reference::Engine> side_of(const Variant& variant, const std::string& device,
                                      const Environment& environment) const {
    return [&, device](const std::filesystem::path& folder) {
      ReferencePart part = reference_;
      part.attention = variant.attention;
      return reference_side(environment, model_, part, device, variant.threads)(folder);
    };
  }

 protected:
  verify::Opened open_on(const std::string& device, const Environment& environment) const override;

 private:
  void read_variants(const Reader& reader) {
    std::set<std::string> names;
    for (const Reader& item : reader.non_empty_array()) {
      Variant variant = read_variant(item);
      if (!names.insert(variant.name).second) item.fail("another variant has this name");
      if (on_baseline_engine(variant) && variant.path.text() == "full") {
        item.fail("differs in nothing from the reference it would be compared with");
      }
      variants_.push_back(std::move(variant));
    }
  }

  ModelReference model_;
  ReferencePart reference_;
  std::vector<TokenCase> cases_;
  std::vector<std::string> devices_;
  std::vector<Variant> variants_;
  std::vector<Planned> plan_;
};

// The reference stands open all along; beside it, one at a time, the engine of a variant.
class NoiseFloorSession final : public verify::Session {
 public:
  NoiseFloorSession(const NoiseFloor& experiment, std::string device,
                    const Environment& environment, Sides<reference::Engine> sides)
      : experiment_(experiment),
        device_(std::move(device)),
        environment_(environment),
        sides_(std::move(sides)) {}

  nlohmann::json identity() const override { return sides_.identity(); }
  nlohmann::json measured(std::size_t index) const override {
    return measured_of(experiment_.model(), sides_.cases[experiment_.planned(index).token_case]);
  }

  verify::Outcome compare(std::size_t index) override {
    const auto& planned = experiment_.planned(index);
    const Variant& variant = experiment_.variant(planned);
    const TokenCase& token_case = sides_.cases[planned.token_case];
    reference::Engine& baseline = *sides_.reference;
    if (variant.threads != 0 && variant.threads == stated_threads(baseline) &&
        experiment_.differs_in_threads_alone(variant)) {
      return verify::NotRun{"the reference has " + std::to_string(variant.threads) +
                            " threads here already: nothing would differ"};
    }
    if (auto absent = open_variant(variant)) return *absent;
    const LogitSide subject{experiment_.on_baseline_engine(variant) ? baseline : *other_,
                            {token_case.token_ids, variant.path, {}}};
    const LogitSide reference{baseline, {token_case.token_ids, reference::Split::full(), {}}};
    if (auto reason = unsupported(subject, reference)) return *reason;
    auto measurement = compare_logits(subject, reference);
    measurement.record["model"] = experiment_.model().id;
    measurement.record["ids_from"] = token_case.ids_from;
    measurement.record["variant"] = variant_json(variant);
    return measurement;
  }

 private:
  // Opens the variant's own engine, when it needs one and another is open.
  std::optional<verify::NotRun> open_variant(const Variant& variant) {
    if (experiment_.on_baseline_engine(variant)) return std::nullopt;
    if (other_ && opened_->attention == variant.attention && opened_->threads == variant.threads) {
      return std::nullopt;
    }
    other_.reset();
    opened_ = &variant;
    auto opened = experiment_.side_of(variant, device_, environment_)(sides_.folder);
    if (auto* absent = std::get_if<verify::NotRun>(&opened)) return std::move(*absent);
    other_ = std::get<std::unique_ptr<reference::Engine>>(std::move(opened));
    return std::nullopt;
  }

  const NoiseFloor& experiment_;
  std::string device_;
  const Environment& environment_;
  Sides<reference::Engine> sides_;
  std::unique_ptr<reference::Engine> other_;
  const Variant* opened_ = nullptr;  // whose engine `other_` is
};

verify::Opened NoiseFloor::open_on(const std::string& device,
                                   const Environment& environment) const {
  auto sides = open_sides<reference::Engine>(
      environment, {.model = model_,
                    .reference = reference_side(environment, model_, reference_, device),
                    .cases = cases_});
  if (auto* absent = std::get_if<verify::NotRun>(&sides)) return std::move(*absent);
  auto& open = std::get<Sides<reference::Engine>>(sides);
  if (open.reference->description().source != "live") {
    return verify::NotRun{
        "the noise floor is measured with the live reference, not with a recording", "reference"};
  }
  return std::make_unique<NoiseFloorSession>(*this, device, environment, std::move(open));
}

nlohmann::ordered_json start(const std::string& checkpoint) {
  using Json = nlohmann::ordered_json;
  auto [folder, vocab, spec] =
      start_with_model(checkpoint, "the noise floor of the reference in float32", is_weights);
  spec["reference"] = start_reference();
  spec["cases"] = {
      {{"name", "REPLACE: your prompt, as token ids"}, {"token_ids", start_ids(40, vocab)}}};
  const auto variant = [](const char* name, const char* attention, const char* path, int threads) {
    return Json{{"name", name}, {"attention", attention}, {"path", path}, {"threads", threads}};
  };
  spec["parameters"] = {{"devices", {"cpu"}},
                        {"variants",
                         {variant("sdpa", "sdpa", "full", 0),
                          variant("eager, token by token", "eager", "cached:every", 0),
                          variant("eager, one thread", "eager", "full", 1)}}};
  start_parity_criteria(spec);
  return std::move(spec);
}

}  // namespace

verify::Kind noise_floor(const std::vector<std::string>& engines) {
  return {
      .name = "noise_floor",
      .summary = "the reference against itself: other attention, other paths, other threads",
      .role = verify::Role::kNoiseFloor,
      .scales = logit_scales(),
      .parts = {"model", "reference", "cases", "parameters"},
      .read = [engines](
                  const verify::Spec& spec) { return std::make_unique<NoiseFloor>(spec, engines); },
      .files = files_of_token_cases,
      .start = start};
}

}  // namespace octlm::experiments
