/* Every kind of job against the reference: random shapes, a deep one, and 100,000 rows. */
#include "check.h"

#include "base/base.h"

/* What the reference needs of a learner. */
typedef struct rig {
  reference r;
  double *theta, *v, *y, *size, *gradient;
} rig;

static bool rig_new(rig *g, const learner *l) {
  const size_t n = l->numbers;
  if (!hvi_alloc_arrays({&g->theta, n}, {&g->v, n}, {&g->gradient, n}, {&g->y, l->rows},
                        {&g->size, l->rows}))
    return false;
  if (!reference_new(&g->r, l->shape)) return hvi_free(g->theta), false;
  for (size_t i = 0; i < n; i++) g->theta[i] = (double)l->theta[i], g->v[i] = (double)l->v[i];
  return true;
}

static void rig_free(rig *g) {
  reference_free(&g->r);
  hvi_free(g->theta);
}

#define WHERE "%zu layers, %zu inputs, %s, %zu rows"
#define OF(l)                                                                                      \
  (l)->shape->layer_count, (l)->shape->width[0], hvi_activation_name((l)->shape->activation),      \
      (l)->rows

/* Inputs keep away from kinks as far as single precision goes, at the start. With 11 bits a unit in a
 * thousand is on the other side of its own, and after a step a few are in any precision: the slope of
 * such a unit is another, and gradients differ by more than rounding. */
static double gradient_limit(const check *c, const learner *l) {
  const bool coarse = c->options->precision == HVI_DEVICE_FP16;
  return (coarse && check_has_kink(l->shape->activation) ? 10.0 : 1.0) * c->limits.gradient;
}

static double descent_limit(const check *c, const learner *l) {
  const hvi_device_descent *d = &l->job.descent;
  const double rule = d->rule == HVI_DEVICE_ADAM ? 5.0 : 1.0;
  const bool coarse = c->options->precision == HVI_DEVICE_FP16;
  const bool kinks = check_has_kink(l->shape->activation) && (d->steps > 1 || coarse);
  return rule * (kinks ? 20.0 : 1.0) * c->limits.descent;
}

static void compare_eval(check *c, const learner *l, rig *g) {
  reference_eval(&g->r, g->theta, l->rows, l->x, g->y, g->size);
  const double size = fmax(length(g->y, l->rows), length(g->size, l->rows));
  check_error(c, distance(l->y, g->y, l->rows) / size, c->limits.output, "outputs, " WHERE, OF(l));
}

static void compare_push(check *c, const learner *l, rig *g) {
  reference_push(&g->r, g->theta, l->rows, l->x, g->v, g->y);
  /* an output's terms cancel as they do in eval: their size is taken from the length of J'y */
  const double size = length(g->y, l->rows);
  reference_pull(&g->r, g->theta, l->rows, l->x, g->y, g->gradient);
  const double terms =
      length(g->gradient, l->numbers) * length(g->v, l->numbers) / fmax(size, 1e-300);
  check_error(c, distance(l->y, g->y, l->rows) / fmax(size, 0.1 * terms), gradient_limit(c, l),
              "J v, " WHERE, OF(l));
}

/* True where the layout has a number; the rest must be zero. */
static void check_padding(check *c, const learner *l) {
  const hvi_device_shape *s = l->shape;
  bool clean = true;
  for (size_t k = 0; k < s->layer_count; k++) {
    const size_t in = s->width[k], row = hvi_device_padded(in), out = s->width[k + 1];
    const float *w = l->result + hvi_device_weight(s, k), *b = l->result + hvi_device_bias(s, k);
    for (size_t o = 0; o < out; o++)
      for (size_t i = in; i < row; i++) clean = clean && w[o * row + i] == 0.0F;
    for (size_t o = out; o < hvi_device_padded(out); o++) clean = clean && b[o] == 0.0F;
  }
  check_that(c, clean, "padding is not zero, " WHERE, OF(l));
}

