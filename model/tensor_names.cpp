#include "model/tensor_names.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>

#include "model/checkpoint_json.h"

namespace octlm::model {
namespace {

constexpr std::string_view kPrefix = "model.";
constexpr std::string_view kLayers = "model.layers.";
constexpr std::string_view kHead = "lm_head.weight";

// ".name" at the end, or the name alone.
bool is_called(std::string_view name, std::string_view last) {
  return name.ends_with(last) &&
         (name.size() == last.size() || name[name.size() - last.size() - 1] == '.');
}

// [.., n, n], all else 1.
bool is_square_mask(const Shape& shape) {
  const int rank = shape.rank();
  if (rank < 2 || shape[rank - 1] != shape[rank - 2]) return false;
  for (int i = 0; i + 2 < rank; ++i) {
    if (shape[i] != 1) return false;
  }
  return true;
}

// What the wanted names have in front of the found ones, or the found in front of the wanted, when
// that explains every name of the shorter side.
std::string prefix_cause(const std::vector<std::string>& names, const WantedTensors& wanted) {
  const auto fits = [&](std::string_view name) { return wanted.contains(std::string(name)); };
  if (std::ranges::any_of(names, fits)) return "";
  for (const std::string_view lacking :
       {std::string_view("model."), std::string_view("model.layers.")}) {
    const bool all = std::ranges::all_of(
        names, [&](const std::string& name) { return fits(std::string(lacking) + name); });
    if (all) return "all lack the prefix '" + std::string(lacking) + "'";
  }
  for (std::size_t dot = names.front().find('.'); dot != std::string::npos;
       dot = names.front().find('.', dot + 1)) {
    const std::string prefix = names.front().substr(0, dot + 1);
    const bool all = std::ranges::all_of(names, [&](const std::string& name) {
      const std::string_view rest =
          name.starts_with(prefix) ? std::string_view(name).substr(prefix.size()) : "";
      return fits(rest) || fits(std::string(kPrefix) + std::string(rest));
    });
    if (all) return "all have the prefix " + in_quotes(prefix) + " too much";
  }
  return "";
}

// Names that no plain checkpoint has.
std::string layout_cause(const std::vector<std::string>& names) {
  struct Layout {
    std::string_view part, meaning;
  };
  static constexpr Layout kLayouts[] = {
      {".lora_A.", "these are a LoRA adapter's tensors; merge the adapter into its base model"},
      {".base_layer.", "these are an adapter's tensors; merge the adapter into its base model"},
      {".qweight", "these are quantised weights (GPTQ or AWQ), and octlm reads BF16, F16 and F32"},
      {".weight_scale",
       "these are quantised weights (FP8 or INT8), and octlm reads BF16, F16 and F32"},
      {".weight.absmax",
       "these are quantised weights (bitsandbytes), and octlm reads BF16, F16 and F32"},
      {".qkv_proj.", "q_proj, k_proj and v_proj are stored as one tensor; split it"},
      {".gate_up_proj.", "gate_proj and up_proj are stored as one tensor; split it"},
      {"tok_embeddings.weight",
       "these are the names of Meta's own format; convert it to Hugging Face's"},
      {".feed_forward.w1",
       "these are the names of Meta's own format; convert it to Hugging Face's"},
  };
  for (const Layout& layout : kLayouts) {
    const bool found = std::ranges::any_of(names, [&](const std::string& name) {
      return name.find(layout.part) != std::string::npos;
    });
    if (found) return std::string(layout.meaning);
  }
  return "";
}

std::optional<std::int64_t> layer_of(std::string_view name) {
  if (!name.starts_with(kLayers)) return std::nullopt;
  const std::string_view rest = name.substr(kLayers.size());
  std::int64_t layer = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), layer);
  const bool whole = error == std::errc() && end != rest.data() + rest.size() && *end == '.';
  return whole && layer >= 0 ? std::optional(layer) : std::nullopt;
}

std::string layers_cause(const std::vector<std::string>& names, const Config& config) {
  std::int64_t stored = 0;
  for (const std::string& name : names) {
    if (const auto layer = layer_of(name)) stored = std::max(stored, *layer + 1);
  }
  if (stored == 0 || stored == config.num_hidden_layers) return "";
  return "they are those of " + std::to_string(stored) + " layers, and config.json says " +
         "num_hidden_layers: " + std::to_string(config.num_hidden_layers);
}

}  // namespace

bool is_stored_buffer(std::string_view name, const Shape& shape) {
  // Transformers 4.57.6 searches for rotary_emb.inv_freq anywhere in the name; the others it calls
  // unexpected, warns of, and leaves unread.
  for (const std::string_view last : {"rotary_emb.inv_freq", "rotary_emb.original_inv_freq",
                                      "rotary_emb.cos_cached", "rotary_emb.sin_cached"}) {
    if (is_called(name, last)) return true;
  }
  if (is_called(name, "attn.masked_bias") || is_called(name, "self_attn.masked_bias")) {
    return shape.elements() == 1;
  }
  const bool mask = is_called(name, "attn.bias") || is_called(name, "self_attn.bias") ||
                    is_called(name, "causal_mask");
  return mask && is_square_mask(shape);
}

bool has_base_names(const std::vector<std::string>& names, const WantedTensors& wanted) {
  const bool other = std::ranges::any_of(
      names, [](const std::string& name) { return name.starts_with("model") || name == kHead; });
  return !other && std::ranges::any_of(names, [&](const std::string& name) {
    return wanted.contains(std::string(kPrefix) + name);
  });
}

std::string likely_cause(const std::vector<std::string>& names, const WantedTensors& wanted,
                         const Config& config) {
  if (names.empty()) return "the files hold no parameter";
  std::vector<std::string> without_head = names;
  std::erase(without_head, kHead);
  if (without_head.empty()) return "the files hold nothing but lm_head.weight";
  if (has_base_names(names, wanted) && wanted.contains(std::string(kHead))) {
    return "these are a base model's tensors, without the prefix 'model.' and without a head, and "
           "config.json says tie_word_embeddings: false";
  }
  if (std::string cause = layout_cause(names); !cause.empty()) return cause;
  // A head without prefix beside them is as it should be.
  if (std::string cause = prefix_cause(without_head, wanted); !cause.empty()) {
    const bool head = without_head.size() < names.size() && cause.find("lack") != std::string::npos;
    return head ? "all but lm_head.weight lack the prefix 'model.', which Transformers 4.57.6 "
                  "refuses as corrupted"
                : cause;
  }
  return layers_cause(names, config);
}

}  // namespace octlm::model
