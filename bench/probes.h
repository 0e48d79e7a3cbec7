// What this machine can do at this moment, measured in the same run as the benchmarks it stands
// beside: bytes per second read from memory, and float32 multiply-adds. A benchmark's rate means
// little alone, on a machine shared with others least of all; its share of a probe taken next to it
// travels.
#pragma once

#include <benchmark/benchmark.h>

namespace octlm::bench {

// Reads 256 MiB, which no cache below the last one holds, with that many threads; best of a few.
double read_bytes_per_s(int threads);

// Independent multiply-adds on registers, in the widest vectors this CPU has; best of a few. Two
// operations each.
double fma_flop_per_s(int threads);

// The work of one iteration.
struct Work {
  double bytes = 0;  // weights and activations that must cross from memory, once each
  double flop = 0;
};

// Adds counters bytes/s, FLOP/s and, beside them, what the probes give now (in GB and GFLOP per
// second) and the shares of_read_probe and of_fma_probe. Call it after the loop, outside the
// timing. The probes run once per benchmark, for `threads` threads.
void report(benchmark::State& state, const Work& work, int threads);

}  // namespace octlm::bench
