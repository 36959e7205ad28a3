/* Value networks: any tensors either are the parameters of this network, finite, or one line of error
 * that leaves theta as it was. */
#include <hvi/mlp.h>

#include "harness.h"

#include <math.h>

static const hvi_model *network(void) {
  static hvi_model *m;
  const size_t widths[] = {4, 1};
  const hvi_mlp_spec spec = {.in = 4, .layer_count = 2, .widths = widths, .rows = 1};
  if (!m && hvi_mlp_new(&m, &spec, NULL)) abort();
  return m;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const hvi_model *m = network();
  double theta[64];
  hvi_error err = {HVI_OK, ""};
  for (size_t i = 0; i < 64; i++) theta[i] = 7.0;
  const hvi_status status = hvi_mlp_load(m, theta, fuzz_open_file(data, size), &err);
  fuzz_verdict(status, status ? NULL : theta, &err);
  for (size_t i = 0; i < 64; i++)
    if (status || i >= m->dim ? theta[i] != 7.0 : !isfinite(theta[i])) abort();
  return 0;
}
