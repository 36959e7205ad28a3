/*
 * hvi solve --ensemble: the same method on many random instances, summed up.
 *
 * Where they are kept, or shared with other processes, they are computed in blocks, each a unit of
 * work (base/work.h) that becomes bytes: whether it ran in lanes, its seconds, then columns and
 * outcomes. A block is an ensemble of its own, on one thread; an instance is the same in any block.
 */
#include "base/base.h"
#include "base/work.h"
#include "ensemble/lanes.h"
#include "io/journal.h"
#include "json.h"
#include "num/stats.h"
#include "rollout.h"
#include "share.h"
#include "solve.h"

HVI_RELEASE(hvi_ensemble)

enum { QUANTILES = 7, TABLE_ROWS = 20 };

static const double levels[QUANTILES] = {0, 0.05, 0.25, 0.5, 0.75, 0.95, 1};
static const char *const level_names[QUANTILES] = {"min", "q05", "q25", "median",
                                                   "q75", "q95", "max"};

/* A sample's finite values in a few numbers. */
typedef struct digest {
  size_t finite;
  double mean;
  double quantiles[QUANTILES];
  double low, high; /* 95 % interval of the median */
} digest;

/* Of e->dist2 or e->residual at a row. scratch: a double for each instance. */
static digest digest_of(const double *values, const hvi_ensemble *e, size_t row, double *scratch) {
  digest d = {.mean = NAN, .low = NAN, .high = NAN};
  values += row * e->count;
  for (size_t i = 0; i < e->count; i++)
    if (isfinite(values[i])) scratch[d.finite++] = values[i];
  for (size_t k = 0; k < QUANTILES; k++) d.quantiles[k] = NAN;
  if (d.finite == 0) return d;
  d.mean = hvi_stats_mean(scratch, d.finite);
  for (size_t k = 0; k < QUANTILES; k++)
    d.quantiles[k] = hvi_stats_quantile(scratch, d.finite, levels[k]);
  const hvi_stats_range middle = hvi_stats_share95(0.5, d.finite);
  d.low = hvi_stats_quantile(scratch, d.finite, middle.low);
  d.high = hvi_stats_quantile(scratch, d.finite, middle.high);
  return d;
}

static void digest_json(const char *name, const double *values, const hvi_ensemble *e, size_t row,
                        double *scratch) {
  const digest d = digest_of(values, e, row, scratch);
  hvi_json_open(name, '{');
  hvi_json_put(V("finite", d.finite), V("mean", d.mean));
  for (size_t k = 0; k < QUANTILES; k++) hvi_json_put(V(level_names[k], d.quantiles[k]));
  hvi_json_put(V("median_low", d.low), V("median_high", d.high));
  hvi_json_close();
}

static void digest_text(const char *name, const digest *d) {
  printf("%-10smean %s", name, hvi_digits(d->mean, 4, "nan"));
  for (size_t k = 0; k < QUANTILES; k++)
    printf(", %s %s", level_names[k], hvi_digits(d->quantiles[k], 4, "nan"));
  printf(" (%zu finite)\n", d->finite);
}

static hvi_status make_instance(void *context, size_t index, hvi_problem **problem,
                                hvi_error *err) {
  const hvi_setup *s = context;
  return hvi_builtin_make(problem, s->kind, s->options, s->set.count, s->seed, index + 1, err);
}

static bool on_progress(void *context, size_t done) {
  (void)context;
  hvi_progress_update(done);
  return !hvi_signals_interrupted();
}

static size_t tally(const hvi_ensemble *e, hvi_outcome outcome) {
  size_t n = 0;
  for (size_t i = 0; i < e->count; i++) n += e->outcome[i] == outcome;
  return n;
}

