/*
 * A study from its cells to its claims.
 *
 * What a cell leaves is kept in the study's journal behind a description of all that decides it, so
 * that a changed file takes up what has not changed in it. When all cells are there their rows go
 * into the tables in the order of the cells.
 */
#include "study/study.h"

#include "base/base.h"
#include "base/embedded.h"
#include "base/ranks.h"
#include "base/work.h"
#include "gpu/gang.h"
#include "io/journal.h"
#include "study/fields.h"
#include "study/grid.h"
#include "study/units.h"

#include <hvi/version.h>

#include <pthread.h>

enum { MOST_AT_ONCE = 1024 }; /* cells on a device, a thread each */

/* The cells under way, and how far the study is. */
typedef struct session {
  hvi_study *study;
  hvi_part *part;
  hvi_units *units; /* of the part */
  size_t *here,
      last; /* [cells] cells of each group under way on a rank that follows, the latest group */
  hvi_journal *journal;
  pthread_mutex_t lock;
  double total, done; /* costs of cells */
  hvi_text *results;  /* [cells of the study] */
  size_t records;     /* in the journal */
  size_t kept_count;  /* of them, from an earlier run: */
  hvi_text *kept;
} session;

struct hvi_cell_watch {
  session *session;
  double cost, done; /* of the cell */
  char name[128];    /* in words */
  bool stopped;
};

bool hvi_study_progress(hvi_study *study, const char *doing, double share) {
  const hvi_study_settings *s = study->settings;
  if (s->progress && !s->progress(s->context, study->id, doing, share)) study->stopped = true;
  return !study->stopped;
}

void hvi_study_tell(const hvi_study *study, const char *format, ...) {
  char line[640];
  va_list args;
  va_start(args, format);
  vsnprintf(line, sizeof line, format, args);
  va_end(args);
  if (study->settings->message) study->settings->message(study->settings->context, line);
}

char *hvi_study_path(const hvi_study *study, const char *name, const char *ending) {
  return hvi_path_join(study->folder, name, ending);
}

/* Everything that decides the rows of a cell. */
char *hvi_cell_describe(const hvi_cell *c) {
  const hvi_part *p = c->part;
  hvi_text t = {0};
  hvi_settings s;
  hvi_text_add(&t, "hvi %s; kind %s; seed %" PRIu64, hvi_version(), p->kind->name, p->seed);
  if (p->problem) hvi_text_add(&t, "; problem %s", p->problem);
  if (p->problem_path) hvi_text_add(&t, "; contents %016" PRIx64, p->file_hash);
  for (size_t i = 0; i < p->option_count; i++)
    hvi_text_add(&t, "; %s %s", p->options[i].key, p->options[i].value);
  for (size_t i = 0; i < p->factor_count; i++) {
    const hvi_factor *f = &p->factors[i];
    /* of methods their settings, not their label */
    if ((p->kind->flags & HVI_KIND_METHODS) && strcmp(f->name, "method") == 0) continue;
    for (size_t k = 0; k < f->keys; k++)
      hvi_text_add(&t, "; %s %s", f->key[k], f->text[k * (f->levels + 1) + c->level[i]]);
  }
  hvi_text_settings(&t, hvi_scale_table(), &p->scale, NULL);
  if ((p->kind->flags & HVI_KIND_METHODS) && hvi_cell_settings(&s, c, NULL) == HVI_OK) {
    const hvi_arm *arm = hvi_cell_method(c);
    hvi_text_add(&t, "; method %s", arm->method);
    hvi_text_settings(&t, hvi_settings_table(), &s, NULL);
    hvi_text_settings(&t, hvi_value_table(), &arm->value, NULL);
  }
  if (p->kind->describe) p->kind->describe(c, &t);
  return hvi_text_take(&t);
}

