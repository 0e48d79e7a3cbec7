#include "model/cpu/vectorised/vectorised.h"

#include <cassert>
#include <memory>

#include "model/cpu/backend.h"

namespace octlm::model::cpu {

Stored stored_as(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return Stored::kFloat32;
    case DType::kFloat16:
      return Stored::kFloat16;
    case DType::kBFloat16:
      return Stored::kBFloat16;
    case DType::kFloat64:
      break;
  }
  assert(false && "ops/ refuses float64 weights");
  return Stored::kFloat32;
}

Vectorised::Vectorised(int threads, std::string_view instruction_set)
    : HostBackend(threads),
      kernels_(kernels_for(instruction_set)),
      scratch_(static_cast<std::size_t>(pool().threads())) {}

void Vectorised::reserve(std::int64_t floats) {
  for (Scratch& scratch : scratch_) scratch.floats(floats);
  scratch_floats_ = floats;
}

std::unique_ptr<Backend> make_backend(const Options& options) {
  return std::make_unique<Vectorised>(options.threads, options.instruction_set);
}

}  // namespace octlm::model::cpu
