/*
 * An ensemble in blocks of instances, each a unit of work (base/work.h) that becomes bytes: whether
 * it ran in lanes, its seconds, then columns and outcomes. A block is an ensemble of its own, on one
 * thread; an instance is the same in any block.
 */
#include "base/base.h"
#include "base/work.h"
#include "ensemble/lanes.h"
#include "io/journal.h"
#include "rollout.h"
#include "share.h"
#include "solve.h"

enum { BLOCK = 512 };

typedef struct blocks {
  const hvi_solve *asked;
  const hvi_ensemble_settings *settings; /* of all */
  hvi_instance_fn make;
  hvi_ensemble *out;    /* NULL: others put the blocks together */
  hvi_journal *journal; /* NULL: blocks are not kept */
  size_t count, next;   /* blocks */
  size_t done;          /* instances */
} blocks;

HVI_RELEASE(hvi_ensemble)

static size_t block_size(const blocks *b, size_t unit) {
  const size_t left = b->settings->count - unit * BLOCK;
  return left < BLOCK ? left : BLOCK;
}

static bool on_chunk(void *context, size_t done) { return !hvi_signals_interrupted(); }

static bool wait_for_blocks(void *context) {
  hvi_progress_update(((blocks *)context)->done);
  return !hvi_signals_interrupted();
}

static size_t next_block(void *context, size_t worker) {
  blocks *b = context;
  while (b->next < b->count && (!hvi_share_has(&hvi_shared, b->next) ||
                                (b->journal && hvi_journal_has(b->journal, 0, b->next, NULL))))
    b->next++;
  return b->next < b->count ? b->next++ : HVI_WORK_NONE;
}

/* Doubles of a block of n instances, before its outcomes. */
static size_t doubles_of(const hvi_ensemble *e, size_t n) { return 2 + 3 * e->rows * n; }

static hvi_status run_block(void *context, size_t unit, size_t worker, hvi_bytes *bytes,
                            hvi_error *err) {
  const blocks *b = context;
  hvi_ensemble_settings s = *b->settings;
  HVI_OWN_BY(hvi_ensemble_release) hvi_ensemble *e = NULL;
  s.first = unit * BLOCK;
  s.count = block_size(b, unit);
  s.threads = 1;
  s.progress = on_chunk;
  void *setup = (void *)&b->asked->setup;
  HVI_TRY(hvi_ensemble_run(&e, b->make, setup, &b->asked->setup.settings, &s, err));
  if (hvi_signals_interrupted()) return HVI_OK;
  const size_t numbers = doubles_of(e, s.count), outcomes = s.count * sizeof *e->outcome;
  double *x = bytes->data = hvi_alloc(numbers * sizeof *x + outcomes, 1);
  if (!x) return hvi_error_memory(err, "a block of instances");
  bytes->size = numbers * sizeof *x + outcomes;
  x[0] = e->lanes;
  x[1] = e->seconds;
  memcpy(x + 2, e->dist2, (numbers - 2) * sizeof *x); /* residual and ratio follow it */
  memcpy(x + numbers, e->outcome, outcomes);
  return HVI_OK;
}

/* The columns of a block. */
static hvi_status put(blocks *b, size_t unit, const double *x, size_t size, hvi_error *err) {
  hvi_ensemble *e = b->out;
  const size_t n = block_size(b, unit), first = unit * BLOCK;
  const size_t numbers = doubles_of(e, n), outcomes = n * sizeof *e->outcome;
  if (size != numbers * sizeof *x + outcomes)
    return hvi_error_input(err, "block %zu of the instances is not whole", unit);
  e->lanes = e->lanes && x[0] != 0.0;
  e->seconds += x[1];
  for (size_t i = 0; i < 3 * e->rows; i++)
    memcpy(e->dist2 + i * e->count + first, x + 2 + i * n, n * sizeof *x);
  memcpy(e->outcome + first, x + numbers, outcomes);
  return HVI_OK;
}

