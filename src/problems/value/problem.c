/*
 * The projected Bellman error of a network on batches of transitions,
 *
 *   z_i = V_theta(s_i),   F(z)_i = 1/N (z_i - y_i),   y_i = r_i + gamma f_i V_theta(s'_i),
 *
 * or the return that followed. Xi = 1/N, so eta = 1 makes y the target. With lambda > 0
 *
 *   y_i = r_i + gamma f_i ((1 - lambda) V(s'_i) + lambda y_{i+1})
 *
 * where row i + 1 of the draw is the step after row i, and y_i = r_i + gamma f_i V(s'_i) elsewhere.
 * With the TD errors delta_k = y_k - z_k of lambda = 0 it is, along the rows that follow row i,
 *
 *   -N F_i = delta_i + gamma lambda delta_{i+1} + (gamma lambda)^2 delta_{i+2} + ...
 *
 * The level of all values is tested with sum_k w_k delta_k, w_k = 1 + gamma w_{k-1} along an
 * episode (docs/acceleration.md). By the formula above that is -N sum_i t_i F_i for
 *
 *   t_i = w_i - gamma lambda w_{i-1} = 1 + (1 - lambda) (w_i - 1),
 *
 * or w_i where a sequence begins.
 *
 * With a buffer there are 2 N outputs. The first N, on the fresh batch, have F and no weight, the
 * last N, on a batch of the buffer, have weight 1/N and no F: the surrogate is then
 *
 *   sum over the fresh batch of F_i (z_i - z_i(theta_t)) + 1/2N sum over the other (z -
 * z(theta_t))^2.
 */
#include "base/base.h"
#include "model/mlp.h"
#include "num/vec.h"
#include "problems/value/value.h"

static double future(const hvi_value *v, size_t row) {
  return v->returns || v->spec.data->terminated[row] ? 0.0 : 1.0;
}

bool hvi_value_follows(const hvi_value *v, size_t row) {
  const hvi_dataset *d = v->spec.data;
  if (row == 0) return false;
  return v->ordered ? !d->terminated[row - 1] && !d->truncated[row - 1]
                    : hvi_dataset_continues(d, row - 1);
}

/* lambda of a draw */
static double lambda_of(const hvi_value *v, const hvi_value_sample *s) {
  const double lambda = v->spec.lambda, t = (double)(v->spec.first + s->draws - 1);
  return lambda > 0.0 ? lambda / (1.0 + (1.0 - lambda) * v->spec.lambda_decay * t) : 0.0;
}

/* Whether the successor of row i of a draw is the state of row i + 1. */
static bool goes_on(const hvi_value *v, const hvi_value_sample *s, size_t i) {
  return i + 1 < v->spec.batch && s->row[i + 1] == s->row[i] + 1 &&
         hvi_value_follows(v, s->row[i + 1]);
}

/* Whether targets look from row i of a draw to row i + 1. */
static bool looks_on(const hvi_value *v, const hvi_value_sample *s, size_t i) {
  return v->spec.lambda > 0.0 && i + 1 < v->spec.batch - v->spec.replay && goes_on(v, s, i);
}

/* V(s') of a draw: of most rows it is z of the next one. Those of the others are packed, and taken
 * apart from the end. */
static void find_successors(const hvi_value *v, const hvi_value_sample *s, const double *theta,
                            const double *z, double *y) {
  const hvi_device_rows whose = v->spec.draw == HVI_VALUE_ALL ? HVI_DEVICE_ENDS : HVI_DEVICE_OWN;
  size_t ends = 0;
  for (size_t i = 0; i < v->spec.batch; i++)
    if (!goes_on(v, s, i)) s->end[ends++] = s->row[i];
  hvi_value_forward(v, s->scratch, theta,
                    &(hvi_value_states){v->spec.data->next, s->end, ends, whose}, y);
  for (size_t i = v->spec.batch; i-- > 0;) y[i] = goes_on(v, s, i) ? z[i + 1] : y[--ends];
}

