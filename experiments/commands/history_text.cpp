#include "experiments/commands/history_text.h"

#include <array>
#include <utility>

namespace octlm::experiments {
namespace {

constexpr std::size_t kLongest = 80;

std::string shortened(const std::optional<nlohmann::json>& value, const char* absent) {
  if (!value) return absent;
  std::string text = value->dump();
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return text;
}

}  // namespace

std::string criterion_line(const nlohmann::json& criterion) {
  constexpr std::array<std::pair<const char*, const char*>, 3> kSigns = {
      {{"at_most", " <= "}, {"at_least", " >= "}, {"equals", " = "}}};
  std::string text = criterion.value("metric", "");
  for (const auto& [bound, sign] : kSigns) {
    if (criterion.contains(bound)) text += sign + criterion[bound].dump();
  }
  if (criterion.contains("when")) text += " " + criterion["when"].dump();
  return text;
}

std::string changes_text(const verify::Amendment& amendment, const std::string& indent) {
  std::string text;
  for (const auto& change : amendment.changes) {
    text += indent + (change.narrows ? "narrowing  " : "loosening  ") + change.field + "  " +
            shortened(change.from, "(nothing)") + " -> " + shortened(change.to, "(nothing)") + '\n';
  }
  return text;
}

std::string history_line(const verify::LedgerLine& line) {
  const auto text = [&](const char* key) { return line.fields.value(key, ""); };
  std::string what = line.time + "  " + line.entry;
  if (line.entry == "amend") what += ", " + text("class") + ": " + text("reason");
  if (line.entry == "withdraw") what += ": " + text("reason");
  if (line.entry == "publish") what += ": " + text("verdict") + ", " + text("run");
  if (line.entry == "register") {
    const std::string source = line.fields["prior_results"].value("source", "");
    what += " at " + text("commit").substr(0, 12) +
            (source.empty() ? ", no prior results" : ", prior results: " + source);
  }
  return what;
}

std::string attempt_line(const verify::Attempt& attempt) {
  return attempt.time + "  " + attempt.intent.key.device + "  " +
         (attempt.result ? attempt.result->verdict : "never ended") + "  " + attempt.intent.label +
         "  " + attempt.intent.run + (attempt.engines.empty() ? "" : "  " + attempt.engines);
}

}  // namespace octlm::experiments
