/*
 * Policy evaluation along one trajectory s_1, s_2, ...: after t transitions
 *
 *   D_hat = 1/t sum phi(s_i) phi(s_i)'                       = Phi' Xi_hat Phi
 *   C_hat = 1/t sum phi(s_i) (phi(s_i) - gamma phi(s_i+1))'  = Phi' Xi_hat (Phi - gamma P_bar Phi)
 *   r_hat = 1/t sum phi(s_i) r(s_i)                          = Phi' Xi_hat r
 *
 * with the empirical law Xi_hat and the empirical chain P_bar. The surrogate of the empirical
 * chain, 1/2 |Phi theta - T_hat(Phi theta_t)|^2 in the norm of Xi_hat, has the gradient
 *
 *   C_hat theta_t - r_hat + D_hat (theta - theta_t)
 *
 * and never needs the n states. Here it is a surrogate of d outputs: with
 * R'R = s (D_hat + ridge I),
 *
 *   z = R theta,   R'F = s (C_hat theta - r_hat),   1/2 |R theta - (R theta_t - F)|^2
 *
 * has s times that gradient, and its minimiser is the LSPE step
 * theta_t - (D_hat + ridge I)^-1 (C_hat theta_t - r_hat) for any s > 0. So gn with one inner step
 * is LSPE, and gd with inner step size 1 descends by s: 1, 1 / trace or 1 / lambda_max of D_hat +
 * ridge I. Before `wait` transitions F is zero and nothing moves.
 *
 * The mean over samples is the stationary law's own D, C and r. With s = 1 and no ridge its |F|^2
 * is the mean-square projected Bellman error.
 *
 * Successors are drawn by the alias method (trajectory.h), whose tables are Vose's construction:
 * heights p_j m are sorted into those below 1 and those above. A short one is
 * filled up to 1 by a tall one, which shrinks by as much and is sorted again. Each column is closed
 * once, so a row of m entries takes O(m).
 */
#include "problems/mdp/trajectory.h"

#include "base/base.h"
#include "num/dense.h"
#include "problems/mdp/mdp.h"

/* A pivot below this share of its diagonal entry is rounding: the features seen so far are
 * dependent, and its row of R is zero. */
static const double least_pivot = 1e-14;

/* Three matrices of this size are 2.4 GB. */
enum { MOST_FEATURES = 10000 };

/* Zeros are bound to the mean. */
static const double *bound_factor(const hvi_model *m, const double *cache) {
  const hvi_trajectory *t = hvi_single_of(m);
  const void *sample = hvi_single_sample(cache);
  return hvi_sample_R(sample ? (hvi_trajectory_sample *)sample : t->mean, t->d);
}

/* out = R v */
static void model_jvp(const hvi_model *m, double *cache, const double *theta, const double *v,
                      double *out) {
  (void)theta;
  const double *R = bound_factor(m, cache);
  for (size_t i = 0; i < m->dim; i++) out[i] = hvi_vec_dot(R + i * m->dim + i, v + i, m->dim - i);
}

static void model_eval(const hvi_model *m, double *cache, const double *theta, double *z) {
  model_jvp(m, cache, theta, theta, z);
}

/* out = R' u */
static void model_vjp(const hvi_model *m, double *cache, const double *theta, const double *u,
                      double *out) {
  (void)theta;
  const double *R = bound_factor(m, cache);
  hvi_vec_zero(out, m->dim);
  for (size_t i = 0; i < m->dim; i++) hvi_vec_add(out + i, u[i], R + i * m->dim + i, m->dim - i);
}

static const hvi_model_ops model_ops = {.name = "linear values along a trajectory",
                                        .eval = model_eval,
                                        .vjp = model_vjp,
                                        .jvp = model_jvp,
                                        .bind = hvi_single_bind};

static const hvi_trajectory *trajectory(const hvi_problem *p) { return (const hvi_trajectory *)p; }

/* x <- R^-T x; x is in the range of R', so a zero row leaves nothing to solve for. */
static void solve_transposed(const double *R, double *x, size_t d) {
  for (size_t i = 0; i < d; i++) {
    x[i] = R[i * d + i] > 0.0 ? x[i] / R[i * d + i] : 0.0;
    hvi_vec_add(x + i + 1, -x[i], R + i * d + i + 1, d - i - 1);
  }
}

