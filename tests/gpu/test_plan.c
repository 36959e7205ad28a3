/* How a device's work is cut up (gpu/plan.h): parts of rows, and the slots of a step. */
#include "support/check.h"

#include "gpu/plan.h"

static void check_cover(size_t rows, size_t each, size_t step, size_t pieces, size_t most) {
  assert_true(pieces >= 1 && pieces <= most);
  assert_int_equal(each % step, 0);
  assert_true((pieces - 1) * each < rows && rows <= pieces * each);
}

/* Parts, and the head's tiles, cover all rows once, in order, none is empty, and there are not too
 * many. */
static void parts_cover_the_rows(void **state) {
  (void)state;
  for (size_t rows = 1; rows < 300000; rows += rows < 3000 ? 1 : 997) {
    for (size_t i = 0; i < 2; i++) {
      const hvi_gpu_form form = i ? HVI_GPU_HALVES : HVI_GPU_NUMBERS;
      check_cover(rows, hvi_gpu_part_rows(form, rows), HVI_GPU_PART_STEP, hvi_gpu_parts(form, rows),
                  HVI_GPU_MOST_PARTS);
      assert_true(hvi_gpu_parts(form, rows) <= hvi_gpu_head_tiles(rows)); /* losses are of either */
    }
    check_cover(rows, hvi_gpu_head_rows(rows), HVI_GPU_HEAD_STEP, hvi_gpu_head_tiles(rows),
                HVI_GPU_MOST_HEAD_TILES);
  }
}

static void parts_are_those_by_hand(void **state) {
  (void)state;
  const size_t known[][7] = {
      /* rows, rows of a part, parts, the same of halves, rows of a tile of the head, tiles */
      {1, 256, 1, 2048, 1, 64, 1},
      {256, 256, 1, 2048, 1, 64, 4},
      {257, 256, 2, 2048, 1, 64, 5},
      {1000, 256, 4, 2048, 1, 64, 16},
      {2049, 256, 9, 2048, 2, 64, 33},
      {8192, 256, 32, 2048, 4, 64, 128},
      {8193, 320, 26, 2048, 5, 64, 129},
      {10000, 320, 32, 2048, 5, 64, 157},
      {100000, 3136, 32, 3136, 32, 448, 224},
      {4000000, 125056, 32, 125056, 32, 8192, 489}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    const size_t *k = known[i];
    assert_int_equal(hvi_gpu_part_rows(HVI_GPU_NUMBERS, k[0]), k[1]);
    assert_int_equal(hvi_gpu_parts(HVI_GPU_NUMBERS, k[0]), k[2]);
    assert_int_equal(hvi_gpu_part_rows(HVI_GPU_HALVES, k[0]), k[3]);
    assert_int_equal(hvi_gpu_parts(HVI_GPU_HALVES, k[0]), k[4]);
    assert_int_equal(hvi_gpu_head_rows(k[0]), k[5]);
    assert_int_equal(hvi_gpu_head_tiles(k[0]), k[6]);
  }
}

/* Values, slopes, sums, the head's sums, losses and scales of a slot follow each other, and end within it.
 * Losses are doubles. The head's sums are a row of weights and a bias, both padded to 8. Halves have rows
 * and widths of whole blocks, two scales for each 64 rows of a hidden layer, and no values of the last one. */
static void check_slot(const hvi_device_shape *s, size_t rows, hvi_gpu_form form) {
  const bool halves = form == HVI_GPU_HALVES;
  const size_t lead = halves ? (rows + 63) / 64 * 64 : rows;
  const size_t layers = s->layer_count, last = s->width[layers - 1];
  size_t at = 0, values = 0;
  for (size_t l = 1; l < layers; l++) {
    assert_int_equal(hvi_gpu_values(s, form, rows, l), at);
    if (l == layers - 1 && halves) values = at;
    at += lead * ((s->width[l] + form - 1) / form * form);
  }
  if (!halves) values = at;
  assert_int_equal(hvi_gpu_values(s, form, rows, layers), at);
  assert_int_equal(hvi_gpu_slopes(s, form, rows), values);
  assert_int_equal(hvi_gpu_sums(s, form, rows), values + at);
  const size_t head = hvi_gpu_head_sums(s, form, rows), losses = hvi_gpu_losses(s, form, rows);
  const size_t tiles = hvi_gpu_head_tiles(rows), scales = hvi_gpu_scales(s, form, rows);
  assert_int_equal(head, values + at + hvi_gpu_parts(form, rows) * hvi_device_numbers(s));
  assert_int_equal(losses, head + tiles * ((last + 7) / 8 * 8 + 8));
  assert_int_equal(losses % 2, 0);
  assert_int_equal(scales, losses + 2 * tiles);
  const size_t end = scales + (halves ? (layers - 1) * 2 * (lead / 64) : 0);
  assert_true(hvi_gpu_slot(s, form, rows) >= end);
  assert_true(hvi_gpu_slot(s, form, rows) < end + 256);
  assert_int_equal(hvi_gpu_slot(s, form, rows) % 256, 0);
}

static void slots_have_room(void **state) {
  (void)state;
  hvi_rng rng = hvi_rng_new(1, "plan", 0);
  for (size_t trial = 0; trial < 500; trial++) {
    hvi_device_shape s = {.layer_count = 1 + hvi_rng_u32(&rng) % 17, .activation = HVI_RELU};
    const size_t rows = 1 + hvi_rng_u32(&rng) % 20000;
    size_t halves = 0;
    for (size_t l = 0; l < s.layer_count; l++) s.width[l] = 1 + hvi_rng_u32(&rng) % 300;
    s.width[s.layer_count] = 1;
    check_slot(&s, rows, HVI_GPU_NUMBERS);
    check_slot(&s, rows, HVI_GPU_HALVES);
    for (size_t l = 0; l + 1 < s.layer_count; l++) {
      assert_int_equal(hvi_gpu_weight_halves(&s, l), halves);
      halves += 4 * ((s.width[l] + 63) / 64 * 64) * ((s.width[l + 1] + 63) / 64 * 64);
    }
    assert_int_equal(hvi_gpu_weight_halves(&s, s.layer_count - 1), halves);
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
