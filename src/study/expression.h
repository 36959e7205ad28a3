/*
 * Expressions over the tables of a study: what a claim in an experiment's file says.
 *
 *   end(dist2, "GD(10)") < 0.1 * end(dist2, "PHGD")
 *   end(error, "Surr 50") <= 1.05 * end(error, "Surr 10")
 *   max(largest / rho, alpha > 0) <= 1 + 1e-9
 *
 * A value is a number, a sample (one number a seed), or a truth: true, false or not decided.
 *
 * Rows. Inside max, min, mean, median, sum, count, first, last, every and any the first argument is
 * worked out in each row of the table, where a name is a column or a constant; the second one, if
 * there is one, says which rows count. `method == "PHGD"` compares words. every and any give a
 * truth. count takes a number (rows that have one) or a condition, mean a condition too: a share, of
 * which low and high are the ends of its 95 % interval. What is not a number in one row makes the
 * whole not a number, so that no claim holds because of it: leave it out with finite(x).
 * Of no rows sum and count are 0, any is false, every is not decided, the others are NaN.
 *
 * Curves. Where rows belong to a method (column `method`) they are its curve over `outer`, once for
 * each level of `seed` if there is such a column (study/runs.h):
 *   end(y, "M")            y in the last row of method M: a sample over the seeds. Infinite where a
 *                          run diverged (column `diverged` is 1 in its last row), and where y has
 *                          become NaN after it was a number
 *   at(y, "M", x, X)       y where column x is X: on a straight line between the rows around it (of
 *                          the logarithm where both are positive); past the end as above
 *   finish(x, "M")         the smallest x of the last rows of M that did not diverge
 *   slope(y, "M", a, b)    of the line log10 y = c + slope * outer, outer from a to b; r2(...) its
 *                          fit. With a fifth argument: every so many outer steps
 *   typical(y, "M", a, b)  the median of y over outer from a to b
 *   rise(y, "M")           the largest y[t] / y[s], s < t: how far it rose again; rise(y, "M", 10)
 *                          looks at every tenth outer step
 *   lowest(y, "G")         among methods whose column `group` is G: y of the method and at the outer
 *                          step where the mean over the seeds is least of all
 *   best(y, "G", x, X)     of the method whose mean at X is least
 * Without a column `seed`, or with nothing in it, samples are numbers. A sample of one seed decides nothing. mean(S), half(S) (95 % Student's t),
 * median(S) and worst(S) make numbers of a sample; mean and half leave out seeds without a value,
 * and are infinite and NaN where one diverged.
 *
 * Comparing two samples gives a truth with an interval: seed by seed, a < b is decided by the 95 %
 * Student-t interval of log a - log b; a <= c * b with a factor on either side likewise. < and <=
 * are the same here. A number beside a sample counts on every seed. A sample of which a seed
 * diverged loses to one of which none did, unless its other seeds are ahead. Where a value is
 * negative it is the difference that has the interval. If there is a column or a constant y_noise,
 * samples of y by end, at, lowest and best contain that much noise, and are compared without it.
 *
 * Operators: + - * / ^, < <= > >= == !=, and or not, parentheses, of samples seed by seed;
 * functions abs, sqrt, log, log10, exp, floor, min and max of two numbers as least(a, b) and
 * most(a, b), finite(x). `TABLE.column` names another table than the claim's own,
 * `"a-table".column` one whose name has other characters than letters, digits and _. Words stand in
 * quotes of either kind.
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
  char which[64]; /* by lowest or best alone: the method that was found */
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
