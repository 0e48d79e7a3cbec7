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
#include <memory>
#include <stdexcept>
#include <string>

#include "model/architectures/architecture.h"
#include "model/rope_table.h"

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

namespace {
[[noreturn]] void refuse(const std::string& what) {
  throw std::invalid_argument("[decoder] " + what);
}
}  // namespace

Decoder::Decoder(const Config& config, const WeightsFunction& weights, Backend& backend,
                 const Options& options)
    : config_(config), backend_(backend), options_(options) {
  const auto weight = [&](Module module, std::int64_t layer, const Shape& shape) {
    const std::string name = weight_name(module, layer);
    const ConstTensorView host = weights(name);
    if (host.shape != shape) {
      refuse(name + " is " + host.shape.to_string() + ", expected " + shape.to_string());
    }
    return backend.make_weight(host);
  };
  const Shape table({config_.vocab_size, config_.hidden_size});
  embed_tokens_ = weight(Module::kEmbedTokens, 0, table);
  const std::vector<LayerWeight> list = architecture_of(config_).layer_weights(config_);
  layers_.resize(static_cast<std::size_t>(config_.num_hidden_layers));
  for (std::int64_t i = 0; i < config_.num_hidden_layers; ++i) {
    for (const LayerWeight& of : list) {
      layers_[static_cast<std::size_t>(i)].weights[static_cast<std::size_t>(of.module)] =
          weight(of.module, i, of.shape);
    }
  }
  norm_ = weight(Module::kNorm, 0, {config_.hidden_size});
  if (!config_.tie_word_embeddings) lm_head_ = weight(Module::kLmHead, 0, table);
}

Decoder::Decoder(const Checkpoint& checkpoint, Backend& backend, const Options& options)
    : Decoder(
          checkpoint.config(),
          [&checkpoint](const std::string& name) { return checkpoint.tensor(name); }, backend,
          options) {}

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

// The table grows by doubling, so that a long decode remakes it seldom.
void Decoder::extend_rope(std::int64_t positions) {
  const Fault* fault = options_.fault;
  if (fault != nullptr) positions += std::max<std::int64_t>(0, fault->rope_cached_position_offset);
  if (positions <= rope_.positions()) return;
  const std::int64_t room = std::max(positions, std::min(2 * std::max<std::int64_t>(positions, 256),
                                                         config_.max_position_embeddings));
  RopeTable table(rope_table_arguments(config_, fault));
  table.extend(room);
  rope_ = backend_.make_rope_table(table.cos(0, room), table.sin(0, room));
}

void Decoder::attention_block(std::int64_t index, const Span& span, KvCache& cache, Workspace& work,
                              const Pass& pass) const {
  using enum Module;
  const Layer& layer = layers_[static_cast<std::size_t>(index)];
  const std::int64_t seq = span.seq;
  const std::int64_t heads = config_.num_attention_heads;
  const std::int64_t kv_heads = config_.num_key_value_heads;
  const TensorView normed = work.normed.of(seq);

  pass.input(kSelfAttn, normed);
  pass.linear(kQProj, normed, layer[kQProj], work.q.of(seq));
  pass.linear(kKProj, normed, layer[kKProj], work.k.of(seq));
  pass.linear(kVProj, normed, layer[kVProj], work.v.of(seq));

  const TensorView q = work.q.of(seq, heads);     // [seq, heads, head_dim]
  const TensorView k = work.k.of(seq, kv_heads);  // [seq, kv_heads, head_dim]
  const TensorView v = work.v.of(seq, kv_heads);
  if (config_.qk_norm) {
    pass.rms_norm(kQNorm, q, layer[kQNorm], q);
    pass.rms_norm(kKNorm, k, layer[kKNorm], k);
  }
  pass.rope(q);
  pass.rope(k);
  pass.kv_store(k, cache.keys(index));
  pass.kv_store(v, cache.values(index));
  pass.attention(q, cache.keys(index), cache.values(index), work.attended.of(seq, heads));
  pass.linear(kOProj, work.attended.of(seq), layer[kOProj], normed);
  pass.output(kSelfAttn, normed);
}

