// A checkpoint's files while an experiment uses them: what was hashed, what was loaded and what is
// computed with are the same bytes, or the comparison is an error. And the files that the engines
// read and the spec does not pin, for the record.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "experiments/engines/environment.h"
#include "experiments/engines/files_read.h"
#include "formats/file_stamp.h"
#include "verify/kind.h"

namespace octlm::experiments {

class WatchedFiles {
 public:
  // Notes the state of every file that an engine may read. To be made before anything is hashed or
  // loaded. Throws FormatError for one that is no file (a FIFO, a socket, a device).
  WatchedFiles(std::filesystem::path folder, const ModelReference& model, Reads reads);

  // Throws std::runtime_error, one line with the file's name, once one of them is another than it
  // was, gone, or new.
  void require_unchanged() const;

  // Name -> sha256 of those that are read and not in model.files. `known` may hold hashes by name.
  std::map<std::string, std::string> unpinned(const nlohmann::json& known) const;

 private:
  std::map<std::string, std::optional<formats::FileStamp>> stamps() const;

  std::filesystem::path folder_;
  const ModelReference& model_;
  Reads reads_;
  std::map<std::string, std::optional<formats::FileStamp>> begun_;
};

// The session, with the files held against `watched` after it was opened, after each comparison and
// at the end; its identity names what is not pinned. Throws what require_unchanged throws.
std::unique_ptr<verify::Session> watch(WatchedFiles watched,
                                       std::unique_ptr<verify::Session> session);

}  // namespace octlm::experiments
