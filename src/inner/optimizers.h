/* The built-in inner optimizers, one file per family. */
#pragma once

#include <hvi/optimizer.h>

extern const hvi_optimizer hvi_optimizer_gd, hvi_optimizer_momentum;
extern const hvi_optimizer hvi_optimizer_adam, hvi_optimizer_adamw;
extern const hvi_optimizer hvi_optimizer_gn, hvi_optimizer_dgn;
extern const hvi_optimizer hvi_optimizer_lm;
extern const hvi_optimizer hvi_optimizer_adversary;
