// The modules of a decoder by the paths that Transformers' module tree gives them, which are the
// names of their weights too: one list for the checkpoint, the decoder, faults and observers.
#pragma once

#include <cstdint>
#include <string>

namespace octlm::model {

enum class Module : std::uint8_t {
  // Of a layer, each with a weight.
  kInputLayernorm,
  kQProj,
  kKProj,
  kVProj,
  kQNorm,
  kKNorm,
  kOProj,
  kPostAttentionLayernorm,
  kGateProj,
  kUpProj,
  kDownProj,
  // Of a layer, and the layer itself: made of others.
  kSelfAttn,
  kMlp,
  kLayer,
  // Of the whole.
  kEmbedTokens,
  kNorm,
  kLmHead,
};
inline constexpr int kLayerWeights = static_cast<int>(Module::kDownProj) + 1;

// "model.layers.3.self_attn.q_proj"; `layer` is without effect for modules of the whole.
std::string module_path(Module module, std::int64_t layer = 0);
// "model.layers.3.self_attn.q_proj.weight"
std::string weight_name(Module module, std::int64_t layer = 0);

}  // namespace octlm::model
