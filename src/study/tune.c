/* Rates by grid search. */
#include "base/error.h"
#include "study/study.h"

hvi_status hvi_study_tune(char **text, bool *stopped, hvi_study *study, const hvi_study_settings *s,
                          hvi_error *err) {
  (void)s;
  *text = NULL;
  *stopped = false;
  return hvi_error_set(err, HVI_ERROR_INPUT, "experiment '%s' has no rates to tune", study->id);
}
