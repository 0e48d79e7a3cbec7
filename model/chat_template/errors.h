// What can go wrong while a template is read or rendered. The message has no place yet:
// ChatTemplate adds file and line where it leaves the interpreter.
#pragma once

#include <stdexcept>
#include <string>

namespace octlm::model {

// The template, or the chat that it was given, is wrong: Jinja refuses it too.
class TemplateError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Jinja could do it and this interpreter cannot, or will not: the construct is named, nothing is
// guessed.
class UnsupportedError : public TemplateError {
 public:
  explicit UnsupportedError(const std::string& construct)
      : TemplateError(construct + " is not supported") {}
  struct Whole {};
  UnsupportedError(const std::string& message, Whole) : TemplateError(message) {}
};

// A bound of Limits was reached: the template loops, recurses or grows without end.
class LimitError : public TemplateError {
  using TemplateError::TemplateError;
};

}  // namespace octlm::model
