// nlohmann's SAX parser checks the grammar without recursing; the builder below makes the value and
// refuses what the grammar allows. The place of an error is how far the parser has read, counted by
// the iterator. (nlohmann's own parse() with a callback looks through all members of an object at
// the end of each: quadratic in their number.)
#include "formats/strict_json.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>
#include <utility>
#include <vector>

#include "formats/error.h"
#include "formats/quoted.h"
#include "formats/utf8.h"

namespace octlm::formats {
namespace {

constexpr std::size_t kMaxSyntaxText = 300;  // of the parser's own words

// "WHERE:LINE:COLUMN" of an offset; columns count bytes from 1.
std::string place(const std::string& where, std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 = 0
  return where + ":" + std::to_string(line) + ":" + std::to_string(before.size() - line_start + 1);
}

// Walks the text and tells how far the parser has read.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, std::size_t* read) : at_(at), read_(read) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    ++at_;
    ++*read_;
    return *this;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  std::size_t* read_;
};

template <class Json>
class Builder {
 public:
  using number_integer_t = typename Json::number_integer_t;
  using number_unsigned_t = typename Json::number_unsigned_t;
  using number_float_t = typename Json::number_float_t;
  using string_t = typename Json::string_t;
  using binary_t = typename Json::binary_t;

  Builder(std::string_view text, const std::string& where, const JsonLimits& limits,
          const std::size_t& read)
      : text_(text), where_(where), limits_(limits), read_(read) {}

  Json take() { return std::move(root_); }

  bool null() { return put(nullptr); }
  bool boolean(bool value) { return put(value); }
  bool number_integer(number_integer_t value) {
    if (value < limits_.least_integer) return beyond(std::to_string(value));
    return put(value);
  }
  bool number_unsigned(number_unsigned_t value) {
    if (value > limits_.greatest_integer) return beyond(std::to_string(value));
    return put(value);
  }
  // `written` is the number as the text has it.
  bool number_float(number_float_t value, const string_t& written) {
    if (written.find_first_of(".eE") == std::string::npos) return beyond(written);
    if (!std::isfinite(value)) fail(printable(written) + " is too large for a number");
    const std::string_view mantissa =
        std::string_view(written).substr(0, written.find_first_of("eE"));
    if (value == 0 && mantissa.find_first_of("123456789") != std::string_view::npos) {
      fail(printable(written) + " is too small for a number: it would be read as zero");
    }
    return put(value);
  }
  bool string(string_t& value) { return put(std::move(value)); }
  bool binary(binary_t&) { return false; }

  bool start_object(std::size_t) { return open(Json::object()); }
  bool start_array(std::size_t) { return open(Json::array()); }
  bool end_object() {
    if constexpr (kOrdered) keys_.pop_back();
    return close();
  }
  bool end_array() { return close(); }
  bool key(string_t& name) {
    bool second = false;
    if constexpr (kOrdered) {
      second = !keys_.back().insert(name).second;
    } else {
      second = open_.back()->contains(name);
    }
    if (second) fail("duplicate key " + in_quotes(name));
    key_ = std::move(name);
    return true;
  }

  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& error) {
    std::string what = error.what();  // "[json...] parse error at line 1, column 2: what"
    if (const std::size_t colon = what.find(": "); colon != std::string::npos) {
      what = what.substr(colon + 2);
    } else if (const std::size_t bracket = what.find("] "); bracket != std::string::npos) {
      what = what.substr(bracket + 2);
    }
    fail("not JSON: " + printable(what, kMaxSyntaxText));
    return false;
  }

 private:
  // ordered_json looks every key up when one is added, so here a set knows them.
  static constexpr bool kOrdered = std::is_same_v<Json, nlohmann::ordered_json>;

  [[noreturn]] void fail(const std::string& what) const {
    refuse(place(where_, text_, read_ == 0 ? 0 : read_ - 1), what);
  }
  bool beyond(const std::string& written) {
    if (!limits_.digits_beyond) too_large(printable(written));
    return put(Json::binary({written.begin(), written.end()}));
  }
  [[noreturn]] void too_large(const std::string& written) const {
    const bool exact = limits_.greatest_integer <= static_cast<std::uint64_t>(kMaxExactInteger);
    fail(written + (exact ? " is an integer beyond 2^53, which JSON readers do not keep: write a "
                            "string"
                          : " is an integer of more than 64 bits"));
  }

  Json* place_value(Json value) {
    if (++values_ > limits_.values) fail("more than " + std::to_string(limits_.values) + " values");
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Json& parent = *open_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    if constexpr (kOrdered) {
      using Members = typename Json::object_t;
      auto& members = parent.template get_ref<Members&>();
      static_cast<std::vector<typename Members::value_type>&>(members).emplace_back(
          key_, std::move(value));
      return &members.back().second;
    } else {
      return &(parent[key_] = std::move(value));
    }
  }
  bool put(Json value) {
    place_value(std::move(value));
    return true;
  }
  bool open(Json value) {
    if (open_.size() == limits_.depth) {
      fail("nested deeper than " + std::to_string(limits_.depth) + " levels");
    }
    Json* placed = place_value(std::move(value));
    open_.push_back(placed);
    if constexpr (kOrdered) {
      if (placed->is_object()) keys_.emplace_back();
    }
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  std::string_view text_;
  const std::string& where_;
  const JsonLimits& limits_;
  const std::size_t& read_;
  std::size_t values_ = 0;
  Json root_;
  std::vector<Json*> open_;
  std::vector<std::unordered_set<std::string>> keys_;  // of the open objects, when kOrdered
  std::string key_;
};

template <class Json>
Json parse(std::string_view text, const std::string& where, const JsonLimits& limits) {
  // nlohmann's lexer takes a NUL byte for the end of the input, and skips a byte order mark.
  if (text.starts_with("\xEF\xBB\xBF")) {
    refuse(place(where, text, 0), "not JSON: it starts with a byte order mark");
  }
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) {
    refuse(place(where, text, nul), "not JSON: it contains a NUL byte");
  }
  if (const std::size_t bad = find_invalid_utf8(text); bad != std::string_view::npos) {
    refuse(place(where, text, bad), "not JSON: not UTF-8");
  }
  std::size_t read = 0;
  Builder<Json> builder(text, where, limits, read);
  Json::sax_parse(CountingIterator(text.data(), &read),
                  CountingIterator(text.data() + text.size(), &read), &builder);
  return builder.take();
}

}  // namespace

nlohmann::json parse_strict(std::string_view text, const std::string& where,
                            const JsonLimits& limits) {
  return parse<nlohmann::json>(text, where, limits);
}

nlohmann::ordered_json parse_strict_ordered(std::string_view text, const std::string& where,
                                            const JsonLimits& limits) {
  return parse<nlohmann::ordered_json>(text, where, limits);
}

nlohmann::json read_strict(const std::filesystem::path& file, std::size_t limit_bytes) {
  return parse_strict(read_file(file, limit_bytes), file.string());
}

nlohmann::json parse_or_discard(std::string_view text) {
  try {
    JsonLimits limits = kIntegersOf64Bits;
    limits.digits_beyond = true;
    return parse_strict(text, "", limits);
  } catch (const FormatError&) {
    return nlohmann::json(nlohmann::json::value_t::discarded);
  }
}

}  // namespace octlm::formats