/* Layer by layer, so that none hides behind another. */
static void compare_pull(check *c, const learner *l, rig *g) {
  const hvi_device_shape *s = l->shape;
  reference_pull(&g->r, g->theta, l->rows, l->x, l->u, g->gradient);
  const double whole = length(g->gradient, l->numbers);
  for (size_t k = 0; k < s->layer_count; k++) {
    const size_t at = hvi_device_weight(s, k), n = hvi_device_weight(s, k + 1) - at;
    const double size = fmax(length(g->gradient + at, n), 0.01 * whole + 1e-300);
    check_error(c, distance(l->result + at, g->gradient + at, n) / size, gradient_limit(c, l),
                "J'u of layer %zu, " WHERE, k + 1, OF(l));
  }
  check_padding(c, l);
}

static const struct {
  hvi_device_kind kind;
  void (*compare)(check *c, const learner *l, rig *g);
} linear_kinds[] = {{HVI_DEVICE_EVAL, compare_eval},
                    {HVI_DEVICE_PULL, compare_pull},
                    {HVI_DEVICE_PUSH, compare_push}};

static void compare_linear(check *c, size_t kind, learner *all, size_t count) {
  for (size_t i = 0; i < count; i++) learner_set(&all[i], NULL);
  if (!learners_run(c, linear_kinds[kind].kind, all, count, 1)) return;
  for (size_t i = 0; i < count; i++) {
    rig g;
    if (!rig_new(&g, &all[i])) {
      check_that(c, false, "the host is out of memory");
      return;
    }
    linear_kinds[kind].compare(c, &all[i], &g);
    check_that(c, all[i].job.done && all[i].job.seconds >= 0.0, "a job is not marked as done");
    rig_free(&g);
  }
}

/* Losses, outputs and parameters where a descent ends. The parameters' error is measured by how far
 * they have moved, and a little by how large they are, since each step rounds them; Adam's first steps have
 * the sign of numbers that may be rounding alone. */
static void compare_answer(check *c, const learner *l, const answer *a) {
  const hvi_device_descent *d = &l->job.descent;
  const double limit = descent_limit(c, l);
  double size = 0.0, moved = 0.0;
  reference_loss(&a->descent, l->rows, a->y, NULL, &size);
  for (size_t i = 0; i < l->numbers; i++) moved += pow(a->theta[i] - (double)l->theta[i], 2.0);
  moved = sqrt(moved) + 1e-3 * (double)(1 + d->steps) * length(a->theta, l->numbers);
  const double scale = fmax(length(a->y, l->rows), sqrt((double)l->rows));
  check_that(c, d->steps == a->descent.steps, "%zu steps, not %zu, " WHERE, d->steps,
             a->descent.steps, OF(l));
  check_error(c, fabs(d->loss - a->descent.loss) / size, limit, "loss %.9g, not %.9g, " WHERE,
              d->loss, a->descent.loss, OF(l));
  check_error(c, fabs(d->least - a->descent.least) / size, limit, "least %.9g, not %.9g, " WHERE,
              d->least, a->descent.least, OF(l));
  check_error(c, distance(l->y, a->y, l->rows) / scale, limit, "outputs after steps, " WHERE,
              OF(l));
  check_error(c, distance(l->result, a->theta, l->numbers) / moved, fmin(1.0, 10.0 * limit),
              "parameters after %zu steps, rule %d, " WHERE, d->steps, (int)d->rule, OF(l));
  check_padding(c, l);
}

