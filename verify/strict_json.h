// JSON that comes from outside, read so that nothing in it can be overlooked: every refusal names
// the file, the place, and the nearest known name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace octlm::verify {

// "experiments/registered/EXP-074.json: $.tolerence: unknown key; did you mean "tolerance"?"
class SpecError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Parses one JSON value. Refuses, as "FILE:LINE:COLUMN: what": anything RFC 8259 refuses, duplicate
// keys, text after the value, invalid UTF-8, a byte order mark, nesting deeper than 64, numbers
// that overflow or underflow a double, integers beyond +-2^53 (no other JSON reader would keep
// them).
nlohmann::json parse_strict(std::string_view text, const std::string& file);

// The same of a file of at most 64 MiB. Throws SpecError when it cannot be read.
nlohmann::json read_strict(const std::filesystem::path& file);

// The whole file as bytes. Throws SpecError with the path and why.
std::string read_file(const std::filesystem::path& file);

class ObjectReader;

// A value and where it stands. Points into the document: REQUIRES it to outlive the reader.
// Every accessor throws SpecError "FILE: PATH: expected ..., found ..." when the value is of
// another type.
class Reader {
 public:
  Reader(const nlohmann::json& value, std::string file, std::string path = "$");

  // Calls `members` with a reader of this object's members, then refuses every key it did not ask
  // for.
  void object(const std::function<void(ObjectReader&)>& members) const;

  std::vector<Reader> array() const;            // [] is accepted
  std::vector<Reader> non_empty_array() const;  // [] is refused

  std::string string() const;            // "" is accepted
  std::string non_empty_string() const;  // "" and white space alone are refused
  // One of `names`; refuses others with the nearest.
  std::string one_of(const std::vector<std::string>& names) const;
  bool boolean() const;
  double number() const;  // finite
  // An integer (written without fraction or exponent) in [min, max].
  std::int64_t integer(std::int64_t min = std::numeric_limits<std::int64_t>::min(),
                       std::int64_t max = std::numeric_limits<std::int64_t>::max()) const;

  const nlohmann::json& raw() const { return *value_; }
  const std::string& file() const { return file_; }
  const std::string& path() const { return path_; }  // "$.criteria[0].at_most"

  // Throws SpecError "FILE: PATH: what".
  [[noreturn]] void fail(const std::string& what) const;

 private:
  const nlohmann::json* value_;
  std::string file_;
  std::string path_;
};

// The members of one object; made by Reader::object only.
class ObjectReader {
 public:
  Reader required(const std::string& key);
  std::optional<Reader> optional(const std::string& key);
  // Every member by name, for objects whose keys are free ({"model.safetensors": "sha256:..."}).
  std::vector<std::pair<std::string, Reader>> all();

  // Throws SpecError at the object itself.
  [[noreturn]] void fail(const std::string& what) const { self_.fail(what); }

 private:
  friend class Reader;
  explicit ObjectReader(const Reader& self) : self_(self) {}
  Reader member(const std::string& key) const;
  void refuse_unknown() const;

  Reader self_;
  std::vector<std::string> asked_;
};

// The candidate with the smallest edit distance to `name`, when that is small enough to be a slip
// (at most a third of the length, and one at least); "" otherwise.
std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);

// `; did you mean "x"?` or, when nothing is near, `; known: a, b, c`.
std::string suggestion(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace octlm::verify
