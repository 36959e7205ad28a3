/* What a checkpoint belongs to: everything that the bits of an evaluation depend on, in words. */
#include "base/hash.h"
#include "evaluate_parts.h"
#include "report/text.h"
#include "rollout.h"

#include <hvi/version.h>

#include <inttypes.h>
#include <string.h>

/* Of what is in the files: names and sizes alone may stay the same. */
static uint64_t hash_contents(const hvi_evaluate *e) {
  uint64_t hash = HVI_HASH_START;
  const hvi_dataset *d = e->data;
  const hvi_probe *p = e->probe;
  if (d) {
    hash = hvi_hash_bytes(hash, d->observation, d->count * d->obs * sizeof *d->observation);
    hash = hvi_hash_bytes(hash, d->next, d->count * d->obs * sizeof *d->next);
    hash = hvi_hash_bytes(hash, d->reward, d->count * sizeof *d->reward);
    hash = hvi_hash_bytes(hash, d->terminated, d->count * sizeof *d->terminated);
    hash = hvi_hash_bytes(hash, d->truncated, d->count * sizeof *d->truncated);
  }
  if (p) {
    hash = hvi_hash_bytes(hash, p->observation, p->states * p->obs * sizeof *p->observation);
    hash = hvi_hash_bytes(hash, p->value, p->states * sizeof *p->value);
    hash = hvi_hash_bytes(hash, p->standard_error, p->states * sizeof *p->standard_error);
  }
  return hash;
}

/* Everything that the bits depend on, but for how far the run goes. */
int hvi_evaluate_about(hvi_evaluate *e) {
  const hvi_value_spec *v = &e->spec.value;
  const hvi_settings *s = &e->setup.settings;
  const char *family = hvi_method_family(s);
  hvi_text t = {0};
  const char *from = e->env_name ? e->env_name : hvi_rollout_base_name(e->data_path);
  hvi_text_add(&t, "hvi %s; %s; policy %s; rows %zu; normalise %s; test states %zu; gap %s",
               hvi_version(), from, v->data->origin.fingerprint, e->data ? e->data->count : 0,
               e->normalise ? "yes" : "no", e->probe ? e->probe->states : 0, e->gap ? "yes" : "no");
  hvi_text_add(&t, "; data and test set %016" PRIx64 "; method %s", hash_contents(e),
               e->setup.method);
  /* a longer run from an environment has other rows to start over with */
  if (v->returns && e->env_name) hvi_text_add(&t, "; steps %zu", e->steps);
  hvi_text_settings(&t, hvi_value_table(), v, family);
  hvi_text_settings(&t, hvi_evaluation_table(), &e->spec, family);
  hvi_text_settings(&t, hvi_settings_table(), s, family);
  e->about = hvi_text_take(&t);
  return e->about ? HVI_EXIT_DONE : hvi_complain(HVI_EXIT_SYSTEM, "no memory");
}
