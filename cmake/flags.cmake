# Language, warnings and sanitizers, in one interface target that every other target links.
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CXX_STANDARD 17) # one file of the module on MuJoCo
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CUDA_STANDARD 17) # the module on a GPU
set(CMAKE_CUDA_EXTENSIONS OFF)
set(CMAKE_CUDA_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# -O3 unrolls and vectorises loops over the two or three outputs of a game, which costs a fifth of
# the solver's speed; files with long loops ask for it themselves.
set(CMAKE_C_FLAGS_RELEASE "-O2")

add_library(hvi_flags INTERFACE)
target_compile_definitions(hvi_flags INTERFACE _POSIX_C_SOURCE=200809L)
target_compile_options(hvi_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion
  # errno is never read after a maths call, and no floating-point trap is ever enabled; neither
  # flag changes a result. -ffp-contract=off keeps the bits the same with and without FMA.
  -fno-math-errno -fno-trapping-math -ffp-contract=off)
if(HVI_WERROR)
  target_compile_options(hvi_flags INTERFACE -Werror)
endif()
if(HVI_SANITIZE)
  # -O1: readable stacks, and quick enough to run the whole suite.
  target_compile_options(hvi_flags INTERFACE -O1
    -fsanitize=${HVI_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(hvi_flags INTERFACE -fsanitize=${HVI_SANITIZE})
endif()
