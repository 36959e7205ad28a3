/*
 * Running the cells of a study.
 *
 * A cell's rows become bytes: for each table of its kind the number of rows, then their numbers.
 * They are kept in the study's journal under a hash of the cell's description, with the description
 * in front, so that a changed file takes up what has not changed in it. When all cells are there
 * their rows go into the tables in the order of the cells.
 */
#include "base/base.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/parallel.h"
#include "io/journal.h"
#include "report/text.h"
#include "study/grid.h"
#include "study/work.h"

#include <hvi/version.h>

#include <inttypes.h>
#include <pthread.h>
#include <unistd.h>

struct hvi_rows {
  const hvi_kind *kind;
  hvi_bytes tables[HVI_KIND_TABLES];
};

/* The cells under way, and how far the study is. */
typedef struct session {
  hvi_study *study;
  hvi_part *part;
  hvi_journal *journal;
  pthread_mutex_t lock;
  size_t finished;
  double total, done; /* costs of cells */
  double *share;      /* [workers] cost done of the cell under way */
  size_t workers;
  hvi_bytes *results; /* [cells of the study] */
  size_t records;     /* in the journal */
  size_t kept_count;  /* of them, from an earlier run: */
  hvi_bytes *kept;
} session;

struct hvi_cell_watch {
  session *session;
  size_t worker;
  double cost;
  char name[128]; /* of the cell, in words */
  bool stopped;
};

static size_t columns_of(const hvi_kind_table *t) {
  size_t n = 0;
  for (const hvi_column *c = t->columns; c->name; c++) n += hvi_column_width(c);
  return n;
}

hvi_status hvi_rows_add(hvi_rows *rows, size_t table, const double *values, hvi_error *err) {
  hvi_bytes *b = &rows->tables[table];
  hvi_bytes_add(b, values, columns_of(&rows->kind->tables[table]) * sizeof *values);
  return b->failed ? hvi_error_memory(err, "the rows of a cell") : HVI_OK;
}

