// The decoder: token ids in, logits out, for the architectures in model/architectures/. One piece
// of code for every backend and dtype; what an operation means is in model/ops/. Used by one thread
// at a time, with as many caches as wanted.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "model/checkpoint.h"
#include "model/config.h"
#include "model/fault.h"
#include "model/kv_cache.h"
#include "model/modules.h"
#include "model/observer.h"
#include "model/ops/backend.h"
#include "model/pass.h"
#include "model/tensor.h"

namespace octlm::model {

// Gives the weight of a checkpoint's name, in host memory that outlives the decoder. Throws for a
// name it does not have.
using WeightsFunction = std::function<ConstTensorView(const std::string& name)>;

// Receives logits [n, vocab_size] in the activation dtype and the backend's memory
// (Backend::on_host) for the n absolute positions given, ascending. The view is valid during the
// call only. May throw: the cache is then as before the
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
    // Null as a rule; else they outlive the decoder.
    Observer* observer = nullptr;
    const Fault* fault = nullptr;
  };

  // Takes every weight of the architecture by its name, once. Throws std::invalid_argument when one
  // does not have the shape that the config asks for. REQUIRES: backend outlives the decoder.
  Decoder(const Config& config, const WeightsFunction& weights, Backend& backend,
          const Options& options);
  // The weights of a checkpoint, which outlives the decoder.
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
  // The weights of a layer, each at its module; empty where the architecture has none.
  struct Layer {
    std::array<Weight, kLayerWeights> weights;

    const Weight& operator[](Module module) const {
      return weights[static_cast<std::size_t>(module)];
    }
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
  // Makes the table long enough for these positions.
  void extend_rope(std::int64_t positions);
  void layer(std::int64_t index, const Span& span, KvCache& cache, Workspace& work,
             Pass& pass) const;
  // Both leave their result in work.normed.
  void attention_block(std::int64_t index, const Span& span, KvCache& cache, Workspace& work,
                       const Pass& pass) const;
  void mlp_block(const Layer& layer, const Span& span, Workspace& work, const Pass& pass) const;
  // Final norm and lm_head of the wanted positions, all of them inside `span`.
  void head(const Span& span, std::span<const std::int64_t> wanted, Workspace& work,
            const Pass& pass, const LogitSink& sink) const;
  void final_norm(const Span& span, std::span<const std::int64_t> positions, Workspace& work,
                  const Pass& pass) const;

  Config config_;
  Backend& backend_;
  Options options_;
  // [vocab, hidden]
  Weight embed_tokens_;
  std::vector<Layer> layers_;
  // [hidden]
  Weight norm_;
  // [vocab, hidden]; empty when tied: the embedding then serves.
  Weight lm_head_;
  ResidentRopeTable rope_;
  std::unique_ptr<Workspace> workspace_;
};

}  // namespace octlm::model
