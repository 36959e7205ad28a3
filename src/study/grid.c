/* The factors of a part, and what a cell knows of its place in the grid. */
#include "study/grid.h"
#include "base/base.h"
#include "study/fields.h"

enum { MOST_LEVELS = 100000, MOST_CELLS = 10000000 };

static hvi_status new_factor(hvi_factor *f, const char *name, size_t levels, size_t keys,
                             hvi_error *err) {
  *f = (hvi_factor){.name = name,
                    .levels = levels,
                    .keys = keys,
                    .key = {name},
                    .text = hvi_alloc(keys * (levels + 1), sizeof *f->text)};
  return f->text ? HVI_OK : hvi_error_memory(err, "the grid of a study");
}

static const char **texts_of(const hvi_factor *f, size_t key) {
  return &f->text[key * (f->levels + 1)];
}

/* NaN where the text is no number. */
static double number_of(const char *text) {
  char *end;
  const double x = strtod(text, &end);
  return end != text && !*end ? x : NAN;
}

static void set_level(hvi_factor *f, size_t key, size_t level, const char *text) {
  texts_of(f, key)[level] = text;
  if (*text && isnan(number_of(text))) f->words[key] = true;
}

/* Levels first, first + 1, ...: whole numbers. */
static hvi_status count_up(hvi_factor *f, const char *name, uint64_t first, size_t levels,
                           hvi_error *err) {
  HVI_TRY(new_factor(f, name, levels, 1, err));
  HVI_TRY(hvi_new(&f->made, levels, "the grid of a study", err));
  for (size_t i = 0; i < levels; i++) {
    snprintf(f->made[i], sizeof f->made[i], "%llu", (unsigned long long)(first + i));
    set_level(f, 0, i, f->made[i]);
  }
  return HVI_OK;
}

/* Levels 10^low .. 10^high, evenly on a logarithmic axis. */
static hvi_status count_powers(hvi_factor *f, const char *name, int low, int high, size_t levels,
                               hvi_error *err) {
  HVI_TRY(count_up(f, name, 0, levels, err));
  for (size_t i = 0; i < levels; i++) {
    const double share = levels > 1 ? (double)(high - low) * (double)i / (double)(levels - 1) : 0.0;
    snprintf(f->made[i], sizeof f->made[i], "%.17g", pow(10.0, low + share));
  }
  return HVI_OK;
}

static hvi_status wrong_level(const hvi_node *n, const char *origin, const char *what,
                              hvi_error *err) {
  return hvi_error_line(err, origin, n->line, "%s", what);
}

/* A level, or a list of them: values, or maps whose values stand under their keys. */
static hvi_status read_levels(hvi_factor *f, const hvi_node *node, const char *origin,
                              hvi_error *err) {
  const bool list = node->kind == HVI_NODE_LIST;
  const hvi_node *first = list ? node->first : node;
  const bool maps = first->kind == HVI_NODE_MAP;
  size_t level = 0;
  HVI_TRY(new_factor(f, node->key, list ? node->count : 1, maps ? HVI_MOST_KEYS : 1, err));
  if (maps) f->key[0] = NULL;
  for (size_t k = 0; k < f->keys; k++)
    for (size_t i = 0; i < f->levels; i++) set_level(f, k, i, "");
  for (const hvi_node *n = first; n; n = list ? n->next : NULL, level++) {
    if (n->kind != (maps ? HVI_NODE_MAP : HVI_NODE_SCALAR))
      return wrong_level(n, origin, "the levels of a factor are all values, or all maps", err);
    for (const hvi_node *v = maps ? n->first : n; v; v = maps ? v->next : NULL) {
      const char *key = maps ? v->key : f->name;
      size_t k = 0;
      while (k < f->keys && f->key[k] && strcmp(f->key[k], key) != 0) k++;
      if (v->kind != HVI_NODE_SCALAR || k == f->keys || strchr(key, ' '))
        return wrong_level(v, origin, "a level is a value, or a map of values (at most 12)", err);
      f->key[k] = key;
      set_level(f, k, level, v->text);
    }
  }
  while (f->keys > 1 && !f->key[f->keys - 1]) f->keys--;
  return HVI_OK;
}

