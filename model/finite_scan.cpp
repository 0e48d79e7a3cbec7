// A float is NaN or infinite exactly when its exponent bits are all ones. As an integer without its
// sign that is: at least the pattern of infinity. So a block is clean when the maximum over its
// elements of (bits & ~sign) is below infinity's bits, an and and a max per element, which
// compilers vectorise.
#include "model/finite_scan.h"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstring>
#include <mutex>
#include <thread>
#include <tuple>
#include <vector>

namespace octlm::model {
namespace {

constexpr std::int64_t kBlock = 8192;                   // elements: stays in the L1 cache
constexpr std::int64_t kPiece = std::int64_t{1} << 22;  // elements a thread takes at a time

template <class Bits>
Bits load(const std::byte* data, std::int64_t element) {
  Bits bits;
  std::memcpy(&bits, data + element * static_cast<std::int64_t>(sizeof(Bits)), sizeof(Bits));
  return bits;
}

// The first non-finite element in [first, last), or last. Bits is the signed integer of the dtype's
// size.
template <class Bits>
std::int64_t scan(const std::byte* data, std::int64_t first, std::int64_t last, Bits infinity,
                  Bits magnitude_mask) {
  for (std::int64_t block = first; block < last; block += kBlock) {
    const std::int64_t block_end = std::min(block + kBlock, last);
    Bits largest = 0;
    for (std::int64_t i = block; i < block_end; ++i) {
      const Bits magnitude = static_cast<Bits>(load<Bits>(data, i) & magnitude_mask);
      largest = largest < magnitude ? magnitude : largest;
    }
    if (largest < infinity) continue;
    for (std::int64_t i = block; i < block_end; ++i) {
      if (static_cast<Bits>(load<Bits>(data, i) & magnitude_mask) >= infinity) return i;
    }
  }
  return last;
}

std::int64_t scan(const ConstTensorView& tensor, std::int64_t first, std::int64_t last) {
  const auto* data = static_cast<const std::byte*>(tensor.data);
  switch (tensor.dtype) {
    case DType::kBFloat16:
      return scan<std::int16_t>(data, first, last, 0x7f80, 0x7fff);
    case DType::kFloat16:
      return scan<std::int16_t>(data, first, last, 0x7c00, 0x7fff);
    case DType::kFloat32:
      return scan<std::int32_t>(data, first, last, 0x7f800000, 0x7fffffff);
    case DType::kFloat64:
      break;
  }
  assert(false && "weights are stored in 16 or 32 bits");
  return last;
}

std::string name_of(const ConstTensorView& tensor, std::int64_t element) {
  const auto* data = static_cast<const std::byte*>(tensor.data);
  const bool wide = tensor.dtype == DType::kFloat32;
  const std::int32_t bits =
      wide ? load<std::int32_t>(data, element) : load<std::int16_t>(data, element);
  const std::int32_t fraction = tensor.dtype == DType::kFloat16    ? 0x03ff
                                : tensor.dtype == DType::kBFloat16 ? 0x007f
                                                                   : 0x007fffff;
  if ((bits & fraction) != 0) return "nan";
  return bits < 0 ? "-inf" : "inf";
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

  // Pieces are taken in order; the earliest piece with a finding wins, whoever finds it.
  std::atomic<std::size_t> next{0};
  std::atomic<std::size_t> found_piece{pieces.size()};
  std::mutex mutex;
  std::int64_t found_element = 0;
  const auto work = [&] {
    for (std::size_t p = next++; p < pieces.size() && p < found_piece; p = next++) {
      const Piece& piece = pieces[p];
      const std::int64_t element = scan(tensors[piece.tensor], piece.first, piece.last);
      if (element == piece.last) continue;
      const std::lock_guard lock(mutex);
      if (p < found_piece) {
        found_piece = p;
        found_element = element;
      }
    }
  };
  const std::size_t helpers = std::min<std::size_t>(
      {pieces.size(), std::max(1u, std::thread::hardware_concurrency()), std::size_t{16}});
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < helpers; ++i) threads.emplace_back(work);
    work();
  }
  if (found_piece == pieces.size()) return std::nullopt;
  const std::size_t tensor = pieces[found_piece].tensor;
  return NonFinite{tensor, found_element, name_of(tensors[tensor], found_element)};
}

}  // namespace octlm::model
