// Going on with a run that was interrupted or killed: its finished comparisons are kept as they are
// and never measured again; what is missing is measured, by the same code, on the same things.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "formats/error.h"
#include "verify/result.h"
#include "verify/run_file.h"

namespace octlm::verify {

class Interrupted {
 public:
  // Throws FormatError when the folder holds no run; std::invalid_argument when the run ended.
  explicit Interrupted(const std::filesystem::path& folder);

  const std::filesystem::path& folder() const { return file_.folder; }
  const nlohmann::json& run() const { return file_.run(); }

  // Throws std::invalid_argument with what differs: the code, the processor, or a spec.
  void require_same(const RunInfo& now) const;
  // What `now` has to say of its beginning: that of the interrupted run.
  void begin_as(RunInfo& now) const;

  // The result of a comparison that the run finished, be it an error; absent otherwise.
  std::optional<ComparisonResult> finished(const std::string& experiment,
                                           const ComparisonKey& key) const;
  // The experiment's identity on this device, as it was; {} when it never got ready there.
  nlohmann::json identity(const std::string& experiment, const std::string& device) const;
  // Throws std::invalid_argument when the experiment's identity on this device
  // (Experiment::identity) is not what it was.
  void require_identity(const std::string& experiment, const std::string& device,
                        const nlohmann::json& now) const;

  // Replaces results.jsonl by its run line, marked as resumed, and the lines that are kept; removes
  // the reports made from it.
  void rewrite(const RunInfo& now) const;

 private:
  RunFile file_;
};

}  // namespace octlm::verify
