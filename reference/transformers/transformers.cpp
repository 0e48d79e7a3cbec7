#include "reference/transformers/transformers.h"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>

#include "reference/transformers/embedded_source.h"
#include "reference/transformers/held.h"
#include "reference/transformers/python.h"
#include "reference/transformers/python_call.h"
#include "reference/request.h"

namespace octlm::reference {
namespace {

namespace py = pybind11;

// Eager attention keeps [heads, n, n] scores: beyond this many positions the cache bounds them.
constexpr std::int64_t kLongestFullCall = 2048;

void check_one_of(const char* name, const std::string& value,
                  std::initializer_list<const char*> known) {
  if (std::find(known.begin(), known.end(), value) != known.end()) return;
  std::string list;
  for (const char* one : known) list += (list.empty() ? "" : ", ") + std::string(one);
  throw std::invalid_argument("[transformers] " + std::string(name) + " \"" + value +
                              "\" is not one of " + list);
}

// Rows of logits that the session lends to a sink: addresses in torch's memory.
struct Rows {
  const float* logits = nullptr;
  std::int64_t count = 0;
};

class TransformersSession final : public LogitSession {
 public:
  TransformersSession(Held pass, std::vector<ForwardCall> plan, std::vector<std::int64_t> wanted,
                      std::int64_t vocab)
      : pass_(std::move(pass)), plan_(std::move(plan)), wanted_(std::move(wanted)), vocab_(vocab) {}

  bool advance(LogitSink& sink) override {
    const std::optional<Rows> rows =
        with_python("computing logits with Transformers", [&] { return next_rows(); });
    if (!rows) return false;
    const auto positions =
        std::span(wanted_).subspan(delivered_, static_cast<std::size_t>(rows->count));
    delivered_ += positions.size();
    sink.receive({positions, vocab_, rows->logits});
    return true;
  }

  const std::vector<ForwardCall>& calls() const override { return made_; }

 private:
  std::optional<Rows> next_rows() {
    block_.reset(py::none());
    block_.reset((*pass_).attr("advance")());
    const auto calls_made = (*pass_).attr("calls_made").cast<std::size_t>();
    made_.assign(plan_.begin(), plan_.begin() + static_cast<std::ptrdiff_t>(calls_made));
    if ((*block_).is_none()) return std::nullopt;
    using Logits = py::array_t<float, py::array::c_style>;
    if (!py::isinstance<Logits>(*block_)) {
      throw std::runtime_error("[transformers] the logits are not a contiguous float32 array");
    }
    const auto logits = py::reinterpret_borrow<Logits>(*block_);
    const auto left = static_cast<std::int64_t>(wanted_.size() - delivered_);
    if (logits.ndim() != 2 || logits.shape(1) != vocab_ || logits.shape(0) < 1 ||
        logits.shape(0) > left) {
      throw std::runtime_error("[transformers] the logits have the wrong shape");
    }
    return Rows{logits.data(), logits.shape(0)};
  }

  Held pass_;
  Held block_;  // the array whose memory the sink reads
  std::vector<ForwardCall> plan_;
  std::vector<ForwardCall> made_;
  std::vector<std::int64_t> wanted_;
  std::size_t delivered_ = 0;
  std::int64_t vocab_;
};

class TransformersEngine final : public Engine {
 public:
  explicit TransformersEngine(const TransformersOptions& options)
      : engine_(with_python("loading " + options.folder.string() + " with Transformers",
                            [&] { return Held(load(options)); })) {
    with_python("reading the engine's limits", [&] {
      vocab_ = (*engine_).attr("vocab_size").cast<std::int64_t>();
      max_positions_ = (*engine_).attr("max_positions").cast<std::int64_t>();
    });
  }

  EngineDescription description() const override {
    return with_python("reading the engine's settings", [&] {
      EngineDescription description{"transformers", "", "live",
                                    to_json((*engine_).attr("settings")())};
      description.version = description.settings.at("transformers").get<std::string>();
      return description;
    });
  }

  Capabilities capabilities() const override {
    return {{"float32", "float16", "bfloat16"},
            {"cpu", "cuda"},
            {"full", "cached:half", "cached:every", "chunked"}};
  }

  std::int64_t vocab_size() const override { return vocab_; }
  std::int64_t max_positions() const override { return max_positions_; }

  std::unique_ptr<LogitSession> start(const LogitRequest& request) override {
    check_request(request, vocab_, max_positions_);
    const auto n = static_cast<std::int64_t>(request.token_ids.size());
    const bool full = request.path.text() == "full";
    const bool in_chunks = full && n > kLongestFullCall;
    const Path path =
        in_chunks ? Path::parse("chunked:" + std::to_string(kLongestFullCall)) : request.path;
    std::vector<ForwardCall> plan = *path.calls(n);
    std::vector<std::int64_t> wanted = wanted_positions(request);
    Held pass = with_python("starting a pass with Transformers", [&] {
      std::vector<std::pair<std::int64_t, std::int64_t>> calls;
      for (const ForwardCall& call : plan) calls.emplace_back(call.first_position, call.positions);
      py::array_t<std::int64_t> ids(n);
      std::copy(request.token_ids.begin(), request.token_ids.end(), ids.mutable_data());
      return Held((*engine_).attr("start")(ids, calls, wanted, !full || in_chunks));
    });
    return std::make_unique<TransformersSession>(std::move(pass), std::move(plan),
                                                 std::move(wanted), vocab_);
  }

  std::int64_t peak_bytes() const override {
    return with_python("reading the engine's memory",
                       [&] { return (*engine_).attr("peak_bytes")().cast<std::int64_t>(); });
  }

 private:
  static py::object load(const TransformersOptions& options) {
    const auto module = embedded_module("octlm_transformers_reference", transformers_reference_py);
    return module.attr("Engine")(options.folder.string(), options.dtype, options.device,
                                 options.attention, options.threads, options.tf32);
  }

  Held engine_;
  std::int64_t vocab_ = 0;
  std::int64_t max_positions_ = 0;
};

}  // namespace

std::unique_ptr<Engine> make_transformers(const TransformersOptions& options) {
  check_one_of("dtype", options.dtype, {"float32", "float16", "bfloat16"});
  check_one_of("device", options.device, {"cpu", "cuda"});
  check_one_of("attention", options.attention, {"eager", "sdpa"});
  if (options.threads < 0) throw std::invalid_argument("[transformers] threads is negative");
  start_python(options.python);
  return std::make_unique<TransformersEngine>(options);
}

nlohmann::json python_environment(const std::filesystem::path& python) {
  start_python(python);
  return with_python("reading the Python environment", [] {
    return to_json(embedded_module("octlm_environment", environment_py).attr("environment")());
  });
}

}  // namespace octlm::reference
