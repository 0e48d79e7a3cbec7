#include "verify/sha256.h"

#include <openssl/evp.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <vector>

namespace octlm::verify {
namespace {

class Hash {
 public:
  Hash() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    check(context_ != nullptr && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
  }
  void update(const void* data, std::size_t bytes) {
    check(EVP_DigestUpdate(context_.get(), data, bytes) == 1);
  }
  std::string hex() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned length = 0;
    check(EVP_DigestFinal_ex(context_.get(), digest.data(), &length) == 1);
    std::string text;
    for (unsigned i = 0; i < length; ++i) {
      text += "0123456789abcdef"[digest[i] >> 4];
      text += "0123456789abcdef"[digest[i] & 15];
    }
    return text;
  }

 private:
  static void check(bool ok) {
    if (!ok) throw std::runtime_error("sha256: OpenSSL's EVP failed");
  }
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

[[noreturn]] void cannot_read(const std::filesystem::path& file) {
  throw std::runtime_error(file.string() + ": cannot be read: " + std::strerror(errno));
}

}  // namespace

std::string sha256(std::string_view bytes) {
  Hash hash;
  hash.update(bytes.data(), bytes.size());
  return hash.hex();
}

std::string sha256_file(const std::filesystem::path& file) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream(std::fopen(file.c_str(), "rb"),
                                                               std::fclose);
  if (stream == nullptr) cannot_read(file);
  Hash hash;
  std::vector<char> buffer(1 << 20);
  while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), stream.get())) {
    hash.update(buffer.data(), got);
  }
  if (std::ferror(stream.get())) cannot_read(file);
  return hash.hex();
}

}  // namespace octlm::verify