char *hvi_cell_checkpoint(const hvi_cell *c) {
  HVI_OWN char *about = hvi_cell_describe(c);
  char name[48];
  if (!about) return NULL;
  const uint64_t key = hvi_hash_bytes(HVI_HASH_START, about, strlen(about));
  snprintf(name, sizeof name, "checkpoints/%016" PRIx64, key);
  return hvi_study_path(c->study, name, ".checkpoint");
}

static double cost_of(const hvi_cell *c) {
  return c->part->kind->cost ? c->part->kind->cost(c) : 1.0;
}

/* "Surr 50, half_cheetah, seed 3": the levels of a cell in words. */
static void name_cell(char *text, size_t size, const hvi_cell *c) {
  size_t used = 0;
  text[0] = '\0';
  for (size_t i = c->part->factor_count; i-- > 0 && used + 1 < size;) {
    const hvi_factor *f = &c->part->factors[i];
    const char *level = f->text[c->level[i]];
    if (f->levels < 2 || !*level) continue;
    const int n = snprintf(text + used, size - used, "%s%s%s%s", used ? ", " : "",
                           f->words[0] ? "" : f->name, f->words[0] ? "" : " ", level);
    used += n > 0 ? (size_t)n : 0;
  }
  if (!used) snprintf(text, size, "%s", *c->part->name ? c->part->name : c->part->kind->name);
}

bool hvi_cell_tick(const hvi_cell *c, double share) {
  struct hvi_cell_watch *w = c->watch;
  session *s = w->session;
  pthread_mutex_lock(&s->lock);
  s->done += share * w->cost - w->done;
  w->done = share * w->cost;
  const double all = s->total > 0 ? fmin(s->done / s->total, 1) : 1;
  w->stopped = w->stopped || s->study->stopped || !hvi_study_progress(s->study, w->name, all);
  const bool stopped = w->stopped; /* a cell's threads share its watch */
  pthread_mutex_unlock(&s->lock);
  return !stopped;
}

static hvi_status pack(hvi_bytes *bytes, const hvi_cell *c, const hvi_rows *rows, hvi_error *err) {
  HVI_OWN char *about = hvi_cell_describe(c);
  hvi_text t = {0};
  if (about) hvi_rows_pack(&t, about, rows);
  *bytes = (hvi_bytes){t.data, t.length};
  return !about || t.failed ? hvi_error_memory(err, "the result of a cell") : HVI_OK;
}

/* A rank that follows is not told when a group is finished: it leaves one for another. */
static void follow_group(session *s, const hvi_cell *c, bool begins) {
  const hvi_kind *k = c->part->kind;
  if (!s->here || !k->leave) return;
  const size_t group = k->group(c), before = s->last;
  pthread_mutex_lock(&s->lock);
  s->here[group] += begins ? 1 : (size_t)-1;
  if (begins) s->last = group;
  if (begins && before != group && !s->here[before]) k->leave(s->part, before);
  if (!begins && before != group && !s->here[group]) k->leave(s->part, group);
  pthread_mutex_unlock(&s->lock);
}

static hvi_status run_cell(void *context, size_t index, size_t worker, hvi_bytes *bytes,
                           hvi_error *err) {
  (void)worker;
  session *s = context;
  hvi_cell c = hvi_cell_at(s->study, s->part, index);
  struct hvi_cell_watch watch = {.session = s, .cost = cost_of(&c)};
  name_cell(watch.name, sizeof watch.name, &c);
  hvi_rows rows = {.kind = s->part->kind};
  c.watch = &watch;
  if (!hvi_cell_tick(&c, 0.0)) return HVI_OK;
  follow_group(s, &c, true);
  hvi_status status = s->part->kind->run(&c, &rows, err);
  follow_group(s, &c, false);
  if (!status && !watch.stopped) status = pack(bytes, &c, &rows, err);
  for (size_t k = 0; k < HVI_KIND_TABLES; k++) hvi_text_free(&rows.tables[k]);
  pthread_mutex_lock(&s->lock);
  s->done -= watch.done; /* until it is accepted */
  pthread_mutex_unlock(&s->lock);
  return status;
}

