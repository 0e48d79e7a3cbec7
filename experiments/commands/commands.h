// The program's commands, one file each. Each adds its options to the command line and sets
// `action`, which returns the exit code (docs/results.md). An action may throw:
// formats::FormatError and std::invalid_argument are refusals (2), verify::LedgerInvalid ends in 3,
// anything else is an error (4); main prints them in one line.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "formats/error.h"

namespace octlm::experiments {

struct CommandLine {
  CLI::App& app;
  std::string text;              // as typed, for the record
  std::function<int()>& action;  // what main runs after parsing
};

void add_run(CommandLine& line);         // run, missing-checkpoints
void add_check(CommandLine& line);       // check FILE
void add_list(CommandLine& line);        // list [--kinds|--metrics|--faults]
void add_register(CommandLine& line);    // register EXP --prior-results none|declared
void add_amend(CommandLine& line);       // amend EXP --reason ...
void add_withdraw(CommandLine& line);    // withdraw EXP --reason ...
void add_publish(CommandLine& line);     // publish DIR
void add_report(CommandLine& line);      // report DIR
void add_compare(CommandLine& line);     // compare A B
void add_audit(CommandLine& line);       // audit
void add_show(CommandLine& line);        // show EXP
void add_logits(CommandLine& line);      // logits --model ... --out ...
void add_render(CommandLine& line);      // render --model ...
void add_record(CommandLine& line);      // record SPEC --out DIR
void add_reduce(CommandLine& line);      // reduce RUN [CASE]
void add_new(CommandLine& line);         // new KIND --model ...
void add_tokenize(CommandLine& line);    // tokenize --model ...
void add_detokenize(CommandLine& line);  // detokenize --model ...
void add_doctor(CommandLine& line);      // doctor

}  // namespace octlm::experiments
