#include "experiments/kinds/sides.h"

#include <utility>

#include "experiments/engines/checkpoint_store.h"
#include "experiments/kinds/case_ids.h"
#include "reference/loader_variables.h"

namespace octlm::experiments {
namespace {

nlohmann::json identity_of(const reference::Engine& engine) {
  const auto description = engine.description();
  nlohmann::json identity = {{"engine", description.engine},
                             {"version", description.version},
                             {"source", description.source}};
  if (!description.sha256.empty()) identity["sha256"] = description.sha256;
  if (description.files > 0) identity["files"] = description.files;
  return identity;
}

nlohmann::json identity_of(const reference::TextEngine& engine) {
  const auto description = engine.description();
  return {{"engine", description.engine},
          {"version", description.version},
          {"settings", description.settings}};
}

// Why the side cannot be had; nullopt when it is open, or there is none.
template <class Engine>
std::optional<verify::NotRun> open_side(const OpenSide<Engine>& open,
                                        const std::filesystem::path& folder,
                                        std::unique_ptr<Engine>& engine) {
  if (!open) return std::nullopt;
  auto opened = open(folder);
  if (auto* absent = std::get_if<verify::NotRun>(&opened)) return std::move(*absent);
  engine = std::get<std::unique_ptr<Engine>>(std::move(opened));
  return std::nullopt;
}

}  // namespace

void add_reasons(nlohmann::json& identity, const std::vector<std::string>& reasons) {
  for (const std::string& reason : reasons) identity[verify::kUncountedBecause].push_back(reason);
}

template <class Engine>
nlohmann::json Sides<Engine>::identity() const {
  nlohmann::json identity = {{"checkpoint", checkpoint}};
  add_reasons(identity, reference::loader_reasons(reference::loader_variables()));
  for (const auto& side : {&subject, &reference}) {
    if (*side) add_reasons(identity, (*side)->description().uncounted_because);
  }
  if (subject) identity["subject"] = identity_of(*subject);
  if (reference) identity["reference"] = identity_of(*reference);
  return identity;
}

template <class Engine>
OrNotRun<Sides<Engine>> open_sides(const Environment& environment, SidesRequest<Engine> request) {
  const auto found = environment.find_checkpoint(request.model);
  if (const auto* absent = std::get_if<verify::NotRun>(&found)) return *absent;
  Sides<Engine> sides;
  sides.folder = std::get<CheckpointFolder>(found).path;
  if (auto absent = open_side(request.subject, sides.folder, sides.subject)) return *absent;
  require_files(sides.folder, request.model);
  sides.cases = std::move(request.cases);
  if (auto absent = fill_token_ids(sides.cases, sides.folder, &sides.tokenizer)) return *absent;
  if (auto absent = open_side(request.reference, sides.folder, sides.reference)) return *absent;
  sides.checkpoint = checkpoint_identity(sides.folder, request.model);
  return sides;
}

template struct Sides<reference::Engine>;
template struct Sides<reference::TextEngine>;
template OrNotRun<Sides<reference::Engine>> open_sides(const Environment&,
                                                       SidesRequest<reference::Engine>);
template OrNotRun<Sides<reference::TextEngine>> open_sides(const Environment&,
                                                           SidesRequest<reference::TextEngine>);

OpenSide<reference::Engine> subject_side(const Environment& environment,
                                         const ModelReference& model, const SubjectPart& part,
                                         const std::string& device) {
  return [&, device](const std::filesystem::path& folder) {
    return environment.open_subject({.engine = part.engine,
                                     .folder = folder,
                                     .model = model,
                                     .dtype = part.dtype,
                                     .device = device});
  };
}

OpenSide<reference::Engine> reference_side(const Environment& environment,
                                           const ModelReference& model, const ReferencePart& part,
                                           const std::string& device, int threads) {
  return [&, device, threads](const std::filesystem::path& folder) {
    return environment.open_reference({.engine = part.engine,
                                       .folder = folder,
                                       .model = model,
                                       .dtype = part.dtype,
                                       .device = device,
                                       .attention = part.attention,
                                       .tf32 = part.tf32,
                                       .threads = threads});
  };
}

}  // namespace octlm::experiments
