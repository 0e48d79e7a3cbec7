// The forward pass, as in Transformers' modeling_qwen3.py and modeling_llama.py (4.57). For a block
// of seq rows at absolute positions first .. first + seq - 1, with shapes as stored in a
// checkpoint:
//
//   x      = embed_tokens[ids]                                   [seq, hidden]
//   for each layer:
//     h    = rms_norm(x, input_layernorm)                        [seq, hidden]
//     q    = h q_proj^T                                          [seq, heads, head_dim]
//     k, v = h k_proj^T, h v_proj^T                              [seq, kv_heads, head_dim]
//     q, k = rms_norm(q, q_norm), rms_norm(k, k_norm)            per head; Qwen3 only
//     q, k = rope(q), rope(k)                                    by absolute position
//     k, v -> cache
//     a    = attention(q, cache)                                 [seq, heads * head_dim]
//     x   += a o_proj^T
//     h    = rms_norm(x, post_attention_layernorm)
//     x   += (silu(h gate_proj^T) * (h up_proj^T)) down_proj^T   intermediate wide inside
//   logits = rms_norm(x, norm) lm_head^T                         [wanted rows, vocab]
#include "model/decoder.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <string>

#include "model/ops/add.h"
#include "model/ops/attention.h"
#include "model/ops/embedding.h"
#include "model/ops/kv_store.h"
#include "model/ops/linear.h"
#include "model/ops/rms_norm.h"
#include "model/ops/rope.h"
#include "model/ops/silu_mul.h"

namespace octlm::model {

// Activations of one block of rows: sized by the block and not by the prompt.
struct Decoder::Workspace {
  Workspace(const Config& config, Backend& backend, std::int64_t rows, std::int64_t logit_rows)
      : hidden(backend, rows, config.hidden_size),
        normed(backend, rows, config.hidden_size),
        q(backend, rows, config.attention_width()),
        k(backend, rows, config.key_value_width()),
        v(backend, rows, config.key_value_width()),
        attended(backend, rows, config.attention_width()),
        gate(backend, rows, config.intermediate_size),
        up(backend, rows, config.intermediate_size),
        head_rows(backend, logit_rows, config.hidden_size),
        logits(backend, logit_rows, config.vocab_size) {}

  struct Activation {
    Activation(Backend& backend, std::int64_t rows, std::int64_t width)
        : buffer(backend.allocate(static_cast<std::size_t>(Shape({rows, width}).elements()) *
                                  dtype_bytes(backend.activation_dtype()))),
          whole{buffer.data(), backend.activation_dtype(), Shape({rows, width})} {}

    // The first `seq` rows, and the same with each row cut into heads.
    TensorView of(std::int64_t seq) const { return rows(whole, 0, seq); }
    TensorView of(std::int64_t seq, std::int64_t heads) const {
      TensorView view = of(seq);
      view.shape = Shape({seq, heads, whole.shape[1] / heads});
      return view;
    }

    Buffer buffer;
    TensorView whole;  // [rows, width]
  };

