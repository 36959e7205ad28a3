/* Checkpoints of a training: any tensors under a checksum that fits either make a trainer that takes a
 * step, or one line of error. */
#include "rl/sac.h"

#include "harness.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static hvi_env *env;
  hvi_sac *sac = NULL;
  hvi_error err = {HVI_OK, ""};
  if (!env && hvi_env_new(&env, "pendulum", NULL)) abort();
  const char *path = fuzz_kept_file(data, size, "checkpoint of a training", "pendulum");
  if (!path) return 0;
  const hvi_status status = hvi_sac_load(&sac, env, path, false, &err);
  fuzz_verdict(status, sac, &err);
  if (!status && hvi_sac_step(sac, &err) && !err.text[0]) abort();
  hvi_sac_free(sac);
  return 0;
}
