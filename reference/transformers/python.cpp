// Order of a start: ask the executable who it is (a child process), compare with the libpython this
// program is linked with, make libpython's symbols visible to extension modules, initialise,
// compare the environment that was entered with the one the executable had named, give up the lock.
#include "reference/transformers/python.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pybind11/stl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "formats/strict_json.h"
#include "reference/transformers/python_call.h"

namespace octlm::reference {
namespace {

namespace py = pybind11;

constexpr const char* kRemedy =
    "remedy: run ./octlm test once, which makes the environment and builds for it";

std::mutex starting;
std::filesystem::path running;  // the executable whose environment was entered; empty before
bool attempted = false;         // an interpreter was initialised, or has failed to

[[noreturn]] void refuse(const std::filesystem::path& executable, const std::string& what) {
  throw std::runtime_error("[python] " + executable.string() + " " + what + "; " + kRemedy);
}

// What the executable says of itself. The same isolation as the embedded interpreter's (-I).
constexpr const char* kIdentify =
    "import json, sys, sysconfig\n"
    "print(json.dumps({'version': '%d.%d' % sys.version_info[:2],\n"
    "  'free_threaded': bool(sysconfig.get_config_var('Py_GIL_DISABLED')),\n"
    "  'prefix': sys.prefix, 'path': sys.path}))\n";

// The standard output of `executable -I -c code`.
std::string output_of(const std::filesystem::path& executable, const char* code) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    throw std::runtime_error("[python] no pipe could be made");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  std::string program = executable.string(), isolated = "-I", command = "-c", text = code;
  std::array<char*, 5> arguments{program.data(), isolated.data(), command.data(), text.data(),
                                 nullptr};
  pid_t child = 0;
  const int error =
      posix_spawn(&child, program.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string output;
  std::array<char, 4096> buffer{};
  for (ssize_t n = 0; error == 0 && (n = read(ends[0], buffer.data(), buffer.size())) > 0;) {
    output.append(buffer.data(), static_cast<std::size_t>(n));
  }
  close(ends[0]);
  if (error != 0) refuse(executable, "cannot be run (" + std::string(strerror(error)) + ")");
  int status = 0;
  if (waitpid(child, &status, 0) != child || status != 0)
    refuse(executable, "does not run as a Python");
  return output;
}

std::string linked_version() {
  return std::to_string(PY_MAJOR_VERSION) + "." + std::to_string(PY_MINOR_VERSION);
}

nlohmann::json identify(const std::filesystem::path& executable) {
  const auto identity = formats::parse_or_discard(output_of(executable, kIdentify));
  if (!identity.is_object() || !identity.contains("version") ||
      !identity.at("version").is_string() || !identity.contains("prefix")) {
    refuse(executable, "does not answer as a Python");
  }
  if (identity.at("version") != linked_version() || identity.value("free_threaded", false)) {
    refuse(executable, "is Python " + identity.at("version").get<std::string>() +
                           (identity.value("free_threaded", false) ? " (free-threaded)" : "") +
                           ", and this program is linked with libpython " + linked_version() +
                           " (" + Py_GetVersion() + "); prefix " + identity.at("prefix").dump() +
                           ", search path " + identity.at("path").dump());
  }
  return identity;
}

// Extension modules (numpy's, torch's) expect libpython's symbols in the global scope. They are
// there when the program itself is linked with libpython, and are not when this code sits in a
// plug-in that was opened with RTLD_LOCAL (numpy/numpy#13717): open it again, globally.
void make_libpython_global() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&Py_InitializeFromConfig), &info) != 0 &&
      info.dli_fname != nullptr) {
    dlopen(info.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
  }
}

void check(const std::filesystem::path& executable, const PyStatus& status) {
  if (PyStatus_Exception(status) == 0) return;
  refuse(executable,
         "could not be started inside this process: " +
             std::string(status.err_msg != nullptr ? status.err_msg : "no reason given"));
}

