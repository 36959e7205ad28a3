# Debian 12 packages, each found by its pkg-config file. OpenBLAS is the pthread variant: the serial one
# may not be called from several threads. Work is split over threads by this project, in fixed
# chunks; the program tells OpenBLAS to use one.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(OPENBLAS REQUIRED IMPORTED_TARGET openblas)
pkg_check_modules(LAPACKE REQUIRED IMPORTED_TARGET lapacke)
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-0.1)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
if(HVI_TESTS)
  pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
endif()

# MuJoCo brings no pkg-config file, and is optional: without it ant and half_cheetah are listed as
# missing. -DMUJOCO_DIR=/path names a release that was unpacked elsewhere.
option(HVI_MUJOCO "Build the MuJoCo environments where the library is found" ON)
set(MUJOCO_DIR "" CACHE PATH "Folder of a MuJoCo release, with include/ and lib/")
add_library(hvi_mujoco INTERFACE)
if(HVI_MUJOCO)
  find_path(MUJOCO_INCLUDE mujoco/mujoco.h HINTS ${MUJOCO_DIR}/include)
  find_library(MUJOCO_LIBRARY mujoco HINTS ${MUJOCO_DIR}/lib)
  if(MUJOCO_INCLUDE AND MUJOCO_LIBRARY)
    target_include_directories(hvi_mujoco SYSTEM INTERFACE ${MUJOCO_INCLUDE})
    target_link_libraries(hvi_mujoco INTERFACE ${MUJOCO_LIBRARY})
    target_compile_definitions(hvi_mujoco INTERFACE HVI_WITH_MUJOCO)
  else()
    message(NOTICE "MuJoCo not found (Debian: libmujoco-dev): ant and half_cheetah are left out")
  endif()
endif()
