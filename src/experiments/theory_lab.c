#include "experiments/theory_lab.h"

#include "base/error.h"
#include "base/memory.h"
#include "num/vec.h"
#include "report/csv.h"
#include "report/text.h"

#include <hvi/game.h>

#include <stdio.h>

typedef struct view {
  hvi_steps steps;
  hvi_lab_see see;
  void *context;
} view;

static bool observe(void *context, const hvi_record *row) {
  view *v = context;
  bool more = true;
  if (row->outer > 0) {
    const hvi_step step = hvi_steps_measure(&v->steps, row->z);
    more = v->see(v->context, &step, row);
  }
  hvi_steps_stand(&v->steps, row->theta, row->z);
  return more;
}

hvi_status hvi_lab_run(const hvi_problem *p, const hvi_settings *s, hvi_lab_see see, void *context,
                       hvi_error *err) {
  view v = {.see = see, .context = context};
  hvi_settings own = *s;
  hvi_solver *solver;
  own.observe = observe;
  own.observer_context = &v;
  hvi_status status = hvi_solver_new(&solver, p, &own, err);
  if (status) return status;
  status = hvi_steps_new(&v.steps, p, &own, hvi_solver_info(solver).eta, err);
  if (!status) hvi_solver_run(solver);
  hvi_steps_free(&v.steps);
  hvi_solver_free(solver);
  return status;
}

hvi_status hvi_lab_quadratic(hvi_problem **p, const hvi_lab_shape *shape, uint64_t seed,
                             uint64_t instance, hvi_error *err) {
  char n[32], mu[32], lipschitz[32], rotation[32], d[32];
  snprintf(n, sizeof n, "%zu", shape->n);
  snprintf(d, sizeof d, "%zu", shape->linear ? shape->n + shape->n / 2 : shape->n);
  snprintf(mu, sizeof mu, "%.17g", shape->mu);
  snprintf(lipschitz, sizeof lipschitz, "%.17g", shape->lipschitz);
  snprintf(rotation, sizeof rotation, "%.17g", shape->rotation);
  const hvi_option options[] = {{"n", n},
                                {"d", d},
                                {"mu", mu},
                                {"L", lipschitz},
                                {"rotation", rotation},
                                {"g", shape->linear ? "linear" : "identity"}};
  return hvi_builtin_new(p, "quadratic", options, sizeof options / sizeof *options, seed, instance,
                         err);
}

/* Numbers of a constrained problem under construction. */
typedef struct draft {
  double *A, *identity;          /* [n][n] */
  double *b, *solution, *linear; /* [n] */
  double *lower, *upper, *start; /* [n] */
  double *block;
} draft;

static hvi_status new_draft(draft *t, size_t n, hvi_error *err) {
  t->block = hvi_alloc_doubles(2 * n * n + 6 * n);
  if (!t->block) return hvi_error_memory(err, "a constrained problem");
  t->A = t->block;
  t->identity = t->A + n * n;
  double **rows[] = {&t->b, &t->solution, &t->linear, &t->lower, &t->upper, &t->start};
  for (size_t i = 0; i < 6; i++) *rows[i] = t->identity + n * n + i * n;
  return HVI_OK;
}

/* A point of the set's relative interior: at least a third of the way from the boundary to the
 * middle. */
static void draw_inside(double *z, hvi_set_kind set, size_t n, hvi_rng *rng) {
  double sum = 0.0;
  for (size_t i = 0; i < n; i++) sum += z[i] = hvi_rng_range(rng, 0.5, 1.5);
  for (size_t i = 0; i < n; i++) z[i] = set == HVI_SET_SIMPLEX ? z[i] / sum : z[i] / 2.0;
}

/* linear = F(z*) - A z*, F(z*) being normal to Z: a multiple of (1, ..., 1) on the simplex. */
static void fill_draft(draft *t, hvi_set_kind set, size_t n, hvi_rng *rng) {
  draw_inside(t->solution, set, n, rng);
  draw_inside(t->start, set, n, rng);
  /* from near a corner, so that targets leave Z */
  for (size_t i = 0; i < n; i++) {
    const double corner = i == 0 || set == HVI_SET_BOX ? 1.0 : 0.0;
    t->start[i] = 0.02 * t->start[i] + 0.98 * corner;
    t->upper[i] = 1.0;
    t->identity[i * n + i] = 1.0;
    t->linear[i] = (set == HVI_SET_SIMPLEX ? 1.0 : 0.0) - hvi_vec_dot(t->A + i * n, t->solution, n);
  }
}

static hvi_status make_game(hvi_problem **p, const draft *t, hvi_set_kind set, size_t n,
                            hvi_error *err) {
  hvi_player player = {
      .theta0 = t->start, .set = set, .lower = t->lower, .upper = t->upper, .linear = t->linear};
  hvi_status status = hvi_affine_new(&player.model, n, n, t->identity, NULL, err);
  if (status) return status;
  const hvi_payoff payoff = {0, 0, t->A};
  const hvi_game_spec spec = {1, &player, 1, &payoff, t->solution};
  return hvi_game_new(p, &spec, err);
}

hvi_status hvi_lab_constrained(hvi_problem **p, const hvi_lab_shape *shape, hvi_set_kind set,
                               uint64_t seed, uint64_t instance, hvi_error *err) {
  hvi_problem *free_one;
  draft t;
  *p = NULL;
  hvi_status status = hvi_lab_quadratic(&free_one, shape, seed, instance, err);
  if (status) return status;
  status = new_draft(&t, shape->n, err);
  if (!status) {
    hvi_rng rng = hvi_rng_new(seed, "constrained", instance);
    free_one->ops->affine(free_one, t.A, t.b);
    fill_draft(&t, set, shape->n, &rng);
    status = make_game(p, &t, set, shape->n, err);
    hvi_free(t.block);
  }
  hvi_problem_free(free_one);
  return status;
}

hvi_status hvi_lab_csv(hvi_csv *csv, const char *folder, const char *name, const char *header,
                       hvi_error *err) {
  char *path = hvi_path_join(folder, name, ".csv");
  if (!path) return hvi_error_memory(err, "a path");
  hvi_status status = hvi_csv_open(csv, path, header, err);
  hvi_free(path);
  return status;
}
