#include "problems/performative/family.h"

#include "base/base.h"

static const hvi_performative_kind *const kinds[] = {
    &hvi_performative_linear, &hvi_performative_mean, &hvi_credit, &hvi_credit_rir};

static const hvi_performative_kind *kind_of(const hvi_problem *p) {
  for (size_t k = 0; p && k < sizeof kinds / sizeof *kinds; k++)
    if (kinds[k]->ops == p->ops) return kinds[k];
  return NULL;
}

hvi_status hvi_performative_measure(hvi_performative_measures *out, const hvi_problem *p,
                                    const double *theta, hvi_error *err) {
  const hvi_performative_kind *kind = kind_of(p);
  if (!kind || !out || !theta)
    return hvi_error_set(err, kind ? HVI_ERROR_ARGUMENT : HVI_ERROR_UNSUPPORTED,
                         kind ? "measuring takes a theta and a place for the result"
                              : "this is no problem of performative prediction");
  *out = (hvi_performative_measures){NAN, NAN, NAN, NAN, NAN};
  return kind->measure(out, p, theta, err);
}

bool hvi_performative_cover(hvi_performative_coverage *out, const hvi_problem *p) {
  const hvi_performative_kind *kind = kind_of(p);
  if (!kind) return false;
  *out = kind->cover;
  out->value = *(const double *)((const char *)p + kind->value);
  out->parameter_beta = out->parameter_mu = out->parameter_limit = NAN;
  p->ops->sensitivity(p, &out->beta, &out->mu);
  if (kind->in_parameters) kind->in_parameters(out, p);
  return true;
}
