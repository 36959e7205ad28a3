/*
 * Many games of one shape, side by side.
 *
 * A lane holds one number of HVI_LANES instances. All numbers of a chunk of instances lie in one
 * array of lanes; a plan says which slots of it hold what. The kernels are loops over lanes that
 * compile to SIMD code, built once per instruction set and chosen when the library runs.
 */
#pragma once

#include "model/stack.h"

#include <hvi/ensemble.h>

enum { HVI_LANES = 64 };

/* One that nobody has computed yet; NULL without memory. */
hvi_ensemble *hvi_ensemble_new(size_t count, size_t max_outer, size_t every);

typedef struct hvi_lane {
  _Alignas(64) double at[HVI_LANES];
} hvi_lane;

/* Plans are compared by their tables, byte by byte: these have no gaps. Numbers are slots where
 * nothing else is said. */

/* y = activation(W x) */
typedef struct hvi_lanes_layer {
  size_t in, out;
  size_t activation; /* hvi_activation */
  size_t matrix;     /* [out][in] */
  size_t y;          /* [out]; the last layer's are the player's outputs */
  size_t slope;      /* [out] */
} hvi_lanes_layer;

typedef struct hvi_lanes_player {
  size_t dim, out;
  size_t theta, z; /* where the player's share of a vector over all players begins */
  size_t layer_count, first_layer;
  size_t eta, weight; /* one slot each */
  size_t jacobian;    /* [out][dim], for lm */
} hvi_lanes_player;

typedef struct hvi_lanes_payoff {
  size_t row;             /* where its player's outputs begin */
  size_t column, columns; /* a range of outputs */
  size_t matrix;          /* [out][columns] */
} hvi_lanes_payoff;

typedef struct hvi_lanes_set {
  size_t kind; /* hvi_set_kind */
  size_t begin, len;
  size_t lower, upper; /* box: [len] */
} hvi_lanes_set;

/* The first slots, of one number each. */
enum {
  HVI_SLOT_ACTIVE, /* 1 or 0: not ended yet */
  HVI_SLOT_LOSS0,  /* before the inner steps */
  HVI_SLOT_LOSS,   /* after them */
  HVI_SLOT_DIST2,
  HVI_SLOT_RESIDUAL2,
  HVI_SLOT_BOUND2, /* a larger residual2 is divergence */
  HVI_SLOT_STILL,  /* outer steps in a row without movement */
  HVI_SLOT_COUNT
};

typedef struct hvi_lanes_plan {
  const hvi_settings *method;
  bool damped;         /* lm; else gd */
  double tol2;         /* a residual2 at or below has converged */
  double growth_bound; /* infinite: no bound */
  double stall_window; /* infinite: nothing counts as stalled */

  size_t d, n;
  size_t player_count, payoff_count, set_count;
  size_t table_size; /* bytes of the tables, which follow the plan in memory */
  hvi_lanes_player *players;
  hvi_lanes_layer *layers;
  hvi_lanes_payoff *payoffs;
  hvi_lanes_set *sets;

  /* slots over all players */
  size_t theta, step;                  /* [d] */
  size_t z, z_last, f, target, r, gap; /* [n] */
  size_t solution, offset;             /* [n]; offset: the constant part of F */
  size_t back;                         /* [2 * widest] */
  size_t widest;
  size_t scratch; /* for one player at a time */
  size_t slots;
} hvi_lanes_plan;

/* One build of the kernels. */
typedef struct hvi_lanes_kernel {
  const char *name;
  /* z, F, residual, dist2 at theta */
  void (*start)(const hvi_lanes_plan *plan, hvi_lane *slots);
  /* One outer iteration of the active lanes. Loss and dist2 are filled in when `record` is set. */
  void (*step)(const hvi_lanes_plan *plan, hvi_lane *slots, size_t inner_steps, bool record);
  /* True: some active lane stalled, left (tol, bound] or is not finite. */
  bool (*ended)(const hvi_lanes_plan *plan, const hvi_lane *slots);
} hvi_lanes_kernel;

extern const hvi_lanes_kernel hvi_lanes_baseline, hvi_lanes_avx2, hvi_lanes_avx512;

/* Whether lanes can run this method, which stays, on this problem, and how; *plan is NULL when they
 * cannot. Free it with hvi_free. */
hvi_status hvi_lanes_plan_new(hvi_lanes_plan **plan, const hvi_problem *p, const hvi_settings *s,
                              hvi_error *err);
/* Writes an instance into one lane and makes it active; *fits is false, and nothing is written,
 * when its shape is not the plan's. eta is the step size in force. */
hvi_status hvi_lanes_load(const hvi_lanes_plan *plan, hvi_lane *slots, size_t lane,
                          const hvi_problem *p, double eta, bool *fits, hvi_error *err);

/* The builds that this CPU can run, fastest first, ending in NULL. */
const hvi_lanes_kernel *const *hvi_lanes_kernels(void);
