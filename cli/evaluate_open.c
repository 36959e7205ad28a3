/* What an evaluation works with: environment and policy or data, test set, network, spec. */
#include "base/memory.h"
#include "base/parallel.h"
#include "evaluate_parts.h"
#include "rollout.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SCALE_ROWS = 10000 };

/* The solver draws one batch ahead. */
static hvi_status open_environment(hvi_evaluate *e, hvi_error *err) {
  hvi_status status = hvi_env_new(&e->env, e->env_name, err);
  if (!status) status = hvi_rollout_policy(&e->policy, e->policy_path, e->env, err);
  if (status) return status;
  const size_t batches = e->spec.value.buffer + e->steps + 1;
  size_t rows;
  if (!hvi_multiply_sizes(batches, e->batch, &rows)) rows = 0;
  status =
      hvi_collector_new(&e->collector, e->env, e->policy, e->setup.seed, e->threads, rows, err);
  if (status) return status;
  e->spec.stream = hvi_stream_of_collector(e->collector);
  e->spec.value.data = hvi_collector_data(e->collector);
  e->spec.value.draw = HVI_VALUE_FRESH;
  e->spec.value.batch = e->batch + e->spec.value.replay;
  return hvi_collector_need(e->collector, e->batch, err);
}

static hvi_status open_data(hvi_evaluate *e, hvi_error *err) {
  const hvi_status status = hvi_dataset_load(&e->data, e->data_path, err);
  if (status) return status;
  e->spec.value.data = e->data;
  e->spec.value.draw = e->batch > 0 && e->batch < e->data->count ? HVI_VALUE_RANDOM : HVI_VALUE_ALL;
  e->spec.value.batch = e->batch;
  return HVI_OK;
}

/* Scales from what is there first: the same rows, however often a run is taken up again. */
static hvi_status scale(hvi_evaluate *e, hvi_error *err) {
  hvi_value_spec *v = &e->spec.value;
  if (!e->normalise) return HVI_OK;
  const size_t most = e->collector ? e->batch : SCALE_ROWS;
  const size_t rows = v->data->count < most ? v->data->count : most;
  const hvi_status status = hvi_scales_new(&e->scales, v->data, rows, e->spec.value.gamma, err);
  if (status) return status;
  v->center = e->scales.center;
  v->spread = e->scales.spread;
  v->shift = e->scales.shift;
  v->scale = e->scales.scale;
  return HVI_OK;
}

static void fill_spec(hvi_evaluate *e) {
  hvi_evaluation_spec *s = &e->spec;
  s->settings = e->setup.settings;
  s->probe = e->probe;
  s->value.threads = e->threads ? e->threads : hvi_parallel_cores();
  s->gap = e->gap ? e->data : NULL;
}

/* Settings that do not go together, told before a test set is made rather than after. */
static hvi_status try_settings(hvi_evaluate *e, hvi_error *err) {
  hvi_evaluation *trial = NULL;
  fill_spec(e);
  const hvi_status status = hvi_evaluation_new(&trial, &e->spec, err);
  hvi_evaluation_free(trial);
  return status;
}

static bool on_rollouts(void *context, size_t done, size_t total) {
  hvi_progress *bar = context;
  bar->total = total;
  hvi_progress_update(bar, done);
  return !hvi_signals_interrupted();
}

/* A small test set beside the network, or the one that an earlier run made. */
static int make_testset(hvi_evaluate *e) {
  hvi_error err = {HVI_OK, ""};
  hvi_rollout_report report = {0};
  hvi_testset_settings s = hvi_testset_defaults();
  hvi_progress bar = hvi_progress_new(&e->talk, "test set", 1);
  if (e->resume && access(e->kept, F_OK) == 0) return HVI_EXIT_DONE;
  s.run = (hvi_rollout_settings){.seed = e->setup.seed,
                                 .threads = e->threads,
                                 .partial = e->resume ? HVI_PARTIAL_RESUME : HVI_PARTIAL_FRESH,
                                 .accept_other_bits = e->spec.accept_other_bits,
                                 .policy_name = hvi_rollout_base_name(e->policy_path),
                                 .progress = on_rollouts,
                                 .progress_context = &bar};
  s.states = e->test_states;
  s.gamma = e->spec.value.gamma;
  if (try_settings(e, &err)) return hvi_complain_error(&err);
  const hvi_status status = hvi_testset_make(e->kept, e->env, e->policy, &s, &report, &err);
  hvi_progress_clear(&bar);
  if (status) return hvi_complain_error(&err);
  if (report.stopped) {
    return hvi_complain(HVI_EXIT_INTERRUPTED, "interrupted while the test set was being made; "
                                              "--resume goes on from here");
  }
  hvi_say(&e->talk, "test set of %zu states: %zu steps in %.1f s\n", s.states, report.steps,
          report.seconds);
  return HVI_EXIT_DONE;
}

/* Whose transitions these are, and whose test set. */
static const char *other_origin(const hvi_evaluate *e, const char *path, char *text, size_t size) {
  const hvi_provenance *is = &e->spec.value.data->origin, *set = &e->testset->origin;
  if (*is->environment && *set->environment && strcmp(is->environment, set->environment) != 0) {
    snprintf(text, size, "'%s' is a test set of %s, not of %s", path, set->environment,
             is->environment);
    return text;
  }
  if (*is->fingerprint && *set->fingerprint && strcmp(is->fingerprint, set->fingerprint) != 0) {
    snprintf(text, size, "'%s' is a test set of another policy (%s, not %s)", path,
             set->fingerprint, is->fingerprint);
    return text;
  }
  return NULL;
}

