#include "formats/error.h"

#include <algorithm>
#include <utility>

namespace octlm::formats {
namespace {

std::string joined(const std::vector<std::string>& findings) {
  std::string text;
  for (const std::string& finding : findings) text += (text.empty() ? "" : "\n") + finding;
  return text;
}

}  // namespace

FormatError::FormatError(std::vector<std::string> findings)
    : runtime_error(joined(findings)), findings_(std::move(findings)) {}

void Findings::add(const std::string& finding) {
  if (std::ranges::find(list_, finding) == list_.end()) list_.push_back(finding);
}

void Findings::raise() const {
  if (!list_.empty()) throw FormatError(list_);
}

}  // namespace octlm::formats
