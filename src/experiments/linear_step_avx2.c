/* The same step for x86-64-v3, uncontracted: the same bits. src/CMakeLists.txt sets the flags. */
#define hvi_linear_step hvi_linear_step_avx2
#include "experiments/linear_step.c"