/* Targets from the values of the successors, in place. */
static void look_ahead(const hvi_value *v, const hvi_value_sample *s, double *y) {
  const hvi_dataset *data = v->spec.data;
  const double gamma = v->spec.gamma, lambda = lambda_of(v, s);
  for (size_t i = v->spec.batch; i-- > 0;) {
    const size_t row = s->row[i];
    const double next = looks_on(v, s, i) ? (1.0 - lambda) * y[i] + lambda * y[i + 1] : y[i];
    y[i] = (double)data->reward[row] + gamma * future(v, row) * next;
  }
}

static void operate(const hvi_problem *p, const void *sample, const double *theta, const double *z,
                    double *f) {
  const hvi_value *v = (const hvi_value *)p;
  const hvi_value_sample *s = sample;
  const size_t n = v->spec.batch;
  const double share = 1.0 / (double)n;
  if (!s) { /* the mean is not known */
    for (size_t i = 0; i < v->rows; i++) f[i] = NAN;
    return;
  }
  if (v->returns) {
    for (size_t i = 0; i < n; i++) f[i] = v->returns[s->row[i]];
  } else {
    find_successors(v, s, theta, z, f);
    look_ahead(v, s, f);
  }
  for (size_t i = 0; i < n; i++) f[i] = share * (z[i] - f[i]);
  hvi_vec_zero(f + n, v->rows - n);
}

/* w of a row, by that of the row before */
static double trace_of(const hvi_value *v, size_t row, size_t before, double trace) {
  if (row == before + 1) return hvi_value_follows(v, row) ? 1.0 + v->spec.gamma * trace : 1.0;
  double power = 1.0;
  trace = 1.0;
  for (; power > 1e-4 && hvi_value_follows(v, row); row--) trace += power *= v->spec.gamma;
  return trace;
}

/* t of all rows of a draw; 1, the mode itself, where there is but one draw. */
static void find_tests(const hvi_value *v, const hvi_value_sample *s, double *test) {
  const double lambda = lambda_of(v, s);
  double trace = 0.0;
  for (size_t i = 0; i < v->spec.batch; i++) {
    trace = trace_of(v, s->row[i], i > 0 ? s->row[i - 1] : SIZE_MAX - 1, trace);
    const bool inside = i > 0 && looks_on(v, s, i - 1);
    const double of_sample = inside ? 1.0 + (1.0 - lambda) * (trace - 1.0) : trace;
    test[i] = v->returns || v->one.base.one_sample ? 1.0 : of_sample;
  }
}

static void slow_mode(const hvi_problem *p, const void *sample, double *u, double *df,
                      double *test) {
  const hvi_value *v = (const hvi_value *)p;
  const hvi_value_sample *s = sample;
  const size_t n = v->spec.batch;
  const double gamma = v->spec.gamma, lambda = lambda_of(v, s);
  double target = 1.0; /* that of a row, by a constant of 1 */
  for (size_t i = n; i-- > 0;) {
    const double next = looks_on(v, s, i) ? 1.0 - lambda + lambda * target : 1.0;
    target = gamma * future(v, s->row[i]) * next;
    df[i] = (1.0 - target) / (double)n;
  }
  find_tests(v, s, test);
  for (size_t i = 0; i < v->rows; i++) u[i] = 1.0;
  hvi_vec_zero(df + n, v->rows - n);
  hvi_vec_zero(test + n, v->rows - n);
}

/* The last parameter is the bias of the output. */
static void lift(const hvi_problem *p, double *theta, double c) {
  const hvi_value *v = (const hvi_value *)p;
  theta[p->model->dim - 1] += c / v->spec.scale;
}

/* As for a chain: |P z| <= |z| under the stationary law. A bound for every lambda. */
static void sensitivity(const hvi_problem *p, double *beta, double *mu) {
  const hvi_value *v = (const hvi_value *)p;
  *beta = v->returns ? 0.0 : v->spec.gamma;
  *mu = 1.0;
}

