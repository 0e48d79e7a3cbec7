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

#include "reference/split.h"

namespace octlm::reference {

// What an engine says of itself, for the record.
struct EngineDescription {
  std::string engine;   // "transformers", "octlm"
  std::string version;  // "4.57.6"
  std::string source;   // "live": computed now; "recorded": read from a file
  // Effective settings, read back from the live objects (attention, dtype, tf32, threads, ...).
  nlohmann::json settings = nlohmann::json::object();
  // Of what it is made of, beyond its version: a recording's manifest, a program's files; "" when
  // the version says all.
  std::string sha256 = {};
  std::int64_t files = 0;  // that are in it
  // Why a comparison with it does not count, in words; empty: nothing speaks against it.
  std::vector<std::string> uncounted_because = {};
};

struct Capabilities {
  std::vector<std::string> dtypes;   // torch's names: "float32"
  std::vector<std::string> devices;  // "cpu", "cuda"
  // Kinds of path (Split::kind): "full", "cached:half", "cached:every", "chunked".
  std::vector<std::string> paths;
  // Whether a session goes on after its first append, as generation needs.
  bool append = false;
  bool generate = false;     // tokens of its own choosing, with a sampler of its own
  bool activations = false;  // intermediates under Transformers' module paths
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
  Split path = Split::full();
  std::vector<std::int64_t> positions;  // wanted, ascending; empty = every position
};

// One pass over one sequence, pulled block by block so that two engines can be compared in
// lock-step and neither side's logits are ever held whole.
class LogitPass {
 public:
  virtual ~LogitPass() = default;
  // Computes on and delivers the next block or blocks, in ascending position order. False when
  // every wanted position has been delivered before this call.
  virtual bool advance(LogitSink& sink) = 0;
  // The forward calls made so far and the positions computed in each.
  virtual const std::vector<ForwardCall>& calls() const = 0;
};

struct SessionOptions {
  std::int64_t capacity = 0;  // positions it may come to hold; 0 = max_positions()
  // False: one append is all there will be, and nothing needs to be kept for another.
  bool goes_on = true;
  // True: an append too long for one forward call may be made of several, which calls() shows.
  bool may_split = true;
};

// A sequence and what its engine remembers of it. An append is one forward call over new ids, in
// two steps, so that its rows can be pulled: begin() says what is to be computed, deliver() hands
// out the rows, a block or several at a time. Which of the two computes is the engine's choice.
class Session {
 public:
  virtual ~Session() = default;

  // Ids for the positions [length(), length() + ids.size()), and those of these positions whose
  // logits are wanted (absolute, ascending). Only these pass through the head: a loop that wants
  // the last row alone pays for one. Throws std::invalid_argument, and nothing has changed, when
  // there are no ids, one is outside the vocabulary, capacity would be passed, `wanted` is out of
  // order or of range, or the append before has not been delivered.
  virtual void begin(std::span<const std::int32_t> ids, std::span<const std::int64_t> wanted) = 0;
  // Delivers on. False when there was nothing left to compute or deliver; only then is the append
  // whole and length() has grown. When it or the sink throws, the append is taken back: the
  // session is as it was before begin().
  virtual bool deliver(LogitSink& sink) = 0;

  // Forgets the positions from `length` on. Throws std::invalid_argument outside [0, length()],
  // and while an append has not been delivered.
  virtual void crop(std::int64_t length) = 0;
  virtual std::int64_t length() const = 0;
  // Every forward call made, in order; a crop leaves them. Empty when the engine cannot tell.
  virtual const std::vector<ForwardCall>& calls() const = 0;

  // begin(), and deliver() to the end.
  void append(std::span<const std::int32_t> ids, std::span<const std::int64_t> wanted,
              LogitSink& sink);
};

// A loaded checkpoint on one device in one dtype.
class Engine {
 public:
  virtual ~Engine() = default;
  virtual EngineDescription description() const = 0;
  virtual Capabilities capabilities() const = 0;
  virtual std::int64_t vocab_size() const = 0;     // 0 = not known
  virtual std::int64_t max_positions() const = 0;  // 0 = not known

  // An empty sequence; a session does not disturb another (each has its own cache). Throws
  // std::invalid_argument when capacity is more than max_positions().
  virtual std::unique_ptr<Session> open_session(const SessionOptions& options) = 0;

  // Starts a pass: the calls of its path, as appends to a session of its own. Throws
  // std::invalid_argument for what check_request (request.h) refuses and for a path that is not
  // among capabilities(). An engine that is given paths, not appends, has its own.
  virtual std::unique_ptr<LogitPass> start(const LogitRequest& request);

  // Bytes of memory this engine holds at its peak so far, as well as it can tell; 0 = unknown.
  virtual std::int64_t peak_bytes() const { return 0; }
};

}  // namespace octlm::reference
