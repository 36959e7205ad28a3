/*
 * Random numbers as a value: a counter-based generator (Philox4x32-10).
 *
 * A generator is named by (seed, stream, index) and can be copied, stored and passed on. Two
 * generators with different names are independent, so work can be split over threads without a
 * shared state: draw number k of a stream is the same whoever asks for it.
 */
#ifndef HVI_RNG_H
#define HVI_RNG_H

#include <hvi/export.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hvi_rng {
  uint32_t key[2];     /* from seed and stream */
  uint32_t counter[4]; /* {block low, block high, index low, index high} */
  uint32_t buffer[4];  /* the current block of output */
  uint32_t used;       /* words of it already given out */
} hvi_rng;

/* The generator of `stream` (a purpose: "theta0", "noise") for item `index` under `seed`. */
HVI_API hvi_rng hvi_rng_new(uint64_t seed, const char *stream, uint64_t index);

/* So many random bits. */
HVI_API uint32_t hvi_rng_u32(hvi_rng *rng);
HVI_API uint64_t hvi_rng_u64(hvi_rng *rng);

/* Uniform on [0, 1) with 53 random bits; uniform on [low, high). */
HVI_API double hvi_rng_uniform(hvi_rng *rng);
HVI_API double hvi_rng_range(hvi_rng *rng, double low, double high);

/* Standard normal (Box-Muller, two uniforms a draw: draws can be counted). */
HVI_API double hvi_rng_normal(hvi_rng *rng);

/* Fills x[n]. */
HVI_API void hvi_rng_fill_uniform(hvi_rng *rng, double low, double high, size_t n, double *x);
HVI_API void hvi_rng_fill_normal(hvi_rng *rng, double mean, double sd, size_t n, double *x);

#ifdef __cplusplus
}
#endif

#endif
