// Who, outside the ledger, names a line of it. The chain shows what was changed before its end;
// that lines are missing at the end only something that named them can show: a published report, or
// the ledger in the commit of a git tag.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "verify/ledger/ledger.h"
#include "verify/ledger/project.h"

namespace octlm::verify {

struct Anchor {
  std::string experiment;
  std::string by;  // "reports/published/x", "tag v1.0"
};

struct Anchors {
  std::map<std::string, Anchor> lines;  // by the line's sha256
  bool tags_known = false;              // git answered
};

Anchors read_anchors(const Project& project);

// Does an anchor name the last line of the chain that claims something, or one after it? Absent
// when none does and git could not be asked.
std::optional<bool> is_anchored(const Chain& chain, const Anchors& anchors);

}  // namespace octlm::verify
