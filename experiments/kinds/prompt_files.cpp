#include "experiments/kinds/prompt_files.h"

#include <algorithm>
#include <stdexcept>

#include "formats/error.h"
#include "formats/input_file.h"
#include "formats/strict_json.h"
#include "model/chat_template/chat_request.h"

namespace octlm::experiments {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> lines_of(const fs::path& file) {
  const std::string content = formats::read_file(file);
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < content.size();) {
    const std::size_t end = std::min(content.find('\n', at), content.size());
    lines.push_back(content.substr(at, end - at));
    at = end + 1;
  }
  if (lines.empty()) throw formats::FormatError(file.string() + ": it is empty");
  return lines;
}

std::string place(const fs::path& file, std::size_t line) {
  return file.string() + ":" + std::to_string(line + 1);
}

}  // namespace

PromptFile read_prompt_file(const formats::Reader& reader) {
  PromptFile file{reader.non_empty_string(), {}};
  const fs::path name = file.name;
  const bool leaves = name.is_absolute() || std::ranges::find(name, fs::path("..")) != name.end() ||
                      file.name.find('\0') != std::string::npos;
  if (leaves) reader.fail("expected a file below the spec's folder or the one above it");
  const fs::path folder = fs::absolute(reader.file()).lexically_normal().parent_path();
  const fs::path above = folder.parent_path() / name;
  file.path = folder / name;
  if (!fs::exists(file.path) && fs::exists(above)) file.path = above;
  return file;
}

std::vector<std::string> read_texts(const fs::path& file) {
  std::vector<std::string> texts;
  for (const std::string& line : lines_of(file)) {
    const std::string where = place(file, texts.size());
    const nlohmann::json document = formats::parse_strict(line, where);
    texts.push_back(formats::Reader(document, where).string());
  }
  return texts;
}

std::vector<std::string> read_chats(const fs::path& file) {
  std::vector<std::string> chats =
      file.extension() == ".jsonl" ? lines_of(file) : std::vector{formats::read_file(file)};
  for (std::size_t i = 0; i < chats.size(); ++i) {
    try {
      (void)model::parse_chat_request(chats[i], place(file, i));
    } catch (const std::invalid_argument& error) {
      throw formats::FormatError(error.what());
    }
  }
  return chats;
}

std::string with_thinking(const std::string& chat, bool thinking, const std::string& where) {
  formats::JsonLimits limits = formats::kIntegersOf64Bits;
  limits.digits_beyond = true;
  const auto document = formats::parse_strict_ordered(chat, where, limits);
  if (document.contains("enable_thinking")) {
    throw formats::FormatError(where +
                               ": it says \"enable_thinking\" itself, and the case \"thinking\"");
  }
  // Into the text itself: a parsed copy would not keep integers of more than 64 bits.
  std::string with = chat;
  return with.insert(with.find('{') + 1,
                     std::string("\"enable_thinking\": ") + (thinking ? "true, " : "false, "));
}

}  // namespace octlm::experiments
