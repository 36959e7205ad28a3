/*
 * Policies: making one, acting, and its identity.
 *
 * A network's output is (m, h), one of each for every entry of an action. With noise e ~ N(0, 1):
 *
 *   t = tanh h,  l = -5 + 3.5 (t + 1),  u = m + exp(l) e,  y = tanh u,  a = scale y + shift
 *   log pi(a) = sum over entries of  -e^2/2 - l - log sqrt(2 pi) - log(scale (1 - y^2) + 1e-6)
 *
 * where the last term is the density of the change of variable, kept away from log 0. For a fixed
 * e, a loss f(a) + w log pi(a) has
 *
 *   df/dy = scale df/da + 2 w scale y / (scale (1 - y^2) + 1e-6)
 *   df/dm = (1 - y^2) df/dy
 *   df/dh = 3.5 (1 - t^2) (exp(l) e df/dm - w)
 *
 * since -e^2/2 does not depend on the parameters. That is what is trained here; policies of other
 * trainers have another l, or none, or a = u clipped to shift +- scale.
 */
#include "rl/policy.h"

#include "base/base.h"
#include "num/vec.h"

#include <hvi/rollout.h> /* the declaration that exports hvi_policy_fingerprint */

enum { MOST_LAYERS = 64, ARRAYS = 8 };

static const float LOW = -5.0F, HALF_RANGE = 3.5F, EPSILON = 1e-6F;
static const float LEAST = -20.0F, MOST = 2.0F; /* of HVI_DEVIATION_CLAMP */
static const float LOG_SQRT_2PI = 0.918938533F;

hvi_status hvi_policy_actor(hvi_policy **out, size_t obs, size_t act, size_t hidden_count,
                            const size_t *hidden, hvi_activation activation, hvi_error *err) {
  size_t widths[MOST_LAYERS + 1];
  *out = NULL;
  if (hidden_count > MOST_LAYERS)
    return hvi_error_input(err, "an actor has at most %d hidden layers, not %zu", (int)MOST_LAYERS,
                           hidden_count);
  if (hidden_count > 0) memcpy(widths, hidden, hidden_count * sizeof *widths);
  widths[hidden_count] = 2 * act;
  HVI_MAKE(hvi_policy, p, "a policy", err);
  p->obs = obs;
  p->act = act;
  const hvi_net_spec spec = {obs, hidden_count + 1, widths, activation, HVI_IDENTITY, NULL};
  HVI_TRY(hvi_net_new(&p->net, &spec, err));
  HVI_TRY(hvi_new(&p->weights, p->net->weights + 2 * act, "a policy", err));
  p->scale = p->weights + p->net->weights;
  p->shift = p->scale + act;
  for (size_t j = 0; j < act; j++) p->scale[j] = 1.0F;
  HVI_GIVE(out, p);
}

hvi_status hvi_policy_linear(hvi_policy **out, size_t obs, size_t act, const double *gain,
                             const double *std, hvi_error *err) {
  size_t size = 0;
  *out = NULL;
  if (obs == 0 || act == 0 || !gain || !std || !hvi_multiply_sizes(obs, act, &size))
    return hvi_error_argument(err,
                              "a linear policy needs an observation, an action, a gain and std");
  if (!hvi_vec_finite(gain, size) || !hvi_vec_finite(std, act))
    return hvi_error_input(err, "a linear policy's gain and std must be finite");
  for (size_t j = 0; j < act; j++)
    if (std[j] < 0.0) return hvi_error_input(err, "a linear policy's std %g is negative", std[j]);
  HVI_MAKE(hvi_policy, p, "a policy", err);
  HVI_TRY(hvi_new(&p->gain, size + act, "a policy", err));
  p->obs = obs;
  p->act = act;
  p->std = p->gain + size;
  hvi_vec_copy(p->gain, gain, size);
  hvi_vec_copy(p->std, std, act);
  HVI_GIVE(out, p);
}

hvi_status hvi_policy_of_env(hvi_policy **policy, const hvi_env *env, hvi_error *err) {
  const hvi_lqr *lqr = hvi_env_lqr(env);
  *policy = NULL;
  if (!lqr)
    return hvi_error_unsupported(
        err, "'%s' brings no policy of its own along (lqr does); name a policy file", env->name);
  return hvi_policy_linear(policy, lqr->n, lqr->m, lqr->K, lqr->std, err);
}

