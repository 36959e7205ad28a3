/* The identity of a policy: a hash of its shapes and of its parameters' bits. */
#include "base/hash.h"
#include "rl/policy.h"

#include <hvi/rollout.h>

#include <inttypes.h>
#include <stdio.h>

static uint64_t hash_net(uint64_t hash, const hvi_policy *p) {
  hash = hvi_hash_count(hash, p->net->layer_count);
  for (size_t l = 0; l < p->net->layer_count; l++)
    hash = hvi_hash_count(hash, p->net->layers[l].out);
  hash = hvi_hash_bytes(hash, p->weights, p->net->dim * sizeof *p->weights);
  hash = hvi_hash_bytes(hash, p->scale, p->act * sizeof *p->scale);
  return hvi_hash_bytes(hash, p->shift, p->act * sizeof *p->shift);
}

static uint64_t hash_linear(uint64_t hash, const hvi_policy *p) {
  hash = hvi_hash_bytes(hash, p->gain, p->act * p->obs * sizeof *p->gain);
  return hvi_hash_bytes(hash, p->std, p->act * sizeof *p->std);
}

void hvi_policy_fingerprint(char text[17], const hvi_policy *p) {
  uint64_t hash = hvi_hash_count(HVI_HASH_START, p->obs);
  hash = hvi_hash_count(hash, p->act);
  hash = p->net ? hash_net(hash, p) : hash_linear(hash, p);
  snprintf(text, 17, "%016" PRIx64, hash);
}
