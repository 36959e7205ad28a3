/*
 * A network's first parameters by their distribution, its table of shapes, and its files: the same
 * numbers back, files of other networks refused, memory that runs out.
 */
#include "support/networks.h"
#include "support/starve.h"

#include <hvi/tensors.h>

#include <stdio.h>
#include <unistd.h>

static hvi_model *sized(size_t in, size_t a, size_t b, size_t out, hvi_activation hidden) {
  const size_t widths[] = {a, b, out};
  const hvi_mlp_spec spec = {
      .in = in, .layer_count = 3, .widths = widths, .hidden = hidden, .rows = 2};
  hvi_model *m;
  hvi_error err;
  check_ok(hvi_mlp_new(&m, &spec, &err), &err);
  return m;
}

static double *first_parameters(const hvi_model *m, hvi_init kind, uint64_t seed) {
  double *theta = malloc(m->dim * sizeof *theta);
  hvi_rng rng = hvi_rng_new(seed, "theta0", 0);
  hvi_error err;
  check_ok(hvi_mlp_init(m, theta, kind, &rng, &err), &err);
  return theta;
}

/* Uniform on +-1/sqrt(in), biases too: range, mean, variance and fourth moment. */
static void kaiming_is_uniform_by_the_inputs(void **state) {
  (void)state;
  hvi_model *m = sized(27, 256, 100, 30, HVI_RELU);
  double *theta = first_parameters(m, HVI_INIT_KAIMING, 1);
  size_t count;
  const hvi_mlp_part *parts = hvi_mlp_parts(m, &count);
  assert_int_equal(count, 6);
  for (size_t k = 0; k < count; k++) {
    const hvi_mlp_part *w = &parts[k / 2 * 2];
    const size_t n = parts[k].shape[0] * (parts[k].dims == 2 ? parts[k].shape[1] : 1);
    const double bound = 1.0 / sqrt((double)w->shape[1]), root = sqrt((double)n);
    double sum = 0.0, square = 0.0, fourth = 0.0, most = 0.0;
    for (size_t i = 0; i < n; i++) {
      const double x = theta[parts[k].offset + i] / bound;
      sum += x, square += x * x, fourth += x * x * x * x;
      most = fmax(most, fabs(x));
    }
    assert_true(most <= 1.0 + 1e-6);
    assert_true(most > 1.0 - 12.0 / (double)n);
    /* five standard errors: var x = 1/3, var x^2 = 4/45, var x^4 = 16/225 */
    check_near(sum / (double)n, 0.0, 5.0 * sqrt(1.0 / 3.0) / root);
    check_near(square / (double)n, 1.0 / 3.0, 5.0 * sqrt(4.0 / 45.0) / root);
    check_near(fourth / (double)n, 0.2, 5.0 * sqrt(16.0 / 225.0) / root);
  }
  free(theta);
  hvi_model_free(m);
}

/* W W' or W'W is the square of the gain, by whichever side is shorter; b = 0. */
static void check_orthogonal(const double *W, size_t out, size_t in, double gain) {
  const bool wide = out <= in;
  const size_t few = wide ? out : in, many = wide ? in : out;
  for (size_t a = 0; a < few; a++) {
    for (size_t b = 0; b <= a; b++) {
      double sum = 0.0;
      for (size_t k = 0; k < many; k++)
        sum += wide ? W[a * in + k] * W[b * in + k] : W[k * in + a] * W[k * in + b];
      check_near(sum, a == b ? gain * gain : 0.0, 1e-6 * gain * gain);
    }
  }
}

static void orthogonal_is_orthogonal(void **state) {
  (void)state;
  static const hvi_activation kinds[] = {HVI_RELU, HVI_TANH, HVI_SIGMOID};
  const double gains[] = {sqrt(2.0), 5.0 / 3.0, 1.0};
  for (size_t k = 0; k < 3; k++) {
    hvi_model *m = sized(9, 40, 17, 3, kinds[k]);
    double *theta = first_parameters(m, HVI_INIT_ORTHOGONAL, 2);
    size_t count;
    const hvi_mlp_part *parts = hvi_mlp_parts(m, &count);
    for (size_t i = 0; i < count; i += 2) {
      check_orthogonal(theta + parts[i].offset, parts[i].shape[0], parts[i].shape[1],
                       i + 2 < count ? gains[k] : 1.0);
      for (size_t j = 0; j < parts[i + 1].shape[0]; j++)
        assert_true(theta[parts[i + 1].offset + j] == 0.0);
    }
    free(theta);
    hvi_model_free(m);
  }
}

