// For tests: a session whose rows are a function of the ids up to their position.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "reference/engine.h"
#include "reference/request.h"

namespace octlm::reference::testing {

struct FakeSessionOptions {
  std::int64_t vocab = 0;
  std::int64_t capacity = 0;
  std::int64_t rows_per_block = 1;
  // Controls: rows from this position on are never delivered; added to each position delivered.
  std::int64_t stop_at = std::int64_t{1} << 40;
  std::int64_t position_offset = 0;
};

class FakeSession final : public Session {
 public:
  using Row = std::function<std::vector<float>(const std::vector<std::int32_t>& ids,
                                               std::int64_t position)>;
  FakeSession(FakeSessionOptions options, Row row) : options_(options), row_(std::move(row)) {}

  void begin(std::span<const std::int32_t> ids, std::span<const std::int64_t> wanted) override {
    check_delivered(pending_);
    check_append(ids, wanted, length(), options_.vocab, options_.capacity);
    begun_ = {length(), std::ssize(ids)};
    ids_.insert(ids_.end(), ids.begin(), ids.end());
    wanted_.assign(wanted.begin(), wanted.end());
    std::erase_if(wanted_, [&](std::int64_t position) { return position >= options_.stop_at; });
    delivered_ = 0;
    pending_ = true;
  }

  bool deliver(LogitSink& sink) override {
    if (!pending_) return false;
    if (delivered_ == 0) calls_.push_back(begun_);
    if (delivered_ == wanted_.size()) {
      pending_ = false;
      return false;
    }
    std::vector<std::int64_t> positions;
    std::vector<float> logits;
    for (; delivered_ < wanted_.size() && std::ssize(positions) < options_.rows_per_block;
         ++delivered_) {
      positions.push_back(wanted_[delivered_] + options_.position_offset);
      const auto values = row_(ids_, wanted_[delivered_]);
      logits.insert(logits.end(), values.begin(), values.end());
    }
    sink.receive({positions, options_.vocab, logits.data()});
    return true;
  }

  void crop(std::int64_t length) override {
    check_delivered(pending_);
    check_crop(length, std::ssize(ids_));
    ids_.resize(static_cast<std::size_t>(length));
  }
  std::int64_t length() const override {
    return pending_ ? begun_.first_position : std::ssize(ids_);
  }
  const std::vector<ForwardCall>& calls() const override { return calls_; }

 private:
  FakeSessionOptions options_;
  Row row_;
  std::vector<std::int32_t> ids_;
  std::vector<ForwardCall> calls_;
  bool pending_ = false;
  ForwardCall begun_;
  std::vector<std::int64_t> wanted_;
  std::size_t delivered_ = 0;
};

}  // namespace octlm::reference::testing
