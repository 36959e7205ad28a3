/*
 * Soft actor-critic of the emulated device (gpu/sac.h), in plain loops and double precision: what the device
 * keeps is in floats, what it computes on the way is not.
 */
#include "emulated_device.h"
#include "gpu/sac.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS = HVI_DEVICE_SAC_HIDDEN + 1, ACTOR = 0, CRITIC = 1, SLOW = 3, NETS = 5 };

typedef struct network {
  size_t layers, width[LAYERS + 1], dim, units;
  float *theta, *m, *v; /* [dim] */
  double *gradient;     /* [dim] */
  double *value, *back; /* [units] of a row */
} network;

typedef struct trainer {
  network net[NETS];
  float temperature[3];
  double *y, *log_prob;                    /* [batch] */
  double *mean, *spread, *squashed, *pull; /* [act] of a row */
} trainer;

typedef struct device_sac {
  hvi_device_sac base;
  hvi_device_sac_shape shape;
  size_t hidden[HVI_DEVICE_SAC_HIDDEN];
  trainer *own;
} device_sac;

static void *room(size_t count, size_t size) {
  void *p = calloc(count ? count : 1, size);
  if (!p) abort();
  return p;
}

static void net_make(network *n, const hvi_device_sac_shape *s, size_t in, size_t out) {
  n->layers = s->hidden_count + 1;
  n->width[0] = in;
  n->width[n->layers] = out;
  for (size_t l = 1; l < n->layers; l++) n->width[l] = s->hidden[l - 1];
  for (size_t l = 0; l <= n->layers; l++) n->units += n->width[l];
  for (size_t l = 0; l < n->layers; l++) n->dim += (n->width[l] + 1) * n->width[l + 1];
  n->theta = room(3 * n->dim, sizeof *n->theta);
  n->m = n->theta + n->dim;
  n->v = n->m + n->dim;
  n->gradient = room(n->dim, sizeof *n->gradient);
  n->value = room(2 * n->units, sizeof *n->value);
  n->back = n->value + n->units;
}

static void free_sac(hvi_device_sac *sac) {
  device_sac *s = (device_sac *)sac;
  for (size_t i = 0; i < s->base.count; i++) {
    for (size_t k = 0; k < NETS; k++) {
      free(s->own[i].net[k].theta);
      free(s->own[i].net[k].gradient);
      free(s->own[i].net[k].value);
    }
    free(s->own[i].y);
    free(s->base.of[i].x);
  }
  free(s->own);
  free(s->base.of);
  free(s);
  emulated.trainers--;
}

static void trainer_make(device_sac *s, size_t i) {
  const size_t n = s->shape.batch, act = s->shape.act, obs = s->shape.obs;
  trainer *own = &s->own[i];
  hvi_device_trainer *t = &s->base.of[i];
  for (size_t k = 0; k < NETS; k++)
    net_make(&own->net[k], &s->shape, k == ACTOR ? obs : obs + act, k == ACTOR ? 2 * act : 1);
  own->y = room(2 * n + 4 * act, sizeof *own->y);
  own->log_prob = own->y + n;
  own->mean = own->log_prob + n;
  own->spread = own->mean + act;
  own->squashed = own->spread + act;
  own->pull = own->squashed + act;
  t->x_row = (obs + act + 15) / 16 * 16;
  t->x = room(2 * n * t->x_row + 2 * n + (1 + 2 * s->shape.delay) * n * act, sizeof *t->x);
  t->next = t->x + n * t->x_row;
  t->reward = t->next + n * t->x_row;
  t->future = t->reward + n;
  t->noise = t->future + n;
}

static hvi_status make(hvi_device_sac **out, hvi_device *d, const hvi_device_sac_shape *shape,
                       size_t count, hvi_error *err) {
  (void)d;
  *out = NULL;
  if (emulated.memory && emulated.memory < 10000)
    return hvi_error_set(err, HVI_ERROR_MEMORY, "the emulated device has no memory for a trainer");
  device_sac *s = room(1, sizeof *s);
  s->shape = *shape;
  s->base.count = count;
  memcpy(s->hidden, shape->hidden, shape->hidden_count * sizeof *s->hidden);
  s->shape.hidden = s->hidden;
  s->base.functions = emulated_sac();
  s->own = room(count, sizeof *s->own);
  s->base.of = room(count, sizeof *s->base.of);
  for (size_t i = 0; i < count; i++) trainer_make(s, i);
  emulated.trainers++;
  *out = &s->base;
  return HVI_OK;
}

/* One of a trainer's arrays, k = 0 .. 10, here and at the host's. */
static float *array_of(device_sac *s, size_t i, size_t k, float **host, size_t *numbers) {
  const hvi_device_trainer *h = &s->base.of[i];
  const size_t c = (k - 3) / 4, part = k < 3 ? k : (k - 3) % 4;
  network *n = &s->own[i].net[k < 3 ? ACTOR : part == 3 ? SLOW + c : CRITIC + c];
  *host = k < 3 ? h->actor[k] : h->critics[c][part];
  *numbers = n->dim;
  return n->theta + (part % 3) * n->dim;
}