static hvi_status constants(const hvi_problem *p, hvi_constants *c, hvi_error *err) {
  (void)err;
  const hvi_value *v = (const hvi_value *)p;
  const double gamma = v->returns ? 0.0 : v->spec.gamma;
  *c = (hvi_constants){.mu = 1.0 - gamma, .lipschitz = 1.0 + gamma, .exact = v->returns != NULL};
  return HVI_OK;
}

const hvi_value *hvi_value_of(const hvi_problem *p) {
  return p && p->ops->operate == operate ? (const hvi_value *)p : NULL;
}

#define AT(member) .offset = offsetof(hvi_value_spec, member)
HVI_ROWS(static const hvi_setting settings[],
    {"gamma", HVI_SETTING_REAL, AT(gamma), .range = "[0,1)", .fallback = "0.99", .help = "discount"},
    {"batch", HVI_SETTING_COUNT, AT(batch), .range = "[0,1e8]", .fallback = "1000",
     .help = "transitions of an outer step; of --data at random (0, or more than there are: all of them)"},
    {"replay", HVI_SETTING_COUNT, AT(replay), .range = "[0,1e8]", .help = "with ENV: as many transitions of earlier batches, at random, join them"},
    {"replay_rare", HVI_SETTING_REAL, AT(replay_rare), .range = "[0,1]", .help = "share of --replay that is drawn from the rarest states"},
    {"draw", HVI_SETTING_CHOICE, AT(draw), .choices = "fresh|random|all",
     .help = "rows of a batch: fresh ones in their order, at random, or all of the data"},
    {"double_sampling", HVI_SETTING_COUNT, AT(buffer), .range = "[0,1e6]",
     .help = "the square terms of inner step m on batch m mod N of a buffer (0: no)"},
    {"returns", HVI_SETTING_FLAG, AT(returns), .help = "targets are the returns that followed: regression, no bootstrapping"},
    {"lambda", HVI_SETTING_REAL, AT(lambda), .range = "[0,1]",
     .help = "TD(lambda) targets: the mean over 1, 2, ... steps of rewards, n steps weighing X^(n-1); with --data only for --batch 0 (0: one step)"},
    {"lambda_decay", HVI_SETTING_REAL, AT(lambda_decay), .range = "[0,inf)",
     .help = "outer step t = 0, 1, ... looks 1 / (1 + X t) times as far as the first"},
    {.name = "network"},
    {"hidden", HVI_SETTING_COUNTS, AT(hidden), .second = offsetof(hvi_value_spec, hidden_count),
     .most = HVI_VALUE_MOST_LAYERS, .range = "[1,65536]", .fallback = "256,256", .help = "widths of the hidden layers"},
    {"activation", HVI_SETTING_CHOICE, AT(activation), .fallback = "relu",
     .choices = "identity|celu|sigmoid||tanh|relu|leaky_relu|gelu|softplus", 
     .help = "of the hidden layers: identity, celu, sigmoid, tanh, relu, leaky_relu, gelu or softplus"},
    {"threads", HVI_SETTING_COUNT, HVI_SETTING_NO_RESULT, AT(threads), .range = "[0,1024]", .help = "that share a batch; 0: one"},
    {0});
_Static_assert(HVI_ACTIVATION_COUNT == 9 && HVI_SOFTMAX == 3, "the activations are those listed");

HVI_SETTINGS(value, "value", hvi_value_spec, settings, .scale = 1.0)

static hvi_status check_network(const hvi_value_spec *s, hvi_error *err) {
  if (!isfinite(s->shift) || !isfinite(s->scale) || s->scale == 0.0)
    return hvi_error_argument(
        err, "values of shift %g and scale %g: both must be finite, the scale not 0", s->shift,
        s->scale);
  for (size_t j = 0; j < s->data->obs; j++) {
    const double center = s->center ? s->center[j] : 0.0, spread = s->spread ? s->spread[j] : 1.0;
    if (isfinite(center) && spread > 0.0 && isfinite(1.0 / spread)) continue;
    return hvi_error_argument(
        err, "input %zu has center %g and spread %g: a finite one and a positive one would do",
        j + 1, center, spread);
  }
  return HVI_OK;
}

