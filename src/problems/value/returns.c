/*
 * Discounted returns within the episodes of a data set,
 *
 *   G_i = r_i + gamma G_{i+1},   G = r where the episode ends,
 *
 * from the last row to the first. Where an episode is cut, by a time limit or because the next row
 * is of another, k steps after row i, G_i lacks gamma^k times the value there; such a row is of use
 * when gamma^k is at most 0.01.
 */
#include "problems/value/value.h"

#include "base/error.h"
#include "base/memory.h"

static const double most_missing = 0.01;

hvi_status hvi_value_find_returns(hvi_value *v, hvi_error *err) {
  const hvi_dataset *d = v->spec.data;
  const double gamma = v->spec.gamma;
  v->returns = hvi_alloc_doubles(d->count);
  v->usable = hvi_alloc(d->count, sizeof *v->usable);
  if (!v->returns || !v->usable) return hvi_error_memory(err, "the returns of a data set");
  double G = 0.0, missing = 1.0;
  size_t first = d->count; /* usable rows fill their array from its end */
  for (size_t i = d->count; i-- > 0;) {
    if (d->terminated[i]) {
      G = missing = 0.0;
    } else if (!hvi_dataset_continues(d, i)) {
      G = 0.0, missing = 1.0;
    }
    v->returns[i] = G = (double)d->reward[i] + gamma * G;
    missing *= gamma;
    if (missing <= most_missing) v->usable[--first] = i;
  }
  v->usable_count = d->count - first;
  for (size_t i = 0; i < v->usable_count; i++) v->usable[i] = v->usable[first + i];
  if (v->usable_count > 0) return HVI_OK;
  return hvi_error_set(err, HVI_ERROR_INPUT,
                       "all %zu rows are cut off before gamma^k falls to %g: the data hold no "
                       "return to learn from",
                       d->count, most_missing);
}

size_t hvi_value_rows_of_returns(const hvi_value *v, size_t count) {
  const size_t all = v->spec.data->count;
  if (count >= v->usable_count) return all;
  if (count == 0) return 0;
  size_t end = v->usable[count - 1];
  for (double missing = v->spec.gamma; missing > most_missing; missing *= v->spec.gamma) {
    if (!hvi_dataset_continues(v->spec.data, end)) break;
    end++;
  }
  return end + 1;
}
