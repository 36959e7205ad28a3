# Every fuzz/fuzz_<concept>.c is one libFuzzer program. Needs clang, and a library whose coverage can
# be seen: -DHVI_SANITIZE=address,undefined,fuzzer-no-link.
file(GLOB HVI_FUZZ_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/fuzz/fuzz_*.c)

function(add_fuzz_program program source)
  add_executable(${program} ${source} ${ARGN})
  target_include_directories(${program} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${program} PRIVATE hvi_report hvi_flags PkgConfig::JANSSON PkgConfig::YAML)
  target_link_libraries(${program} PRIVATE PkgConfig::OPENBLAS)
  if(${source} MATCHES "fuzz_command.c") # the program but for its main
    set(HVI_CLI_OBJECTS $<TARGET_OBJECTS:hvi>)
    target_sources(${program} PRIVATE $<FILTER:${HVI_CLI_OBJECTS},EXCLUDE,main[.]c>)
    target_include_directories(${program} PRIVATE ${PROJECT_SOURCE_DIR}/cli ${PROJECT_SOURCE_DIR}/bench)
  endif()
  set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fuzz)
endfunction()

if(HVI_FUZZ)
  add_custom_target(fuzzers) # all of them, and nothing else
  foreach(source ${HVI_FUZZ_SOURCES})
    get_filename_component(name ${source} NAME_WE)
    add_fuzz_program(${name} ${source})
    add_dependencies(fuzzers ${name})
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  endforeach()
endif()

# With any compiler, the same function over the seeds alone is a unit test.
if(HVI_TESTS)
  foreach(source ${HVI_FUZZ_SOURCES})
    get_filename_component(name ${source} NAME_WE)
    string(REPLACE fuzz_ replay_ replay ${name})
    add_fuzz_program(${replay} ${source} ${PROJECT_SOURCE_DIR}/fuzz/replay.c)
    add_test(NAME ${replay} COMMAND ${HVI_TEST_LAUNCHER} $<TARGET_FILE:${replay}>
             ${PROJECT_SOURCE_DIR}/fuzz/seeds/${name})
    set_tests_properties(${replay} PROPERTIES TIMEOUT 300 LABELS unit ENVIRONMENT
      "OPENBLAS_NUM_THREADS=1;UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1")
  endforeach()
endif()
