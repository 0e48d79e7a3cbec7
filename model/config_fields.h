// The fields of one JSON object of config.json against a table that has a row for every field octlm
// knows. A field without a row is refused, so nothing can be overlooked. Used inside model/ only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/checkpoint_json.h"

namespace octlm::model {

struct Config;

// Limits that keep every product of sizes inside int64: parameters of a layer below 2^46, cache
// bytes (layers x 2 x width x 8 bytes x positions) up to 2^62, bytes of all logits up to 2^58. Each
// is 16 times or more beyond the largest published model's.
inline constexpr std::int64_t kMaxLayers = std::int64_t{1} << 10;
inline constexpr std::int64_t kMaxWidth = std::int64_t{1} << 20;  // hidden_size, heads x head_dim
inline constexpr std::int64_t kMaxHeadDim = std::int64_t{1} << 12;
inline constexpr std::int64_t kMaxIntermediate = std::int64_t{1} << 24;
inline constexpr std::int64_t kMaxVocab = std::int64_t{1} << 27;
inline constexpr std::int64_t kMaxPositions = std::int64_t{1} << 28;

struct FieldRule {
  enum class Kind {
    kHonoured,       // read into Config
    kWithoutEffect,  // cannot change logits; `reason` says why
    kOnly,           // changes the function, and only the values in `supported` are implemented
  };
  std::string_view name;
  Kind kind = Kind::kHonoured;
  std::string_view reason;
  // kOnly: a JSON array of the accepted values; absence is accepted too.
  std::string_view supported;
};

class ConfigFields {
 public:
  // `where` names the source, `path` the object inside it ("rope_scaling.", "" for the root).
  // Throws std::runtime_error on a field without a row and on a kOnly field of another value.
  ConfigFields(const Json& object, std::string where, std::string path,
               std::vector<FieldRule> rules);

  // Present, null included. `name` must have a row.
  bool present(std::string_view name) const;
  // Present and not null.
  bool has(std::string_view name) const;
  const Json& value(std::string_view name) const;  // throws when absent

  // Required fields: absent or null, of another type, or outside [low, high], throws.
  std::int64_t integer(std::string_view name, std::int64_t low, std::int64_t high) const;
  double positive_number(std::string_view name) const;
  bool boolean(std::string_view name) const;
  std::string text(std::string_view name) const;

  // Throws: file, field, what was found, what is supported.
  [[noreturn]] void refuse_field(std::string_view name, const std::string& supported) const;
  // Throws: file, then `what`.
  [[noreturn]] void refuse_whole(const std::string& what) const { refuse(where_, what); }

  const std::string& where() const { return where_; }
  std::string full_name(std::string_view name) const { return path_ + std::string(name); }

 private:
  const Json* find(std::string_view name) const;

  const Json& object_;
  std::string where_;
  std::string path_;
  std::vector<FieldRule> rules_;
};

// hidden_size / num_attention_heads, for configs that leave head_dim to be derived. Throws when
// that is no even integer.
std::int64_t derived_head_dim(const ConfigFields& fields, const Config& config);

// layer_types absent, null, or "full_attention" for each of num_hidden_layers; else throws.
void check_full_attention_layers(const ConfigFields& fields, const Config& config);

}  // namespace octlm::model
