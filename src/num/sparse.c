/*
 * Sparse matrices by rows.
 *
 *   y_i = sum_k value_k x[column_k],  k = start_i .. start_{i+1}
 *
 * The product reads 12 bytes an entry in a stream and gathers x; the transposed product scatters
 * into y. Sorted columns make the gathers of neighbouring rows share cache lines.
 */
#include "num/sparse.h"

#include "base/base.h"
#include "num/vec.h"

typedef struct entry {
  uint32_t column;
  double value;
} entry;

hvi_status hvi_sparse_new(hvi_sparse *out, size_t rows, size_t columns, size_t entries,
                          hvi_error *err) {
  *out = (hvi_sparse){.rows = rows, .columns = columns};
  if (columns > UINT32_MAX || rows > UINT32_MAX)
    return hvi_error_input(
        err, "a sparse matrix of %zu by %zu is too large; rows and columns are counted in 32 bits",
        rows, columns);
  out->start = hvi_alloc(rows + 1, sizeof *out->start);
  out->column = hvi_alloc(entries, sizeof *out->column);
  out->value = hvi_alloc(entries, sizeof *out->value);
  if (out->start && out->column && out->value) return HVI_OK;
  hvi_sparse_free(out);
  return hvi_error_memory(err, "a sparse matrix");
}

void hvi_sparse_free(hvi_sparse *A) {
  if (!A) return;
  hvi_free(A->start);
  hvi_free(A->column);
  hvi_free(A->value);
  *A = (hvi_sparse){0};
}

static hvi_status check_starts(const hvi_sparse *A, hvi_error *err) {
  if (A->start[0] != 0)
    return hvi_error_input(err, "a sparse matrix starts at entry %zu, not at 0", A->start[0]);
  for (size_t i = 0; i < A->rows; i++)
    if (A->start[i + 1] < A->start[i])
      return hvi_error_input(err,
                             "row %zu of a sparse matrix ends at entry %zu, before its start %zu",
                             i + 1, A->start[i + 1], A->start[i]);
  return HVI_OK;
}

static hvi_status check_entries(const hvi_sparse *A, hvi_error *err) {
  for (size_t i = 0; i < A->rows; i++)
    for (size_t k = A->start[i]; k < A->start[i + 1]; k++) {
      if (A->column[k] >= A->columns)
        return hvi_error_input(err, "row %zu of a sparse matrix has an entry in column %zu of %zu",
                               i + 1, (size_t)A->column[k] + 1, A->columns);
      if (!isfinite(A->value[k]))
        return hvi_error_input(err,
                               "row %zu, column %zu of a sparse matrix is %g, which is not finite",
                               i + 1, (size_t)A->column[k] + 1, A->value[k]);
    }
  return HVI_OK;
}

static int by_column(const void *a, const void *b) {
  const uint32_t x = ((const entry *)a)->column, y = ((const entry *)b)->column;
  return x < y ? -1 : x > y;
}

static void sort_row(uint32_t *column, double *value, size_t n, entry *buffer) {
  for (size_t i = 0; i < n; i++) buffer[i] = (entry){column[i], value[i]};
  qsort(buffer, n, sizeof *buffer, by_column);
  for (size_t i = 0; i < n; i++) {
    column[i] = buffer[i].column;
    value[i] = buffer[i].value;
  }
}

static bool ascending(const uint32_t *column, size_t n) {
  for (size_t i = 1; i < n; i++)
    if (column[i - 1] >= column[i]) return false;
  return true;
}

/* Moves a sorted row to `to`, equal columns added up; returns where it ends. */
static size_t merge_row(hvi_sparse *A, size_t from, size_t end, size_t to) {
  const size_t first = to;
  for (size_t k = from; k < end; k++) {
    if (to > first && A->column[to - 1] == A->column[k]) {
      A->value[to - 1] += A->value[k];
    } else {
      A->column[to] = A->column[k];
      A->value[to++] = A->value[k];
    }
  }
  return to;
}

