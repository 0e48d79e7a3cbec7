// The members of parsed JSON, read so that none can be overlooked: every refusal names the file,
// the path to the value, and the nearest known name.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "formats/error.h"
#include "formats/strict_json.h"

namespace octlm::formats {

class ObjectReader;

// A value and where it stands. Points into the document: REQUIRES it to outlive the reader.
// Every accessor throws FormatError "FILE: PATH: expected ..., found ..." when the value is of
// another type.
class Reader {
 public:
  Reader(const nlohmann::json& value, std::string file, std::string path = "$");

  // Calls `members` with a reader of this object's members, then refuses every key it did not ask
  // for. What members refuse that are read by ObjectReader's two-argument calls, and all unknown
  // keys, are refused together, a finding a line.
  void object(const std::function<void(ObjectReader&)>& members) const;

  std::vector<Reader> array() const;            // [] is accepted
  std::vector<Reader> non_empty_array() const;  // [] is refused
  // Reads each element; what several refuse is refused together.
  void each(const std::function<void(const Reader&)>& read) const;               // [] is accepted
  void each_of_non_empty(const std::function<void(const Reader&)>& read) const;  // [] is refused

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

  // Throws FormatError "FILE: PATH: what".
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
  // The same, read at once: what is refused is kept until all members were read. False when it was,
  // or (optional) when there is no such key.
  bool required(const std::string& key, const std::function<void(const Reader&)>& read);
  bool optional(const std::string& key, const std::function<void(const Reader&)>& read);
  // Every member by name, for objects whose keys are free ({"model.safetensors": "sha256:..."}).
  std::vector<std::pair<std::string, Reader>> all();

  // Throws FormatError at the object itself.
  [[noreturn]] void fail(const std::string& what) const { self_.fail(what); }

 private:
  friend class Reader;
  explicit ObjectReader(const Reader& self) : self_(self) {}
  Reader member(const std::string& key) const;
  void refuse_unknown();

  Reader self_;
  Findings findings_;
  std::vector<std::string> asked_;
};

}  // namespace octlm::formats
