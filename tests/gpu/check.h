/*
 * What `hvi-gpu-check` is made of: groups of comparisons of a device with plain loops in double
 * precision (reference.h), and of a device with itself.
 *
 * A group counts its comparisons and keeps the largest error, as a share of what is allowed. Shapes,
 * rows and numbers are random, from a seed that is printed.
 */
#pragma once

#include "gpu/device.h"
#include "reference.h"

#include <hvi/rng.h>

typedef struct check_options {
  const hvi_device_functions *functions;
  hvi_device_precision precision;
  bool quick;       /* small and few */
  const char *only; /* this group alone; NULL: all */
  uint64_t seed;
} check_options;

/* Relative errors that are allowed: of outputs, of gradients, of losses and outputs after steps. */
typedef struct check_limits {
  double output, gradient, descent;
} check_limits;

typedef struct check {
  const check_options *options;
  const hvi_device_functions *f;
  check_limits limits;
  hvi_device *device;
  hvi_rng rng;
  /* the group that is under way */
  const char *group;
  size_t count, failed, left_out;
  double error, limit; /* of the comparison that came nearest to its limit, or went furthest past */
  size_t groups_failed;
} check;

/* Runs all groups; 0, or 1 after a failure. HVI_EXIT codes are the program's. */
int check_run(const check_options *options);

/* False where the group is not asked for. */
bool check_begin(check *c, const char *group);
void check_end(check *c);
/* Counts a comparison; one that fails says why, with the first few of a group told. */
void check_that(check *c, bool good, const char *format, ...) __attribute__((format(printf, 3, 4)));
void check_error(check *c, double error, double limit, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* A call of the device that must work: false after a failure. */
bool check_call(check *c, hvi_status status, const hvi_error *err);

/* [low, high] */
size_t check_pick(check *c, size_t low, size_t high);

/* A network with rows, numbers and a job of its own. */
typedef struct learner {
  const hvi_device_shape *shape;
  size_t rows, numbers;
  float *x, *theta, *v, *y, *result;
  double *u, *target, *weight, *linear;
  hvi_device_net *net;
  hvi_device_job job;
} learner;

hvi_device_shape check_shape(check *c, size_t layers, size_t widest, hvi_activation activation);
hvi_activation check_activation(size_t i);
bool check_has_kink(hvi_activation a);
extern const size_t check_activation_count;

/* Random; frees itself and is false after a failure. */
bool learner_new(check *c, learner *l, const hvi_device_shape *shape, size_t rows);
void learner_free(check *c, learner *l);
learner *learners_new(check *c, size_t count, const hvi_device_shape *shape, size_t most_rows);
void learners_free(check *c, learner *all, size_t count);

/* A descent of `most` steps with a rate that suits its rule. */
hvi_device_descent learner_descent(const learner *l, hvi_device_rule rule, size_t most);
/* Puts the job back to its beginning, with theta as given. */
void learner_set(learner *l, const hvi_device_descent *d);
/* Runs the jobs together to their end, descents in chunks of `steps`. */
bool learners_run(check *c, hvi_device_kind kind, learner *all, size_t count, size_t steps);

/* The reference's descent of a learner; the caller frees. */
typedef struct answer {
  double *theta, *y, *losses;
  hvi_device_descent descent;
  double *block;
} answer;
bool answer_new(answer *a, const learner *l, const hvi_device_descent *d);
void answer_free(answer *a);

double *widen(const float *x, size_t n);
/* |x - y| and |y| over n numbers. */
double distance(const float *x, const double *y, size_t n);
double length(const double *y, size_t n);

void check_kernels(check *c);
void check_large(check *c);
void check_bits(check *c);
void check_thresholds(check *c);
void check_memory(check *c);
void check_methods(check *c);
void check_sac(check *c);
