// What is wrong with what came from outside.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace octlm::formats {

// "experiments/registered/EXP-074.json: $.tolerence: unknown key; did you mean "tolerance"?"
class FormatError : public std::runtime_error {
 public:
  explicit FormatError(const std::string& what) : runtime_error(what), findings_{what} {}
  // Several at once; what() has each on a line. REQUIRES at least one.
  explicit FormatError(std::vector<std::string> findings);

  // Each a text of its own: what they quote may contain the end of a line.
  const std::vector<std::string>& findings() const { return findings_; }

 private:
  std::vector<std::string> findings_;
};

// `where` is a path, or a path and a place in it.
[[noreturn]] inline void refuse(const std::string& where, const std::string& what) {
  throw FormatError(where + ": " + what);
}

// What several readings refuse, to be said at once, in the order in which it was found, each once.
class Findings {
 public:
  // Whether `read` refused nothing; what it refused is kept.
  template <class Read>
  bool collect(const Read& read) {
    try {
      read();
      return true;
    } catch (const FormatError& error) {
      for (const std::string& finding : error.findings()) add(finding);
      return false;
    }
  }
  void add(const std::string& finding);
  bool empty() const { return list_.empty(); }
  // Throws FormatError with all of them, unless there are none.
  void raise() const;

 private:
  std::vector<std::string> list_;
};

}  // namespace octlm::formats
