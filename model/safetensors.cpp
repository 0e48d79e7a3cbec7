#include "model/safetensors.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "formats/error.h"
#include "formats/safetensors.h"

namespace octlm::model {
namespace {

using formats::refuse;

constexpr std::array<std::string_view, 3> kDtypes = {"BF16", "F16", "F32"};

DType dtype_of(std::string_view stored) {
  return stored == "BF16" ? DType::kBFloat16 : stored == "F16" ? DType::kFloat16 : DType::kFloat32;
}

}  // namespace

std::vector<SafetensorsEntry> parse_safetensors(std::span<const std::byte> file,
                                                const std::string& where) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  const std::uint64_t header_bytes = formats::safetensors_header_bytes(
      text.substr(0, formats::kSafetensorsLengthBytes), file.size(), where);
  const std::string_view header = text.substr(formats::kSafetensorsLengthBytes, header_bytes);
  const std::uint64_t data_begin = formats::kSafetensorsLengthBytes + header_bytes;
  std::vector<SafetensorsEntry> entries;
  for (const auto& stored :
       formats::parse_safetensors_header(header, file.size(), kDtypes, where)) {
    entries.push_back({.name = stored.name,
                       .dtype = dtype_of(stored.dtype),
                       .shape = Shape(std::span<const std::int64_t>(stored.shape)),
                       .offset = data_begin + stored.begin,
                       .bytes = stored.end - stored.begin});
  }
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
      if (got == 0) {
        refuse(path.string(), "truncated: the file, as opened, needs " + std::to_string(bytes) +
                                  " bytes, found " + std::to_string(filled) +
                                  "; fetch the file again");
      }
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