static hvi_status keep(session *s, size_t index, const void *bytes, size_t size, hvi_error *err) {
  hvi_text *to = &s->results[s->part->first + index];
  hvi_text_bytes(to, bytes, size);
  return to->failed ? hvi_error_memory(err, "the rows of a cell") : HVI_OK;
}

static size_t next_cell(void *context, size_t worker) {
  return hvi_units_next(((session *)context)->units, worker);
}

static hvi_status accept(void *context, size_t index, const hvi_bytes *bytes, hvi_error *err) {
  session *s = context;
  const hvi_cell c = hvi_cell_at(s->study, s->part, index);
  const hvi_kind *k = s->part->kind;
  if (hvi_units_done(s->units, index) && k->leave) k->leave(s->part, k->group(&c));
  pthread_mutex_lock(&s->lock);
  s->done += cost_of(&c);
  pthread_mutex_unlock(&s->lock);
  HVI_TRY(hvi_journal_append(s->journal, 0, s->records++, bytes->data, bytes->size, err));
  return keep(s, index, bytes->data, bytes->size, err);
}

/* Other ranks compute, and nobody here is left to tell how far the study is. */
static bool wait_for_cells(void *context) {
  session *s = context;
  pthread_mutex_lock(&s->lock);
  const double share = s->total > 0 ? fmin(s->done / s->total, 1) : 1;
  const bool on = hvi_study_progress(s->study, "on all ranks", share);
  pthread_mutex_unlock(&s->lock);
  return on;
}

/* A record is a description and what follows it; anything else is of no use. */
static hvi_status read_records(session *s, hvi_error *err) {
  const size_t count = hvi_journal_count(s->journal, 0);
  HVI_TRY(hvi_new(&s->kept, count, "a journal", err));
  for (size_t size; hvi_journal_has(s->journal, 0, s->records, &size); s->records++) {
    hvi_text *b = &s->kept[s->kept_count++];
    *b = (hvi_text){.data = hvi_alloc(size, 1), .length = size};
    if (!b->data) return hvi_error_memory(err, "a journal");
    HVI_TRY(hvi_journal_read(s->journal, 0, s->records, b->data, size, err));
  }
  return HVI_OK;
}

/* A cell that an earlier run finished. */
static hvi_status look_up(session *s, bool *found, const hvi_cell *c, hvi_error *err) {
  HVI_OWN char *about = hvi_cell_describe(c);
  if (!about) return hvi_error_memory(err, "a cell");
  const size_t head = strlen(about) + 1;
  for (size_t i = 0; i < s->kept_count; i++) {
    if (s->kept[i].length <= head || memcmp(s->kept[i].data, about, head) != 0) continue;
    *found = true;
    s->done += cost_of(c);
    return keep(s, c->index, s->kept[i].data, s->kept[i].length, err);
  }
  return HVI_OK;
}

bool hvi_study_learns(const hvi_study *study) {
  bool learns = false;
  for (size_t i = 0; i < study->part_count; i++)
    learns = learns || (study->parts[i].kind->flags & HVI_KIND_VALUE);
  return learns;
}

/* The level of the device that the study's cells use; NULL: none. */
static const char *device_level(const hvi_study *study) {
  const hvi_gang *device = study->settings->device;
  return device && hvi_study_learns(study) ? hvi_gang_about(device)->level : NULL;
}

/* What is timed, or uses all threads itself, runs alone. A device serves all that learn at once. */
static size_t threads_for(const hvi_part *p, const hvi_study_settings *s) {
  if (p->kind->flags & HVI_KIND_ALONE) return 1;
  if (!s->device || !(p->kind->flags & HVI_KIND_VALUE)) return s->threads;
  return p->cells < MOST_AT_ONCE ? p->cells : MOST_AT_ONCE;
}

