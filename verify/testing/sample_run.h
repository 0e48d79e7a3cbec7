// Results as a run would have found them, in a line each, for tests of the renderings.
#pragma once

#include "verify/criteria.h"
#include "verify/metrics/metric_value.h"
#include "verify/runner.h"
#include "verify/testing/fake_experiment.h"
#include "verify/testing/language_program.h"

namespace octlm::verify::testing {

inline ComparisonResult compared(const ComparisonKey& key, double error,
                                 const std::string& reference = "transformers") {
  const nlohmann::json top5 = {{{"token_id", 7}, {"value", 2.5}},
                               {{"token_id", 8}, {"value", 1.5}}};
  return {key,
          Measurement{
              {{"max_abs_error@1", error}, {"finite@1", std::isfinite(error)}},
              {{"subject", {{"engine", "octlm"}, {"version", "0.1"}, {"source", "live"}}},
               {"reference", {{"engine", reference}, {"version", "4.57.6"}, {"source", "live"}}},
               {"positions", 200},
               {"calls", {{"subject", {{0, 5}, {5, 1}, {6, 1}}}}},
               {"worst",
                {{"position", 6},
                 {"token_id", 7},
                 {"text", " mat"},
                 {"subject", 2.5},
                 {"reference", 2.25},
                 {"ulps", 12},
                 {"subject_top5", top5},
                 {"reference_top5", top5}}},
               {"seconds", {{"subject", 1.5}, {"reference", 2.5}}}}}};
}

// An experiment of these comparisons, judged: max_abs_error@1 at most `bound`, and finite.
inline ExperimentResult experiment(const std::string& id, std::vector<ComparisonResult> comparisons,
                                   double bound = 1e-3, const std::string& label = "confirmatory") {
  ExperimentResult made;
  made.id = id;
  made.title = "A claim";
  made.kind = "logit_parity";
  made.model = "tiny";
  made.spec_file = id + ".json";
  made.spec_sha256 = std::string(64, '5');
  made.trust.label = label;
  if (!made.trust.counts()) made.trust.why = "as the ledger says";
  made.comparisons = std::move(comparisons);
  made.planned = std::ssize(made.comparisons);
  Criterion error = at_most("max_abs_error@1", bound);
  error.sees_scale = bound <= 1;
  made.judgement = judge(spec_of(id, {error, equals("finite@1", true)}), made.comparisons);
  for (const DeviceResult& device : made.judgement.devices) {
    made.trust.attempts[device.device] = {1, device.verdict == Verdict::kFail, 0, "i"};
  }
  return made;
}

inline RunResult run_of(std::vector<ExperimentResult> experiments) {
  RunResult run;
  run.info.program = language_program();
  run.info.version = "0.1";
  run.info.commit = "1a2b3c4d5e6f";
  run.info.dirty = false;
  run.info.code_sha256 = std::string(64, 'c');
  run.info.command = "octlm run";
  run.info.started = "2026-03-01T12:00:00Z";
  run.info.ledger_head = std::string(64, 'a');
  run.info.environment = {{"cpu", {{"model", "a processor"}}}, {"threads", 8}};
  run.info.folder = "reports/x";
  run.experiments = std::move(experiments);
  for (const ExperimentResult& one : run.experiments) {
    run.info.specs[one.id] = one.spec_sha256;
    run.info.planned += one.planned;
  }
  run.summary = summarize(run, {});
  return run;
}

}  // namespace octlm::verify::testing
