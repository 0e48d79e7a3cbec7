#include "formats/safetensors.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "formats/error.h"
#include "formats/quoted.h"
#include "formats/strict_json.h"

namespace octlm::formats {
namespace {

using Json = nlohmann::json;

// A header of 100,000 tensors has 1,100,000 values. One within its limit of bytes could hold tens
// of millions, at 16 bytes each once parsed.
// A number beyond 64 bits is kept, so that it is refused with the name of its tensor.
constexpr JsonLimits kHeaderLimits{.depth = 16,
                                   .values = 4'000'000,
                                   .least_integer = INT64_MIN,
                                   .greatest_integer = UINT64_MAX,
                                   .digits_beyond = true};

[[noreturn]] void refuse_tensor(const std::string& where, const std::string& name,
                                const std::string& what) {
  refuse(where, "tensor " + in_quotes(name) + ": " + what);
}

[[noreturn]] void refuse_truncated(const std::string& where, const std::string& part,
                                   std::uint64_t needed, std::uint64_t found) {
  refuse(where, "truncated: " + part + " needs " + std::to_string(needed) + " bytes, found " +
                    std::to_string(found) + "; fetch the file again");
}

std::string stored_dtype(const Json& value, std::span<const std::string_view> dtypes,
                         const std::string& where, const std::string& name) {
  const auto is_value = [&](std::string_view one) { return value == one; };
  if (std::any_of(dtypes.begin(), dtypes.end(), is_value)) return value.get<std::string>();
  constexpr std::array<std::string_view, 20> kAll = {
      "BOOL", "U8",  "I8",  "I16",     "U16", "I32",     "U32",     "I64",     "U64",     "F64",
      "F32",  "F16", "C64", "F8_E5M2", "F4",  "F8_E4M3", "F8_E8M0", "F6_E2M3", "F6_E3M2", "BF16"};
  const bool known = std::any_of(kAll.begin(), kAll.end(), is_value);
  std::string supported;
  for (const std::string_view one : dtypes) supported.append(supported.empty() ? "" : ", ") += one;
  refuse_tensor(where, name,
                std::string(known ? "unsupported" : "unknown") + " dtype " + as_found(value) +
                    "; supported: " + supported);
}

// A JSON number that is a size: an integer >= 0.
std::optional<std::uint64_t> as_size(const Json& value) {
  if (!value.is_number_unsigned()) return std::nullopt;
  return value.get<std::uint64_t>();
}

std::vector<std::int64_t> stored_shape(const Json& value, const std::string& where,
                                       const std::string& name) {
  std::vector<std::int64_t> extents;
  bool valid = value.is_array() && value.size() <= 4;
  for (std::size_t axis = 0; valid && axis < value.size(); ++axis) {
    const auto extent = as_size(value[axis]);
    valid = extent.has_value() && *extent <= static_cast<std::uint64_t>(INT64_MAX);
    if (valid) extents.push_back(static_cast<std::int64_t>(*extent));
  }
  if (!valid) {
    refuse_tensor(where, name,
                  "shape " + as_found(value) + " is not a list of up to four integers >= 0");
  }
  return extents;
}

// Bytes of a tensor, at most 2^63 - 1 so that offsets into it fit a signed integer everywhere.
std::uint64_t bytes_of(const StoredTensor& tensor, const Json& shape, const std::string& where) {
  std::uint64_t bytes = tensor.dtype == "F64" ? 8 : tensor.dtype == "F32" ? 4 : 2;
  for (const std::int64_t extent : tensor.shape) {
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes) ||
        bytes > static_cast<std::uint64_t>(INT64_MAX)) {
      refuse_tensor(where, tensor.name, "shape " + as_found(shape) + " is beyond 2^63 bytes");
    }
  }
  return bytes;
}

void check_members(const std::string& name, const Json& value, const std::string& where) {
  if (!value.is_object())
    refuse_tensor(where, name, "expected an object, found " + as_found(value));
  for (const auto& [key, ignored] : value.items()) {
    if (key != "dtype" && key != "shape" && key != "data_offsets") {
      refuse_tensor(where, name, "unknown key " + in_quotes(key));
    }
  }
  for (const char* key : {"dtype", "shape", "data_offsets"}) {
    if (!value.contains(key)) refuse_tensor(where, name, std::string("no '") + key + "'");
  }
}

