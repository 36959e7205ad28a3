/* Actors of Stable-Baselines3, of CleanRL's kinds and a plain Sequential act as PyTorch does:
 * tests/golden/policies.py made the files. */
#include "report/folder.h"
#include "support/check.h"

#include "base/memory.h"
#include "rl/policy.h"

#include <hvi/rollout.h>

#define POLICIES HVI_SOURCE_DIR "/tests/golden/policies/"

enum { OBS = 4, ACT = 2, ROWS = 12, MOST = OBS + 2 * ACT };

static const hvi_env box = {.name = "box", .obs = OBS, .act = ACT, .low = -1.5, .high = 2.5};

static const char *path_of(const char *name, const char *ending) {
  static char path[300];
  snprintf(path, sizeof path, POLICIES "%s%s", name, ending);
  return path;
}

/* Observations, actions and, where there are any, standard deviations; returns how many columns. */
static size_t read_rows(double rows[ROWS][MOST], const char *name) {
  FILE *f = fopen(path_of(name, ".csv"), "r");
  size_t width = 0, count = 0;
  char line[400];
  assert_non_null(f);
  for (; fgets(line, sizeof line, f); count++) {
    assert_true(count < ROWS);
    char *at = line;
    for (width = 0; *at && *at != '\n' && width < MOST; at += *at == ',')
      rows[count][width++] = strtod(at, &at);
  }
  fclose(f);
  assert_int_equal(count, ROWS);
  return width;
}

/* std[ROWS][ACT] as the second head gives them. */
static void find_std(double *std, const hvi_policy *p, const double *obs) {
  float *x = hvi_alloc(ROWS * OBS + HVI_NET_SLACK, sizeof *x), noise[ROWS * ACT];
  float *trace = hvi_alloc(hvi_net_trace(p->net, ROWS), sizeof *trace);
  float *memory = hvi_alloc(hvi_squash_size(ROWS, ACT), sizeof *memory);
  hvi_squash s;
  for (size_t i = 0; i < ROWS * OBS; i++) x[i] = (float)obs[i];
  hvi_net_forward(p->net, p->weights, ROWS, x, OBS, trace);
  hvi_squash_bind(&s, p, memory, ROWS);
  hvi_squash_read(&s, hvi_net_output(p->net, trace, ROWS, p->net->layer_count - 1), 0, ROWS);
  hvi_squash_sample(&s, ROWS, noise, ACT);
  for (size_t i = 0; i < ROWS * ACT; i++) std[i] = (double)s.std[i];
  hvi_free(x);
  hvi_free(trace);
  hvi_free(memory);
}

static void check_policy(const char *name, const hvi_policy_options *o, const char *words) {
  double rows[ROWS][MOST], obs[ROWS * OBS], expected[ROWS * ACT], std[ROWS * ACT], got[ROWS * ACT];
  char text[HVI_POLICY_TEXT];
  hvi_policy *p;
  hvi_error err;
  const size_t width = read_rows(rows, name);
  for (size_t i = 0; i < ROWS; i++) {
    memcpy(obs + i * OBS, rows[i], OBS * sizeof *obs);
    memcpy(expected + i * ACT, rows[i] + OBS, ACT * sizeof *obs);
    memcpy(std + i * ACT, rows[i] + OBS + ACT, ACT * sizeof *obs);
  }
  check_ok(hvi_policy_read(&p, path_of(name, ".safetensors"), o, &err), &err);
  check_ok(hvi_policy_fit(p, &box, &err), &err);
  assert_string_equal(hvi_policy_describe(text, p), words);
  float *scratch = hvi_alloc(hvi_policy_scratch(p, ROWS), sizeof *scratch);
  hvi_policy_act(p, scratch, ROWS, obs, NULL, got);
  check_close(got, expected, ROWS * ACT, 2e-6);
  if (width > OBS + ACT) {
    find_std(got, p, obs);
    check_relative(got, std, ROWS * ACT, 1e-6);
  } else { /* no noise, whatever the generators */
    hvi_rng rngs[ROWS];
    for (size_t i = 0; i < ROWS; i++) rngs[i] = hvi_rng_new(1, "golden", i);
    hvi_policy_act(p, scratch, ROWS, obs, rngs, got);
    check_close(got, expected, ROWS * ACT, 2e-6);
  }
  hvi_free(scratch);
  hvi_policy_free(p);
}

