/* Policies: any tensors either make a policy that acts and can be described, or one line of error. */
#include "rl/policy.h"

#include "harness.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  hvi_policy *p = NULL;
  hvi_error err = {HVI_OK, ""};
  char text[HVI_POLICY_TEXT];
  const hvi_status status = hvi_policy_load(&p, fuzz_open_file(data, size), &err);
  fuzz_verdict(status, p, &err);
  if (!status) hvi_policy_describe(text, p);
  hvi_policy_free(p);
  return 0;
}
