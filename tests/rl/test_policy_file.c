/* Policy files: there and back, CleanRL's names, and files that are not what they should be. */
#include "report/folder.h"
#include "support/check.h"

#include "base/memory.h"
#include "rl/policy.h"

enum { OBS = 4, WIDTH = 5, ACT = 2, TENSORS = 10 };

/* An actor's file as PyTorch would write it, to be spoilt. */
typedef struct sheet {
  float numbers[64];
  hvi_tensor items[TENSORS];
  size_t count;
} sheet;

static void add(sheet *s, const char *name, size_t rows, size_t cols) {
  s->items[s->count++] = (hvi_tensor){.name = name,
                                      .type = HVI_TENSOR_F32,
                                      .dims = cols ? 2 : 1,
                                      .shape = {rows, cols},
                                      .data = s->numbers + s->count};
}

static void fill(sheet *s) {
  *s = (sheet){0};
  for (size_t i = 0; i < 64; i++) s->numbers[i] = 0.01F * (float)i - 0.2F;
  add(s, "fc1.weight", WIDTH, OBS);
  add(s, "fc1.bias", WIDTH, 0);
  add(s, "fc2.weight", WIDTH, WIDTH);
  add(s, "fc2.bias", WIDTH, 0);
  add(s, "fc_mean.weight", ACT, WIDTH);
  add(s, "fc_mean.bias", ACT, 0);
  add(s, "fc_logstd.weight", ACT, WIDTH);
  add(s, "fc_logstd.bias", ACT, 0);
}

static void write_sheet(const sheet *s, const char *path) {
  hvi_error err;
  check_ok(hvi_tensors_write(path, s->items, s->count, NULL, 0, &err), &err);
}

static hvi_tensor *item(sheet *s, const char *name) {
  for (size_t i = 0; i < s->count; i++)
    if (strcmp(s->items[i].name, name) == 0) return &s->items[i];
  return NULL;
}

static void cleanrl_files_load(void **state) {
  const char *f = *state;
  hvi_error err;
  hvi_policy *p;
  sheet s;
  const float scale[ACT] = {2.0F, 3.0F}, bias = 0.5F;
  fill(&s);
  add(&s, "action_scale", 1, ACT); /* with and without a leading axis */
  item(&s, "action_scale")->data = scale;
  add(&s, "action_bias", 1, 0);
  item(&s, "action_bias")->data = &bias;
  const char *path = in(f, "actor.safetensors");
  write_sheet(&s, path);
  check_ok(hvi_policy_load(&p, path, &err), &err);
  assert_int_equal(p->obs, OBS);
  assert_int_equal(p->act, ACT);
  assert_int_equal(p->net->layer_count, 3);
  assert_true(p->scale[1] == 3.0F);
  assert_true(p->shift[0] == 0.5F);
  assert_true(p->shift[1] == 0.5F);
  const hvi_net_layer *head = &p->net->layers[2];
  const float *mean = item(&s, "fc_mean.weight")->data,
              *log_std = item(&s, "fc_logstd.weight")->data;
  assert_memory_equal(p->weights + head->weight, mean, ACT * WIDTH * sizeof *mean);
  assert_memory_equal(p->weights + head->weight + ACT * WIDTH, log_std, ACT * WIDTH * sizeof *mean);
  const float *log_std_bias = item(&s, "fc_logstd.bias")->data;
  assert_memory_equal(p->weights + head->bias + ACT, log_std_bias, ACT * sizeof *mean);

  /* written again it is the same policy */
  hvi_policy *again;
  const char *copy = in(f, "copy.safetensors");
  check_ok(hvi_policy_add_note(p, "env", "walk", &err), &err);
  check_ok(hvi_policy_save(p, copy, &err), &err);
  check_ok(hvi_policy_load(&again, copy, &err), &err);
  assert_memory_equal(again->weights, p->weights, p->net->weights * sizeof *p->weights);
  assert_memory_equal(again->scale, p->scale, ACT * sizeof *p->scale);
  assert_int_equal(again->note_count, 1);
  assert_string_equal(again->notes[0].text, "walk");
  hvi_policy_free(again);
  hvi_policy_free(p);
}

