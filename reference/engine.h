// One side of a comparison. Our decoder, Transformers, saved logits and a user's own program are
// all the same kind of thing: an experiment sees two engines, subject and reference, and never asks
// which is ours. A control of the harness is a ten-line fake engine.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "reference/path.h"

namespace octlm::reference {

// What an engine says of itself, for the record.
struct EngineDescription {
  std::string engine;   // "transformers", "octlm"
  std::string version;  // "4.57.6"
  std::string source;   // "live": computed now; "recorded": read from a file
  // Effective settings, read back from the live objects (attention, dtype, tf32, threads, ...).
  nlohmann::json settings = nlohmann::json::object();
};

struct Capabilities {
  std::vector<std::string> dtypes;   // torch's names: "float32"
  std::vector<std::string> devices;  // "cpu", "cuda"
  // Kinds of path: "full", "cached:half", "cached:every", "chunked".
  std::vector<std::string> paths;
};

// Consecutive rows of logits, float32, row-major [positions.size(), vocab].
struct LogitBlock {
  std::span<const std::int64_t> positions;  // absolute, ascending
  std::int64_t vocab = 0;
  const float* logits = nullptr;
};

class LogitSink {
 public:
  virtual ~LogitSink() = default;
  // The block is valid during the call only.
  virtual void receive(const LogitBlock& block) = 0;
};

struct LogitRequest {
  std::vector<std::int32_t> token_ids;
  Path path = Path::full();
  std::vector<std::int64_t> positions;  // wanted, ascending; empty = every position
};

// One pass over one sequence, pulled block by block so that two engines can be compared in
// lock-step and neither side's logits are ever held whole.
class LogitSession {
 public:
  virtual ~LogitSession() = default;
  // Computes on and delivers the next block or blocks, in ascending position order. False when
  // every wanted position has been delivered before this call.
  virtual bool advance(LogitSink& sink) = 0;
  // The forward calls made so far and the positions computed in each.
  virtual const std::vector<ForwardCall>& calls() const = 0;
};

// A loaded checkpoint on one device in one dtype.
class Engine {
 public:
  virtual ~Engine() = default;
  virtual EngineDescription description() const = 0;
  virtual Capabilities capabilities() const = 0;
  virtual std::int64_t vocab_size() const = 0;
  virtual std::int64_t max_positions() const = 0;

  // Starts a pass; a session does not disturb another (each has its own cache). Throws
  // std::invalid_argument for a request this engine cannot take (empty ids, id out of range, too
  // long, a path for n = 1 that has nothing to do).
  virtual std::unique_ptr<LogitSession> start(const LogitRequest& request) = 0;

  // Bytes of memory this engine holds at its peak so far, as well as it can tell; 0 = unknown.
  virtual std::int64_t peak_bytes() const { return 0; }
};

}  // namespace octlm::reference
