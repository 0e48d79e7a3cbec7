#include "model/architectures/architecture.h"

#include <array>
#include <iterator>
#include <stdexcept>
#include <utility>

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
  all.push_back({"model.embed_tokens.weight", {config.vocab_size, config.hidden_size}});
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    auto tensors =
        architecture.layer_tensors(config, "model.layers." + std::to_string(layer) + ".");
    all.insert(all.end(), std::make_move_iterator(tensors.begin()),
               std::make_move_iterator(tensors.end()));
  }
  all.push_back({"model.norm.weight", {config.hidden_size}});
  if (!config.tie_word_embeddings) {
    all.push_back({"lm_head.weight", {config.vocab_size, config.hidden_size}});
  }
  return all;
}

}  // namespace octlm::model
