/* A collector as a stream. It runs groups of episodes and stands ahead of what was asked for, so
 * that rows are charged at its mean speed and not when they happen to be made; those that it has
 * skipped, in an evaluation that was taken up again, were charged before. */
#include <hvi/evaluate.h>

static hvi_status grow(void *context, size_t rows, double *seconds, hvi_error *err) {
  const hvi_status status = hvi_collector_need(context, rows, err);
  const hvi_collector_cost cost = hvi_collector_spent(context);
  const double made = rows > cost.skipped ? (double)(rows - cost.skipped) : 0.0;
  *seconds = cost.steps > 0 ? cost.seconds * made / (double)cost.steps : 0.0;
  return status;
}

static hvi_collector_mark find(void *context, size_t row) {
  return hvi_collector_find(context, row);
}

static hvi_status skip(void *context, hvi_collector_mark mark, hvi_error *err) {
  /* rows that are there already need no skipping */
  const hvi_collector_mark now = hvi_collector_find(context, (size_t)-1);
  return mark.row > now.row ? hvi_collector_skip(context, mark, err) : HVI_OK;
}

hvi_stream hvi_stream_of_collector(hvi_collector *c) {
  return (hvi_stream){.grow = grow, .find = find, .skip = skip, .context = c};
}
