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

// A name that stays below the spec's folder: relative, without "..". Throws formats::FormatError.
std::string read_file_name(const formats::Reader& reader);

// Where the file is; when it is in neither place, where it should be.
std::filesystem::path prompt_file(const std::filesystem::path& spec, const std::string& name);

// For Kind::files: every file that a case names as its `chat`, or as the `file` of its `texts`.
// Takes a spec whose cases have not been checked yet.
std::map<std::string, std::filesystem::path> files_of_cases(const verify::Spec& spec);

// The texts of a .jsonl file: a JSON string on each line. Throws formats::FormatError.
std::vector<std::string> read_texts(const std::filesystem::path& file);
// The chats of a .json file (one) or a .jsonl file (one on each line), as JSON objects. The order
// of keys is kept: templates print it. Throws formats::FormatError.
std::vector<std::string> read_chats(const std::filesystem::path& file);
// The chat with `enable_thinking`. Throws formats::FormatError, beginning with `where`, when it has
// it already.
std::string with_thinking(const std::string& chat, bool thinking, const std::string& where);

}  // namespace octlm::experiments
