/* Memory that runs out while a trainer is made, saved or loaded, or a policy is: an error each
 * time, and nothing left behind. */
#include "report/folder.h"
#include "rl/walk_env.h"
#include "support/check.h"

#include "support/starve.h"

#include <hvi/sac.h>

typedef struct rig {
  const char *folder;
  hvi_env *env;
  hvi_sac_settings settings;
  hvi_sac *sac;
} rig;

static hvi_status make(void *context, hvi_error *err) {
  const rig *r = context;
  hvi_sac *sac;
  const hvi_status status = hvi_sac_new(&sac, r->env, &r->settings, err);
  if (status != HVI_OK) assert_null(sac);
  hvi_sac_free(sac);
  return status;
}

static hvi_status save(void *context, hvi_error *err) {
  const rig *r = context;
  return hvi_sac_save(r->sac, in(r->folder, "checkpoint"), err);
}

static hvi_status load(void *context, hvi_error *err) {
  const rig *r = context;
  hvi_sac *sac;
  const hvi_status status = hvi_sac_load(&sac, r->env, in(r->folder, "checkpoint"), false, err);
  if (status != HVI_OK) assert_null(sac);
  hvi_sac_free(sac);
  return status;
}

static hvi_status store_policy(void *context, hvi_error *err) {
  const rig *r = context;
  hvi_policy *p;
  hvi_status status = hvi_sac_policy(r->sac, &p, err);
  if (status == HVI_OK) status = hvi_policy_save(p, in(r->folder, "policy"), err);
  hvi_policy_free(p);
  return status;
}

static hvi_status load_policy(void *context, hvi_error *err) {
  const rig *r = context;
  hvi_policy *p;
  const hvi_status status = hvi_policy_load(&p, in(r->folder, "policy"), err);
  if (status != HVI_OK) assert_null(p);
  hvi_policy_free(p);
  return status;
}

static void errors_at_every_allocation(void **state) {
  hvi_error err;
  rig r = {.folder = *state, .settings = hvi_sac_defaults()};
  r.settings.batch = 8;
  r.settings.buffer = 100;
  r.settings.start = 5;
  r.settings.hidden[0] = r.settings.hidden[1] = 8;
  check_ok(walk_new(&r.env, &err), &err);
  check_ok(hvi_sac_new(&r.sac, r.env, &r.settings, &err), &err);
  for (size_t i = 0; i < 12; i++) check_ok(hvi_sac_step(r.sac, &err), &err);
  assert_true(starve(make, &r) > 0);
  assert_true(starve(save, &r) > 0);
  assert_true(starve(load, &r) > 0);
  assert_true(starve(store_policy, &r) > 0);
  assert_true(starve(load_policy, &r) > 0);
  hvi_sac_free(r.sac);

  /* the replay buffer asks for memory as it fills */
  check_ok(hvi_sac_new(&r.sac, r.env, &r.settings, &err), &err);
  allocations_left = 0;
  const hvi_status status = hvi_sac_step(r.sac, &err);
  allocations_left = (size_t)-1;
  check_error(status, HVI_ERROR_MEMORY, &err, "replay buffer");
  hvi_sac_free(r.sac);
  hvi_env_free(r.env);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(errors_at_every_allocation)};
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
