// nlohmann's SAX parser checks the grammar; the handler below builds the value and refuses what the
// grammar allows. The place of an error is how far the parser has read, counted by the iterator.
#include "verify/strict_json.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "verify/utf8.h"

namespace octlm::verify {
namespace {

constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kMaxFileBytes = std::size_t{64} << 20;
constexpr std::int64_t kMaxInteger = std::int64_t{1} << 53;

// "FILE:LINE:COLUMN" of an offset; columns count bytes from 1.
std::string place(const std::string& file, std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 = 0
  return file + ":" + std::to_string(line) + ":" + std::to_string(before.size() - line_start + 1);
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

class Handler {
 public:
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;

  Handler(std::string_view text, const std::string& file, const std::size_t& read)
      : text_(text), file_(file), read_(read) {}

  nlohmann::json take() { return std::move(root_); }

  bool null() { return put(nullptr); }
  bool boolean(bool value) { return put(value); }
  bool number_integer(number_integer_t value) {
    if (value < -kMaxInteger) too_large(std::to_string(value));
    return put(value);
  }
  bool number_unsigned(number_unsigned_t value) {
    if (value > static_cast<number_unsigned_t>(kMaxInteger)) too_large(std::to_string(value));
    return put(static_cast<std::int64_t>(value));
  }
  // `written` is the number as the text has it.
  bool number_float(number_float_t value, const string_t& written) {
    if (written.find_first_of(".eE") == std::string::npos) too_large(written);
    if (!std::isfinite(value)) fail(written + " is too large for a number");
    const std::string mantissa = written.substr(0, written.find_first_of("eE"));
    if (value == 0 && mantissa.find_first_of("123456789") != std::string::npos) {
      fail(written + " is too small for a number: it would be read as zero");
    }
    return put(value);
  }
  bool string(string_t& value) { return put(std::move(value)); }
  bool binary(binary_t&) { return false; }

  bool start_object(std::size_t) { return open(nlohmann::json::object()); }
  bool start_array(std::size_t) { return open(nlohmann::json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(string_t& name) {
    if (open_.back()->contains(name)) fail("duplicate key \"" + name + "\"");
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
    fail(what);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw SpecError(place(file_, text_, read_ == 0 ? 0 : read_ - 1) + ": " + what);
  }
  [[noreturn]] void too_large(const std::string& written) const {
    fail(written + " is an integer beyond 2^53, which JSON readers do not keep: write a string");
  }

  nlohmann::json* place_value(nlohmann::json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    nlohmann::json& parent = *open_.back();
    if (parent.is_object()) return &(parent[key_] = std::move(value));
    parent.push_back(std::move(value));
    return &parent.back();
  }
  bool put(nlohmann::json value) {
    place_value(std::move(value));
    return true;
  }
  bool open(nlohmann::json value) {
    if (open_.size() == kMaxDepth) fail("nested deeper than " + std::to_string(kMaxDepth));
    open_.push_back(place_value(std::move(value)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  std::string_view text_;
  const std::string& file_;
  const std::size_t& read_;
  nlohmann::json root_;
  std::vector<nlohmann::json*> open_;
  std::string key_;
};

// "an object", "the string "x"": what was found, in at most a few words.
std::string describe(const nlohmann::json& value) {
  switch (value.type()) {
    case nlohmann::json::value_t::object:
      return "an object";
    case nlohmann::json::value_t::array:
      return "an array";
    case nlohmann::json::value_t::string: {
      const auto& text = value.get_ref<const std::string&>();
      return text.size() <= 40 ? "the string \"" + text + "\"" : "a string";
    }
    default:
      return value.dump();
  }
}

bool blank(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isspace(c) != 0; });
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] != b[j - 1] ? 1 : 0);
      diagonal = row[j];
      row[j] = std::min({substituted, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

// $.files["model.safetensors"], $.criteria: plain where the key is a name.
std::string member_path(const std::string& path, const std::string& key) {
  const bool plain = !key.empty() && std::all_of(key.begin(), key.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_';
  });
  return plain ? path + "." + key : path + "[" + nlohmann::json(key).dump() + "]";
}

}  // namespace

nlohmann::json parse_strict(std::string_view text, const std::string& file) {
  if (text.starts_with("\xEF\xBB\xBF"))
    throw SpecError(file + ":1:1: starts with a byte order mark");
  if (const std::size_t bad = first_invalid_utf8(text); bad != std::string_view::npos) {
    throw SpecError(place(file, text, bad) + ": not UTF-8");
  }
  std::size_t read = 0;
  Handler handler(text, file, read);
  nlohmann::json::sax_parse(CountingIterator(text.data(), &read),
                            CountingIterator(text.data() + text.size(), &read), &handler);
  return handler.take();
}

std::string read_file(const std::filesystem::path& file) {
  const auto refuse = [&](const std::string& why) { throw SpecError(file.string() + ": " + why); };
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) refuse("is a folder");
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream(std::fopen(file.c_str(), "rb"),
                                                               std::fclose);
  if (stream == nullptr) refuse(std::string("cannot be read: ") + std::strerror(errno));
  std::string text;
  char buffer[1 << 16];
  while (const std::size_t got = std::fread(buffer, 1, sizeof buffer, stream.get())) {
    text.append(buffer, got);
    if (text.size() > kMaxFileBytes) refuse("larger than 64 MiB");
  }
  if (std::ferror(stream.get())) refuse(std::string("cannot be read: ") + std::strerror(errno));
  return text;
}

nlohmann::json read_strict(const std::filesystem::path& file) {
  return parse_strict(read_file(file), file.string());
}

Reader::Reader(const nlohmann::json& value, std::string file, std::string path)
    : value_(&value), file_(std::move(file)), path_(std::move(path)) {}

void Reader::fail(const std::string& what) const {
  throw SpecError(file_ + ": " + path_ + ": " + what);
}

void Reader::object(const std::function<void(ObjectReader&)>& members) const {
  if (!value_->is_object()) fail("expected an object, found " + describe(*value_));
  ObjectReader reader(*this);
  members(reader);
  reader.refuse_unknown();
}

std::vector<Reader> Reader::array() const {
  if (!value_->is_array()) fail("expected an array, found " + describe(*value_));
  std::vector<Reader> elements;
  for (std::size_t i = 0; i < value_->size(); ++i) {
    elements.emplace_back((*value_)[i], file_, path_ + "[" + std::to_string(i) + "]");
  }
  return elements;
}

std::vector<Reader> Reader::non_empty_array() const {
  std::vector<Reader> elements = array();
  if (elements.empty()) fail("is empty");
  return elements;
}

std::string Reader::string() const {
  if (!value_->is_string()) fail("expected a string, found " + describe(*value_));
  return value_->get<std::string>();
}

std::string Reader::non_empty_string() const {
  std::string text = string();
  if (blank(text)) fail("is empty");
  return text;
}

std::string Reader::one_of(const std::vector<std::string>& names) const {
  std::string name = string();
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    fail("\"" + name + "\" is not known" + suggestion(name, names));
  }
  return name;
}

bool Reader::boolean() const {
  if (!value_->is_boolean()) fail("expected true or false, found " + describe(*value_));
  return value_->get<bool>();
}

double Reader::number() const {
  if (!value_->is_number()) fail("expected a number, found " + describe(*value_));
  const double number = value_->get<double>();
  if (!std::isfinite(number)) fail("expected a finite number");
  return number;
}

std::int64_t Reader::integer(std::int64_t min, std::int64_t max) const {
  if (!value_->is_number_integer()) fail("expected an integer, found " + describe(*value_));
  const auto integer = value_->get<std::int64_t>();
  if (integer < min || integer > max) {
    fail(std::to_string(integer) + " is not in [" + std::to_string(min) + ", " +
         std::to_string(max) + "]");
  }
  return integer;
}

Reader ObjectReader::member(const std::string& key) const {
  return Reader(self_.raw().at(key), self_.file(), member_path(self_.path(), key));
}

std::optional<Reader> ObjectReader::optional(const std::string& key) {
  asked_.push_back(key);
  if (!self_.raw().contains(key)) return std::nullopt;
  return member(key);
}

Reader ObjectReader::required(const std::string& key) {
  if (std::optional<Reader> found = optional(key)) return *found;
  // A key that nobody asked for and that looks like this one is the better message.
  for (const auto& [name, value] : self_.raw().items()) {
    const bool known = std::find(asked_.begin(), asked_.end(), name) != asked_.end();
    if (!known && !nearest_name(name, {key}).empty()) {
      member(name).fail("unknown key; did you mean \"" + key + "\"?");
    }
  }
  self_.fail("the key \"" + key + "\" is missing");
}

std::vector<std::pair<std::string, Reader>> ObjectReader::all() {
  std::vector<std::pair<std::string, Reader>> members;
  for (const auto& [name, value] : self_.raw().items()) {
    asked_.push_back(name);
    members.emplace_back(name, member(name));
  }
  return members;
}

void ObjectReader::refuse_unknown() const {
  for (const auto& [name, value] : self_.raw().items()) {
    if (std::find(asked_.begin(), asked_.end(), name) == asked_.end()) {
      member(name).fail("unknown key" + suggestion(name, asked_));
    }
  }
}

std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
  std::string nearest;
  std::size_t least = std::max<std::size_t>(1, name.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < least) {
      least = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

std::string suggestion(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string nearest = nearest_name(name, candidates);
  if (!nearest.empty()) return "; did you mean \"" + nearest + "\"?";
  if (candidates.empty()) return "; there are none";
  std::string known = "; known: ";
  for (std::size_t i = 0; i < candidates.size(); ++i) known += (i ? ", " : "") + candidates[i];
  return known;
}

}  // namespace octlm::verify
