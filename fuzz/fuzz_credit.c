/* Credit records: any CSV text either makes finite records of both labels, or one line of error. */
#include "problems/performative/credit.h"

#include "harness.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  hvi_credit_data d = {0};
  hvi_error err = {HVI_OK, ""};
  const hvi_status status = hvi_credit_data_new(&d, fuzz_file(data, size), 0, 0, &err);
  fuzz_verdict(status, d.x, &err);
  for (size_t i = 0; !status && i < d.rows * HVI_CREDIT_WIDTH; i++)
    if (!isfinite(d.x[i])) abort();
  hvi_credit_data_clear(&d);
  return 0;
}
