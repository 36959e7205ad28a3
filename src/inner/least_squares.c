/*
 * The least-squares step in five forms, and which of them serves a model. J is block-diagonal over
 * players, and each player has the form that suits it:
 *
 *   dense        the Jacobian formed and decomposed
 *   matrix-free  LSMR on J v and J'u
 *   gram         J constant and tall: J'J decomposed once
 *   outer gram   J J' without J, for a player behind a network
 *
 * and where each has one parameter and one output there is a form for all of them together:
 *
 *   diagonal     J is a vector
 *
 * A step has two phases, because the cut-off of a pseudo-inverse is relative to the largest singular
 * value of all players, as it would be for the whole J: every player prepares, then each solves.
 */
#include "inner/least_squares.h"

#include "base/base.h"
#include "num/dense.h"
#include "num/lsmr.h"
#include "surrogate/surrogate.h"

#include <float.h>

/* One step: what to solve and where to put it. */
typedef struct linear_step {
  const hvi_optimizer_settings *settings;
  hvi_surrogate *l;
  const double *residual; /* [n] */
  double lambda;          /* 0: the pseudo-inverse */
  bool again;             /* J is that of the last step, and so is what was made of it */
  double *state;
  double *delta; /* [d] result */
} linear_step;

/* One player's share of it. */
typedef struct part {
  const linear_step *step;
  const hvi_model *model; /* the player alone */
  double *cache;
  const double *theta, *weights, *residual; /* weights: NULL for ones */
  double *state, *delta;
  size_t pulls, passes; /* counted */
  /* without damping, the largest singular value and its square: of this player when it prepares, of
   * all when it solves */
  double largest, square;
} part;

/* False when there is no finite result. */
typedef struct form {
  const char *name;
  size_t (*state)(const hvi_model *m);
  bool (*prepare)(part *p); /* NULL: nothing */
  bool (*solve)(part *p);
} form;

static void pull(part *p, const double *u, double *x) {
  p->model->ops->vjp(p->model, p->cache, p->theta, u, x);
  p->pulls++;
}

static double root_weight(const double *weights, size_t i) {
  return weights ? sqrt(weights[i]) : 1.0;
}

/*
 * Dense: J (n x d) by the model's own function or products with unit vectors, and decomposed. State:
 * {r[n] | scratch[d + n] | J | its factors}.
 */
static size_t dense_state(const hvi_model *m) {
  const size_t svd = hvi_dense_svd_work(m->out, m->dim);
  const size_t chol = hvi_dense_damped_work(m->out, m->dim);
  return m->dim + 2 * m->out + m->out * m->dim + (svd > chol ? svd : chol);
}

static double *dense_jacobian(const part *p) {
  return p->state + p->model->dim + 2 * p->model->out;
}

/* J and r, scaled by sqrt(Xi). */
static bool dense_prepare(part *p) {
  const hvi_model *m = p->model;
  const size_t n = m->out, d = m->dim;
  double *r = p->state, *J = dense_jacobian(p);
  if (!p->step->again) {
    hvi_model_jacobian(m, p->cache, p->theta, 0, J, r + n);
    for (size_t i = 0; p->weights && i < n; i++) hvi_vec_scale(J + i * d, sqrt(p->weights[i]), d);
    *(n <= d ? &p->pulls : &p->passes) += n <= d ? n : d;
  }
  for (size_t i = 0; i < n; i++) r[i] = p->residual[i] * root_weight(p->weights, i);
  if (p->step->lambda > 0.0) return true;
  p->largest = hvi_dense_svd_factor(J, n, d, J + n * d);
  p->square = p->largest * p->largest;
  return !isnan(p->largest);
}

static bool dense_solve(part *p) {
  const size_t n = p->model->out, d = p->model->dim;
  double *r = p->state, *J = dense_jacobian(p), *factors = J + n * d;
  if (p->step->lambda > 0.0)
    return hvi_dense_damped_solve(p->delta, J, r, p->step->lambda, n, d, factors);
  hvi_dense_svd_solve(p->delta, r, p->step->settings->rank_tol * p->largest, n, d, factors);
  return true;
}

/* Diagonal: one product J'1 gives all of J. Xi cancels in r / J but for its part in what counts as the
 * largest singular value. State: {1[n] | J[d]}. */