/* Which cells are to be run: those that nobody has finished, and of a part its own. */
static hvi_status list_cells(session *s, hvi_unit *units, hvi_error *err) {
  const hvi_part *p = s->part;
  const hvi_share *share = s->study->settings->share;
  for (size_t i = 0; i < p->cells; i++) {
    const hvi_cell c = hvi_cell_at(s->study, s->part, i);
    units[i] = (hvi_unit){.cost = cost_of(&c), .group = p->kind->group ? p->kind->group(&c) : 0};
    if (s->kept_count) HVI_TRY(look_up(s, &units[i].taken, &c, err));
    if (!units[i].taken && hvi_share_froms(share)) {
      char name[128];
      name_cell(name, sizeof name, &c);
      return hvi_error_input(err,
                             "%s: the cell '%s' is in no part: a part was damaged, or made with "
                             "other settings",
                             s->study->id, name);
    }
    units[i].taken = units[i].taken || !hvi_share_has(share, p->first + i);
  }
  return HVI_OK;
}

static hvi_status run_part(session *s, hvi_part *p, hvi_error *err) {
  hvi_study *study = s->study;
  const hvi_study_settings *o = study->settings;
  const bool alone = p->kind->flags & HVI_KIND_ALONE;
  hvi_ranks *ranks = alone ? NULL : hvi_share_ranks(o->share);
  HVI_NEW(hvi_unit, units, p->cells, "the cells of a study", err);
  if (alone && hvi_ranks_follows(hvi_share_ranks(o->share))) return HVI_OK;
  HVI_OWN size_t *here = hvi_ranks_follows(ranks) ? hvi_alloc(p->cells, sizeof *here) : NULL;
  s->part = p;
  s->here = here;
  s->last = 0;
  HVI_TRY(list_cells(s, units, err));
  hvi_work work = {s, p->cells, next_cell, run_cell, accept, ranks ? wait_for_cells : NULL};
  const size_t threads = hvi_work_threads(&work, threads_for(p, o));
  HVI_OWN_BY(hvi_units_release) hvi_units *list = NULL;
  HVI_TRY(hvi_units_new(&list, units, p->cells, threads + (ranks ? ranks->count : 0), err));
  s->units = list;
  if (!ranks) work.most = hvi_units_waiting(list);
  if (o->device) hvi_gang_seconds(o->device, &p->busy, &p->idle);
  HVI_TRY(hvi_work_run(&work, threads, ranks, &study->stopped, err));
  if (p->kind->tell && !study->stopped) p->kind->tell(study, p);
  return HVI_OK;
}

/* The journal is the study's own, or that of the one whose cells these are. */
static hvi_status open_journal(session *s, hvi_error *err) {
  const hvi_study *study = s->study;
  const hvi_study_settings *o = study->settings;
  const bool others = study->runs && !study->tuning;
  HVI_OWN char *folder = hvi_path_join(o->out, others ? study->runs : study->id, "");
  HVI_OWN char *path = folder ? hvi_path_join(folder, study->tuning ? "tune" : "cells", "") : NULL;
  if (!path) return hvi_error_memory(err, "a path");
  HVI_TRY(hvi_folder_make(folder, err));
  const hvi_journal_rule rule = o->resume || others ? HVI_JOURNAL_RESUME : HVI_JOURNAL_FRESH;
  hvi_kept head = {.kind = "journal of cells",
                   .about = "",
                   .device = device_level(study),
                   .accept_other_bits = o->accept_other_bits};
  HVI_OWN char *cells = hvi_path_join(study->runs ? study->runs : study->id, "cells", "");
  if (!cells) return hvi_error_memory(err, "a path");
  HVI_TRY(hvi_journal_absorb(NULL, path, o->share, cells, &head, true, err));
  hvi_status status = hvi_journal_open(&s->journal, path, &head, rule, err);
  if (status == HVI_ERROR_MISMATCH && !o->resume)
    status = hvi_journal_open(&s->journal, path, &head, HVI_JOURNAL_FRESH, err);
  if (!status) status = hvi_journal_absorb(s->journal, path, o->share, cells, &head, true, err);
  hvi_levels_add(study->claims->levels, head.levels);
  return status ? status : read_records(s, err);
}

