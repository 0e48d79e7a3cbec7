// What a program that uses the framework calls things. The framework has no words of its own for
// what a project compares, nor for where it runs; pages, and the little that depends on them, take
// them from here. With the defaults a page speaks of cases, positions and columns, and lists as not
// checked what was planned and not made, nothing else.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "verify/kind.h"

namespace octlm::verify {

// Number types of one precision: some comparison should have one of them.
struct Precision {
  std::string name;  // what stands on the page when none of them was compared
  std::vector<std::string> dtypes;
  bool in_sentence = true;  // its absence belongs into the first sentence, and not only the grid
};

// In which of the subject's calls a position was computed, for the page of a failure.
struct Phases {
  std::string title = "computed in";
  std::string first = "the first call";         // the call that begins at position 0
  std::string one = "a call for it alone";      // a later call of one position
  std::string later = "a call for later ones";  // a later call of several
};

// What a page offers to be run again.
struct Repeat {
  nlohmann::json request;                       // RunInfo::request of the run
  std::string experiment = {}, spec_file = {};  // one of its experiments; "": all it selected
  std::string device = {};                      // on this one alone; "": as in the run
};

struct Program {
  std::string name = "verify";  // in titles, and as the package of junit.xml
  // What a person types before `run ...`; "": pages offer no command but that of the run itself.
  std::string launcher = {};
  // The complete command for it, quoted for a shell. Empty: `launcher` with the id and the device.
  std::function<std::string(const Repeat&)> repeat = {};

  // What a reader expects to see covered, in the order in which it is shown.
  std::vector<std::string> devices = {};
  std::vector<Precision> precisions = {};
  // How one case can be computed, in order; an entry stands for "entry:anything" too.
  std::vector<std::string> paths = {};
  std::string whole_path = {};  // the one of `paths` that divides nothing; "": there is none
  // What the other paths failing alone suggests, in words; "": nothing.
  std::string divided_hypothesis = {};
  // Things that can be absent where the program runs (NotRun::needs), beside devices.
  std::vector<std::string> needs = {"reference"};

  std::string model = "model";      // what Spec's `model` names
  std::string own_subject = "own";  // the subject when it is part of the program's code
  std::string length = "position";  // "not checked: beyond 200 positions"
  std::string context = {};         // title of the text before a position; "": not shown
  std::string part = {};            // title of "which part of the subject"; "": not shown
  Phases phases = {};

  // A column of a row, and its fields in `worst`, top-5 entries and differences (docs/results.md).
  std::string column = "column";
  std::string column_field = "column";            // its number
  std::string column_text_field = "column_text";  // in differences: what it stands for

  // By kind, for records from before the `experiment` line had its `role`.
  std::map<std::string, Role> roles = {};

  bool has_device(const std::string& device) const;
  // Places in the orders above; what they do not list comes last.
  std::size_t device_rank(const std::string& device) const;
  std::size_t dtype_rank(const std::string& dtype) const;
  std::size_t path_rank(const std::string& path) const;
  // Kept from `roles`, or kParity.
  Role role_of(const std::string& kind) const;
};

}  // namespace octlm::verify
