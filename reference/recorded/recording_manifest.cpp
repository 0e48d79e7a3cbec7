#include "reference/recorded/recording_manifest.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "formats/error.h"
#include "formats/input_file.h"
#include "formats/output_file.h"
#include "reference/request.h"
#include "reference/strict_json.h"

namespace octlm::reference {
namespace {

using nlohmann::json;

constexpr const char* kName = "manifest.json";
// The ids of a hundred cases of 40,960 tokens are 30 MB.
constexpr std::size_t kLongest = 64 << 20;

using formats::refuse;

std::string read_text(const std::filesystem::path& file) {
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) {
    refuse("[recorded] " + file.parent_path().string(), "has no manifest.json: it is no recording");
  }
  return formats::read_file(file, kLongest);
}

std::vector<std::int32_t> read_ids(const json& ids, std::int64_t vocab, const std::string& where) {
  if (!ids.is_array() || ids.empty()) refuse(where, "\"token_ids\" is not a list of ids");
  std::vector<std::int32_t> read;
  for (const json& id : ids) {
    if (to_count(id, where) >= vocab)
      refuse(where, "token id " + id.dump() + " is outside the vocabulary");
    read.push_back(id.get<std::int32_t>());
  }
  return read;
}

std::vector<ForwardCall> read_calls(const json& calls, const std::string& where) {
  if (!calls.is_array()) refuse(where, "\"calls\" is not a list");
  std::vector<ForwardCall> read;
  for (const json& call : calls) {
    if (!call.is_array() || call.size() != 2)
      refuse(where, "a call is [first position, positions]");
    read.push_back({to_count(call[0], where), to_count(call[1], where)});
  }
  return read;
}

RecordedCase read_case(const json& entry, std::int64_t vocab, const std::string& where) {
  check_keys(entry, {"token_ids", "token_ids_sha256", "tensor", "file", "file_sha256", "calls"},
             where);
  RecordedCase read;
  read.token_ids = read_ids(entry.at("token_ids"), vocab, where);
  read.token_ids_sha256 = string_at(entry, "token_ids_sha256", where);
  read.tensor = string_at(entry, "tensor", where);
  read.file = string_at(entry, "file", where);
  read.file_sha256 = string_at(entry, "file_sha256", where);
  read.calls = read_calls(entry.at("calls"), where);
  if (read.token_ids_sha256 != sha256_of_ids(read.token_ids))
    refuse(where, "the ids do not have their sha256");
  if (read.file.empty() || read.file == "." || read.file == ".." ||
      read.file.find_first_of(std::string_view("/\0", 2)) != std::string::npos) {
    refuse(where, "\"file\" " + entry.at("file").dump() + " is not a name in the folder");
  }
  return read;
}

json to_json(const RecordedCase& recorded) {
  json calls = json::array();
  for (const ForwardCall& call : recorded.calls)
    calls.push_back({call.first_position, call.positions});
  return {{"token_ids", recorded.token_ids},     {"token_ids_sha256", recorded.token_ids_sha256},
          {"tensor", recorded.tensor},           {"file", recorded.file},
          {"file_sha256", recorded.file_sha256}, {"calls", calls}};
}

}  // namespace

RecordingManifest read_manifest(const std::filesystem::path& folder) {
  const std::string where = "[recorded] " + (folder / kName).string();
  const json text = parse_object(read_text(folder / kName), where);
  if (text.value("schema", json()) != 1) refuse(where, "\"schema\" is not 1");
  check_keys(text,
             {"schema", "producer", "weights", "dtype", "attention", "vocab_size", "max_positions",
              "cases"},
             where);
  const json& producer = text.at("producer");
  check_keys(producer, {"engine", "version", "settings"}, where + ": producer");
  RecordingManifest manifest;
  manifest.producer = {string_at(producer, "engine", where), string_at(producer, "version", where),
                       "recorded", producer.at("settings")};
  if (!text.at("weights").is_object()) refuse(where, "\"weights\" is not an object");
  for (const auto& [file, hash] : text.at("weights").items()) {
    if (!hash.is_string()) refuse(where, "the hash of " + file + " is not a string");
    manifest.key.weights[file] = hash.get<std::string>();
  }
  manifest.key.dtype = string_at(text, "dtype", where);
  manifest.key.attention = string_at(text, "attention", where);
  manifest.vocab_size = count_at(text, "vocab_size", where);
  if (manifest.vocab_size > std::numeric_limits<std::int32_t>::max()) {
    refuse(where, "\"vocab_size\" is more than ids can number");
  }
  manifest.max_positions = count_at(text, "max_positions", where);
  if (!text.at("cases").is_array() || text.at("cases").empty())
    refuse(where, "\"cases\" is not a list of cases");
  std::set<std::string> seen;
  for (const json& entry : text.at("cases")) {
    const std::string place = where + ": cases[" + std::to_string(manifest.cases.size()) + "]";
    manifest.cases.push_back(read_case(entry, manifest.vocab_size, place));
    if (!seen.insert(manifest.cases.back().token_ids_sha256).second)
      refuse(place, "the same ids appear twice");
  }
  return manifest;
}

void write_manifest(const RecordingManifest& manifest, const std::filesystem::path& folder) {
  json cases = json::array();
  for (const RecordedCase& recorded : manifest.cases) cases.push_back(to_json(recorded));
  const json text = {{"schema", 1},
                     {"producer",
                      {{"engine", manifest.producer.engine},
                       {"version", manifest.producer.version},
                       {"settings", manifest.producer.settings}}},
                     {"weights", manifest.key.weights},
                     {"dtype", manifest.key.dtype},
                     {"attention", manifest.key.attention},
                     {"vocab_size", manifest.vocab_size},
                     {"max_positions", manifest.max_positions},
                     {"cases", cases}};
  const std::filesystem::path file = folder / kName;
  formats::replace_file(file, text.dump(1) + "\n");
}

}  // namespace octlm::reference