  Activation hidden, normed, q, k, v, attended, gate, up, head_rows, logits;
};

Decoder::Decoder(const Checkpoint& checkpoint, Backend& backend, const Options& options)
    : config_(checkpoint.config()), backend_(backend), options_(options), rope_(config_) {
  auto weight = [&](const std::string& name) {
    return backend.place_weight(checkpoint.tensor(name));
  };
  embed_tokens_ = weight("model.embed_tokens.weight");
  for (std::int64_t i = 0; i < config_.num_hidden_layers; ++i) {
    const std::string at = "model.layers." + std::to_string(i) + ".";
    Layer layer;
    layer.input_layernorm = weight(at + "input_layernorm.weight");
    layer.q_proj = weight(at + "self_attn.q_proj.weight");
    layer.k_proj = weight(at + "self_attn.k_proj.weight");
    layer.v_proj = weight(at + "self_attn.v_proj.weight");
    if (config_.qk_norm) {
      layer.q_norm = weight(at + "self_attn.q_norm.weight");
      layer.k_norm = weight(at + "self_attn.k_norm.weight");
    }
    layer.o_proj = weight(at + "self_attn.o_proj.weight");
    layer.post_attention_layernorm = weight(at + "post_attention_layernorm.weight");
    layer.gate_proj = weight(at + "mlp.gate_proj.weight");
    layer.up_proj = weight(at + "mlp.up_proj.weight");
    layer.down_proj = weight(at + "mlp.down_proj.weight");
    layers_.push_back(layer);
  }
  norm_ = weight("model.norm.weight");
  lm_head_ = config_.tie_word_embeddings ? embed_tokens_ : weight("lm_head.weight");
}

namespace {
[[noreturn]] void refuse(const std::string& what) {
  throw std::invalid_argument("[decoder] " + what);
}
}  // namespace

void Decoder::check_ids(std::span<const std::int32_t> ids) const {
  if (ids.empty()) refuse("no token ids: a forward call needs at least one");
  if (std::ssize(ids) > config_.max_position_embeddings) {
    refuse(std::to_string(ids.size()) + " token ids exceed max_position_embeddings = " +
           std::to_string(config_.max_position_embeddings) + " in config.json");
  }
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= config_.vocab_size) {
      refuse("token id " + std::to_string(ids[i]) + " at index " + std::to_string(i) +
             " is outside [0, " + std::to_string(config_.vocab_size) + ")");
    }
  }
}

void Decoder::check_call(std::span<const std::int32_t> ids, std::int64_t first_position,
                         const KvCache& cache, std::span<const std::int64_t> wanted) const {
  check_ids(ids);
  if (first_position != cache.length()) {
    refuse("the call starts at position " + std::to_string(first_position) +
           " but the cache holds " + std::to_string(cache.length()) +
           " positions; reset or crop the cache first");
  }
  // The capacity is at most max_position_embeddings, so that limit holds as well.
  const auto count = std::ssize(ids);
  if (count > cache.capacity() - first_position) {
    refuse(std::to_string(count) + " more positions do not fit: the cache holds " +
           std::to_string(first_position) + " of " + std::to_string(cache.capacity()));
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] < first_position || wanted[i] >= first_position + count ||
        (i > 0 && wanted[i] <= wanted[i - 1])) {
      refuse("wanted position " + std::to_string(wanted[i]) +
             " is not in the call's range or not ascending");
    }
  }
}

Decoder::~Decoder() = default;

std::unique_ptr<Decoder::Workspace> Decoder::take_workspace(std::int64_t rows,
                                                            std::int64_t logit_rows) {
  const bool fits = workspace_ != nullptr && workspace_->hidden.whole.shape[0] >= rows &&
                    workspace_->logits.whole.shape[0] >= logit_rows;
  if (fits) return std::move(workspace_);
  workspace_.reset();
  return std::make_unique<Workspace>(config_, backend_, rows, logit_rows);
}

void Decoder::attention_block(const Layer& layer, std::int64_t layer_index, const Span& span,
                              KvCache& cache, Workspace& work) const {
  const std::int64_t seq = span.seq;
  const std::int64_t heads = config_.num_attention_heads;
  const std::int64_t kv_heads = config_.num_key_value_heads;
  const double eps = config_.rms_norm_eps;
  const TensorView normed = work.normed.of(seq);

  ops::rms_norm(backend_, work.hidden.of(seq), layer.input_layernorm, eps, normed);
  ops::linear(backend_, normed, layer.q_proj, work.q.of(seq));
  ops::linear(backend_, normed, layer.k_proj, work.k.of(seq));
  ops::linear(backend_, normed, layer.v_proj, work.v.of(seq));

  const TensorView q = work.q.of(seq, heads);     // [seq, heads, head_dim]
  const TensorView k = work.k.of(seq, kv_heads);  // [seq, kv_heads, head_dim]
  const TensorView v = work.v.of(seq, kv_heads);
  if (config_.qk_norm) {
    ops::rms_norm(backend_, q, layer.q_norm, eps, q);
    ops::rms_norm(backend_, k, layer.k_norm, eps, k);
  }
  const auto cos = rope_.cos(span.first_position, seq);
  const auto sin = rope_.sin(span.first_position, seq);
  ops::rope(backend_, q, cos, sin);
  ops::rope(backend_, k, cos, sin);
  ops::kv_store(backend_, k, span.first_position, cache.keys(layer_index));
  ops::kv_store(backend_, v, span.first_position, cache.values(layer_index));

  const double scale = 1.0 / std::sqrt(static_cast<double>(config_.head_dim));
  ops::attention(backend_, q, cache.keys(layer_index), cache.values(layer_index),
                 span.first_position, scale, work.attended.of(seq, heads));
  ops::linear(backend_, work.attended.of(seq), layer.o_proj, normed);
  ops::add(backend_, normed, work.hidden.of(seq));
}

