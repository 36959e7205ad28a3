/*
 * Learners along a trajectory, for comparison with the surrogate, on the last transition
 * (phi, r, phi'). With h the step size, h_2 = second_rate h and
 * delta = r + gamma <phi', theta> - <phi, theta>,
 *
 *   td0                theta += h delta phi
 *   residual gradient  theta += h delta (phi - gamma phi')
 *   tdc                theta += h (delta phi - gamma phi' <phi, w>),
 *                      w += h_2 (delta - <phi, w>) phi
 *   gtd2               theta += h (phi - gamma phi') <phi, w>, w likewise
 *   td-lambda          e <- gamma lambda e + phi,  theta += h delta e
 *   lstd               theta <- (C_hat + ridge I)^-1 r_hat
 *
 * All but the residual gradient tend to C theta = r. It descends E delta^2, where
 * both factors share one successor: its limit (section "Residual gradient" of docs/linear.md)
 * solves
 *
 *   ((1 + gamma^2) D - gamma (G + G')) theta = Phi' (I - gamma P') Xi r,    G = Phi' Xi P Phi,
 *
 * which is neither the projected fixed point nor the minimiser of the Bellman error.
 *
 * The reward of a transition is the expected reward r(s) of the state it leaves.
 */
#include "base/base.h"
#include "problems/mdp/trajectory.h"

#include "num/dense.h"

static size_t no_state(const hvi_problem *p) {
  (void)p;
  return 0;
}

static size_t vector_state(const hvi_problem *p) { return p->model->dim; }

static double td_error(const hvi_transition *x, const double *theta) {
  const double now = hvi_vec_dot(x->now, theta, x->d), next = hvi_vec_dot(x->next, theta, x->d);
  return x->reward + x->gamma * next - now;
}

/* out += a (phi - gamma phi') */
static void add_slope(double *out, double a, const hvi_transition *x) {
  for (size_t i = 0; i < x->d; i++) out[i] += a * (x->now[i] - x->gamma * x->next[i]);
}

/* w += h_2 (delta - <phi, w>) phi, with <phi, w> given as `guess` */
static void second_step(const hvi_transition *x, double h2, double delta, double guess, double *w) {
  hvi_vec_add(w, h2 * (delta - guess), x->now, x->d);
}

static void tdc_step(const hvi_transition *x, double h, double h2, double *w, double *theta) {
  const double delta = td_error(x, theta), guess = hvi_vec_dot(x->now, w, x->d);
  const double a = x->gamma * guess;
  for (size_t i = 0; i < x->d; i++) theta[i] += h * (delta * x->now[i] - a * x->next[i]);
  second_step(x, h2, delta, guess, w);
}

static void gtd2_step(const hvi_transition *x, double h, double h2, double *w, double *theta) {
  const double delta = td_error(x, theta), guess = hvi_vec_dot(x->now, w, x->d);
  add_slope(theta, h * guess, x);
  second_step(x, h2, delta, guess, w);
}

static void lambda_step(const hvi_transition *x, double h, double decay, double *traces,
                        double *theta) {
  const double delta = td_error(x, theta);
  for (size_t i = 0; i < x->d; i++) traces[i] = x->gamma * decay * traces[i] + x->now[i];
  hvi_vec_add(theta, h * delta, traces, x->d);
}

/* A rule that is a step on the last transition, x, with h = eta. */
#define RULE(name, call)                                                                           \
  static void name(const hvi_rule_settings *s, const hvi_problem *p, const void *sample,           \
                   double eta, double *state, double *theta) {                                     \
    (void)s, (void)state;                                                                          \
    const hvi_transition x = hvi_trajectory_transition((const hvi_trajectory *)p, sample);         \
    call;                                                                                          \
  }
RULE(td0, hvi_vec_add(theta, td_error(&x, theta) * eta, x.now, x.d))
RULE(residual_gradient, add_slope(theta, td_error(&x, theta) * eta, &x))
RULE(tdc, tdc_step(&x, eta, eta * s->second_rate, state, theta))
RULE(gtd2, gtd2_step(&x, eta, eta * s->second_rate, state, theta))
RULE(td_lambda, lambda_step(&x, eta, s->trace_decay, state, theta))

static size_t lstd_state(const hvi_problem *p) {
  const size_t d = p->model->dim;
  return d * d + 7 * d; /* A, b, workspace */
}

static void lstd(const hvi_rule_settings *s, const hvi_problem *p, const void *sample, double eta,
                 double *state, double *theta) {
  (void)s, (void)eta;
  const hvi_trajectory *t = (const hvi_trajectory *)p;
  hvi_trajectory_sample *seen = (hvi_trajectory_sample *)sample;
  const size_t d = t->d;
  double *A = state, *b = state + d * d;
  if (seen->count < t->settings.wait) return;
  hvi_vec_copy(A, hvi_sample_C(seen, d), d * d);
  hvi_vec_copy(b, hvi_sample_r(seen, d), d);
  for (size_t i = 0; i < d; i++) A[i * d + i] += t->settings.ridge;
  if (hvi_dense_solve_in(b, A, d, b + d) && hvi_vec_finite(b, d)) hvi_vec_copy(theta, b, d);
}

HVI_ROWS(static const hvi_rule rules[],
    {"td0", "temporal differences: theta += h delta phi", NULL, 0, 1, no_state, td0, NULL},
    {"td-lambda", "temporal differences with accumulating traces (--trace-decay)", NULL, 0, 1, vector_state, td_lambda, NULL},
    {"lstd", "least-squares temporal differences: solves with the running means", NULL, 0, 0, lstd_state, lstd, NULL},
    {"tdc", "temporal differences with gradient correction (--second-rate)", NULL, 0, 1, vector_state, tdc, NULL},
    {"gtd2", "gradient temporal differences, second version (--second-rate)", NULL, 0, 1, vector_state, gtd2, NULL},
    {"residual-gradient", "descends the squared Bellman error of single transitions; another limit", NULL, 0, 1, no_state, residual_gradient, NULL});

const hvi_rule *const hvi_trajectory_rule_list[] = {&rules[0], &rules[1], &rules[2], &rules[3],
                                                    &rules[4], &rules[5], NULL};

const hvi_rule *const *hvi_trajectory_rules(void) { return hvi_trajectory_rule_list; }