hvi_status hvi_policy_add_note(hvi_policy *p, const char *key, const char *text, hvi_error *err) {
  if (p->note_count == HVI_POLICY_NOTES) return HVI_OK;
  hvi_tensor_note note = {hvi_copy_text(key), hvi_copy_text(text)};
  p->notes[p->note_count++] = note;
  return note.key && note.text ? HVI_OK : hvi_error_memory(err, "a policy's notes");
}

void hvi_policy_free(hvi_policy *p) {
  if (!p) return;
  for (size_t i = 0; i < p->note_count; i++) {
    hvi_free((void *)(size_t)p->notes[i].key);
    hvi_free((void *)(size_t)p->notes[i].text);
  }
  hvi_net_free(p->net);
  hvi_free(p->weights);
  hvi_free(p->gain);
  hvi_free(p);
}

size_t hvi_policy_obs(const hvi_policy *p) { return p->obs; }
size_t hvi_policy_act_size(const hvi_policy *p) { return p->act; }

/* Up to the rounding of floats. */
static bool within(double low, double high, double least, double most) {
  const double slack = 1e-5 * (1.0 + fabs(least) + fabs(most));
  return low >= least - slack && high <= most + slack;
}

/* The least or, sign 1, the greatest that action j can be. */
static double end_of(const hvi_policy *p, size_t j, double sign) {
  return (double)p->shift[j] + sign * (double)p->scale[j];
}

static bool bounded(const hvi_env *env) { return isfinite(env->low) && isfinite(env->high); }

/* A file without a range has actions in [-1, 1], as networks do, and has to be scaled elsewhere. */
hvi_status hvi_policy_check(const hvi_policy *p, const hvi_env *env, hvi_error *err) {
  if (p->obs != env->obs || p->act != env->act)
    return hvi_error_input(
        err, "the policy takes %zu observations and gives %zu actions, but '%s' has %zu and %zu",
        p->obs, p->act, env->name, env->obs, env->act);
  for (size_t j = 0; bounded(env) && p->net && j < p->act; j++) {
    const double low = end_of(p, j, -1.0), high = end_of(p, j, 1.0);
    const bool fits = within(low, high, env->low, env->high);
    if (fits && (p->form.ranged || within(env->low, env->high, low, high))) continue;
    return hvi_error_input(
        err, "the policy's action %zu is in [%g, %g], and those of '%s' in [%g, %g]: %s", j + 1,
        low, high, env->name, env->low, env->high,
        "--action-range env scales it, action_scale and action_bias in its file too");
  }
  return HVI_OK;
}

hvi_status hvi_policy_fit(hvi_policy *p, const hvi_env *env, hvi_error *err) {
  const bool scaled = p->net && p->form.env_range && p->act == env->act;
  if (scaled && p->obs == env->obs && !p->form.clipped && !bounded(env))
    return hvi_error_input(err,
                           "the policy's actions, in [-1, 1], are to be scaled to those of '%s', "
                           "which have no bounds: --action-range file leaves them",
                           env->name);
  for (size_t j = 0; scaled && j < p->act; j++) {
    p->scale[j] = bounded(env) ? (float)(0.5 * (env->high - env->low)) : INFINITY;
    p->shift[j] = bounded(env) ? (float)(0.5 * (env->high + env->low)) : 0.0F;
    p->form.ranged = true;
  }
  return hvi_policy_check(p, env, err);
}

char *hvi_policy_describe(char text[HVI_POLICY_TEXT], const hvi_policy *p) {
  char range[60] = "the environment's range";
  if (!p->net) {
    snprintf(text, HVI_POLICY_TEXT, "linear-Gaussian");
    return text;
  }
  if (!p->form.env_range || p->form.ranged)
    snprintf(range, sizeof range, "[%g, %g]", end_of(p, 0, -1.0), end_of(p, 0, 1.0));
  snprintf(
      text, HVI_POLICY_TEXT, "%s: %s layers, %s, %s %s", p->layout ? p->layout : "actor",
      hvi_activation_name(p->net->layer_count > 1 ? p->net->layers[0].activation : HVI_IDENTITY),
      p->form.deviation == HVI_DEVIATION_NONE ? "deterministic" : "Gaussian",
      p->form.clipped ? "clipped to" : "squashed by tanh to", range);
  return text;
}

