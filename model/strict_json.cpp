#include "model/strict_json.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <numeric>
#include <set>
#include <stdexcept>
#include <vector>

namespace octlm::model {
namespace {

constexpr int kMaxDepth = 16;                  // config.json needs 3, a safetensors header 3
constexpr std::size_t kMaxValues = 4'000'000;  // a header of 100,000 tensors has 700,000
constexpr std::size_t kMaxQuoted = 120;        // characters of foreign text in one message

// nlohmann's own exceptions say "[json.exception.parse_error.101] parse error at line 1, ...".
std::string without_exception_id(std::string_view message) {
  const std::size_t end = message.starts_with('[') ? message.find("] ") : std::string_view::npos;
  return std::string(end == std::string_view::npos ? message : message.substr(end + 2));
}

// Control and non-ASCII bytes would break the one-line rule, or a terminal.
std::string printable(std::string_view text, std::size_t limit) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (const char c : text.substr(0, limit)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      out += c;
    } else {
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
  return text.size() > limit ? out + "..." : out;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

}  // namespace

void refuse(const std::string& where, const std::string& what) {
  throw std::runtime_error(where + ": " + what);
}

std::string in_quotes(std::string_view text) { return "'" + printable(text, kMaxQuoted) + "'"; }

std::string as_found(const Json& value) {
  return printable(value.dump(-1, ' ', true, Json::error_handler_t::replace), kMaxQuoted);
}

std::string nearest_name(std::string_view name, std::span<const std::string_view> known) {
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(2, name.size() / 3) + 1;
  if (name.size() > 100) return "";  // no misspelling of ours, and the distance is quadratic
  for (const std::string_view candidate : known) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return std::string(best);
}

Json parse_strict_json(std::string_view text, const std::string& where) {
  // nlohmann's lexer takes a NUL byte for the end of the input, and skips a byte order mark.
  if (text.find('\0') != std::string_view::npos) refuse(where, "not JSON: it contains a NUL byte");
  if (text.starts_with("\xef\xbb\xbf")) refuse(where, "not JSON: it starts with a byte order mark");

  std::vector<std::set<std::string>> keys_of_open_objects;
  std::size_t values = 0;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > kMaxDepth) {
      refuse(where, "nested more than " + std::to_string(kMaxDepth) + " levels deep");
    }
    if (++values > kMaxValues) {
      refuse(where, "more than " + std::to_string(kMaxValues) + " values");
    }
    switch (event) {
      case Json::parse_event_t::object_start:
        keys_of_open_objects.emplace_back();
        break;
      case Json::parse_event_t::object_end:
        keys_of_open_objects.pop_back();
        break;
      case Json::parse_event_t::key: {
        const auto& key = parsed.get_ref<const std::string&>();
        if (!keys_of_open_objects.back().insert(key).second) {
          refuse(where, "duplicate key " + in_quotes(key));
        }
        break;
      }
      default:
        break;
    }
    return true;
  };
  try {
    return Json::parse(text.begin(), text.end(), watch);
  } catch (const Json::exception& error) {
    refuse(where, "not JSON: " + printable(without_exception_id(error.what()), 300));
  }
}

std::string read_small_file(const std::filesystem::path& path, std::size_t limit_bytes) {
  const std::string where = path.string();
  // O_NONBLOCK: opening a FIFO must fail the check below, not wait for a writer.
  const int descriptor = ::open(where.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) refuse(where, std::string("cannot be opened: ") + std::strerror(errno));
  struct Closer {
    int descriptor;
    ~Closer() { ::close(descriptor); }
  } closer{descriptor};
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    refuse(where, "not a regular file");
  }
  if (static_cast<std::uint64_t>(status.st_size) > limit_bytes) {
    refuse(where, std::to_string(status.st_size) + " bytes, expected at most " +
                      std::to_string(limit_bytes));
  }
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t filled = 0;
  while (filled < text.size()) {
    const ssize_t got = ::read(descriptor, text.data() + filled, text.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) refuse(where, "cannot be read to its end; was it changed meanwhile?");
    filled += static_cast<std::size_t>(got);
  }
  return text;
}

}  // namespace octlm::model