static void table(const hvi_solve *s, const hvi_ensemble *e, double *scratch) {
  const double *values =
      s->setup.problem->solution || s->setup.problem->ops->dist2 ? e->dist2 : e->residual;
  const char *head =
      hvi_format("%9s %11s %11s %11s %11s %9s", "outer", "mean", "median", "q05", "q95", "finite");
  hvi_say("%s\n", hvi_toned(HVI_STRONG, head));
  for (size_t row = 0; row < e->rows; row++) {
    const digest d = digest_of(values, e, row, scratch);
    hvi_say("%9zu %11.4e %11.4e %11.4e %11.4e %9zu\n", e->outer[row], d.mean, d.quantiles[3],
            d.quantiles[1], d.quantiles[5], d.finite);
  }
  hvi_say("%.3g s, %s\n", e->seconds,
          e->lanes ? "side by side in SIMD lanes" : "one after the other");
}

/* A step rule gives each instance its own. */
static double common_eta(const hvi_solve *s) {
  return s->setup.settings.step_rule == HVI_STEP_FIXED ? s->setup.settings.eta : NAN;
}

static void row_json(const hvi_ensemble *e, size_t row, double *scratch) {
  digest_json("dist2", e->dist2, e, row, scratch);
  digest_json("residual", e->residual, e, row, scratch);
}

static void print_json(const hvi_solve *s, const hvi_ensemble *e, double *scratch) {
  hvi_json_begin();
  hvi_json_put(V("problem", s->setup.name), V("method", s->setup.method), V("instances", e->count),
               V("lanes", e->lanes));
  hvi_json_open("outcomes", '{');
  for (hvi_outcome o = HVI_CONVERGED; o < HVI_OUTCOME_COUNT; o++)
    hvi_json_put(V(hvi_outcome_name(o), tally(e, o)));
  hvi_json_close();
  row_json(e, e->rows - 1, scratch);
  hvi_json_open("rows", '[');
  for (size_t row = 0; row < e->rows; row++) {
    hvi_json_open(NULL, '{');
    hvi_json_put(V("outer", e->outer[row]));
    row_json(e, row, scratch);
    hvi_json_close();
  }
  hvi_json_close();
  hvi_json_open("settings", '{');
  hvi_setup_json(&s->setup, common_eta(s));
  hvi_json_close();
  hvi_json_put(V("seconds", e->seconds));
  hvi_json_end();
}

static void print_text(const hvi_solve *s, const hvi_ensemble *e, double *scratch) {
  const digest dist2 = digest_of(e->dist2, e, e->rows - 1, scratch);
  const digest residual = digest_of(e->residual, e, e->rows - 1, scratch);
  const char *comma = "";
  printf("%-10s%s, %zu random instances\n%-10s%s\n", "problem", s->setup.name, e->count, "method",
         s->setup.method);
  printf("%-10s", "outcomes");
  for (hvi_outcome o = HVI_CONVERGED; o < HVI_OUTCOME_COUNT; o++) {
    if (tally(e, o) == 0) continue;
    printf("%s%zu %s", comma, tally(e, o), hvi_outcome_name(o));
    comma = ", ";
  }
  putchar('\n');
  if (dist2.finite > 0) digest_text("dist2", &dist2);
  digest_text("residual", &residual);
}

enum { BLOCK = 512 };

typedef struct blocks {
  const hvi_solve *asked;
  const hvi_ensemble_settings *settings; /* of all */
  hvi_ensemble *out;                     /* NULL: others put the blocks together */
  hvi_journal *journal;                  /* NULL: blocks are not kept */
  size_t count, next;                    /* blocks */
  size_t done;                           /* instances */
} blocks;

static size_t block_size(const blocks *b, size_t unit) {
  const size_t left = b->settings->count - unit * BLOCK;
  return left < BLOCK ? left : BLOCK;
}

static bool on_chunk(void *context, size_t done) {
  (void)context, (void)done;
  return !hvi_signals_interrupted();
}

static bool wait_for_blocks(void *context) {
  hvi_progress_update(((blocks *)context)->done);
  return !hvi_signals_interrupted();
}

