# What Debian wants compressed, in the tree that CPack has put together: manual pages and changelogs. The same
# bits every time: no names, no dates.
file(GLOB_RECURSE files ${CPACK_TEMPORARY_DIRECTORY}/*.1 ${CPACK_TEMPORARY_DIRECTORY}/changelog*)
list(FILTER files INCLUDE REGEX "/share/(man|doc)/") # libhvi.so.0.1 is no page
foreach(file ${files})
  execute_process(COMMAND gzip -9nf ${file} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
