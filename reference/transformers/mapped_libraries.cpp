#include "reference/transformers/mapped_libraries.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <istream>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

namespace octlm::reference {
namespace {

struct Family {
  std::string_view start;  // of the file's name
  std::string_view family;
};

// The first match counts. libtorch_cpu carries MKL and oneDNN inside, under their own symbol names.
constexpr std::array<Family, 29> kFamilies{{
    {"libopenblas", "BLAS"}, {"libscipy_openblas", "BLAS"}, {"libblas", "BLAS"},
    {"libcblas", "BLAS"},    {"liblapack", "BLAS"},         {"libblis", "BLAS"},
    {"libatlas", "BLAS"},    {"libsatlas", "BLAS"},         {"libflexiblas", "BLAS"},
    {"libgomp", "OpenMP"},   {"libomp", "OpenMP"},          {"libiomp", "OpenMP"},
    {"libdnnl", "oneDNN"},   {"libmkldnn", "oneDNN"},       {"libmkl_", "MKL"},
    {"libcudart", "CUDA"},   {"libcublas", "CUDA"},         {"libcudnn", "CUDA"},
    {"libcuda.", "CUDA"},    {"libcufft", "CUDA"},          {"libcurand", "CUDA"},
    {"libcusolver", "CUDA"}, {"libcusparse", "CUDA"},       {"libnccl", "CUDA"},
    {"libnvrtc", "CUDA"},    {"libnvJitLink", "CUDA"},      {"libtorch", "torch"},
    {"libc10", "torch"},     {"libpython", "Python"},
}};

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// "libgomp-24e2ab19.so.1.0.0" and "libgomp.so.1" are both libgomp: what auditwheel adds after '-'
// goes when it is eight or more hex digits.
std::string_view stem(std::string_view file) {
  std::string_view name = file.substr(0, file.find(".so"));
  const std::size_t dash = name.rfind('-');
  if (dash == std::string_view::npos) return name;
  const std::string_view hash = name.substr(dash + 1);
  const bool added =
      hash.size() >= 8 && hash.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  return added ? name.substr(0, dash) : name;
}

// The path of a line of /proc/self/maps: the sixth field, which may hold spaces; empty when there
// is none.
std::string_view path_of(std::string_view line) {
  const std::size_t slash = line.find('/');
  if (slash == std::string_view::npos) return {};
  std::string_view path = line.substr(slash);
  constexpr std::string_view kDeleted = " (deleted)";
  if (path.ends_with(kDeleted)) path.remove_suffix(kDeleted.size());
  return path;
}

}  // namespace

std::vector<MappedLibrary> mapped_libraries(std::istream& maps) {
  std::set<std::string> paths;
  std::string line;
  while (std::getline(maps, line)) {
    const std::string_view path = path_of(line);
    if (file_name(path).find(".so") != std::string_view::npos) paths.emplace(path);
  }
  std::vector<MappedLibrary> libraries;
  for (const std::string& path : paths) {
    const std::string_view file = file_name(path);
    const auto* found = std::find_if(kFamilies.begin(), kFamilies.end(), [&](const Family& one) {
      return file.starts_with(one.start);
    });
    if (found == kFamilies.end()) continue;
    libraries.push_back({std::string(found->family), std::string(stem(file)), path});
  }
  std::sort(libraries.begin(), libraries.end(), [](const MappedLibrary& a, const MappedLibrary& b) {
    return std::tie(a.family, a.name, a.path) < std::tie(b.family, b.name, b.path);
  });
  return libraries;
}

std::vector<MappedLibrary> mapped_libraries() {
  std::ifstream maps("/proc/self/maps");
  return mapped_libraries(maps);
}

std::vector<std::string> duplicate_warnings(const std::vector<MappedLibrary>& libraries) {
  std::map<std::string, std::vector<std::string>> copies;
  std::set<std::string> openmp;
  for (const MappedLibrary& library : libraries) {
    copies[library.name].push_back(library.path);
    if (library.family == "OpenMP") openmp.insert(library.name);
  }
  const auto listed = [](const auto& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
  };
  std::vector<std::string> warnings;
  for (const auto& [name, paths] : copies) {
    if (paths.size() > 1)
      warnings.push_back(name + " is mapped from several files: " + listed(paths));
  }
  if (openmp.size() > 1)
    warnings.push_back("several OpenMP runtimes are mapped: " + listed(openmp));
  return warnings;
}

}  // namespace octlm::reference