static void policies_act_as_their_trainers_do(void **state) {
  (void)state;
  check_policy("sb3-sac", NULL,
               "Stable-Baselines3 SAC: relu layers, Gaussian, squashed by tanh to [-1.5, 2.5]");
  check_policy(
      "sb3-td3", NULL,
      "Stable-Baselines3 TD3 or DDPG: relu layers, deterministic, squashed by tanh to [-1.5, 2.5]");
  check_policy(
      "sb3-ddpg", NULL,
      "Stable-Baselines3 TD3 or DDPG: relu layers, deterministic, squashed by tanh to [-1.5, 2.5]");
  check_policy("sb3-ppo", NULL,
               "Stable-Baselines3 PPO or A2C: tanh layers, Gaussian, clipped to [-1.5, 2.5]");
  check_policy("sb3-a2c", NULL,
               "Stable-Baselines3 PPO or A2C: tanh layers, Gaussian, clipped to [-1.5, 2.5]");
  check_policy("cleanrl-td3", NULL,
               "CleanRL TD3 or DDPG: relu layers, deterministic, squashed by tanh to [-1.5, 2.5]");
  check_policy("cleanrl-ppo", NULL, "CleanRL PPO: tanh layers, Gaussian, clipped to [-1.5, 2.5]");
  const hvi_policy_options o = {.activation = HVI_GELU + 1, .squash = 2};
  check_policy("sequential", &o, "Sequential: gelu layers, deterministic, clipped to [-1.5, 2.5]");
}

static void refuse(const char *name, const hvi_policy_options *o, const hvi_env *env,
                   const char *words) {
  hvi_policy *p;
  hvi_error err;
  hvi_status status = hvi_policy_read(&p, path_of(name, ".safetensors"), o, &err);
  if (!status) status = hvi_policy_fit(p, env, &err);
  check_error(status, HVI_ERROR_INPUT, &err, words);
  hvi_policy_free(p);
}

static void what_does_not_fit_is_refused(void **state) {
  (void)state;
  const hvi_env endless = {
      .name = "endless", .obs = OBS, .act = ACT, .low = -INFINITY, .high = INFINITY};
  const hvi_env narrow = {.name = "narrow", .obs = OBS, .act = ACT, .low = -1.0, .high = 1.0};
  const hvi_env other = {.name = "other", .obs = 5, .act = ACT, .low = -1.0, .high = 1.0};
  const hvi_policy_options own = {.action_range = 2}, noisy = {.kind = 2};
  refuse("sb3-sac", &own, &box, "action 1 is in [-1, 1], and those of 'box' in [-1.5, 2.5]");
  refuse("sb3-sac", NULL, &endless, "have no bounds: --action-range file");
  refuse("sb3-sac", NULL, &other,
         "takes 4 observations and gives 2 actions, but 'other' has 5 and 2");
  refuse("cleanrl-td3", NULL, &narrow,
         "action 1 is in [-1.5, 2.5], and those of 'narrow' in [-1, 1]");
  refuse("sb3-td3", &noisy, &box, "is not Gaussian");
  refuse("sequential", NULL, &box, "--policy-activation and --squash");
}

/* Actors of Stable-Baselines3 whose names look like those of others: gSDE, and discrete actions. */
static void other_kinds_are_refused_by_name(void **state) {
  (void)state;
  const hvi_policy_options still = {.kind = 1}, clipped = {.activation = HVI_TANH + 1, .squash = 2};
  refuse("refused-sac-gsde", NULL, &box, "gSDE (use_sde): 'actor.log_std' is a matrix");
  refuse("refused-ppo-gsde", NULL, &box, "gSDE (use_sde): 'log_std' is a matrix");
  refuse("refused-ppo-gsde", &still, &box, "gSDE (use_sde)");
  refuse("refused-ppo-discrete", NULL, &box, "discrete actions, which are not read");
  refuse("refused-ppo-discrete", &still, &box, "there is no tensor 'log_std'");
  refuse("refused-dqn", &clipped, &box, "'q_net.q_net.0.bias' is of a DQN");
}

/* Clipping without bounds leaves actions alone; a policy that met no environment does not fit one. */
static void ranges_come_from_environments(void **state) {
  (void)state;
  const hvi_env endless = {
      .name = "endless", .obs = OBS, .act = ACT, .low = -INFINITY, .high = INFINITY};
  hvi_policy *p;
  hvi_error err;
  char before[17], after[17];
  check_ok(hvi_policy_load(&p, path_of("sb3-ppo", ".safetensors"), &err), &err);
  check_error(hvi_policy_check(p, &box, &err), HVI_ERROR_INPUT, &err, "[-inf, inf]");
  check_ok(hvi_policy_fit(p, &endless, &err), &err);
  hvi_policy_fingerprint(before, p);
  check_ok(hvi_policy_fit(p, &box, &err), &err);
  hvi_policy_fingerprint(after, p);
  assert_string_not_equal(before, after);
  check_error(hvi_policy_save(p, "/dev/null", &err), HVI_ERROR_UNSUPPORTED, &err, "not written");
  assert_true(hvi_policy_uses(p, "mlp_extractor.policy_net.0.weight"));
  assert_true(hvi_policy_uses(p, "log_std"));
  assert_false(hvi_policy_uses(p, "value_net.weight"));
  hvi_policy_free(p);
}

