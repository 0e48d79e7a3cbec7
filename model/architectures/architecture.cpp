#include "model/architectures/architecture.h"

#include <array>
#include <stdexcept>

#include "model/architectures/list.h"

namespace octlm::model {

std::span<const Architecture> architectures() {
  static const std::array kList = {qwen3(), llama()};
  return kList;
}

const Architecture& architecture_of(const Config& config) {
  for (const Architecture& architecture : architectures()) {
    if (config.architecture == architecture.name) return architecture;
  }
  throw std::invalid_argument("[architecture_of] no architecture is called '" +
                              config.architecture + "'");
}

std::vector<ExpectedTensor> expected_tensors(const Config& config) {
  const Architecture& architecture = architecture_of(config);
  std::vector<ExpectedTensor> all;
  const auto add = [&](Module module, std::int64_t layer, const Shape& shape) {
    all.push_back({weight_name(module, layer), shape});
  };
  add(Module::kEmbedTokens, 0, {config.vocab_size, config.hidden_size});
  const std::vector<LayerWeight> weights = architecture.layer_weights(config);
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    for (const LayerWeight& weight : weights) add(weight.module, layer, weight.shape);
  }
  add(Module::kNorm, 0, {config.hidden_size});
  if (!config.tie_word_embeddings) add(Module::kLmHead, 0, {config.vocab_size, config.hidden_size});
  return all;
}

}  // namespace octlm::model