hvi_status hvi_sparse_tidy(hvi_sparse *A, hvi_error *err) {
  HVI_TRY(check_starts(A, err));
  HVI_TRY(check_entries(A, err));
  size_t longest = 0;
  for (size_t i = 0; i < A->rows; i++) {
    const size_t length = A->start[i + 1] - A->start[i];
    longest = length > longest ? length : longest;
  }
  HVI_NEW(entry, buffer, longest, "a sparse matrix", err);
  size_t from = 0, to = 0;
  for (size_t i = 0; i < A->rows; i++) {
    const size_t end = A->start[i + 1], length = end - from;
    if (!ascending(A->column + from, length))
      sort_row(A->column + from, A->value + from, length, buffer);
    to = merge_row(A, from, end, to);
    A->start[i + 1] = to;
    from = end;
  }
  return HVI_OK;
}

/* Tidies a new matrix, or frees it. */
static hvi_status finish(hvi_sparse *out, hvi_error *err) {
  const hvi_status status = hvi_sparse_tidy(out, err);
  if (status) hvi_sparse_free(out);
  return status;
}

hvi_status hvi_sparse_copy(hvi_sparse *out, const hvi_sparse *from, hvi_error *err) {
  *out = (hvi_sparse){0};
  if (!from->start ||
      (from->rows > 0 && from->start[from->rows] > 0 && (!from->column || !from->value)))
    return hvi_error_argument(err, "a sparse matrix has a null pointer");
  HVI_TRY(check_starts(from, err));
  const size_t entries = from->start[from->rows];
  HVI_TRY(hvi_sparse_new(out, from->rows, from->columns, entries, err));
  for (size_t i = 0; i <= from->rows; i++) out->start[i] = from->start[i];
  for (size_t k = 0; k < entries; k++) {
    out->column[k] = from->column[k];
    out->value[k] = from->value[k];
  }
  return finish(out, err);
}

hvi_status hvi_sparse_gather(hvi_sparse *out, size_t rows, size_t columns, size_t entries,
                             const uint32_t *row, const uint32_t *column, const double *value,
                             hvi_error *err) {
  *out = (hvi_sparse){0};
  for (size_t k = 0; k < entries; k++)
    if (row[k] >= rows)
      return hvi_error_input(err, "entry %zu of a sparse matrix is in row %zu of %zu", k + 1,
                             (size_t)row[k] + 1, rows);
  HVI_TRY(hvi_sparse_new(out, rows, columns, entries, err));
  /* counts, then offsets: start[i + 1] is where row i's next entry goes */
  size_t *next = out->start + 1;
  for (size_t k = 0; k < entries; k++) next[row[k]]++;
  for (size_t i = 0, sum = 0; i < rows; i++) {
    const size_t count = next[i];
    next[i] = sum;
    sum += count;
  }
  for (size_t k = 0; k < entries; k++) {
    const size_t at = next[row[k]]++;
    out->column[at] = column[k];
    out->value[at] = value[k];
  }
  return finish(out, err);
}

/* Two sums, so that one addition need not wait for the last. */
static double row_product(const double *value, const uint32_t *column, size_t count,
                          const double *x) {
  double even = 0.0, odd = 0.0;
  size_t k = 0;
  for (; k + 2 <= count; k += 2) {
    even += value[k] * x[column[k]];
    odd += value[k + 1] * x[column[k + 1]];
  }
  if (k < count) even += value[k] * x[column[k]];
  return even + odd;
}

void hvi_sparse_mul(double *y, const hvi_sparse *A, const double *x) {
  for (size_t i = 0; i < A->rows; i++) {
    const size_t begin = A->start[i], end = A->start[i + 1];
    y[i] = row_product(A->value + begin, A->column + begin, end - begin, x);
  }
}

void hvi_sparse_mul_t(double *y, const hvi_sparse *A, const double *x) {
  const uint32_t *column = A->column;
  const double *value = A->value;
  hvi_vec_zero(y, A->columns);
  for (size_t i = 0; i < A->rows; i++) {
    const double xi = x[i];
    for (size_t k = A->start[i]; k < A->start[i + 1]; k++) y[column[k]] += value[k] * xi;
  }
}
