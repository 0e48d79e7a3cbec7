// Two passes over one sequence, compared row by row as they appear.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "reference/engine.h"
#include "verify/kind.h"

namespace octlm::experiments {

struct LogitSide {
  reference::Engine& engine;
  reference::LogitRequest request;
};

// Why a side cannot take its request, from what it says of itself: its path has nothing to do for
// one position, or is not among its capabilities. nullopt when both can.
std::optional<verify::NotRun> unsupported(const LogitSide& subject, const LogitSide& reference);

// One of these bounds each comparison of logits. Two engines of which one is wrong differ at some
// position by the size of the logits: their span is 29 to 42 on trained models and 5.7 on one of
// random weights, and half of it is what a constant row errs. In float32 ulps, a factor of two is
// 8.4 million. The relative L2 runs over all rows, so that one wrong row of n adds 1/sqrt(n).
const std::vector<verify::Scale>& logit_scales();

// Runs both sides in lock-step and measures every metric of verify/metrics/metrics.h over all
// positions. The record holds the fields that docs/results.md lists for a `comparison` of logits:
// subject, reference, positions, calls, worst, seconds, peak_bytes.
//
// Whenever the subject delivers a block, the reference is advanced until it has covered it; a
// side's seconds are the time spent in its own advance(), without the other's and without the
// comparing. Working memory: the reference's rows that run ahead of the subject's.
//
// Throws std::runtime_error when the sides deliver different positions, different widths, or one of
// them ends early: that is an error, never a shorter comparison.
verify::Measurement compare_logits(const LogitSide& subject, const LogitSide& reference);

}  // namespace octlm::experiments