/* Whether all cells end up here, and results are made of them. */
static bool is_whole(const hvi_study *study) {
  const hvi_share *share = study->settings->share;
  return !hvi_share_is_part(share) && !hvi_ranks_follows(hvi_share_ranks(share));
}

static hvi_status run_parts(session *s, hvi_error *err) {
  hvi_study *study = s->study;
  HVI_TRY(hvi_new(&s->results, study->cell_count, "the cells of a study", err));
  for (hvi_part *p = study->parts; p < study->parts + study->part_count; p++)
    for (size_t i = 0; i < p->cells; i++) {
      const hvi_cell c = hvi_cell_at(study, p, i);
      s->total += cost_of(&c);
    }
  if (!hvi_ranks_follows(hvi_share_ranks(study->settings->share))) HVI_TRY(open_journal(s, err));
  for (hvi_part *p = study->parts; p < study->parts + study->part_count && !study->stopped; p++)
    HVI_TRY(run_part(s, p, err));
  if (!is_whole(study)) return HVI_OK;
  for (hvi_part *p = study->parts; p < study->parts + study->part_count && !study->stopped; p++)
    for (size_t i = 0; i < p->cells; i++) {
      const hvi_cell c = hvi_cell_at(study, p, i);
      HVI_TRY(hvi_rows_unpack(&c, &s->results[p->first + i], err));
    }
  return HVI_OK;
}

static hvi_status run_cells(hvi_study *study, hvi_error *err) {
  session s = {.study = study, .lock = PTHREAD_MUTEX_INITIALIZER};
  const hvi_status status = run_parts(&s, err);
  hvi_journal_close(s.journal);
  for (size_t i = 0; s.results && i < study->cell_count; i++) hvi_text_free(&s.results[i]);
  for (size_t i = 0; i < s.kept_count; i++) hvi_text_free(&s.kept[i]);
  hvi_free(s.kept);
  hvi_free(s.results);
  return status;
}

static hvi_status lay_out(hvi_study *study, hvi_error *err) {
  study->cell_count = study->table_count = 0;
  for (size_t i = 0; i < study->part_count && !study->stopped; i++) {
    hvi_part *p = &study->parts[i];
    p->first = study->cell_count;
    p->cells = 0;
    if (study->tuning && p->method_count == 0) continue; /* it has no rates */
    HVI_TRY(hvi_part_lay_out(p, study->settings->full, study->origin, err));
    study->cell_count += p->cells;
    if (p->kind->open) HVI_TRY(p->kind->open(study, p, err));
    HVI_TRY(hvi_part_tables(study, p, err));
  }
  return HVI_OK;
}

/* Tables, figures and claims. */
static hvi_status finish(hvi_study *study, hvi_error *err) {
  for (hvi_part *p = study->parts; p < study->parts + study->part_count; p++)
    if (p->kind->derive) HVI_TRY(p->kind->derive(study, p, err));
  for (int check = !study->settings->force; check >= 0; check--)
    for (size_t i = 0; i < study->table_count; i++)
      HVI_TRY(hvi_study_write_table(study, &study->tables[i], check, err));
  HVI_TRY(hvi_study_draw(study, err));
  return hvi_study_judge(study, err);
}

static hvi_status hash_file(hvi_part *p, hvi_error *err) {
  HVI_OWN unsigned char *bytes = NULL;
  size_t size;
  HVI_TRY(hvi_file_read_bytes(&bytes, &size, p->problem_path, (size_t)64 << 20, err));
  p->file_hash = hvi_hash_bytes(HVI_HASH_START, bytes, size);
  return HVI_OK;
}

