#include "experiments/kinds/cached_parity.h"

#include <algorithm>
#include <set>

#include "experiments/engines/checkpoint_store.h"
#include "experiments/kinds/case_ids.h"
#include "experiments/kinds/logit_comparison.h"
#include "experiments/kinds/spec_parts.h"
#include "verify/metrics/metrics.h"

namespace octlm::experiments {
namespace {

using verify::ObjectReader;
using verify::Reader;

struct LengthCase {
  std::string name;
  std::int64_t length = 0;
};

class CachedParity final : public verify::Experiment {
 public:
  CachedParity(const verify::Spec& spec, const Environment& environment)
      : environment_(environment),
        model_(read_model(spec.part("model"))),
        subject_part_(read_subject(spec.part("subject"), engine_names(environment.engines))) {
    spec.part("parameters").object([&](ObjectReader& members) {
      whole_.name = "parameters";
      whole_.token_ids = read_token_ids(members.required("token_ids"));
      if (const auto text = members.optional("text")) whole_.text = text->string();
    });
    std::set<std::string> names;
    for (const Reader& item : spec.part("cases").non_empty_array()) {
      item.object([&](ObjectReader& members) {
        LengthCase length_case;
        const Reader name = members.required("name");
        length_case.name = name.non_empty_string();
        if (!names.insert(length_case.name).second) name.fail("another case has this name");
        length_case.length = members.required("length").integer(1, std::ssize(whole_.token_ids));
        cases_.push_back(length_case);
      });
    }
  }

  std::vector<verify::ComparisonKey> comparisons() const override {
    std::vector<verify::ComparisonKey> keys;
    for (const std::string& device : subject_part_.devices) {
      for (const LengthCase& length_case : cases_) {
        for (const reference::Path& path : subject_part_.paths) {
          keys.push_back({length_case.name, path.text(), device, subject_part_.dtype});
        }
      }
    }
    return keys;
  }

  std::optional<verify::NotRun> prepare(const std::string& device) override {
    auto found = environment_.find_checkpoint(model_);
    if (auto* absent = std::get_if<verify::NotRun>(&found)) return *absent;
    const auto folder = std::get<CheckpointFolder>(found).path;
    auto engine = environment_.open_subject({.engine = subject_part_.engine,
                                             .folder = folder,
                                             .model = model_,
                                             .dtype = subject_part_.dtype,
                                             .device = device});
    if (auto* absent = std::get_if<verify::NotRun>(&engine)) return *absent;
    require_files(folder, model_);
    std::vector<TokenCase> sequences = {whole_};
    if (auto absent = fill_token_ids(sequences, folder)) return absent;
    whole_ = sequences[0];
    engine_ = std::move(std::get<std::unique_ptr<reference::Engine>>(engine));
    checkpoint_ = checkpoint_identity(folder, model_);
    return std::nullopt;
  }

  nlohmann::json identity() const override {
    return {{"checkpoint", checkpoint_}, {"subject", engine_identity(*engine_)}};
  }

  verify::Outcome compare(const verify::ComparisonKey& key) override {
    const auto length_case = std::ranges::find(cases_, key.case_name, &LengthCase::name);
    const auto path = reference::Path::parse(key.path);
    const auto first = whole_.token_ids.begin();
    const std::vector<std::int32_t> ids(first, first + length_case->length);
    const LogitSide split{*engine_, {ids, path, {}}};
    const LogitSide whole{*engine_, {ids, reference::Path::full(), {}}};
    if (auto reason = unsupported(split, whole)) return *reason;
    auto measurement = compare_logits(split, whole);
    measurement.record["model"] = model_.id;
    measurement.record["ids_from"] = whole_.ids_from;
    return measurement;
  }

  void release() override { engine_.reset(); }

 private:
  const Environment& environment_;
  ModelReference model_;
  SubjectPart subject_part_;
  TokenCase whole_;  // the sequence that the cases are beginnings of
  std::vector<LengthCase> cases_;
  std::unique_ptr<reference::Engine> engine_;
  nlohmann::json checkpoint_;
};

}  // namespace

verify::Kind cached_parity(const Environment& environment) {
  return {.name = "cached_parity",
          .summary = "every split of a prompt against one full pass of the same engine",
          .metrics = verify::row_metrics(),
          .faults = fault_names(),
          .parts = {"model", "subject", "cases", "parameters"},
          .read = [&environment](const verify::Spec& spec) {
            return std::make_unique<CachedParity>(spec, environment);
          }};
}

}  // namespace octlm::experiments
