// The parts of a spec that several kinds read the same way: model, subject, reference, cases.
// All of them throw verify::SpecError with file, JSON path and the nearest known name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiments/engines/engine_table.h"
#include "experiments/engines/environment.h"
#include "reference/path.h"
#include "verify/spec.h"

namespace octlm::experiments {

// {"id", "revision"?, "files"?: {name: "sha256:..."}}; a hub id ("org/name") must have its
// revision.
ModelReference read_model(const verify::Reader& reader);

struct SubjectPart {
  std::string engine;  // a name of the table of engines
  std::string dtype;
  std::vector<std::string> devices;
  std::vector<reference::Path> paths;
};

// {"engine", "dtype", "devices": [...], "paths": [...]}; `engines` are the names it may say.
SubjectPart read_subject(const verify::Reader& reader,
                         const std::vector<std::string>& engines = engine_names());
// The devices of a subject alone.
std::vector<std::string> read_devices(const verify::Reader& reader);

struct ReferencePart {
  std::string engine;     // a name of the table of engines
  std::string attention;  // "eager", "sdpa"
  std::string dtype;
  bool tf32 = false;
};

// {"engine", "attention", "dtype", "tf32"}
ReferencePart read_reference(const verify::Reader& reader,
                             const std::vector<std::string>& engines = engine_names());

struct TokenCase {
  std::string name;
  std::vector<std::int32_t> token_ids;  // may be empty until fill_token_ids (case_ids.h)
  std::string text;  // what they stand for; of a chat, its rendering; "" when not given
  std::string mode;  // of the text: "literal", "native"; "" when not given
  std::optional<std::string> chat;  // a JSON object with the chat (chat_request.h)
  std::string ids_from =
      "spec";  // for the record: "spec", "text", "chat", "spec, equal to its text"
};

// [{"name", "token_ids"?, "text"?, "mode"?: "literal"|"native"}] or
// [{"name", "token_ids"?, "chat": FILE of one chat, "thinking"?, "text"?}]: names are unique, and
// there are ids, a text or a chat.
std::vector<TokenCase> read_token_cases(const verify::Reader& reader);

std::vector<std::int32_t> read_token_ids(const verify::Reader& reader);

// Faults that must_catch may name (design.md, "planted faults").
const std::vector<std::string>& fault_names();

}  // namespace octlm::experiments
