/*
 * A registry of models. A case that is entered here gets every check of test_models.c.
 *
 * Matrices and inputs are drawn; a layer is described by its width, its activation and two
 * letters: its matrix fixed 'f' or trainable 't', and its bias '-', 'f' or 't'.
 */
#pragma once

#include "support/check.h"

#include <hvi/model.h>

#include <stdlib.h>

enum { CASE_LAYERS = 5, CASE_PLAYERS = 3 };

typedef struct layer_case {
  size_t out;
  hvi_activation activation;
  char matrix; /* 'f' fixed, 't' trainable */
  char bias;   /* '-' none, 'f' fixed, 't' trainable */
} layer_case;

typedef struct stack_case {
  size_t in;
  size_t rows; /* 0: theta is the input; otherwise so many fixed inputs */
  size_t layer_count;
  layer_case layers[CASE_LAYERS];
} stack_case;

typedef struct model_case {
  const char *name;
  size_t player_count; /* 1: the stack alone */
  stack_case players[CASE_PLAYERS];
} model_case;

/* clang-format off */
static const model_case model_cases[] = {
  {"affine, square", 1, {{4, 0, 1, {{4, HVI_IDENTITY, 'f', 'f'}}}}},
  {"affine, more outputs than parameters", 1, {{2, 0, 1, {{7, HVI_IDENTITY, 'f', '-'}}}}},
  {"affine, more parameters than outputs", 1, {{9, 0, 1, {{3, HVI_IDENTITY, 'f', 'f'}}}}},
  {"a single number", 1, {{1, 0, 2, {{1, HVI_CELU, 'f', '-'}, {1, HVI_SIGMOID, 'f', '-'}}}}},
  {"celu", 1, {{3, 0, 2, {{5, HVI_CELU, 'f', 'f'}, {4, HVI_IDENTITY, 'f', '-'}}}}},
  {"sigmoid", 1, {{3, 0, 2, {{5, HVI_SIGMOID, 'f', 'f'}, {4, HVI_IDENTITY, 'f', '-'}}}}},
  {"softmax inside", 1, {{3, 0, 2, {{5, HVI_SOFTMAX, 'f', 'f'}, {4, HVI_IDENTITY, 'f', '-'}}}}},
  {"tanh", 1, {{3, 0, 2, {{5, HVI_TANH, 'f', 'f'}, {4, HVI_IDENTITY, 'f', '-'}}}}},
  {"relu", 1, {{3, 0, 2, {{5, HVI_RELU, 'f', 'f'}, {4, HVI_IDENTITY, 'f', '-'}}}}},
  {"leaky relu", 1, {{3, 0, 2, {{5, HVI_LEAKY_RELU, 'f', 'f'}, {4, HVI_IDENTITY, 'f', '-'}}}}},
  {"gelu", 1, {{3, 0, 2, {{5, HVI_GELU, 'f', 'f'}, {4, HVI_IDENTITY, 'f', '-'}}}}},
  {"softplus", 1, {{3, 0, 2, {{5, HVI_SOFTPLUS, 'f', 'f'}, {4, HVI_IDENTITY, 'f', '-'}}}}},
  {"hidden strategy on a simplex", 1, {{5, 0, 2, {{4, HVI_CELU, 'f', '-'}, {3, HVI_SOFTMAX, 'f', '-'}}}}},
  {"input and layers trainable", 1, {{3, 0, 2, {{4, HVI_TANH, 't', 't'}, {2, HVI_SIGMOID, 't', '-'}}}}},
  {"trainable between fixed layers", 1, {{3, 0, 3, {{4, HVI_GELU, 'f', 't'}, {4, HVI_CELU, 't', 'f'}, {3, HVI_SOFTMAX, 'f', '-'}}}}},
  {"network on one fixed input", 1, {{3, 1, 2, {{6, HVI_TANH, 't', 't'}, {2, HVI_IDENTITY, 't', 't'}}}}},
  {"network on several inputs", 1, {{4, 6, 3, {{5, HVI_GELU, 't', 't'}, {5, HVI_SOFTPLUS, 't', '-'}, {2, HVI_SOFTMAX, 't', 't'}}}}},
  {"only the last bias is trainable", 1, {{3, 4, 2, {{4, HVI_TANH, 'f', 'f'}, {2, HVI_SIGMOID, 'f', 't'}}}}},
  {"only the first layer is trainable", 1, {{3, 4, 2, {{4, HVI_CELU, 't', '-'}, {2, HVI_TANH, 'f', 'f'}}}}},
  {"many rows, few parameters", 1, {{2, 40, 1, {{1, HVI_TANH, 't', 't'}}}}},
  {"products in plain loops beyond the small ones", 1, {{12, 0, 2, {{20, HVI_TANH, 'f', 'f'}, {10, HVI_SIGMOID, 'f', '-'}}}}},
  {"products by BLAS", 1, {{70, 0, 3, {{60, HVI_TANH, 'f', 'f'}, {50, HVI_CELU, 'f', '-'}, {45, HVI_SOFTMAX, 'f', '-'}}}}},
  {"network with products by BLAS", 1, {{50, 3, 2, {{55, HVI_SIGMOID, 't', 't'}, {4, HVI_IDENTITY, 't', 't'}}}}},
  {"deep", 1, {{6, 0, 5, {{8, HVI_TANH, 'f', 'f'}, {8, HVI_GELU, 't', 't'}, {8, HVI_CELU, 'f', '-'}, {8, HVI_SOFTPLUS, 't', 't'}, {5, HVI_SOFTMAX, 'f', 'f'}}}}},
  {"two players alike", 2, {{1, 0, 2, {{1, HVI_CELU, 'f', '-'}, {1, HVI_SIGMOID, 'f', '-'}}},
                            {1, 0, 2, {{1, HVI_CELU, 'f', '-'}, {1, HVI_SIGMOID, 'f', '-'}}}}},
  {"three players of unequal sizes", 3, {{5, 0, 2, {{4, HVI_CELU, 'f', '-'}, {3, HVI_SOFTMAX, 'f', '-'}}},
                                         {2, 0, 1, {{6, HVI_TANH, 'f', 'f'}}},
                                         {3, 5, 2, {{4, HVI_GELU, 't', 't'}, {1, HVI_IDENTITY, 't', '-'}}}}},
  {"network on the kernels", 1, {{8, 70, 3, {{17, HVI_TANH, 't', 't'}, {64, HVI_SIGMOID, 't', 't'}, {3, HVI_SOFTMAX, 't', 't'}}}}},
  {"kernels, softmax inside, one unit", 1, {{3, 64, 4, {{17, HVI_SOFTMAX, 't', '-'}, {1, HVI_TANH, 't', 't'}, {9, HVI_CELU, 't', 't'}, {3, HVI_SOFTPLUS, 't', '-'}}}}},
  {"kernels, trainable among fixed layers", 1, {{5, 61, 4, {{30, HVI_GELU, 'f', 'f'}, {16, HVI_LEAKY_RELU, 't', '-'}, {7, HVI_TANH, 'f', 't'}, {4, HVI_SIGMOID, 't', 'f'}}}}},
  {"kernels, two slices", 1, {{2, 300, 2, {{5, HVI_TANH, 't', 't'}, {2, HVI_SOFTMAX, 't', 't'}}}}},
  {"a network, a network and a small stack", 3, {{4, 40, 2, {{20, HVI_TANH, 't', 't'}, {2, HVI_SOFTMAX, 't', 't'}}},
                                                 {5, 0, 2, {{4, HVI_CELU, 'f', '-'}, {3, HVI_SOFTMAX, 'f', '-'}}},
                                                 {3, 33, 2, {{18, HVI_SIGMOID, 't', 't'}, {3, HVI_IDENTITY, 't', '-'}}}}},
};
/* clang-format on */

