# The framework has no words of what a program compares or where: not even in a string or a comment.
#   cmake -DROOT=<checkout> -P words_test.cmake
# Tests and verify/testing stand for such a program and may have them; code_hash.cpp, the namespace,
# the include guards and the build's own targets are not looked at.
cmake_minimum_required(VERSION 3.25)
set(words "[Tt]okens?|[Ll]ogits?|cpu|cuda|CUDA|octlm|[Tt]ransformers|float16|[Pp]refills?|[Dd]ecod(e|er|es|ed|ing)|cached|16 bits")
file(GLOB_RECURSE files ${ROOT}/verify/*.h ${ROOT}/verify/*.cpp ${ROOT}/verify/*.inc ${ROOT}/verify/code_hash.cmake)
list(FILTER files EXCLUDE REGEX "_test\\.cpp$|/verify/testing/")
list(LENGTH files count)
if(count LESS 50)
  message(FATAL_ERROR "${count} files under ROOT=${ROOT}: is that the checkout?")
endif()
set(wrong "")
foreach(file IN LISTS files)
  file(STRINGS ${file} lines REGEX "(^|[^A-Za-z0-9])(${words})([^A-Za-z0-9]|$)")
  foreach(line IN LISTS lines)
    # Left out: the namespace, the compiler's built-ins, and the name that the record's environment
    # has for the processor, in one place.
    string(REGEX REPLACE "namespace octlm|octlm::|__builtin_cpu" "" rest "${line}")
    string(REPLACE "kProcessor = \"cpu\"" "" rest "${rest}")
    if(rest MATCHES "(^|[^A-Za-z0-9])(${words})([^A-Za-z0-9]|$)")
      list(APPEND wrong "${file}: ${line}")
    endif()
  endforeach()
endforeach()
if(wrong)
  list(JOIN wrong "\n" wrong)
  message(FATAL_ERROR "words that the framework does not know:\n${wrong}")
endif()
message(STATUS "${count} files have none of the words")
