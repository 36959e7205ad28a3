/* What a checkpoint belongs to: everything that the bits of an evaluation depend on, in words. */
#include "base/hash.h"
#include "evaluate_parts.h"
#include "exit_codes.h"
#include "report/text.h"
#include "rollout.h"
#include "tunables.h"

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
  hvi_text t = {0};
  char text[64];
  const char *from = e->env_name ? e->env_name : hvi_rollout_base_name(e->data_path);
  hvi_text_add(&t, "hvi %s; %s; policy %s; rows %zu; gamma %.17g; seed %llu", hvi_version(), from,
               v->data->origin.fingerprint, e->data ? e->data->count : 0, e->gamma,
               (unsigned long long)e->setup.seed);
  hvi_text_add(&t, "; batch %zu; replay %zu; double-sampling %zu; normalise %s; hidden ", e->batch,
               e->replay, e->buffer, e->normalise ? "yes" : "no");
  for (size_t i = 0; i < v->hidden_count; i++) {
    hvi_text_add(&t, "%s%zu", i ? "," : "", v->hidden[i]);
  }
  hvi_text_add(&t,
               "; activation %s; test states %zu; gap %s; method %s; eta %.17g; lr-decay %.17g; "
               "polyak %.17g",
               e->activation_text, e->probe ? e->probe->states : 0, e->gap ? "yes" : "no",
               e->setup.method, s->eta, e->spec.settings.inner_lr_decay, e->spec.polyak);
  hvi_text_add(&t, "; lambda %.17g; lambda-decay %.17g", v->lambda, v->lambda_decay);
  hvi_text_add(&t, "; data and test set %016" PRIx64, hash_contents(e));
  /* a longer run from an environment has other rows to start over with */
  if (e->returns) hvi_text_add(&t, "; returns; steps %zu", e->env_name ? e->steps : 0);
  if (s->baseline == HVI_BASELINE_RULE) {
    hvi_text_add(&t, "; adam %s; copy-every %zu", s->rule_settings.adam ? "yes" : "no",
                 s->rule_settings.copy_every);
  }
  for (const hvi_tunable *f = hvi_tunables; f->name; f++) {
    if (f->kind == HVI_ARG_SECTION || !hvi_tunable_used(f, s)) continue;
    if (strcmp(f->name, "iters") == 0 || strcmp(f->name, "max-seconds") == 0) continue;
    hvi_tunable_text(f, s, text, sizeof text);
    hvi_text_add(&t, "; %s %s", f->name, text);
  }
  e->about = hvi_text_take(&t);
  return e->about ? HVI_EXIT_DONE : hvi_complain(HVI_EXIT_SYSTEM, "no memory");
}
