/* What the constructors refuse, in what words, and that a failed one leaves nothing behind. */
#include "base/memory.h"
#include "support/models.h"
#include "support/starve.h"

static const double numbers[] = {1, 2, 3, 4, 5, 6};

static void refused(const hvi_stack_spec *spec, hvi_status status, const char *words) {
  hvi_model *m = (hvi_model *)(void *)&m;
  hvi_error err;
  check_error(hvi_stack_new(&m, spec, &err), status, &err, words);
  assert_null(m);
  assert_int_equal(hvi_stack_new(&m, spec, NULL), status);
}

static void a_stack_needs_its_parts(void **state) {
  (void)state;
  const hvi_layer layer = {.out = 2, .matrix = numbers};
  const char *words = "a stack needs an input, at least one row and at least one layer";
  refused(NULL, HVI_ERROR_ARGUMENT, words);
  refused(&(hvi_stack_spec){.in = 0, .rows = 1, .layer_count = 1, .layers = &layer},
          HVI_ERROR_ARGUMENT, words);
  refused(&(hvi_stack_spec){.in = 3, .rows = 0, .layer_count = 1, .layers = &layer},
          HVI_ERROR_ARGUMENT, words);
  refused(&(hvi_stack_spec){.in = 3, .rows = 1, .layer_count = 0, .layers = &layer},
          HVI_ERROR_ARGUMENT, words);
  refused(&(hvi_stack_spec){.in = 3, .rows = 1, .layer_count = 1}, HVI_ERROR_ARGUMENT, words);
  refused(&(hvi_stack_spec){.in = 3, .rows = 2, .layer_count = 1, .layers = &layer},
          HVI_ERROR_ARGUMENT, "a stack whose input is theta has one row");
}

static void refused_layer(hvi_layer layer, hvi_status status, const char *words) {
  const hvi_layer layers[] = {{.out = 3, .matrix = numbers}, layer};
  refused(&(hvi_stack_spec){.in = 2, .rows = 1, .layer_count = 2, .layers = layers}, status, words);
}

static void a_layer_must_make_sense(void **state) {
  (void)state;
  const double holed[] = {1, 2, NAN, 4, 5, 6}, endless[] = {1, INFINITY};
  refused_layer((hvi_layer){.out = 0}, HVI_ERROR_INPUT, "layer 2 has no outputs");
  refused_layer((hvi_layer){.out = 2, .activation = HVI_ACTIVATION_COUNT}, HVI_ERROR_ARGUMENT,
                "layer 2: unknown activation 9");
  refused_layer((hvi_layer){.out = 2, .activation = (hvi_activation)-1}, HVI_ERROR_ARGUMENT,
                "layer 2: unknown activation -1");
  refused_layer((hvi_layer){.out = 2, .bias = numbers, .train_bias = true}, HVI_ERROR_ARGUMENT,
                "layer 2: a bias is either fixed or trainable, not both");
  refused_layer((hvi_layer){.out = 2, .matrix = holed}, HVI_ERROR_INPUT,
                "layer 2: the matrix holds a number that is not finite");
  refused_layer((hvi_layer){.out = 2, .matrix = numbers, .bias = endless}, HVI_ERROR_INPUT,
                "layer 2: the bias holds a number that is not finite");
  refused_layer((hvi_layer){.out = SIZE_MAX / 2}, HVI_ERROR_INPUT, "layer 2 is too large");
}

static void a_fixed_input_must_make_sense(void **state) {
  (void)state;
  const hvi_layer fixed = {.out = 3, .matrix = numbers}, trained = {.out = 3};
  const double holed[] = {1, -INFINITY};
  refused(
      &(hvi_stack_spec){.in = 2, .input = holed, .rows = 1, .layer_count = 1, .layers = &trained},
      HVI_ERROR_INPUT, "the fixed input holds a number that is not finite");
  refused(
      &(hvi_stack_spec){
          .in = 2, .input = numbers, .rows = SIZE_MAX, .layer_count = 1, .layers = &trained},
      HVI_ERROR_INPUT, "the fixed input is too large");
  refused(
      &(hvi_stack_spec){.in = 2, .input = numbers, .rows = 1, .layer_count = 1, .layers = &fixed},
      HVI_ERROR_INPUT, "the model has no parameters: its input and all its layers are fixed");
}

