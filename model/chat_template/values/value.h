// A value of the template language: what Python's None, bool, int, float, str, list, tuple, dict
// and a few iterators are to Jinja, and who it came from.
//
// Origin. A string knows for every byte who wrote it (RenderedText). Every other value has one
// origin: kTemplate only when nothing but the template's own literals went into it. Its printed
// form has that origin. Containers never change once made; only a namespace does, and a Runtime
// takes those apart at the end, so that they cannot keep each other alive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "model/chat_template/budget.h"
#include "model/rendered_text.h"

namespace octlm::model::jinja {

using Text = RenderedText;

class Value;
class Runtime;
struct Dict;
struct Namespace;
struct LoopState;

// In order, as a call wrote them.
struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};

struct Callable {
  std::string name;
  std::function<Value(Arguments&)> call;
  int depth = 0;  // of the value that a method is bound to
};

// An integer of more than 64 bits, by its digits: it can be printed, not reckoned with.
struct BigInteger {
  std::string digits;
};

struct Undefined {
  std::shared_ptr<const std::string> why;
};
struct None {};

enum class SequenceKind { kList, kTuple, kRange, kKeys, kValues, kItems, kIterator };

struct Sequence {
  SequenceKind kind;
  std::vector<Value> items;
  int depth = 1;
  mutable std::size_t next = 0;  // an iterator can be walked once
};

class Value {
 public:
  using Data =
      std::variant<Undefined, None, bool, std::int64_t, double, std::shared_ptr<const BigInteger>,
                   std::shared_ptr<const Text>, std::shared_ptr<const Sequence>,
                   std::shared_ptr<const Dict>, std::shared_ptr<Namespace>,
                   std::shared_ptr<const Callable>, std::shared_ptr<LoopState>>;

  Value() : data_(None{}) {}
  Value(Data data, Origin origin) : data_(std::move(data)), origin_(origin) {}
  static Value undefined(std::string why);
  static Value boolean(bool value, Origin origin = Origin::kUser) { return {Data(value), origin}; }
  static Value integer(std::int64_t value, Origin origin = Origin::kUser) {
    return {Data(value), origin};
  }
  static Value big_integer(std::string digits, Origin origin = Origin::kUser);
  static Value real(double value, Origin origin = Origin::kUser) { return {Data(value), origin}; }
  static Value string(Text text);
  static Value literal(std::string_view text);  // a string the template itself wrote

  bool is_undefined() const { return std::holds_alternative<Undefined>(data_); }
  bool is_none() const { return std::holds_alternative<None>(data_); }
  const bool* boolean() const { return std::get_if<bool>(&data_); }
  const double* real() const { return std::get_if<double>(&data_); }
  // Python's int, of which bool is a kind.
  std::optional<std::int64_t> integer() const;
  const BigInteger* big_integer() const;
  // That can be reckoned with.
  bool is_number() const { return real() != nullptr || integer().has_value(); }
  const Text* string() const;
  const Sequence* sequence() const;
  const Sequence* sequence(SequenceKind kind) const;  // of that kind only
  const Dict* dict() const;
  Namespace* as_namespace() const;
  const Callable* callable() const;
  LoopState* loop() const;

  const std::string& why_undefined() const { return *std::get<Undefined>(data_).why; }
  // One of kUser and kTemplate; a string is kTemplate when every byte of it is.
  Origin origin() const;
  // What |safe returns: Markup, which escapes what is joined to it with +.
  bool is_markup() const { return markup_; }
  Value as_markup() const;

  int depth() const;
  bool truth() const;
  // Python's name of the type, for messages.
  std::string_view type_name() const;
  const Data& data() const { return data_; }

 private:
  Data data_;
  Origin origin_ = Origin::kUser;
  bool markup_ = false;
};

// In order of insertion. A string key is found by its text; the few others by comparison.
struct Dict {
  std::vector<std::pair<Value, Value>> entries;
  std::unordered_map<std::string, std::size_t> by_text;
  int depth = 1;
};

struct Namespace {
  std::vector<std::pair<std::string, Value>> members;
  const Value* find(std::string_view name) const;
  void set(std::string_view name, Value value);
};

// kTemplate only if both are.
inline Origin joint(Origin a, Origin b) {
  return a == Origin::kTemplate && b == Origin::kTemplate ? Origin::kTemplate : Origin::kUser;
}

}  // namespace octlm::model::jinja
