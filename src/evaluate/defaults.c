/* What an evaluation starts from: the settings in force unless something else is asked for. */
#include "inner/optimizers.h"

#include <hvi/evaluate.h>

hvi_evaluation_spec hvi_evaluation_defaults(void) {
  hvi_evaluation_spec s = {.value = hvi_value_defaults(),
                           .seed = 1,
                           .settings = hvi_settings_defaults(),
                           .gap_settings = hvi_gap_defaults(),
                           .schedule = {.per_decade = 10}};
  s.settings.optimizer = &hvi_optimizer_adamw;
  s.settings.inner.lr = 1e-3;
  s.settings.inner_steps = 50;
  s.settings.accelerate = HVI_ACCELERATE_MODE;
  s.settings.eta = 1.0;
  s.settings.max_outer = 400;
  return s;
}
