/* The list of optimizers and their default settings. */
#include "inner/optimizers.h"

#include <string.h>

static const hvi_optimizer *const optimizers[] = {
    &hvi_optimizer_gd,    &hvi_optimizer_momentum,  &hvi_optimizer_adam,
    &hvi_optimizer_adamw, &hvi_optimizer_gn,        &hvi_optimizer_dgn,
    &hvi_optimizer_lm,    &hvi_optimizer_adversary, NULL,
};

const hvi_optimizer *const *hvi_optimizer_list(void) { return optimizers; }

const hvi_optimizer *hvi_optimizer_find(const char *name) {
  for (size_t i = 0; name && optimizers[i]; i++) {
    if (strcmp(optimizers[i]->name, name) == 0) return optimizers[i];
  }
  return NULL;
}

hvi_optimizer_settings hvi_optimizer_defaults(void) {
  return (hvi_optimizer_settings){.lr = 1.0,
                                  .momentum = 0.9,
                                  .beta1 = 0.9,
                                  .beta2 = 0.999,
                                  .epsilon = 1e-8,
                                  .weight_decay = 0.01,
                                  .rank_tol = 1e-10,
                                  .factor = 0.5,
                                  .damping = 0.01,
                                  .linear = HVI_LINEAR_AUTO,
                                  .linear_tol = 1e-14,
                                  .error_alpha = 0.70710678118654752440,
                                  .error_angle = 0.78539816339744830962};
}
