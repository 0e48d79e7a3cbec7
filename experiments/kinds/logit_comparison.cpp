#include "experiments/kinds/logit_comparison.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "reference/request.h"
#include "verify/metrics/metrics.h"

namespace octlm::experiments {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::int64_t wanted_rows(const reference::LogitRequest& request) {
  return static_cast<std::int64_t>(request.positions.empty() ? request.token_ids.size()
                                                             : request.positions.size());
}

// The reference's rows that have been computed and not yet been compared.
class Ahead final : public reference::LogitSink {
 public:
  void receive(const reference::LogitBlock& block) override {
    if (vocab_ == 0) vocab_ = block.vocab;
    if (block.vocab != vocab_)
      throw std::runtime_error("the reference's logits change their width");
    positions_.insert(positions_.end(), block.positions.begin(), block.positions.end());
    logits_.insert(logits_.end(), block.logits,
                   block.logits + static_cast<std::int64_t>(block.positions.size()) * block.vocab);
  }

  std::size_t rows() const { return positions_.size() - first_; }
  std::int64_t vocab() const { return vocab_; }
  std::span<const std::int64_t> positions(std::size_t count) const {
    return std::span(positions_).subspan(first_, count);
  }
  std::span<const float> logits(std::size_t count) const {
    return std::span(logits_).subspan(first_ * static_cast<std::size_t>(vocab_),
                                      count * static_cast<std::size_t>(vocab_));
  }
  // Forgets the first `count` rows.
  void drop(std::size_t count) {
    first_ += count;
    if (first_ == positions_.size()) {
      positions_.clear();
      logits_.clear();
      first_ = 0;
    }
  }

 private:
  std::vector<std::int64_t> positions_;
  std::vector<float> logits_;  // [positions, vocab]
  std::size_t first_ = 0;
  std::int64_t vocab_ = 0;
};

// Receives the subject's blocks; for each, lets the reference catch up, and compares.
class LockStep final : public reference::LogitSink {
 public:
  explicit LockStep(reference::LogitPass& reference) : reference_(reference) {}

  void receive(const reference::LogitBlock& block) override {
    const auto start = Clock::now();
    const std::size_t count = block.positions.size();
    while (ahead_.rows() < count) {
      const auto reference_start = Clock::now();
      const bool more = reference_.advance(ahead_);
      reference_seconds_ += seconds_since(reference_start);
      if (!more) {
        throw std::runtime_error("the reference ends after " +
                                 std::to_string(compared_ + ahead_.rows()) +
                                 " positions, the subject goes on");
      }
    }
    if (block.vocab != ahead_.vocab()) {
      throw std::runtime_error("the subject's logits are " + std::to_string(block.vocab) +
                               " wide, the reference's " + std::to_string(ahead_.vocab()));
    }
    if (!std::ranges::equal(block.positions, ahead_.positions(count))) {
      throw std::runtime_error("the two sides deliver different positions near position " +
                               std::to_string(block.positions.front()));
    }
    metrics_.add_rows(block.positions,
                      {block.logits, count * static_cast<std::size_t>(block.vocab)},
                      ahead_.logits(count));
    ahead_.drop(count);
    compared_ += count;
    inside_seconds_ += seconds_since(start);
  }

  std::size_t compared() const { return compared_; }
  std::size_t left_over() const { return ahead_.rows(); }
  double reference_seconds() const { return reference_seconds_; }
  double inside_seconds() const { return inside_seconds_; }
  const verify::RowComparison& metrics() const { return metrics_; }

 private:
  reference::LogitPass& reference_;
  Ahead ahead_;
  verify::RowComparison metrics_;
  std::size_t compared_ = 0;
  double reference_seconds_ = 0;
  double inside_seconds_ = 0;  // in receive(): the reference's time and the comparing
};

nlohmann::json side_json(const reference::EngineDescription& description) {
  return {{"engine", description.engine},
          {"version", description.version},
          {"source", description.source},
          {"settings", description.settings}};
}

nlohmann::json calls_json(const std::vector<reference::ForwardCall>& calls) {
  if (calls.empty()) return "not reported";  // some program's own engine
  auto list = nlohmann::json::array();
  for (const auto& call : calls) list.push_back({call.first_position, call.positions});
  return list;
}

std::optional<verify::NotRun> unsupported(const LogitSide& side) {
  const reference::Split& path = side.request.path;
  if (!path.calls(std::ssize(side.request.token_ids))) {
    return verify::NotRun{path.text() + " has nothing to do for one position"};
  }
  const auto paths = side.engine.capabilities().paths;
  if (std::ranges::find(paths, path.kind()) == paths.end()) {
    return verify::NotRun{"unsupported: " + side.engine.description().engine + " has no path " +
                          path.text()};
  }
  return std::nullopt;
}

}  // namespace

std::optional<verify::NotRun> unsupported(const LogitSide& subject, const LogitSide& reference) {
  const auto reason = unsupported(subject);
  return reason ? reason : unsupported(reference);
}

const std::vector<verify::Scale>& logit_scales() {
  static const std::vector<verify::Scale> scales = {
      {"max_abs_error@1", 1}, {"max_ulp@1", 1e6}, {"rel_l2@1", 0.01}};
  return scales;
}

verify::Measurement compare_logits(const LogitSide& subject, const LogitSide& reference) {
  const auto reference_pass = reference.engine.start(reference.request);
  const auto subject_pass = subject.engine.start(subject.request);
  LockStep lock_step(*reference_pass);

  const auto start = Clock::now();
  while (subject_pass->advance(lock_step)) {
  }
  const double subject_seconds = seconds_since(start) - lock_step.inside_seconds();

  const auto wanted = static_cast<std::size_t>(wanted_rows(subject.request));
  if (lock_step.compared() != wanted) {
    throw std::runtime_error("the subject delivered " + std::to_string(lock_step.compared()) +
                             " of " + std::to_string(wanted) + " positions");
  }
  // Nothing may come after the last row: a reference that computed more saw another sequence.
  Ahead rest;
  while (reference_pass->advance(rest)) {
  }
  if (lock_step.left_over() + rest.rows() != 0) {
    throw std::runtime_error("the reference delivers positions that the subject does not");
  }

  verify::Measurement measurement;
  measurement.metrics = lock_step.metrics().metrics();
  measurement.errors = verify::error_by_position(lock_step.metrics().errors());
  nlohmann::json& record = measurement.record;
  record["subject"] = side_json(subject.engine.description());
  record["reference"] = side_json(reference.engine.description());
  record["positions"] = lock_step.compared();
  record["token_ids_sha256"] = reference::sha256_of_ids(subject.request.token_ids);
  record["calls"] = {{"subject", calls_json(subject_pass->calls())},
                     {"reference", calls_json(reference_pass->calls())}};
  if (const auto worst = lock_step.metrics().worst()) {
    record["worst"] = verify::place_json(*worst, "token_id");
  }
  record["rising"] = nlohmann::json::array();
  for (const auto& rise : lock_step.metrics().rising()) {
    record["rising"].push_back({rise.row, rise.max_abs_error});
  }
  record["seconds"] = {{"subject", subject_seconds}, {"reference", lock_step.reference_seconds()}};
  record["peak_bytes"] = {{"subject", subject.engine.peak_bytes()},
                          {"reference", reference.engine.peak_bytes()}};
  return measurement;
}

}  // namespace octlm::experiments