static void operate(const hvi_problem *p, const void *sample, const double *theta, const double *z,
                    double *f) {
  (void)z;
  const hvi_trajectory *t = trajectory(p);
  hvi_trajectory_sample *s = sample ? (hvi_trajectory_sample *)sample : t->mean;
  const double *C = hvi_sample_C(s, t->d), *r = hvi_sample_r(s, t->d);
  if (s->count < t->settings.wait) {
    hvi_vec_zero(f, t->d);
    return;
  }
  for (size_t i = 0; i < t->d; i++)
    f[i] = s->scale * (hvi_vec_dot(C + i * t->d, theta, t->d) - r[i]);
  solve_transposed(hvi_sample_R(s, t->d), f, t->d);
}

/* Rows of R from the top: R_ii R_i. = A_i. - sum over k < i of R_ki R_k. */
static void factor(const hvi_trajectory *t, hvi_trajectory_sample *s) {
  const size_t d = t->d;
  const double *D = hvi_sample_D(s);
  double *R = hvi_sample_R(s, d);
  for (size_t i = 0; i < d; i++) {
    double *row = R + i * d;
    for (size_t j = i; j < d; j++) row[j] = s->scale * D[i * d + j];
    row[i] += s->scale * t->settings.ridge;
    const double whole = row[i];
    for (size_t k = 0; k < i; k++) hvi_vec_add(row + i, -R[k * d + i], R + k * d + i, d - i);
    const double pivot = row[i] > least_pivot * whole ? 1.0 / sqrt(row[i]) : 0.0;
    hvi_vec_scale(row + i, pivot, d - i);
  }
}

/* s, and R by it. The eigenvalues' workspace is behind R: {w[d], V[d][d] | work}. */
static void digest(const hvi_trajectory *t, hvi_trajectory_sample *s) {
  const size_t d = t->d;
  const double *D = hvi_sample_D(s);
  double size = 0.0, *w = hvi_sample_R(s, d) + d * d, *V = w + d;
  if (t->settings.scale == HVI_TRAJECTORY_SCALE_NONE) size = 1.0;
  if (t->settings.scale == HVI_TRAJECTORY_SCALE_TRACE)
    for (size_t i = 0; i < d; i++) size += D[i * d + i] + t->settings.ridge;
  if (t->settings.scale == HVI_TRAJECTORY_SCALE_LAMBDA) {
    hvi_vec_copy(V, D, d * d);
    size = (hvi_dense_eigen(w, V, d, V + d * d) ? w[d - 1] : NAN) + t->settings.ridge;
  }
  /* infinite: every feature has been zero so far */
  s->scale = isfinite(1.0 / size) ? 1.0 / size : 1.0;
  factor(t, s);
}

/* The means over all transitions so far, x the last. */
static void absorb(hvi_trajectory_sample *s, const hvi_transition *x) {
  const double share = 1.0 / (double)s->count;
  double *D = hvi_sample_D(s), *C = hvi_sample_C(s, x->d), *r = hvi_sample_r(s, x->d);
  for (size_t i = 0; i < x->d; i++) {
    const double a = x->now[i];
    for (size_t j = 0; j < x->d; j++) {
      double *to_D = D + i * x->d + j, *to_C = C + i * x->d + j;
      *to_D += share * (a * x->now[j] - *to_D);
      *to_C += share * (a * (x->now[j] - x->gamma * x->next[j]) - *to_C);
    }
    r[i] += share * (a * x->reward - r[i]);
  }
}

/* One number a transition, and one before for the first state, which is uniform. */
static void draw(const hvi_problem *p, const double *theta, void *sample, hvi_rng *rng) {
  (void)theta;
  const hvi_trajectory *t = trajectory(p);
  hvi_trajectory_sample *s = sample;
  if (s->count++ == 0) s->to = (size_t)(hvi_rng_uniform(rng) * (double)t->states);
  s->from = s->to;
  s->to = hvi_alias_next(&t->alias, s->from, hvi_rng_uniform(rng));
  const hvi_transition x = hvi_trajectory_transition(t, s);
  absorb(s, &x);
  digest(t, s);
}

/* F(z) = s R^-T C R^-1 z - s R^-T r */
static void affine(const hvi_problem *p, double *A, double *b) {
  const hvi_trajectory *t = trajectory(p);
  const size_t d = t->d;
  const double *R = hvi_sample_R(t->mean, d), *C = hvi_sample_C(t->mean, d);
  for (size_t i = 0; i < d; i++) {
    double *x = A + i * d;
    for (size_t j = 0; j < d; j++) x[j] = t->mean->scale * C[i * d + j];
    solve_transposed(R, x, d);
    b[i] = -t->mean->scale * hvi_sample_r(t->mean, d)[i];
  }
  solve_transposed(R, b, d);
  for (size_t i = 0; i < d; i++) {
    for (size_t k = 0; k < i; k++) hvi_vec_add(A + i * d, -R[k * d + i], A + k * d, d);
    hvi_vec_scale(A + i * d, 1.0 / R[i * d + i], d);
  }
}

