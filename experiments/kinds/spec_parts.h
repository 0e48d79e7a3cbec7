// The parts of a spec that several kinds read the same way: model, subject, reference, cases.
// All of them throw formats::FormatError with file, JSON path and the nearest known name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "experiments/engines/engine_table.h"
#include "experiments/engines/environment.h"
#include "experiments/kinds/prompt_files.h"
#include "formats/error.h"
#include "reference/split.h"
#include "verify/spec.h"

namespace octlm::experiments {

// {"id", "revision"?, "files"?: {name: "sha256:..."}}; a hub id ("org/name") must have its
// revision.
ModelReference read_model(const formats::Reader& reader);

struct SubjectPart {
  std::string engine;  // a name of the table of engines
  std::string dtype;
  std::vector<std::string> devices;
  std::vector<reference::Split> paths;
};

// {"engine", "dtype", "devices": [...], "paths": [...]}; `engines` are the names it may say.
SubjectPart read_subject(const formats::Reader& reader,
                         const std::vector<std::string>& engines = engine_names());
// Parts of it, where they stand elsewhere.
std::vector<std::string> read_devices(const formats::Reader& reader);
reference::Split read_path(const formats::Reader& reader);

struct ReferencePart {
  std::string engine;     // a name of the table of engines
  std::string attention;  // "eager", "sdpa"
  std::string dtype;
  bool tf32 = false;
};

// {"engine", "attention", "dtype", "tf32"}
ReferencePart read_reference(const formats::Reader& reader,
                             const std::vector<std::string>& engines = engine_names());

struct TokenCase {
  std::string name;
  std::vector<std::int32_t> token_ids;  // may be empty until fill_token_ids (case_ids.h)
  std::string text;  // what they stand for; of a chat, its rendering; "" when not given
  std::string mode;  // of the text: "literal", "native"; "" when not given
  std::optional<PromptFile> file;   // of the chat
  std::optional<std::string> chat;  // a JSON object with the chat (chat_request.h)
  // For the record: "spec", "text", "chat", "spec, equal to its text".
  std::string ids_from = "spec";
};

// [{"name", "token_ids"?, "text"?, "mode"?: "literal"|"native"}] or
// [{"name", "token_ids"?, "chat": FILE of one chat, "thinking"?, "text"?}]: names are unique, and
// there are ids, a text or a chat.
std::vector<TokenCase> read_token_cases(const formats::Reader& reader,
                                        Prompts prompts = Prompts::kRead);
// Kind::files of kinds whose `cases` are these.
std::map<std::string, std::filesystem::path> files_of_token_cases(const verify::Spec& spec);

std::vector<std::int32_t> read_token_ids(const formats::Reader& reader);

// Faults that must_catch may name (docs/spec-format.md).
const std::vector<std::string>& fault_names();

}  // namespace octlm::experiments