/* Everything that decides the result: the file, its size, what its cells depend on. */
static hvi_status hash_settings(char *out, size_t size, hvi_study *study, hvi_error *err) {
  uint64_t hash = hvi_hash_bytes(HVI_HASH_START, study->text, strlen(study->text) + 1);
  hash = hvi_hash_count(hash, study->settings->full);
  for (hvi_part *p = study->parts; p < study->parts + study->part_count; p++) {
    const hvi_cell first = hvi_cell_at(study, p, 0);
    if (p->problem_path) HVI_TRY(hash_file(p, err));
    HVI_OWN char *about = hvi_cell_describe(&first);
    if (!about) return hvi_error_memory(err, "a study");
    hash = hvi_hash_bytes(hash, about, strlen(about) + 1);
    for (const hvi_embedded *f = hvi_embedded_problems; p->problem && f->name; f++)
      if (strcmp(f->name, p->problem) == 0) hash = hvi_hash_bytes(hash, f->text, strlen(f->text));
  }
  snprintf(out, size, "%016" PRIx64, hash);
  return HVI_OK;
}

static const char CLAIMS_MARK[] = "\"settings_hash\": \"";

/* Before anything is computed or removed: what is there under the names of results is hvi's. */
static hvi_status check_files(hvi_study *study, hvi_error *err) {
  const hvi_node *figures = study->figures;
  if (study->settings->force) return HVI_OK;
  if (study->tuning) return hvi_study_check_rates(study, err);
  HVI_TRY(hvi_file_ours(study->claims_path, study->settings->resume ? NULL : CLAIMS_MARK, err));
  for (const hvi_node *n = figures ? figures->first : NULL; n; n = n->next)
    HVI_TRY(hvi_plot_check(study->folder, hvi_field_text(n, "name", study->id), NULL, err));
  return hvi_study_check_tables(study, err);
}

/* An earlier run counts when it had the same settings. A damaged file, or one of another level of
 * instructions, is an error. claims.json says that the folder is complete, so it comes last and is set
 * aside first. */
static hvi_status start_claims(bool *finished, hvi_study *study, hvi_error *err) {
  hvi_claims *c = study->claims;
  const char *path = study->claims_path;
  char hash[sizeof c->settings_hash];
  HVI_TRY(hash_settings(hash, sizeof hash, study, err));
  const bool ours = !study->settings->force || !hvi_file_ours(path, CLAIMS_MARK, NULL);
  if (study->settings->resume && ours && access(path, F_OK) == 0) {
    hvi_kept head = {.device = device_level(study),
                     .accept_other_bits = study->settings->accept_other_bits};
    HVI_TRY(hvi_claims_read(c, path, err));
    *finished = c->checked && strcmp(c->settings_hash, hash) == 0;
    if (*finished) return hvi_kept_match_levels(&head, path, c->levels, err);
    hvi_claims_clear(c);
  }
  HVI_TRY(hvi_file_set_aside(path, err));
  snprintf(c->settings_hash, sizeof c->settings_hash, "%s", hash);
  snprintf(c->experiment, sizeof c->experiment, "%s", study->id);
  snprintf(c->title, sizeof c->title, "%s", study->title);
  snprintf(c->mode, sizeof c->mode, "%s", study->settings->full ? "full" : "quick");
  snprintf(c->paper, sizeof c->paper, "%s", study->paper ? study->paper : "");
  snprintf(c->shows, sizeof c->shows, "%s", study->shows ? study->shows : "");
  if (study->settings->made) c->made = *study->settings->made;
  return HVI_OK;
}

/* While it holds its folder, and its grid is laid out. */
static hvi_status carry_out(hvi_study *study, hvi_error *err) {
  const double started = hvi_clock_now();
  hvi_ranks *ranks = hvi_share_ranks(study->settings->share);
  bool finished = false;
  if (!hvi_ranks_follows(ranks)) {
    HVI_TRY(check_files(study, err));
    if (!study->tuning) HVI_TRY(start_claims(&finished, study, err));
  }
  if (ranks) HVI_TRY(hvi_ranks_share(ranks, &finished, sizeof finished, err));
  if (finished || !hvi_study_progress(study, "starting", 0)) return HVI_OK;
  HVI_TRY(run_cells(study, err));
  if (study->stopped || !is_whole(study)) return HVI_OK;
  if (study->tuning) return hvi_study_report_rates(study, err);
  HVI_TRY(finish(study, err));
  study->claims->seconds = hvi_clock_now() - started;
  return study->stopped ? HVI_OK : hvi_claims_write(study->claims, study->claims_path, err);
}

