# The few functions by which the parts declare themselves.
#
#   octlm_library(octlm_model SOURCES a.cpp HEADERS a.h LINK dep)    a static library; its headers are
#                                                                  a file set, each compiled alone
#   octlm_sources(octlm_model SOURCES b.cpp HEADERS b.h)          what a folder adds to its part's library
#   octlm_test(model.config SOURCES config_test.cpp LINK octlm_model [WHOLE] [LABELS slow])
#                                     one GoogleTest program; WHOLE runs it as one ctest entry
#   octlm_add_command_test(name COMMAND ...)                       any command as a ctest entry
#   octlm_fuzz_target(formats.utf8 SOURCES utf8_fuzz.cpp LINK octlm_formats)
#                                     one reader of foreign bytes: with OCTLM_FUZZ a libFuzzer program,
#                                     in the tests one that reads each file of fuzz/corpus/<name> once

add_custom_target(octlm_all_tests)
add_custom_target(octlm_fuzz_targets)

function(octlm_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;HEADERS;LINK" ${ARGN})
  add_library(${name} STATIC)
  target_sources(${name} PRIVATE ${ARG_SOURCES}
    PUBLIC FILE_SET HEADERS BASE_DIRS ${CMAKE_SOURCE_DIR} FILES ${ARG_HEADERS})
  target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}>)
  target_link_libraries(${name} PUBLIC ${ARG_LINK} PRIVATE $<BUILD_INTERFACE:octlm_warnings>)
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON
                        VERIFY_INTERFACE_HEADER_SETS ON)
endfunction()

function(octlm_sources library)
  cmake_parse_arguments(ARG "" "" "SOURCES;HEADERS" ${ARGN})
  target_sources(${library} PRIVATE ${ARG_SOURCES}
    PUBLIC FILE_SET HEADERS BASE_DIRS ${CMAKE_SOURCE_DIR} FILES ${ARG_HEADERS})
endfunction()

function(octlm_test name)
  cmake_parse_arguments(ARG "WHOLE" "TIMEOUT" "SOURCES;LINK;LABELS;ENVIRONMENT" ${ARGN})
  if(NOT OCTLM_TESTS)
    return()
  endif()
  string(REPLACE "." "_" target ${name}_test)
  add_executable(${target} ${ARG_SOURCES})
  target_link_libraries(${target} PRIVATE ${ARG_LINK} GTest::gtest GTest::gmock GTest::gtest_main octlm_warnings)
  target_compile_definitions(${target} PRIVATE OCTLM_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  add_dependencies(octlm_all_tests ${target})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  set(properties TIMEOUT ${ARG_TIMEOUT})
  if(ARG_LABELS) # an empty one would make the next word a label
    list(APPEND properties LABELS "${ARG_LABELS}")
  endif()
  if(ARG_ENVIRONMENT)
    list(APPEND properties ENVIRONMENT "${ARG_ENVIRONMENT}")
  endif()
  if(ARG_WHOLE)
    add_test(NAME ${name} COMMAND ${target})
    set_tests_properties(${name} PROPERTIES ${properties} SKIP_REGULAR_EXPRESSION "\\[  SKIPPED \\]")
  else()
    gtest_discover_tests(${target} TEST_PREFIX ${name}. DISCOVERY_MODE PRE_TEST PROPERTIES ${properties})
  endif()
endfunction()

function(octlm_add_command_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "COMMAND;LABELS;ENVIRONMENT;DEPENDS" ${ARGN})
  if(NOT OCTLM_TESTS)
    return()
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 600)
  endif()
  add_test(NAME ${name} COMMAND ${ARG_COMMAND})
  # pytest's last line when every test of the file was skipped: not run is not passed.
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}"
                       ENVIRONMENT "${ARG_ENVIRONMENT}" SKIP_REGULAR_EXPRESSION "(^|\n)[0-9]+ skipped in ")
  if(ARG_DEPENDS)
    add_dependencies(octlm_all_tests ${ARG_DEPENDS})
  endif()
endfunction()

function(octlm_fuzz_target name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  string(REPLACE "." "_" target ${name}_fuzz)
  if(OCTLM_FUZZ)
    add_executable(${target} ${ARG_SOURCES})
    target_link_libraries(${target} PRIVATE ${ARG_LINK} octlm_warnings -fsanitize=fuzzer)
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name}
                          RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
    add_dependencies(octlm_fuzz_targets ${target})
  elseif(OCTLM_TESTS)
    add_executable(${target} ${ARG_SOURCES})
    target_link_libraries(${target} PRIVATE octlm_replay_corpus ${ARG_LINK} octlm_warnings)
    octlm_add_command_test(fuzz.${name} LABELS fuzz TIMEOUT 60 DEPENDS ${target}
      COMMAND ${target} ${CMAKE_SOURCE_DIR}/fuzz/corpus/${name})
  endif()
endfunction()
