#include "model/safetensors.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "model/strict_json.h"

namespace octlm::model {
namespace {

constexpr std::uint64_t kLengthBytes = 8;

[[noreturn]] void refuse_tensor(const std::string& where, const std::string& name,
                                const std::string& what) {
  refuse(where, "tensor " + in_quotes(name) + ": " + what);
}

[[noreturn]] void refuse_truncated(const std::string& where, const std::string& part,
                                   std::uint64_t needed, std::uint64_t found) {
  refuse(where, "truncated: " + part + " needs " + std::to_string(needed) + " bytes, found " +
                    std::to_string(found) + "; fetch the file again");
}

DType stored_dtype(const Json& value, const std::string& where, const std::string& name) {
  if (value == "BF16") return DType::kBFloat16;
  if (value == "F16") return DType::kFloat16;
  if (value == "F32") return DType::kFloat32;
  constexpr std::array kOthers = {"BOOL", "U8",      "I8",      "I16",     "U16",    "I32",
                                  "U32",  "I64",     "U64",     "F64",     "C64",    "F8_E5M2",
                                  "F4",   "F8_E4M3", "F8_E8M0", "F6_E2M3", "F6_E3M2"};
  const bool known = std::any_of(kOthers.begin(), kOthers.end(),
                                 [&](const char* other) { return value == other; });
  refuse_tensor(where, name,
                std::string(known ? "unsupported" : "unknown") + " dtype " + as_found(value) +
                    "; supported: BF16, F16, F32");
}

// A JSON number that is a size: an integer >= 0.
std::optional<std::uint64_t> as_size(const Json& value) {
  if (!value.is_number_unsigned()) return std::nullopt;
  return value.get<std::uint64_t>();
}

Shape stored_shape(const Json& value, const std::string& where, const std::string& name) {
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
  return Shape(std::span<const std::int64_t>(extents));
}

// Bytes of a shape, at most 2^63 - 1 so that offsets into it fit a signed integer everywhere.
std::uint64_t shape_bytes(const Shape& shape, DType dtype, const std::string& where,
                          const std::string& name) {
  std::uint64_t bytes = dtype_bytes(dtype);
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(shape[axis]), &bytes) ||
        bytes > static_cast<std::uint64_t>(INT64_MAX)) {
      refuse_tensor(where, name, "shape " + shape.to_string() + " is beyond 2^63 bytes");
    }
  }
  return bytes;
}

SafetensorsEntry parse_entry(const std::string& name, const Json& value, const std::string& where,
                             std::uint64_t data_begin) {
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
  SafetensorsEntry entry;
  entry.name = name;
  entry.dtype = stored_dtype(value["dtype"], where, name);
  entry.shape = stored_shape(value["shape"], where, name);

  const Json& offsets = value["data_offsets"];
  const bool two = offsets.is_array() && offsets.size() == 2;
  const auto begin = two ? as_size(offsets[0]) : std::nullopt;
  const auto end = two ? as_size(offsets[1]) : std::nullopt;
  if (!begin || !end || *begin > *end) {
    refuse_tensor(
        where, name,
        "data_offsets " + as_found(offsets) + " are not [begin, end] with 0 <= begin <= end");
  }
  entry.bytes = shape_bytes(entry.shape, entry.dtype, where, name);
  if (*end - *begin != entry.bytes) {
    refuse_tensor(where, name,
                  "data_offsets " + as_found(offsets) + " span " + std::to_string(*end - *begin) +
                      " bytes, but " + as_found(value["dtype"]) + " " + entry.shape.to_string() +
                      " takes " + std::to_string(entry.bytes));
  }
  std::uint64_t file_end = 0;  // the sum must not wrap: an end near 2^64 would look small
  if (__builtin_add_overflow(data_begin, *end, &file_end)) {
    refuse_tensor(where, name, "data_offsets " + as_found(offsets) + " are beyond 2^64");
  }
  entry.offset = data_begin + *begin;
  return entry;
}

void check_metadata(const Json& metadata, const std::string& where) {
  bool strings = metadata.is_object();
  for (const auto& [key, value] : metadata.items()) strings = strings && value.is_string();
  if (!strings) refuse(where, "'__metadata__' is not a map of strings: " + as_found(metadata));
}

// REQUIRES: entries sorted by offset.
void check_coverage(const std::vector<SafetensorsEntry>& entries, std::uint64_t data_begin,
                    std::uint64_t file_bytes, const std::string& where) {
  std::uint64_t covered = data_begin;
  for (const SafetensorsEntry& entry : entries) {
    if (entry.offset < covered) {
      refuse_tensor(where, entry.name,
                    "begins at byte " + std::to_string(entry.offset - data_begin) +
                        ", inside the tensor before it, which ends at " +
                        std::to_string(covered - data_begin));
    }
    if (entry.offset > covered) {
      refuse(where, "a hole: no tensor covers bytes " + std::to_string(covered - data_begin) +
                        " to " + std::to_string(entry.offset - data_begin) + ", before tensor " +
                        in_quotes(entry.name));
    }
    covered = entry.offset + entry.bytes;
  }
  if (covered > file_bytes) {
    refuse_truncated(where, "tensor " + in_quotes(entries.back().name) + ", the last,", covered,
                     file_bytes);
  }
  if (covered < file_bytes) {
    refuse(where,
           std::to_string(file_bytes - covered) + " bytes after the last tensor belong to none");
  }
}

}  // namespace

