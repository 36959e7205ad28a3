/* The list of optimizers. Their settings are rows of the solver's table. */
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
