/* The layout of parameters on a device (gpu/device.h), against one that is counted out by hand. */
#include "support/check.h"

#include "gpu/device.h"

static void rows_are_filled_up(void **state) {
  (void)state;
  const size_t padded[][2] = {{0, 0}, {1, 8}, {7, 8}, {8, 8}, {9, 16}, {256, 256}, {300, 304}};
  for (size_t i = 0; i < sizeof padded / sizeof *padded; i++)
    assert_int_equal(hvi_device_padded(padded[i][0]), padded[i][1]);
}

static void places_are_those_by_hand(void **state) {
  (void)state;
  /* 27-256-9-1: W_1 256 rows of 32, b_1 256; W_2 9 rows of 256, b_2 16; W_3 a row of 16, b_3 8 */
  const hvi_device_shape s = {.layer_count = 3, .width = {27, 256, 9, 1}, .activation = HVI_RELU};
  const size_t weight[] = {0, 8448, 10768}, bias[] = {8192, 10752, 10784};
  for (size_t l = 0; l < 3; l++) {
    assert_int_equal(hvi_device_weight(&s, l), weight[l]);
    assert_int_equal(hvi_device_bias(&s, l), bias[l]);
  }
  assert_int_equal(hvi_device_numbers(&s), 10792);
}

/* Every number has a place, none has two, and each row begins at a multiple of the padding. */
static void places_do_not_overlap(void **state) {
  (void)state;
  hvi_rng rng = hvi_rng_new(1, "layout", 0);
  for (size_t trial = 0; trial < 200; trial++) {
    hvi_device_shape s = {.layer_count = 1 + hvi_rng_u32(&rng) % 6, .activation = HVI_TANH};
    unsigned char taken[40000] = {0};
    size_t numbers = 0;
    for (size_t l = 0; l < s.layer_count; l++) s.width[l] = 1 + hvi_rng_u32(&rng) % 70;
    s.width[s.layer_count] = 1;
    assert_true(hvi_device_numbers(&s) <= sizeof taken);
    for (size_t l = 0; l < s.layer_count; l++) {
      const size_t row = hvi_device_padded(s.width[l]);
      assert_int_equal(hvi_device_weight(&s, l) % HVI_DEVICE_PAD, 0);
      assert_int_equal(hvi_device_bias(&s, l) % HVI_DEVICE_PAD, 0);
      for (size_t o = 0; o < s.width[l + 1]; o++) {
        for (size_t i = 0; i < s.width[l]; i++) taken[hvi_device_weight(&s, l) + o * row + i]++;
        taken[hvi_device_bias(&s, l) + o]++;
      }
      numbers += s.width[l + 1] * (s.width[l] + 1);
    }
    for (size_t i = 0; i < sizeof taken; i++) {
      assert_true(taken[i] <= 1);
      numbers -= taken[i];
    }
    assert_int_equal(numbers, 0);
  }
}

static void activations_are_those_whose_slope_is_known(void **state) {
  (void)state;
  for (int a = 0; a < HVI_ACTIVATION_COUNT; a++)
    assert_int_equal(hvi_device_knows((hvi_activation)a), a != HVI_GELU && a != HVI_SOFTMAX);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_are_filled_up),
      cmocka_unit_test(places_are_those_by_hand),
      cmocka_unit_test(places_do_not_overlap),
      cmocka_unit_test(activations_are_those_whose_slope_is_known),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
