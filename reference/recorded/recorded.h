// Saved logits as an engine, and how they are saved. A recording is a folder: `manifest.json` says
// what was computed, by whom and from which weights (recording_manifest.h); `logits.N.safetensors`
// hold the logits. It answers for what it was made from and for nothing else: other weights, ids,
// versions, dtypes or attentions are refused, never approximated. A run uses one only when asked to
// by name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "reference/engine.h"

namespace octlm::reference {

struct RecordingKey {
  std::map<std::string, std::string> weights;  // file name -> "sha256:<hex>"
  std::string dtype;                           // torch's name
  std::string attention;                       // "eager", "sdpa"
  bool tf32 = false;                           // of the experiment: the manifest has it in settings
};

// Opens a recording. `subject` is the engine that will be compared with it: a recording that it
// made itself is refused, for it would agree with its own faults. `version` is the producer's, ""
// for any. Throws std::runtime_error that names the difference, also one between the manifest and
// the settings that its producer computed with (recorded_settings.h). The engine knows one path,
// `full`, and its sessions one append, of a whole case; they report the calls made when the logits
// were computed. The bytes of a file are checked against the manifest's sha256 when its first case
// is asked for.
std::unique_ptr<Engine> make_recorded(const std::filesystem::path& folder, const RecordingKey& key,
                                      const std::string& subject = "octlm",
                                      const std::string& version = "");

// Computes every position of each case on `engine` (path full) and saves them. Each file appears
// complete or not at all; the manifest comes last, so that a folder without one is no recording,
// and a killed attempt can simply be repeated. Throws std::invalid_argument when there is no case,
// when a case appears twice, or when the engine's settings contradict the key; std::runtime_error
// when `folder` already holds a recording. `progress` hears of each case: how many are saved, of
// how many.
void record_logits(Engine& engine, const RecordingKey& key,
                   const std::vector<std::vector<std::int32_t>>& cases,
                   const std::filesystem::path& folder,
                   const std::function<void(std::size_t done, std::size_t total)>& progress = {});

}  // namespace octlm::reference
