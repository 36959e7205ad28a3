# Headers, libraries, the program, its modules, manual pages, completion, a pkg-config file and a CMake
# package. Each rule belongs to a component, which is a Debian package; without a name, to libhvi-dev.
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME development)
include(CMakePackageConfigHelpers)
set(HVI_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/hvi)

install(TARGETS hvi COMPONENT program)
install(TARGETS hvi_shared hvi_static EXPORT hviTargets
  LIBRARY COMPONENT library NAMELINK_COMPONENT development)
if(TARGET hvi_mujoco)
  install(TARGETS hvi_mujoco LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/hvi COMPONENT module)
endif()
if(TARGET hvi_mpi)
  install(TARGETS hvi_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/hvi COMPONENT mpi)
endif()
if(TARGET hvi_gpu)
  install(TARGETS hvi_gpu LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/hvi COMPONENT gpu)
endif()
install(DIRECTORY include/hvi DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(DIRECTORY ${HVI_MAN}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program OPTIONAL)
install(FILES completion/bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME hvi COMPONENT program)
install(FILES completion/zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions RENAME _hvi COMPONENT program)
install(FILES completion/fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d RENAME hvi.fish COMPONENT program)
install(DIRECTORY data/ DESTINATION ${CMAKE_INSTALL_DATADIR}/hvi COMPONENT program)
install(DIRECTORY docs/results/ DESTINATION ${CMAKE_INSTALL_DATADIR}/hvi/results COMPONENT program
  FILES_MATCHING PATTERN "README.md" PATTERN "claims.json" PATTERN "*.png" PATTERN "*.json" PATTERN "*.txt")
install(FILES LICENSE CITATION.cff DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR})

# Both packages find the prefix from where they lie, so an installed tree can be moved.
file(RELATIVE_PATH HVI_PC_TO_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" HVI_PC_TO_PREFIX "${HVI_PC_TO_PREFIX}")
list(JOIN OPENBLAS_LDFLAGS " " HVI_PC_OPENBLAS)
list(JOIN LAPACKE_LDFLAGS " " HVI_PC_LAPACKE)
list(JOIN YAML_LDFLAGS " " HVI_PC_YAML)
list(JOIN JANSSON_LDFLAGS " " HVI_PC_JANSSON)
list(JOIN ZIP_LDFLAGS " " HVI_PC_ZIP)
if(CMAKE_DL_LIBS)
  set(HVI_PC_DL "-l${CMAKE_DL_LIBS}")
endif()
configure_file(cmake/hvi.pc.in ${PROJECT_BINARY_DIR}/package/hvi.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/package/hvi.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

configure_package_config_file(cmake/hviConfig.cmake.in
  ${PROJECT_BINARY_DIR}/package/hviConfig.cmake INSTALL_DESTINATION ${HVI_PACKAGE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/hviConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/package/hviConfig.cmake
  ${PROJECT_BINARY_DIR}/package/hviConfigVersion.cmake DESTINATION ${HVI_PACKAGE_DIR})
install(EXPORT hviTargets NAMESPACE hvi:: DESTINATION ${HVI_PACKAGE_DIR})