static int open_testset(hvi_evaluate *e, bool gamma_given) {
  hvi_error err = {HVI_OK, ""};
  char text[400];
  const char *path = e->testset_path ? e->testset_path : e->kept;
  if (!path) return HVI_EXIT_DONE;
  if (e->kept) {
    const int code = make_testset(e);
    if (code != HVI_EXIT_DONE) return code;
  }
  if (hvi_testset_load(&e->testset, path, &err)) return hvi_complain_error(&err);
  if (other_origin(e, path, text, sizeof text)) {
    return hvi_complain(HVI_EXIT_INPUT, "%s", text);
  }
  if (e->kept && e->testset->count != e->test_states) {
    return hvi_complain(HVI_EXIT_USAGE, "'%s' has %zu states, not %zu; --fresh makes a new one",
                        path, e->testset->count, e->test_states);
  }
  if (e->kept && e->testset->origin.seed != e->setup.seed) {
    return hvi_complain(HVI_EXIT_USAGE, "'%s' is of seed %llu, not %llu; --fresh makes a new one",
                        path, (unsigned long long)e->testset->origin.seed,
                        (unsigned long long)e->setup.seed);
  }
  if (e->testset_path && !gamma_given) e->spec.value.gamma = e->testset->gamma;
  if (hvi_probe_of_testset(&e->probe, e->testset, &err)) return hvi_complain_error(&err);
  return HVI_EXIT_DONE;
}

static int restore(hvi_evaluate *e) {
  hvi_error err = {HVI_OK, ""};
  if (hvi_evaluation_restore(e->evaluation, e->checkpoint, e->about, &err)) {
    return hvi_complain_error(&err);
  }
  const size_t outer = hvi_evaluation_state(e->evaluation).outer;
  hvi_say(&e->talk, "going on from step %zu\n", outer);
  return HVI_EXIT_DONE;
}

static int begin(hvi_evaluate *e, bool there) {
  hvi_error err = {HVI_OK, ""};
  fill_spec(e);
  if (hvi_evaluation_new(&e->evaluation, &e->spec, &err)) return hvi_complain_error(&err);
  return there ? restore(e) : HVI_EXIT_DONE;
}

static int check_options(const hvi_evaluate *e) {
  if (!e->env_name == !e->data_path) {
    return hvi_complain(HVI_EXIT_USAGE, "evaluate takes an environment with --policy FILE, or "
                                        "--data FILE, and not both");
  }
  if (e->env_name && !e->policy_path) {
    return hvi_complain(HVI_EXIT_USAGE, "the policy is missing: --policy FILE");
  }
  if (e->data_path && e->policy_path) {
    return hvi_complain(HVI_EXIT_USAGE, "--policy goes with an environment, not with --data");
  }
  if (e->env_name && e->batch == 0) {
    return hvi_complain(HVI_EXIT_USAGE, "--batch 0, all of the data, goes with --data");
  }
  if (e->data_path && e->spec.value.replay > 0) {
    return hvi_complain(HVI_EXIT_USAGE, "--replay goes with an environment; batches of --data are "
                                        "drawn at random from all of them");
  }
  if (e->resume && e->fresh) {
    return hvi_complain(HVI_EXIT_USAGE, "--resume and --fresh exclude each other");
  }
  if (e->gap && e->env_name) {
    return hvi_complain(HVI_EXIT_USAGE, "--gap goes with --data; otherwise the Bellman gap is that "
                                        "of the last batch");
  }
  return HVI_EXIT_DONE;
}

int hvi_evaluate_open(hvi_evaluate *e, const hvi_args *args) {
  hvi_error err = {HVI_OK, ""};
  e->batch = e->spec.value.batch;
  int code = check_options(e);
  if (code == HVI_EXIT_DONE) code = hvi_evaluate_method(e, args);
  if (code == HVI_EXIT_DONE) code = hvi_evaluate_names(e);
  if (code != HVI_EXIT_DONE) return code;
  bool there = false;
  code = hvi_evaluate_claim(e, &there);
  if (code != HVI_EXIT_DONE) return code;
  if (e->env_name ? open_environment(e, &err) : open_data(e, &err)) {
    return hvi_complain_error(&err);
  }
  code = open_testset(e, hvi_args_given(args, "gamma"));
  if (code != HVI_EXIT_DONE) return code;
  if (scale(e, &err)) return hvi_complain_error(&err);
  code = hvi_evaluate_about(e);
  if (code == HVI_EXIT_DONE) code = begin(e, there && e->resume);
  if (code == HVI_EXIT_DONE && e->data && e->batch > e->data->count) {
    hvi_say(&e->talk, "--batch %zu: each step takes all %zu transitions\n", e->batch,
            e->data->count);
  }
  return code;
}

void hvi_evaluate_close(hvi_evaluate *e) {
  char *const names[] = {e->stem, e->network, e->trace, e->checkpoint, e->kept, e->about};
  hvi_lock_release(&e->lock);
  hvi_evaluation_free(e->evaluation);
  hvi_probe_free(e->probe);
  hvi_testset_free(e->testset);
  hvi_scales_free(&e->scales);
  hvi_dataset_free(e->data);
  hvi_collector_free(e->collector);
  hvi_policy_free(e->policy);
  hvi_env_free(e->env);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) hvi_free(names[i]);
}