/* The squashed Gaussian */

size_t hvi_squash_size(size_t rows, size_t act) {
  return ARRAYS * hvi_net_aligned(rows * act) + hvi_net_aligned(rows);
}

void hvi_squash_bind(hvi_squash *s, const hvi_policy *p, float *memory, size_t rows) {
  *s = (hvi_squash){.act = p->act,
                    .kernels = p->net->kernels,
                    .scale = p->scale,
                    .shift = p->shift,
                    .form = p->form};
  float **arrays[ARRAYS] = {&s->mean,  &s->t, &s->log_std, &s->std,
                            &s->noise, &s->y, &s->density, &s->log_density};
  for (size_t i = 0; i < ARRAYS; i++) *arrays[i] = memory + i * hvi_net_aligned(rows * s->act);
  s->log_prob = memory + ARRAYS * hvi_net_aligned(rows * s->act);
}

void hvi_squash_read(hvi_squash *s, const float *head, size_t first, size_t rows) {
  const size_t act = s->act;
  for (size_t i = 0; i < rows; i++) {
    const float *in = head + i * 2 * act;
    memcpy(s->mean + (first + i) * act, in, act * sizeof *in);
    memcpy(s->t + (first + i) * act, in + act, act * sizeof *in);
  }
}

/* std of n numbers, from the second head in t. */
static void find_std(hvi_squash *s, size_t n) {
  const hvi_deviation kind = s->form.deviation;
  if (kind == HVI_DEVIATION_NONE) {
    memset(s->std, 0, n * sizeof *s->std);
    return;
  }
  if (kind == HVI_DEVIATION_RANGE) {
    s->kernels->tanh(s->t, s->t, n);
    for (size_t i = 0; i < n; i++) s->log_std[i] = LOW + HALF_RANGE * (s->t[i] + 1.0F);
  } else {
    memcpy(s->log_std, s->t, n * sizeof *s->t);
    for (size_t i = 0; kind == HVI_DEVIATION_CLAMP && i < n; i++)
      s->log_std[i] = fminf(fmaxf(s->t[i], LEAST), MOST);
  }
  s->kernels->exp(s->std, s->log_std, n);
}

void hvi_squash_sample(hvi_squash *s, size_t rows, float *action, size_t action_row) {
  const size_t n = rows * s->act;
  find_std(s, n);
  for (size_t i = 0; i < n; i++) s->y[i] = s->mean[i] + s->std[i] * s->noise[i];
  if (!s->form.clipped) s->kernels->tanh(s->y, s->y, n);
  for (size_t i = 0; i < rows; i++) {
    const float *y = s->y + i * s->act;
    float *a = action + i * action_row;
    for (size_t j = 0; j < s->act; j++) {
      const float scale = s->scale[j], shift = s->shift[j];
      a[j] =
          s->form.clipped ? fminf(fmaxf(y[j], shift - scale), shift + scale) : scale * y[j] + shift;
    }
  }
}

void hvi_squash_log_prob(hvi_squash *s, size_t rows) {
  const size_t act = s->act;
  for (size_t i = 0; i < rows; i++) {
    for (size_t j = 0; j < act; j++) {
      const float y = s->y[i * act + j];
      s->density[i * act + j] = s->scale[j] * (1.0F - y * y) + EPSILON;
    }
  }
  s->kernels->log(s->log_density, s->density, rows * act);
  for (size_t i = 0; i < rows; i++) {
    float sum = 0.0F;
    for (size_t j = i * act; j < (i + 1) * act; j++) {
      const float e = s->noise[j];
      sum += -0.5F * e * e - s->log_std[j] - LOG_SQRT_2PI - s->log_density[j];
    }
    s->log_prob[i] = sum;
  }
}