/* |Phi (theta - theta*)|^2_Xi */
static double dist2(const hvi_problem *p, const double *theta) {
  const hvi_trajectory *t = trajectory(p);
  const double *D = hvi_sample_D(t->mean), *goal = t->fixed_point;
  double sum = 0.0;
  for (size_t i = 0; i < t->d; i++) {
    double row = 0.0;
    for (size_t j = 0; j < t->d; j++) row += D[i * t->d + j] * (theta[j] - goal[j]);
    sum += (theta[i] - goal[i]) * row;
  }
  return fmax(sum, 0.0);
}

static void problem_free(hvi_problem *p) {
  hvi_alias_free(&((hvi_trajectory *)p)->alias);
  hvi_mdp_free(((hvi_trajectory *)p)->mdp);
  hvi_single_free(p);
}

static const hvi_problem_ops problem_ops = {.name = "policy evaluation along a trajectory",
                                            .operate = operate,
                                            .draw = draw,
                                            .affine = affine,
                                            .dist2 = dist2,
                                            .rules = hvi_trajectory_rule_list,
                                            .free = problem_free};

const hvi_trajectory *hvi_trajectory_of(const hvi_problem *p) {
  return p && p->ops == &problem_ops ? trajectory(p) : NULL;
}

hvi_trajectory_settings hvi_trajectory_defaults(const hvi_mdp *mdp) {
  return (hvi_trajectory_settings){
      .ridge = 1e-6, .wait = 2 * hvi_mdp_features(mdp), .scale = HVI_TRAJECTORY_SCALE_TRACE};
}

static hvi_status check(const hvi_mdp *mdp, const hvi_trajectory_settings *s, hvi_error *err) {
  if (!mdp || !s) return hvi_error_argument(err, "a trajectory needs a process and settings");
  if (!(s->ridge >= 0.0 && isfinite(s->ridge)))
    return hvi_error_input(err, "ridge = %g: it must not be negative", s->ridge);
  if ((unsigned)s->scale > HVI_TRAJECTORY_SCALE_LAMBDA)
    return hvi_error_argument(err, "scale %d: there is no such kind", (int)s->scale);
  if (mdp->d <= MOST_FEATURES) return HVI_OK;
  return hvi_error_unsupported(
      err,
      "a trajectory keeps matrices of d x d for d features, at most %d, and this "
      "process has %zu; give it features",
      (int)MOST_FEATURES, mdp->d);
}

/* D, C and r of the stationary law; tabular: Xi, Xi (I - gamma P), Xi r. */
static void find_means(hvi_trajectory *t) {
  const hvi_mdp *m = t->mdp;
  const size_t d = t->d;
  double *D = hvi_sample_D(t->mean), *C = hvi_sample_C(t->mean, d), *r = hvi_sample_r(t->mean, d);
  t->mean->count = SIZE_MAX;
  if (t->phi) {
    hvi_vec_copy(D, m->gram, d * d);
    hvi_vec_copy(C, m->C, d * d);
    hvi_vec_copy(r, m->b, d);
  }
  for (size_t s = 0; !t->phi && s < d; s++) {
    const hvi_mdp_row row = hvi_mdp_row_of(m, s);
    for (size_t k = 0; k < row.count; k++)
      C[s * d + hvi_mdp_column(&row, k)] -= m->gamma * (m->law[s] * row.value[k]);
    C[s * d + s] += m->law[s];
    D[s * d + s] = m->law[s];
    r[s] = m->law[s] * m->reward[s];
  }
  digest(t, t->mean);
}

/* A row under construction; its memory is shared by all rows. */
typedef struct row {
  size_t count;      /* m */
  double *height;    /* [m] */
  uint32_t *waiting; /* [m] short ones from the front, tall ones from the back */
} row;

/* Fills own and height with what is positive in row i. */
static void read_row(row *r, hvi_alias_column *columns, const hvi_mdp *m, size_t i) {
  const hvi_mdp_row P = hvi_mdp_row_of(m, i);
  double sum = 0.0;
  r->count = 0;
  for (size_t k = 0; k < P.count; k++) {
    if (!(P.value[k] > 0.0)) continue;
    columns[r->count].own = (uint32_t)hvi_mdp_column(&P, k);
    r->height[r->count++] = P.value[k];
    sum += P.value[k];
  }
  for (size_t k = 0; k < r->count; k++) r->height[k] *= (double)r->count / sum;
}

