/* Checkpoints of an evaluation: any tensors under a checksum that fits are either taken over, and a
 * step follows, or refused in one line. */
#include "evaluate/evaluation.h"

#include "harness.h"

enum { BATCH = 10, STEPS = 4 };

typedef struct world {
  hvi_env *env;
  hvi_policy *policy;
  hvi_settings settings;
} world;

static const world *make_world(void) {
  static world w;
  if (w.env) return &w;
  if (hvi_env_new(&w.env, "lqr", NULL) || hvi_policy_of_env(&w.policy, w.env, NULL)) abort();
  w.settings = hvi_evaluation_settings();
  w.settings.inner_steps = 1;
  w.settings.max_outer = STEPS;
  return &w;
}

static void restore(hvi_evaluation *e, const char *path) {
  hvi_error err = {HVI_OK, ""};
  const hvi_status status = hvi_evaluation_restore(e, path, "fuzz", &err);
  fuzz_verdict(status, status ? NULL : e, &err);
  if (!status && !hvi_evaluation_state(e).done && hvi_evaluation_step(e, &err) && !err.text[0])
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *path = fuzz_kept_file(data, size, "checkpoint of an evaluation", "fuzz");
  const world *w = make_world();
  hvi_evaluation_spec s = hvi_evaluation_defaults();
  hvi_collector *c = NULL;
  hvi_evaluation *e = NULL;
  if (!path) return 0;
  s.settings = &w->settings;
  s.value.lambda = 0.0;
  s.value.batch = BATCH;
  s.value.hidden[0] = 4;
  s.value.hidden_count = 1;
  s.normalise = HVI_NORMALISE_NONE;
  if (hvi_collector_new(&c, w->env, w->policy, 1, 1, (STEPS + 1) * BATCH, NULL)) abort();
  s.stream = hvi_stream_of_collector(c);
  s.value.data = hvi_collector_data(c);
  if (hvi_evaluation_new(&e, &s, NULL)) abort();
  restore(e, path);
  hvi_evaluation_free(e);
  hvi_collector_free(c);
  return 0;
}
