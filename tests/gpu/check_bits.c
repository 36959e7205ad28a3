/*
 * The same bits: of a job whoever is beside it, from run to run, in chunks of any length, after an
 * optimizer's state has been to the host and back, and on rows that a device may have kept.
 */
#include "check.h"

#include "base/base.h"

/* What a job leaves. */
typedef struct outcome {
  float *y, *result;
  size_t rows, numbers;
  hvi_device_descent d;
} outcome;

static bool take(outcome *o, const learner *l) {
  *o = (outcome){.rows = l->rows, .numbers = l->numbers, .d = l->job.descent};
  o->y = hvi_alloc(l->rows + l->numbers, sizeof *o->y);
  if (!o->y) return false;
  o->result = o->y + l->rows;
  memcpy(o->y, l->y, l->rows * sizeof *o->y);
  memcpy(o->result, l->result, l->numbers * sizeof *o->result);
  return true;
}

static void same(check *c, const outcome *o, const learner *l, hvi_device_kind kind,
                 const char *what, size_t number) {
  const hvi_device_descent *d = &l->job.descent;
  const bool has_y = kind != HVI_DEVICE_PULL;
  const bool has_result = kind == HVI_DEVICE_PULL || kind == HVI_DEVICE_DESCEND;
  bool bits = !has_y || memcmp(o->y, l->y, o->rows * sizeof *o->y) == 0;
  bits = bits && (!has_result || memcmp(o->result, l->result, o->numbers * sizeof *o->result) == 0);
  if (kind == HVI_DEVICE_DESCEND)
    bits = bits && d->steps == o->d.steps && memcmp(&d->loss, &o->d.loss, sizeof d->loss) == 0 &&
           memcmp(&d->least, &o->d.least, sizeof d->least) == 0;
  check_that(c, bits, "kind %d: other bits %s %zu, %zu rows", (int)kind, what, number, o->rows);
}

static void set_all(learner *all, size_t count, hvi_device_rule rule, size_t most) {
  for (size_t i = 0; i < count; i++) {
    const hvi_device_descent d = learner_descent(&all[i], rule, most);
    learner_set(&all[i], &d);
  }
}

/* all[0] alone, then first, in the middle and last among others; whatever kind. */
static void among_others(check *c, learner *all, size_t count, hvi_device_kind kind) {
  static const size_t others[] = {0, 1, 19, 99};
  outcome alone;
  set_all(all, 1, HVI_DEVICE_ADAM, 10);
  if (!learners_run(c, kind, all, 1, 10) || !take(&alone, &all[0])) return;
  for (size_t k = 0; k < sizeof others / sizeof *others && others[k] < count; k++) {
    const size_t n = others[k] + 1, place = k * others[k] / 3;
    set_all(all, n, HVI_DEVICE_ADAM, 10);
    const learner first = all[0]; /* changes places: jobs are given in another order */
    all[0] = all[place];
    all[place] = first;
    if (learners_run(c, kind, all, n, 10))
      same(c, &alone, &all[place], kind, "with others:", others[k]);
    const learner back = all[place];
    all[place] = all[0];
    all[0] = back;
  }
  hvi_free(alone.y);
}

static void in_chunks(check *c, learner *all, size_t count, hvi_device_rule rule) {
  static const size_t chunks[] = {10, 3, 1};
  outcome *whole = hvi_alloc(count, sizeof *whole);
  set_all(all, count, rule, 10);
  bool good = whole && learners_run(c, HVI_DEVICE_DESCEND, all, count, 10);
  for (size_t i = 0; good && i < count; i++) good = take(&whole[i], &all[i]);
  for (size_t k = 0; good && k < sizeof chunks / sizeof *chunks; k++) {
    set_all(all, count, rule, 10);
    good = learners_run(c, HVI_DEVICE_DESCEND, all, count, chunks[k]);
    for (size_t i = 0; good && i < count; i++)
      same(c, &whole[i], &all[i], HVI_DEVICE_DESCEND, "in chunks of", chunks[k]);
  }
  for (size_t i = 0; whole && i < count; i++) hvi_free(whole[i].y);
  hvi_free(whole);
}

/* Five steps from where the learner stands, without forgetting; theta: NULL for the device's own. */
static bool go_on(check *c, learner *l, hvi_device_rule rule, const float *theta) {
  hvi_device_descent d = learner_descent(l, rule, 5);
  d.forget = false;
  learner_set(l, &d);
  l->job.theta = theta ? memcpy(l->v, theta, l->numbers * sizeof *theta) : NULL;
  return learners_run(c, HVI_DEVICE_DESCEND, l, 1, 5);
}

/* Five steps and five more; the second five with the device's own theta and state, then on another
 * network that is given both. */
