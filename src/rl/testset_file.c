/* Test sets as files. */
#include "base/error.h"
#include "base/memory.h"
#include "rl/rollout_columns.h"
#include "rl/testset_parts.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>

/* What came out, for those who open the file elsewhere. */
static void add_results(hvi_notes *n, const hvi_testset *set) {
  const hvi_testset_figures f = hvi_testset_judge(set);
  hvi_notes_count(n, "broken", set->origin.broken);
  hvi_notes_real(n, "reward_bound", set->reward_bound);
  hvi_notes_real(n, "tail", set->tail);
  hvi_notes_real(n, "mean_value", f.mean_value);
  hvi_notes_real(n, "mean_standard_error", f.mean_error);
  hvi_notes_real(n, "noise_floor", f.noise_floor);
  hvi_notes_real(n, "terminated_share", f.terminated_share);
  hvi_notes_real(n, "missing_bound", f.missing_bound);
  hvi_notes_real(n, "missing_most", f.missing_most);
  hvi_notes_real(n, "missing_typical", f.missing_typical);
}

static hvi_status write_tensors(const char *path, const hvi_testset *s, const float *obs,
                                const int32_t *length, const unsigned char *terminated,
                                const hvi_notes *notes, hvi_error *err) {
  const hvi_tensor items[] = {
      {"obs", HVI_TENSOR_F32, 2, {s->count, s->obs}, obs},
      {"state", HVI_TENSOR_F64, 2, {s->count, s->state}, s->states},
      {"value", HVI_TENSOR_F64, 1, {s->count}, s->value},
      {"standard_error", HVI_TENSOR_F64, 1, {s->count}, s->standard_error},
      {"returns", HVI_TENSOR_F64, 2, {s->count, s->rollouts}, s->returns},
      {"length", HVI_TENSOR_I32, 2, {s->count, s->rollouts}, length},
      {"terminated", HVI_TENSOR_BOOL, 2, {s->count, s->rollouts}, terminated},
  };
  return hvi_tensors_write(path, items, sizeof items / sizeof items[0], notes->items, notes->count,
                           err);
}

hvi_status hvi_testset_write(const char *path, const hvi_testset *s, hvi_notes *notes,
                             hvi_error *err) {
  const size_t numbers = s->count * s->obs, rollouts = s->count * s->rollouts;
  float *obs = hvi_alloc(numbers, sizeof *obs);
  int32_t *length = hvi_alloc(rollouts, sizeof *length);
  unsigned char *terminated = hvi_alloc(rollouts, 1);
  hvi_status status = HVI_OK;
  if (obs && length && terminated) {
    for (size_t i = 0; i < numbers; i++) obs[i] = (float)s->observation[i];
    for (size_t i = 0; i < rollouts; i++) {
      length[i] = (int32_t)s->length[i];
      terminated[i] = s->terminated[i] != 0.0;
    }
    add_results(notes, s);
    status = write_tensors(path, s, obs, length, terminated, notes, err);
  } else {
    status = hvi_error_memory(err, "a test set");
  }
  hvi_free(obs);
  hvi_free(length);
  hvi_free(terminated);
  return status;
}

/* The first column that fails ends it, with its error in err. */
static bool load_columns(hvi_testset *s, const hvi_tensors *t, const char *path, hvi_error *err) {
  s->observation = hvi_column_doubles(t, path, "obs", 2, &s->count, &s->obs, err);
  if (!s->observation) return false;
  s->states = hvi_column_doubles(t, path, "state", 2, &s->count, &s->state, err);
  if (!s->states) return false;
  s->value = hvi_column_doubles(t, path, "value", 1, &s->count, NULL, err);
  if (!s->value) return false;
  s->standard_error = hvi_column_doubles(t, path, "standard_error", 1, &s->count, NULL, err);
  if (!s->standard_error) return false;
  s->returns = hvi_column_doubles(t, path, "returns", 2, &s->count, &s->rollouts, err);
  if (!s->returns) return false;
  s->length = hvi_column_doubles(t, path, "length", 2, &s->count, &s->rollouts, err);
  if (!s->length) return false;
  s->terminated = hvi_column_doubles(t, path, "terminated", 2, &s->count, &s->rollouts, err);
  return s->terminated != NULL;
}

static bool load_notes(hvi_testset *s, const hvi_tensors *t, const char *path, hvi_error *err) {
  double horizon;
  if (hvi_notes_read_real(&s->gamma, t, "gamma", path, err) ||
      hvi_notes_read_real(&horizon, t, "horizon", path, err)) {
    return false;
  }
  s->reward_bound = INFINITY;
  if (hvi_tensors_note(t, "reward_bound") &&
      hvi_notes_read_real(&s->reward_bound, t, "reward_bound", path, err)) {
    return false;
  }
  if (hvi_tensors_note(t, "tail") && hvi_notes_read_real(&s->tail, t, "tail", path, err)) {
    return false;
  }
  hvi_notes_read_origin(&s->origin, t);
  if (s->gamma > 0.0 && s->gamma < 1.0 && horizon >= 1.0 && horizon <= INT_MAX &&
      s->reward_bound >= 0.0 && isfinite(s->tail)) {
    s->horizon = (size_t)horizon;
    return true;
  }
  hvi_error_set(err, HVI_ERROR_INPUT,
                "'%s': gamma %g, horizon %g, reward bound %g or tail %g is out of range", path,
                s->gamma, horizon, s->reward_bound, s->tail);
  return false;
}

/* Values are what their returns and the tail say, up to rounding; lengths are within the horizon.
 */
static bool check_rows(const hvi_testset *s, const char *path, hvi_error *err) {
  if (s->rollouts < 2) {
    hvi_error_set(err, HVI_ERROR_INPUT, "'%s' has one roll-out a state, should have two or more",
                  path);
    return false;
  }
  for (size_t i = 0; i < s->count; i++) {
    double value, standard_error;
    hvi_testset_average(s, i, &value, &standard_error);
    const double slack = 1e-6 * (fabs(value) + standard_error + 1e-300);
    if (!(fabs(value - s->value[i]) <= slack) ||
        !(fabs(standard_error - s->standard_error[i]) <= slack)) {
      hvi_error_set(err, HVI_ERROR_INPUT,
                    "'%s': value or standard error of state %zu is not that of its returns", path,
                    i);
      return false;
    }
  }
  for (size_t i = 0; i < s->count * s->rollouts; i++) {
    if (s->length[i] >= 1.0 && s->length[i] <= (double)s->horizon) continue;
    hvi_error_set(err, HVI_ERROR_INPUT, "'%s': a roll-out of %g steps; the horizon is %zu", path,
                  s->length[i], s->horizon);
    return false;
  }
  return true;
}

hvi_status hvi_testset_load(hvi_testset **set, const char *path, hvi_error *err) {
  hvi_error local;
  hvi_tensors *t;
  if (!err) err = &local;
  *set = NULL;
  const hvi_status status = hvi_tensors_read(&t, path, 0, err);
  if (status) return status;
  hvi_testset *s = hvi_alloc(1, sizeof *s);
  if (!s) hvi_error_memory(err, "a test set");
  const bool good =
      s && load_columns(s, t, path, err) && load_notes(s, t, path, err) && check_rows(s, path, err);
  hvi_tensors_free(t);
  if (!good) {
    hvi_testset_free(s);
    return err->status;
  }
  *set = s;
  return HVI_OK;
}
