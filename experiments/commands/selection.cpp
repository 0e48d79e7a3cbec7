#include "experiments/commands/selection.h"

#include <fnmatch.h>

#include <algorithm>
#include <stdexcept>

namespace octlm::experiments {
namespace {

namespace fs = std::filesystem;

std::vector<verify::Spec> read_folder(const fs::path& folder,
                                      const std::vector<verify::Kind>& kinds) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  std::vector<verify::Spec> specs;
  for (const fs::path& file : files) specs.push_back(verify::read_spec(file, kinds));
  return specs;
}

bool matches(const std::string& argument, const verify::Spec& spec) {
  if (argument.starts_with("tag:")) return spec.has_tag(argument.substr(4));
  return fnmatch(argument.c_str(), spec.id.c_str(), 0) == 0;
}

std::string ids_of(const std::vector<verify::Spec>& specs) {
  std::string ids;
  for (const auto& spec : specs) ids += (ids.empty() ? "" : ", ") + spec.id;
  return ids.empty() ? "none" : ids;
}

}  // namespace

bool is_file(const std::string& argument) {
  return argument.ends_with(".json") || argument.find('/') != std::string::npos;
}

std::vector<verify::Spec> select_specs(const fs::path& folder,
                                       const std::vector<std::string>& arguments,
                                       const std::vector<verify::Kind>& kinds) {
  const bool only_files = !arguments.empty() && std::ranges::all_of(arguments, is_file);
  const auto known = only_files ? std::vector<verify::Spec>() : read_folder(folder, kinds);
  std::vector<verify::Spec> selected;
  auto take = [&](const verify::Spec& spec) {
    if (std::ranges::find(selected, spec.id, &verify::Spec::id) == selected.end()) {
      selected.push_back(spec);
    }
  };
  for (const std::string& argument : arguments) {
    if (is_file(argument)) {
      take(verify::read_spec(argument, kinds));
      continue;
    }
    bool any = false;
    for (const auto& spec : known) {
      if (!matches(argument, spec)) continue;
      any = true;
      take(spec);
    }
    if (!any) {
      throw std::invalid_argument("'" + argument +
                                  "' matches no experiment; there are: " + ids_of(known));
    }
  }
  if (arguments.empty()) {
    for (const auto& spec : known) {
      if (!spec.has_tag("slow")) take(spec);
    }
  }
  std::ranges::sort(selected, {}, &verify::Spec::id);
  return selected;
}

}  // namespace octlm::experiments
