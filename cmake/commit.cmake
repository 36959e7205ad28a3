# cmake -DSOURCE=... -DHEADER=... -P commit.cmake: a header with the commit of the checkout that is built, run at each
# build and written only when it changes. `git archive` fills in the commit of a tarball; one with changes says so. With
# HVI_KEEP_COMMIT in the environment a header that is there stays: a test that builds must not relink what others run.
if(EXISTS ${HEADER} AND DEFINED ENV{HVI_KEEP_COMMIT})
  return()
endif()
set(archived "$Format:%H$")
set(commit unknown)
if(archived MATCHES "^[0-9a-f]+$")
  string(SUBSTRING ${archived} 0 12 commit)
endif()
find_program(GIT git)
if(GIT)
  execute_process(COMMAND ${GIT} -C ${SOURCE} rev-parse --show-prefix --short=12 HEAD
    OUTPUT_VARIABLE told ERROR_QUIET RESULT_VARIABLE failed)
  # an empty prefix: the checkout is this tree, and not a folder of another's
  if(NOT failed AND told MATCHES "^\n([0-9a-f]+)\n$")
    set(commit ${CMAKE_MATCH_1})
    execute_process(COMMAND ${GIT} -C ${SOURCE} status --porcelain --untracked-files=no
      OUTPUT_VARIABLE changes ERROR_QUIET)
    if(changes)
      string(APPEND commit " with changes")
    endif()
  endif()
endif()
set(text "#define HVI_COMMIT \"${commit}\"\n")
if(EXISTS ${HEADER})
  file(READ ${HEADER} before)
endif()
if(NOT "${before}" STREQUAL "${text}")
  file(WRITE ${HEADER} "${text}")
endif()
