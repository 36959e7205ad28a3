/* Expressions of claims: any text either has a value, with findings that have names, or one line of
 * error. */
#include "study/expression.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const methods[] = {"A", "B", NULL};
static const hvi_column columns[] = {{"method", methods}, {"group", methods}, {"seed", NULL},
                                     {"outer", NULL},     {"y", NULL},        {"diverged", NULL}};

/* Two methods on two seeds, and rows without any. */
static void fill(hvi_table t[2]) {
  if (hvi_table_new(&t[0], "t", columns, 6, NULL) || hvi_table_new(&t[1], "u", columns, 6, NULL))
    abort();
  for (size_t i = 0; i < 16; i++) {
    const double outer = (double)(i % 4), y = i == 6 ? NAN : 1.0 / (1.0 + (double)i);
    const double row[] = {(double)(i / 8), (double)(i / 8), (double)(i / 4 % 2), outer, y, i == 15};
    const double bare[] = {i % 3 ? 0.0 : NAN, NAN, NAN, outer, -y, NAN};
    if (hvi_table_add(&t[0], row, NULL) || hvi_table_add(&t[1], bare, NULL)) abort();
  }
}

static void check(const hvi_findings *f) {
  if (f->count > HVI_MOST_FINDINGS) abort();
  for (size_t i = 0; i < f->count; i++)
    if (!f->items[i].name[0] || strlen(f->items[i].name) > 63) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const struct hvi_constant constants[] = {{"c", 2.0}, {"y_noise", 0.1}, {NULL, 0.0}};
  static hvi_table t[2]; /* they are only read */
  char *text = malloc(size + 1);
  if (!text) return 0;
  if (size) memcpy(text, data, size);
  text[size] = '\0';
  if (!t[0].name[0]) fill(t);
  const hvi_scope scope = {.tables = t, .table_count = 2, .own = t, .constants = constants};
  hvi_quantity q;
  hvi_findings findings;
  hvi_error err = {HVI_OK, ""};
  if (!hvi_expression_eval(&q, text, &scope, &findings, "fuzz", &err))
    check(&findings);
  else if (q.sample || !err.status || !err.text[0] || strchr(err.text, '\n'))
    abort();
  hvi_quantity_free(&q);
  free(text);
  return 0;
}
