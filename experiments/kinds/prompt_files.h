// The files that a spec's cases name: "prompts/chats.jsonl" is looked for beside the spec, then in
// the folder above. Their content is part of the spec's digest (verify::Kind::files).
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "formats/error.h"
#include "verify/spec.h"

namespace octlm::experiments {

struct PromptFile {
  std::string name;            // as the spec has it: relative, without ".."
  std::filesystem::path path;  // when it is in neither place, where it should be
};
// Throws formats::FormatError.
PromptFile read_prompt_file(const formats::Reader& reader);

// How far a spec's cases are read: the digest needs the names of their files, a run their content.
enum class Prompts { kNamed, kRead };

// For Kind::files, of cases that have their `file`.
template <class Case>
std::map<std::string, std::filesystem::path> files_of(const std::vector<Case>& cases) {
  std::map<std::string, std::filesystem::path> files;
  for (const Case& one : cases) {
    if (one.file) files[one.file->name] = one.file->path;
  }
  return files;
}

// The texts of a .jsonl file: a JSON string on each line. Throws formats::FormatError.
std::vector<std::string> read_texts(const std::filesystem::path& file);
// The chats of a .json file (one) or a .jsonl file (one on each line), as JSON objects. The order
// of keys is kept: templates print it. Throws formats::FormatError.
std::vector<std::string> read_chats(const std::filesystem::path& file);
// The chat with `enable_thinking`. Throws formats::FormatError, beginning with `where`, when it has
// it already.
std::string with_thinking(const std::string& chat, bool thinking, const std::string& where);

}  // namespace octlm::experiments
