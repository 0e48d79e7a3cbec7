#include "experiments/kinds/noise_floor.h"

#include <algorithm>
#include <set>

#include "experiments/engines/checkpoint_store.h"
#include "experiments/kinds/case_ids.h"
#include "experiments/kinds/logit_comparison.h"
#include "experiments/kinds/prompt_files.h"
#include "experiments/kinds/spec_parts.h"
#include "verify/metrics/metrics.h"

namespace octlm::experiments {
namespace {

using verify::ObjectReader;
using verify::Reader;

struct Variant {
  std::string name;
  std::string attention;
  reference::Path path = reference::Path::full();
  int threads = 0;
};

Variant read_variant(const Reader& reader) {
  Variant variant;
  reader.object([&](ObjectReader& members) {
    variant.name = members.required("name").non_empty_string();
    variant.attention = members.required("attention").one_of({"eager", "sdpa"});
    const Reader path = members.required("path");
    try {
      variant.path = reference::Path::parse(path.string());
    } catch (const std::invalid_argument& error) {
      path.fail(error.what());
    }
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

class NoiseFloor final : public verify::Experiment {
 public:
  NoiseFloor(const verify::Spec& spec, const Environment& environment)
      : environment_(environment),
        model_(read_model(spec.part("model"))),
        reference_part_(read_reference(spec.part("reference"), engine_names(environment.engines))),
        cases_(read_token_cases(spec.part("cases"))) {
    spec.part("parameters").object([&](ObjectReader& members) {
      devices_ = read_devices(members.required("devices"));
      std::set<std::string> names;
      for (const Reader& item : members.required("variants").non_empty_array()) {
        Variant variant = read_variant(item);
        if (!names.insert(variant.name).second) item.fail("another variant has this name");
        if (on_baseline_engine(variant) && variant.path.text() == "full") {
          item.fail("differs in nothing from the reference it would be compared with");
        }
        variants_.push_back(std::move(variant));
      }
    });
  }

  // Variant by variant, so that its engine is opened once.
  std::vector<verify::ComparisonKey> comparisons() const override {
    std::vector<verify::ComparisonKey> keys;
    for (const std::string& device : devices_) {
      for (const Variant& variant : variants_) {
        for (const TokenCase& token_case : cases_) {
          keys.push_back({token_case.name, variant.name, device, reference_part_.dtype});
        }
      }
    }
    return keys;
  }

  std::optional<verify::NotRun> prepare(const std::string& device) override {
    auto found = environment_.find_checkpoint(model_);
    if (auto* absent = std::get_if<verify::NotRun>(&found)) return *absent;
    folder_ = std::get<CheckpointFolder>(found).path;
    require_files(folder_, model_);
    if (auto absent = fill_token_ids(cases_, folder_)) return absent;
    device_ = device;
    if (auto absent = open(reference_part_.attention, 0, baseline_)) return absent;
    if (baseline_->description().source != "live") {
      return verify::NotRun{
          "the noise floor is measured with the live reference, not with a recording", "reference"};
    }
    checkpoint_ = checkpoint_identity(folder_, model_);
    return std::nullopt;
  }

  nlohmann::json identity() const override {
    return {{"checkpoint", checkpoint_}, {"reference", engine_identity(*baseline_)}};
  }

  verify::Outcome compare(const verify::ComparisonKey& key) override {
    const auto token_case = std::ranges::find(cases_, key.case_name, &TokenCase::name);
    const Variant& variant = *std::ranges::find(variants_, key.path, &Variant::name);
    if (variant.threads != 0 && variant.threads == stated_threads(*baseline_) &&
        variant.attention == reference_part_.attention && variant.path.text() == "full") {
      return verify::NotRun{"the reference has " + std::to_string(variant.threads) +
                            " threads here already: nothing would differ"};
    }
    if (auto absent = open_variant(variant)) return *absent;
    const LogitSide subject{on_baseline_engine(variant) ? *baseline_ : *other_,
                            {token_case->token_ids, variant.path, {}}};
    const LogitSide reference{*baseline_, {token_case->token_ids, reference::Path::full(), {}}};
    if (auto reason = unsupported(subject, reference)) return *reason;
    auto measurement = compare_logits(subject, reference);
    measurement.record["model"] = model_.id;
    measurement.record["ids_from"] = token_case->ids_from;
    measurement.record["variant"] = variant_json(variant);
    return measurement;
  }

  void release() override {
    other_.reset();
    baseline_.reset();
  }

 private:
  bool on_baseline_engine(const Variant& variant) const {
    return variant.attention == reference_part_.attention && variant.threads == 0;
  }

  // Opens the variant's own engine, when it needs one; one at a time, beside the baseline.
  std::optional<verify::NotRun> open_variant(const Variant& variant) {
    if (on_baseline_engine(variant)) return std::nullopt;
    if (other_ && other_attention_ == variant.attention && other_threads_ == variant.threads) {
      return std::nullopt;
    }
    other_.reset();
    other_attention_ = variant.attention;
    other_threads_ = variant.threads;
    return open(variant.attention, variant.threads, other_);
  }

  std::optional<verify::NotRun> open(const std::string& attention, int threads,
                                     std::unique_ptr<reference::Engine>& engine) {
    auto opened = environment_.open_reference({.engine = reference_part_.engine,
                                               .folder = folder_,
                                               .model = model_,
                                               .dtype = reference_part_.dtype,
                                               .device = device_,
                                               .attention = attention,
                                               .tf32 = reference_part_.tf32,
                                               .threads = threads});
    if (auto* absent = std::get_if<verify::NotRun>(&opened)) return *absent;
    engine = std::move(std::get<std::unique_ptr<reference::Engine>>(opened));
    return std::nullopt;
  }

  const Environment& environment_;
  ModelReference model_;
  ReferencePart reference_part_;
  std::vector<TokenCase> cases_;
  std::vector<std::string> devices_;
  std::vector<Variant> variants_;
  std::filesystem::path folder_;
  std::string device_;
  std::unique_ptr<reference::Engine> baseline_;
  std::unique_ptr<reference::Engine> other_;
  std::string other_attention_;
  int other_threads_ = 0;
  nlohmann::json checkpoint_;
};

}  // namespace

verify::Kind noise_floor(const Environment& environment) {
  return {.name = "noise_floor",
          .summary = "the reference against itself: other attention, other paths, other threads",
          .metrics = verify::row_metrics(),
          .faults = {},
          .parts = {"model", "reference", "cases", "parameters"},
          .read =
              [&environment](const verify::Spec& spec) {
                return std::make_unique<NoiseFloor>(spec, environment);
              },
          .files = files_of_cases};
}

}  // namespace octlm::experiments
