/* The built-in inner optimizers. */
#pragma once

#include "gpu/device.h"

#include <hvi/optimizer.h>

extern const hvi_optimizer hvi_optimizer_gd, hvi_optimizer_momentum, hvi_optimizer_adam,
    hvi_optimizer_adamw, hvi_optimizer_gn, hvi_optimizer_dgn, hvi_optimizer_lm,
    hvi_optimizer_adversary;

/* The same steps as a descent: its rule and rates, without goal or limit. False for an optimizer that
 * is none of gd, momentum, adam and adamw; NULL is fine. */
bool hvi_optimizer_descent(hvi_device_descent *d, const hvi_optimizer *o,
                           const hvi_optimizer_settings *s);

/* The least loss of a surrogate on the way of so many steps from where it was frozen, the rate falling
 * by a factor from one to the next; state is forgotten first. */
double hvi_optimizer_search(hvi_surrogate *l, const hvi_optimizer *o, hvi_optimizer_settings s,
                            double *state, size_t steps, double lr_factor);
