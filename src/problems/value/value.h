/* Policy evaluation with networks from inside: what the problem and a sample hold. */
#pragma once

#include "base/base.h"
#include "gpu/device.h"
#include "net/net.h"
#include "problems/single.h"

#include <hvi/mlp.h>
#include <hvi/value.h>

typedef struct hvi_value {
  hvi_single one;
  hvi_problem_ops ops; /* which of the optional ones there are depends on the spec */
  hvi_value_spec spec; /* with copies of what it points at; batch is N, threads at least 1 */
  size_t obs, rows;    /* rows of the model: N, or 2 N with a buffer */
  bool ordered;        /* episodes stand step by step; so will rows that are added */
  const hvi_net *net;  /* the model's own */
  double *weights;     /* [rows]; this and the next three: one block */
  double *theta0;      /* [d] */
  double *center;      /* [obs], and */
  double *inverse;     /* [obs] 1 / spread; both NULL: states are taken as they are */
  /* targets that are returns: */
  double *returns; /* [count of the data]; NULL otherwise */
  size_t *usable;  /* [usable_count] rows whose return is known */
  size_t usable_count;
} hvi_value;

/* The rarest chunks of rows, the rarest first; sample.c. */
typedef struct hvi_value_rare {
  double *rarity;      /* [most] */
  size_t *chunk;       /* [most] */
  double *mean, *unit; /* [obs] of all states; 1 / variance */
} hvi_value_rare;

/* A draw. The arrays lie behind the struct. */
typedef struct hvi_value_sample {
  hvi_mlp_batch batch; /* comes first: what the model is bound to */
  size_t draws;        /* so far */
  size_t *row;         /* [N] rows of the data */
  size_t *end;         /* [N] those whose successor is not the next row's state */
  float *x;            /* [rows][obs] their states, then those of a batch of the buffer, scaled */
  float *scratch;      /* for evaluating successors */
  hvi_value_rare rare; /* for replay */
} hvi_value_sample;

/* NULL for a problem of another kind. */
const hvi_value *hvi_value_of(const hvi_problem *p);

/* Draws; sample.c. */
size_t hvi_value_sample_bytes(const hvi_value *v);
void hvi_value_draw_sample(const hvi_problem *p, const double *theta, void *sample, hvi_rng *rng);
void hvi_value_seek(const hvi_problem *p, void *sample, size_t draws);
void hvi_value_resample(const hvi_problem *p, void *sample, size_t m);

/* Rows of the data that draws have gone through; all of them unless draws are fresh. */
size_t hvi_value_rows_seen(const hvi_value *v, const hvi_value_sample *s);

/* Whether `row` is the next step of the row before; problem.c. */
bool hvi_value_follows(const hvi_value *v, size_t row);

/* Rows of a chunk; room for `most` chunks; the rarest of so many rows. */
size_t hvi_value_chunk(const hvi_value *v);
void hvi_value_place_rare(const hvi_value *v, hvi_value_rare *r, size_t most, hvi_arena *arena);
void hvi_value_find_rarest(const hvi_value *v, hvi_value_rare *r, size_t rows, size_t length,
                           size_t most);

/* LSTD on the last layer; modes.c. */
size_t hvi_value_modes(const hvi_problem *p, size_t *work);
size_t hvi_value_equations(const hvi_problem *p, const void *sample, const double *theta,
                           const hvi_modes_settings *set, hvi_modes *m);

/* Inputs and outputs without derivatives; values.c. */
/* x[obs] = (s - center) / spread */
void hvi_value_scale_state(const hvi_value *v, float *x, const float *s);
/* Floats of scratch that values take; at a whole cache line. */
size_t hvi_value_scratch(const hvi_value *v);
/* States source[index[i]][obs], or source[i][obs] without an index. */
typedef struct hvi_value_states {
  const float *source;
  const size_t *index;
  size_t rows;
  hvi_device_rows whose; /* for a device: whether they are the same each time (gpu/device.h) */
} hvi_value_states;
/* V_theta of states: values[rows]. */
void hvi_value_forward(const hvi_value *v, float *scratch, const double *theta,
                       const hvi_value_states *states, double *values);

/* Makes scratch ready for theta; then the inputs of the last layer for up to HVI_NET_ROWS rows of
 * source, `stride` apart. */
void hvi_value_prepare(const hvi_value *v, float *scratch, const double *theta);
const float *hvi_value_features(const hvi_value *v, float *scratch, const float *source,
                                const size_t *index, size_t rows, size_t *stride);

/* Fills in returns and usable; sample.c. */
hvi_status hvi_value_find_returns(hvi_value *v, hvi_error *err);
/* Rows of data that the first `count` returns are made of. */
size_t hvi_value_rows_of_returns(const hvi_value *v, size_t count);
