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

typedef struct run {
  hvi_collector *stream;
  hvi_evaluation *evaluation;
} run;

static void begin(run *r, const world *w) {
  hvi_evaluation_spec s = hvi_evaluation_defaults();
  s.settings = &w->settings;
  s.value.lambda = 0.0;
  s.value.batch = BATCH;
  s.value.hidden[0] = 4;
  s.value.hidden_count = 1;
  s.normalise = HVI_NORMALISE_NONE;
  if (hvi_collector_new(&r->stream, w->env, w->policy, 1, 1, (STEPS + 1) * BATCH, NULL)) abort();
  s.stream = hvi_stream_of_collector(r->stream);
  s.value.data = hvi_collector_data(r->stream);
  if (hvi_evaluation_new(&r->evaluation, &s, NULL)) abort();
}

static void end(run *r) {
  hvi_evaluation_free(r->evaluation);
  hvi_collector_free(r->stream);
  *r = (run){NULL, NULL};
}

/* One that was refused is used for the next file; one that has taken a step is not. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static run r;
  const char *path = fuzz_kept_file(data, size, "checkpoint of an evaluation", "fuzz");
  if (!path) return 0;
  if (!r.evaluation) begin(&r, make_world());
  hvi_error err = {HVI_OK, ""};
  const hvi_status status = hvi_evaluation_restore(r.evaluation, path, "fuzz", &err);
  fuzz_verdict(status, status ? NULL : r.evaluation, &err);
  if (status) return 0;
  if (!hvi_evaluation_state(r.evaluation).done && hvi_evaluation_step(r.evaluation, &err) &&
      !err.text[0])
    abort();
  end(&r);
  return 0;
}
