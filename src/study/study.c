/* A study from its cells to its claims. */
#include "study/study.h"

#include "base/base.h"
#include "base/clock.h"
#include "base/embedded.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/suggest.h"
#include "io/kept.h"
#include "report/text.h"
#include "study/grid.h"

#include <hvi/version.h>

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <unistd.h>

enum { MOST_SPLITS = 4 };

void hvi_slug(char *slug, size_t size, const char *text) {
  size_t n = 0;
  for (; *text && n + 1 < size; text++) {
    const unsigned char ch = (unsigned char)*text;
    if (ch < 128 && isalnum(ch))
      slug[n++] = (char)tolower(ch);
    else if (ch == '.' && n)
      slug[n++] = 'p';
    else if (n && slug[n - 1] != '-')
      slug[n++] = '-';
  }
  while (n && slug[n - 1] == '-') n--;
  slug[n] = '\0';
}

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

/* PART-TABLE, as far as they have names; the study's id where neither has. */
static void name_table(char *name, size_t size, const hvi_study *study, const hvi_part *p,
                       const char *table) {
  snprintf(name, size, "%s%s%s", p->name, *p->name && *table ? "-" : "", table);
  if (!*name) snprintf(name, size, "%s", study->id);
}

hvi_table *hvi_study_table(hvi_study *study, const hvi_part *part, const char *name) {
  char whole[64];
  name_table(whole, sizeof whole, study, part, name);
  for (size_t i = 0; i < study->table_count; i++)
    if (strcmp(study->tables[i].name, whole) == 0) return &study->tables[i];
  return NULL;
}

static hvi_status new_table(hvi_study *study, const hvi_part *part, const char *name,
                            const hvi_column *columns, size_t count, const char *split,
                            hvi_error *err) {
  if (study->table_count == study->table_room) {
    const size_t room = study->table_room + 16;
    hvi_table *grown = hvi_alloc(room, sizeof *grown);
    if (!grown) return hvi_error_memory(err, "the tables of a study");
    if (study->table_count) memcpy(grown, study->tables, study->table_count * sizeof *grown);
    hvi_free(study->tables);
    study->tables = grown;
    study->table_room = room;
  }
  hvi_table *t = &study->tables[study->table_count];
  HVI_TRY(hvi_table_new(t, name, columns, count, err));
  t->split = split;
  t->part = (size_t)(part - study->parts);
  study->table_count++;
  return HVI_OK;
}

hvi_status hvi_study_add_table(hvi_study *study, const hvi_part *part, const char *name,
                               const hvi_column *columns, const char *split, hvi_error *err) {
  char whole[64];
  size_t count = 0;
  while (columns[count].name) count++;
  name_table(whole, sizeof whole, study, part, name);
  return new_table(study, part, whole, columns, count, split, err);
}

/* The tables of a part: one each of its kind's, the factors in front. */
static hvi_status make_tables(hvi_study *study, hvi_part *p, hvi_error *err) {
  hvi_status status = HVI_OK;
  p->first_table = study->table_count;
  for (size_t k = 0; p->kind->tables[k].name && !status; k++) {
    hvi_column columns[HVI_MOST_FACTORS * 12 + 64];
    char name[64];
    size_t count = hvi_part_columns(p, p->kind->tables[k].columns, columns);
    for (const hvi_column *c = p->kind->tables[k].columns; c->name; c++) columns[count++] = *c;
    name_table(name, sizeof name, study, p, p->kind->tables[k].name);
    const char *split = p->split ? p->split : p->kind->tables[k].split;
    status = new_table(study, p, name, columns, count, split, err);
  }
  return status;
}

static hvi_status lay_out(hvi_study *study, hvi_error *err) {
  hvi_status status = HVI_OK;
  study->cell_count = study->table_count = 0;
  for (size_t i = 0; i < study->part_count && !status; i++) {
    hvi_part *p = &study->parts[i];
    p->first = study->cell_count;
    p->cells = 0;
    if (study->tuning && p->method_count == 0) continue; /* it has no rates */
    status = hvi_part_lay_out(p, study->settings->full, study->origin, err);
    study->cell_count += p->cells;
    if (!status && p->kind->open) status = p->kind->open(study, p, err);
    if (!status) status = make_tables(study, p, err);
    if (study->stopped) break;
  }
  return status;
}