/* Levels as they stand, FIRST..LAST, or "10^-3..10^1, 21 levels". */
static hvi_status read_factor(hvi_factor *f, const hvi_node *n, const char *origin,
                              hvi_error *err) {
  unsigned long long first, last;
  int low, high, used = 0;
  if (n->kind == HVI_NODE_LIST && n->count) return read_levels(f, n, origin, err);
  if (n->kind != HVI_NODE_SCALAR) return wrong_level(n, origin, "a factor needs levels", err);
  if (sscanf(n->text, "10^%3d..10^%3d, %8llu levels%n", &low, &high, &last, &used) == 3 && used &&
      !n->text[used]) {
    if (last < 1 || last > MOST_LEVELS || abs(low) > 99 || abs(high) > 99)
      return wrong_level(n, origin, "a range needs 1 to 100000 levels, 10^-99 to 10^99", err);
    return count_powers(f, n->key, low, high, (size_t)last, err);
  }
  if (sscanf(n->text, "%llu..%llu%n", &first, &last, &used) != 2 || n->text[used])
    return read_levels(f, n, origin, err);
  if (last < first || last - first >= MOST_LEVELS)
    return wrong_level(n, origin, "a range needs 1 to 100000 levels", err);
  return count_up(f, n->key, first, (size_t)(last - first) + 1, err);
}

/* The factors of the file; those under quick or full stand in the place of others of their name. */
static hvi_status read_grid(hvi_part *p, const hvi_node *sized, const char *origin,
                            hvi_error *err) {
  for (const hvi_node *n = p->grid ? p->grid->first : NULL; n; n = n->next) {
    const hvi_node *other = sized ? hvi_node_get(sized, n->key) : NULL;
    if (p->factor_count + 4 >= HVI_MOST_FACTORS)
      return wrong_level(n, origin, "too many factors", err);
    if (strchr(n->key, ' '))
      return wrong_level(n, origin, "a factor is named by one word: it is a column", err);
    HVI_TRY(read_factor(&p->factors[p->factor_count++], other ? other : n, origin, err));
  }
  for (const hvi_node *n = sized ? sized->first : NULL; n; n = n->next)
    if (!p->grid || !hvi_node_get(p->grid, n->key))
      return wrong_level(n, origin, "this factor is not in the part's own grid", err);
  return HVI_OK;
}

/* The factors of the file; then environments, methods and seeds, which the kind asks for. */
static hvi_status make_factors(hvi_part *p, bool full, const char *origin, hvi_error *err) {
  const unsigned flags = p->kind->flags;
  p->scale = full ? p->full : p->quick;
  p->factor_count = 0;
  HVI_TRY(read_grid(p, full ? p->full_grid : p->quick_grid, origin, err));
  if (flags & HVI_KIND_REPEATS)
    HVI_TRY(count_up(&p->factors[p->factor_count++], "repeat", 1, p->scale.repeats, err));
  if (flags & HVI_KIND_VALUE) {
    hvi_factor *f = &p->factors[p->factor_count++];
    HVI_TRY(new_factor(f, "environment", p->value->environment_count, 1, err));
    for (size_t i = 0; i < f->levels; i++)
      set_level(f, 0, i, p->value->environments[i].environment);
  }
  if (flags & HVI_KIND_METHODS) {
    hvi_factor *f = &p->factors[p->factor_count++];
    HVI_TRY(new_factor(f, "method", p->method_count, 1, err));
    for (size_t i = 0; i < f->levels; i++) set_level(f, 0, i, p->methods[i].label);
    f->words[0] = true;
  }
  return flags & HVI_KIND_SEEDS
             ? count_up(&p->factors[p->factor_count++], "seed", p->seed, p->scale.instances, err)
             : HVI_OK;
}

