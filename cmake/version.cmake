# The version stands twice, for people who build and for people who include; the two must agree.
set(version_header ${PROJECT_SOURCE_DIR}/include/hvi/version.h)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${version_header})
foreach(part MAJOR MINOR PATCH)
  file(STRINGS ${version_header} line REGEX "^#define HVI_VERSION_${part} +[0-9]+$")
  string(REGEX MATCH "[0-9]+$" number "${line}")
  if(NOT number STREQUAL "${PROJECT_VERSION_${part}}")
    message(FATAL_ERROR "HVI_VERSION_${part} in include/hvi/version.h is '${number}', "
                        "project() in CMakeLists.txt has '${PROJECT_VERSION_${part}}'")
  endif()
endforeach()
