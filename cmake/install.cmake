# The framework alone, for projects without a language model: headers, static libraries, and a package
# that find_package(octlm COMPONENTS verify) finds. docs/framework.md says how.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(octlm_package ${CMAKE_INSTALL_LIBDIR}/cmake/octlm)
set_target_properties(octlm_verify PROPERTIES EXPORT_NAME verify)
set_target_properties(octlm_formats PROPERTIES EXPORT_NAME formats)
install(TARGETS octlm_verify octlm_formats octlm_code_hash EXPORT octlm_verify
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT verify
  # Included as "verify/metrics/metrics.h"; not into include/ itself, where other people have a verify/.
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/octlm COMPONENT verify)
install(EXPORT octlm_verify NAMESPACE octlm:: FILE octlm-verify.cmake
  DESTINATION ${octlm_package} COMPONENT verify)

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/octlmConfig.cmake.in
  ${CMAKE_BINARY_DIR}/octlmConfig.cmake INSTALL_DESTINATION ${octlm_package})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/octlmConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/octlmConfig.cmake ${CMAKE_BINARY_DIR}/octlmConfigVersion.cmake
  DESTINATION ${octlm_package} COMPONENT verify)
