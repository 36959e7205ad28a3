/*
 * Philox4x32-10 (Salmon, Moraes, Dror, Shaw, 2011): a keyed bijection of 128-bit counters whose
 * outputs pass for random. Ten rounds; in each, two of the four words are multiplied by constants,
 * and the high halves of the products are mixed with the other two words and the round's key.
 */
#pragma once

#include <stdint.h>

static inline void hvi_philox_block(uint32_t out[4], const uint32_t counter[4],
                                    const uint32_t key[2]) {
  uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
  uint32_t k0 = key[0], k1 = key[1];
  for (int round = 0; round < 10; round++) {
    uint64_t p0 = UINT64_C(0xD2511F53) * c0;
    uint64_t p1 = UINT64_C(0xCD9E8D57) * c2;
    c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
    c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
    c1 = (uint32_t)p1;
    c3 = (uint32_t)p0;
    k0 += UINT32_C(0x9E3779B9);
    k1 += UINT32_C(0xBB67AE85);
  }
  out[0] = c0;
  out[1] = c1;
  out[2] = c2;
  out[3] = c3;
}
