// For tests: sinks that keep what they receive.
#pragma once

#include <vector>

#include "reference/engine.h"

namespace octlm::reference::testing {

struct KeepingSink final : LogitSink {
  std::vector<std::int64_t> positions;
  std::vector<float> logits;  // row-major [positions.size(), vocab]
  std::vector<const float*> addresses;

  void receive(const LogitBlock& block) override {
    positions.insert(positions.end(), block.positions.begin(), block.positions.end());
    const std::size_t count = block.positions.size() * static_cast<std::size_t>(block.vocab);
    logits.insert(logits.end(), block.logits, block.logits + count);
    addresses.push_back(block.logits);
  }
};

// Runs a request to its end.
inline KeepingSink keep(Engine& engine, const LogitRequest& request,
                        std::vector<ForwardCall>* calls = nullptr) {
  KeepingSink sink;
  const auto pass = engine.start(request);
  while (pass->advance(sink)) {
  }
  if (calls != nullptr) *calls = pass->calls();
  return sink;
}

}  // namespace octlm::reference::testing