void hvi_part_clear(hvi_part *p) {
  for (size_t i = 0; i < HVI_MOST_FACTORS; i++) {
    hvi_free(p->factors[i].text);
    hvi_free(p->factors[i].made);
    p->factors[i] = (hvi_factor){0};
  }
  p->factor_count = 0;
}

const hvi_factor *hvi_part_factor(const hvi_part *p, const char *name) {
  for (const hvi_factor *f = p->factors; f < p->factors + p->factor_count; f++)
    if (strcmp(f->name, name) == 0 && strcmp(f->key[0], name) == 0) return f;
  return NULL;
}

hvi_status hvi_part_each(const hvi_factor **by, const hvi_part *p, const char *each,
                         const hvi_node *n, const char *origin, hvi_error *err) {
  char names[HVI_MOST_FACTORS * 64] = "";
  const hvi_node *key = hvi_node_get(n, "each");
  if ((*by = hvi_part_factor(p, each))) return HVI_OK;
  for (const hvi_factor *f = p->factors; f < p->factors + p->factor_count; f++)
    if (hvi_part_factor(p, f->name))
      snprintf(names + strlen(names), 64, "%s%.60s", *names ? " " : "", f->name);
  return hvi_field_refuse(&(hvi_field_part){0}, names, "factor", each, key ? key : n, origin, err);
}

hvi_table_filter hvi_factor_level(const hvi_factor *f, size_t level) {
  const char *text = f->text[level];
  return (hvi_table_filter){f->name, f->words[0] ? text : NULL, number_of(text)};
}

/* The factor that has this key; NULL: none. */
static const hvi_factor *find_key(const hvi_part *p, const char *key, size_t *which, size_t *at) {
  for (*which = 0; *which < p->factor_count; ++*which) {
    const hvi_factor *f = &p->factors[*which];
    for (*at = 0; *at < f->keys; ++*at)
      if (strcmp(f->key[*at], key) == 0) return f;
  }
  return NULL;
}

/* In rows numbers are compared: 0.50 is 0.5. */
static bool has_level(const hvi_part *p, const hvi_node *n, bool rows) {
  size_t i, k;
  const hvi_factor *f = find_key(p, n->key, &i, &k);
  for (size_t level = 0; f && level < f->levels; level++) {
    const char *text = texts_of(f, k)[level];
    if (strcmp(text, n->text) == 0 || (rows && number_of(text) == number_of(n->text))) return true;
  }
  return false;
}

bool hvi_part_has_level(const hvi_part *p, bool full, const hvi_node *n) {
  hvi_part other = *p;
  if (has_level(p, n, true)) return true;
  memset(other.factors, 0, sizeof other.factors);
  const bool found = make_factors(&other, !full, "", NULL) == HVI_OK && has_level(&other, n, true);
  hvi_part_clear(&other);
  return found;
}

/* What makes a problem that has options; NULL: a file has none, and neither has what is not there.
 */
static const hvi_builtin *maker_of(const hvi_part *p, const char *problem) {
  const bool own = p->code && p->problem && strcmp(problem, p->problem) == 0;
  return own ? p->code : hvi_builtin_find(problem);
}

/* Keys of `at` are settings, or factors with one of their levels; `other` is the other size. */
static hvi_status check_at(const hvi_part *p, const hvi_part *other, const hvi_arm *arm,
                           const hvi_node *n, const char *origin, hvi_error *err) {
  size_t i, k;
  const bool size = strcmp(n->key, "size") == 0, scalar = n->kind == HVI_NODE_SCALAR;
  if (!size && !find_key(p, n->key, &i, &k)) {
    if (hvi_setting_find(hvi_settings_table(), n->key)) return HVI_OK;
    return hvi_error_line(err, origin, n->line, "'%s' is no factor and no setting", n->key);
  }
  if (scalar && size ? hvi_words_have("quick full", n->text)
                     : scalar && (has_level(p, n, false) || has_level(other, n, false)))
    return HVI_OK;
  return hvi_error_line(err, origin, n->line,
                        "'%s': at names %s '%.60s', which is none of its levels", arm->label,
                        n->key, scalar ? n->text : "[...]");
}