static bool diagonal_solve(const linear_step *step) {
  hvi_surrogate *l = step->l;
  const size_t n = l->model->out;
  const double lambda = step->lambda, *r = step->residual;
  double *ones = step->state, *J = ones + n, largest = 0.0;
  bool good = true;
  for (size_t i = 0; i < n; i++) ones[i] = 1.0;
  hvi_surrogate_pull(l, l->now, ones, J);
  for (size_t i = 0; i < n; i++) {
    const double size = fabs(J[i]) * root_weight(l->weights, i);
    largest = size > largest ? size : largest;
  }
  for (size_t i = 0; i < n; i++) {
    const double size = fabs(J[i]) * root_weight(l->weights, i);
    const double weighted = l->weights ? l->weights[i] * J[i] : J[i];
    if (lambda > 0.0)
      step->delta[i] = weighted * r[i] / (weighted * J[i] + lambda);
    else
      step->delta[i] = size > step->settings->rank_tol * largest ? r[i] / J[i] : 0.0;
    good &= (lambda > 0.0 ? fabs(step->delta[i]) : size) <= DBL_MAX;
  }
  return good;
}

/* Matrix-free: LSMR, damped by sqrt(lambda). Started at zero it tends to the minimum-norm solution,
 * so no cut-off is needed. State: {sqrt(Xi) r[n] | scratch[n] | LSMR's}. */
static size_t free_state(const hvi_model *m) { return hvi_lsmr_work(m->out, m->dim) + 2 * m->out; }

/* sqrt(Xi) J x and J' sqrt(Xi) y */
static void apply(void *context, const double *x, double *y) {
  part *p = context;
  p->model->ops->jvp(p->model, p->cache, p->theta, x, y);
  for (size_t i = 0; i < p->model->out; i++) y[i] *= root_weight(p->weights, i);
  p->passes++;
}

static void apply_t(void *context, const double *y, double *x) {
  part *p = context;
  double *scaled = p->state + p->model->out;
  for (size_t i = 0; i < p->model->out; i++) scaled[i] = root_weight(p->weights, i) * y[i];
  pull(p, scaled, x);
}

static bool free_solve(part *p) {
  const hvi_optimizer_settings *s = p->step->settings;
  const hvi_model *m = p->model;
  const size_t n = m->out, d = m->dim;
  double *r = p->state, *work = r + 2 * n;
  const hvi_linear_map J = {n, d, apply, apply_t, p};
  for (size_t i = 0; i < n; i++) r[i] = p->residual[i] * root_weight(p->weights, i);
  const size_t most = s->linear_iters ? s->linear_iters : 4 * (n + d);
  /* beyond the rounding of its products there is nothing to gain */
  const double tol = fmax(s->linear_tol, m->noise);
  hvi_lsmr_solve(p->delta, &J, r, sqrt(p->step->lambda), tol, most, work);
  return hvi_vec_finite(p->delta, d);
}

/*
 * Gram: G = J' Xi J = V S V' is formed and decomposed once, and a step is V (S + lambda)^+ V' J' Xi
 * r: one product J'u. The cut-off applies to sqrt(S), the singular values.
 *
 * State: {whose G, S[d], V[d][d], J'Xi r [d], V'J'Xi r [d], Xi r [n] | LAPACK's}.
 */
_Static_assert(sizeof(void *) <= sizeof(double), "a pointer fits into a double of state");

static size_t gram_state(const hvi_model *m) {
  const size_t d = m->dim;
  return 1 + 3 * d + d * d + m->out + hvi_dense_eigen_work(d);
}

static bool gram_prepare(part *p) {
  const hvi_model *m = p->model;
  const size_t d = m->dim;
  double *S = p->state + 1, *V = S + d, *work = V + d * d + 2 * d + m->out;
  if (memcmp(p->state, &m, sizeof m) != 0) {
    m->ops->gram(m, p->weights, V);
    if (!hvi_dense_eigen(S, V, d, work)) return false;
    memcpy(p->state, &m, sizeof m);
  }
  p->square = S[d - 1];
  p->largest = sqrt(fmax(S[d - 1], 0.0));
  return true;
}

static bool gram_solve(part *p) {
  const size_t d = p->model->dim, n = p->model->out;
  const double lambda = p->step->lambda, tol = p->step->settings->rank_tol;
  double *S = p->state + 1, *V = S + d, *g = V + d * d, *c = g + d, *u = c + d;
  for (size_t i = 0; i < n; i++)
    u[i] = p->weights ? p->weights[i] * p->residual[i] : p->residual[i];
  pull(p, u, g);
  /* row k of V is the eigenvector of S[k], largest last */
  hvi_dense_mul(c, V, g, d, d);
  const double least = tol * tol * p->square;
  for (size_t k = 0; k < d; k++) c[k] = lambda > 0.0 || S[k] > least ? c[k] / (S[k] + lambda) : 0.0;
  hvi_dense_mul_t(p->delta, V, c, d, d);
  return hvi_vec_finite(p->delta, d);
}