void hvi_split_name(char *name, size_t size, const hvi_table *t, const hvi_table_filter *filters,
                    size_t count) {
  size_t used = (size_t)snprintf(name, size, "%s", t->name);
  for (size_t c = 0; c < t->columns; c++)
    for (size_t i = 0; i < count && used + 2 < size; i++) {
      char slug[64], number[32];
      if (strcmp(t->column[c].name, filters[i].column) != 0 || !hvi_is_split(t, c)) continue;
      if (!filters[i].word) snprintf(number, sizeof number, "%g", filters[i].number);
      hvi_slug(slug, sizeof slug, filters[i].word ? filters[i].word : number);
      used += (size_t)snprintf(name + used, size - used, "-%s", slug);
    }
}

bool hvi_is_split(const hvi_table *t, size_t column) {
  return hvi_words_have(t->split, t->column[column].name);
}

/* The levels of the columns that split a table, in a row. */
static size_t levels_of(hvi_table_filter *filters, const hvi_table *t, size_t row) {
  size_t n = 0;
  for (size_t c = 0; c < t->columns && n < MOST_SPLITS; c++)
    if (hvi_is_split(t, c))
      filters[n++] = (hvi_table_filter){t->column[c].name, hvi_table_word(t, row, c),
                                        hvi_table_get(t, row, c)};
  return n;
}

/* A CSV for each combination of levels that there is, written at its first row. */
static hvi_status write_table(const hvi_study *study, const hvi_table *t, hvi_error *err) {
  hvi_status status = HVI_OK;
  for (size_t i = 0; i < t->rows && !status; i++) {
    hvi_table_filter filters[MOST_SPLITS];
    const size_t count = levels_of(filters, t, i);
    char name[160];
    size_t before = 0;
    while (before < i && !hvi_table_matches(t, before, filters, count)) before++;
    if (before < i) continue;
    hvi_split_name(name, sizeof name, t, filters, count);
    char *path = hvi_study_path(study, name, ".csv");
    status = path ? hvi_table_write(t, path, filters, count, err) : hvi_error_memory(err, "a path");
    hvi_free(path);
  }
  return status;
}

static hvi_status finish(hvi_study *study, hvi_error *err) {
  hvi_status status = HVI_OK;
  for (size_t i = 0; i < study->part_count && !status; i++)
    if (study->parts[i].kind->derive)
      status = study->parts[i].kind->derive(study, &study->parts[i], err);
  for (size_t i = 0; i < study->table_count && !status; i++)
    status = write_table(study, &study->tables[i], err);
  if (!status) status = hvi_study_draw(study, err);
  return status ? status : hvi_study_judge(study, err);
}

/* Everything that decides the result: the file, its size, what its cells depend on. */
static hvi_status hash_settings(char *out, size_t size, hvi_study *study, hvi_error *err) {
  uint64_t hash = hvi_hash_bytes(HVI_HASH_START, study->text, strlen(study->text) + 1);
  hash = hvi_hash_count(hash, study->settings->full);
  for (size_t i = 0; i < study->part_count; i++) {
    hvi_part *p = &study->parts[i];
    const hvi_cell first = hvi_cell_at(study, p, 0);
    char *about = hvi_cell_describe(&first), *file = NULL;
    if (!about) return hvi_error_memory(err, "a study");
    hash = hvi_hash_bytes(hash, about, strlen(about) + 1);
    hvi_free(about);
    for (const hvi_embedded *f = hvi_embedded_problems; p->problem && f->name; f++)
      if (strcmp(f->name, p->problem) == 0) hash = hvi_hash_bytes(hash, f->text, strlen(f->text));
    if (!p->problem_path) continue;
    HVI_TRY(hvi_file_read_text(&file, p->problem_path, (size_t)64 << 20, err));
    hash = hvi_hash_bytes(hash, file, strlen(file));
    hvi_free(file);
  }
  snprintf(out, size, "%016" PRIx64, hash);
  return HVI_OK;
}

/* An earlier run counts when it had the same settings. A damaged file, or one of another level of
 * instructions, is an error. */
static hvi_status look_for_claims(bool *finished, hvi_study *study, const char *hash,
                                  hvi_error *err) {
  hvi_claims *claims = study->claims;
  const char *path = study->claims_path;
  hvi_kept head = {.accept_other_bits = study->settings->accept_other_bits};
  *finished = false;
  if (!study->settings->resume || access(path, F_OK) != 0) return HVI_OK;
  hvi_status status = hvi_claims_read(claims, path, err);
  if (status) return status;
  *finished = claims->checked && strcmp(claims->settings_hash, hash) == 0;
  if (*finished) status = hvi_kept_match_levels(&head, path, claims->levels, err);
  if (status || !*finished) hvi_claims_clear(claims);
  return status;
}

