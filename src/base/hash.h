/* A hash for checksums and fingerprints: FNV-1a, 64 bits. */
#ifndef HVI_BASE_HASH_H
#define HVI_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

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

#endif
