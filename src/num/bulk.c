#include "num/bulk.h"

#include "base/cpu.h"

const hvi_bulk *const *hvi_bulk_list(void) {
  static const hvi_bulk *const all[] = HVI_CPU_BUILDS(hvi_bulk);
  return all + hvi_cpu_builds_skipped();
}

/* Asked for in inner loops, and remembered: which build it is changes no bit. */
const hvi_bulk *hvi_bulk_best(void) {
  static _Atomic(const hvi_bulk *) best;
  const hvi_bulk *known = best;
  if (!known) best = known = hvi_bulk_list()[0];
  return known;
}