/*
 * Outer Gram: with K = J J' and S = sqrt(Xi),
 *
 *   (S K S + lambda I) w = S r,   delta = J' S w:
 *
 * a Cholesky factor of an n x n matrix and one product J'u. Without damping K may be singular, and
 * it is only known up to the model's rounding: a Gauss-Newton step is then the damped one with
 *
 *   lambda = max(rank_tol^2, noise) * largest eigenvalue of S K S, of all players,
 *
 * singular values of J below the root of that share of the largest being rounding. The factor takes
 * the lower triangle. Where dampings are tried one after another, the upper triangle and a diagonal
 * keep K for the next. State: {K[n][n], w[n], scratch[n], diagonal[n] | the model's}.
 */
enum { POWER_STEPS = 6, MOST_TRIES = 4, BLOCK = 16 };

static size_t outer_state(const hvi_model *m) {
  return m->out * m->out + 3 * m->out + m->outer_work;
}

/* Copies the strict lower triangle of K[n][n] to the upper, or back, in blocks. */
static void mirror(double *K, size_t n, bool back) {
  for (size_t top = 0; top < n; top += BLOCK)
    for (size_t left = 0; left <= top; left += BLOCK)
      for (size_t i = top; i < n && i < top + BLOCK; i++)
        for (size_t j = left; j < i && j < left + BLOCK; j++)
          *(back ? &K[i * n + j] : &K[j * n + i]) = back ? K[j * n + i] : K[i * n + j];
}

/* The lower triangle of K, scaled by S from both sides. */
static void form_outer(part *p) {
  const size_t n = p->model->out;
  double *K = p->state, *scratch = K + n * n + n, *diagonal = scratch + n;
  p->model->ops->outer_gram(p->model, p->cache, p->theta, K, diagonal + n);
  p->pulls++;
  for (size_t i = 0; p->weights && i < n; i++) scratch[i] = sqrt(p->weights[i]);
  for (size_t i = 0; p->weights && i < n; i++)
    for (size_t j = 0; j <= i; j++) K[i * n + j] *= scratch[i] * scratch[j];
  if (p->step->settings->adapt_damping) {
    mirror(K, n, false);
    for (size_t i = 0; i < n; i++) diagonal[i] = K[i * n + i];
  }
}

/* The largest eigenvalue, by the power method: a share of it is all that is needed. x, y: n each */
static double largest_eigenvalue(const double *K, double *x, double *y, size_t n) {
  double top = 0.0;
  for (size_t i = 0; i < n; i++) x[i] = 1.0;
  for (int power = 0; power < POWER_STEPS; power++) {
    const double norm = hvi_vec_norm(x, n);
    if (!(norm > 0.0)) return top;
    hvi_vec_scale(x, 1.0 / norm, n);
    for (size_t i = 0; i < n; i++) { /* y = K x by the lower triangle */
      y[i] = hvi_vec_dot(K + i * n, x, i + 1);
      hvi_vec_add(y, x[i], K + i * n, i);
    }
    top = hvi_vec_norm(y, n);
    hvi_vec_copy(x, y, n);
  }
  return top;
}

static bool outer_prepare(part *p) {
  const size_t n = p->model->out;
  double *K = p->state, *w = K + n * n, *diagonal = w + 2 * n;
  if (!p->step->again) {
    form_outer(p);
  } else {
    mirror(K, n, true);
    for (size_t i = 0; i < n; i++) K[i * n + i] = diagonal[i];
  }
  if (p->step->lambda > 0.0) return true;
  p->square = largest_eigenvalue(K, w, w + n, n);
  p->largest = sqrt(p->square);
  return p->square <= DBL_MAX;
}

static bool outer_solve(part *p) {
  const size_t n = p->model->out;
  const double tol = p->step->settings->rank_tol, noise = fmax(p->model->noise, DBL_EPSILON);
  const bool damped = p->step->lambda > 0.0;
  double *K = p->state, *w = K + n * n, share = fmax(tol * tol, noise);
  bool solved = false;
  if (!damped && !(p->square > 0.0)) return false;
  for (int tries = 0; !solved && tries < (damped ? 1 : MOST_TRIES); tries++, share *= 10.0) {
    if (tries > 0) form_outer(p);
    for (size_t i = 0; i < n; i++) {
      w[i] = p->residual[i] * root_weight(p->weights, i);
      K[i * n + i] += damped ? p->step->lambda : share * p->square;
    }
    solved = hvi_dense_cholesky_solve(w, K, n, w + n);
  }
  if (!solved) return false;
  for (size_t i = 0; i < n; i++) w[i] *= root_weight(p->weights, i);
  pull(p, w, p->delta);
  return hvi_vec_finite(p->delta, p->model->dim);
}

