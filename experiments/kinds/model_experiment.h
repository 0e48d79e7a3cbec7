// An experiment about a checkpoint, as its kind has read it. Commands ask it for what the kind
// parsed, so that nobody reads the spec's parts a second time; the environment comes in when it is
// opened, so that reading a spec needs none.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/engines/environment.h"
#include "experiments/engines/files_read.h"
#include "experiments/kinds/spec_parts.h"
#include "verify/kind.h"

namespace octlm::experiments {

// What a run of it on the CPU takes, in sizes that no machine changes: `octlm check` makes time and
// memory of it.
struct Work {
  // A comparison of one sequence: the subject computes its positions in so many forward calls, the
  // reference in one.
  struct Pass {
    std::int64_t positions = 0;
    std::int64_t calls = 0;
  };
  std::vector<Pass> passes = {};  // those that the spec tells the length of
  int stored = 0;                 // engines at once that keep the weights as they are stored
  int widened = 0;                // and as float32
  bool python = false;            // the live reference is started
};

class ModelExperiment : public verify::Experiment {
 public:
  virtual const ModelReference& model() const = 0;
  // The sequences that engines compute, as the spec gives them: ids may be missing until
  // fill_token_ids (case_ids.h).
  virtual std::vector<TokenCase> sequences() const { return {}; }
  // The reference that computes those sequences' logits; nullptr: there is none to record.
  virtual const ReferencePart* logit_reference() const { return nullptr; }
  virtual Work work() const { return {}; }
  // What its engines read of the checkpoint's folder. Of a tokenizer: where a sequence has no ids.
  virtual Reads reads() const;

  // The session watches the checkpoint's files (watched_files.h). Throws std::invalid_argument when
  // the host is no Environment.
  verify::Opened open(const std::string& device, const verify::Host& host) const final;

 protected:
  // Experiment::open.
  virtual verify::Opened open_on(const std::string& device,
                                 const Environment& environment) const = 0;
};

// nullptr when the experiment is about something else.
const ModelExperiment* about_a_model(const verify::Experiment& experiment);

// Adds a path of a sequence, unless the spec does not say how long it is or it has nothing to do.
void add_pass(Work& work, const reference::Split& path, std::int64_t positions);

}  // namespace octlm::experiments
