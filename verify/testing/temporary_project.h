// A project in a temporary folder: specs, a ledger, a journal, runs of ten-line fakes.
#pragma once

#include <gmock/gmock.h>

#include "verify/ledger/audit.h"
#include "verify/ledger/publish.h"
#include "verify/ledger/registration.h"
#include "verify/ledger/standing.h"
#include "verify/measures.h"
#include "verify/report/rendering.h"
#include "verify/testing/fake_experiment.h"
#include "verify/testing/language_program.h"

namespace octlm::verify::testing {

class TemporaryProject : public ::testing::Test {
 protected:
  TemporaryProject() {
    std::filesystem::create_directories(project_.registered());
    kinds_ = envelope_kinds();
    // Cases may name a prompt file, as `chat`.
    kinds_[1].files = [this](const Spec& spec) {
      std::map<std::string, std::filesystem::path> files;
      for (const auto& one : spec.raw["cases"]) {
        if (one.contains("chat")) files[one["chat"]] = project_.root / one["chat"];
      }
      return files;
    };
  }

  static nlohmann::json document(const std::string& id) {
    return {{"schema", 1},
            {"id", id},
            {"title", "A claim"},
            {"kind", "logit_parity"},
            {"tags", {"parity"}},
            {"question", "Is it so?"},
            {"prediction", "Yes."},
            {"model", {{"id", "tiny"}}},
            {"reference", {{"engine", "transformers"}}},
            {"subject", {{"engine", "octlm"}, {"devices", {"cpu"}}, {"paths", {"full"}}}},
            {"cases", {{{"name", "story"}, {"token_ids", {1, 2, 3}}}}},
            {"parameters", nlohmann::json::object()},
            {"criteria",
             {{{"metric", "max_abs_error@1"}, {"at_most", 1.0}, {"derivation", "d"}},
              {{"metric", "finite@1"}, {"equals", true}}}},
            {"also_record", nlohmann::json::array()},
            {"must_catch", {"swap_k_v_proj"}},
            {"stop_rule", "Never re-rolled."}};
  }

  std::filesystem::path file_of(const std::string& id) const {
    return project_.registered() / (id + ".json");
  }
  Spec write(const nlohmann::json& spec) {
    std::ofstream(file_of(spec["id"])) << spec.dump();
    Spec read = read_spec(file_of(spec["id"]), kinds_);
    read.measures = measures(read, FakeExperiment(plan_of(read), {}));
    return read;
  }
  // Every case on every path and device of the spec.
  static std::vector<ComparisonKey> plan_of(const Spec& spec) {
    std::vector<ComparisonKey> keys;
    const nlohmann::json& subject = spec.raw["subject"];
    for (const auto& one : spec.raw["cases"]) {
      for (const auto& path : subject["paths"]) {
        for (const auto& device : subject["devices"])
          keys.push_back({one["name"], path, device, key("").dtype});
      }
    }
    return keys;
  }
  Publication publish(const std::filesystem::path& run) {
    const Program program = language_program();
    const auto render = [&](const std::filesystem::path& from, const std::filesystem::path& to) {
      render_run(from, to, project_, program);
    };
    return publish_run(project_, run, {.kinds = kinds_, .program = program, .render = render});
  }
  Spec registered(const std::string& id, const PriorResults& prior = {}) {
    const Spec spec = write(document(id));
    register_claim(project_, spec, prior);
    return spec;
  }
  Spec amended(const nlohmann::json& spec) {
    const Spec changed = write(spec);
    amend_claim(project_, changed, "because");
    return changed;
  }

  Ledger ledger() const { return read_ledger(project_.ledger()); }
  Trust trust(const Spec& spec) const { return standing(ledger().chain(spec.id), spec.sha256); }

  std::vector<std::string> lines(const std::filesystem::path& file) const {
    std::vector<std::string> all;
    std::ifstream stream(file);
    for (std::string line; std::getline(stream, line);) all.push_back(line);
    return all;
  }
  static void write_lines(const std::filesystem::path& file, const std::vector<std::string>& all) {
    std::ofstream stream(file);
    for (const std::string& line : all) stream << line << '\n';
  }
  std::vector<std::string> ledger_lines() const { return lines(project_.ledger()); }
  void write_ledger(const std::vector<std::string>& all) const {
    write_lines(project_.ledger(), all);
  }
  static void replace(const std::filesystem::path& file, const std::string& what,
                      const std::string& with) {
    std::string text = text_of(file);
    const std::size_t at = text.find(what);
    ASSERT_NE(at, std::string::npos) << what << " is not in " << file;
    text.replace(at, what.size(), with);
    std::ofstream(file) << text;
  }

  // A run whose every comparison measures `error`.
  RunResult run_once(const Spec& spec, double error, const std::string& code = "c0de") {
    return run_with(
        spec, [=](const ComparisonKey&) { return measured(error); }, code);
  }
  static Outcome measured(double error) {
    return Measurement{{{"max_abs_error@1", error}, {"finite@1", true}}};
  }
  RunResult run_with(const Spec& spec, FakeExperiment::Answer answer, const std::string& code,
                     std::vector<ComparisonKey> plan = {key("story")}) {
    RunOptions options{.reports = project_.reports(), .project = project_};
    options.info.code_sha256 = code;
    options.info.program = language_program();
    std::vector<RunItem> items;
    items.push_back({spec, std::make_unique<FakeExperiment>(std::move(plan), std::move(answer))});
    return run(options, items);
  }

  std::vector<std::string> problems() const { return texts(true); }
  std::vector<std::string> notes() const { return texts(false); }

  TemporaryFolder folder_;
  Project project_{folder_.path()};
  std::vector<Kind> kinds_;

 private:
  std::vector<std::string> texts(bool problem) const {
    std::vector<std::string> found;
    const Audit made =
        audit(project_, [&](const std::filesystem::path& file) { return read_spec(file, kinds_); });
    for (const Finding& finding : made.findings) {
      if (finding.problem == problem) found.push_back(finding.text());
    }
    return found;
  }
};

}  // namespace octlm::verify::testing
