#include "experiments/engines/octlm_engine.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "model/checkpoint.h"
#include "model/cpu/backend.h"
#include "model/decoder.h"

namespace octlm::experiments {
namespace {

using reference::ForwardCall;

std::unique_ptr<model::Backend> make_backend(const OctlmEngineOptions& options) {
  if (options.device != "cpu") {
    throw std::invalid_argument("device '" + options.device +
                                "' is not in this build; it has: cpu");
  }
  const model::cpu::Options cpu{options.threads, options.instruction_set};
  if (options.dtype == "float32") return model::cpu::make_backend(cpu);
  if (options.dtype == "float64") return model::cpu::make_definition(cpu);
  throw std::invalid_argument("dtype '" + options.dtype +
                              "' is not in this build; it has: float32, float64");
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
        wanted_(request.positions),
        planned_(std::move(planned)),
        cache_(decoder.config(), decoder.backend(), static_cast<std::int64_t>(ids_.size())) {
    if (wanted_.empty()) {
      wanted_.resize(ids_.size());
      std::iota(wanted_.begin(), wanted_.end(), 0);
    }
  }

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
          deliver(positions, logits, narrowed_, sink);
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
  std::vector<float> narrowed_;
};

class OctlmEngine final : public reference::Engine {
 public:
  explicit OctlmEngine(const OctlmEngineOptions& options)
      : options_(options),
        backend_(make_backend(options)),
        checkpoint_(model::Checkpoint::open(options.folder)),
        decoder_(checkpoint_, *backend_) {
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

  std::unique_ptr<reference::LogitSession> start(const reference::LogitRequest& request) override {
    decoder_.check_ids(request.token_ids);
    const auto n = static_cast<std::int64_t>(request.token_ids.size());
    auto planned = request.path.calls(n);
    if (!planned) {
      throw std::invalid_argument("path " + request.path.text() + " has nothing to do for " +
                                  std::to_string(n) + " position(s)");
    }
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
  return {{"float32", "float64"}, {"cpu"}, {"full", "cached:half", "cached:every", "chunked"}};
}

const char* octlm_version() { return OCTLM_VERSION; }

}  // namespace octlm::experiments
