// octlm show EXP: what it claims, its history in the ledger, the attempts made here.
#include <algorithm>
#include <iostream>
#include <memory>

#include "experiments/commands/checked_spec.h"
#include "experiments/commands/commands.h"
#include "experiments/commands/history_text.h"
#include "experiments/kinds/kinds.h"
#include "verify/ledger/anchors.h"
#include "verify/ledger/journal.h"
#include "verify/ledger/registration.h"
#include "verify/ledger/standing.h"
#include "verify/runner.h"

namespace octlm::experiments {
namespace {

constexpr std::ptrdiff_t kAttemptsShown = 5;

void show_claim(const nlohmann::json& spec) {
  const auto text = [&](const char* key) { return spec.value(key, ""); };
  std::cout << text("id") << "  " << text("kind") << "  " << text("title") << "\n\n"
            << "question:   " << text("question") << '\n'
            << "prediction: " << text("prediction") << '\n';
  for (const auto& criterion : spec["criteria"])
    std::cout << "criterion:  " << criterion_line(criterion) << '\n';
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

void show_attempts(const verify::Project& project, const std::string& id) {
  std::vector<std::string> lines;
  for (const auto& attempt : verify::read_journal(project.journal()).attempts) {
    if (attempt.intent.experiment == id) lines.push_back(attempt_line(attempt));
  }
  std::cout << lines.size() << " attempts in this checkout" << (lines.empty() ? "" : ", the last:")
            << '\n';
  const auto first = std::max<std::ptrdiff_t>(0, std::ssize(lines) - kAttemptsShown);
  for (auto line = lines.begin() + first; line != lines.end(); ++line)
    std::cout << "  " << *line << '\n';
}

int show(const std::string& name) {
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
  if (present) {
    const verify::Spec spec = verify::read_spec(file, kinds);
    show_claim(spec.raw);
    show_standing(project, ledger.chain(spec.id), &spec);
    show_attempts(project, spec.id);
  } else {
    show_claim(claim->fields["spec"]);
    show_standing(project, ledger.chain(name), nullptr);
    show_attempts(project, name);
  }
  return verify::kExitPass;
}

}  // namespace

void add_show(CommandLine& line) {
  auto name = std::make_shared<std::string>();
  CLI::App* command =
      line.app.add_subcommand("show", "an experiment: claim, history, label, attempts");
  command->add_option("experiment", *name, "EXP-ID or spec FILE")->required();
  command->callback([&action = line.action, name] { action = [name] { return show(*name); }; });
}

}  // namespace octlm::experiments