StoredTensor parse_tensor(const std::string& name, const Json& value,
                          std::span<const std::string_view> dtypes, std::uint64_t data_begin,
                          const std::string& where) {
  check_members(name, value, where);
  StoredTensor tensor{.name = name,
                      .dtype = stored_dtype(value["dtype"], dtypes, where, name),
                      .shape = stored_shape(value["shape"], where, name)};
  const Json& offsets = value["data_offsets"];
  const bool two = offsets.is_array() && offsets.size() == 2;
  const auto begin = two ? as_size(offsets[0]) : std::nullopt;
  const auto end = two ? as_size(offsets[1]) : std::nullopt;
  if (!begin || !end || *begin > *end) {
    refuse_tensor(
        where, name,
        "data_offsets " + as_found(offsets) + " are not [begin, end] with 0 <= begin <= end");
  }
  tensor.begin = *begin;
  tensor.end = *end;
  const std::uint64_t bytes = bytes_of(tensor, value["shape"], where);
  if (*end - *begin != bytes) {
    refuse_tensor(where, name,
                  "data_offsets " + as_found(offsets) + " span " + std::to_string(*end - *begin) +
                      " bytes, but " + as_found(value["dtype"]) + " " + as_found(value["shape"]) +
                      " takes " + std::to_string(bytes));
  }
  std::uint64_t file_end = 0;  // the sum must not wrap: an end near 2^64 would look small
  if (__builtin_add_overflow(data_begin, *end, &file_end)) {
    refuse_tensor(where, name, "data_offsets " + as_found(offsets) + " are beyond 2^64");
  }
  return tensor;
}

void check_metadata(const Json& metadata, const std::string& where) {
  bool strings = metadata.is_object();
  for (const auto& [key, value] : metadata.items()) strings = strings && value.is_string();
  if (!strings) refuse(where, "'__metadata__' is not a map of strings: " + as_found(metadata));
}

// REQUIRES: tensors sorted by offset.
void check_coverage(const std::vector<StoredTensor>& tensors, std::uint64_t data_begin,
                    std::uint64_t file_bytes, const std::string& where) {
  std::uint64_t covered = 0;
  for (const StoredTensor& tensor : tensors) {
    if (tensor.begin < covered) {
      refuse_tensor(where, tensor.name,
                    "begins at byte " + std::to_string(tensor.begin) +
                        ", inside the tensor before it, which ends at " + std::to_string(covered));
    }
    if (tensor.begin > covered) {
      refuse(where, "a hole: no tensor covers bytes " + std::to_string(covered) + " to " +
                        std::to_string(tensor.begin) + ", before tensor " + in_quotes(tensor.name));
    }
    covered = tensor.end;
  }
  covered += data_begin;
  if (covered > file_bytes) {
    refuse_truncated(where, "tensor " + in_quotes(tensors.back().name) + ", the last,", covered,
                     file_bytes);
  }
  if (covered < file_bytes) {
    refuse(where,
           std::to_string(file_bytes - covered) + " bytes after the last tensor belong to none");
  }
}

}  // namespace

std::uint64_t safetensors_header_bytes(std::string_view start, std::uint64_t file_bytes,
                                       const std::string& where, std::uint64_t limit_bytes) {
  if (start.starts_with("version ")) {  // https://git-lfs.github.com/spec/v1
    refuse(where, "this is a Git LFS pointer, not the file itself; run 'git lfs pull'");
  }
  if (start.size() < kSafetensorsLengthBytes) {
    refuse_truncated(where, "the header's length", kSafetensorsLengthBytes, file_bytes);
  }
  std::uint64_t header_bytes = 0;
  for (std::size_t i = kSafetensorsLengthBytes; i-- > 0;) {
    header_bytes = header_bytes << 8 | static_cast<unsigned char>(start[i]);
  }
  if (header_bytes > limit_bytes) {
    refuse(where, "header length " + std::to_string(header_bytes) + " is beyond the limit of " +
                      std::to_string(limit_bytes) + "; is this a safetensors file?");
  }
  const std::uint64_t data_begin = kSafetensorsLengthBytes + header_bytes;
  if (data_begin > file_bytes) refuse_truncated(where, "the header", data_begin, file_bytes);
  return header_bytes;
}

std::vector<StoredTensor> parse_safetensors_header(std::string_view header,
                                                   std::uint64_t file_bytes,
                                                   std::span<const std::string_view> dtypes,
                                                   const std::string& where) {
  if (!header.starts_with('{')) refuse(where, "the header does not start with '{'");
  const std::uint64_t data_begin = kSafetensorsLengthBytes + header.size();
  const Json parsed = parse_strict(header, where + ": header", kHeaderLimits);
  std::vector<StoredTensor> tensors;
  tensors.reserve(parsed.size());
  for (const auto& [name, value] : parsed.items()) {
    if (name == "__metadata__") {
      check_metadata(value, where);
    } else {
      tensors.push_back(parse_tensor(name, value, dtypes, data_begin, where));
    }
  }
  std::sort(tensors.begin(), tensors.end(), [](const auto& a, const auto& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  check_coverage(tensors, data_begin, file_bytes, where);
  return tensors;
}

std::string safetensors_start(std::span<const StoredTensor> tensors) {
  std::string header = R"({"__metadata__":{"format":"pt"})";
  for (const StoredTensor& tensor : tensors) {
    header += "," + Json(tensor.name).dump() + R"(:{"dtype":")" + tensor.dtype + R"(","shape":)" +
              Json(tensor.shape).dump() + R"(,"data_offsets":[)" + std::to_string(tensor.begin) +
              "," + std::to_string(tensor.end) + "]}";
  }
  header += '}';
  header.append((8 - header.size() % 8) % 8, ' ');
  std::string length;
  for (int i = 0; i < 8; ++i) length += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return length + header;
}

}  // namespace octlm::formats
