#include "experiments/commands/dry_run.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <ostream>

#include "experiments/engines/checkpoint_store.h"
#include "experiments/engines/local_environment.h"
#include "experiments/kinds/case_ids.h"
#include "experiments/kinds/spec_parts.h"
#include "formats/error.h"
#include "reference/path.h"

namespace octlm::experiments {
namespace {

namespace fs = std::filesystem;

// What a core does in float32 on matrices, and what the memory delivers: a small machine of today.
constexpr double kFlopsPerCore = 2e10;
constexpr double kBytesPerSecond = 1e10;
constexpr double kReferenceStart_s = 10;  // importing PyTorch and Transformers

std::int64_t weight_bytes(const fs::path& folder) {
  std::int64_t bytes = 0;
  for (const auto& file : fs::directory_iterator(folder)) {
    if (file.path().extension() == ".safetensors")
      bytes += static_cast<std::int64_t>(file.file_size());
  }
  return bytes;
}

// The positions of each case, where a case says so: its ids, or its length.
std::map<std::string, std::int64_t> positions_of_cases(const verify::Spec& spec) {
  std::map<std::string, std::int64_t> positions;
  if (!spec.has_part("cases")) return positions;
  for (const auto& item : spec.raw["cases"]) {
    const std::string name = item.value("name", "");
    if (item.contains("token_ids")) positions[name] = std::ssize(item["token_ids"]);
    if (item.contains("length")) positions[name] = item["length"].get<std::int64_t>();
  }
  return positions;
}

// Is this one of reference::Path? A kind may call something else its path.
bool splits_a_sequence(const std::string& path) {
  return path == "full" || path.starts_with("cached:") || path.starts_with("chunked:");
}

// Both sides make the pass; a call reads every weight once, as float32, and multiplies with it.
double seconds_of(const std::string& path, std::int64_t positions, double parameters) {
  const auto calls = reference::Path::parse(path).calls(positions);
  if (!calls) return 0;
  const double whole =
      2 * parameters * static_cast<double>(positions) / (kFlopsPerCore * available_cpus());
  const auto reading = [&](std::size_t times) {
    return static_cast<double>(times) * 4 * parameters / kBytesPerSecond;
  };
  return std::max(whole, reading(calls->size())) + std::max(whole, reading(1));
}

void print_estimate(std::ostream& out, const verify::Spec& spec,
                    const std::vector<verify::ComparisonKey>& plan, const fs::path& folder) {
  // At most: weights may have more than 16 bits.
  const double parameters = static_cast<double>(weight_bytes(folder)) / 2;
  const auto positions = positions_of_cases(spec);
  double seconds = spec.has_part("reference") ? kReferenceStart_s : 0;
  std::int64_t longest = 0;
  for (const auto& key : plan) {
    const auto found = positions.find(key.case_name);
    if (found == positions.end() || !splits_a_sequence(key.path) || key.device != "cpu") continue;
    seconds += seconds_of(key.path, found->second, parameters);
    longest = std::max(longest, found->second);
  }
  // The subject keeps the weights as they are stored, the reference widens them; a pass adds its
  // logits.
  const double bytes = 2 * parameters + (spec.has_part("reference") ? 4 * parameters : 0) +
                       4.0 * static_cast<double>(longest * stated_size(folder, "vocab_size")) + 5e8;
  char text[160];
  std::snprintf(text, sizeof text,
                "estimate: about %.0f s on the cpu here and %.1f GB of memory (rough: sizes times "
                "a typical machine)\n",
                std::max(1.0, seconds), bytes / 1e9);
  out << text;
}

// The places whose text still starts with what `octlm new` left to be replaced.
void find_unwritten(const nlohmann::json& value, const std::string& path,
                    std::vector<std::string>& places) {
  if (value.is_string() && value.get<std::string>().starts_with("REPLACE:")) places.push_back(path);
  if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i)
      find_unwritten(value[i], path + "[" + std::to_string(i) + "]", places);
  }
  if (value.is_object()) {
    for (const auto& [key, member] : value.items())
      find_unwritten(member, path + "." + key, places);
  }
}

// Why the cases' texts and chats cannot be what the spec says, with this checkpoint's tokenizer; ""
// when they can.
std::string words_fault(const verify::Spec& spec, const fs::path& folder) {
  if (spec.kind != "logit_parity" && spec.kind != "noise_floor") return "";
  std::vector<TokenCase> cases = read_token_cases(spec.part("cases"));
  try {
    const auto absent = fill_token_ids(cases, folder);
    return absent ? absent->reason : "";
  } catch (const formats::FormatError& error) {
    return error.what();
  }
}

void print_checkpoint(std::ostream& out, const verify::Spec& spec,
                      const std::vector<verify::ComparisonKey>& plan,
                      const Environment& environment) {
  const ModelReference model = read_model(spec.part("model"));
  const auto found = environment.find_checkpoint(model);
  if (const auto* absent = std::get_if<verify::NotRun>(&found)) {
    out << "checkpoint: " << absent->reason << '\n';
    return;
  }
  const auto folder = std::get<CheckpointFolder>(found).path;
  out << "checkpoint: " << folder.string() << '\n';
  for (const std::string& mismatch : mismatched_files(folder, model))
    out << "checkpoint: " << mismatch << '\n';
  if (const auto words = words_fault(spec, folder); !words.empty())
    out << "cases: " << words << '\n';
  if (weight_bytes(folder) > 0) print_estimate(out, spec, plan, folder);
}

}  // namespace

std::vector<std::string> unwritten_places(const verify::Spec& spec) {
  std::vector<std::string> places;
  find_unwritten(spec.raw, "$", places);
  return places;
}

void print_dry_run(std::ostream& out, const verify::Spec& spec,
                   const std::vector<verify::ComparisonKey>& plan, const Environment& environment) {
  if (spec.has_part("model")) print_checkpoint(out, spec, plan, environment);
  for (const std::string& place : unwritten_places(spec)) out << "to be written: " << place << '\n';
}

}  // namespace octlm::experiments
