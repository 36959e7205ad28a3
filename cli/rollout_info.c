/* What a data set or a test set holds. */
#include "base/number.h"
#include "exit_codes.h"
#include "json.h"
#include "rollout.h"

#include <hvi/tensors.h>
#include <hvi/testset.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* The episodes of a data set. */
typedef struct episodes {
  size_t terminated, truncated;
  double reward;              /* mean */
  double mean_return, length; /* of the whole episodes */
} episodes;

static episodes count_episodes(const hvi_dataset *d) {
  episodes e = {0};
  double sum = 0.0, running = 0.0, ended = 0.0;
  size_t whole = 0, ended_rows = 0;
  for (size_t i = 0; i < d->count; i++) {
    sum += (double)d->reward[i];
    running += (double)d->reward[i];
    if (!d->terminated[i] && !d->truncated[i]) continue;
    e.terminated += d->terminated[i];
    e.truncated += d->truncated[i] && !d->terminated[i];
    whole++;
    ended += running;
    ended_rows = i + 1;
    running = 0.0;
  }
  e.reward = sum / (double)d->count;
  e.mean_return = whole ? ended / (double)whole : NAN;
  e.length = whole ? (double)ended_rows / (double)whole : NAN;
  return e;
}

static void text_line(const char *name, double x, const char *unit) {
  char number[HVI_NUMBER_SIZE];
  printf("%-17s%s%s\n", name, hvi_number_short(number, x, 6), unit);
}

static void origin_text(const hvi_provenance *o) {
  printf("%-17s%s\n", "environment", *o->environment ? o->environment : "unknown");
  printf("%-17s%s (%s)\n", "policy", *o->policy ? o->policy : "unknown",
         *o->fingerprint ? o->fingerprint : "no fingerprint");
  printf("%-17s%" PRIu64 "\n", "seed", o->seed);
  printf("%-17s%s\n", "made by hvi", *o->version ? o->version : "unknown");
  if (o->broken) printf("%-17s%zu\n", "failed physics", o->broken);
}

static void json_begin(hvi_json *j, const char *path, const char *contents,
                       const hvi_provenance *o) {
  hvi_json_open(j, NULL, '{');
  hvi_json_count(j, "schema_version", 1);
  hvi_json_text(j, "file", path);
  hvi_json_text(j, "contents", contents);
  hvi_json_text(j, "environment", *o->environment ? o->environment : NULL);
  hvi_json_text(j, "policy", *o->policy ? o->policy : NULL);
  hvi_json_text(j, "fingerprint", *o->fingerprint ? o->fingerprint : NULL);
  hvi_json_text(j, "version", *o->version ? o->version : NULL);
  hvi_json_text(j, "level", *o->levels ? o->levels : NULL);
  hvi_json_count(j, "seed", o->seed);
  hvi_json_count(j, "broken", o->broken);
}

static void json_end(hvi_json *j, const hvi_rollout_report *r) {
  if (r) {
    hvi_json_open(j, "run", '{');
    hvi_json_count(j, "steps", r->steps);
    hvi_json_number(j, "seconds", r->seconds);
    hvi_json_count(j, "resumed_groups", r->resumed);
    hvi_json_count(j, "damaged_bytes", r->damaged);
    hvi_json_close(j, '}');
  }
  hvi_json_close(j, '}');
}

static void dataset_text(const char *path, const hvi_dataset *d, const episodes *e) {
  printf("%s: %zu transitions, observations of %zu numbers, actions of %zu\n", path, d->count,
         d->obs, d->act);
  origin_text(&d->origin);
  printf("%-17s%zu terminated, %zu at the time limit\n", "episodes", e->terminated, e->truncated);
  text_line("mean reward", e->reward, "");
  if (isfinite(e->mean_return)) {
    text_line("mean return", e->mean_return, " of whole episodes");
    text_line("mean length", e->length, " steps");
  }
}

static void dataset_json(const char *path, const hvi_dataset *d, const episodes *e,
                         const hvi_rollout_report *report) {
  hvi_json j = {0};
  json_begin(&j, path, "transitions", &d->origin);
  hvi_json_count(&j, "transitions", d->count);
  hvi_json_count(&j, "obs", d->obs);
  hvi_json_count(&j, "act", d->act);
  hvi_json_count(&j, "terminated", e->terminated);
  hvi_json_count(&j, "truncated", e->truncated);
  hvi_json_number(&j, "mean_reward", e->reward);
  hvi_json_number(&j, "mean_return", e->mean_return);
  hvi_json_number(&j, "mean_length", e->length);
  json_end(&j, report);
}