static hvi_status check_arms(const hvi_part *p, const hvi_part *other, const char *origin,
                             hvi_error *err) {
  for (const hvi_arm *arm = p->methods; arm < p->methods + p->method_count; arm++) {
    /* while rates are tuned, methods and seeds are others than those of the file */
    const hvi_node *map = arm->at && arm->rate == 0.0 ? arm->at->first : NULL;
    for (; map; map = map->next) {
      if (map->kind != HVI_NODE_MAP)
        return wrong_level(map, origin, "at must be a list of maps", err);
      for (const hvi_node *n = map->first; n; n = n->next)
        HVI_TRY(check_at(p, other, arm, n, origin, err));
    }
  }
  return HVI_OK;
}

static bool is_option(const hvi_part *p, const char *problem, const char *key) {
  const hvi_builtin *b = maker_of(p, problem);
  return b && b->options && hvi_setting_find(b->options, key);
}

/* Whether a key means something: to the kind, to the problem, or to a method. */
static bool is_read(const hvi_part *p, const char *key) {
  const unsigned flags = p->kind->flags;
  size_t i, k = 0;
  const hvi_factor *problems = flags & HVI_KIND_VALUE ? NULL : find_key(p, "problem", &i, &k);
  if (hvi_words_have(p->kind->numbers, key) || hvi_words_have(p->kind->words, key) ||
      (problems && strcmp(key, "problem") == 0) ||
      ((flags & HVI_KIND_SETTINGS) && hvi_setting_find(hvi_settings_table(), key)) ||
      (p->problem && is_option(p, p->problem, key)))
    return true;
  for (size_t level = 0; problems && level < problems->levels; level++)
    if (is_option(p, texts_of(problems, k)[level], key)) return true;
  for (const hvi_arm *arm = p->methods; arm < p->methods + p->method_count; arm++)
    for (const hvi_node *map = arm->at ? arm->at->first : NULL; map; map = map->next)
      if (hvi_node_get(map, key)) return true;
  return false;
}

static hvi_status refuse_factor(const hvi_part *p, const char *key, const hvi_node *n,
                                const char *origin, hvi_error *err) {
  const hvi_builtin *b = p->problem ? maker_of(p, p->problem) : NULL;
  const hvi_setting_table *options = b ? b->options : NULL;
  const bool lab = p->kind->flags & HVI_KIND_SETTINGS;
  const hvi_field_part parts[] = {{.table = options ? options : hvi_settings_table()},
                                  {.table = lab && options ? hvi_settings_table() : NULL},
                                  {0}};
  char names[400];
  snprintf(names, sizeof names, "%s%s%s", p->kind->numbers ? p->kind->numbers : "",
           p->kind->numbers && p->kind->words ? " " : "", p->kind->words ? p->kind->words : "");
  if (!lab && hvi_setting_find(hvi_settings_table(), key))
    return hvi_error_line(err, origin, n->line,
                          "'%s' is a setting of methods, and no factor of kind %s", key,
                          p->kind->name);
  return hvi_field_refuse(options || lab ? parts : &parts[2], names, "factor", key, n, origin, err);
}

/* A key that nothing reads would vary nothing; one that a map has under the factor's own name is a
 * label. */
static hvi_status check_factors(const hvi_part *p, const char *origin, hvi_error *err) {
  const size_t own = p->grid ? p->grid->count : 0;
  for (size_t i = 0; i < p->factor_count; i++)
    for (size_t k = 0; own && k < p->factors[i].keys; k++) {
      const hvi_factor *f = &p->factors[i];
      const char *key = f->key[k];
      size_t first, at;
      find_key(p, key, &first, &at);
      const hvi_node *n = hvi_node_get(p->grid, p->factors[first].name);
      if (first != i) return hvi_error_line(err, origin, n->line, "'%s' is varied twice", key);
      if (i >= own || (f->keys > 1 && strcmp(key, f->name) == 0)) continue;
      if (!is_read(p, key)) return refuse_factor(p, key, n, origin, err);
      if (f->words[k] && hvi_words_have(p->kind->numbers, key))
        return hvi_error_line(err, origin, n->line, "%s: levels must be numbers", key);
    }
  return HVI_OK;
}

