// octlm: runs registered experiments and the filters that let others check the decoder.
#include <CLI/CLI.hpp>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "experiments/commands/commands.h"
#include "formats/cut_files.h"
#include "formats/json_reader.h"
#include "formats/standard_streams.h"
#include "reference/transformers/python.h"
#include "verify/ledger/ledger.h"
#include "verify/provenance.h"
#include "verify/report/escape.h"
#include "verify/runner.h"

namespace {

int report(const char* kind, const std::exception& error, int code) {
  // What it quotes may come from a file of somebody else's.
  std::cerr << "octlm: " << kind << octlm::verify::for_terminal_lines(error.what()) << '\n';
  return code;
}

// As typed, to be typed again: the launcher, where it started this program.
std::string command_text(int argc, char** argv) {
  std::vector<const char*> words(argv, argv + argc);
  if (std::getenv("OCTLM_ROOT") != nullptr && argc > 0) words.front() = "./octlm";
  return octlm::verify::command_line(argc, words.data());
}

int run_program(int argc, char** argv) {
  using namespace octlm::experiments;
  CLI::App app("octlm: a decoder, and a harness that proves it equal to Transformers", "octlm");
  app.require_subcommand(1);
  std::function<int()> action;
  CommandLine line{app, command_text(argc, argv), action};
  add_run(line);
  add_check(line);
  add_list(line);
  add_register(line);
  add_amend(line);
  add_withdraw(line);
  add_publish(line);
  add_report(line);
  add_compare(line);
  add_audit(line);
  add_show(line);
  add_logits(line);
  add_tokenize(line);
  add_detokenize(line);
  add_render(line);
  add_record(line);
  add_reduce(line);
  add_new(line);
  add_doctor(line);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    app.exit(error, std::cerr, std::cerr);
    return octlm::verify::kExitRefused;
  }
  try {
    return action();
  } catch (const octlm::formats::OutputLost&) {
    throw;
  } catch (const octlm::formats::FormatError& error) {
    for (const std::string& finding : error.findings()) {
      report("", std::runtime_error(finding), octlm::verify::kExitRefused);
    }
    return octlm::verify::kExitRefused;
  } catch (const std::invalid_argument& error) {
    return report("", error, octlm::verify::kExitRefused);
  } catch (const octlm::verify::LedgerInvalid& error) {
    return report("", error, octlm::verify::kExitUnregistered);
  } catch (const std::bad_alloc& error) {
    return report("out of memory: ", error, octlm::verify::kExitError);
  } catch (const std::exception& error) {
    return report("", error, octlm::verify::kExitError);
  }
}

// An answer that could not be written whole is an error; a verdict stays what it is.
int run_checked(int argc, char** argv) {
  int code = octlm::verify::kExitPass;
  try {
    const octlm::formats::CheckedStreams checked;
    code = run_program(argc, argv);
    std::cout << std::flush;
    return code;
  } catch (const octlm::formats::OutputLost& lost) {
    if (lost.by_closed_pipe()) octlm::formats::end_by_closed_pipe();
    report("", lost, code);
    return code != octlm::verify::kExitPass ? code : octlm::verify::kExitError;
  }
}

}  // namespace

int main(int argc, char** argv) {
  octlm::formats::open_closed_streams();
  octlm::formats::outlive_cut_files();
  octlm::reference::flush_and_exit(run_checked(argc, argv));
}