static int dataset_info(const char *path, bool json, const hvi_rollout_report *report) {
  hvi_dataset *d;
  hvi_error err;
  if (hvi_dataset_load(&d, path, &err)) return hvi_complain_error(&err);
  const episodes e = count_episodes(d);
  if (json)
    dataset_json(path, d, &e, report);
  else
    dataset_text(path, d, &e);
  hvi_dataset_free(d);
  return HVI_EXIT_DONE;
}

static void testset_text(const char *path, const hvi_testset *s, const hvi_testset_figures *f) {
  printf("%s: %zu states, %zu roll-outs of %zu steps each, gamma %g\n", path, s->count, s->rollouts,
         s->horizon, s->gamma);
  origin_text(&s->origin);
  text_line("mean value", f->mean_value, "");
  text_line("spread of values", f->sd_value, " (standard deviation over states)");
  text_line("standard error", f->mean_error, " on average");
  text_line("noise floor", f->noise_floor, " (mean squared standard error)");
  text_line("terminated", 100.0 * f->terminated_share, " % of roll-outs");
  text_line("mean length", f->mean_length, " steps");
  text_line("after horizon", f->after, " of a value (gamma^H)");
  text_line("  put back", f->put_back, ", from the mean value");
  text_line("  lacking", f->missing_typical,
            f->below_error
                ? " typically, below the mean standard error"
                : " typically, NOT below the mean standard error: take a longer horizon");
  text_line("  at most", f->missing_most, ", by the values found");
  if (isfinite(f->missing_bound)) {
    text_line("  at most", f->missing_bound, ", by the bound on rewards");
  }
}

static void testset_json(const char *path, const hvi_testset *s, const hvi_testset_figures *f,
                         const hvi_rollout_report *report) {
  hvi_json j = {0};
  json_begin(&j, path, "test set", &s->origin);
  hvi_json_count(&j, "states", s->count);
  hvi_json_count(&j, "rollouts", s->rollouts);
  hvi_json_count(&j, "horizon", s->horizon);
  hvi_json_number(&j, "gamma", s->gamma);
  hvi_json_count(&j, "obs", s->obs);
  hvi_json_count(&j, "state", s->state);
  hvi_json_number(&j, "mean_value", f->mean_value);
  hvi_json_number(&j, "sd_value", f->sd_value);
  hvi_json_number(&j, "mean_standard_error", f->mean_error);
  hvi_json_number(&j, "noise_floor", f->noise_floor);
  hvi_json_number(&j, "terminated_share", f->terminated_share);
  hvi_json_number(&j, "mean_length", f->mean_length);
  hvi_json_open(&j, "truncation", '{');
  hvi_json_number(&j, "share", f->after);
  hvi_json_number(&j, "tail", s->tail);
  hvi_json_number(&j, "put_back", f->put_back);
  hvi_json_number(&j, "typical", f->missing_typical);
  hvi_json_number(&j, "largest", f->missing_most);
  hvi_json_number(&j, "bound", f->missing_bound);
  hvi_json_bool(&j, "below_standard_error", f->below_error);
  hvi_json_close(&j, '}');
  json_end(&j, report);
}

static int testset_info(const char *path, bool json, const hvi_rollout_report *report) {
  hvi_testset *s;
  hvi_error err;
  if (hvi_testset_load(&s, path, &err)) return hvi_complain_error(&err);
  const hvi_testset_figures f = hvi_testset_judge(s);
  if (json)
    testset_json(path, s, &f, report);
  else
    testset_text(path, s, &f);
  hvi_testset_free(s);
  return HVI_EXIT_DONE;
}

int hvi_rollout_info(const char *path, bool json, const hvi_rollout_report *report) {
  hvi_tensors *t;
  hvi_error err;
  if (hvi_tensors_read(&t, path, 0, &err)) return hvi_complain_error(&err);
  const bool values = hvi_tensors_find(t, "returns") != NULL;
  hvi_tensors_free(t);
  return values ? testset_info(path, json, report) : dataset_info(path, json, report);
}