enum { ARRAYS = 11 };

static hvi_status move(hvi_device_sac *sac, size_t i, bool put, hvi_error *err) {
  device_sac *s = (device_sac *)sac;
  (void)err;
  for (size_t k = 0, n; k < ARRAYS; k++) {
    float *host, *own = array_of(s, i, k, &host, &n);
    memcpy(put ? own : host, put ? host : own, n * sizeof *own);
  }
  if (put) memcpy(s->own[i].temperature, s->base.of[i].temperature, sizeof s->own[i].temperature);
  return HVI_OK;
}

/* Values of all layers of a row; the outputs. */
static double *forward(network *n, const float *x) {
  const float *at = n->theta;
  double *in = n->value;
  for (size_t j = 0; j < n->width[0]; j++) in[j] = (double)x[j];
  for (size_t l = 0; l < n->layers; l++) {
    const size_t width = n->width[l], count = n->width[l + 1];
    double *out = in + width;
    for (size_t o = 0; o < count; o++) {
      double sum = (double)at[width * count + o];
      for (size_t j = 0; j < width; j++) sum += (double)at[o * width + j] * in[j];
      out[o] = l + 1 < n->layers && sum < 0.0 ? 0.0 : sum;
    }
    at += (width + 1) * count;
    in = out;
  }
  return in;
}

/* gradient += by the slopes of the outputs; those of the inputs. */
static double *backward(network *n, const double *dy) {
  size_t at = n->dim, first = n->units - n->width[n->layers];
  memcpy(n->back + first, dy, n->width[n->layers] * sizeof *dy);
  for (size_t l = n->layers; l-- > 0;) {
    const size_t width = n->width[l], count = n->width[l + 1];
    const double *delta = n->back + first, *in = n->value + first - width;
    double *before = n->back + first - width;
    at -= (width + 1) * count;
    memset(before, 0, width * sizeof *before);
    for (size_t o = 0; o < count; o++) {
      n->gradient[at + width * count + o] += delta[o];
      for (size_t j = 0; j < width; j++) {
        n->gradient[at + o * width + j] += delta[o] * in[j];
        before[j] += delta[o] * (double)n->theta[at + o * width + j];
      }
    }
    for (size_t j = 0; l > 0 && j < width; j++) before[j] *= in[j] > 0.0;
    first -= width;
  }
  return n->back;
}

/* The averages' weights are those of single precision. */
static void adam(float *theta, float *m, float *v, double g, double lr, size_t k) {
  const float b1 = 0.9F, b2 = 0.999F;
  *m = (float)((double)b1 * (double)*m + (double)(1.0F - b1) * g);
  *v = (float)((double)b2 * (double)*v + (double)(1.0F - b2) * g * g);
  const double root = sqrt((double)*v / (1.0 - pow(0.999, (double)k)));
  *theta = (float)((double)*theta - lr / (1.0 - pow(0.9, (double)k)) * (double)*m / (root + 1e-8));
}

static void learn(network *n, double lr, size_t k) {
  for (size_t i = 0; i < n->dim; i++) adam(&n->theta[i], &n->m[i], &n->v[i], n->gradient[i], lr, k);
  memset(n->gradient, 0, n->dim * sizeof *n->gradient);
}

/* An action of the actor into x, and its log-probability. */
static double sample(const hvi_device_sac_shape *s, trainer *t, float *x, const float *noise) {
  const double *head = forward(&t->net[ACTOR], x);
  double log_prob = 0.0;
  for (size_t j = 0; j < s->act; j++) {
    const double e = (double)noise[j], scale = (double)s->scale;
    t->spread[j] = tanh(head[s->act + j]);
    const double log_std = -5.0 + 3.5 * (t->spread[j] + 1.0);
    t->squashed[j] = tanh(head[j] + exp(log_std) * e);
    x[s->obs + j] = (float)(scale * t->squashed[j] + (double)s->shift);
    const double density = scale * (1.0 - t->squashed[j] * t->squashed[j]) + 1e-6;
    log_prob += -0.5 * e * e - log_std - 0.5 * log(2.0 * 3.14159265358979323846) - log(density);
  }
  return log_prob;
}

static double alpha_of(const hvi_device_sac_shape *s, const trainer *t) {
  return s->alpha > 0.0F ? (double)s->alpha : exp((double)t->temperature[0]);
}

