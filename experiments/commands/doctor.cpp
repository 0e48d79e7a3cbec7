// octlm doctor: what this machine and this checkout have, and whether it is fit to run the suite.
#include <cstdlib>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "experiments/commands/commands.h"
#include "experiments/engines/checkpoint_store.h"
#include "experiments/engines/local_environment.h"
#include "model/cpu/backend.h"
#include "reference/loader_variables.h"
#include "reference/transformers/mapped_libraries.h"
#include "reference/transformers/transformers.h"
#include "verify/provenance.h"
#include "verify/runner.h"

namespace octlm::experiments {
namespace {

namespace fs = std::filesystem;

// What was found, in order; counts what is wrong.
class Findings {
 public:
  void fact(const std::string& name, const std::string& value) { add("fact", name, value); }
  void check(bool good, const std::string& name, const std::string& value) {
    add(good ? "ok" : "wrong", name, value);
  }
  int wrong() const { return wrong_; }

  void print(std::ostream& out) const {
    for (const auto& one : list_) {
      const std::string state = one["state"];
      std::string name = one["name"];
      name.resize(std::max<std::size_t>(name.size(), 14), ' ');
      out << (state == "ok"      ? "ok "
              : state == "wrong" ? "!! "
                                 : "   ")
          << name << ' ' << one["text"].get<std::string>() << '\n';
    }
    out << (wrong_ == 0 ? "all is well" : std::to_string(wrong_) + " to mend, marked !!") << '\n';
  }
  void print_json(std::ostream& out) const {
    out << nlohmann::json{{"findings", list_}, {"wrong", wrong_}}.dump() << '\n';
  }

 private:
  void add(const char* state, const std::string& name, const std::string& text) {
    list_.push_back({{"name", name}, {"state", state}, {"text", text}});
    if (list_.back()["state"] == "wrong") ++wrong_;
  }

