// What fuzzing targets (*_fuzz.cpp) have in common. A target hands bytes to one reader of files
// that come from outside; what it lets through, a sanitizer's report and a false property are
// crashes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <system_error>

#include "formats/testing/temporary_folder.h"

namespace octlm::formats::testing {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// A property that every input has, in every build type.
inline void require(bool holds, const std::string& property) {
  if (holds) return;
  std::cerr << "does not hold: " << property << std::endl;
  std::abort();
}

// A refusal is for a terminal: lines of what may stand there.
inline void require_printable(std::string_view message) {
  require(!message.empty(), "a refusal says why");
  for (const char c : message) {
    require(static_cast<unsigned char>(c) >= 0x20 || c == '\n',
            "no control character in: " + std::string(message));
  }
}

// Whether `read` accepted. Of what it throws, a Refusal alone is one: a failure of the machine that
// derives from it (std::filesystem::filesystem_error is a std::runtime_error) is none.
template <class Refusal, class Read>
bool accepted(const Read& read) {
  try {
    read();
    return true;
  } catch (const std::system_error&) {
    throw;
  } catch (const Refusal& refusal) {
    require_printable(refusal.what());
    return false;
  }
}

// A folder of this process, for readers that take a path.
class InputFolder {
 public:
  const std::filesystem::path& path() const { return folder_.path(); }
  std::filesystem::path put(const std::string& name, std::string_view bytes) const {
    const std::filesystem::path file = path() / name;
    std::ofstream(file, std::ios::binary).write(bytes.data(), std::streamsize(bytes.size()));
    return file;
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace octlm::formats::testing
