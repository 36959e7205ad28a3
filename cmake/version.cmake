# The version stands in include/hvi/version.h and nowhere else here: HVI_VERSION, before project().
set(version_header ${CMAKE_CURRENT_SOURCE_DIR}/include/hvi/version.h)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${version_header})
foreach(part MAJOR MINOR PATCH)
  file(STRINGS ${version_header} line REGEX "^#define HVI_VERSION_${part} +[0-9]+$")
  string(REGEX MATCH "[0-9]+$" HVI_VERSION_${part} "${line}")
  if(HVI_VERSION_${part} STREQUAL "")
    message(FATAL_ERROR "include/hvi/version.h has no HVI_VERSION_${part}")
  endif()
endforeach()
set(HVI_VERSION ${HVI_VERSION_MAJOR}.${HVI_VERSION_MINOR}.${HVI_VERSION_PATCH})

# libhvi.so.0.1, libhvi.so.0.2, ..., libhvi.so.1: before 1.0 a minor version may break programs, so it has a name
# of its own, and so has its Debian package.
set(HVI_SOVERSION ${HVI_VERSION_MAJOR})
if(HVI_VERSION_MAJOR EQUAL 0)
  set(HVI_SOVERSION 0.${HVI_VERSION_MINOR})
endif()
