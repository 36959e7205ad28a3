/* Hashes of 64 bits: FNV-1a for fingerprints, and a faster one for checksums of files. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HVI_HASH_START UINT64_C(0xcbf29ce484222325)

/* The hash of what gave `hash` followed by bytes[size]. */
static inline uint64_t hvi_hash_bytes(uint64_t hash, const void *bytes, size_t size) {
  const unsigned char *b = bytes;
  for (size_t i = 0; i < size; i++) hash = (hash ^ b[i]) * UINT64_C(0x100000001b3);
  return hash;
}

static inline uint64_t hvi_hash_count(uint64_t hash, uint64_t count) {
  return hvi_hash_bytes(hash, &count, sizeof count);
}

/* The checksum of what gave `sum` followed by bytes[size]. Each word of eight bytes maps the sums
 * one to one, so that a change within one word is always noticed. */
static inline uint64_t hvi_checksum(uint64_t sum, const void *bytes, size_t size) {
  const unsigned char *b = bytes;
  uint64_t word = size;
  for (size_t i = 0;; i += sizeof word) {
    sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    sum ^= sum >> 32;
    if (i >= size) return sum;
    word = 0;
    memcpy(&word, b + i, size - i < sizeof word ? size - i : sizeof word);
  }
}