static hvi_status accept(void *context, size_t unit, const hvi_bytes *bytes, hvi_error *err) {
  blocks *b = context;
  b->done += block_size(b, unit);
  hvi_progress_update(b->done);
  if (!b->journal) return put(b, unit, bytes->data, bytes->size, err);
  return hvi_journal_append(b->journal, 0, unit, bytes->data, bytes->size, err);
}

/* By index, so that sums are the same whoever did what. */
static hvi_status gather(blocks *b, hvi_error *err) {
  for (size_t i = 0, size = 0; i < b->count; i++) {
    hvi_journal_has(b->journal, 0, i, &size);
    HVI_OWN double *x = hvi_alloc(size, 1);
    if (!x) return hvi_error_memory(err, "a block of instances");
    HVI_TRY(hvi_journal_read(b->journal, 0, i, x, size, err));
    HVI_TRY(put(b, i, x, size, err));
  }
  return HVI_OK;
}

/* The journal, and what parts have. */
static hvi_status open_journal(blocks *b, hvi_error *err) {
  const hvi_solve *a = b->asked;
  const hvi_setup *s = &a->setup;
  HVI_OWN_BY(hvi_text_free) hvi_text t = {0};
  uint64_t hash = 0;
  HVI_TRY(hvi_solve_fingerprint(&hash, s, err));
  hvi_text_add(&t, "problem %s; contents %016llx; seed %llu; ensemble %zu; every %zu; method %s",
               s->name, (unsigned long long)hash, (unsigned long long)s->seed, a->ensemble,
               b->settings->record_every, s->method);
  for (size_t i = 0; i < s->set.count; i++) hvi_text_add(&t, "; %s", s->set.items[i]);
  hvi_text_settings(&t, hvi_settings_table(), &s->settings, hvi_method_family(&s->settings));
  if (t.failed) return hvi_error_memory(err, "the settings of an ensemble");
  hvi_kept head = {
      .kind = "run of an ensemble", .about = t.data, .accept_other_bits = a->accept_other_bits};
  const hvi_journal_rule rule = a->fresh || hvi_shared.from_count ? HVI_JOURNAL_FRESH
                                : a->resume                       ? HVI_JOURNAL_RESUME
                                                                  : HVI_JOURNAL_NEW;
  HVI_TRY(hvi_journal_open(&b->journal, a->checkpoint, &head, rule, err));
  for (size_t i = 0; i < hvi_shared.from_count; i++) {
    HVI_OWN char *path = hvi_path_join(hvi_shared.from[i], hvi_base_name(a->checkpoint), "");
    if (!path) return hvi_error_memory(err, "a path");
    HVI_TRY(hvi_journal_absorb(b->journal, path, &head, false, err));
  }
  return HVI_OK;
}

static hvi_status run(blocks *b, bool *stopped, hvi_error *err) {
  const hvi_solve *a = b->asked;
  const bool whole = !hvi_shared.parts && !hvi_talk.follows;
  if (a->checkpoint && !hvi_talk.follows) HVI_TRY(open_journal(b, err));
  if (whole)
    b->out = hvi_ensemble_new(b->settings->count, a->setup.settings.max_outer,
                              b->settings->record_every);
  if (whole && !b->out) return hvi_error_memory(err, "an ensemble's rows");
  const hvi_work work = {b, b->count, next_block, run_block, accept, wait_for_blocks};
  HVI_TRY(hvi_work_run(&work, b->settings->threads, hvi_shared.ranks, stopped, err));
  return whole && b->journal && !*stopped ? gather(b, err) : HVI_OK;
}

hvi_status hvi_solve_blocks(hvi_ensemble **ensemble, bool *stopped, const hvi_solve *s,
                            const hvi_ensemble_settings *settings, hvi_instance_fn make,
                            hvi_error *err) {
  blocks b = {.asked = s, .settings = settings, .make = make};
  b.count = (settings->count + BLOCK - 1) / BLOCK;
  const hvi_status status = run(&b, stopped, err);
  const bool done = !status && !*stopped && b.out;
  if (b.journal) (done ? hvi_journal_remove : hvi_journal_close)(b.journal);
  if (done) *ensemble = b.out;
  if (!done) hvi_ensemble_free(b.out);
  return status;
}
