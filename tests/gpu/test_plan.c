/* How a device's work is cut up (gpu/plan.h): parts of rows, and the slots of a step. */
#include "support/check.h"

#include "gpu/plan.h"

/* Parts cover all rows once, in order, none is empty, and there are not too many. */
static void parts_cover_the_rows(void **state) {
  (void)state;
  for (size_t rows = 1; rows < 300000; rows += rows < 3000 ? 1 : 997) {
    const size_t each = hvi_gpu_part_rows(rows), parts = hvi_gpu_parts(rows);
    assert_true(parts >= 1 && parts <= HVI_GPU_MOST_PARTS);
    assert_int_equal(each % HVI_GPU_ROW_STEP, 0);
    assert_true((parts - 1) * each < rows && rows <= parts * each);
  }
}

static void parts_are_those_by_hand(void **state) {
  (void)state;
  const size_t known[][3] = {/* rows, rows of a part, parts */
                             {1, 256, 1},      {256, 256, 1},     {257, 256, 2},
                             {1000, 256, 4},   {8192, 256, 32},   {8193, 288, 29},
                             {10000, 320, 32}, {100000, 3136, 32}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    assert_int_equal(hvi_gpu_part_rows(known[i][0]), known[i][1]);
    assert_int_equal(hvi_gpu_parts(known[i][0]), known[i][2]);
  }
}

/* Values, slopes, sums and losses of a slot follow each other, and end within it. Losses are doubles. */
static void slots_have_room(void **state) {
  (void)state;
  hvi_rng rng = hvi_rng_new(1, "plan", 0);
  for (size_t trial = 0; trial < 500; trial++) {
    hvi_device_shape s = {.layer_count = 1 + hvi_rng_u32(&rng) % 17, .activation = HVI_RELU};
    const size_t rows = 1 + hvi_rng_u32(&rng) % 20000;
    size_t values = 0;
    for (size_t l = 0; l < s.layer_count; l++) s.width[l] = 1 + hvi_rng_u32(&rng) % 300;
    s.width[s.layer_count] = 1;
    for (size_t l = 1; l < s.layer_count; l++) {
      assert_int_equal(hvi_gpu_values(&s, rows, l), values);
      values += rows * ((s.width[l] + 7) / 8 * 8);
    }
    assert_int_equal(hvi_gpu_values(&s, rows, s.layer_count), values);
    assert_int_equal(hvi_gpu_sums(&s, rows), 2 * values);
    const size_t losses = hvi_gpu_losses(&s, rows), parts = hvi_gpu_parts(rows);
    assert_int_equal(losses, 2 * values + parts * hvi_device_numbers(&s));
    assert_int_equal(losses % 2, 0);
    assert_true(hvi_gpu_slot(&s, rows) >= losses + 2 * parts);
    assert_int_equal(hvi_gpu_slot(&s, rows) % 64, 0);
  }
}

static void tiles_cover(void **state) {
  (void)state;
  const size_t known[][3] = {{0, 64, 0}, {1, 64, 1}, {64, 64, 1}, {65, 64, 2}, {256, 128, 2}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    assert_int_equal(hvi_gpu_tiles(known[i][0], known[i][1]), known[i][2]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parts_cover_the_rows),
      cmocka_unit_test(parts_are_those_by_hand),
      cmocka_unit_test(slots_have_room),
      cmocka_unit_test(tiles_cover),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
