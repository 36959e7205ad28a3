/* Test sets: any tensors either make states with values that can be scored, or one line of error. */
#include <hvi/evaluate.h>

#include "harness.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  hvi_testset *t = NULL;
  hvi_probe *p = NULL;
  hvi_error err = {HVI_OK, ""};
  const hvi_status status = hvi_testset_load(&t, fuzz_open_file(data, size), &err);
  fuzz_verdict(status, t, &err);
  if (!status) {
    const hvi_status probed = hvi_probe_of_testset(&p, t, &err);
    hvi_score score;
    fuzz_verdict(probed, p, &err);
    if (!probed && hvi_probe_compare(&score, p, p->value, &err) && !err.text[0]) abort();
  }
  hvi_probe_free(p);
  hvi_testset_free(t);
  return 0;
}