static hvi_status open_study(hvi_study *study, hvi_error *err) {
  study->stopped = false;
  study->lock = (hvi_lock){-1, NULL};
  study->folder = hvi_path_join(study->settings->out, study->id, "");
  study->claims_path = study->folder ? hvi_study_path(study, "claims.json", "") : NULL;
  if (!study->claims_path) return hvi_error_memory(err, "a path");
  if (hvi_ranks_follows(hvi_share_ranks(study->settings->share))) return lay_out(study, err);
  HVI_TRY(hvi_folder_make(study->folder, err));
  HVI_TRY(hvi_lock_take(&study->lock, study->claims_path, err));
  return lay_out(study, err);
}

void hvi_study_clear(hvi_study *study) {
  for (size_t i = 0; i < study->part_count; i++) hvi_part_clear(&study->parts[i]);
  for (size_t i = 0; i < study->table_count; i++) hvi_table_free(&study->tables[i]);
  hvi_free(study->tables);
  study->tables = NULL;
  study->table_count = 0;
}

static void close_study(hvi_study *study) {
  hvi_lock_release(&study->lock);
  for (hvi_part *p = study->parts; p < study->parts + study->part_count; p++)
    if (p->kind->close) p->kind->close(p);
  hvi_study_clear(study);
  hvi_free(study->folder);
  hvi_free(study->claims_path);
  study->folder = study->claims_path = NULL;
}

hvi_status hvi_study_run(hvi_claims *claims, bool *stopped, hvi_study *study,
                         const hvi_study_settings *s, hvi_error *err) {
  *claims = (hvi_claims){0};
  study->settings = s;
  study->claims = claims;
  hvi_status status = open_study(study, err);
  if (!status && !study->stopped) status = carry_out(study, err);
  close_study(study);
  if (status || study->stopped) hvi_claims_clear(claims);
  if (study->builtin && claims->count) hvi_study_attach_full(claims, s->out);
  *stopped = study->stopped;
  return status;
}

/* A shallow copy of the list is enough: only the earlier ones, at its end, are this file's own. One
 * that is damaged is left out and told. */
hvi_status hvi_study_page(const char *out, const hvi_claims *claims, size_t count, hvi_error *err) {
  const char *const *ids = hvi_study_ids();
  hvi_error left_out = {HVI_OK, ""};
  size_t most = count, shown = count;
  while (ids[most - count]) most++;
  HVI_NEW(hvi_claims, list, most, "index.html", err);
  if (count) memcpy(list, claims, count * sizeof *list);
  for (size_t i = 0; ids[i]; i++) {
    HVI_OWN char *folder = hvi_path_join(out, ids[i], "");
    HVI_OWN char *path = folder ? hvi_path_join(folder, "claims.json", "") : NULL;
    size_t k = 0;
    while (k < count && strcmp(claims[k].experiment, ids[i]) != 0) k++;
    if (!path || k < count || access(path, F_OK) != 0) continue;
    if (hvi_claims_read(&list[shown], path, &left_out)) continue;
    if (strcmp(list[shown].experiment, ids[i]) == 0)
      hvi_study_attach_full(&list[shown++], out);
    else
      hvi_claims_clear(&list[shown]);
  }
  const hvi_status status = hvi_claims_page(list, shown, out, err);
  for (size_t i = count; i < shown; i++) hvi_claims_clear(&list[i]);
  return status ? status : hvi_error_set(err, left_out.status, "%s", left_out.text);
}