void hvi_squash_pull(const hvi_squash *s, size_t rows, float weight, const float *pull,
                     float *dhead) {
  const size_t act = s->act;
  for (size_t i = 0; i < rows; i++) {
    float *out = dhead + i * 2 * act;
    for (size_t j = 0; j < act; j++) {
      const size_t k = i * act + j;
      const float y = s->y[k], t = s->t[k], scale = s->scale[j];
      const float dy = scale * pull[k] + 2.0F * weight * scale * y / s->density[k];
      const float dm = (1.0F - y * y) * dy;
      out[j] = dm;
      out[act + j] = HALF_RANGE * (1.0F - t * t) * (s->std[k] * s->noise[k] * dm - weight);
    }
  }
}

/* Acting */

/* An actor's scratch: the observations as floats, the trace, the squash, the actions. */
size_t hvi_policy_scratch(const hvi_policy *p, size_t rows) {
  if (!p->net) return 0;
  return hvi_net_aligned(rows * p->obs + HVI_NET_SLACK) +
         hvi_net_aligned(hvi_net_trace(p->net, rows)) + hvi_squash_size(rows, p->act) +
         hvi_net_aligned(rows * p->act);
}

static void act_by_network(const hvi_policy *p, float *scratch, size_t rows, const double *obs,
                           hvi_rng *rngs, double *action) {
  const hvi_net *net = p->net;
  float *x = scratch, *trace = x + hvi_net_aligned(rows * p->obs + HVI_NET_SLACK);
  float *squash = trace + hvi_net_aligned(hvi_net_trace(net, rows));
  float *result = squash + hvi_squash_size(rows, p->act);
  hvi_squash s;
  hvi_squash_bind(&s, p, squash, rows);
  for (size_t i = 0; i < rows * p->obs; i++) x[i] = (float)obs[i];
  hvi_net_forward(net, p->weights, rows, x, p->obs, trace);
  hvi_squash_read(&s, hvi_net_output(net, trace, rows, net->layer_count - 1), 0, rows);
  for (size_t i = 0; i < rows * p->act; i++)
    s.noise[i] = rngs ? (float)hvi_rng_normal(&rngs[i / p->act]) : 0.0F;
  hvi_squash_sample(&s, rows, result, p->act);
  for (size_t i = 0; i < rows * p->act; i++) action[i] = (double)result[i];
}

void hvi_policy_act(const hvi_policy *p, float *scratch, size_t rows, const double *obs,
                    hvi_rng *rngs, double *action) {
  if (p->net) {
    act_by_network(p, scratch, rows, obs, rngs, action);
    return;
  }
  for (size_t i = 0; i < rows; i++) {
    for (size_t j = 0; j < p->act; j++) {
      double a = 0.0;
      for (size_t k = 0; k < p->obs; k++) a += p->gain[j * p->obs + k] * obs[i * p->obs + k];
      if (rngs) a += p->std[j] * hvi_rng_normal(&rngs[i]);
      action[i * p->act + j] = a;
    }
  }
}

/* A fingerprint is a hash of the shapes and of the parameters' bits. */
void hvi_policy_fingerprint(char text[17], const hvi_policy *p) {
  const hvi_net *net = p->net;
  uint64_t hash = hvi_hash_count(hvi_hash_count(HVI_HASH_START, p->obs), p->act);
  if (net) {
    hash = hvi_hash_count(hash, net->layer_count);
    for (size_t l = 0; l < net->layer_count; l++) hash = hvi_hash_count(hash, net->layers[l].out);
    hash = hvi_hash_bytes(hash, p->weights, net->dim * sizeof *p->weights);
    hash = hvi_hash_bytes(hash, p->scale, 2 * p->act * sizeof *p->scale); /* and shift */
    const size_t kind = (net->layer_count > 1 ? (size_t)net->layers[0].activation : HVI_RELU);
    const size_t form = 8 * kind + 2 * (size_t)p->form.deviation + p->form.clipped;
    if (form != 8 * HVI_RELU) hash = hvi_hash_count(hash, form);
  } else {
    hash = hvi_hash_bytes(hash, p->gain, p->act * (p->obs + 1) * sizeof *p->gain); /* and std */
  }
  snprintf(text, 17, "%016" PRIx64, hash);
}
