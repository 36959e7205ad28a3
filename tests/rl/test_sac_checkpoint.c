/* A trainer that is saved and loaded goes on with the same bits; other files are refused. */
#include "report/folder.h"
#include "rl/walk_env.h"
#include "support/check.h"

#include "rl/sac.h"

#include <hvi/tensors.h>

static hvi_sac_settings small_settings(void) {
  hvi_sac_settings s = hvi_sac_defaults();
  s.batch = 16;
  s.buffer = 50; /* the ring turns over in these tests */
  s.start = 20;
  s.hidden_count = 3;
  s.hidden[0] = 8;
  s.hidden[1] = 16;
  s.hidden[2] = 8;
  s.seed = UINT64_MAX - 3;
  return s;
}

static hvi_sac *new_trainer(const hvi_sac_settings *s) {
  hvi_error err;
  hvi_env *env;
  hvi_sac *sac;
  check_ok(walk_new(&env, &err), &err);
  check_ok(hvi_sac_new(&sac, env, s, &err), &err);
  hvi_env_free(env);
  return sac;
}

static void run(hvi_sac *sac, size_t steps) {
  hvi_error err;
  for (size_t i = 0; i < steps; i++) check_ok(hvi_sac_step(sac, &err), &err);
}

static void check_same_files(const char *a, const char *b) {
  hvi_error err;
  unsigned char *x, *y;
  size_t n, m;
  check_ok(hvi_file_read_bytes(&x, &n, a, 1 << 24, &err), &err);
  check_ok(hvi_file_read_bytes(&y, &m, b, 1 << 24, &err), &err);
  assert_int_equal(n, m);
  assert_memory_equal(x, y, n);
  hvi_free(x);
  hvi_free(y);
}

/* Before learning, within an episode, before and after the buffer is full. */
static void loaded_runs_go_on(void **state) {
  const char *f = *state;
  const size_t stops[] = {0, 7, 21, 43, 64, 101};
  const hvi_sac_settings s = small_settings();
  hvi_error err;
  hvi_env *env;
  check_ok(walk_new(&env, &err), &err);
  hvi_sac *straight = new_trainer(&s);
  run(straight, 130);
  check_ok(hvi_sac_save(straight, in(f, "straight"), &err), &err);
  for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) {
    hvi_sac *first = new_trainer(&s), *second;
    run(first, stops[i]);
    check_ok(hvi_sac_save(first, in(f, "stop"), &err), &err);
    hvi_sac_free(first);
    check_ok(hvi_sac_load(&second, env, in(f, "stop"), false, &err), &err);
    assert_null(hvi_setting_differ(hvi_sac_table(), hvi_sac_settings_of(second), &s, NULL));
    assert_int_equal(hvi_sac_state(second).step, stops[i]);
    run(second, 130 - stops[i]);
    check_ok(hvi_sac_save(second, in(f, "resumed"), &err), &err);
    check_same_files(in(f, "straight"), in(f, "resumed"));
    const hvi_sac_report a = hvi_sac_state(straight), b = hvi_sac_state(second);
    assert_memory_equal(&a, &b, sizeof a);
    hvi_sac_free(second);
  }
  hvi_sac_free(straight);
  hvi_env_free(env);
}

/* The policy that comes out acts as the trainer does. */
static void policies_come_with_notes(void **state) {
  const char *f = *state;
  const hvi_sac_settings s = small_settings();
  hvi_error err;
  hvi_sac *sac = new_trainer(&s);
  hvi_policy *policy, *loaded;
  hvi_tensors *t;
  run(sac, 40);
  check_ok(hvi_sac_policy(sac, &policy, &err), &err);
  check_ok(hvi_policy_save(policy, in(f, "policy"), &err), &err);
  check_ok(hvi_policy_load(&loaded, in(f, "policy"), &err), &err);
  float *scratch = hvi_alloc(hvi_policy_scratch(loaded, 1), sizeof *scratch);
  double action[WALK_ACT];
  hvi_rng rng = sac->generators.acting;
  hvi_policy_act(loaded, scratch, 1, sac->now, &rng, action);
  run(sac, 1);
  check_same_bits(action, sac->action, WALK_ACT);
  check_ok(hvi_tensors_read(&t, in(f, "policy"), 0, &err), &err);
  assert_string_equal(hvi_tensors_note(t, "env"), "walk");
  assert_string_equal(hvi_tensors_note(t, "steps"), "40");
  assert_string_equal(hvi_tensors_note(t, "seed"), "18446744073709551612");
  hvi_tensors_free(t);
  hvi_free(scratch);
  hvi_policy_free(loaded);
  hvi_policy_free(policy);
  hvi_sac_free(sac);
}