static size_t next_block(void *context, size_t worker) {
  (void)worker;
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
  (void)worker;
  const blocks *b = context;
  hvi_ensemble_settings s = *b->settings;
  HVI_OWN_BY(hvi_ensemble_release) hvi_ensemble *e = NULL;
  s.first = unit * BLOCK;
  s.count = block_size(b, unit);
  s.threads = 1;
  s.progress = on_chunk;
  void *setup = (void *)&b->asked->setup;
  HVI_TRY(hvi_ensemble_run(&e, make_instance, setup, &b->asked->setup.settings, &s, err));
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
  const char *name = hvi_base_name(a->checkpoint);
  HVI_TRY(hvi_journal_absorb(NULL, a->checkpoint, &hvi_shared, name, &head, false, err));
  HVI_TRY(hvi_journal_open(&b->journal, a->checkpoint, &head, rule, err));
  return hvi_journal_absorb(b->journal, a->checkpoint, &hvi_shared, name, &head, false, err);
}

static hvi_status hand_out(blocks *b, bool *stopped, hvi_error *err) {
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

/* *ensemble stays NULL where the whole is not made here; *stopped: by a signal. */
static hvi_status run_blocks(hvi_ensemble **ensemble, bool *stopped, const hvi_solve *s,
                             const hvi_ensemble_settings *settings, hvi_error *err) {
  blocks b = {.asked = s, .settings = settings};
  b.count = (settings->count + BLOCK - 1) / BLOCK;
  const hvi_status status = hand_out(&b, stopped, err);
  const bool done = !status && !*stopped && b.out;
  if (b.journal) (done ? hvi_journal_remove : hvi_journal_close)(b.journal);
  if (done) *ensemble = b.out;
  if (!done) hvi_ensemble_free(b.out);
  return status;
}

int hvi_solve_ensemble(const hvi_solve *s) {
  hvi_setup setup = s->setup;
  const size_t every = (setup.settings.max_outer + TABLE_ROWS - 1) / TABLE_ROWS;
  const hvi_ensemble_settings settings = {.count = s->ensemble,
                                          .threads = s->jobs,
                                          .record_every = s->every ? s->every : every,
                                          .progress = on_progress};
  HVI_OWN_BY(hvi_ensemble_release) hvi_ensemble *e = NULL;
  if (!setup.kind)
    return hvi_bad_input(
        "--ensemble draws random instances of a built-in problem or of code, and '%s' is a file",
        setup.name);
  hvi_solve_header(&setup, common_eta(s));
  hvi_progress_start("instances", s->ensemble);
  if (s->checkpoint || hvi_shared.ranks) {
    hvi_solve kept = *s;
    HVI_OWN char *made = NULL;
    bool stopped = false;
    HVI_STEP(hvi_share_begin(&kept.checkpoint, &made, true, s->resume || s->fresh));
    HVI_CALL(hvi_progress_end(run_blocks(&e, &stopped, &kept, &settings, &hvi_fault)));
    if (stopped)
      return hvi_complain(HVI_EXIT_INTERRUPTED, "interrupted%s",
                          s->checkpoint ? "; --resume goes on from here" : "");
    if (!e) return hvi_share_end("");
  } else {
    HVI_CALL(hvi_progress_end(
        hvi_ensemble_run(&e, make_instance, &setup, &setup.settings, &settings, &hvi_fault)));
  }
  HVI_OWN double *scratch = hvi_alloc_doubles(e->count);
  if (!scratch || e->rows == 0)
    return hvi_complain(HVI_EXIT_SYSTEM, "out of memory for the statistics");
  table(s, e, scratch);
  (hvi_talk.json ? print_json : print_text)(s, e, scratch);
  if (hvi_signals_interrupted()) return HVI_EXIT_INTERRUPTED;
  const bool all = tally(e, HVI_CONVERGED) == e->count;
  return s->setup.settings.tol > 0 && !all ? HVI_EXIT_SHORT : HVI_EXIT_DONE;
}
