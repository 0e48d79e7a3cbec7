// Python objects in the hands of C++ code. Includes pybind11: see python_call.h.
#pragma once

#include <pybind11/embed.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "formats/strict_json.h"

namespace octlm::reference {

// A Python object owned by C++ code that does not hold the interpreter's lock.
class __attribute__((visibility("hidden"))) Held {
 public:
  Held() = default;
  explicit Held(pybind11::object object) : object_(std::move(object)) {}
  Held(Held&& other) noexcept = default;
  Held(const Held&) = delete;
  Held& operator=(Held&&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() {
    if (!object_) return;
    const pybind11::gil_scoped_acquire lock;
    object_ = pybind11::object();
  }
  // REQUIRES: the lock is held, for these two.
  const pybind11::object& operator*() const { return object_; }
  void reset(pybind11::object object) { object_ = std::move(object); }

 private:
  pybind11::object object_;
};

// REQUIRES: the lock is held.
inline nlohmann::json to_json(const pybind11::object& value) {
  return formats::parse_strict(
      pybind11::module_::import("json").attr("dumps")(value).cast<std::string>(), "a Python value",
      formats::kIntegersOf64Bits);
}

}  // namespace octlm::reference
