#include "experiments/commands/checked_spec.h"

#include <stdexcept>
#include <utility>

#include "experiments/engines/local_environment.h"
#include "formats/error.h"
#include "verify/criteria.h"
#include "verify/runner.h"

namespace octlm::experiments {

namespace fs = std::filesystem;

CheckedSpec checked_spec(const fs::path& file, const std::vector<verify::Kind>& kinds) {
  auto [spec, experiment, role] = verify::read_item(file, kinds);
  const auto plan = experiment->comparisons();
  return {std::move(spec), std::move(experiment), plan};
}

verify::Project this_project() { return {checkout_root()}; }

fs::path spec_file(const std::string& id_or_file) {
  if (id_or_file.ends_with(".json") || id_or_file.find('/') != std::string::npos) return id_or_file;
  return this_project().registered() / (id_or_file + ".json");
}

CheckedSpec claimed_spec(const std::string& id_or_file, const std::vector<verify::Kind>& kinds) {
  CheckedSpec checked = checked_spec(spec_file(id_or_file), kinds);
  const fs::path belongs = this_project().registered() / (checked.spec.id + ".json");
  std::error_code error;
  if (!fs::equivalent(checked.spec.file, belongs, error) || error) {
    throw std::invalid_argument(checked.spec.file.string() + ": a claim stands in " +
                                belongs.string() + ": move it there first");
  }
  return checked;
}

}  // namespace octlm::experiments
