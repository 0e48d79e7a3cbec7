// A program that starts the interpreter and leaves in one of several ways; python_test.py runs it.
//   interpreter_probe PYTHON info                  what the interpreter sees, as JSON
//   interpreter_probe PYTHON exit CODE             prints in both languages, unflushed, and leaves
//   interpreter_probe PYTHON throw CODE            leaves from a handler, Python objects alive
//   interpreter_probe PYTHON tensors CODE FOLDER   leaves from a handler, a model and logits alive
//   interpreter_probe PYTHON wait                  sleeps inside Python until a signal comes
//   interpreter_probe PYTHON other CODE PYTHON2    starts a second environment
#include <pybind11/embed.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>

#include "reference/transformers/python.h"
#include "reference/transformers/python_call.h"
#include "reference/transformers/transformers.h"

namespace octlm::reference {
namespace {

namespace py = pybind11;

py::object* alive = nullptr;  // destroyed by nobody, and certainly not in time

void run_python(const char* code) {
  with_python("running the probe", [&] { py::exec(code); });
}

void info() {
  struct sigaction interrupt {};
  sigaction(SIGINT, nullptr, &interrupt);
  run_python(interrupt.sa_handler == SIG_DFL ? "sigint = 'default'" : "sigint = 'changed'");
  run_python(
      "import json, os, sys\n"
      "try:\n"
      "  import numpy\n"
      "  found = numpy.__file__\n"
      "except ImportError as error:\n"
      "  found = 'no: ' + str(error)\n"
      "print(json.dumps({'prefix': sys.prefix, 'executable': sys.executable, 'path': sys.path, "
      "'numpy': found,\n"
      "  'json': json.__file__, 'cwd': os.getcwd(), 'sigint': sigint, 'encoding': "
      "sys.getfilesystemencoding()}))");
}

void throw_with_tensors(const TransformersOptions& options) {
  struct Throwing final : LogitSink {
    void receive(const LogitBlock&) override { throw std::runtime_error("thrown from a sink"); }
  } sink;
  const auto engine = make_transformers(options);
  // Kept by nobody in C++ either: the model, the logits and torch's threads are alive at exit.
  auto* session = engine->start({{1, 2, 3, 4, 5}, Split::parse("cached:every"), {}}).release();
  while (session->advance(sink)) {
  }
}

void act(const std::string& action, char** arguments) {
  if (action == "info") return info();
  if (action == "wait")
    return run_python("import time\nprint('waiting', flush=True)\ntime.sleep(60)");
  if (action == "other") return start_python(arguments[4]);
  if (action == "exit" || action == "throw") {
    run_python("import sys\nsys.stdout.write('from Python|')");
    std::cout << "from C++|";
    std::printf("from C|");
    with_python("keeping", [] { alive = new py::object(py::list()); });
  }
  if (action == "throw")
    run_python("def inner():\n  raise ValueError('thrown in Python')\ninner()");
  if (action == "tensors") throw_with_tensors({.python = arguments[1], .folder = arguments[4]});
}

}  // namespace
}  // namespace octlm::reference

extern "C" int interpreter_probe(int argc, char** argv) {
  using octlm::reference::flush_and_exit;
  if (argc < 3) return 64;
  try {
    octlm::reference::start_python(argv[1]);
    octlm::reference::act(argv[2], argv);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    flush_and_exit(argc > 3 ? std::atoi(argv[3]) : 4);
  }
  flush_and_exit(argc > 3 ? std::atoi(argv[3]) : 0);
}
