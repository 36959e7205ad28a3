/* Memory that runs out while a trainer is made, saved or loaded, or a policy is: an error each
 * time, and nothing left behind. */
#include "report/folder.h"
#include "rl/walk_env.h"
#include "support/check.h"

#include "base/memory.h"

#include <hvi/sac.h>

static size_t allocations_left = (size_t)-1;

bool hvi_alloc_allowed(size_t bytes) {
  (void)bytes;
  if (allocations_left == 0) return false;
  allocations_left--;
  return true;
}

typedef struct rig {
  const char *folder;
  hvi_env *env;
  hvi_sac_settings settings;
  hvi_sac *sac;
} rig;

typedef hvi_status (*attempt)(rig *r, hvi_error *err);

static hvi_status make(rig *r, hvi_error *err) {
  hvi_sac *sac;
  const hvi_status status = hvi_sac_new(&sac, r->env, &r->settings, err);
  if (status != HVI_OK) assert_null(sac);
  hvi_sac_free(sac);
  return status;
}

static hvi_status save(rig *r, hvi_error *err) {
  return hvi_sac_save(r->sac, in(r->folder, "checkpoint"), err);
}

static hvi_status load(rig *r, hvi_error *err) {
  hvi_sac *sac;
  const hvi_status status = hvi_sac_load(&sac, r->env, in(r->folder, "checkpoint"), false, err);
  if (status != HVI_OK) assert_null(sac);
  hvi_sac_free(sac);
  return status;
}

static hvi_status store_policy(rig *r, hvi_error *err) {
  hvi_policy *p;
  hvi_status status = hvi_sac_policy(r->sac, &p, err);
  if (status == HVI_OK) status = hvi_policy_save(p, in(r->folder, "policy"), err);
  hvi_policy_free(p);
  return status;
}

static hvi_status load_policy(rig *r, hvi_error *err) {
  hvi_policy *p;
  const hvi_status status = hvi_policy_load(&p, in(r->folder, "policy"), err);
  if (status != HVI_OK) assert_null(p);
  hvi_policy_free(p);
  return status;
}

static void starve(rig *r, attempt try) {
  for (size_t allowed = 0;; allowed++) {
    hvi_error err = {HVI_OK, ""};
    allocations_left = allowed;
    const hvi_status status = try(r, &err);
    allocations_left = (size_t)-1;
    if (status == HVI_OK) {
      assert_true(allowed > 0);
      return;
    }
    assert_int_equal(status, HVI_ERROR_MEMORY);
    assert_int_equal(err.status, HVI_ERROR_MEMORY);
  }
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
  starve(&r, make);
  starve(&r, save);
  starve(&r, load);
  starve(&r, store_policy);
  starve(&r, load_policy);
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
