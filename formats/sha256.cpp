#include "formats/sha256.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "formats/error.h"
#include "formats/quoted.h"

namespace octlm::formats {
namespace {

void check(bool ok) {
  if (!ok) throw std::runtime_error("[sha256] OpenSSL failed");
}

[[noreturn]] void cannot_read(const std::filesystem::path& file) {
  refuse(file.string(), std::string("cannot be read: ") + std::strerror(errno));
}

}  // namespace

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  check(state_->context != nullptr &&
        EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) == 1);
}

Sha256::~Sha256() = default;

void Sha256::update(const void* data, std::size_t bytes) {
  check(EVP_DigestUpdate(state_->context, data, bytes) == 1);
}

std::string Sha256::hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  check(EVP_DigestFinal_ex(state_->context, digest.data(), &length) == 1);
  std::string text;
  for (unsigned i = 0; i < length; ++i) text += hex_byte(digest[i]);
  return text;
}

std::string sha256(std::string_view bytes) {
  Sha256 hash;
  hash.update(bytes.data(), bytes.size());
  return hash.hex();
}

std::string sha256_file(const std::filesystem::path& file) {
  // O_NONBLOCK: opening a FIFO must fail the check below, not wait for a writer.
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) cannot_read(file);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream(::fdopen(descriptor, "rb"),
                                                               std::fclose);
  struct stat status {};
  if (stream == nullptr || ::fstat(descriptor, &status) != 0) cannot_read(file);
  if (!S_ISREG(status.st_mode)) refuse(file.string(), "not a regular file");
  Sha256 hash;
  std::vector<char> buffer(1 << 20);
  while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), stream.get())) {
    hash.update(buffer.data(), got);
  }
  if (std::ferror(stream.get())) cannot_read(file);
  return hash.hex();
}

}  // namespace octlm::formats
