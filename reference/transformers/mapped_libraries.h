// Which copies of the numeric libraries this process has mapped. libtorch reaches its BLAS through
// symbols that another copy can replace (pytorch/pytorch#182263), and two OpenMP runtimes fight
// over the cores: `octlm doctor` shows what is mapped and warns of what is mapped twice.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace octlm::reference {

struct MappedLibrary {
  std::string family;  // "BLAS", "OpenMP", "oneDNN", "MKL", "CUDA", "torch", "Python"
  std::string name;    // "libgomp": the file's name up to its version, a wheel's hash left out
  std::string path;
  friend bool operator==(const MappedLibrary&, const MappedLibrary&) = default;
};

// The libraries of these families, each path once, sorted.
std::vector<MappedLibrary> mapped_libraries();                    // of this process
std::vector<MappedLibrary> mapped_libraries(std::istream& maps);  // of text as in /proc/self/maps

// One sentence for each library that is mapped from two files, and one when several OpenMP runtimes
// are.
std::vector<std::string> duplicate_warnings(const std::vector<MappedLibrary>& libraries);

}  // namespace octlm::reference
