// A float is NaN or infinite exactly when its exponent bits are all ones: then, and only then,
// adding one at the exponent's lowest bit carries into the sign's place. So for each lane of a
// word,
//
//   ((bits & exponent) + lowest_exponent_bit) & sign  !=  0   <=>   NaN or infinity
//
// with no carry between lanes, since the exponent's mask leaves the sign out: three operations per
// word, which compilers turn into whole vectors.
#include "model/finite_scan.h"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstring>
#include <thread>
#include <vector>

namespace octlm::model {
namespace {

constexpr std::int64_t kBlockBytes = 16384;             // stays in the L1 cache
constexpr std::int64_t kPiece = std::int64_t{1} << 22;  // elements a thread takes at a time

template <class T>
T load(const std::byte* data, std::int64_t index) {
  T value;
  std::memcpy(&value, data + index * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return value;
}

constexpr std::int64_t kNone = -1;

// The bits of a dtype, repeated in every lane of a 64-bit word.
struct Layout {
  std::uint64_t exponent;
  std::uint64_t lowest_exponent_bit;
  std::uint64_t sign;
  std::uint32_t fraction;  // of one element
};

Layout layout_of(DType dtype) {
  switch (dtype) {
    case DType::kBFloat16:
      return {0x7f80'7f80'7f80'7f80, 0x0080'0080'0080'0080, 0x8000'8000'8000'8000, 0x007f};
    case DType::kFloat16:
      return {0x7c00'7c00'7c00'7c00, 0x0400'0400'0400'0400, 0x8000'8000'8000'8000, 0x03ff};
    case DType::kFloat32:
      return {0x7f80'0000'7f80'0000, 0x0080'0000'0080'0000, 0x8000'0000'8000'0000, 0x007f'ffff};
    case DType::kFloat64:
      break;
  }
  assert(false && "weights are stored in 16 or 32 bits");
  return {};
}

std::uint64_t non_finite_lanes(std::uint64_t bits, const Layout& layout) {
  return ((bits & layout.exponent) + layout.lowest_exponent_bit) & layout.sign;
}

bool block_is_finite(const std::byte* block, const Layout& layout) {
  std::uint64_t found = 0;
  for (std::int64_t word = 0; word < kBlockBytes / 8; ++word) {
    found |= non_finite_lanes(load<std::uint64_t>(block, word), layout);
  }
  return found == 0;
}

std::uint32_t element_bits(const ConstTensorView& tensor, std::int64_t element) {
  const auto* data = static_cast<const std::byte*>(tensor.data);
  return dtype_bytes(tensor.dtype) == 4 ? load<std::uint32_t>(data, element)
                                        : load<std::uint16_t>(data, element);
}

// The first non-finite element in [first, last), or last.
std::int64_t scan(const ConstTensorView& tensor, std::int64_t first, std::int64_t last) {
  const Layout layout = layout_of(tensor.dtype);
  const auto element_bytes = static_cast<std::int64_t>(dtype_bytes(tensor.dtype));
  const std::int64_t block = kBlockBytes / element_bytes;
  const auto* data = static_cast<const std::byte*>(tensor.data);
  while (first < last) {
    const std::int64_t end = std::min(first + block, last);
    if (end - first == block && block_is_finite(data + first * element_bytes, layout)) {
      first = end;
      continue;
    }
    for (; first < end; ++first) {
      // A single element is one lane of a word whose other lanes are zero.
      if (non_finite_lanes(element_bits(tensor, first), layout) != 0) return first;
    }
  }
  return last;
}

std::string name_of(const ConstTensorView& tensor, std::int64_t element) {
  const std::uint32_t bits = element_bits(tensor, element);
  const Layout layout = layout_of(tensor.dtype);
  if ((bits & layout.fraction) != 0) return "nan";
  return (bits & layout.sign) != 0 ? "-inf" : "inf";
}

struct Piece {
  std::size_t tensor;
  std::int64_t first, last;
};

}  // namespace

std::optional<NonFinite> find_non_finite(std::span<const ConstTensorView> tensors) {
  std::vector<Piece> pieces;
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    const std::int64_t elements = tensors[t].shape.elements();
    for (std::int64_t first = 0; first < elements; first += kPiece) {
      pieces.push_back({t, first, std::min(first + kPiece, elements)});
    }
  }

  // Pieces are taken in order and always finished. So when one has a finding and no more are taken,
  // all before it were taken too, and the first finding of all is among theirs.
  std::vector<std::int64_t> found(pieces.size(), kNone);
  std::atomic<std::size_t> next{0};
  std::atomic<bool> any_found{false};
  const auto work = [&] {
    for (std::size_t p = next++; p < pieces.size(); p = next++) {
      const Piece& piece = pieces[p];
      const std::int64_t element = scan(tensors[piece.tensor], piece.first, piece.last);
      if (element != piece.last) {
        found[p] = element;
        any_found = true;
      }
      if (any_found) return;
    }
  };
  const std::size_t helpers = std::min<std::size_t>(
      {pieces.size(), std::max(1u, std::thread::hardware_concurrency()), std::size_t{16}});
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < helpers; ++i) threads.emplace_back(work);
    work();
  }
  const auto first = std::find_if(found.begin(), found.end(),
                                  [](std::int64_t element) { return element != kNone; });
  if (first == found.end()) return std::nullopt;
  const std::size_t tensor = pieces[static_cast<std::size_t>(first - found.begin())].tensor;
  return NonFinite{tensor, *first, name_of(tensors[tensor], *first)};
}

}  // namespace octlm::model
