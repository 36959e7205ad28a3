# hvi_build_per_level(<list> <source> <options>): replaces a source in a list by its builds, one per
# level of instructions (src/base/cpu.h). In each, HVI_LEVEL_TABLE(stem) names the build's table of
# functions and HVI_LEVEL_NAME says which it is. CONTRACT allows FMA, where the level has it.
function(hvi_build_per_level list source options)
  cmake_parse_arguments(PARSE_ARGV 3 USE "CONTRACT" "" "")
  set(march_baseline "")
  set(march_avx2 -march=x86-64-v3)
  set(march_avx512 -march=x86-64-v4 -mprefer-vector-width=512)
  set(levels baseline)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64")
    list(APPEND levels avx2 avx512)
  endif()
  list(FILTER ${list} EXCLUDE REGEX "/${source}$")
  foreach(level ${levels})
    string(REGEX REPLACE "[.]c$" "_${level}.c" build ${CMAKE_CURRENT_BINARY_DIR}/levels/${source})
    file(CONFIGURE OUTPUT ${build} CONTENT
"#define HVI_LEVEL_NAME \"${level}\"
#define HVI_LEVEL_TABLE(stem) stem##_${level}
#include \"${source}\"
" @ONLY)
    set(flags ${options} ${march_${level}})
    if(USE_CONTRACT AND NOT level STREQUAL baseline)
      list(APPEND flags -ffp-contract=fast)
    endif()
    set_source_files_properties(${build} PROPERTIES COMPILE_OPTIONS "${flags}")
    list(APPEND ${list} ${build})
  endforeach()
  set(${list} ${${list}} PARENT_SCOPE)
endfunction()