static void close_row(row *r, hvi_alias_column *columns) {
  size_t low = 0, high = r->count; /* waiting[0 .. low) is short, waiting[high .. m) tall */
  for (size_t k = 0; k < r->count; k++) {
    columns[k].keep = 1.0;
    columns[k].instead = columns[k].own;
    if (r->height[k] < 1.0)
      r->waiting[low++] = (uint32_t)k;
    else
      r->waiting[--high] = (uint32_t)k;
  }
  while (low > 0 && high < r->count) {
    const uint32_t small = r->waiting[--low], tall = r->waiting[high];
    columns[small].keep = r->height[small];
    columns[small].instead = columns[tall].own;
    r->height[tall] -= 1.0 - r->height[small];
    if (r->height[tall] >= 1.0) continue;
    high++;
    r->waiting[low++] = tall;
  }
  /* what waits now differs from 1 by rounding only, and keeps its own column */
}

static hvi_status fill_alias(hvi_alias *a, const hvi_mdp *m, hvi_error *err) {
  size_t widest = 0;
  if (!a->start) return hvi_error_memory(err, "the tables of a trajectory");
  for (size_t i = 0; i < m->n; i++) {
    const hvi_mdp_row P = hvi_mdp_row_of(m, i);
    size_t count = 0;
    for (size_t k = 0; k < P.count; k++) count += P.value[k] > 0.0;
    if (count == 0) return hvi_error_input(err, "row %zu of P has no successor", i + 1);
    a->start[i + 1] = a->start[i] + count;
    widest = count > widest ? count : widest;
  }
  HVI_NEW(double, height, widest, "the tables of a trajectory", err);
  HVI_NEW(uint32_t, waiting, widest, "the tables of a trajectory", err);
  HVI_TRY(hvi_new(&a->columns, a->start[m->n], "the tables of a trajectory", err));
  row r = {.height = height, .waiting = waiting};
  for (size_t i = 0; i < m->n; i++) {
    hvi_alias_column *columns = a->columns + a->start[i];
    read_row(&r, columns, m, i);
    close_row(&r, columns);
  }
  return HVI_OK;
}

hvi_status hvi_alias_new(hvi_alias *a, const hvi_mdp *m, hvi_error *err) {
  *a = (hvi_alias){.states = m->n, .start = hvi_alloc(m->n + 1, sizeof *a->start)};
  const hvi_status status = fill_alias(a, m, err);
  if (status) hvi_alias_free(a);
  return status;
}

void hvi_alias_free(hvi_alias *a) {
  hvi_free(a->start);
  hvi_free(a->columns);
  *a = (hvi_alias){0};
}

static hvi_status fill(hvi_trajectory *t, hvi_error *err) {
  const hvi_mdp *m = t->mdp;
  const size_t d = m->d, eigen = d + d * d + hvi_dense_eigen_work(d);
  const bool lambda = t->settings.scale == HVI_TRAJECTORY_SCALE_LAMBDA;
  hvi_single_init(&t->one, &problem_ops, &model_ops, d, d, 1);
  t->states = m->n;
  t->d = d;
  t->gamma = m->gamma;
  t->phi = m->phi;
  t->reward = m->reward;
  t->fixed_point = m->fixed_point;
  t->one.base.theta0 = m->theta0;
  t->one.base.sample_bytes =
      sizeof *t->mean + (3 * d * d + d + (lambda ? eigen : 0)) * sizeof(double);
  t->one.base.draw_steps = 1;
  t->one.owned[0] = t->mean = hvi_alloc(1, t->one.base.sample_bytes);
  t->one.owned[1] = t->unit = hvi_alloc_doubles(t->phi ? 0 : 2 * t->states - 1);
  if (!t->mean || !t->unit) return hvi_error_memory(err, "the means of a trajectory");
  if (!t->phi) t->unit[t->states - 1] = 1.0;
  HVI_TRY(hvi_alias_new(&t->alias, m, err));
  find_means(t);
  return HVI_OK;
}

hvi_status hvi_trajectory_problem_new(hvi_problem **p, hvi_mdp *mdp,
                                      const hvi_trajectory_settings *s, hvi_error *err) {
  HVI_OWN_BY(hvi_mdp_release) hvi_mdp *own = mdp;
  *p = NULL;
  HVI_TRY(check(mdp, s, err));
  hvi_trajectory *t = hvi_alloc(1, sizeof *t);
  if (!t) return hvi_error_memory(err, "a trajectory");
  t->mdp = mdp;
  t->settings = *s;
  own = NULL;
  return hvi_problem_settle(p, &t->one.base, fill(t, err));
}