hvi_status hvi_part_lay_out(hvi_part *p, bool full, const char *origin, hvi_error *err) {
  HVI_TRY(make_factors(p, full, origin, err));
  HVI_TRY(check_factors(p, origin, err));
  p->cells = 1;
  for (size_t i = 0; i < p->factor_count; i++)
    if (!hvi_multiply_sizes(p->cells, p->factors[i].levels, &p->cells) || p->cells > MOST_CELLS)
      return hvi_error_input(err, "%s: more than %d cells", origin, MOST_CELLS);
  hvi_part other = *p;
  memset(other.factors, 0, sizeof other.factors);
  hvi_status status = make_factors(&other, !full, origin, err);
  if (!status) status = check_arms(p, &other, origin, err);
  hvi_part_clear(&other);
  return status;
}

hvi_cell hvi_cell_at(hvi_study *study, hvi_part *part, size_t index) {
  hvi_cell c = {.study = study, .part = part, .index = index};
  for (size_t i = part->factor_count; i-- > 0; index /= part->factors[i].levels)
    c.level[i] = index % part->factors[i].levels;
  return c;
}

double hvi_cell_number(const hvi_cell *c, const char *key) {
  const char *text = hvi_cell_word(c, key);
  return text ? number_of(text) : NAN;
}

const char *hvi_cell_word(const hvi_cell *c, const char *key) {
  size_t i, k;
  const hvi_factor *f = find_key(c->part, key, &i, &k);
  const char *text = f ? texts_of(f, k)[c->level[i]] : "";
  return *text ? text : NULL;
}

size_t hvi_cell_level(const hvi_cell *c, const char *key) {
  size_t i, k;
  return find_key(c->part, key, &i, &k) ? c->level[i] : 0;
}

hvi_status hvi_cell_choice(size_t *at, const hvi_cell *c, const char *key, const char *const *words,
                           hvi_error *err) {
  const char *word = hvi_cell_word(c, key);
  for (*at = 0; word && words[*at]; ++*at)
    if (strcmp(words[*at], word) == 0) return HVI_OK;
  return hvi_suggest_refuse(err, c->study->origin, key, word ? word : "", words);
}

const hvi_arm *hvi_cell_method(const hvi_cell *c) {
  return &c->part->methods[hvi_cell_level(c, "method")];
}

/* The level of a key of `at` where the cell is; NULL: it is a setting. */
static const char *level_at(const hvi_cell *c, const hvi_node *n) {
  if (strcmp(n->key, "size") == 0) return c->study->settings->full ? "full" : "quick";
  return hvi_cell_word(c, n->key);
}

static hvi_status apply_at(hvi_settings *s, const hvi_cell *c, const hvi_node *map,
                           hvi_error *err) {
  for (const hvi_node *n = map->first; n; n = n->next) {
    const char *level = level_at(c, n);
    if (level && strcmp(level, n->text) != 0) return HVI_OK;
  }
  for (const hvi_node *n = map->first; n; n = n->next)
    if (!level_at(c, n))
      HVI_TRY(hvi_field_read(hvi_setting_find(hvi_settings_table(), n->key), s, n, c->study->origin,
                             err));
  return HVI_OK;
}

hvi_status hvi_cell_hand_on(hvi_settings *s, const hvi_cell *c, const char *but, hvi_error *err) {
  for (size_t i = 0; i < c->part->factor_count; i++)
    for (size_t k = 0; k < c->part->factors[i].keys; k++) {
      const char *key = c->part->factors[i].key[k], *text = hvi_cell_word(c, key);
      const hvi_setting *row = text ? hvi_setting_find(hvi_settings_table(), key) : NULL;
      if (row && !hvi_words_have(but, key)) HVI_TRY(hvi_setting_parse(row, s, text, key, err));
    }
  return HVI_OK;
}

