// Test support: an engine of a few lines, so that every control of the harness is one field away.
// Its logits at position p depend on every id up to p and on nothing else.
#pragma once

#include <cmath>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "reference/engine.h"

namespace octlm::experiments::testing {

struct FakeEngine final : reference::Engine {
  std::int64_t vocab = 11;
  std::int64_t rows_per_block = 3;
  // Changes a row before it is delivered: the planted fault.
  std::function<void(std::int64_t position, std::vector<float>& row)> fault = [](auto, auto&) {};
  std::int64_t stop_after = 1 << 20;  // positions delivered before the session ends early
  std::int64_t first_position = 0;    // added to every position it reports

  reference::EngineDescription description() const override { return {"fake", "1", "live", {}}; }
  std::vector<std::string> paths = {"full", "cached:half", "cached:every", "chunked"};

  reference::Capabilities capabilities() const override { return {{"float32"}, {"cpu"}, paths}; }
  std::int64_t vocab_size() const override { return vocab; }
  std::int64_t max_positions() const override { return 1000; }

  std::vector<float> row(const std::vector<std::int32_t>& ids, std::int64_t position) const {
    double state = 0;
    for (std::int64_t i = 0; i <= position; ++i) {
      state = 0.7 * state + std::sin(1.0 + ids[static_cast<std::size_t>(i)]);
    }
    std::vector<float> values(static_cast<std::size_t>(vocab));
    for (std::size_t c = 0; c < values.size(); ++c) {
      values[c] = static_cast<float>(10 * std::sin(state * static_cast<double>(c + 1)));
    }
    fault(position, values);
    return values;
  }

  struct Session final : reference::LogitSession {
    const FakeEngine& engine;
    reference::LogitRequest request;
    std::vector<reference::ForwardCall> planned, made;
    std::int64_t next = 0;

    Session(const FakeEngine& owner, reference::LogitRequest wanted)
        : engine(owner),
          request(std::move(wanted)),
          planned(*request.path.calls(std::ssize(request.token_ids))) {}

    bool advance(reference::LogitSink& sink) override {
      const auto end = std::min<std::int64_t>(std::ssize(request.token_ids), engine.stop_after);
      if (next >= end) return false;
      std::vector<std::int64_t> positions;
      std::vector<float> logits;
      for (; next < end && std::ssize(positions) < engine.rows_per_block; ++next) {
        positions.push_back(next + engine.first_position);
        const auto values = engine.row(request.token_ids, next);
        logits.insert(logits.end(), values.begin(), values.end());
      }
      made = planned;
      sink.receive({positions, engine.vocab, logits.data()});
      return true;
    }
    const std::vector<reference::ForwardCall>& calls() const override { return made; }
  };

  std::unique_ptr<reference::LogitSession> start(const reference::LogitRequest& request) override {
    return std::make_unique<Session>(*this, request);
  }
};

}  // namespace octlm::experiments::testing
