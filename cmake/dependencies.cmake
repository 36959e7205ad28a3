# Debian 12 packages, each found by its pkg-config file. OpenBLAS is the pthread variant: the serial one
# may not be called from several threads. Work is split over threads by this project, in fixed
# chunks; the program tells OpenBLAS to use one.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(OPENBLAS REQUIRED IMPORTED_TARGET openblas)
pkg_check_modules(LAPACKE REQUIRED IMPORTED_TARGET lapacke)
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-0.1)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(ZIP REQUIRED IMPORTED_TARGET libzip)
if(HVI_TESTS)
  pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
endif()

# MuJoCo brings no pkg-config file, and is optional: only the module libhvi_mujoco.so needs it, and a
# C++ compiler, because it throws. -DMUJOCO_DIR=/path names a release that was unpacked elsewhere.
option(HVI_MUJOCO "Build the module of the MuJoCo environments where the library is found" ON)
set(MUJOCO_DIR "" CACHE PATH "Folder of a MuJoCo release, with include/ and lib/")
if(HVI_MUJOCO)
  find_path(MUJOCO_INCLUDE mujoco/mujoco.h HINTS ${MUJOCO_DIR}/include)
  find_library(MUJOCO_LIBRARY mujoco HINTS ${MUJOCO_DIR}/lib)
  if(MUJOCO_INCLUDE AND MUJOCO_LIBRARY)
    # the one that belongs to the C compiler, so that sanitizers fit; else whichever CMake finds
    string(REGEX REPLACE "clang([^/]*)$" "clang++\\1" HVI_CXX "${CMAKE_C_COMPILER}")
    string(REGEX REPLACE "gcc([^/]*)$" "g++\\1" HVI_CXX "${HVI_CXX}")
    if(NOT CMAKE_CXX_COMPILER AND NOT DEFINED ENV{CXX} AND EXISTS "${HVI_CXX}" AND
       NOT HVI_CXX STREQUAL CMAKE_C_COMPILER)
      set(CMAKE_CXX_COMPILER "${HVI_CXX}")
    endif()
    enable_language(CXX)
    add_library(MuJoCo INTERFACE)
    target_include_directories(MuJoCo SYSTEM INTERFACE ${MUJOCO_INCLUDE})
    target_link_libraries(MuJoCo INTERFACE ${MUJOCO_LIBRARY})
  else()
    message(NOTICE "MuJoCo not found (Debian: libmujoco-dev): ant and half_cheetah are left out")
  endif()
endif()

# MPI is optional too: only the module libhvi_mpi.so needs it. OpenMPI leaks by design, so no sanitizers.
option(HVI_MPI "Build the module for mpirun where an MPI with a pkg-config file is found" ON)
if(HVI_MPI AND NOT HVI_SANITIZE)
  pkg_search_module(MPI_C IMPORTED_TARGET ompi-c mpich)
endif()
if(NOT MPI_C_FOUND)
  set(HVI_MPI OFF)
endif()
