// octlm publish DIR: a run becomes part of the project's record.
#include "verify/ledger/publish.h"

#include <iostream>
#include <memory>

#include "experiments/commands/checked_spec.h"
#include "experiments/commands/commands.h"
#include "experiments/commands/octlm_program.h"
#include "experiments/kinds/kinds.h"
#include "verify/report/rendering.h"
#include "verify/runner.h"

namespace octlm::experiments {

void add_publish(CommandLine& line) {
  auto folder = std::make_shared<std::string>();
  CLI::App* command = line.app.add_subcommand(
      "publish", "copy a run to reports/published and enter it in the ledger");
  command->add_option("folder", *folder, "the run's folder")->required();
  command->callback([&action = line.action, folder] {
    action = [folder] {
      const verify::Project project = this_project();
      const auto kinds = all_kinds();
      const auto render = [&](const std::filesystem::path& run, const std::filesystem::path& to) {
        verify::render_run(run, to, project, octlm_program());
      };
      const auto published = verify::publish_run(
          project, *folder, {.kinds = kinds, .program = octlm_program(), .render = render});
      std::cout << published.folder.string() << ":";
      for (const auto& file : published.files) std::cout << ' ' << file;
      std::cout << "\ncommit it together with " << this_project().ledger_file << '\n';
      return static_cast<int>(verify::kExitPass);
    };
  });
}

}  // namespace octlm::experiments