/* Notes say what a Sequential is, and options overrule them. */
static void notes_say_what_options_do_not(void **state) {
  const char *f = *state;
  static const float w[4] = {1, 0.5F, -1, 2}, b[2] = {0.1F, 0.2F}, log_std[2] = {-1, -2};
  const hvi_tensor items[] = {{"0.weight", HVI_TENSOR_F32, 2, {2, 2}, w},
                              {"0.bias", HVI_TENSOR_F32, 1, {2}, b},
                              {"2.weight", HVI_TENSOR_F32, 2, {2, 2}, w},
                              {"2.bias", HVI_TENSOR_F32, 1, {2}, b},
                              {"log_std", HVI_TENSOR_F32, 1, {2}, log_std}};
  const hvi_tensor_note notes[] = {{"activation", "tanh"}, {"squash", "tanh"}};
  const hvi_tensor_note wrong[] = {{"activation", "tanh"}, {"squash", "hard"}};
  const hvi_tensor_note value[] = {{"contents", "value network"}};
  const char *path = in(f, "plain.safetensors");
  hvi_policy *p;
  hvi_error err;
  char text[HVI_POLICY_TEXT];
  check_ok(hvi_tensors_write(path, items, 5, notes, 2, &err), &err);
  check_ok(hvi_policy_load(&p, path, &err), &err);
  assert_string_equal(hvi_policy_describe(text, p),
                      "Sequential: tanh layers, Gaussian, squashed by tanh to [-1, 1]");
  const double x[2] = {0.3, -0.7};
  double a[2], expected[2];
  float *scratch = hvi_alloc(hvi_policy_scratch(p, 1), sizeof *scratch);
  hvi_policy_act(p, scratch, 1, x, NULL, a);
  const double h[2] = {tanh(0.3 - 0.35 + 0.1), tanh(-0.3 - 1.4 + 0.2)};
  expected[0] = tanh(h[0] + 0.5 * h[1] + 0.1);
  expected[1] = tanh(-h[0] + 2 * h[1] + 0.2);
  check_close(a, expected, 2, 1e-6);
  hvi_free(scratch);
  hvi_policy_free(p);
  check_ok(
      hvi_policy_read(&p, path, &(hvi_policy_options){.kind = 1, .activation = HVI_RELU + 1}, &err),
      &err);
  assert_string_equal(hvi_policy_describe(text, p),
                      "Sequential: relu layers, deterministic, squashed by tanh to [-1, 1]");
  hvi_policy_free(p);
  check_ok(hvi_tensors_write(path, items, 5, wrong, 2, &err), &err);
  check_error(hvi_policy_load(&p, path, &err), HVI_ERROR_INPUT, &err, "note squash: must be");
  check_ok(hvi_tensors_write(path, items, 5, value, 1, &err), &err);
  check_error(hvi_policy_load(&p, path, &err), HVI_ERROR_INPUT, &err, "is a value network");
}

static void too_many_layers_are_refused(void **state) {
  const char *path = in(*state, "deep.safetensors");
  static const float one = 1.0F;
  for (size_t layers = 64; layers < 67; layers++) {
    char names[68][2][24];
    hvi_tensor items[68 * 2 + 2];
    hvi_policy *p;
    hvi_error err;
    for (size_t l = 0; l <= layers; l++) {
      if (l < layers)
        snprintf(names[l][0], 24, "fc%zu.weight", l + 1);
      else
        strcpy(names[l][0], "fc_mu.weight");
      if (l < layers)
        snprintf(names[l][1], 24, "fc%zu.bias", l + 1);
      else
        strcpy(names[l][1], "fc_mu.bias");
      items[2 * l] = (hvi_tensor){names[l][0], HVI_TENSOR_F32, 2, {1, 1}, &one};
      items[2 * l + 1] = (hvi_tensor){names[l][1], HVI_TENSOR_F32, 1, {1}, &one};
    }
    check_ok(hvi_tensors_write(path, items, 2 * (layers + 1), NULL, 0, &err), &err);
    const hvi_status status = hvi_policy_load(&p, path, &err);
    if (layers == 64)
      check_ok(status, &err);
    else
      check_error(status, HVI_ERROR_INPUT, &err, "64 hidden layers");
    hvi_policy_free(p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(policies_act_as_their_trainers_do),
      cmocka_unit_test(what_does_not_fit_is_refused),
      cmocka_unit_test(other_kinds_are_refused_by_name),
      cmocka_unit_test(ranges_come_from_environments),
      cmocka_unit_test(notes_say_what_options_do_not),
      cmocka_unit_test(too_many_layers_are_refused),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