static hvi_status check_spec(const hvi_value_spec *s, hvi_error *err) {
  if (!s || !s->data) return hvi_error_argument(err, "policy evaluation needs a data set");
  HVI_TRY(hvi_setting_check(&table, s, err));
  if (s->lambda > 0.0 && (s->draw == HVI_VALUE_RANDOM || s->returns))
    return hvi_error_argument(
        err, "lambda = %g: it goes with Bellman targets on rows in their order, not at random",
        s->lambda);
  if (s->data->count == 0 || s->data->obs == 0)
    return hvi_error_input(err, "the data set has no transitions");
  if (s->data->cuts_unknown && (s->lambda > 0.0 || s->returns))
    return hvi_error_input(err,
                           "%s need 'truncated' (or timeouts): the data do not say where episodes "
                           "are cut",
                           s->returns ? "returns" : "lambda targets");
  if (s->draw == HVI_VALUE_ALL && s->buffer > 0)
    return hvi_error_argument(err, "double sampling takes batches, not the whole data set");
  if (s->draw != HVI_VALUE_ALL && s->batch == 0)
    return hvi_error_argument(err, "a batch needs a transition at least");
  if (s->replay > 0 && (s->draw != HVI_VALUE_FRESH || s->buffer > 0 || s->replay >= s->batch))
    return hvi_error_argument(
        err,
        "%zu rows of replay in batches of %zu: it goes with fresh draws without a "
        "buffer, and leaves room for a fresh row",
        s->replay, s->batch);
  return check_network(s, err);
}

/* N, against the rows there are. */
static hvi_status check_rows(hvi_value *v, hvi_error *err) {
  hvi_value_spec *s = &v->spec;
  const size_t there = v->returns ? v->usable_count : s->data->count;
  if (s->draw == HVI_VALUE_ALL) s->batch = there;
  size_t held;
  if (!hvi_multiply_sizes(s->buffer, s->batch, &held)) held = SIZE_MAX;
  if (s->draw == HVI_VALUE_FRESH && s->buffer == 0) held = s->batch - s->replay;
  if (held > there || s->batch > SIZE_MAX / 4)
    return hvi_error_input(err, "batches of %zu rows, %zu of them at once, from %zu rows of data",
                           s->batch, s->buffer ? s->buffer : 1, there);
  v->rows = s->buffer > 0 ? 2 * s->batch : s->batch;
  return HVI_OK;
}

static hvi_status make_model(hvi_value *v, hvi_error *err) {
  const hvi_value_spec *s = &v->spec;
  size_t widths[HVI_VALUE_MOST_LAYERS + 1];
  memcpy(widths, s->hidden, s->hidden_count * sizeof *widths);
  widths[s->hidden_count] = 1;
  const hvi_mlp_spec shape = {.in = v->obs,
                              .layer_count = s->hidden_count + 1,
                              .widths = widths,
                              .hidden = s->activation,
                              .head = HVI_IDENTITY,
                              .rows = v->rows,
                              .threads = s->threads};
  HVI_TRY(hvi_mlp_new(&v->one.base.model, &shape, err));
  v->net = hvi_mlp_of(v->one.base.model)->net;
  hvi_mlp_rescale(v->one.base.model, s->shift, s->scale);
  if (s->draw == HVI_VALUE_ALL) hvi_mlp_keep(v->one.base.model);
  if (!s->device || !hvi_gang_fits(v->net)) return HVI_OK;
  return hvi_mlp_join(v->one.base.model, s->device, err);
}

