// Is there a NaN or an infinity among these weights? One pass at the speed of memory, over all
// threads. Used inside model/ only.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "model/tensor.h"

namespace octlm::model {

struct NonFinite {
  std::size_t tensor = 0;    // index into the span that was scanned
  std::int64_t element = 0;  // flat index inside the tensor
  std::string value;         // "nan", "inf" or "-inf"
};

// The first one, by tensor and element, whatever the number of threads. Tensors are float32,
// float16 or bfloat16 and need no alignment.
std::optional<NonFinite> find_non_finite(std::span<const ConstTensorView> tensors);

}  // namespace octlm::model
