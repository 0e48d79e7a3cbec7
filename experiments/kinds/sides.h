// The two sides of a comparison, opened in the one right order: what quickly says no comes first,
// what takes long comes last.
//   1. the checkpoint's folder    absent: the command that gets it
//   2. the subject                a device or a type that is not there says so at once
//   3. the checkpoint's files     held against the hashes that the spec names
//   4. the ids of the cases       by the checkpoint's tokenizer
//   5. the reference              starts Python
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "experiments/engines/environment.h"
#include "experiments/kinds/spec_parts.h"
#include "model/tokenizer/tokenizer.h"
#include "verify/kind.h"

namespace octlm::experiments {

// To what verify::kUncountedBecause names in an identity.
void add_reasons(nlohmann::json& identity, const std::vector<std::string>& reasons);

// How a side is opened once the checkpoint's folder is known; empty: the kind has no such side.
template <class Engine>
using OpenSide =
    std::function<OrNotRun<std::unique_ptr<Engine>>(const std::filesystem::path& folder)>;

// Engine: reference::Engine or reference::TextEngine.
template <class Engine>
struct SidesRequest {
  const ModelReference& model;
  OpenSide<Engine> subject = {};
  OpenSide<Engine> reference = {};
  std::vector<TokenCase> cases = {};
};

template <class Engine>
struct Sides {
  std::filesystem::path folder;
  nlohmann::json checkpoint;                  // checkpoint_identity
  std::vector<TokenCase> cases;               // with their ids
  std::optional<model::Tokenizer> tokenizer;  // when the cases have text
  std::unique_ptr<Engine> reference, subject;

  // For Session::identity: the checkpoint, each side there is, and what speaks against them.
  nlohmann::json identity() const;
};

// Throws what is broken: a file that is another than the spec names, ids that are not their text's.
template <class Engine>
OrNotRun<Sides<Engine>> open_sides(const Environment& environment, SidesRequest<Engine> request);

// The sides of a comparison of logits. All that is given must outlive what is returned.
OpenSide<reference::Engine> subject_side(const Environment& environment,
                                         const ModelReference& model, const SubjectPart& part,
                                         const std::string& device);
// threads = 0: as many as the environment has for it.
OpenSide<reference::Engine> reference_side(const Environment& environment,
                                           const ModelReference& model, const ReferencePart& part,
                                           const std::string& device, int threads = 0);

}  // namespace octlm::experiments
