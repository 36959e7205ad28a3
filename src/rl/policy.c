/* Policies: making one, acting, and its identity. */
#include "rl/policy.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "rl/policy_squash.h"

#include <hvi/rollout.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_LAYERS = 64, LINE = 16 };

static size_t aligned(size_t n) { return (n + LINE - 1) / LINE * LINE; }

hvi_status hvi_policy_net(hvi_net **net, size_t obs, size_t act, size_t hidden_count,
                          const size_t *hidden, hvi_error *err) {
  size_t widths[MOST_LAYERS + 1];
  *net = NULL;
  if (hidden_count > MOST_LAYERS) {
    return hvi_error_set(err, HVI_ERROR_INPUT, "an actor has at most %d hidden layers, not %zu",
                         (int)MOST_LAYERS, hidden_count);
  }
  if (hidden_count > 0) memcpy(widths, hidden, hidden_count * sizeof *widths);
  widths[hidden_count] = 2 * act;
  const hvi_net_spec spec = {.in = obs,
                             .layer_count = hidden_count + 1,
                             .widths = widths,
                             .hidden = HVI_RELU,
                             .head = HVI_IDENTITY};
  return hvi_net_new(net, &spec, err);
}

hvi_status hvi_policy_actor(hvi_policy **out, size_t obs, size_t act, size_t hidden_count,
                            const size_t *hidden, hvi_error *err) {
  *out = NULL;
  hvi_policy *p = hvi_alloc(1, sizeof *p);
  if (!p) return hvi_error_memory(err, "a policy");
  p->obs = obs;
  p->act = act;
  const hvi_status status = hvi_policy_net(&p->net, obs, act, hidden_count, hidden, err);
  if (status != HVI_OK) {
    hvi_policy_free(p);
    return status;
  }
  p->weights = hvi_alloc(p->net->weights, sizeof *p->weights);
  p->scale = hvi_alloc(act, sizeof *p->scale);
  p->shift = hvi_alloc(act, sizeof *p->shift);
  if (!p->weights || !p->scale || !p->shift) {
    hvi_policy_free(p);
    return hvi_error_memory(err, "a policy");
  }
  for (size_t j = 0; j < act; j++) p->scale[j] = 1.0F;
  *out = p;
  return HVI_OK;
}

static bool all_finite(const double *x, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (!isfinite(x[i])) return false;
  return true;
}

hvi_status hvi_policy_linear(hvi_policy **out, size_t obs, size_t act, const double *gain,
                             const double *std, hvi_error *err) {
  size_t size = 0;
  *out = NULL;
  if (obs == 0 || act == 0 || !gain || !std || !hvi_multiply_sizes(obs, act, &size)) {
    return hvi_error_set(err, HVI_ERROR_ARGUMENT,
                         "a linear policy needs an observation, an action, a gain and std");
  }
  if (!all_finite(gain, size) || !all_finite(std, act)) {
    return hvi_error_set(err, HVI_ERROR_INPUT, "a linear policy's gain and std must be finite");
  }
  for (size_t j = 0; j < act; j++) {
    if (std[j] < 0.0)
      return hvi_error_set(err, HVI_ERROR_INPUT, "a linear policy's std %g is negative", std[j]);
  }
  hvi_policy *p = hvi_alloc(1, sizeof *p);
  if (!p) return hvi_error_memory(err, "a policy");
  p->obs = obs;
  p->act = act;
  p->gain = hvi_copy_doubles(gain, size);
  p->std = hvi_copy_doubles(std, act);
  if (!p->gain || !p->std) {
    hvi_policy_free(p);
    return hvi_error_memory(err, "a policy");
  }
  *out = p;
  return HVI_OK;
}

hvi_status hvi_policy_of_env(hvi_policy **policy, const hvi_env *env, hvi_error *err) {
  const hvi_lqr *lqr = hvi_env_lqr(env);
  *policy = NULL;
  if (!lqr) {
    return hvi_error_set(err, HVI_ERROR_UNSUPPORTED,
                         "'%s' brings no policy of its own along (lqr does); name a policy file",
                         env->name);
  }
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
  hvi_free(p->scale);
  hvi_free(p->shift);
  hvi_free(p->gain);
  hvi_free(p->std);
  hvi_free(p);
}

size_t hvi_policy_obs(const hvi_policy *p) { return p->obs; }
size_t hvi_policy_act_size(const hvi_policy *p) { return p->act; }