  nlohmann::json list_ = nlohmann::json::array();
  int wrong_ = 0;
};

// What the launcher found of packages, environment and build: lines of mark, name and words.
void setup(Findings& findings) {
  const char* lines = std::getenv("OCTLM_SETUP_FINDINGS");
  std::istringstream stream(lines != nullptr ? lines : "");
  for (std::string line; std::getline(stream, line);) {
    const auto first = line.find('\t'), second = line.find('\t', first + 1);
    if (second == std::string::npos) continue;
    const std::string mark = line.substr(0, first);
    const std::string name = line.substr(first + 1, second - first - 1);
    if (mark == "--") {
      findings.fact(name, line.substr(second + 1));
    } else {
      findings.check(mark == "ok", name, line.substr(second + 1));
    }
  }
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const auto& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text.empty() ? "none" : text;
}

std::string text_of(const nlohmann::json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

void machine(Findings& findings) {
  auto machine = verify::machine_json();
  findings.fact("octlm",
                verify::version() + ", code sha256 " + verify::code_sha256().substr(0, 12));
  findings.fact("compiler", text_of(machine.value("compiler", nlohmann::json("unknown"))));
  findings.fact("os", text_of(machine.value("os", nlohmann::json("unknown"))));
  findings.fact("cpu", text_of(machine["cpu"]["model"]));
  findings.fact("cpu features", joined(machine["cpu"]["features"].get<std::vector<std::string>>()));
  findings.check(available_cpus() >= 1, "threads",
                 std::to_string(available_cpus()) + " CPUs may be used");
  findings.check(!model::cpu::instruction_sets().empty(), "kernels",
                 joined(model::cpu::instruction_sets()) + " (best first)");
}

void python(Findings& findings) {
  if (!fs::exists(environment_python())) {
    findings.check(false, "python",
                   "no environment at " + environment_python().string() + "; ./octlm run makes it");
    return;
  }
  const auto environment = reference::python_environment(environment_python());
  findings.check(true, "python",
                 text_of(environment["python"]) + ", " + text_of(environment["executable"]));
  for (const auto& [name, version] : environment["packages"].items()) {
    const bool needed_for_reference = name == "torch" || name == "transformers";
    if (needed_for_reference) {
      findings.check(
          !version.is_null(), name,
          version.is_null() ? "not installed; ./octlm run installs it" : text_of(version));
    } else {
      findings.fact(name, version.is_null() ? "not installed" : text_of(version));
    }
  }
  const auto& torch = environment["torch"];
  if (torch.contains("error")) {
    findings.check(false, "torch import", text_of(torch["error"]));
  } else {
    findings.fact("torch threads",
                  torch["threads"].dump() + ", " + text_of(torch["cpu_capability"]));
    findings.fact("gpu", torch["cuda_available"].get<bool>() ? torch["gpus"].dump()
                                                             : "none: cuda is not run here");
  }
  for (const auto& [name, value] : environment["variables"].items()) {
    const bool passive = name == "OMP_WAIT_POLICY";
    findings.check(!passive, name,
                   text_of(value) + (passive ? ": slows the reference; unset it" : ""));
  }
}

// Is the reference what its wheels brought, and was nothing put before it?
void reference_files(Findings& findings) {
  const auto variables = reference::loader_variables();
  for (const auto& [name, value] : variables.items()) findings.fact(name, text_of(value));
  auto reasons = reference::loader_reasons(variables);
  if (fs::exists(environment_python())) {
    const auto files = reference::reference_files(true);
    reasons.insert(reasons.end(), files.reasons.begin(), files.reasons.end());
    if (files.reasons.empty())
      findings.check(true, "reference",
                     files.record["files"].dump() + " files of " +
                         files.record["distributions"].dump() +
                         " packages are as their wheels brought them");
  }
  for (const auto& reason : reasons)
    findings.check(false, "reference", reason + "; results do not count with it");
}

void libraries(Findings& findings) {
  const auto mapped = reference::mapped_libraries();
  for (const auto& library : mapped) findings.fact(library.family, library.path);
  const auto warnings = reference::duplicate_warnings(mapped);
  for (const auto& warning : warnings) findings.check(false, "libraries", warning);
  if (warnings.empty())
    findings.check(true, "libraries", "one copy of each numeric library is mapped");
}

void checkpoints(Findings& findings) {
  findings.fact("cache", checkpoint_cache().string());
  for (const char* name :
       {"smollm2-135m-instruct", "qwen3-0.6b-synthetic", "qwen3-mini-synthetic"}) {
    const auto found = find_checkpoint({.id = name, .revision = "", .files = {}}, {});
    const auto* absent = std::get_if<verify::NotRun>(&found);
    findings.fact(
        name, absent != nullptr ? absent->reason : std::get<CheckpointFolder>(found).path.string());
  }
  const auto qwen = find_checkpoint({.id = "Qwen/Qwen3-0.6B",
                                     .revision = "c1899de289a04d12100db370d81485cdf75e47ca",
                                     .files = {}},
                                    {});
  const auto* absent = std::get_if<verify::NotRun>(&qwen);
  findings.fact("Qwen3-0.6B", absent != nullptr ? absent->reason
                                                : std::get<CheckpointFolder>(qwen).path.string());
}

int doctor(bool json) {
  Findings findings;
  setup(findings);
  machine(findings);
  checkpoints(findings);
  python(findings);
  reference_files(findings);
  libraries(findings);
  json ? findings.print_json(std::cout) : findings.print(std::cout);
  return findings.wrong() == 0 ? verify::kExitPass : verify::kExitError;
}

}  // namespace

void add_doctor(CommandLine& line) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command =
      line.app.add_subcommand("doctor", "what this machine has, and what is missing");
  command->add_flag("--json", *json, "the same as one JSON object");
  command->callback([&action = line.action, json] { action = [json] { return doctor(*json); }; });
}

}  // namespace octlm::experiments
