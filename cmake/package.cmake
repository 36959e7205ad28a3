# `make deb`: Debian packages, one for each component of install.cmake.
#   libhvi0.1    the shared library, with the number of its SONAME
#   libhvi-dev   headers, the static library, pkg-config and CMake files, documents and examples
#   hvi          the program, its data, manual pages and completion
#   hvi-mujoco   the module of the environments on MuJoCo, so that nothing else needs MuJoCo
#   hvi-gpu      the module of networks on a GPU, where nvcc is installed; it needs the driver alone
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "") # each package has its own
set(CPACK_OUTPUT_FILE_PREFIX packages)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/compress.cmake)

# Who packages is told as to other Debian tools.
set(HVI_PACKAGER "hvi authors <hvi@localhost>")
if(DEFINED ENV{DEBEMAIL} AND DEFINED ENV{DEBFULLNAME})
  set(HVI_PACKAGER "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
endif()
set(CPACK_DEBIAN_PACKAGE_MAINTAINER ${HVI_PACKAGER})

set(HVI_DEB_VERSION ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})
string(TIMESTAMP HVI_DEB_DATE "%a, %d %b %Y %H:%M:%S +0000" UTC)
set(HVI_SHLIB libhvi${HVI_SOVERSION})
configure_file(cmake/debian/shlibs.in ${PROJECT_BINARY_DIR}/package/shlibs @ONLY)
configure_file(cmake/debian/changelog.in ${PROJECT_BINARY_DIR}/package/changelog.Debian @ONLY)

# OpenBLAS by its own name: shlibdeps would also take the variant that is not safe to call from threads.
set(HVI_BLAS libopenblas0-pthread)
macro(hvi_package component name section summary)
  string(TOUPPER ${component} COMPONENT)
  list(APPEND CPACK_COMPONENTS_ALL ${component})
  set(CPACK_DEBIAN_${COMPONENT}_PACKAGE_NAME ${name})
  set(CPACK_DEBIAN_${COMPONENT}_PACKAGE_SECTION ${section})
  set(CPACK_COMPONENT_${COMPONENT}_DESCRIPTION "${summary}
${ARGN}")
  set(doc ${CMAKE_INSTALL_DATADIR}/doc/${name})
  install(FILES cmake/debian/copyright ${PROJECT_BINARY_DIR}/package/changelog.Debian DESTINATION ${doc}
    COMPONENT ${component} EXCLUDE_FROM_ALL)
  install(FILES CHANGELOG.md DESTINATION ${doc} RENAME changelog COMPONENT ${component} EXCLUDE_FROM_ALL)
endmacro()
set(HVI_ABOUT "hvi finds z = g(theta) with <F(z), y - z> >= 0 for every y that the model
g can output: games between networks, policy evaluation, performative
prediction.
")
hvi_package(library ${HVI_SHLIB} libs
  "hidden monotone variational inequalities - library" "${HVI_ABOUT}This is the shared library.")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS ${HVI_BLAS})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SUGGESTS hvi-mujoco)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA
  ${PROJECT_BINARY_DIR}/package/shlibs ${PROJECT_SOURCE_DIR}/cmake/debian/triggers)
hvi_package(development libhvi-dev libdevel
  "hidden monotone variational inequalities - development"
  "${HVI_ABOUT}These are headers, the static library, documents and examples. The
static library also needs the suggested packages.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "${HVI_SHLIB} (= ${HVI_DEB_VERSION})")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_RECOMMENDS "pkg-config")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS
  "libopenblas-pthread-dev, liblapacke-dev, libyaml-dev, libjansson-dev, libzip-dev")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SHLIBDEPS OFF)
hvi_package(program hvi math
  "hidden monotone variational inequalities - program"
  "${HVI_ABOUT}This is the program. It solves problems that are built in or come from
files, tells what theory says of them, and repeats the experiments of the
paper.")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS ${HVI_BLAS})
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "gnuplot-nox, hvi-mujoco (= ${HVI_DEB_VERSION})")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "libhvi-dev (= ${HVI_DEB_VERSION}), gcc, bash-completion")
if(TARGET hvi_mujoco)
  hvi_package(module hvi-mujoco math
    "hidden monotone variational inequalities - MuJoCo environments"
    "${HVI_ABOUT}This is the module of the environments half_cheetah and ant.")
endif()
if(TARGET hvi_mpi)
  hvi_package(mpi hvi-mpi math
    "hidden monotone variational inequalities - many machines"
    "${HVI_ABOUT}This is the module for programs that mpirun starts.")
endif()
if(TARGET hvi_gpu)
  hvi_package(gpu hvi-gpu math
    "hidden monotone variational inequalities - networks on a GPU"
    "${HVI_ABOUT}This is the module that learns on GPUs by NVIDIA, Ampere and later.")
endif()
include(CPack)
