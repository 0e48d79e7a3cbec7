// The Python interpreter inside this process: one, for the life of the process, running in the
// project's virtual environment. It is started at first use and never finalised, because finalising
// an interpreter that has imported torch can crash or hang (pybind/pybind11#1472,
// pytorch/pytorch#74422). A program that may have started it therefore leaves through
// flush_and_exit().
//
// The interpreter sees its environment and nothing else: no PYTHON* variable, no user site, no
// current directory; an active virtual environment does not matter. It installs no signal handlers.
// Threads: any thread may call; whoever needs the interpreter's lock takes it (python_call.h).
#pragma once

#include <filesystem>

namespace octlm::reference {

// Starts the interpreter of the environment that `executable` belongs to (`<venv>/bin/python`; a
// symbolic link is kept as it is, for it is what makes the environment). A second call with the
// same executable does nothing. Throws std::runtime_error, with what was found and the remedy, when
// the executable does not run, is not of the version this program is linked with, or when its
// environment cannot be entered; std::invalid_argument when the process already runs another
// environment.
void start_python(const std::filesystem::path& executable);

bool python_started();

// Flushes the C++ and C streams (Python's own are unbuffered) and ends the process at once: no
// static destructors, no atexit functions, no finalisation. Works with and without a started
// interpreter, and needs no lock, so it cannot hang on a thread that is computing. A process that
// loses what it wrote to stdout does not end with 0 but with kOutputLost.
[[noreturn]] void flush_and_exit(int code);
inline constexpr int kOutputLost = 4;

}  // namespace octlm::reference
