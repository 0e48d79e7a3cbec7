#include "experiments/engines/octlm_engine.h"

#include <stdexcept>
#include <utility>

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

// Hands the decoder's logits on as float32 rows, narrowing float64.
void hand_on(std::span<const std::int64_t> positions, const model::ConstTensorView& logits,
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

// One forward call per append, which the decoder pushes whole into the sink.
class Session final : public reference::Session {
 public:
  Session(const model::Checkpoint& checkpoint, model::Decoder& decoder, std::int64_t capacity)
      : checkpoint_(checkpoint),
        decoder_(decoder),
        cache_(decoder.config(), decoder.backend(), capacity) {}

  void begin(std::span<const std::int32_t> ids, std::span<const std::int64_t> wanted) override {
    reference::check_delivered(pending_);
    reference::check_append(ids, wanted, cache_.length(), decoder_.config().vocab_size,
                            cache_.capacity());
    ids_.assign(ids.begin(), ids.end());
    wanted_.assign(wanted.begin(), wanted.end());
    pending_ = true;
  }

  // A call that fails leaves the cache as it was (model/decoder.h). Weights may be read from the
  // mapped file: what was computed while somebody wrote to it is worth nothing.
  bool deliver(reference::LogitSink& sink) override {
    if (!std::exchange(pending_, false)) return false;
    const ForwardCall call{cache_.length(), std::ssize(ids_)};
    decoder_.forward(
        ids_, call.first_position, cache_, wanted_,
        [&](std::span<const std::int64_t> positions, const model::ConstTensorView& logits) {
          hand_on(positions, decoder_.backend().on_host(logits, copied_), narrowed_, sink);
        });
    checkpoint_.require_unchanged();
    calls_.push_back(call);
    return true;
  }

  void crop(std::int64_t length) override {
    reference::check_delivered(pending_);
    reference::check_crop(length, cache_.length());
    cache_.crop(length);
  }
  std::int64_t length() const override { return cache_.length(); }
  const std::vector<ForwardCall>& calls() const override { return calls_; }

 private:
  const model::Checkpoint& checkpoint_;
  model::Decoder& decoder_;
  model::KvCache cache_;
  std::vector<ForwardCall> calls_;
  std::vector<float> narrowed_;
  // The append under way.
  bool pending_ = false;
  std::vector<std::int32_t> ids_;
  std::vector<std::int64_t> wanted_;
  std::vector<std::byte> copied_;
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
    nlohmann::json settings = {
        {"backend", backend_->description()},
        {"dtype", std::string(model::dtype_name(backend_->activation_dtype()))},
        {"architecture", decoder_.config().architecture},
        {"rms_norm_eps", decoder_.config().rms_norm_eps},
        {"rope_theta", decoder_.config().rope_theta}};
    if (!checkpoint_.ignored().empty()) settings["ignored_tensors"] = checkpoint_.ignored();
    if (checkpoint_.has_base_names()) settings["tensor_names"] = "base model's, without 'model.'";
    return {"octlm", octlm_version(), "live", std::move(settings)};
  }

  reference::Capabilities capabilities() const override { return octlm_capabilities(); }

  std::int64_t vocab_size() const override { return decoder_.config().vocab_size; }
  std::int64_t max_positions() const override { return decoder_.config().max_position_embeddings; }

  std::unique_ptr<reference::Session> open_session(
      const reference::SessionOptions& options) override {
    return std::make_unique<Session>(checkpoint_, decoder_,
                                     reference::session_capacity(options, max_positions()));
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
  return {.dtypes = model::backend_dtypes("cpu"),
          .devices = model::backend_devices(),
          .paths = {"full", "cached:half", "cached:every", "chunked"},
          .append = true};
}

const char* octlm_version() { return OCTLM_VERSION; }

}  // namespace octlm::experiments
