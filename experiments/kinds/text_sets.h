// Texts and lists of ids made from a rule, for the cases of tokenizer_parity that are too many to
// be written down. A rule's name carries its version: what `random_texts@1` makes never changes, on
// any machine (docs/spec-format.md has what each is).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "formats/json_reader.h"

namespace octlm::experiments {

using TokenIds = std::vector<std::int32_t>;

struct TextSet {
  std::string name;
  std::int64_t count = 0;  // random_texts@1
  std::uint64_t seed = 0;
};

struct IdSet {
  std::string name;
  std::int64_t count = 0;
  std::uint64_t seed = 0;
  std::int32_t from = 0, below = 0;  // ids in [from, below)
};

// {"set": "code_points@1" | "code_points_in_context@1" | "long_words@1"} or
// {"set": "random_texts@1", "count", "seed"}. Throws formats::FormatError.
TextSet read_text_set(formats::ObjectReader& members);
// {"set": "random_ids@1", "count", "seed", "from", "below"}
IdSet read_id_set(const formats::Reader& reader);

// Blocks of a bounded size, in order; each is valid during its call.
void for_each_block(const TextSet& set,
                    const std::function<void(std::span<const std::string>)>& take);
void for_each_block(const IdSet& set, const std::function<void(std::span<const TokenIds>)>& take);

}  // namespace octlm::experiments
