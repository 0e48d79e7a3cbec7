// Test support: an engine of a few lines, so that every control of the harness is one field away.
// Its logits at position p depend on every id up to p and on nothing else.
#pragma once

#include <cmath>
#include <functional>
#include <vector>

#include "reference/engine.h"
#include "reference/request.h"
#include "reference/testing/fake_session.h"

namespace octlm::experiments::testing {

struct FakeEngine final : reference::Engine {
  std::int64_t vocab = 11;
  std::int64_t rows_per_block = 3;
  // Changes a row before it is delivered: the planted fault.
  std::function<void(std::int64_t position, std::vector<float>& row)> fault = [](auto, auto&) {};
  std::int64_t stop_after = 1 << 20;  // positions that a pass delivers before it ends early
  std::int64_t first_position = 0;    // added to every position it reports

  reference::EngineDescription description() const override { return {"fake", "1", "live", {}}; }
  std::vector<std::string> paths = {"full", "cached:half", "cached:every", "chunked"};

  reference::Capabilities capabilities() const override {
    return {.dtypes = {"float32"}, .devices = {"cpu"}, .paths = paths, .append = true};
  }
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

  std::unique_ptr<reference::Session> open_session(
      const reference::SessionOptions& options) override {
    return std::make_unique<reference::testing::FakeSession>(
        reference::testing::FakeSessionOptions{
            .vocab = vocab,
            .capacity = reference::session_capacity(options, max_positions()),
            .rows_per_block = rows_per_block,
            .stop_at = stop_after,
            .position_offset = first_position},
        [this](const std::vector<std::int32_t>& ids, std::int64_t position) {
          return row(ids, position);
        });
  }
};

}  // namespace octlm::experiments::testing