void Decoder::mlp_block(const Layer& layer, const Span& span, Workspace& work,
                        const Pass& pass) const {
  using enum Module;
  const TensorView normed = work.normed.of(span.seq);
  const TensorView gate = work.gate.of(span.seq);
  const TensorView up = work.up.of(span.seq);
  pass.input(kMlp, normed);
  pass.linear(kGateProj, normed, layer[kGateProj], gate);
  pass.linear(kUpProj, normed, layer[kUpProj], up);
  pass.silu_mul(gate, up, gate);
  pass.linear(kDownProj, gate, layer[kDownProj], normed);
  pass.output(kMlp, normed);
}

void Decoder::layer(std::int64_t index, const Span& span, KvCache& cache, Workspace& work,
                    Pass& pass) const {
  using enum Module;
  const Layer& layer = layers_[static_cast<std::size_t>(index)];
  const TensorView hidden = work.hidden.of(span.seq);
  const TensorView normed = work.normed.of(span.seq);
  pass.begin_layer(index);
  pass.input(kLayer, hidden);
  pass.rms_norm(kInputLayernorm, hidden, layer[kInputLayernorm], normed);
  attention_block(index, span, cache, work, pass);
  pass.add(normed, hidden);
  pass.rms_norm(kPostAttentionLayernorm, hidden, layer[kPostAttentionLayernorm], normed);
  mlp_block(layer, span, work, pass);
  pass.add(normed, hidden);
  pass.output(kLayer, hidden);
}

// Gathers the rows into head_rows: one op for each run of neighbouring positions.
void Decoder::final_norm(const Span& span, std::span<const std::int64_t> positions, Workspace& work,
                         const Pass& pass) const {
  std::size_t first = 0;
  while (first < positions.size()) {
    std::size_t end = first + 1;
    while (end < positions.size() && positions[end] == positions[end - 1] + 1) ++end;
    const auto count = static_cast<std::int64_t>(end - first);
    pass.rms_norm_of(positions.subspan(first, end - first), Module::kNorm,
                     rows(work.hidden.whole, positions[first] - span.first_position, count), norm_,
                     rows(work.head_rows.whole, static_cast<std::int64_t>(first), count));
    first = end;
  }
}

void Decoder::head(const Span& span, std::span<const std::int64_t> wanted, Workspace& work,
                   const Pass& pass, const LogitSink& sink) const {
  const auto at_once = static_cast<std::size_t>(work.logits.whole.shape[0]);
  const Weight& lm_head = config_.tie_word_embeddings ? embed_tokens_ : lm_head_;
  for (std::size_t done = 0; done < wanted.size(); done += at_once) {
    const auto positions = wanted.subspan(done, std::min(at_once, wanted.size() - done));
    const auto n = static_cast<std::int64_t>(positions.size());
    final_norm(span, positions, work, pass);
    pass.linear_of(positions, Module::kLmHead, work.head_rows.of(n), lm_head, work.logits.of(n));
    sink(positions, work.logits.of(n));
  }
}

void Decoder::forward(std::span<const std::int32_t> ids, std::int64_t first_position,
                      KvCache& cache, std::span<const std::int64_t> wanted, const LogitSink& sink) {
  check_call(ids, first_position, cache, wanted);
  const auto count = static_cast<std::int64_t>(ids.size());
  extend_rope(first_position + count);
  const std::int64_t block_rows = std::min(count, options_.rows_per_block);
  auto workspace = take_workspace(
      block_rows, std::clamp<std::int64_t>(std::ssize(wanted), 1, options_.logit_rows_per_block));
  Workspace& work = *workspace;
  Pass pass(config_, backend_, rope_, options_.observer, options_.fault);

  for (std::int64_t start = 0; start < count; start += block_rows) {
    const Span span{first_position + start, std::min(block_rows, count - start)};
    pass.begin_rows(span.first_position, span.seq, first_position > 0);
    pass.embedding(Module::kEmbedTokens, embed_tokens_,
                   ids.subspan(static_cast<std::size_t>(start), static_cast<std::size_t>(span.seq)),
                   work.hidden.of(span.seq));
    for (std::int64_t i = 0; i < config_.num_hidden_layers; ++i) layer(i, span, cache, work, pass);
    const auto here = std::ranges::lower_bound(wanted, span.first_position + span.seq);
    const auto in_span = static_cast<std::size_t>(here - wanted.begin());
    head(span, wanted.first(in_span), work, pass, sink);
    wanted = wanted.subspan(in_span);
  }
  cache.advance(count);
  workspace_ = std::move(workspace);
}

}  // namespace octlm::model