/* Names and places as torch.nn.Sequential(Linear, activation, Linear, ...) has them. */
static void the_table_names_every_part(void **state) {
  (void)state;
  static const char *const names[] = {"0.weight", "0.bias",   "2.weight",
                                      "2.bias",   "4.weight", "4.bias"};
  static const size_t offsets[] = {0, 15, 20, 40, 44, 52};
  hvi_model *m = sized(3, 5, 4, 2, HVI_TANH);
  size_t count;
  const hvi_mlp_part *parts = hvi_mlp_parts(m, &count);
  assert_int_equal(count, 6);
  assert_int_equal(m->dim, 54);
  for (size_t k = 0; k < count; k++) {
    assert_string_equal(parts[k].name, names[k]);
    assert_int_equal(parts[k].offset, offsets[k]);
  }
  hvi_model_free(m);
}

static char path[] = "test_mlp_file_XXXXXX";

static void saved_parameters_come_back(void **state) {
  (void)state;
  hvi_model *m = sized(3, 5, 4, 2, HVI_TANH);
  double *theta = first_parameters(m, HVI_INIT_KAIMING, 3), *back = calloc(m->dim, sizeof *back);
  hvi_error err;
  check_ok(hvi_mlp_save(m, theta, path, &err), &err);
  check_ok(hvi_mlp_load(m, back, path, &err), &err);
  check_same_bits(back, theta, m->dim);
  hvi_tensors *file;
  check_ok(hvi_tensors_read(&file, path, 0, &err), &err);
  assert_int_equal(file->count, 6);
  const hvi_tensor *w = hvi_tensors_find(file, "2.weight");
  assert_non_null(w);
  assert_int_equal(w->type, HVI_TENSOR_F32);
  assert_int_equal(w->shape[0], 4);
  assert_int_equal(w->shape[1], 5);
  hvi_tensors_free(file);
  free(theta), free(back);
  hvi_model_free(m);
}

static void load_refused(const hvi_model *m, const char *words) {
  double *theta = malloc(m->dim * sizeof *theta);
  for (size_t i = 0; i < m->dim; i++) theta[i] = (double)i;
  hvi_error err;
  check_error(hvi_mlp_load(m, theta, path, &err), HVI_ERROR_INPUT, &err, words);
  for (size_t i = 0; i < m->dim; i++) assert_true(theta[i] == (double)i);
  free(theta);
}

static void files_of_other_networks_are_refused(void **state) {
  (void)state;
  hvi_model *m = sized(3, 5, 4, 2, HVI_TANH), *wider = sized(3, 6, 4, 2, HVI_TANH);
  double *theta = first_parameters(m, HVI_INIT_KAIMING, 3);
  hvi_error err;
  check_ok(hvi_mlp_save(m, theta, path, &err), &err);
  load_refused(wider, "'0.weight' is [5, 3], and should be [6, 3]");

  /* a file with a layer too few, and with a tensor too many */
  const float numbers[15] = {0};
  const hvi_tensor one = {
      .name = "0.weight", .type = HVI_TENSOR_F32, .dims = 2, .shape = {5, 3}, .data = numbers};
  check_ok(hvi_tensors_write(path, &one, 1, NULL, 0, &err), &err);
  load_refused(m, "no tensor '0.bias'");
  hvi_tensor items[7];
  size_t count;
  const hvi_mlp_part *parts = hvi_mlp_parts(m, &count);
  float *zeros = calloc(m->dim, sizeof *zeros);
  for (size_t k = 0; k < count; k++) {
    items[k] = (hvi_tensor){.name = parts[k].name,
                            .type = HVI_TENSOR_F32,
                            .dims = parts[k].dims,
                            .shape = {parts[k].shape[0], parts[k].shape[1]},
                            .data = zeros};
  }
  items[6] = one, items[6].name = "6.weight";
  check_ok(hvi_tensors_write(path, items, 7, NULL, 0, &err), &err);
  load_refused(m, "another network's");
  zeros[3] = NAN;
  check_ok(hvi_tensors_write(path, items, 6, NULL, 0, &err), &err);
  load_refused(m, "finite");

  theta[7] = 1e300;
  check_error(hvi_mlp_save(m, theta, path, &err), HVI_ERROR_INPUT, &err, "parameter 8");
  free(zeros), free(theta);
  hvi_model_free(m), hvi_model_free(wider);
}