static const form dense = {"dense", dense_state, dense_prepare, dense_solve};
static const form matrix_free = {"matrix-free", free_state, NULL, free_solve};
static const form gram = {"gram", gram_state, gram_prepare, gram_solve};
static const form outer_gram = {"gram", outer_state, outer_prepare, outer_solve};

/* The automatic choice. Beyond these sizes it is not a Gram matrix, and beyond so many entries not
 * dense where a decomposition is needed, or where J'J is there instead. MOST_STATE doubles are the
 * most that any form may take, MOST_DENSE entries the most of a Jacobian that is not asked for. */
enum { DENSE_ENTRIES = 1 << 20, MOST_DENSE = 1 << 25, GRAM_LIMIT = 4096, OUTER_LIMIT = 8192 };
enum { MOST_STATE = 1 << 29, LSMR_STEPS = 500 };

/* Operations of a damped step: forming what is factored, the factor, and the products around it.
 * LSMR is taken to need as many steps as the smaller side is long, up to LSMR_STEPS. */
static double cost_of(const form *f, const hvi_optimizer_settings *s, const hvi_model *m) {
  const double n = (double)m->out, d = (double)m->dim, least = fmin(n, d);
  const double pass = m->flops > 0.0 ? m->flops : 2.0 * n * d;
  if (f == &outer_gram)
    return (m->outer_flops > 0.0 ? m->outer_flops : n * n * d) + n * n * n / 3.0 + pass;
  if (f == &dense)
    return (m->ops->jacobian ? 2.0 * n * d : least * pass) + n * d * least +
           least * least * least / 3.0;
  const double most = s->linear_iters ? (double)s->linear_iters : (double)LSMR_STEPS;
  return 2.0 * pass * fmin(least, most);
}

/* The Gram form of this player, or NULL. */
static const form *gram_of(const hvi_model *m) {
  return m->ops->outer_gram ? &outer_gram : m->ops->gram ? &gram : NULL;
}

/* A pseudo-inverse: J J' knows singular values to the root of the rounding, so it comes first where
 * J itself is known no better, and otherwise only where J is too large. */
static const form *undamped_form(const hvi_model *m) {
  const bool small = m->out <= DENSE_ENTRIES / m->dim;
  const bool wide = m->ops->outer_gram && m->out < m->dim && m->out <= OUTER_LIMIT;
  if (wide && (m->noise > 0.0 || !small)) return &outer_gram;
  if (small) return &dense;
  return m->ops->gram && m->dim <= GRAM_LIMIT ? &gram : &matrix_free;
}

static const form *damped_form(const hvi_optimizer_settings *s, const hvi_model *m) {
  const bool small = m->out <= DENSE_ENTRIES / m->dim;
  if (m->ops->gram || (small && !m->ops->outer_gram)) return undamped_form(m);
  const bool fits[] = {true, m->out <= MOST_DENSE / m->dim,
                       m->ops->outer_gram && m->out <= OUTER_LIMIT};
  const form *const all[] = {&matrix_free, &dense, &outer_gram}, *best = &matrix_free;
  for (size_t i = 1; i < 3; i++)
    if (fits[i] && cost_of(all[i], s, m) <= cost_of(best, s, m)) best = all[i];
  return best;
}

static const form *form_of(const hvi_optimizer_settings *s, const hvi_model *m, bool damped) {
  if (s->linear == HVI_SOLVE_MATRIX_FREE) return &matrix_free;
  if (s->linear == HVI_SOLVE_DENSE) return &dense;
  if (s->linear == HVI_SOLVE_GRAM && gram_of(m)) return gram_of(m);
  return damped ? damped_form(s, m) : undamped_form(m);
}

static const hvi_model *player_of(const hvi_model *m, size_t k) {
  return m->ops->player ? m->ops->player(m, k) : m;
}

static bool is_diagonal(const hvi_optimizer_settings *s, const hvi_model *m) {
  return s->linear != HVI_SOLVE_MATRIX_FREE && m->dim == m->block_count && m->out == m->block_count;
}

/* The largest matrix of a form, in doubles that do not overflow as sizes would. */
static double entries(const form *f, const hvi_model *m) {
  const double n = (double)m->out, d = (double)m->dim;
  return f == &outer_gram ? n * n : f == &gram ? d * d : f == &dense ? n * d : 0.0;
}