static void compare_descents(check *c, hvi_device_rule rule, size_t most, learner *all,
                             size_t count) {
  for (size_t i = 0; i < count; i++) {
    hvi_device_descent d = learner_descent(&all[i], rule, check_pick(c, 1, most));
    if (check_pick(c, 0, 1)) d.linear = all[i].linear;
    if (check_pick(c, 0, 1)) d.lr_factor = 0.9;
    if (check_pick(c, 0, 1)) d.shift = 0.3, d.scale = 0.7;
    learner_set(&all[i], &d);
  }
  hvi_device_descent *asked = hvi_alloc(count, sizeof *asked);
  for (size_t i = 0; asked && i < count; i++) asked[i] = all[i].job.descent;
  if (asked && learners_run(c, HVI_DEVICE_DESCEND, all, count, check_pick(c, 1, most)))
    for (size_t i = 0; i < count; i++) {
      answer a;
      if (!answer_new(&a, &all[i], &asked[i])) continue;
      compare_answer(c, &all[i], &a);
      answer_free(&a);
    }
  hvi_free(asked);
}

enum { KINDS = 6 }; /* three of them linear, then three rules */
static const char *const kind_names[KINDS] = {"eval", "pull", "push", "gd", "momentum", "adam"};

/* Descents of 1 to `most` steps. */
static void compare(check *c, size_t kind, size_t most, learner *all, size_t count) {
  if (kind < 3)
    compare_linear(c, kind, all, count);
  else
    compare_descents(c, (hvi_device_rule)(HVI_DEVICE_GD + (int)(kind - 3)), most, all, count);
}

/* Products of one pass over a row. */
static double work_of(const hvi_device_shape *s) {
  double work = 0.0;
  for (size_t l = 0; l < s->layer_count; l++) work += (double)(s->width[l] * s->width[l + 1]);
  return work;
}

static void one_shape(check *c, size_t kind, size_t trial) {
  static const size_t counts[] = {1, 2, 7, 20, 100};
  const double most_work = c->options->quick ? 1e6 : 3e7;
  const size_t count = counts[trial % 5], layers = 1 + trial % 6;
  const size_t widest = trial % 4 == 3 ? 9 : c->options->quick && count > 7 ? 40 : 300;
  const hvi_device_shape shape = check_shape(c, layers, widest, check_activation(trial));
  const double rows = most_work / (work_of(&shape) * (double)count);
  const size_t most = rows > 2100.0 ? 2100 : rows < 3.0 ? 3 : (size_t)rows;
  learner *all = learners_new(c, count, &shape, trial % 7 == 6 ? 1 : most);
  if (all) compare(c, kind, 12, all, count);
  learners_free(c, all, count);
}

/* 16 layers of 256. */
static void deep(check *c, size_t kind, hvi_activation activation) {
  hvi_device_shape shape = {.layer_count = 17, .width = {27}, .activation = activation};
  for (size_t l = 1; l < 17; l++) shape.width[l] = 256;
  shape.width[17] = 1;
  const size_t count = c->options->quick ? 1 : 2;
  learner *all = learners_new(c, count, &shape, c->options->quick ? 21 : 333);
  if (all) compare(c, kind, check_has_kink(activation) ? 1 : 4, all, count);
  learners_free(c, all, count);
}

void check_kernels(check *c) {
  for (size_t kind = 0; kind < KINDS; kind++) {
    if (!check_begin(c, kind_names[kind])) continue;
    for (size_t trial = 0; trial < (c->options->quick ? 7 : 35); trial++) one_shape(c, kind, trial);
    check_end(c);
  }
  if (!check_begin(c, "deep")) return;
  for (size_t kind = 0; kind < KINDS; kind++) {
    deep(c, kind, HVI_RELU);
    deep(c, kind, HVI_TANH);
  }
  check_end(c);
}

void check_large(check *c) {
  const size_t width = c->options->quick ? 3 : 100;
  const hvi_device_shape shape = {.layer_count = 3,
                                  .width = {c->options->quick ? 2 : 27, width, width, 1},
                                  .activation = HVI_CELU};
  learner l;
  if (!check_begin(c, "rows")) return;
  if (learner_new(c, &l, &shape, 100000)) {
    for (size_t kind = 0; kind < KINDS; kind += kind < 3 ? 1 : 2) compare(c, kind, 3, &l, 1);
    learner_free(c, &l);
  }
  check_end(c);
}