/* Writes a copy of a checkpoint in which one tensor or note is another. */
static void write_spoilt(const char *to, const hvi_tensors *t, const hvi_tensor *instead,
                         const hvi_tensor_note *note) {
  hvi_error err;
  hvi_tensor items[64];
  hvi_tensor_note notes[32];
  for (size_t i = 0; i < t->count; i++) {
    const bool here = instead && strcmp(instead->name, t->items[i].name) == 0;
    items[i] = here ? *instead : t->items[i];
  }
  for (size_t i = 0; i < t->note_count; i++) {
    const bool here = note && strcmp(note->key, t->notes[i].key) == 0;
    notes[i] = here ? *note : t->notes[i];
  }
  check_ok(hvi_tensors_write(to, items, t->count, notes, t->note_count, &err), &err);
}

static void refuse(const char *path, const hvi_env *env, const char *words) {
  hvi_error err;
  hvi_sac *sac = (hvi_sac *)(void *)&err;
  check_error(hvi_sac_load(&sac, env, path, false, &err), HVI_ERROR_INPUT, &err, words);
  assert_null(sac);
}

static void spoilt_checkpoints_are_refused(void **state) {
  const char *f = *state;
  const hvi_sac_settings s = small_settings();
  hvi_error err;
  hvi_env *walk, *pendulum;
  hvi_tensors *t;
  hvi_sac *sac = new_trainer(&s), *other;
  check_ok(walk_new(&walk, &err), &err);
  check_ok(hvi_env_new(&pendulum, "pendulum", &err), &err);
  run(sac, 30);
  check_ok(hvi_sac_save(sac, in(f, "good"), &err), &err);
  check_error(hvi_sac_load(&other, pendulum, in(f, "good"), false, &err), HVI_ERROR_MISMATCH, &err,
              "was made with 'walk', not 'pendulum'");
  check_ok(hvi_tensors_read(&t, in(f, "good"), 0, &err), &err);

  const hvi_tensor_note notes[] = {
      {"hvi.kept", "something"}, {"gamma", "0.9x"}, {"hidden", "8,,8"}};
  const char *words[] = {"no checkpoint", "'gamma'", "'hidden'"};
  for (size_t i = 0; i < 3; i++) {
    write_spoilt(in(f, "bad"), t, NULL, &notes[i]);
    refuse(in(f, "bad"), walk, words[i]);
  }
  /* other widths than the tensors have */
  write_spoilt(in(f, "bad"), t, NULL, &(hvi_tensor_note){"hidden", "8,8,8"});
  refuse(in(f, "bad"), walk, "tensor");

  const char *names[] = {"actor.parameters", "critic2.target", "temperature", "replay.0"};
  for (size_t i = 0; i < 4; i++) {
    hvi_tensor x = *hvi_tensors_find(t, names[i]);
    const size_t size = hvi_tensor_count(&x) * sizeof(float);
    float *numbers = hvi_alloc(size, 1);
    memcpy(numbers, x.data, size);
    numbers[1] = NAN;
    x.data = numbers;
    write_spoilt(in(f, "bad"), t, &x, NULL);
    refuse(in(f, "bad"), walk, names[i]);
    hvi_free(numbers);
  }
  /* counters: more rows than the buffer can hold, a negative one, a place outside */
  hvi_tensor x = *hvi_tensors_find(t, "counters");
  int64_t counters[16];
  assert_true(hvi_tensor_count(&x) <= 16);
  const size_t places[] = {4, 0, 5};
  const int64_t values[] = {51, -1, 50};
  for (size_t i = 0; i < 3; i++) {
    memcpy(counters, x.data, hvi_tensor_count(&x) * sizeof *counters);
    counters[places[i]] = values[i];
    hvi_tensor spoilt = x;
    spoilt.data = counters;
    write_spoilt(in(f, "bad"), t, &spoilt, NULL);
    refuse(in(f, "bad"), walk, "counters");
  }
  hvi_tensors_free(t);
  hvi_sac_free(sac);
  hvi_env_free(walk);
  hvi_env_free(pendulum);
}

