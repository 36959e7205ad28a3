/* The built-in inner optimizers. */
#pragma once

#include <hvi/optimizer.h>

extern const hvi_optimizer hvi_optimizer_gd, hvi_optimizer_momentum, hvi_optimizer_adam,
    hvi_optimizer_adamw, hvi_optimizer_gn, hvi_optimizer_dgn, hvi_optimizer_lm,
    hvi_optimizer_adversary;
