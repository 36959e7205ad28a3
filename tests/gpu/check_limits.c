/* Where descents end: thresholds of the loss; and what happens where memory ends. */
#include "check.h"

#include "base/base.h"

enum { LEARNERS = 20, MOST = 30 };

/* The step that the reference stops at; MOST + 1 where a loss on the way is too near to the goal. */
static size_t stop_of(const check *c, const answer *a, double goal) {
  const double near = c->options->precision == HVI_DEVICE_FP16 ? 2e-2 : 1e-5;
  for (size_t k = 0; k <= MOST; k++) {
    if (fabs(a->losses[k] - goal) <= near * fabs(goal)) return MOST + 1;
    if (a->losses[k] <= goal) return k;
  }
  return MOST;
}

/* Between two neighbouring losses of the reference, or above all, or below all of them. */
static double goal_of(check *c, const answer *a) {
  const size_t k = check_pick(c, 0, MOST + 1);
  if (k == 0) return 2.0 * fabs(a->losses[0]) + 1.0;
  if (k == MOST + 1) return -INFINITY;
  return 0.5 * (a->losses[k - 1] + a->losses[k]);
}

/* Stopped at the reference's step, and standing still there while others went on: the same bits as a
 * descent of just so many steps alone. */
static void compare_stop(check *c, learner *l, const answer *a, double goal) {
  const size_t want = stop_of(c, a, goal);
  const hvi_device_descent got = l->job.descent;
  if (want > MOST) {
    c->left_out++;
    return;
  }
  check_that(c, got.steps == want, "%zu steps, not %zu: goal %.9g, losses %.9g and %.9g there",
             got.steps, want, goal, a->losses[want > 0 ? want - 1 : 0], a->losses[want]);
  check_that(c, want == MOST || got.loss <= goal, "stopped at %.9g above the goal %.9g", got.loss,
             goal);
  HVI_OWN float *theta = hvi_alloc(l->numbers + l->rows, sizeof *theta);
  if (!theta) return;
  memcpy(theta, l->result, l->numbers * sizeof *theta);
  memcpy(theta + l->numbers, l->y, l->rows * sizeof *theta);
  hvi_device_descent d = learner_descent(l, got.rule, got.steps);
  learner_set(l, &d);
  if (!learners_run(c, HVI_DEVICE_DESCEND, l, 1, 100)) return;
  check_that(c,
             memcmp(theta, l->result, l->numbers * sizeof *theta) == 0 &&
                 memcmp(theta + l->numbers, l->y, l->rows * sizeof *theta) == 0 &&
                 memcmp(&got.loss, &l->job.descent.loss, sizeof got.loss) == 0,
             "did not stand still after %zu steps", got.steps);
}

/* Each with a goal of its own, together. */
static void with_goals(check *c, learner *all, hvi_device_rule rule, size_t chunk) {
  answer a[LEARNERS];
  double goal[LEARNERS];
  size_t made = 0;
  for (; made < LEARNERS; made++) {
    hvi_device_descent d = learner_descent(&all[made], rule, MOST);
    if (!answer_new(&a[made], &all[made], &d)) break;
    d.goal = goal[made] = goal_of(c, &a[made]);
    learner_set(&all[made], &d);
  }
  if (made == LEARNERS && learners_run(c, HVI_DEVICE_DESCEND, all, LEARNERS, chunk))
    for (size_t i = 0; i < LEARNERS; i++) compare_stop(c, &all[i], &a[i], goal[i]);
  for (size_t i = 0; i < made; i++) answer_free(&a[i]);
}

/* A goal that is reached at the start: no step, or the one that is asked for. */
static void at_least(check *c, learner *l, size_t steps) {
  hvi_device_descent d = learner_descent(l, HVI_DEVICE_ADAM, 7);
  d.goal = INFINITY;
  d.at_least = steps;
  learner_set(l, &d);
  if (!learners_run(c, HVI_DEVICE_DESCEND, l, 1, 7)) return;
  check_that(c, l->job.descent.steps == steps, "at least %zu: %zu steps", steps,
             l->job.descent.steps);
  const bool moved = memcmp(l->result, l->theta, l->numbers * sizeof *l->theta) != 0;
  check_that(c, moved == (steps > 0), "at least %zu: the parameters %s", steps,
             moved ? "moved" : "stand still");
}

/* A rate that is too large, so that losses rise and the least is not the last. */
static void least_on_the_way(check *c, learner *l) {
  hvi_device_descent d = learner_descent(l, HVI_DEVICE_MOMENTUM, 12);
  d.lr *= 10.0;
  answer a;
  learner_set(l, &d);
  if (!answer_new(&a, l, &d)) return;
  double size;
  reference_loss(&d, l->rows, a.y, NULL, &size);
  bool wild = false;
  for (size_t k = 1; k <= 12; k++) wild = wild || !(a.losses[k] < 1e3 * (1.0 + a.losses[0]));
  if (wild)
    c->left_out++;
  else if (learners_run(c, HVI_DEVICE_DESCEND, l, 1, 5))
    check_error(
        c, fabs(l->job.descent.least - a.descent.least) / fmax(a.descent.least, 1e-3 * a.losses[0]),
        100.0 * c->limits.descent, "least %.9g, not %.9g", l->job.descent.least, a.descent.least);
  answer_free(&a);
}

void check_thresholds(check *c) {
  if (!check_begin(c, "thresholds")) return;
  for (size_t s = 0; s < (c->options->quick ? 2 : 4); s++) {
    const hvi_device_shape shape =
        check_shape(c, 2 + s % 3, c->options->quick ? 20 : 120, s % 2 ? HVI_TANH : HVI_CELU);
    learner *all = learners_new(c, LEARNERS, &shape, c->options->quick ? 40 : 100);
    if (!all) break;
    for (int rule = HVI_DEVICE_GD; rule <= HVI_DEVICE_ADAM; rule++)
      with_goals(c, all, (hvi_device_rule)rule, s % 2 ? 7 : 100);
    at_least(c, all, 0);
    at_least(c, all, 1);
    for (size_t i = 0; i < LEARNERS; i++) least_on_the_way(c, &all[i]);
    learners_free(c, all, LEARNERS);
  }
  check_end(c);
}

/* Networks that no device has room for are refused; the one that was there computes as before. */
void check_memory(check *c) {
  hvi_device_shape shape = check_shape(c, 3, 30, HVI_RELU), absurd = {.layer_count = 64};
  for (size_t l = 0; l < 64; l++) absurd.width[l] = 1000000;
  absurd.width[64] = 1;
  absurd.activation = HVI_RELU;
  learner l;
  hvi_device_net *net = NULL;
  hvi_error err = {.text = ""};
  if (!check_begin(c, "memory")) return;
  if (learner_new(c, &l, &shape, 50)) {
    learner_set(&l, NULL);
    HVI_OWN float *before = hvi_alloc(l.rows, sizeof *before);
    if (before && learners_run(c, HVI_DEVICE_EVAL, &l, 1, 1)) {
      memcpy(before, l.y, l.rows * sizeof *before);
      const hvi_status status = c->f->net_new(&net, c->device, &absurd, &err);
      check_that(c, status == HVI_ERROR_MEMORY, "absurd networks: status %d, '%s'", (int)status,
                 err.text);
      if (!status) c->f->net_free(net);
      learner_set(&l, NULL);
      if (learners_run(c, HVI_DEVICE_EVAL, &l, 1, 1))
        check_that(c, memcmp(before, l.y, l.rows * sizeof *before) == 0, "other bits afterwards");
    }
    learner_free(c, &l);
  }
  check_end(c);
}
