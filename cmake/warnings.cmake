# Warnings for our own targets; no global flags beside these and the language standard.
add_library(octlm_warnings INTERFACE)
target_compile_options(octlm_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wcast-align -Woverloaded-virtual
  -Wnull-dereference -Wdouble-promotion -Wno-psabi)