static void linear_files_load(void **state) {
  const char *f = *state;
  hvi_error err;
  hvi_policy *p, *again;
  const double gain[6] = {1.0 / 3.0, 2.0, 3.0, 4.0, 5.0, 6.0}, std[2] = {0.1, 0.2};
  const char *path = in(f, "linear.safetensors");
  check_ok(hvi_policy_linear(&p, 3, 2, gain, std, &err), &err);
  check_ok(hvi_policy_save(p, path, &err), &err);
  check_ok(hvi_policy_load(&again, path, &err), &err);
  assert_int_equal(again->obs, 3);
  check_same_bits(again->gain, gain, 6);
  check_same_bits(again->std, std, 2);
  hvi_policy_free(p);
  hvi_policy_free(again);
}

static void refuse(const char *f, const sheet *s, const char *words) {
  hvi_error err;
  hvi_policy *p = (hvi_policy *)(void *)&err;
  const char *path = in(f, "bad.safetensors");
  write_sheet(s, path);
  check_error(hvi_policy_load(&p, path, &err), HVI_ERROR_INPUT, &err, words);
  if (!strstr(err.text, "bad.safetensors")) fail_msg("'%s' does not name the file", err.text);
  assert_null(p);
}

static void bad_files_are_refused(void **state) {
  const char *f = *state;
  sheet s;
  fill(&s);
  s.items[0].name = "fc0.weight";
  refuse(f, &s, "'fc0.weight', which is none of its 0 hidden layers");
  fill(&s);
  item(&s, "fc_mean.weight")->name = "mean.weight";
  refuse(f, &s, "no tensor 'fc_mean.weight'");
  fill(&s);
  item(&s, "fc2.bias")->name = "other";
  refuse(f, &s, "no tensor 'fc2.bias'");
  fill(&s);
  item(&s, "fc2.weight")->shape[1] = WIDTH - 1;
  refuse(f, &s, "axis 2 of fc2.weight is 4 long");
  fill(&s);
  item(&s, "fc_logstd.weight")->shape[0] = 1;
  refuse(f, &s, "fc_logstd.weight");
  fill(&s);
  item(&s, "fc_logstd.weight")->name = "other";
  refuse(f, &s, "no tensor 'fc_logstd.weight'");
  fill(&s);
  item(&s, "fc1.weight")->dims = 1;
  refuse(f, &s, "axes");
  fill(&s);
  item(&s, "fc1.weight")->shape[1] = 0;
  refuse(f, &s, "empty");
  fill(&s);
  s.numbers[1] = NAN;
  refuse(f, &s, "fc1.weight");
  fill(&s);
  item(&s, "fc2.weight")->name = "fc3.weight";
  item(&s, "fc2.bias")->name = "fc3.bias";
  refuse(f, &s, "which is none of its 1 hidden layers");
  fill(&s);
  add(&s, "action_scale", 3, 0);
  refuse(f, &s, "action_scale has 3 numbers");
  fill(&s);
  add(&s, "action_scale", 1, 0);
  item(&s, "action_scale")->data = s.numbers; /* -0.2 */
  refuse(f, &s, "positive");
}

static void missing_files_are_io_errors(void **state) {
  const char *f = *state;
  hvi_error err;
  hvi_policy *p;
  check_error(hvi_policy_load(&p, in(f, "nowhere"), &err), HVI_ERROR_IO, &err, "nowhere");
  assert_null(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cleanrl_files_load),
      cmocka_unit_test(linear_files_load),
      cmocka_unit_test(bad_files_are_refused),
      cmocka_unit_test(missing_files_are_io_errors),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
