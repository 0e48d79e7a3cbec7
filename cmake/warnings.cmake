# Warnings for our own targets; no global flags beside these and the language standard.
add_library(octlm_warnings INTERFACE)
target_compile_options(octlm_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wcast-align -Woverloaded-virtual
  -Wdouble-promotion -Wno-psabi
  # GCC 12 reports std::string assignments inside its own headers; clang has no such warning.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
