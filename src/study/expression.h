/*
 * Expressions over the tables of a study: what a claim in an experiment's file says.
 *
 *   end(dist2, "GD(10)") < 0.1 * end(dist2, "PHGD")
 *   end(error, "Surr 50") <= 1.05 * end(error, "Surr 10")
 *   max(largest / rho, alpha > 0) <= 1 + 1e-9
 *
 * A value is a number, a sample (one number a seed), or a truth: true, false or not decided. What
 * there is to write, and what it means, stands in docs/experiments.md under "Expressions".
 */
#pragma once

#include "report/claims.h"
#include "study/table.h"

typedef enum hvi_truth { HVI_FALSE, HVI_TRUE, HVI_UNDECIDED } hvi_truth;

typedef enum hvi_quantity_kind {
  HVI_QUANTITY_NUMBER,
  HVI_QUANTITY_SAMPLE,
  HVI_QUANTITY_TRUTH
} hvi_quantity_kind;

/* What an expression is worth. A sample belongs to whoever asked for it: hvi_quantity_free. After
 * an error it is a NaN. */
typedef struct hvi_quantity {
  hvi_quantity_kind kind;
  double number;
  hvi_truth truth;
  size_t count;   /* of a sample */
  double *sample; /* [count], by seed */
} hvi_quantity;
void hvi_quantity_free(hvi_quantity *q);

/* Something that was looked at on the way, worth showing, in order of appearance and once each:
 *   "M", "M, half width"          mean of a sample by end, at, lowest or best. "M: y" where y is
 * not the first column seen; the text where that means another value "A over B", "..., lower end",
 * "..., upper end"   samples that were compared */
enum { HVI_MOST_FINDINGS = HVI_CLAIM_MEASURES };
typedef struct hvi_findings {
  size_t count;
  hvi_measure items[HVI_MOST_FINDINGS];
} hvi_findings;

/* Where names are looked up. */
typedef struct hvi_scope {
  const hvi_table *tables; /* [table_count] */
  size_t table_count;
  bool empty;           /* no table has rows yet: names and kinds of values are looked at alone */
  const hvi_table *own; /* the one that bare column names mean; may be NULL */
  const hvi_table_filter *filters;
  size_t filter_count; /* rows that do not match are not there: the level of `each` */
  /* numbers by name, {NULL, 0} at the end, or NULL; inside rows columns come first */
  const struct hvi_constant {
    const char *name;
    double value;
  } * constants;
} hvi_scope;

/* Works it out. `where` opens the text of an error, which shows the place in the expression:
 * "f.yaml:12: unknown column 'eror' in 'end(eror, ...)'; did you mean 'error'?". findings may be
 * NULL. */
hvi_status hvi_expression_eval(hvi_quantity *q, const char *text, const hvi_scope *scope,
                               hvi_findings *findings, const char *where, hvi_error *err);