static void an_affine_model_needs_its_matrix(void **state) {
  (void)state;
  hvi_model *m;
  hvi_error err;
  check_error(hvi_affine_new(&m, 2, 3, NULL, numbers, &err), HVI_ERROR_ARGUMENT, &err,
              "an affine model needs its matrix");
  assert_null(m);
  check_error(hvi_affine_new(&m, 0, 3, numbers, NULL, &err), HVI_ERROR_INPUT, &err,
              "layer 1 has no outputs");
  check_error(hvi_affine_new(&m, 2, 0, numbers, NULL, &err), HVI_ERROR_ARGUMENT, &err,
              "a stack needs an input");
}

/* The players are taken over when it fails, too: nothing to free here, and no leak. */
static void players_must_be_models_of_one_player(void **state) {
  (void)state;
  hvi_model *m = NULL, *players[2] = {NULL, NULL}, *pair[2];
  hvi_error err;
  check_error(hvi_players_new(&m, 0, players, &err), HVI_ERROR_ARGUMENT, &err,
              "there must be at least one player");
  check_error(hvi_players_new(&m, 2, NULL, &err), HVI_ERROR_ARGUMENT, &err,
              "there must be at least one player");
  check_ok(hvi_affine_new(&players[0], 2, 3, numbers, NULL, &err), &err);
  players[1] = NULL;
  check_error(hvi_players_new(&m, 2, players, &err), HVI_ERROR_ARGUMENT, &err,
              "player 2 is not a model of one player");
  assert_null(m);
  check_ok(hvi_affine_new(&players[0], 2, 3, numbers, NULL, &err), &err);
  for (int k = 0; k < 2; k++) check_ok(hvi_affine_new(&pair[k], 1, 1, numbers, NULL, &err), &err);
  check_ok(hvi_players_new(&players[1], 2, pair, &err), &err);
  check_error(hvi_players_new(&m, 2, players, &err), HVI_ERROR_ARGUMENT, &err,
              "player 2 is not a model of one player");
}

static hvi_status stack_from(void *context, hvi_error *err) {
  hvi_model *m = NULL;
  const hvi_status status = hvi_stack_new(&m, context, err);
  if (status) assert_null(m);
  hvi_model_free(m);
  return status;
}

/* Every allocation fails once; the leak checkers see what is left behind. */
static void no_memory_is_an_error_and_no_leak(void **state) {
  (void)state;
  const hvi_layer layers[] = {{.out = 3, .matrix = numbers, .bias = numbers}, {.out = 2}};
  hvi_stack_spec spec = {.in = 2, .input = numbers, .rows = 3, .layer_count = 2, .layers = layers};
  /* the model with its layers; the input, a matrix and a bias */
  assert_int_equal(starve(stack_from, &spec), 2);
  /* and on the kernels: layers for a while, the network, its net, what is fixed,
   * the inputs */
  spec.precision = HVI_PRECISION_SINGLE;
  assert_int_equal(starve(stack_from, &spec), 2 + 5);
}

static hvi_status players_of(void *context, hvi_error *err) {
  hvi_model *players[2], *m = NULL;
  const size_t allowed = allocations_left;
  (void)context;
  allocations_left = (size_t)-1; /* for the players themselves */
  for (int i = 0; i < 2; i++) check_ok(hvi_affine_new(&players[i], 2, 3, numbers, NULL, err), err);
  allocations_left = allowed;
  const hvi_status status = hvi_players_new(&m, 2, players, err);
  hvi_model_free(m);
  return status;
}

static void no_memory_for_players_frees_the_players(void **state) {
  (void)state;
  assert_int_equal(starve(players_of, NULL), 1);
}

static void freeing_nothing_is_fine(void **state) {
  (void)state;
  hvi_model_free(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_stack_needs_its_parts),
      cmocka_unit_test(a_layer_must_make_sense),
      cmocka_unit_test(a_fixed_input_must_make_sense),
      cmocka_unit_test(an_affine_model_needs_its_matrix),
      cmocka_unit_test(players_must_be_models_of_one_player),
      cmocka_unit_test(no_memory_is_an_error_and_no_leak),
      cmocka_unit_test(no_memory_for_players_frees_the_players),
      cmocka_unit_test(freeing_nothing_is_fine),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