static void other_models_are_refused(void **state) {
  (void)state;
  const double A[] = {1.0}, theta[] = {1.0};
  double out[1];
  hvi_model *m;
  hvi_error err;
  hvi_rng rng = hvi_rng_new(1, "theta0", 0);
  size_t count = 9;
  check_ok(hvi_affine_new(&m, 1, 1, A, NULL, &err), &err);
  assert_null(hvi_mlp_parts(m, &count));
  assert_int_equal(count, 0);
  check_error(hvi_mlp_save(m, theta, path, &err), HVI_ERROR_ARGUMENT, &err, "not a network");
  check_error(hvi_mlp_load(m, out, path, &err), HVI_ERROR_ARGUMENT, &err, "not a network");
  check_error(hvi_mlp_init(m, out, HVI_INIT_KAIMING, &rng, &err), HVI_ERROR_ARGUMENT, &err,
              "not a network");
  hvi_model_free(m);
  m = sized(1, 1, 1, 1, HVI_TANH);
  check_error(hvi_mlp_init(m, out, (hvi_init)7, &rng, &err), HVI_ERROR_ARGUMENT, &err, "unknown");
  hvi_model_free(m);
}

/* Every allocation in turn is refused. */
typedef struct order {
  hvi_mlp_spec spec;
  hvi_model *m;
  double theta[17];
  int what;
} order;

static hvi_status make_mlp(void *context, hvi_error *err) {
  order *o = context;
  const hvi_status status = hvi_mlp_new(&o->m, &o->spec, err);
  if (status) assert_null(o->m);
  return status;
}

static hvi_status use_mlp(void *context, hvi_error *err) {
  order *o = context;
  hvi_rng rng = hvi_rng_new(1, "theta0", 0);
  if (o->what == 0) return hvi_mlp_init(o->m, o->theta, HVI_INIT_KAIMING, &rng, err);
  if (o->what == 1) return hvi_mlp_init(o->m, o->theta, HVI_INIT_ORTHOGONAL, &rng, err);
  if (o->what == 2) return hvi_mlp_save(o->m, o->theta, path, err);
  return hvi_mlp_load(o->m, o->theta, path, err);
}

static void memory_that_runs_out_is_said(void **state) {
  (void)state;
  const double input[] = {1.0, 2.0};
  const size_t widths[] = {3, 2};
  order o = {.spec = {.in = 2, .layer_count = 2, .widths = widths, .rows = 1, .input = input}};
  /* the model, its network, its inputs */
  assert_int_equal(starve(make_mlp, &o), 3);
  for (o.what = 0; o.what < 4; o.what++) assert_true(starve(use_mlp, &o) > 0);
  hvi_model_free(o.m);
}

static int make_path(void **state) {
  (void)state;
  const int file = mkstemp(path);
  return file < 0 ? -1 : close(file);
}

static int remove_path(void **state) {
  (void)state;
  return remove(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(kaiming_is_uniform_by_the_inputs),
      cmocka_unit_test(orthogonal_is_orthogonal),
      cmocka_unit_test(the_table_names_every_part),
      cmocka_unit_test(saved_parameters_come_back),
      cmocka_unit_test(files_of_other_networks_are_refused),
      cmocka_unit_test(other_models_are_refused),
      cmocka_unit_test(memory_that_runs_out_is_said),
  };
  return cmocka_run_group_tests(tests, make_path, remove_path);
}
