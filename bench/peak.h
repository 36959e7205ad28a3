/* What the processor can do at most: fused multiply-adds that never leave the registers. */
#pragma once

#include <stdbool.h>

/* Floating-point operations a second of one thread, at the level of instructions in use. */
double bench_peak(bool single);
