/* Experiment files: any text either makes a study whose grid, figures and claims agree, or one line of
 * error. */
#include "study/study.h"

#include "harness.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = fuzz_text(data, size);
  hvi_study *s = NULL;
  hvi_error err = {HVI_OK, ""};
  const hvi_status status = hvi_study_parse(&s, text, "fuzz", &err);
  fuzz_verdict(status, s, &err);
  hvi_study_free(s);
  free(text);
  return 0;
}