void Decoder::mlp_block(const Layer& layer, const Span& span, Workspace& work) const {
  const std::int64_t seq = span.seq;
  const TensorView normed = work.normed.of(seq);
  const TensorView gate = work.gate.of(seq);
  ops::rms_norm(backend_, work.hidden.of(seq), layer.post_attention_layernorm, config_.rms_norm_eps,
                normed);
  ops::linear(backend_, normed, layer.gate_proj, gate);
  ops::linear(backend_, normed, layer.up_proj, work.up.of(seq));
  ops::silu_mul(backend_, gate, work.up.of(seq), gate);
  ops::linear(backend_, gate, layer.down_proj, normed);
  ops::add(backend_, normed, work.hidden.of(seq));
}

void Decoder::head(const Span& span, std::span<const std::int64_t> wanted, Workspace& work,
                   const LogitSink& sink) const {
  const auto at_once = static_cast<std::size_t>(work.logits.whole.shape[0]);
  for (std::size_t done = 0; done < wanted.size(); done += at_once) {
    const auto positions = wanted.subspan(done, std::min(at_once, wanted.size() - done));
    const auto n = static_cast<std::int64_t>(positions.size());
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t row = positions[static_cast<std::size_t>(i)] - span.first_position;
      ops::rms_norm(backend_, rows(work.hidden.whole, row, 1), norm_, config_.rms_norm_eps,
                    rows(work.head_rows.whole, i, 1));
    }
    ops::linear(backend_, work.head_rows.of(n), lm_head_, work.logits.of(n));
    sink(positions, work.logits.of(n));
  }
}

void Decoder::forward(std::span<const std::int32_t> ids, std::int64_t first_position,
                      KvCache& cache, std::span<const std::int64_t> wanted, const LogitSink& sink) {
  check_call(ids, first_position, cache, wanted);
  const auto count = static_cast<std::int64_t>(ids.size());
  rope_.extend(first_position + count);
  const std::int64_t block_rows = std::min(count, options_.rows_per_block);
  auto workspace = take_workspace(
      block_rows, std::clamp<std::int64_t>(std::ssize(wanted), 1, options_.logit_rows_per_block));
  Workspace& work = *workspace;

  for (std::int64_t start = 0; start < count; start += block_rows) {
    const Span span{first_position + start, std::min(block_rows, count - start)};
    ops::embedding(backend_, embed_tokens_,
                   ids.subspan(static_cast<std::size_t>(start), static_cast<std::size_t>(span.seq)),
                   work.hidden.of(span.seq));
    for (std::int64_t i = 0; i < config_.num_hidden_layers; ++i) {
      const Layer& layer = layers_[static_cast<std::size_t>(i)];
      attention_block(layer, i, span, cache, work);
      mlp_block(layer, span, work);
    }
    const auto here = std::ranges::lower_bound(wanted, span.first_position + span.seq);
    const auto in_span = static_cast<std::size_t>(here - wanted.begin());
    head(span, wanted.first(in_span), work, sink);
    wanted = wanted.subspan(in_span);
  }
  cache.advance(count);
  workspace_ = std::move(workspace);
}

}  // namespace octlm::model
