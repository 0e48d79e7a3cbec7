#include "reference/transformers/transformers.h"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>

#include "reference/request.h"
#include "reference/transformers/embedded_source.h"
#include "reference/transformers/held.h"
#include "reference/transformers/python.h"
#include "reference/transformers/python_call.h"

namespace octlm::reference {
namespace {

namespace py = pybind11;

// Eager attention keeps [heads, n, n] scores: calls of no more than this many positions, through
// the cache, bound them.
constexpr std::int64_t kLongestCall = 2048;

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

// Python's Session (transformers_reference.py) computes and holds the cache; this checks, counts,
// and lends the rows out.
class TransformersSession final : public Session {
 public:
  TransformersSession(Held session, const SessionOptions& options, std::int64_t vocab)
      : session_(std::move(session)), options_(options), vocab_(vocab) {}

  void begin(std::span<const std::int32_t> ids, std::span<const std::int64_t> wanted) override {
    check_delivered(pending_);
    check_append(ids, wanted, length_, vocab_, options_.capacity);
    if (length_ > 0 && !options_.goes_on) {
      throw std::invalid_argument("[transformers] the session was opened for one append");
    }
    plan_ = calls_for(std::ssize(ids));
    wanted_.assign(wanted.begin(), wanted.end());
    delivered_ = 0;
    with_python("beginning an append with Transformers", [&] {
      std::vector<std::pair<std::int64_t, std::int64_t>> calls;
      for (const ForwardCall& call : plan_) calls.emplace_back(call.first_position, call.positions);
      py::array_t<std::int64_t> array(std::ssize(ids));
      std::copy(ids.begin(), ids.end(), array.mutable_data());
      (*session_).attr("begin")(array, calls, wanted_);
    });
    pending_ = true;
    made_before_ = made_.size();
  }

  bool deliver(LogitSink& sink) override {
    if (!pending_) return false;
    try {
      const std::optional<Rows> rows =
          with_python("computing logits with Transformers", [&] { return next_rows(); });
      if (!rows) {
        pending_ = false;
        length_ = plan_.back().first_position + plan_.back().positions;
        return false;
      }
      const auto positions =
          std::span(wanted_).subspan(delivered_, static_cast<std::size_t>(rows->count));
      delivered_ += positions.size();
      sink.receive({positions, vocab_, rows->logits});
      return true;
    } catch (...) {
      take_back();
      throw;
    }
  }

  void crop(std::int64_t length) override {
    check_delivered(pending_);
    check_crop(length, length_);
    if (length > 0 && !options_.goes_on) {
      throw std::invalid_argument("[transformers] the session was opened for one append");
    }
    with_python("cropping Transformers' cache", [&] { (*session_).attr("crop")(length); });
    length_ = length;
  }

  std::int64_t length() const override { return length_; }
  const std::vector<ForwardCall>& calls() const override { return made_; }

 private:
  std::vector<ForwardCall> calls_for(std::int64_t n) const {
    const std::int64_t most = options_.may_split ? kLongestCall : n;
    std::vector<ForwardCall> calls;
    for (std::int64_t done = 0; done < n; done += most) {
      calls.push_back({length_ + done, std::min(most, n - done)});
    }
    return calls;
  }

  std::optional<Rows> next_rows() {
    block_.reset(py::none());
    block_.reset((*session_).attr("advance")());
    const auto calls_made = (*session_).attr("calls_made").cast<std::size_t>();
    made_.resize(made_before_);
    made_.insert(made_.end(), plan_.begin(),
                 plan_.begin() + static_cast<std::ptrdiff_t>(calls_made));
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

  void take_back() {
    pending_ = false;
    made_.resize(made_before_);
    with_python("taking back an append to Transformers' cache",
                [&] { (*session_).attr("crop")(length_); });
  }

  Held session_;
  Held block_;  // the array whose memory the sink reads
  SessionOptions options_;
  std::int64_t vocab_;
  std::int64_t length_ = 0;
  std::vector<ForwardCall> made_;
  // Of the append under way: its forward calls, the calls made before it, its wanted positions.
  bool pending_ = false;
  std::vector<ForwardCall> plan_;
  std::size_t made_before_ = 0;
  std::vector<std::int64_t> wanted_;
  std::size_t delivered_ = 0;
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
    files_ = reference_files(false);
  }

  EngineDescription description() const override {
    return with_python("reading the engine's settings", [&] {
      EngineDescription description{"transformers", "", "live",
                                    to_json((*engine_).attr("settings")())};
      description.version = description.settings.at("transformers").get<std::string>();
      description.settings["modules"] = files_.record;
      description.uncounted_because = files_.reasons;
      return description;
    });
  }

  Capabilities capabilities() const override { return transformers_capabilities(); }

  std::int64_t vocab_size() const override { return vocab_; }
  std::int64_t max_positions() const override { return max_positions_; }

  std::unique_ptr<Session> open_session(const SessionOptions& options) override {
    SessionOptions with_capacity = options;
    with_capacity.capacity = session_capacity(options, max_positions_);
    Held session = with_python("opening a session with Transformers",
                               [&] { return Held((*engine_).attr("session")(options.goes_on)); });
    return std::make_unique<TransformersSession>(std::move(session), with_capacity, vocab_);
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
  ReferenceFiles files_;
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

Capabilities transformers_capabilities() {
  return {.dtypes = {"float32", "float16", "bfloat16"},
          .devices = {"cpu", "cuda"},
          .paths = {"full", "cached:half", "cached:every", "chunked"},
          .append = true};
}

ReferenceFiles reference_files(bool load) {
  auto found = with_python("holding the reference's files against their wheels", [&] {
    return to_json(
        embedded_module("octlm_reference_files", reference_files_py).attr("check")(load));
  });
  ReferenceFiles files{found.at("reasons").get<std::vector<std::string>>(), {}};
  found.erase("reasons");
  files.record = std::move(found);
  return files;
}

nlohmann::json python_environment(const std::filesystem::path& python) {
  start_python(python);
  return with_python("reading the Python environment", [] {
    return to_json(embedded_module("octlm_environment", environment_py).attr("environment")());
  });
}

}  // namespace octlm::reference
