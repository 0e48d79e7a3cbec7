// The arguments of `octlm run`: as options of a command line, as a record keeps them, as a person
// types them.
#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "experiments/engines/local_environment.h"
#include "formats/error.h"
#include "verify/runner.h"

namespace octlm::experiments {

struct RunArguments {
  std::vector<std::string> selection;
  std::string keywords;  // -k
  bool last_failed = false;
  std::vector<std::string> models;  // NAME=PATH
  std::vector<std::string> devices;
  std::vector<std::string> require;
  std::string subject = "octlm";
  double subject_timeout_s = 600;
  std::string reference = "transformers";
  bool fail_fast = false;
  std::string out;
  std::string resume;
  std::string junit;
  bool open = false;
  bool dry_run = false;
};

void add_run_options(CLI::App& command, RunArguments& arguments);

// What the run line keeps of the arguments, for the run that goes on with it. Paths are made
// absolute: it may be resumed from elsewhere. What -k and --last-failed chose is kept as it was
// chosen: neither has to choose the same again.
nlohmann::json request_json(const RunArguments& arguments,
                            const std::vector<verify::RunItem>& items);

// The arguments of the run that --resume names, where it is given. Beside it stands only what the
// numbers do not depend on: --junit, --open, --dry-run. Throws std::invalid_argument otherwise.
RunArguments resumed_arguments(const RunArguments& given);

// The same as a command: "./octlm run EXP-102 --model 'tiny=a folder' --out reports/x".
std::string run_command(const RunArguments& arguments);

// Where engines and checkpoints come from. Throws std::invalid_argument for what is not there.
LocalOptions local_options(const RunArguments& arguments);

// Throws verify::Refused when --out holds a run, with the commands that go on.
void refuse_used_out(const RunArguments& arguments);

// Throws verify::Refused when no file can be written at --junit.
void refuse_bad_junit(const RunArguments& arguments);

// Throws verify::Refused when a --model is not of any of the experiments, with the nearest that is.
void refuse_unused_models(const LocalOptions& local, const std::vector<verify::RunItem>& items);

}  // namespace octlm::experiments