enum { MODEL_CASES = sizeof model_cases / sizeof model_cases[0] };

/* n numbers of size 1 / sqrt(fan); the caller frees them. */
static inline double *draw_numbers(hvi_rng *rng, size_t n, size_t fan) {
  double *x = malloc(n * sizeof *x);
  assert_non_null(x);
  hvi_rng_fill_normal(rng, 0.0, 1.5 / sqrt((double)fan), n, x);
  return x;
}

static inline hvi_model *make_stack(const stack_case *c, hvi_rng *rng) {
  hvi_layer layers[CASE_LAYERS];
  double *drawn[2 * CASE_LAYERS + 1] = {NULL};
  size_t in = c->in, count = 0;
  double *input = c->rows ? draw_numbers(rng, c->rows * in, 1) : NULL;
  for (size_t l = 0; l < c->layer_count; l++) {
    const layer_case *from = &c->layers[l];
    layers[l] = (hvi_layer){
        .out = from->out, .train_bias = from->bias == 't', .activation = from->activation};
    if (from->matrix == 'f')
      layers[l].matrix = drawn[count++] = draw_numbers(rng, from->out * in, in);
    if (from->bias == 'f') layers[l].bias = drawn[count++] = draw_numbers(rng, from->out, 1);
    in = from->out;
  }
  const hvi_stack_spec spec = {.in = c->in,
                               .input = input,
                               .rows = c->rows ? c->rows : 1,
                               .layer_count = c->layer_count,
                               .layers = layers};
  hvi_model *model;
  hvi_error err;
  check_ok(hvi_stack_new(&model, &spec, &err), &err);
  for (size_t i = 0; i < count; i++) free(drawn[i]);
  free(input);
  return model;
}

static inline hvi_model *make_model(const model_case *c) {
  hvi_rng rng = hvi_rng_new(11, c->name, 0);
  hvi_model *players[CASE_PLAYERS], *model;
  hvi_error err;
  for (size_t k = 0; k < c->player_count; k++) players[k] = make_stack(&c->players[k], &rng);
  if (c->player_count == 1) return players[0];
  check_ok(hvi_players_new(&model, c->player_count, players, &err), &err);
  return model;
}

/* Room for everything one does with a model, and a point in it. */
typedef struct bench {
  const hvi_model *m;
  double *cache, *theta, *z, *u, *v, *back, *forth, *memory;
} bench;

static inline bench bench_new(const hvi_model *m, uint64_t index) {
  const size_t d = m->dim, n = m->out;
  double *memory = calloc(m->cache + 3 * d + 3 * n, sizeof *memory);
  assert_non_null(memory);
  bench b = {.m = m, .memory = memory, .cache = memory, .theta = memory + m->cache};
  b.v = b.theta + d, b.back = b.v + d;
  b.z = b.back + d, b.u = b.z + n, b.forth = b.u + n;
  fill_normal(b.theta, d, 10 * index);
  fill_normal(b.u, n, 10 * index + 1);
  fill_normal(b.v, d, 10 * index + 2);
  return b;
}

static inline void bench_free(bench *b) { free(b->memory); }
