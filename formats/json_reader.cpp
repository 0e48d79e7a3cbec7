#include "formats/json_reader.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <string_view>

#include "formats/nearest_name.h"

namespace octlm::formats {
namespace {

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

// $.files["model.safetensors"], $.criteria: plain where the key is a name.
std::string member_path(const std::string& path, const std::string& key) {
  const bool plain = !key.empty() && std::all_of(key.begin(), key.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_';
  });
  return plain ? path + "." + key : path + "[" + nlohmann::json(key).dump() + "]";
}

}  // namespace

Reader::Reader(const nlohmann::json& value, std::string file, std::string path)
    : value_(&value), file_(std::move(file)), path_(std::move(path)) {}

void Reader::fail(const std::string& what) const { refuse(file_ + ": " + path_, what); }

void Reader::object(const std::function<void(ObjectReader&)>& members) const {
  if (!value_->is_object()) fail("expected an object, found " + describe(*value_));
  ObjectReader reader(*this);
  // Where it broke off, keys were not asked for that are known.
  if (reader.findings_.collect([&] { members(reader); })) reader.refuse_unknown();
  reader.findings_.raise();
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

void Reader::each(const std::function<void(const Reader&)>& read) const {
  Findings findings;
  for (const Reader& element : array()) findings.collect([&] { read(element); });
  findings.raise();
}

void Reader::each_of_non_empty(const std::function<void(const Reader&)>& read) const {
  (void)non_empty_array();
  each(read);
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
      asked_.push_back(name);  // it is refused here, once
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

void ObjectReader::refuse_unknown() {
  for (const auto& [name, value] : self_.raw().items()) {
    if (std::find(asked_.begin(), asked_.end(), name) != asked_.end()) continue;
    const std::string key = name;
    findings_.collect([&] { member(key).fail("unknown key" + suggestion(key, asked_)); });
  }
}

bool ObjectReader::required(const std::string& key,
                            const std::function<void(const Reader&)>& read) {
  return findings_.collect([&] { read(required(key)); });
}

bool ObjectReader::optional(const std::string& key,
                            const std::function<void(const Reader&)>& read) {
  const auto value = optional(key);
  return value && findings_.collect([&] { read(*value); });
}

}  // namespace octlm::formats
