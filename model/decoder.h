// The decoder: token ids in, logits out, for the architectures in model/architectures/. One piece
// of code for every backend and dtype; what an operation means is in model/ops/. Used by one thread
// at a time, with as many caches as wanted.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "model/checkpoint.h"
#include "model/config.h"
#include "model/kv_cache.h"
#include "model/ops/backend.h"
#include "model/rope_table.h"
#include "model/tensor.h"

namespace octlm::model {

// Receives logits [n, vocab_size] in the activation dtype for the n absolute positions given,
// ascending. The view is valid during the call only. May throw: the cache is then as before the
// forward call.
using LogitSink =
    std::function<void(std::span<const std::int64_t> positions, ConstTensorView logits)>;

class Decoder {
 public:
  struct Options {
    // Rows of hidden states that pass through the layers together. Longer calls are computed in
    // blocks of this many rows, so that working space does not grow with the prompt.
    std::int64_t rows_per_block = 512;
    // Rows of logits handed to the sink at a time.
    std::int64_t logit_rows_per_block = 64;
  };

  // Resolves every weight by name. REQUIRES: checkpoint and backend outlive the decoder.
  Decoder(const Checkpoint& checkpoint, Backend& backend, const Options& options);
  Decoder(const Checkpoint& checkpoint, Backend& backend)
      : Decoder(checkpoint, backend, Options()) {}

  ~Decoder();

  const Config& config() const { return config_; }
  Backend& backend() const { return backend_; }

  // Throws std::invalid_argument when ids is empty, has an id outside [0, vocab_size), or is longer
  // than max_position_embeddings: a whole prompt can be refused before its first call.
  void check_ids(std::span<const std::int32_t> ids) const;

  // Computes positions [first_position, first_position + ids.size()), attending to the cache and
  // appending to it; delivers the logits of those absolute positions that are in `wanted`
  // (ascending, inside the call's range; empty = none) to `sink`, which may itself call forward()
  // with another cache. Throws std::invalid_argument, before anything is computed, when ids is
  // empty or has an id outside [0, vocab_size), when first_position is not cache.length() (a second
  // prompt without reset: huggingface/candle#3381), or when the cache's capacity or the config's
  // position limit is exceeded.
  void forward(std::span<const std::int32_t> ids, std::int64_t first_position, KvCache& cache,
               std::span<const std::int64_t> wanted, const LogitSink& sink);

 private:
  struct Layer {
    ConstTensorView input_layernorm;  // [hidden]
    ConstTensorView q_proj, k_proj,
        v_proj;                      // [heads * head_dim, hidden], [kv_heads * head_dim, hidden]
    ConstTensorView q_norm, k_norm;  // [head_dim]; data null when the architecture has none
    ConstTensorView o_proj;          // [hidden, heads * head_dim]
    ConstTensorView post_attention_layernorm;  // [hidden]
    ConstTensorView gate_proj, up_proj;        // [intermediate, hidden]
    ConstTensorView down_proj;                 // [hidden, intermediate]
  };
  struct Workspace;
  // The rows that pass through the layers together: absolute positions [first_position, + seq).
  struct Span {
    std::int64_t first_position;
    std::int64_t seq;
  };

  // Working space for blocks of `rows` rows: the one kept from the last call when it is large
  // enough. A call owns it until it ends, so that a sink may call forward() for another cache
  // meanwhile.
  std::unique_ptr<Workspace> take_workspace(std::int64_t rows, std::int64_t logit_rows);
  void check_call(std::span<const std::int32_t> ids, std::int64_t first_position,
                  const KvCache& cache, std::span<const std::int64_t> wanted) const;
  void attention_block(const Layer& layer, std::int64_t layer_index, const Span& span,
                       KvCache& cache, Workspace& work) const;
  void mlp_block(const Layer& layer, const Span& span, Workspace& work) const;
  // Final norm and lm_head of the wanted positions, all of them inside `span`.
  void head(const Span& span, std::span<const std::int64_t> wanted, Workspace& work,
            const LogitSink& sink) const;

  Config config_;
  Backend& backend_;
  Options options_;
  ConstTensorView embed_tokens_;  // [vocab, hidden]
  std::vector<Layer> layers_;
  ConstTensorView norm_;     // [hidden]
  ConstTensorView lm_head_;  // [vocab, hidden]; the embedding when tied
  RopeTable rope_;
  std::unique_ptr<Workspace> workspace_;
};

}  // namespace octlm::model