/* Everything that decides the rows of a cell. */
char *hvi_cell_describe(const hvi_cell *c) {
  const hvi_part *p = c->part;
  hvi_text t = {0};
  hvi_settings s;
  hvi_text_add(&t, "hvi %s; kind %s; seed %" PRIu64, hvi_version(), p->kind->name, p->seed);
  if (p->problem) hvi_text_add(&t, "; problem %s", p->problem);
  for (size_t i = 0; i < p->option_count; i++)
    hvi_text_add(&t, "; %s %s", p->options[i].key, p->options[i].value);
  for (size_t i = 0; i < p->factor_count; i++) {
    const hvi_factor *f = &p->factors[i];
    if (strcmp(f->name, "method") == 0) continue; /* its settings, not its label */
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

static size_t key_of(const char *description) {
  return (size_t)hvi_hash_bytes(HVI_HASH_START, description, strlen(description));
}

char *hvi_cell_checkpoint(const hvi_cell *c) {
  char *about = hvi_cell_describe(c), name[48];
  if (!about) return NULL;
  snprintf(name, sizeof name, "checkpoints/%016zx", key_of(about));
  hvi_free(about);
  return hvi_study_path(c->study, name, ".checkpoint");
}

static double cost_of(hvi_study *study, hvi_part *p, size_t index) {
  if (!p->kind->cost) return 1.0;
  const hvi_cell c = hvi_cell_at(study, p, index);
  return p->kind->cost(&c);
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
  session *s = c->watch->session;
  pthread_mutex_lock(&s->lock);
  s->share[c->watch->worker] = share * c->watch->cost;
  double done = s->done;
  for (size_t i = 0; i < s->workers; i++) done += s->share[i];
  const bool go_on =
      !s->study->stopped &&
      hvi_study_progress(s->study, c->watch->name, s->total > 0 ? fmin(done / s->total, 1) : 1);
  pthread_mutex_unlock(&s->lock);
  if (!go_on) c->watch->stopped = true;
  return go_on;
}

static void pack(hvi_bytes *bytes, const char *description, const hvi_rows *rows) {
  hvi_bytes_add(bytes, description, strlen(description) + 1);
  for (size_t k = 0; k < HVI_KIND_TABLES && rows->kind->tables[k].name; k++) {
    const uint64_t size = rows->tables[k].size;
    hvi_bytes_add(bytes, &size, sizeof size);
    hvi_bytes_add(bytes, rows->tables[k].data, rows->tables[k].size);
    bytes->failed = bytes->failed || rows->tables[k].failed;
  }
}

static hvi_status run_cell(void *context, size_t index, size_t worker, hvi_bytes *bytes,
                           hvi_error *err) {
  session *s = context;
  struct hvi_cell_watch watch = {
      .session = s, .worker = worker, .cost = cost_of(s->study, s->part, index)};
  hvi_cell c = hvi_cell_at(s->study, s->part, index);
  name_cell(watch.name, sizeof watch.name, &c);
  hvi_rows rows = {.kind = s->part->kind};
  c.watch = &watch;
  if (!hvi_cell_tick(&c, 0.0)) return HVI_OK;
  hvi_status status = s->part->kind->run(&c, &rows, err);
  char *about = status || watch.stopped ? NULL : hvi_cell_describe(&c);
  if (about) pack(bytes, about, &rows);
  if (!status && !watch.stopped && !about) status = hvi_error_memory(err, "a cell");
  for (size_t k = 0; k < HVI_KIND_TABLES; k++) hvi_bytes_free(&rows.tables[k]);
  pthread_mutex_lock(&s->lock);
  s->share[worker] = 0.0;
  pthread_mutex_unlock(&s->lock);
  hvi_free(about);
  return status;
}

static hvi_status keep(session *s, size_t index, const hvi_bytes *bytes) {
  hvi_bytes *to = &s->results[s->part->first + index];
  hvi_bytes_add(to, bytes->data, bytes->size);
  s->done += cost_of(s->study, s->part, index);
  s->finished++;
  return to->failed ? HVI_ERROR_MEMORY : HVI_OK;
}

static hvi_status accept(void *context, size_t index, const hvi_bytes *bytes, hvi_error *err) {
  session *s = context;
  HVI_TRY(hvi_journal_append(s->journal, 0, s->records++, bytes->data, bytes->size, err));
  pthread_mutex_lock(&s->lock);
  hvi_status status = keep(s, index, bytes);
  pthread_mutex_unlock(&s->lock);
  return status ? hvi_error_memory(err, "the rows of a cell") : HVI_OK;
}

/* A record is a description and what follows it; anything else is of no use. */
static hvi_status read_records(session *s, hvi_error *err) {
  s->kept = hvi_alloc(hvi_journal_kept(s->journal), sizeof *s->kept);
  if (!s->kept) return hvi_error_memory(err, "a journal");
  for (size_t size; hvi_journal_has(s->journal, 0, s->records, &size); s->records++) {
    hvi_bytes *b = &s->kept[s->kept_count++];
    *b = (hvi_bytes){.data = hvi_alloc(size, 1), .size = size, .room = size};
    if (!b->data) return hvi_error_memory(err, "a journal");
    HVI_TRY(hvi_journal_read(s->journal, 0, s->records, b->data, size, err));
  }
  return HVI_OK;
}

/* A cell that an earlier run finished. */
static hvi_status look_up(session *s, bool *found, size_t index, hvi_error *err) {
  const hvi_cell c = hvi_cell_at(s->study, s->part, index);
  char *about = hvi_cell_describe(&c);
  *found = false;
  if (!about) return hvi_error_memory(err, "a cell");
  const size_t head = strlen(about) + 1;
  hvi_status status = HVI_OK;
  for (size_t i = 0; i < s->kept_count && !*found; i++) {
    *found = s->kept[i].size > head && memcmp(s->kept[i].data, about, head) == 0;
    if (*found && keep(s, index, &s->kept[i])) status = hvi_error_memory(err, "a cell");
  }
  hvi_free(about);
  return status;
}

static double work_cost(void *context, size_t index) {
  const session *s = context;
  return cost_of(s->study, s->part, index);
}

static size_t work_group(void *context, size_t index) {
  const session *s = context;
  const hvi_cell c = hvi_cell_at(s->study, s->part, index);
  return s->part->kind->group(&c);
}

static void work_leave(void *context, size_t group) {
  const session *s = context;
  s->part->kind->leave(s->part, group);
}

/* What is timed, or uses all threads itself, runs alone. */
static hvi_status run_part(session *s, hvi_part *p, hvi_error *err) {
  const hvi_kind *k = p->kind;
  bool *done = hvi_alloc(p->cells, sizeof *done), stopped = false;
  hvi_status status = done ? HVI_OK : hvi_error_memory(err, "the cells of a study");
  s->part = p;
  for (size_t i = 0; i < p->cells && s->kept_count && !status; i++)
    status = look_up(s, &done[i], i, err);
  const hvi_work work = {.count = p->cells,
                         .context = s,
                         .cost = k->cost ? work_cost : NULL,
                         .group = k->group ? work_group : NULL,
                         .leave = k->leave ? work_leave : NULL,
                         .run = run_cell,
                         .accept = accept};
  if (!status)
    status =
        hvi_work_on_threads(&work, done, k->flags & HVI_KIND_ALONE ? 1 : s->workers, &stopped, err);
  s->study->stopped = s->study->stopped || stopped;
  hvi_free(done);
  return status;
}

/* One cell's rows, with the levels of its factors in front. */
static hvi_status unpack(hvi_study *study, hvi_part *p, size_t index, const hvi_bytes *bytes,
                         hvi_error *err) {
  const hvi_cell c = hvi_cell_at(study, p, index);
  const unsigned char *at = bytes->data + strlen((const char *)bytes->data) + 1;
  const unsigned char *end = bytes->data + bytes->size;
  double row[HVI_MOST_FACTORS * 12 + 64];
  for (size_t k = 0; p->kind->tables[k].name; k++) {
    hvi_table *t = &study->tables[p->first_table + k];
    const size_t own = columns_of(&p->kind->tables[k]);
    uint64_t size = 0;
    if ((size_t)(end - at) < sizeof size) break;
    memcpy(&size, at, sizeof size);
    at += sizeof size;
    if (size > (uint64_t)(end - at) || size % (own * sizeof *row)) break;
    hvi_cell_levels(&c, t, row);
    for (const unsigned char *stop = at + size; at < stop; at += own * sizeof *row) {
      memcpy(row + t->columns - own, at, own * sizeof *row);
      HVI_TRY(hvi_table_add(t, row, err));
    }
  }
  return at == end
             ? HVI_OK
             : hvi_error_input(err, "the journal of '%s' has a cell of another shape", study->id);
}

static hvi_status fill_tables(session *s, hvi_error *err) {
  hvi_study *study = s->study;
  hvi_status status = HVI_OK;
  for (size_t i = 0; i < study->part_count && !status; i++) {
    hvi_part *p = &study->parts[i];
    for (size_t j = 0; j < p->cells && !status; j++)
      status = unpack(study, p, j, &s->results[p->first + j], err);
  }
  return status;
}

/* The journal is the study's own, or that of the one whose cells these are. */
static hvi_status open_journal(session *s, hvi_error *err) {
  const hvi_study *study = s->study;
  const hvi_study_settings *o = study->settings;
  const bool others = study->runs && !study->tuning;
  hvi_text folder = {0}, path = {0};
  if (others)
    hvi_text_add(&folder, "%s/%s", o->out, study->runs);
  else
    hvi_text_add(&folder, "%s", study->folder);
  if (!folder.failed) hvi_text_add(&path, "%s/%s", folder.data, study->tuning ? "tune" : "cells");
  const hvi_journal_rule rule = o->resume || others ? HVI_JOURNAL_RESUME : HVI_JOURNAL_FRESH;
  hvi_kept head = {
      .kind = "journal of cells", .about = "", .accept_other_bits = o->accept_other_bits};
  hvi_status status = folder.failed || path.failed ? hvi_error_memory(err, "a path")
                                                   : hvi_folder_make(folder.data, err);
  if (!status) status = hvi_journal_open(&s->journal, path.data, &head, rule, err);
  if (status == HVI_ERROR_MISMATCH && !o->resume)
    status = hvi_journal_open(&s->journal, path.data, &head, HVI_JOURNAL_FRESH, err);
  hvi_levels_add(study->claims->levels, head.levels);
  hvi_text_free(&folder);
  hvi_text_free(&path);
  return status ? status : read_records(s, err);
}

static hvi_status begin(session *s, hvi_error *err) {
  hvi_study *study = s->study;
  s->workers = study->settings->threads ? study->settings->threads : hvi_parallel_cores();
  s->results = hvi_alloc(study->cell_count, sizeof *s->results);
  s->share = hvi_alloc_doubles(s->workers);
  if (!s->results || !s->share) return hvi_error_memory(err, "the cells of a study");
  for (size_t i = 0; i < study->part_count; i++)
    for (size_t j = 0; j < study->parts[i].cells; j++)
      s->total += cost_of(study, &study->parts[i], j);
  return open_journal(s, err);
}

hvi_status hvi_study_run_cells(hvi_study *study, hvi_error *err) {
  session s = {.study = study};
  if (pthread_mutex_init(&s.lock, NULL) != 0) return hvi_error_memory(err, "a lock");
  hvi_status status = begin(&s, err);
  for (size_t i = 0; i < study->part_count && !status && !study->stopped; i++)
    status = run_part(&s, &study->parts[i], err);
  if (!status && !study->stopped) status = fill_tables(&s, err);
  hvi_journal_close(s.journal);
  for (size_t i = 0; s.results && i < study->cell_count; i++) hvi_bytes_free(&s.results[i]);
  for (size_t i = 0; i < s.kept_count; i++) hvi_bytes_free(&s.kept[i]);
  hvi_free(s.kept);
  hvi_free(s.results);
  hvi_free(s.share);
  pthread_mutex_destroy(&s.lock);
  return status;
}
