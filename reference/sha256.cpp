#include "reference/sha256.h"

#include <openssl/evp.h>

#include <array>
#include <bit>
#include <fstream>
#include <stdexcept>
#include <vector>

namespace octlm::reference {

static_assert(std::endian::native == std::endian::little, "ids are hashed as they lie in memory");

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  if (state_->context == nullptr ||
      EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) != 1) {
    throw std::runtime_error("[sha256] OpenSSL has none");
  }
}

Sha256::~Sha256() = default;

void Sha256::update(const void* data, std::size_t bytes) {
  if (EVP_DigestUpdate(state_->context, data, bytes) != 1)
    throw std::runtime_error("[sha256] OpenSSL failed");
}

std::string Sha256::hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  if (EVP_DigestFinal_ex(state_->context, digest.data(), &length) != 1) {
    throw std::runtime_error("[sha256] OpenSSL failed");
  }
  std::string text;
  for (unsigned i = 0; i < length; ++i) {
    text += "0123456789abcdef"[digest[i] >> 4];
    text += "0123456789abcdef"[digest[i] & 15];
  }
  return text;
}

std::string sha256_of_ids(std::span<const std::int32_t> token_ids) {
  Sha256 sha256;
  sha256.update(token_ids.data(), token_ids.size_bytes());
  return sha256.hex();
}

std::string sha256_of_file(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  Sha256 sha256;
  std::vector<char> buffer(1 << 20);
  while (stream) {
    stream.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    sha256.update(buffer.data(), static_cast<std::size_t>(stream.gcount()));
  }
  if (!stream.eof()) throw std::runtime_error("[sha256] " + file.string() + " cannot be read");
  return sha256.hex();
}

}  // namespace octlm::reference
