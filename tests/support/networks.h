/* The same network in single precision as hvi_mlp, and as a stack of layers: by default in double
 * precision and plain loops. */
#pragma once

#include "support/check.h"

#include <hvi/mlp.h>

#include <stdlib.h>

enum { NETWORK_LAYERS = 6 };

typedef struct network_case {
  const char *name;
  size_t in, layer_count, widths[NETWORK_LAYERS];
  hvi_activation hidden, head;
  size_t rows;
} network_case;

/* clang-format off */
static const network_case network_cases[] = {
  {"linear", 3, 1, {2}, HVI_IDENTITY, HVI_IDENTITY, 4},
  {"relu", 5, 2, {7, 3}, HVI_RELU, HVI_IDENTITY, 9},
  {"leaky relu", 5, 3, {17, 9, 1}, HVI_LEAKY_RELU, HVI_IDENTITY, 33},
  {"tanh", 4, 3, {20, 31, 1}, HVI_TANH, HVI_IDENTITY, 50},
  {"celu", 6, 2, {33, 2}, HVI_CELU, HVI_IDENTITY, 17},
  {"gelu", 6, 3, {16, 16, 3}, HVI_GELU, HVI_IDENTITY, 40},
  {"softplus", 2, 2, {12, 1}, HVI_SOFTPLUS, HVI_IDENTITY, 21},
  {"sigmoid, sigmoid head", 3, 3, {10, 11, 2}, HVI_SIGMOID, HVI_SIGMOID, 30},
  {"softmax head", 3, 3, {10, 12, 5}, HVI_TANH, HVI_SOFTMAX, 30},
  {"gelu head", 3, 2, {10, 5}, HVI_CELU, HVI_GELU, 12},
  {"one row", 7, 3, {19, 23, 1}, HVI_GELU, HVI_IDENTITY, 1},
  {"a row short of a slice", 3, 3, {8, 8, 1}, HVI_TANH, HVI_IDENTITY, 255},
  {"a slice", 3, 3, {8, 8, 1}, HVI_TANH, HVI_IDENTITY, 256},
  {"a row over a slice", 3, 3, {8, 8, 2}, HVI_TANH, HVI_IDENTITY, 257},
  {"four slices", 27, 3, {64, 48, 1}, HVI_RELU, HVI_IDENTITY, 1000},
  {"deep", 9, 6, {24, 24, 24, 24, 24, 1}, HVI_CELU, HVI_IDENTITY, 70},
  {"wide and narrow", 1, 4, {65, 1, 40, 3}, HVI_LEAKY_RELU, HVI_TANH, 30},
};
/* clang-format on */

enum { NETWORK_CASES = sizeof network_cases / sizeof network_cases[0] };

static inline double *network_input(const network_case *c) {
  double *x = malloc(c->rows * c->in * sizeof *x);
  assert_non_null(x);
  hvi_rng rng = hvi_rng_new(5, c->name, 0);
  /* as floats hold them, so that both networks see the same */
  for (size_t i = 0; i < c->rows * c->in; i++) x[i] = (float)hvi_rng_normal(&rng);
  return x;
}

static inline hvi_model *make_network(const network_case *c, size_t threads, bool fixed) {
  double *input = network_input(c);
  const hvi_mlp_spec spec = {.in = c->in,
                             .layer_count = c->layer_count,
                             .widths = c->widths,
                             .hidden = c->hidden,
                             .head = c->head,
                             .rows = c->rows,
                             .input = fixed ? input : NULL,
                             .threads = threads};
  hvi_model *m;
  hvi_error err;
  check_ok(hvi_mlp_new(&m, &spec, &err), &err);
  free(input);
  return m;
}

static inline hvi_model *make_stack_of(const network_case *c, hvi_precision precision) {
  double *input = network_input(c);
  hvi_layer layers[NETWORK_LAYERS];
  for (size_t l = 0; l < c->layer_count; l++) {
    layers[l] = (hvi_layer){.out = c->widths[l],
                            .train_bias = true,
                            .activation = l + 1 < c->layer_count ? c->hidden : c->head};
  }
  const hvi_stack_spec spec = {.in = c->in,
                               .input = input,
                               .rows = c->rows,
                               .layer_count = c->layer_count,
                               .layers = layers,
                               .precision = precision};
  hvi_model *m;
  hvi_error err;
  check_ok(hvi_stack_new(&m, &spec, &err), &err);
  free(input);
  return m;
}

static inline hvi_model *make_reference(const network_case *c) {
  return make_stack_of(c, HVI_PRECISION_REFERENCE);
}

/* Parameters of a usual size, as floats hold them. */
static inline void fill_parameters(const hvi_model *mlp, double *theta, uint64_t index) {
  hvi_rng rng = hvi_rng_new(3, "parameters", index);
  size_t count;
  const hvi_mlp_part *parts = hvi_mlp_parts(mlp, &count);
  for (size_t k = 0; k < count; k++) {
    const size_t in = parts[k].dims == 2 ? parts[k].shape[1] : 1;
    const double sd = parts[k].dims == 2 ? 1.2 / sqrt((double)in) : 0.3;
    for (size_t i = 0; i < parts[k].shape[0] * in; i++)
      theta[parts[k].offset + i] = (float)(sd * hvi_rng_normal(&rng));
  }
}

/* Everything one does with a model, in one allocation. */
typedef struct desk {
  const hvi_model *m;
  double *cache, *theta, *z, *u, *v, *back, *forth, *memory;
} desk;

static inline desk desk_new(const hvi_model *m) {
  const size_t d = m->dim, n = m->out;
  double *memory = calloc(m->cache + 3 * d + 3 * n, sizeof *memory);
  assert_non_null(memory);
  desk b = {.m = m, .memory = memory, .cache = memory, .theta = memory + m->cache};
  b.v = b.theta + d, b.back = b.v + d;
  b.z = b.back + d, b.u = b.z + n, b.forth = b.u + n;
  return b;
}

static inline void desk_free(desk *b) { free(b->memory); }

/* Evaluates, and takes both products. */
static inline void desk_use(const desk *b) {
  b->m->ops->eval(b->m, b->cache, b->theta, b->z);
  b->m->ops->vjp(b->m, b->cache, b->theta, b->u, b->back);
  b->m->ops->jvp(b->m, b->cache, b->theta, b->v, b->forth);
}

/* At a point of the tests' own. */
static inline desk desk_at(const hvi_model *m, const hvi_model *mlp, uint64_t index) {
  desk b = desk_new(m);
  fill_parameters(mlp, b.theta, index);
  fill_normal(b.u, m->out, 10 * index + 1);
  fill_normal(b.v, m->dim, 10 * index + 2);
  return b;
}
