// A spec as a command takes it: by id or by file, read as strictly as a run would.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "formats/error.h"
#include "verify/kind.h"
#include "verify/ledger/project.h"
#include "verify/spec.h"

namespace octlm::experiments {

struct CheckedSpec {
  verify::Spec spec;
  std::unique_ptr<verify::Experiment> experiment;  // as its kind read it
  std::vector<verify::ComparisonKey> plan;
};

// Reads it, lets its kind read its part, and makes sure that its plan can be judged. Throws
// formats::FormatError.
CheckedSpec checked_spec(const std::filesystem::path& file, const std::vector<verify::Kind>& kinds);

// The checkout this program works for.
verify::Project this_project();

// The file of an id ("EXP-101"), or the file given.
std::filesystem::path spec_file(const std::string& id_or_file);

// The same, checked, for what goes into the ledger: the file stands in experiments/registered/ and
// is named like its id, so that everybody finds it. Throws std::invalid_argument otherwise.
CheckedSpec claimed_spec(const std::string& id_or_file, const std::vector<verify::Kind>& kinds);

}  // namespace octlm::experiments
