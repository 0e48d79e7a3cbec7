// The probes themselves, with one thread and with all: first, to see what the machine is like
// today.
#include <cstdio>

#include "bench/operands.h"
#include "bench/probes.h"

int main() {
  for (const int threads : {1, octlm::bench::default_threads()}) {
    std::printf("%2d threads: read %6.1f GB/s, multiply-add %7.1f GFLOP/s\n", threads,
                octlm::bench::read_bytes_per_s(threads) * 1e-9,
                octlm::bench::fma_flop_per_s(threads) * 1e-9);
  }
}
