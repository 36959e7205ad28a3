#include "problems/performative/family.h"

#include "base/error.h"

static const hvi_performative_kind *const kinds[] = {
    &hvi_performative_linear, &hvi_performative_mean, &hvi_credit, &hvi_credit_rir};

static const hvi_performative_kind *kind_of(const hvi_problem *p) {
  for (size_t k = 0; p && k < sizeof kinds / sizeof *kinds; k++) {
    if (kinds[k]->ops == p->ops) return kinds[k];
  }
  return NULL;
}

hvi_status hvi_performative_measure(hvi_performative_measures *out, const hvi_problem *p,
                                    const double *theta, hvi_error *err) {
  const hvi_performative_kind *kind = kind_of(p);
  if (kind && out && theta) return kind->measure(out, p, theta, err);
  return hvi_error_set(err, kind ? HVI_ERROR_ARGUMENT : HVI_ERROR_UNSUPPORTED,
                       kind ? "measuring takes a theta and a place for the result"
                            : "this is no problem of performative prediction");
}

bool hvi_performative_cover(hvi_performative_coverage *out, const hvi_problem *p) {
  const hvi_performative_kind *kind = kind_of(p);
  if (!kind) return false;
  kind->cover(out, p);
  return true;
}
