# hvi_embed(<target> <table> <file>...): compiles text files into a target as one table
#   const hvi_embedded <table>[] = { { "name without extension", "text" }, ..., { NULL, NULL } };
# declared in base/embedded.h. The files are read again whenever they change.
function(hvi_embed target table)
  set(arrays "")
  set(rows "")
  foreach(file ${ARGN})
    get_filename_component(name ${file} NAME_WE)
    string(MAKE_C_IDENTIFIER "${table}_${name}" symbol)
    file(READ ${file} bytes HEX)
    string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
    string(APPEND arrays "static const unsigned char ${symbol}[] = {${bytes}0};\n")
    string(APPEND rows "  {\"${name}\", (const char *)${symbol}},\n")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  endforeach()
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${table}.c)
  file(CONFIGURE OUTPUT ${output} CONTENT
"#include \"base/embedded.h\"

#include <stddef.h>

${arrays}
const hvi_embedded ${table}[] = {
${rows}  {NULL, NULL},
};
" @ONLY)
  target_sources(${target} PRIVATE ${output})
endfunction()
