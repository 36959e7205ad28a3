/*
 * A network of another size: z = shift + scale g(theta), J = scale J_g.
 *
 * Products are scaled after the network's own, so that no room is needed for scaled arguments.
 */
#include "problems/value/value.h"

#include "base/error.h"
#include "base/memory.h"
#include "num/vec.h"

typedef struct scaled {
  hvi_model base;
  hvi_model *network; /* owned */
  double shift, scale;
} scaled;

static void eval(const hvi_model *m, double *cache, const double *theta, double *z) {
  const scaled *s = (const scaled *)m;
  s->network->ops->eval(s->network, cache, theta, z);
  for (size_t i = 0; i < m->out; i++) z[i] = s->shift + s->scale * z[i];
}

static void vjp(const hvi_model *m, double *cache, const double *theta, const double *u,
                double *out) {
  const scaled *s = (const scaled *)m;
  s->network->ops->vjp(s->network, cache, theta, u, out);
  hvi_vec_scale(out, s->scale, m->dim);
}

static void jvp(const hvi_model *m, double *cache, const double *theta, const double *v,
                double *out) {
  const scaled *s = (const scaled *)m;
  s->network->ops->jvp(s->network, cache, theta, v, out);
  hvi_vec_scale(out, s->scale, m->out);
}

static void bind(const hvi_model *m, double *cache, const void *sample) {
  const scaled *s = (const scaled *)m;
  s->network->ops->bind(s->network, cache, sample);
}

static void outer_gram(const hvi_model *m, double *cache, const double *theta, double *K,
                       double *work) {
  const scaled *s = (const scaled *)m;
  s->network->ops->outer_gram(s->network, cache, theta, K, work);
  for (size_t i = 0; i < m->out; i++) hvi_vec_scale(K + i * m->out, s->scale * s->scale, i + 1);
}

static void jacobian(const hvi_model *m, double *cache, const double *theta, double *J) {
  const scaled *s = (const scaled *)m;
  s->network->ops->jacobian(s->network, cache, theta, J);
  hvi_vec_scale(J, s->scale, m->out * m->dim);
}

static void free_scaled(hvi_model *m) {
  hvi_model_free(((scaled *)m)->network);
  hvi_free(m);
}

static const hvi_model_ops scaled_ops = {.name = "scaled network",
                                         .eval = eval,
                                         .vjp = vjp,
                                         .jvp = jvp,
                                         .bind = bind,
                                         .outer_gram = outer_gram,
                                         .jacobian = jacobian,
                                         .free = free_scaled};

hvi_status hvi_value_scaled_new(hvi_model **model, hvi_model *network, double shift, double scale,
                                hvi_error *err) {
  scaled *s = hvi_alloc(1, sizeof *s);
  *model = (hvi_model *)s;
  if (!s) {
    hvi_model_free(network);
    return hvi_error_memory(err, "a scaled network");
  }
  *s = (scaled){.base = *network, .network = network, .shift = shift, .scale = scale};
  s->base.ops = &scaled_ops;
  return HVI_OK;
}
