#include "model/cpu/instruction_set.h"

#include <stdexcept>
#include <string>
#include <vector>

#include "model/cpu/backend.h"

namespace octlm::model::cpu {
namespace {

std::vector<const Kernels*> available() {
  std::vector<const Kernels*> list;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    list.push_back(&avx512::kernels);
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("f16c")) {
    list.push_back(&avx2::kernels);
  }
#endif
  list.push_back(&generic::kernels);
  return list;
}

}  // namespace

const Kernels& kernels_for(std::string_view instruction_set) {
  std::string choices;
  for (const Kernels* kernels : available()) {
    if (instruction_set.empty() || instruction_set == kernels->name) return *kernels;
    choices += choices.empty() ? kernels->name : std::string(", ") + kernels->name;
  }
  throw std::invalid_argument("[instruction_set] '" + std::string(instruction_set) +
                              "' is not among what this CPU can run: " + choices);
}

std::vector<std::string> instruction_sets() {
  std::vector<std::string> names;
  for (const Kernels* kernels : available()) names.emplace_back(kernels->name);
  return names;
}

}  // namespace octlm::model::cpu
