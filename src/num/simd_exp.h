/*
 * An exponential without branches, tables or calls, so that a loop over it becomes SIMD code. It is
 * for x <= 0, which is all that activations need: written well, they never raise e to more.
 *
 *   x = k ln 2 + r,  |r| <= ln 2 / 2,    exp(x) = 2^k (1 + p),    p = exp(r) - 1 = r + r^2 q(r)
 *
 * k is rounded by adding 1.5 * 2^52, which leaves it in the low bits of the sum; ln 2 is split so
 * that k times its high part is exact (Cody and Waite); q is a minimax polynomial of degree 9, off
 * by less than 2.1e-17. 2^k is made 2^128 too large and scaled back at the end, so that results
 * underflow gradually, as they should.
 *
 * Results are within 2 units in the last place; NaN stays NaN.
 */
#pragma once

#include <stdint.h>
#include <string.h>

/* exp(x) for x <= 0 */
static inline double hvi_simd_exp(double x) {
  /* exp(-746) is zero already */
  const double c = x < -746.0 ? -746.0 : x;
  const double round = 0x1.8p52, log2e = 0x1.71547652b82fep0;
  const double ln2_high = 0x1.62e42fefp-1, ln2_low = 0x1.473de6af278edp-34;
  const double sum = c * log2e + round, k = sum - round;
  const double r = (c - k * ln2_high) - k * ln2_low;
  /* Estrin's order: short chains, so that several exponentials overlap in the pipeline */
  const double r2 = r * r, r4 = r2 * r2;
  const double q01 = 0x1.555555555555cp-3 * r + 0x1.0000000000004p-1;
  const double q23 = 0x1.111111110e93ep-7 * r + 0x1.55555555525b4p-5;
  const double q45 = 0x1.a01a01b516758p-13 * r + 0x1.6c16c17e3ecabp-10;
  const double q67 = 0x1.71ddeb9881f36p-19 * r + 0x1.a019a8fe139fcp-16;
  const double q89 = 0x1.af745654ef0d1p-26 * r + 0x1.28a085998743p-22;
  const double q03 = q23 * r2 + q01, q47 = q67 * r2 + q45;
  const double q = (q89 * r4 + q47) * r4 + q03, p = r2 * q + r;
  uint64_t bits;
  double scale;
  memcpy(&bits, &sum, sizeof bits);
  bits = (bits + 1023 + 128) << 52;
  memcpy(&scale, &bits, sizeof bits);
  return 0x1p-128 * (scale * p + scale);
}