static hvi_status check_player(const hvi_optimizer_settings *s, const hvi_model *m, bool damped,
                               double *total, hvi_error *err) {
  if (s->linear == HVI_SOLVE_GRAM && !gram_of(m))
    return hvi_error_unsupported(
        err, "this model has no Gram matrix of its own: the linear solver must be "
             "dense or matrix-free");
  const form *f = form_of(s, m, damped);
  *total += entries(f, m);
  if (*total <= (double)MOST_STATE) *total += (double)f->state(m) - entries(f, m);
  if (*total <= (double)MOST_STATE) return HVI_OK;
  return hvi_error_unsupported(
      err,
      "the %s form of a step with %zu outputs and %zu parameters needs over 4 "
      "GiB: %s",
      f->name, m->out, m->dim,
      f == &matrix_free ? "it is too large" : "the linear solver must be matrix-free");
}

/* Damped and not, since an optimizer may take either. */
hvi_status hvi_least_squares_check(const hvi_optimizer_settings *s, const hvi_model *m,
                                   hvi_error *err) {
  if (is_diagonal(s, m) && s->linear != HVI_SOLVE_GRAM) return HVI_OK;
  for (int damped = 0; damped < 2; damped++) {
    double total = 0.0;
    for (size_t k = 0; k < m->block_count; k++)
      HVI_TRY(check_player(s, player_of(m, k), damped, &total, err));
  }
  return HVI_OK;
}

double hvi_least_squares_cost(const hvi_optimizer_settings *s, const hvi_model *m,
                              const char **name) {
  double total = 0.0, most = -1.0;
  *name = "diagonal";
  for (size_t k = 0; !is_diagonal(s, m) && k < m->block_count; k++) {
    const hvi_model *player = player_of(m, k);
    const form *f = form_of(s, player, true);
    const double cost = cost_of(f, s, player);
    total += cost;
    if (cost > most) most = cost, *name = f == &outer_gram ? "J J'" : f == &gram ? "J'J" : f->name;
  }
  return total;
}

size_t hvi_least_squares_state(const hvi_optimizer_settings *s, const hvi_model *m) {
  if (is_diagonal(s, m)) return m->out + m->dim;
  size_t total[2] = {0, 0};
  for (size_t k = 0; k < 2 * m->block_count; k++) {
    const hvi_model *one = player_of(m, k / 2);
    total[k % 2] += form_of(s, one, k % 2)->state(one);
  }
  return total[0] > total[1] ? total[0] : total[1];
}

static part part_of(const linear_step *step, size_t k, double *state) {
  const hvi_surrogate *l = step->l;
  const hvi_block *b = &l->model->blocks[k];
  return (part){.step = step,
                .model = player_of(l->model, k),
                .cache = l->now->cache + b->cache,
                .theta = l->now->theta + b->theta,
                .weights = l->weights ? l->weights + b->z : NULL,
                .residual = step->residual + b->z,
                .state = state,
                .delta = step->delta + b->theta};
}

static void grow(size_t *most, size_t n) { *most = n > *most ? n : *most; }

/* Both phases, over all players; with damping there is nothing to wait for. Players share a pass: the
 * whole costs as many products as the one that takes most. */
static bool solve_players(const linear_step *step) {
  hvi_surrogate *l = step->l;
  const bool damped = step->lambda > 0.0;
  double largest = 0.0, square = 0.0;
  bool good = true;
  for (int phase = 0; phase < (damped ? 1 : 2); phase++) {
    double *state = step->state;
    size_t pulls = 0, passes = 0;
    for (size_t k = 0; k < l->model->block_count && good; k++) {
      part p = part_of(step, k, state);
      const form *f = form_of(step->settings, p.model, damped);
      p.largest = largest;
      p.square = square;
      good =
          (phase > 0 || !f->prepare || f->prepare(&p)) && ((phase == 0 && !damped) || f->solve(&p));
      largest = p.largest > largest ? p.largest : largest;
      square = p.square > square ? p.square : square;
      grow(&pulls, p.pulls);
      grow(&passes, p.passes);
      state += f->state(p.model);
    }
    l->counts->grad_evals += pulls;
    l->counts->model_passes += passes;
  }
  return good;
}

bool hvi_least_squares_solve(double *delta, const hvi_optimizer_settings *s, double lambda,
                             bool again, double *state, hvi_surrogate *l, const double *residual) {
  const linear_step step = {s, l, residual, lambda, again, state, delta};
  return is_diagonal(s, l->model) ? diagonal_solve(&step) : solve_players(&step);
}
