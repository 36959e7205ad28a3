/* The experiment `performative`: its parts, one problem each. */
#include "experiments/performative.h"

typedef struct part {
  const char *doing;
  hvi_status (*run)(hvi_run *run, hvi_error *err);
} part;

static const part parts[] = {
    {"performative-linear", hvi_performative_linear_part},
    {"performative-mean", hvi_performative_mean_part},
    {"credit", hvi_performative_credit_part},
    {"credit-rir", hvi_performative_rir_part},
};

enum { PARTS = sizeof parts / sizeof *parts };

hvi_status hvi_performative_run(hvi_run *run, hvi_error *err) {
  hvi_status status = HVI_OK;
  for (size_t i = 0; i < PARTS && !status; i++) {
    if (!hvi_run_progress(run, parts[i].doing, (double)i / PARTS)) return HVI_OK;
    status = parts[i].run(run, err);
  }
  return status;
}