hvi_status hvi_policy_check(const hvi_policy *p, const hvi_env *env, hvi_error *err) {
  if (p->obs == env->obs && p->act == env->act) return HVI_OK;
  return hvi_error_set(err, HVI_ERROR_INPUT,
                       "the policy takes %zu observations and gives %zu actions, but '%s' has %zu "
                       "and %zu",
                       p->obs, p->act, env->name, env->obs, env->act);
}

/* The observations as floats, the trace, the squash, the actions. */
size_t hvi_actor_scratch(const hvi_net *net, size_t rows) {
  const size_t act = net->out / 2;
  return aligned(rows * net->in + HVI_NET_SLACK) + aligned(hvi_net_trace(net, rows)) +
         hvi_squash_size(rows, act) + aligned(rows * act);
}

void hvi_actor_act(const hvi_actor *actor, float *scratch, size_t rows, const double *obs,
                   hvi_rng *rngs, double *action) {
  const hvi_net *net = actor->net;
  const size_t in = net->in, act = net->out / 2;
  float *x = scratch, *trace = x + aligned(rows * in + HVI_NET_SLACK);
  float *squash = trace + aligned(hvi_net_trace(net, rows));
  float *result = squash + hvi_squash_size(rows, act);
  hvi_squash s = {
      .act = act, .kernels = net->kernels, .scale = actor->scale, .shift = actor->shift};
  hvi_squash_place(&s, squash, rows);
  for (size_t i = 0; i < rows * in; i++) x[i] = (float)obs[i];
  hvi_net_forward(net, actor->weights, rows, x, in, trace);
  hvi_squash_read(&s, hvi_net_output(net, trace, rows, net->layer_count - 1), 0, rows);
  for (size_t i = 0; i < rows; i++) {
    for (size_t j = 0; j < act; j++) {
      s.noise[i * act + j] = rngs ? (float)hvi_rng_normal(&rngs[i]) : 0.0F;
    }
  }
  hvi_squash_sample(&s, rows, result, act);
  for (size_t i = 0; i < rows * act; i++) action[i] = (double)result[i];
}

static void act_linearly(const hvi_policy *p, size_t rows, const double *obs, hvi_rng *rngs,
                         double *action) {
  for (size_t i = 0; i < rows; i++) {
    for (size_t j = 0; j < p->act; j++) {
      double a = 0.0;
      for (size_t k = 0; k < p->obs; k++) a += p->gain[j * p->obs + k] * obs[i * p->obs + k];
      if (rngs) a += p->std[j] * hvi_rng_normal(&rngs[i]);
      action[i * p->act + j] = a;
    }
  }
}

size_t hvi_policy_scratch(const hvi_policy *p, size_t rows) {
  return p->net ? hvi_actor_scratch(p->net, rows) : 0;
}

void hvi_policy_act(const hvi_policy *p, float *scratch, size_t rows, const double *obs,
                    hvi_rng *rngs, double *action) {
  if (!p->net) {
    act_linearly(p, rows, obs, rngs, action);
    return;
  }
  hvi_actor_act(&(hvi_actor){p->net, p->weights, p->scale, p->shift}, scratch, rows, obs, rngs,
                action);
}

/* A fingerprint is a hash of the shapes and of the parameters' bits. */
static uint64_t hash_net(uint64_t hash, const hvi_policy *p) {
  hash = hvi_hash_count(hash, p->net->layer_count);
  for (size_t l = 0; l < p->net->layer_count; l++)
    hash = hvi_hash_count(hash, p->net->layers[l].out);
  hash = hvi_hash_bytes(hash, p->weights, p->net->dim * sizeof *p->weights);
  hash = hvi_hash_bytes(hash, p->scale, p->act * sizeof *p->scale);
  return hvi_hash_bytes(hash, p->shift, p->act * sizeof *p->shift);
}

static uint64_t hash_linear(uint64_t hash, const hvi_policy *p) {
  hash = hvi_hash_bytes(hash, p->gain, p->act * p->obs * sizeof *p->gain);
  return hvi_hash_bytes(hash, p->std, p->act * sizeof *p->std);
}

void hvi_policy_fingerprint(char text[17], const hvi_policy *p) {
  uint64_t hash = hvi_hash_count(HVI_HASH_START, p->obs);
  hash = hvi_hash_count(hash, p->act);
  hash = p->net ? hash_net(hash, p) : hash_linear(hash, p);
  snprintf(text, 17, "%016" PRIx64, hash);
}
