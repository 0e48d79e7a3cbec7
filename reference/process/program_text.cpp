#include "reference/process/program_text.h"

#include <algorithm>
#include <fstream>

namespace octlm::reference {

namespace fs = std::filesystem;

std::string read_some(const fs::path& file, std::size_t most, bool from_end) {
  std::ifstream stream(file, std::ios::binary | std::ios::ate);
  if (!stream) return "";
  const auto size = static_cast<std::size_t>(std::max<std::streamoff>(0, stream.tellg()));
  std::string text(std::min(size, most), '\0');
  stream.seekg(from_end ? static_cast<std::streamoff>(size - text.size()) : 0);
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, stream.gcount())));
  return text;
}

std::string printable(const std::string& text) {
  std::string plain;
  for (const char c : text) {
    if (c == '\n' || c == '\r' || c == '\t') {
      if (!plain.empty() && plain.back() != ' ') plain += ' ';
    } else {
      plain += c >= ' ' && c <= '~' ? c : '?';
    }
  }
  while (!plain.empty() && plain.back() == ' ') plain.pop_back();
  return plain;
}

std::string excerpt(const std::string& line) {
  return "\"" + printable(line.substr(0, 80)) + (line.size() > 80 ? "..." : "") + "\"";
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

}  // namespace octlm::reference