hvi_status hvi_cell_settings(hvi_settings *s, const hvi_cell *c, hvi_error *err) {
  const hvi_arm *arm = hvi_cell_method(c);
  const char *key;
  *s = arm->settings;
  if (c->part->kind->flags & HVI_KIND_SETTINGS) HVI_TRY(hvi_cell_hand_on(s, c, NULL, err));
  if ((c->part->kind->flags & HVI_KIND_VALUE) && !arm->eta_given && !s->baseline) s->eta = 1.0;
  for (const hvi_node *n = arm->at ? arm->at->first : NULL; n; n = n->next)
    HVI_TRY(apply_at(s, c, n, err));
  if (arm->rate > 0.0) *hvi_arm_rate(s, &key) = arm->rate;
  return HVI_OK;
}

uint64_t hvi_cell_seed(const hvi_cell *c) {
  const char *text = hvi_cell_word(c, "seed");
  return text ? strtoull(text, NULL, 10) : c->part->seed;
}

static hvi_status make_builtin(hvi_problem **p, const hvi_cell *c, const char *problem,
                               uint64_t instance, hvi_error *err) {
  const hvi_part *part = c->part;
  hvi_option options[64];
  size_t count = 0;
  for (; count < part->option_count && count < 48; count++) options[count] = part->options[count];
  for (size_t i = 0; i < part->factor_count; i++)
    for (size_t k = 0; k < part->factors[i].keys && count < 64; k++) {
      const char *key = part->factors[i].key[k], *text = hvi_cell_word(c, key);
      if (text && is_option(part, problem, key)) options[count++] = (hvi_option){key, text};
    }
  const hvi_builtin *b = maker_of(part, problem);
  if (b) return hvi_builtin_make(p, b, options, count, part->seed, instance, err);
  return hvi_builtin_new(p, problem, options, count, part->seed, instance, err); /* refuses */
}

hvi_status hvi_cell_problem(hvi_problem **p, const hvi_cell *c, uint64_t instance, hvi_error *err) {
  const hvi_part *part = c->part;
  const char *varied = hvi_cell_word(c, "problem");
  const char *problem = varied ? varied : part->problem;
  *p = NULL;
  if (!problem) return hvi_error_input(err, "experiment '%s' names no problem", c->study->id);
  if (varied || part->code || !part->problem_path)
    return make_builtin(p, c, problem, instance, err);
  if (instance > 0)
    return hvi_error_unsupported(
        err,
        "experiment '%s': a game file is one fixed game; an ensemble needs a "
        "built-in problem, or code, which can be drawn at random",
        c->study->id);
  if (part->option_count)
    return hvi_error_input(
        err, "experiment '%s': options are for built-in problems and code; change the game file",
        c->study->id);
  return hvi_problem_load(p, part->problem_path, part->seed, 0, err);
}

size_t hvi_part_columns(const hvi_part *p, const hvi_column *own, hvi_column *columns) {
  size_t n = 0;
  for (size_t i = 0; i < p->factor_count; i++)
    for (size_t k = 0; k < p->factors[i].keys; k++) {
      const hvi_factor *f = &p->factors[i];
      const hvi_column *same = own;
      while (same->name && !hvi_words_have(same->name, f->key[k])) same++;
      if (same->name) continue;
      columns[n++] = (hvi_column){f->key[k], f->words[k] ? texts_of(f, k) : NULL};
    }
  return n;
}

void hvi_cell_levels(const hvi_cell *c, const hvi_table *t, double *row) {
  for (size_t j = 0; j < t->columns; j++) {
    size_t i, k;
    const hvi_factor *f = find_key(c->part, t->column[j].name, &i, &k);
    if (f)
      row[j] = t->column[j].words ? (double)c->level[i] : number_of(texts_of(f, k)[c->level[i]]);
  }
}
