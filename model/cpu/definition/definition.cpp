#include "model/cpu/definition/definition.h"

#include <memory>

#include "model/cpu/backend.h"

namespace octlm::model::cpu {

Definition::Definition(int threads)
    : HostBackend(threads), scratch_(static_cast<std::size_t>(pool().threads())) {}

void Definition::reserve_doubles(std::int64_t count) {
  for (Scratch& scratch : scratch_) scratch.doubles(count);
}

std::unique_ptr<Backend> make_definition(const Options& options) {
  return std::make_unique<Definition>(options.threads);
}

}  // namespace octlm::model::cpu
