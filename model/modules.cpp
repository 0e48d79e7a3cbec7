#include "model/modules.h"

#include <iterator>

namespace octlm::model {
namespace {

// In the order of Module; those of a layer are relative to it.
constexpr const char* kPaths[] = {"input_layernorm",
                                  "self_attn.q_proj",
                                  "self_attn.k_proj",
                                  "self_attn.v_proj",
                                  "self_attn.q_norm",
                                  "self_attn.k_norm",
                                  "self_attn.o_proj",
                                  "post_attention_layernorm",
                                  "mlp.gate_proj",
                                  "mlp.up_proj",
                                  "mlp.down_proj",
                                  "self_attn",
                                  "mlp",
                                  "",
                                  "model.embed_tokens",
                                  "model.norm",
                                  "lm_head"};
static_assert(std::size(kPaths) == static_cast<std::size_t>(Module::kLmHead) + 1);

}  // namespace

std::string module_path(Module module, std::int64_t layer) {
  const std::string path = kPaths[static_cast<std::size_t>(module)];
  if (module >= Module::kEmbedTokens) return path;
  const std::string of_layer = "model.layers." + std::to_string(layer);
  return module == Module::kLayer ? of_layer : of_layer + "." + path;
}

std::string weight_name(Module module, std::int64_t layer) {
  return module_path(module, layer) + ".weight";
}

}  // namespace octlm::model
