/*
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
 * since -e^2/2 does not depend on the parameters.
 */
#include "rl/policy_squash.h"

enum { ARRAYS = 8, LINE = 16 };

static const float LOW = -5.0F, HALF_RANGE = 3.5F, EPSILON = 1e-6F;
static const float LOG_SQRT_2PI = 0.918938533F;

static size_t aligned(size_t n) { return (n + LINE - 1) / LINE * LINE; }

size_t hvi_squash_size(size_t rows, size_t act) {
  return ARRAYS * aligned(rows * act) + aligned(rows);
}

void hvi_squash_place(hvi_squash *s, float *memory, size_t rows) {
  float **arrays[ARRAYS] = {&s->mean,  &s->turn, &s->log_std, &s->std,
                            &s->noise, &s->y,    &s->room,    &s->log_room};
  for (size_t i = 0; i < ARRAYS; i++) *arrays[i] = memory + i * aligned(rows * s->act);
  s->log_prob = memory + ARRAYS * aligned(rows * s->act);
}

void hvi_squash_read(hvi_squash *s, const float *head, size_t first, size_t rows) {
  const size_t act = s->act;
  for (size_t i = 0; i < rows; i++) {
    const float *in = head + i * 2 * act;
    float *mean = s->mean + (first + i) * act, *turn = s->turn + (first + i) * act;
    for (size_t j = 0; j < act; j++) {
      mean[j] = in[j];
      turn[j] = in[act + j];
    }
  }
}

void hvi_squash_sample(hvi_squash *s, size_t rows, float *action, size_t action_row) {
  const size_t n = rows * s->act;
  s->kernels->tanh(s->turn, s->turn, n);
  for (size_t i = 0; i < n; i++) s->log_std[i] = LOW + HALF_RANGE * (s->turn[i] + 1.0F);
  s->kernels->exp(s->std, s->log_std, n);
  for (size_t i = 0; i < n; i++) s->y[i] = s->mean[i] + s->std[i] * s->noise[i];
  s->kernels->tanh(s->y, s->y, n);
  for (size_t i = 0; i < rows; i++) {
    const float *y = s->y + i * s->act;
    float *a = action + i * action_row;
    for (size_t j = 0; j < s->act; j++) a[j] = s->scale[j] * y[j] + s->shift[j];
  }
}

void hvi_squash_log_prob(hvi_squash *s, size_t rows) {
  const size_t act = s->act;
  for (size_t i = 0; i < rows; i++) {
    for (size_t j = 0; j < act; j++) {
      const float y = s->y[i * act + j];
      s->room[i * act + j] = s->scale[j] * (1.0F - y * y) + EPSILON;
    }
  }
  s->kernels->log(s->log_room, s->room, rows * act);
  for (size_t i = 0; i < rows; i++) {
    float sum = 0.0F;
    for (size_t j = i * act; j < (i + 1) * act; j++) {
      const float e = s->noise[j];
      sum += -0.5F * e * e - s->log_std[j] - LOG_SQRT_2PI - s->log_room[j];
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
      const float y = s->y[k], t = s->turn[k], scale = s->scale[j];
      const float dy = scale * pull[k] + 2.0F * weight * scale * y / s->room[k];
      const float dm = (1.0F - y * y) * dy;
      out[j] = dm;
      out[act + j] = HALF_RANGE * (1.0F - t * t) * (s->std[k] * s->noise[k] * dm - weight);
    }
  }
}
