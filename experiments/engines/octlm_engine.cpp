#include "experiments/engines/octlm_engine.h"

#include <algorithm>
#include <stdexcept>

#include "model/backends.h"
#include "model/checkpoint.h"
#include "model/decoder.h"
#include "reference/request.h"

namespace octlm::experiments {
namespace {

using reference::ForwardCall;

std::unique_ptr<model::Backend> open_backend(const OctlmEngineOptions& options) {
  const model::BackendEntry& entry = model::find_backend(options.device, options.dtype);
  return model::make_backend({.device = options.device,
                              .dtype = entry.dtype,
                              .threads = options.threads,
                              .instruction_set = options.instruction_set});
}

// Hands the decoder's logits on as float32 rows, narrowing the definition's float64.
void deliver(std::span<const std::int64_t> positions, const model::ConstTensorView& logits,
             std::vector<float>& narrowed, reference::LogitSink& sink) {
  const float* rows = nullptr;
  if (logits.dtype == model::DType::kFloat64) {
    const auto* wide = logits.as<double>();
    narrowed.assign(wide, wide + logits.shape.elements());
    rows = narrowed.data();
  } else {
    rows = logits.as<float>();
  }
  sink.receive({positions, logits.shape[1], rows});
}

// One forward call per advance(), through one cache of the sequence's size.
class Session final : public reference::LogitSession {
 public:
  Session(model::Decoder& decoder, const reference::LogitRequest& request,
          std::vector<ForwardCall> planned)
      : decoder_(decoder),
        ids_(request.token_ids),
        wanted_(reference::wanted_positions(request)),
        planned_(std::move(planned)),
        cache_(decoder.config(), decoder.backend(), static_cast<std::int64_t>(ids_.size())) {}

  bool advance(reference::LogitSink& sink) override {
    if (calls_.size() == planned_.size()) return false;
    const ForwardCall call = planned_[calls_.size()];
    const std::int64_t end = call.first_position + call.positions;
    const auto first = std::ranges::lower_bound(wanted_, call.first_position);
    const auto last = std::ranges::lower_bound(wanted_, end);
    decoder_.forward(
        std::span(ids_).subspan(static_cast<std::size_t>(call.first_position),
                                static_cast<std::size_t>(call.positions)),
        call.first_position, cache_, {first, last},
        [&](std::span<const std::int64_t> positions, const model::ConstTensorView& logits) {
          deliver(positions, decoder_.backend().on_host(logits, copied_), narrowed_, sink);
        });
    calls_.push_back(call);
    return true;
  }

  const std::vector<ForwardCall>& calls() const override { return calls_; }

 private:
  model::Decoder& decoder_;
  std::vector<std::int32_t> ids_;
  std::vector<std::int64_t> wanted_;
  std::vector<ForwardCall> planned_;
  std::vector<ForwardCall> calls_;
  model::KvCache cache_;
  std::vector<std::byte> copied_;
  std::vector<float> narrowed_;
};

class OctlmEngine final : public reference::Engine {
 public:
  explicit OctlmEngine(const OctlmEngineOptions& options)
      : options_(options),
        backend_(open_backend(options)),
        checkpoint_(model::Checkpoint::open(options.folder)),
        decoder_(checkpoint_, *backend_, {.observer = options.observer, .fault = options.fault}) {
    for (const model::StoredTensor& stored : checkpoint_.stored()) {
      weight_bytes_ += static_cast<std::int64_t>(stored.view.bytes());
    }
  }

  reference::EngineDescription description() const override {
    return {"octlm",
            octlm_version(),
            "live",
            {{"backend", backend_->description()},
             {"dtype", std::string(model::dtype_name(backend_->activation_dtype()))},
             {"architecture", decoder_.config().architecture},
             {"rms_norm_eps", decoder_.config().rms_norm_eps},
             {"rope_theta", decoder_.config().rope_theta}}};
  }

  reference::Capabilities capabilities() const override { return octlm_capabilities(); }

  std::int64_t vocab_size() const override { return decoder_.config().vocab_size; }
  std::int64_t max_positions() const override { return decoder_.config().max_position_embeddings; }

  std::unique_ptr<reference::LogitSession> start(const reference::LogitRequest& request) override {
    reference::check_request(request, vocab_size(), max_positions());
    auto planned = request.path.calls(static_cast<std::int64_t>(request.token_ids.size()));
    return std::make_unique<Session>(decoder_, request, std::move(*planned));
  }

  std::int64_t peak_bytes() const override {
    return weight_bytes_ + static_cast<std::int64_t>(backend_->peak_bytes());
  }

 private:
  OctlmEngineOptions options_;
  std::unique_ptr<model::Backend> backend_;  // outlives what is made with it
  model::Checkpoint checkpoint_;
  model::Decoder decoder_;
  std::int64_t weight_bytes_ = 0;
};

}  // namespace

std::unique_ptr<reference::Engine> make_octlm_engine(const OctlmEngineOptions& options) {
  return std::make_unique<OctlmEngine>(options);
}

reference::Capabilities octlm_capabilities() {
  return {model::backend_dtypes("cpu"),
          model::backend_devices(),
          {"full", "cached:half", "cached:every", "chunked"}};
}

const char* octlm_version() { return OCTLM_VERSION; }

}  // namespace octlm::experiments
