// octlm show EXP: what it claims, its history in the ledger, the attempts made here.
#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>

#include "experiments/commands/checked_spec.h"
#include "experiments/commands/commands.h"
#include "experiments/commands/history_text.h"
#include "experiments/commands/json_output.h"
#include "experiments/kinds/kinds.h"
#include "verify/ledger/anchors.h"
#include "verify/ledger/journal.h"
#include "verify/ledger/registration.h"
#include "verify/ledger/standing.h"
#include "verify/runner.h"

namespace octlm::experiments {
namespace {

constexpr std::ptrdiff_t kAttemptsShown = 5;

// "max_abs_error@1 <= 0.001", and under it why the bound is that.
void show_criterion(const nlohmann::json& criterion) {
  std::cout << "criterion:  " << criterion_line(criterion) << '\n';
  const std::string derivation = criterion.value("derivation", "");
  if (!derivation.empty()) std::cout << "            " << derivation << '\n';
}

void show_claim(const nlohmann::json& spec) {
  const auto text = [&](const char* key) { return spec.value(key, ""); };
  std::cout << text("id") << "  " << text("kind") << "  " << text("title") << "\n\n"
            << "question:   " << text("question") << '\n'
            << "prediction: " << text("prediction") << '\n';
  for (const auto& one : spec.value("cases", nlohmann::json::array()))
    std::cout << "case:       " << one.value("name", "") << '\n';
  for (const auto& criterion : spec["criteria"]) show_criterion(criterion);
  std::cout << "stop rule:  " << text("stop_rule") << "\n\n";
}

void show_standing(const verify::Project& project, const verify::Chain& chain,
                   const verify::Spec* spec) {
  if (spec != nullptr) {
    const auto trust = verify::standing(chain, spec->sha256);
    std::cout << trust.label << (trust.why.empty() ? "" : ": " + trust.why) << '\n';
  }
  if (chain.empty()) return;
  const auto anchored = verify::is_anchored(chain, verify::read_anchors(project));
  std::cout << (anchored ? (*anchored ? "anchored" : "not anchored") : "anchored: unknown") << '\n';
  for (const auto& line : chain) std::cout << "  " << history_line(line) << '\n';
  const auto* claim = verify::claim_of(chain);
  if (spec != nullptr && claim != nullptr && claim->fields["spec"] != spec->raw) {
    const auto made = verify::changes_since(*claim, *spec);
    std::cout << "its file differs, a " << made.class_name() << ":\n" << changes_text(made, "  ");
  }
}

std::vector<verify::Attempt> attempts_of(const verify::Project& project, const std::string& id) {
  auto attempts = verify::read_journal(project.journal()).attempts;
  std::erase_if(attempts, [&](const auto& attempt) { return attempt.intent.experiment != id; });
  return attempts;
}

void show_attempts(const verify::Project& project, const std::string& id) {
  const auto attempts = attempts_of(project, id);
  std::cout << attempts.size() << " attempts in this checkout"
            << (attempts.empty() ? "" : ", the last:") << '\n';
  const auto first = std::max<std::ptrdiff_t>(0, std::ssize(attempts) - kAttemptsShown);
  for (auto attempt = attempts.begin() + first; attempt != attempts.end(); ++attempt)
    std::cout << "  " << attempt_line(*attempt) << '\n';
}

nlohmann::ordered_json names_of_cases(const nlohmann::json& spec) {
  auto names = nlohmann::ordered_json::array();
  for (const auto& one : spec.value("cases", nlohmann::json::array()))
    names.push_back(one.value("name", ""));
  return names;
}

// `spec`: its file, where there is one; `document`: what it or the ledger says.
nlohmann::ordered_json claim_json(const verify::Project& project, const verify::Chain& chain,
                                  const verify::Spec* spec, const nlohmann::json& document) {
  nlohmann::ordered_json made;
  for (const char* name : {"id", "kind", "title", "tags", "question", "prediction"})
    made[name] = document.value(name, nlohmann::json());
  made["cases"] = names_of_cases(document);
  for (const char* name : {"criteria", "also_record", "must_catch", "stop_rule"})
    made[name] = document.value(name, nlohmann::json());
  const auto* claim = verify::claim_of(chain);
  made["spec"] = spec ? nlohmann::json(spec->file.string()) : nlohmann::json();
  made["spec_sha256"] = spec ? spec->sha256 : claim->fields.value("spec_sha256", "");
  const auto trust = verify::standing(chain, made["spec_sha256"].get<std::string>());
  made["label"] = trust.label;
  made["why"] = trust.why;
  const auto anchored =
      chain.empty() ? std::nullopt : verify::is_anchored(chain, verify::read_anchors(project));
  made["anchored"] = anchored ? nlohmann::json(*anchored) : nlohmann::json();
  made["changes"] = spec && claim && claim->fields["spec"] != spec->raw
                        ? verify::changes_since(*claim, *spec).changes_json()
                        : nlohmann::json::array();
  made["history"] = nlohmann::ordered_json::array();
  for (const auto& line : chain) made["history"].push_back(history_json(line));
  made["attempts"] = nlohmann::ordered_json::array();
  for (const auto& attempt : attempts_of(project, document.value("id", "")))
    made["attempts"].push_back(attempt_json(attempt));
  return made;
}

int show(const std::string& name, bool json) {
  const auto kinds = all_kinds();
  const verify::Project project = this_project();
  const auto ledger = verify::read_ledger(project.ledger());
  verify::require_valid(ledger, project.ledger().string());
  const auto file = spec_file(name);
  const bool present = std::filesystem::exists(file);
  const auto* claim = verify::claim_of(ledger.chain(name));
  if (!present && claim == nullptr) {
    throw std::invalid_argument(name + ": neither " + file.string() + " nor the ledger has it");
  }
  std::optional<verify::Spec> spec;
  if (present) spec = verify::read_spec(file, kinds);
  const nlohmann::json& document = spec ? spec->raw : claim->fields["spec"];
  const auto& chain = ledger.chain(spec ? spec->id : name);
  if (json) {
    print_document(std::cout, claim_json(project, chain, spec ? &*spec : nullptr, document));
    return verify::kExitPass;
  }
  show_claim(document);
  show_standing(project, chain, spec ? &*spec : nullptr);
  show_attempts(project, spec ? spec->id : name);
  return verify::kExitPass;
}

}  // namespace

void add_show(CommandLine& line) {
  auto name = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  CLI::App* command =
      line.app.add_subcommand("show", "an experiment: claim, history, label, attempts");
  command->add_option("experiment", *name, "EXP-ID or spec FILE")->required();
  command->add_flag("--json", *json, "the same as one JSON document");
  command->callback([&action = line.action, name, json] {
    action = [name, json] { return show(*name, *json); };
  });
}

}  // namespace octlm::experiments