static void step_critics(device_sac *s, size_t i, const float *noise) {
  const hvi_device_sac_shape *z = &s->shape;
  hvi_device_trainer *t = &s->base.of[i];
  trainer *own = &s->own[i];
  const double n = (double)z->batch, alpha = alpha_of(z, own);
  double *loss = &t->numbers[0], *mean = &t->numbers[3];
  *loss = *mean = 0.0;
  for (size_t k = 0; k < z->batch; k++) {
    float *next = t->next + k * t->x_row;
    const double log_prob = sample(z, own, next, noise + k * z->act);
    const double least = fmin(*forward(&own->net[SLOW], next), *forward(&own->net[SLOW + 1], next));
    const double y =
        (double)t->reward[k] + (double)z->gamma * (double)t->future[k] * (least - alpha * log_prob);
    for (size_t c = 0; c < 2; c++) {
      const double q = *forward(&own->net[CRITIC + c], t->x + k * t->x_row);
      const double dy = 2.0 / n * (q - y);
      backward(&own->net[CRITIC + c], &dy);
      *loss += 0.5 * (q - y) * (q - y) / n;
      if (c == 0) *mean += q / n;
    }
  }
  for (size_t c = 0; c < 2; c++) {
    network *fast = &own->net[CRITIC + c], *slow = &own->net[SLOW + c];
    learn(fast, z->critic_lr, ++t->critic_steps[c]);
    for (size_t k = 0; k < fast->dim; k++)
      slow->theta[k] += z->tau * (fast->theta[k] - slow->theta[k]);
  }
}

static void step_actor(device_sac *s, size_t i, const float *noise) {
  const hvi_device_sac_shape *z = &s->shape;
  hvi_device_trainer *t = &s->base.of[i];
  trainer *own = &s->own[i];
  const double n = (double)z->batch, alpha = alpha_of(z, own), w = alpha / n;
  double *head = room(2 * z->act, sizeof *head);
  double *loss = &t->numbers[1], *entropy = &t->numbers[2];
  *loss = *entropy = 0.0;
  for (size_t k = 0; k < z->batch; k++) {
    float *x = t->x + k * t->x_row;
    const double log_prob = sample(z, own, x, noise + k * z->act), minus = -1.0 / n;
    const double q[2] = {*forward(&own->net[CRITIC], x), *forward(&own->net[CRITIC + 1], x)};
    const size_t smaller = q[0] <= q[1] ? 0U : 1U;
    const double *dx = backward(&own->net[CRITIC + smaller], &minus) + z->obs;
    for (size_t j = 0; j < z->act; j++) {
      const double u = own->squashed[j], v = own->spread[j], scale = (double)z->scale;
      const double dy = scale * dx[j] + 2.0 * w * scale * u / (scale * (1.0 - u * u) + 1e-6);
      const double e = exp(-5.0 + 3.5 * (v + 1.0)) * (double)noise[k * z->act + j];
      head[j] = (1.0 - u * u) * dy;
      head[z->act + j] = 3.5 * (1.0 - v * v) * (e * head[j] - w);
    }
    backward(&own->net[ACTOR], head);
    *loss += (alpha * log_prob - q[smaller]) / n;
    *entropy -= log_prob / n;
  }
  for (size_t c = 0; c < 2; c++)
    memset(own->net[CRITIC + c].gradient, 0, own->net[CRITIC + c].dim * sizeof(double));
  learn(&own->net[ACTOR], z->actor_lr, ++*t->actor_steps);
  free(head);
}

static void step_alpha(device_sac *s, size_t i, const float *noise) {
  const hvi_device_sac_shape *z = &s->shape;
  hvi_device_trainer *t = &s->base.of[i];
  trainer *own = &s->own[i];
  double sum = 0.0;
  for (size_t k = 0; k < z->batch; k++)
    sum += sample(z, own, t->x + k * t->x_row, noise + k * z->act) + (double)z->target_entropy;
  float *a = own->temperature;
  adam(a, a + 1, a + 2, -alpha_of(z, own) * sum / (double)z->batch, z->alpha_lr, ++*t->alpha_steps);
}

static hvi_status update(hvi_device_sac *sac, bool actor_too, hvi_error *err) {
  device_sac *s = (device_sac *)sac;
  const size_t block = s->shape.batch * s->shape.act;
  if (++emulated.runs == emulated.fail_at)
    return hvi_error_set(err, HVI_ERROR_IO, "the emulated device is lost");
  for (size_t i = 0; i < s->base.count; i++) {
    const hvi_device_trainer *host = &s->base.of[i];
    const float *noise = s->base.of[i].noise;
    step_critics(s, i, noise), noise += block;
    for (size_t j = 0; actor_too && j < s->shape.delay; j++) {
      step_actor(s, i, noise), noise += block;
      if (s->shape.alpha == 0.0F) step_alpha(s, i, noise), noise += block;
    }
    if (!actor_too) continue;
    memcpy(host->temperature, s->own[i].temperature, sizeof s->own[i].temperature);
    memcpy(host->actor[0], s->own[i].net[ACTOR].theta, s->own[i].net[ACTOR].dim * sizeof(float));
  }
  return HVI_OK;
}

const hvi_device_sac_functions *emulated_sac(void) {
  static const hvi_device_sac_functions functions = {make, free_sac, move, update};
  return &functions;
}