static void a_changed_bit_is_noticed(void **state) {
  const char *f = *state;
  const hvi_sac_settings s = small_settings();
  hvi_error err;
  hvi_env *walk;
  hvi_sac *sac = new_trainer(&s);
  unsigned char *bytes;
  size_t size;
  check_ok(walk_new(&walk, &err), &err);
  run(sac, 30);
  check_ok(hvi_sac_save(sac, in(f, "whole"), &err), &err);
  check_ok(hvi_file_read_bytes(&bytes, &size, in(f, "whole"), 1 << 24, &err), &err);
  for (size_t at = 0; at < size; at += at < 2048 ? 1 : 61) {
    bytes[at] ^= (unsigned char)(1u << (at % 8));
    FILE *file = fopen(in(f, "changed"), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
    bytes[at] ^= (unsigned char)(1u << (at % 8));
    refuse(in(f, "changed"), walk, "changed' is damaged");
  }
  hvi_free(bytes);
  hvi_sac_free(sac);
  hvi_env_free(walk);
}

/* Nor is the last good one replaced. */
static void what_is_not_finite_is_not_saved(void **state) {
  const char *f = *state;
  const hvi_sac_settings s = small_settings();
  hvi_error err;
  hvi_sac *sac = new_trainer(&s);
  run(sac, 30);
  check_ok(hvi_sac_save(sac, in(f, "kept"), &err), &err);
  check_ok(hvi_sac_save(sac, in(f, "same"), &err), &err);
  sac->temperature.log_alpha = NAN;
  check_error(hvi_sac_save(sac, in(f, "kept"), &err), HVI_ERROR_INPUT, &err,
              "no longer finite at step 30");
  check_same_files(in(f, "kept"), in(f, "same"));
  hvi_sac_free(sac);
}

static void settings_are_checked(void **state) {
  (void)state;
  hvi_error err;
  hvi_env *walk, *lqr;
  hvi_sac *sac;
  check_ok(walk_new(&walk, &err), &err);
  check_ok(hvi_env_new(&lqr, "lqr", &err), &err);
  hvi_sac_settings bad[9];
  for (size_t i = 0; i < 9; i++) bad[i] = small_settings();
  bad[0].gamma = 1.0;
  bad[1].tau = 0.0;
  bad[2].batch = 0;
  bad[3].buffer = 0;
  bad[4].actor_lr = NAN;
  bad[5].delay = 0;
  bad[6].alpha = -1.0;
  bad[7].hidden_count = 9;
  bad[8].threads = 3;
  const char *words[] = {"gamma", "tau",   "batch",  "buffer", "actor_lr",
                         "delay", "alpha", "hidden", "threads"};
  for (size_t i = 0; i < 9; i++)
    check_error(hvi_sac_new(&sac, walk, &bad[i], &err), HVI_ERROR_ARGUMENT, &err, words[i]);
  const hvi_sac_settings good = small_settings();
  check_error(hvi_sac_new(&sac, lqr, &good, &err), HVI_ERROR_UNSUPPORTED, &err, "range");
  check_ok(hvi_sac_new(&sac, walk, &good, &err), &err);
  check_error(hvi_sac_update(sac, &err), HVI_ERROR_ARGUMENT, &err, "transitions");
  hvi_sac_free(sac);
  hvi_sac_free(NULL);
  hvi_env_free(walk);
  hvi_env_free(lqr);

  hvi_sac_settings other = good;
  other.tau = nextafter(other.tau, 1.0);
  assert_string_equal(hvi_setting_differ(hvi_sac_table(), &good, &other, NULL)->name, "tau");
  other = good;
  other.hidden[2]++;
  assert_string_equal(hvi_setting_differ(hvi_sac_table(), &good, &other, NULL)->name, "hidden");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(loaded_runs_go_on),
      cmocka_unit_test(policies_come_with_notes),
      cmocka_unit_test(spoilt_checkpoints_are_refused),
      cmocka_unit_test(a_changed_bit_is_noticed),
      cmocka_unit_test(what_is_not_finite_is_not_saved),
      cmocka_unit_test(settings_are_checked),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
