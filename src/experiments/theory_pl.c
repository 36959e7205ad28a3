/*
 * The Polyak-Lojasiewicz inequality of a composition: for f mu-PL and sigma_min the smallest
 * singular value of J',
 *
 *   |grad (f o g)(theta)|^2 >= 2 mu sigma_min(theta)^2 (f(g(theta)) - inf f)
 *
 * at every theta, and hence with any lower bound on the singular values. (The proof drops the 2 on
 * the way; the statement keeps it.) Sampled for f(z) = 1/2 |z - v|^2, which is the surrogate and
 * 1-PL, and for f(z) = sum x_i^2 + 3 sin^2 x_i, x = z - v, which is 1/32-PL and not convex.
 */
#include "base/error.h"
#include "base/memory.h"
#include "experiments/theory.h"
#include "experiments/theory_lab.h"
#include "num/dense.h"
#include "num/vec.h"
#include "report/csv.h"

#include <math.h>

enum { N = 4, D = 6 };

typedef struct loss {
  const char *name;
  double mu;
  double (*value)(double x), (*slope)(double x); /* of one coordinate */
} loss;

static double square(double x) { return 0.5 * x * x; }
static double square_slope(double x) { return x; }
static double wavy(double x) { return x * x + 3.0 * sin(x) * sin(x); }
static double wavy_slope(double x) { return 2.0 * x + 3.0 * sin(2.0 * x); }

static const loss losses[] = {{"square", 1.0, square, square_slope},
                              {"wavy", 1.0 / 32.0, wavy, wavy_slope}};
static const char *const models[] = {"linear", "celu", "tanh", "softplus"};

typedef struct sample {
  double least, largest; /* singular values, squared */
  double ratio;          /* |grad|^2 / (2 mu (f - inf)) */
} sample;

static hvi_status draw(sample *s, const hvi_model *m, const loss *f, double scale, hvi_rng *rng,
                       double *cache, hvi_error *err) {
  double theta[D], z[N], u[N], gradient[D], J[N * D], scratch[N + D], sigma[N], value = 0.0;
  hvi_rng_fill_normal(rng, 0.0, scale, D, theta);
  m->ops->eval(m, cache, theta, z);
  for (size_t i = 0; i < N; i++) {
    const double x = z[i] - scale * hvi_rng_normal(rng);
    value += f->value(x);
    u[i] = f->slope(x);
  }
  m->ops->vjp(m, cache, theta, u, gradient);
  hvi_model_jacobian(m, cache, theta, 0, J, scratch);
  hvi_status status = hvi_dense_singular_values(sigma, J, N, D, err);
  s->least = sigma[N - 1] * sigma[N - 1];
  s->largest = sigma[0] * sigma[0];
  s->ratio = hvi_vec_norm2(gradient, D) / (2.0 * f->mu * value);
  return status;
}

static void note_sample(hvi_theory_pl_worst *w, hvi_csv *csv, const char *model, const loss *f,
                        const sample *s) {
  w->samples++;
  /* squares of singular values below this are rounding */
  if (s->least > 1e-24) w->least = fmin(w->least, s->ratio / s->least);
  w->least_largest = fmin(w->least_largest, s->ratio / s->largest);
  hvi_csv_text(csv, model);
  hvi_csv_text(csv, f->name);
  hvi_csv_number(csv, s->least);
  hvi_csv_number(csv, f == &losses[0] ? s->ratio : NAN);
  hvi_csv_number(csv, f == &losses[0] ? NAN : s->ratio);
  hvi_csv_end(csv);
}

static hvi_status run_model(hvi_theory_pl_worst *w, hvi_csv *csv, const char *name, size_t count,
                            uint64_t seed, hvi_error *err) {
  static const double scales[] = {0.1, 1.0, 3.0};
  const hvi_option options[] = {{"n", "4"}, {"d", "6"}, {"g", name}};
  hvi_problem *p;
  hvi_status status = hvi_builtin_new(&p, "quadratic", options, 3, seed, 1, err);
  if (status) return status;
  double *cache = hvi_alloc_doubles(p->model->cache);
  if (!cache) status = hvi_error_memory(err, "a model's cache");
  hvi_rng rng = hvi_rng_new(seed, name, 0);
  for (size_t i = 0; i < count && !status; i++) {
    const loss *f = &losses[i % 2];
    sample s;
    status = draw(&s, p->model, f, scales[i / 2 % 3], &rng, cache, err);
    if (!status) note_sample(w, csv, name, f, &s);
  }
  hvi_free(cache);
  hvi_problem_free(p);
  return status;
}

void hvi_theory_pl_judge(hvi_claims *claims, const hvi_theory_pl_worst *w) {
  hvi_claim *c = hvi_claims_add(claims, "pl", "proposition, PL of the composition",
                                "If f is mu-PL and the singular values of J' are at least "
                                "sigma_min, f o g is mu sigma_min^2-PL.");
  hvi_claim_measure(c, "smallest |grad|^2 / (2 mu sigma_min^2 (f - inf))", w->least);
  hvi_claim_measure(c, "the same with the largest singular value", w->least_largest);
  hvi_claim_measure(c, "samples", (double)w->samples);
  hvi_claim_note(c, "with the largest singular value in its place the inequality fails, so the "
                    "samples would show a violation");
  hvi_claim_judge(c,
                  w->samples > 0 && w->least >= 1.0 - hvi_theory_slack && w->least_largest < 1.0);
}

hvi_status hvi_theory_pl(const hvi_theory_part *part, hvi_error *err) {
  const size_t count = part->full ? 5000 : 500;
  hvi_theory_pl_worst w = {.least = INFINITY, .least_largest = INFINITY};
  hvi_csv csv;
  hvi_status status = hvi_lab_csv(&csv, part->folder, "pl", "model,loss,sigma2,square,wavy", err);
  if (status) return status;
  for (size_t i = 0; i < sizeof models / sizeof *models && !status; i++) {
    status = run_model(&w, &csv, models[i], count, part->seed, err);
  }
  if (!status) status = hvi_csv_close(&csv, err);
  hvi_csv_discard(&csv);
  if (!status) hvi_theory_pl_judge(part->claims, &w);
  return status;
}