std::vector<SafetensorsEntry> parse_safetensors(std::span<const std::byte> file,
                                                const std::string& where) {
  const std::uint64_t file_bytes = file.size();
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (text.starts_with("version https://git-lfs")) {
    refuse(where, "this is a Git LFS pointer, not the file itself; run 'git lfs pull'");
  }
  if (file_bytes < kLengthBytes) {
    refuse_truncated(where, "the header's length", kLengthBytes, file_bytes);
  }
  std::uint64_t header_bytes = 0;
  for (int i = 7; i >= 0; --i) {
    header_bytes =
        header_bytes << 8 | std::to_integer<std::uint64_t>(file[static_cast<std::size_t>(i)]);
  }
  if (header_bytes > kMaxSafetensorsHeaderBytes) {
    refuse(where, "header length " + std::to_string(header_bytes) + " is beyond the limit of " +
                      std::to_string(kMaxSafetensorsHeaderBytes) + "; is this a safetensors file?");
  }
  const std::uint64_t data_begin = kLengthBytes + header_bytes;
  if (data_begin > file_bytes) refuse_truncated(where, "the header", data_begin, file_bytes);

  const std::string_view header_text = text.substr(kLengthBytes, header_bytes);
  if (!header_text.starts_with('{')) refuse(where, "the header does not start with '{'");
  const Json header = parse_strict_json(header_text, where + ": header");

  std::vector<SafetensorsEntry> entries;
  entries.reserve(header.size());
  for (const auto& [name, value] : header.items()) {
    if (name == "__metadata__") {
      check_metadata(value, where);
    } else {
      entries.push_back(parse_entry(name, value, where, data_begin));
    }
  }
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
    return std::pair(a.offset, a.bytes) < std::pair(b.offset, b.bytes);
  });
  check_coverage(entries, data_begin, file_bytes, where);
  return entries;
}

struct SafetensorsFile::Impl {
  std::filesystem::path path;
  int descriptor = -1;
  struct stat opened {};
  void* address = nullptr;
  std::size_t bytes = 0;
  std::vector<SafetensorsEntry> entries;

  explicit Impl(std::filesystem::path file) : path(std::move(file)) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    if (address != nullptr) ::munmap(address, bytes);
    if (descriptor >= 0) ::close(descriptor);
  }

  [[noreturn]] void refuse_errno(const std::string& what) const {
    refuse(path.string(), what + ": " + std::strerror(errno));
  }

  void open_file() {
    // O_NONBLOCK: opening a FIFO must fail the check below, not wait for a writer.
    descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) refuse_errno("cannot be opened");
    if (::fstat(descriptor, &opened) != 0) refuse_errno("cannot be examined");
    if (!S_ISREG(opened.st_mode)) refuse(path.string(), "not a regular file");
    bytes = static_cast<std::size_t>(opened.st_size);
  }

  void map() {
    void* mapped = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (mapped == MAP_FAILED) refuse_errno("cannot be mapped");
    address = mapped;
    // Hints only: read ahead, and large pages where the kernel has them for files.
    ::madvise(address, bytes, MADV_WILLNEED);
    ::madvise(address, bytes, MADV_HUGEPAGE);
  }

  void read() {
    void* memory =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) refuse_errno("no memory for " + std::to_string(bytes) + " bytes");
    address = memory;
    ::madvise(address, bytes, MADV_HUGEPAGE);
    std::size_t filled = 0;
    while (filled < bytes) {
      constexpr std::size_t kChunk = std::size_t{1} << 22;
      const ssize_t got = ::pread(descriptor, static_cast<char*>(address) + filled,
                                  std::min(kChunk, bytes - filled), static_cast<off_t>(filled));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) refuse_errno("cannot be read");
      if (got == 0) refuse_truncated(path.string(), "the file, as opened,", bytes, filled);
      filled += static_cast<std::size_t>(got);
    }
    ::mprotect(address, bytes, PROT_READ);
  }
};

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path, bool read_instead_of_map)
    : impl_(std::make_unique<Impl>(path)) {
  impl_->open_file();
  if (impl_->bytes > 0) {  // an empty file cannot be mapped
    if (read_instead_of_map) {
      impl_->read();
    } else {
      impl_->map();
    }
  }
  impl_->entries = parse_safetensors({static_cast<const std::byte*>(impl_->address), impl_->bytes},
                                     path.string());
}

SafetensorsFile::~SafetensorsFile() = default;
SafetensorsFile::SafetensorsFile(SafetensorsFile&&) noexcept = default;
SafetensorsFile& SafetensorsFile::operator=(SafetensorsFile&&) noexcept = default;

const std::filesystem::path& SafetensorsFile::path() const { return impl_->path; }

const std::vector<SafetensorsEntry>& SafetensorsFile::entries() const { return impl_->entries; }

const std::byte* SafetensorsFile::data(const SafetensorsEntry& entry) const {
  return static_cast<const std::byte*>(impl_->address) + entry.offset;
}

bool SafetensorsFile::unchanged() const {
  struct stat now {};
  return ::fstat(impl_->descriptor, &now) == 0 && now.st_size == impl_->opened.st_size &&
         now.st_mtim.tv_sec == impl_->opened.st_mtim.tv_sec &&
         now.st_mtim.tv_nsec == impl_->opened.st_mtim.tv_nsec;
}

}  // namespace octlm::model