hvi_status hvi_study_open(hvi_study *study, hvi_claims *claims, const hvi_study_settings *s,
                          hvi_error *err) {
  *claims = (hvi_claims){0};
  study->settings = s;
  study->claims = claims;
  study->stopped = false;
  study->lock = (hvi_lock){-1, NULL};
  study->folder = hvi_path_join(s->out, study->id, "");
  study->claims_path = study->folder ? hvi_study_path(study, "claims.json", "") : NULL;
  if (!study->claims_path) return hvi_error_memory(err, "a path");
  hvi_status status = hvi_folder_make(study->folder, err);
  if (!status) status = hvi_lock_take(&study->lock, study->claims_path, err);
  return status ? status : lay_out(study, err);
}

void hvi_study_close(hvi_study *study, hvi_status status) {
  hvi_lock_release(&study->lock);
  if (status || study->stopped) hvi_claims_clear(study->claims);
  for (size_t i = 0; i < study->part_count; i++) {
    if (study->parts[i].kind->close) study->parts[i].kind->close(&study->parts[i]);
    hvi_part_clear(&study->parts[i]);
  }
  for (size_t i = 0; i < study->table_count; i++) hvi_table_free(&study->tables[i]);
  hvi_free(study->tables);
  hvi_free(study->folder);
  hvi_free(study->claims_path);
  study->tables = NULL;
  study->folder = study->claims_path = NULL;
  study->table_count = study->table_room = 0;
}

/* claims.json says that the folder is complete, so it comes last and goes first. */
static void start_claims(const hvi_study *study, const char *hash) {
  hvi_claims *c = study->claims;
  remove(study->claims_path);
  snprintf(c->settings_hash, sizeof c->settings_hash, "%s", hash);
  snprintf(c->experiment, sizeof c->experiment, "%s", study->id);
  snprintf(c->title, sizeof c->title, "%s", study->title);
  snprintf(c->mode, sizeof c->mode, "%s", study->settings->full ? "full" : "quick");
}

hvi_status hvi_study_run(hvi_claims *claims, bool *stopped, hvi_study *study,
                         const hvi_study_settings *s, hvi_error *err) {
  char hash[sizeof claims->settings_hash] = "";
  bool finished = false;
  hvi_status status = hvi_study_open(study, claims, s, err);
  const double started = hvi_clock_now();
  if (!status && !study->stopped) status = hash_settings(hash, sizeof hash, study, err);
  if (!status && !study->stopped) status = look_for_claims(&finished, study, hash, err);
  if (!status && !study->stopped && !finished) {
    start_claims(study, hash);
    if (hvi_study_progress(study, "starting", 0)) status = hvi_study_run_cells(study, err);
    if (!status && !study->stopped) status = finish(study, err);
    claims->seconds = hvi_clock_now() - started;
    if (!status && !study->stopped) status = hvi_claims_write(claims, study->claims_path, err);
  }
  hvi_study_close(study, status);
  *stopped = study->stopped;
  return status;
}

static bool is_among(const hvi_claims *claims, size_t count, const char *id) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(claims[i].experiment, id) == 0) return true;
  return false;
}

static bool read_earlier(hvi_claims *claims, const char *out, const char *id) {
  hvi_text path = {0};
  hvi_text_add(&path, "%s/%s/claims.json", out, id);
  bool read = !path.failed && hvi_claims_read(claims, path.data, NULL) == HVI_OK;
  hvi_text_free(&path);
  return read;
}

/* A shallow copy of the list is enough: only the earlier ones, at its end, are this file's own. */
hvi_status hvi_study_page(const char *out, const hvi_claims *claims, size_t count, hvi_error *err) {
  const char *const *ids = hvi_study_ids();
  size_t most = count, shown = count;
  while (ids[most - count]) most++;
  hvi_claims *list = hvi_alloc(most, sizeof *list);
  if (!list) return hvi_error_memory(err, "index.html");
  if (count) memcpy(list, claims, count * sizeof *list);
  for (size_t i = 0; ids[i]; i++)
    if (!is_among(claims, count, ids[i])) shown += read_earlier(&list[shown], out, ids[i]);
  hvi_status status = hvi_claims_page(list, shown, out, err);
  for (size_t i = count; i < shown; i++) hvi_claims_clear(&list[i]);
  hvi_free(list);
  return status;
}