void initialise(const std::filesystem::path& executable) {
  PyPreConfig before;
  PyPreConfig_InitIsolatedConfig(&before);
  before.utf8_mode = 1;  // paths are UTF-8, whatever the locale
  check(executable, Py_PreInitialize(&before));

  PyConfig config;
  PyConfig_InitIsolatedConfig(&config);
  config.install_signal_handlers = 0;
  config.buffered_stdio = 0;  // nothing to flush at exit, so no lock to wait for then
  // These two make the interpreter find pyvenv.cfg; `home` would turn the environment off.
  PyStatus status = PyConfig_SetBytesString(&config, &config.program_name, executable.c_str());
  if (PyStatus_Exception(status) == 0) {
    status = PyConfig_SetBytesString(&config, &config.executable, executable.c_str());
  }
  if (PyStatus_Exception(status) == 0) status = Py_InitializeFromConfig(&config);
  PyConfig_Clear(&config);
  check(executable, status);
}

void check_environment(const std::filesystem::path& executable, const nlohmann::json& identity) {
  const auto prefix = py::module_::import("sys").attr("prefix").cast<std::string>();
  if (prefix == identity.at("prefix")) return;
  const auto path = py::str(py::module_::import("sys").attr("path")).cast<std::string>();
  refuse(executable, "has the prefix " + identity.at("prefix").dump() +
                         ", but inside this process it is \"" + prefix + "\", search path " + path);
}

}  // namespace

void start_python(const std::filesystem::path& executable) {
  const std::filesystem::path absolute = std::filesystem::absolute(executable).lexically_normal();
  const std::lock_guard guard(starting);
  if (running == absolute) return;
  if (!running.empty()) {
    throw std::invalid_argument("[python] this process already runs " + running.string() +
                                " and cannot run " + absolute.string() + " as well");
  }
  const nlohmann::json identity = identify(absolute);
  make_libpython_global();
  if (std::exchange(attempted, true))
    refuse(absolute, "could not be started before, and no process can try twice");
  initialise(absolute);
  PyEval_SaveThread();  // gives up the lock: whoever needs it takes it
  with_python("entering " + absolute.string(), [&] { check_environment(absolute, identity); });
  running = absolute;
}

bool python_started() {
  const std::lock_guard guard(starting);
  return !running.empty();
}

void flush_and_exit(int code) {
  const bool written = static_cast<bool>(std::cout.flush());
  std::cerr.flush();
  std::clog.flush();
  const bool flushed = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  std::fflush(nullptr);
  _exit(code == 0 && !(written && flushed) ? kOutputLost : code);
}

// What python_call.h declares.

void throw_python_error(std::string_view doing, const py::error_already_set& error) {
  constexpr std::size_t kLines = 12;  // of the traceback: the last six frames
  std::string text = "[" + std::string(doing) + "] ";
  const std::string message = py::str(error.value());
  const auto type = error.type().attr("__name__").cast<std::string>();
  if (type == "Refusal") throw std::runtime_error(text + message);
  text += type + ": " + message;
  if (error.trace()) {
    const auto lines =
        py::str("")
            .attr("join")(py::module_::import("traceback").attr("format_tb")(error.trace()))
            .attr("splitlines")()
            .cast<std::vector<std::string>>();
    for (std::size_t i = lines.size() > kLines ? lines.size() - kLines : 0; i < lines.size(); ++i) {
      text += "\n" + lines[i];
    }
  }
  throw std::runtime_error(text);
}

py::module_ embedded_module(const char* name, std::string_view source) {
  const py::dict modules = py::module_::import("sys").attr("modules");
  if (modules.contains(name)) return py::reinterpret_borrow<py::module_>(modules[name]);
  const std::string file = "<" + std::string(name) + ".py>";
  const py::str text(source.data(), source.size());
  const auto module = py::module_::import("types").attr("ModuleType")(name);
  // Tracebacks show the source's lines, though there is no file.
  py::module_::import("linecache").attr("cache")[py::str(file)] =
      py::make_tuple(source.size(), py::none(), text.attr("splitlines")(true), file);
  const auto builtins = py::module_::import("builtins");
  modules[name] = module;
  try {
    builtins.attr("exec")(builtins.attr("compile")(text, file, "exec"), module.attr("__dict__"));
  } catch (...) {
    // A later attempt starts afresh, as Python's own import does.
    modules.attr("pop")(name, py::none());
    throw;
  }
  return module;
}

}  // namespace octlm::reference