/* The start, the weights, and copies of what the spec points at. */
static hvi_status make_numbers(hvi_value *v, uint64_t seed, hvi_error *err) {
  hvi_value_spec *s = &v->spec;
  const bool scales = s->center || s->spread;
  double *center = NULL, *inverse = NULL;
  HVI_TRY(hvi_new_arrays("policy evaluation", err, {&v->weights, v->rows},
                         {&v->theta0, v->one.base.model->dim}, {&center, scales ? v->obs : 0},
                         {&inverse, scales ? v->obs : 0}));
  v->one.owned[0] = v->weights;
  for (size_t j = 0; scales && j < v->obs; j++) {
    center[j] = s->center ? s->center[j] : 0.0;
    inverse[j] = s->spread ? 1.0 / s->spread[j] : 1.0;
  }
  if (scales) v->center = center, v->inverse = inverse;
  s->center = s->spread = NULL;
  for (size_t i = v->rows - s->batch; i < v->rows; i++) v->weights[i] = 1.0 / (double)s->batch;
  hvi_rng rng = hvi_rng_new(seed, "value", 0);
  return hvi_mlp_init(v->one.base.model, v->theta0, HVI_INIT_KAIMING, &rng, err);
}

static hvi_status fill(hvi_value *v, uint64_t seed, hvi_error *err) {
  const hvi_dataset *data = v->spec.data;
  v->ordered = true;
  for (size_t i = 0; i + 1 < data->count; i++)
    v->ordered &= data->terminated[i] || data->truncated[i] || hvi_dataset_continues(data, i);
  if (v->spec.threads == 0) v->spec.threads = 1;
  HVI_TRY(v->spec.returns ? hvi_value_find_returns(v, err) : HVI_OK);
  HVI_TRY(check_rows(v, err));
  HVI_TRY(make_model(v, err));
  HVI_TRY(make_numbers(v, seed, err));
  hvi_problem *p = &v->one.base;
  v->one.set.len = v->rows;
  p->theta0 = v->theta0;
  p->weights = v->weights;
  p->sample_bytes = hvi_value_sample_bytes(v);
  p->draw_steps = v->spec.draw == HVI_VALUE_FRESH ? v->spec.batch - v->spec.replay : 0;
  p->one_sample = v->spec.draw == HVI_VALUE_ALL;
  return HVI_OK;
}

hvi_status hvi_value_new(hvi_problem **problem, const hvi_value_spec *spec, uint64_t seed,
                         hvi_error *err) {
  *problem = NULL;
  HVI_TRY(check_spec(spec, err));
  hvi_value *v = hvi_alloc(1, sizeof *v);
  if (!v) return hvi_error_memory(err, "policy evaluation");
  v->spec = *spec;
  v->obs = spec->data->obs;
  const bool bootstraps = spec->buffer == 0 && !spec->returns;
  const bool plain = spec->buffer == 0 && spec->lambda == 0.0 && !spec->returns;
  v->ops = (hvi_problem_ops){.name = "value",
                             .operate = operate,
                             .draw = hvi_value_draw_sample,
                             .seek = hvi_value_seek,
                             .resample = spec->buffer > 0 ? hvi_value_resample : NULL,
                             .slow_mode = slow_mode,
                             .lift = lift,
                             .modes = bootstraps ? hvi_value_modes : NULL,
                             .equations = bootstraps ? hvi_value_equations : NULL,
                             .sensitivity = sensitivity,
                             .constants = constants,
                             .rules = plain ? hvi_value_rules() : NULL,
                             .free = hvi_single_free};
  hvi_single_init(&v->one, &v->ops, NULL, 0, 0, 0);
  return hvi_problem_settle(problem, &v->one.base, fill(v, seed, err));
}

size_t hvi_value_rows(const hvi_problem *value, size_t draws) {
  const hvi_value *v = hvi_value_of(value);
  if (!v || v->spec.draw != HVI_VALUE_FRESH) return 0;
  const size_t rows = (v->spec.buffer + v->spec.first + draws) * (v->spec.batch - v->spec.replay);
  return v->returns ? hvi_value_rows_of_returns(v, rows) : rows;
}
