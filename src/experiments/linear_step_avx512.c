/* The same step for x86-64-v4, uncontracted: the same bits. src/CMakeLists.txt sets the flags. */
#define hvi_linear_step hvi_linear_step_avx512
#include "experiments/linear_step.c"