static void with_state(check *c, learner *l, hvi_device_rule rule) {
  const size_t n = l->numbers;
  HVI_OWN float *theta = hvi_alloc(n, sizeof *theta), *m = hvi_alloc(n, sizeof *m);
  HVI_OWN float *v = hvi_alloc(n, sizeof *v);
  double power[2] = {0.0, 0.0};
  outcome straight;
  hvi_error err;
  hvi_device_net *other = NULL, *own = l->net;
  set_all(l, 1, rule, 5);
  if (!theta || !m || !v || !learners_run(c, HVI_DEVICE_DESCEND, l, 1, 5)) return;
  memcpy(theta, l->result, n * sizeof *theta);
  if (!check_call(c, c->f->move_state(own, false, power, m, v, &err), &err)) return;
  if (rule == HVI_DEVICE_ADAM)
    check_error(c, fabs(power[0] - pow(0.9, 5.0)) + fabs(power[1] - pow(0.999, 5.0)), 1e-12,
                "powers %.17g and %.17g after five steps", power[0], power[1]);
  if (!go_on(c, l, rule, NULL) || !take(&straight, l)) return;
  if (check_call(c, c->f->net_new(&other, c->device, l->shape, &err), &err)) {
    l->net = other;
    if (check_call(c, c->f->move_state(other, true, power, m, v, &err), &err) &&
        go_on(c, l, rule, theta))
      same(c, &straight, l, HVI_DEVICE_DESCEND, "after a state was put, rule", (size_t)rule);
    c->f->net_free(other);
  }
  l->net = own;
  hvi_free(straight.y);
}

/* Ten steps at once are five and five more. */
static void continued(check *c, learner *l, hvi_device_rule rule) {
  outcome ten;
  set_all(l, 1, rule, 10);
  if (!learners_run(c, HVI_DEVICE_DESCEND, l, 1, 10) || !take(&ten, l)) return;
  set_all(l, 1, rule, 5);
  if (learners_run(c, HVI_DEVICE_DESCEND, l, 1, 5) && go_on(c, l, rule, NULL)) {
    ten.d.steps = l->job.descent.steps;
    ten.d.least = l->job.descent.least; /* of the last five alone */
    same(c, &ten, l, HVI_DEVICE_DESCEND, "in two halves, rule", (size_t)rule);
  }
  hvi_free(ten.y);
}

/* The rows of l under a name, on that network; then those of another, which are more, under the others. */
static void come_again(check *c, const outcome *own, learner *l, learner *more,
                       hvi_device_kind kind, hvi_device_net *net) {
  for (size_t round = 0; round < 3; round++) {
    set_all(l, 1, HVI_DEVICE_ADAM, 5);
    l->job.net = net;
    l->job.whose = HVI_DEVICE_STATES;
    if (!learners_run(c, kind, l, 1, 3)) return;
    same(c, own, l, kind, "on kept rows, round", round);
    set_all(more, 1, HVI_DEVICE_ADAM, 5);
    more->job.net = net;
    more->job.whose = round % 2 ? HVI_DEVICE_OWN : HVI_DEVICE_SUCCESSORS;
    if (!learners_run(c, kind, more, 1, 3)) return;
  }
}

/* A network that is made anew has none of them. */
static void on_kept_rows(check *c, learner *l, learner *more, hvi_device_kind kind) {
  outcome own;
  hvi_error err;
  set_all(l, 1, HVI_DEVICE_ADAM, 5);
  if (!learners_run(c, kind, l, 1, 3) || !take(&own, l)) return;
  for (int i = 0; i < 2; i++) {
    hvi_device_net *net = NULL;
    if (!check_call(c, c->f->net_new(&net, c->device, l->shape, &err), &err)) break;
    come_again(c, &own, l, more, kind, net);
    c->f->net_free(net);
  }
  hvi_free(own.y);
}

/* A shape by its number: small, odd, and one like those of experiments. */
static hvi_device_shape shape_of(check *c, size_t i) {
  const size_t wide = c->options->quick ? 24 : 256;
  if (i == 0)
    return (hvi_device_shape){
        .layer_count = 3, .width = {27, wide, wide, 1}, .activation = HVI_RELU};
  return check_shape(c, 1 + i, c->options->quick ? 40 : 300, check_activation(i));
}

enum { COUNT = 100, SHAPES = 3 };

static void others(check *c, learner *all) {
  for (int kind = HVI_DEVICE_EVAL; kind <= HVI_DEVICE_DESCEND; kind++)
    among_others(c, all, COUNT, (hvi_device_kind)kind);
}

static void chunks(check *c, learner *all) {
  for (int rule = HVI_DEVICE_GD; rule <= HVI_DEVICE_ADAM; rule++)
    in_chunks(c, all, COUNT / 5, (hvi_device_rule)rule);
}

static void states(check *c, learner *all) {
  for (int rule = HVI_DEVICE_GD; rule <= HVI_DEVICE_ADAM; rule++) {
    with_state(c, all, (hvi_device_rule)rule);
    continued(c, all, (hvi_device_rule)rule);
  }
}

static void kept_rows(check *c, learner *all) {
  for (int kind = HVI_DEVICE_EVAL; kind <= HVI_DEVICE_DESCEND; kind++)
    on_kept_rows(c, &all[1], &all[0], (hvi_device_kind)kind);
}

static const struct {
  const char *name;
  size_t learners;
  void (*compare)(check *c, learner *all);
} groups[] = {{"others", COUNT, others},
              {"chunks", COUNT / 5, chunks},
              {"state", 1, states},
              {"kept", 2, kept_rows}};

void check_bits(check *c) {
  for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
    if (!check_begin(c, groups[g].name)) continue;
    for (size_t s = 0; s < SHAPES; s++) {
      const hvi_device_shape shape = shape_of(c, s);
      learner *all = learners_new(c, groups[g].learners, &shape, c->options->quick ? 70 : 1111);
      if (all) groups[g].compare(c, all);
      learners_free(c, all, groups[g].learners);
    }
    check_end(c);
  }
}
