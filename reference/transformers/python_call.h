// Calling Python from this folder's sources. Includes pybind11: no header that other folders
// include may include this one.
#pragma once

#include <pybind11/embed.h>

#include <filesystem>
#include <string_view>
#include <utility>

namespace octlm::reference {

// Throws std::runtime_error "[doing] Type: message" with the end of the traceback below it; for the
// sources' own Refusal only "[doing] message". REQUIRES: the lock is held.
[[noreturn]] void throw_python_error(std::string_view doing,
                                     const pybind11::error_already_set& error);

// Runs `body` with the interpreter's lock held. REQUIRES: python_started().
template <class Body>
decltype(auto) with_python(std::string_view doing, Body&& body) {
  const pybind11::gil_scoped_acquire lock;
  try {
    return std::forward<Body>(body)();
  } catch (const pybind11::error_already_set& error) {
    throw_python_error(doing, error);
  }
}

// The module made from an embedded source, executed at first use. REQUIRES: the lock is held.
pybind11::module_ embedded_module(const char* name, std::string_view source);

}  // namespace octlm::reference
