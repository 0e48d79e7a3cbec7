// Which specs a command line names.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "formats/error.h"
#include "verify/kind.h"
#include "verify/spec.h"

namespace octlm::experiments {

// Is this argument the path of a spec file?
bool is_file(const std::string& argument);

// Each argument is an id ("EXP-102"), a glob over ids ("EXP-10*"), the path of a spec file, or
// "tag:TAG". None at all: every spec of `folder` that is not tagged "slow". In the order of ids,
// each once. Throws std::invalid_argument when an argument matches nothing, naming what there is;
// formats::FormatError for a file that cannot be read.
std::vector<verify::Spec> select_specs(const std::filesystem::path& folder,
                                       const std::vector<std::string>& arguments,
                                       const std::vector<verify::Kind>& kinds);

}  // namespace octlm::experiments
