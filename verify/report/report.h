// A rendering of a run, told of things as they happen. Reports see the result model and nothing
// else.
#pragma once

#include "verify/result.h"

namespace octlm::verify {

class Report {
 public:
  virtual ~Report() = default;
  // Where `info.resumed`, comparisons that the interrupted run finished follow as `kept` results.
  virtual void run_started(const RunInfo& info) { (void)info; }
  // The device's engines are being made ready.
  virtual void device_started(const ExperimentResult& experiment, const std::string& device) {
    (void)experiment, (void)device;
  }
  // They are ready. `identity`: Experiment::identity.
  virtual void device_ready(const ExperimentResult& experiment, const std::string& device,
                            const nlohmann::json& identity) {
    (void)experiment, (void)device, (void)identity;
  }
  virtual void comparison_started(const ExperimentResult& experiment, const ComparisonKey& key) {
    (void)experiment, (void)key;
  }
  virtual void comparison_finished(const ExperimentResult& experiment,
                                   const ComparisonResult& result) {
    (void)experiment, (void)result;
  }
  // What the criteria say of that comparison alone; those that judge it are in `alone`.
  virtual void comparison_judged(const ExperimentResult& experiment, const ComparisonResult& result,
                                 const Judgement& alone) {
    (void)experiment, (void)result, (void)alone;
  }
  virtual void experiment_finished(const ExperimentResult& experiment) { (void)experiment; }
  virtual void run_finished(const RunResult& run) { (void)run; }
};

}  // namespace octlm::verify
