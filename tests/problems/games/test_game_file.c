/* Games from YAML: the documented examples, arrays from files, writing and reading back, and every
 * file of tests/data/games/bad, which says in its first line what the error text must contain. */
#include "check.h"
#include "support/bad_files.h"

#include "base/file.h"
#include "base/memory.h"
#include "problems/document.h"
#include "problems/games/game.h"

#include <stdio.h>
#include <unistd.h>

#define DATA HVI_SOURCE_DIR "/tests/data/games/"

static hvi_problem *parse(const char *text, uint64_t seed, uint64_t instance) {
  hvi_problem *p = NULL;
  hvi_error err = {HVI_OK, ""};
  if (hvi_game_parse(&p, text, "test.yaml", NULL, seed, instance, &err)) fail_msg("%s", err.text);
  return p;
}

static hvi_problem *load(const char *path) {
  hvi_problem *p = NULL;
  hvi_error err = {HVI_OK, ""};
  if (hvi_problem_load(&p, path, 0, 0, &err)) fail_msg("%s", err.text);
  return p;
}

/* The n-th block of the docs between ```yaml and ```; NULL when there are fewer. */
static char *documented(size_t n) {
  char *text = NULL, *from;
  assert_int_equal(hvi_file_read_text(&text, HVI_SOURCE_DIR "/docs/game-files.md", 1 << 20, NULL),
                   HVI_OK);
  from = strstr(text, "```yaml\n");
  for (; n && from; n--) from = strstr(from + 1, "```yaml\n");
  char *block = NULL;
  if (from) {
    char *end = strstr(from + 3, "```");
    assert_non_null(end);
    *end = '\0';
    block = hvi_copy_text(from + 8);
  }
  hvi_free(text);
  return block;
}

static void documented_examples_work(void **state) {
  (void)state;
  char *text;
  size_t count = 0;
  for (; (text = documented(count)); count++) {
    hvi_problem *p = parse(text, 1, 0);
    check_affine(p);
    hvi_problem_free(p);
    hvi_free(text);
  }
  assert_int_equal(count, 2);
}

static void documented_pennies_is_pennies(void **state) {
  (void)state;
  char *text = documented(0);
  hvi_problem *p = parse(text, 0, 0), *q = make("pennies", NULL, 0, 0, 0);
  check_same_problem(p, q);
  hvi_problem_free(p);
  hvi_problem_free(q);
  hvi_free(text);
}

/* The second example, by hand: F_3 = [[0,1],[-1,0]] z_2 + Q z_3 + q + z_3/2. */
static void documented_polymatrix_is_right(void **state) {
  (void)state;
  char *text = documented(1);
  hvi_problem *p = parse(text, 1, 0);
  assert_int_equal(p->model->out, 7);
  assert_int_equal(p->model->dim, 2 + 2 + (3 * 2 + 3 + 3));
  assert_int_equal(p->model->block_count, 3);
  const double z[7] = {0.5, 0.25, 0.25, 2, -1, 3, 4};
  const double want[7] = {2 + 0.25,       -1 + 0.125,       1 + 0.125,       -0.75 + 4 + 1,
                          -0.5 - 3 - 0.5, -1 + 8 + 1 + 1.5, -2 + 5.5 - 1 + 2};
  double f[7];
  operate(p, z, f);
  for (size_t i = 0; i < 7; i++) assert_true(fabs(f[i] - want[i]) < 1e-14);
  assert_int_equal(p->sets[0].kind, HVI_SET_SIMPLEX);
  assert_int_equal(p->sets[1].kind, HVI_SET_FREE);
  hvi_problem_free(p);
  hvi_free(text);
}

static void arrays_come_from_files(void **state) {
  (void)state;
  hvi_problem *p = load(DATA "good/arrays.yaml"), *q = load(DATA "good/arrays_inline.yaml");
  check_same_problem(p, q);
  hvi_problem_free(p);
  hvi_problem_free(q);
}

static void instances_draw_their_starts(void **state) {
  (void)state;
  const char *text = "players:\n  - {start: [5, 6], start_sd: 0.001}\n  - {start: [7]}\n";
  hvi_problem *p = parse(text, 1, 0), *q = parse(text, 1, 1), *r = parse(text, 1, 1);
  assert_true(p->theta0[0] == 5);
  assert_true(p->theta0[1] == 6);
  assert_true(p->theta0[2] == 7);
  assert_true(fabs(q->theta0[0]) < 0.01);
  assert_true(q->theta0[0] != 0);
  assert_true(fabs(q->theta0[2]) < 6);
  check_same_problem(q, r);
  hvi_problem_free(p);
  hvi_problem_free(q);
  hvi_problem_free(r);
}

static void quadratic_takes_the_symmetric_part(void **state) {
  (void)state;
  hvi_problem *p =
      parse("players:\n  - start: [1, 2]\n    quadratic: {matrix: [[1, 4], [0, 3]]}\n", 0, 0);
  double f[2];
  operate(p, (const double[]){1, 10}, f);
  assert_true(f[0] == 21);
  assert_true(f[1] == 32);
  hvi_problem_free(p);
}

static void player_regulariser_comes_first(void **state) {
  (void)state;
  hvi_problem *p =
      parse("players:\n  - {start: [0]}\n  - {start: [0], regulariser: {weight: 3, centre: 1/4}}\n"
            "regulariser: {weight: 2, centre: 1}\n",
            0, 0);
  double f[2];
  operate(p, (const double[]){5, 5}, f);
  assert_true(f[0] == 8);
  assert_true(f[1] == 14.25);
  hvi_problem_free(p);
}

static void players_are_called_by_their_names(void **state) {
  (void)state;
  hvi_problem *p = parse("players:\n  - {name: the house, start: [0]}\n  - {start: [0]}\n"
                         "  - {name: \xc3\xa9lan, start: [0]}\n"
                         "payoffs:\n  polymatrix:\n"
                         "    - {row: \xc3\xa9lan, column: the house, matrix: [[7]]}\n"
                         "    - {row: 2, column: \xc3\xa9lan, matrix: [[5]]}\n",
                         0, 0);
  static const char *const names[] = {"the house", "player2", "\xc3\xa9lan"};
  for (size_t k = 0; k < 3; k++) assert_string_equal(p->players[k], names[k]);
  double f[3];
  operate(p, (const double[]){1, 10, 100}, f);
  assert_true(f[0] == 0 && f[1] == 500 && f[2] == 7);
  hvi_problem_free(p);
  p = parse("players:\n  - {start: [0]}\n  - {start: [0]}\n", 0, 0);
  assert_null(p->players);
  hvi_problem_free(p);
}

/* The game reader's own words: hvi_problem_load asks for the kind of the file first. */
static hvi_status read_game(hvi_problem **p, const char *path, hvi_error *err) {
  hvi_document d;
  *p = NULL;
  hvi_status status = hvi_document_read(&d, path, err);
  if (!status) {
    *p = (hvi_problem *)(void *)&d; /* to be cleared by a refusal */
    status = hvi_game_read(p, &d, 0, 0, err);
  }
  hvi_document_free(&d);
  return status;
}

static void bad_files_get_one_line(void **state) {
  (void)state;
  assert_true(check_bad_files(DATA "bad", read_game) >= 100);
}

static void unreadable_files_get_one_line(void **state) {
  (void)state;
  hvi_problem *p;
  hvi_error err;
  assert_int_equal(hvi_problem_load(&p, DATA "nowhere.yaml", 0, 0, &err), HVI_ERROR_IO);
  check_text(&err, "nowhere.yaml");
  assert_int_equal(hvi_problem_load(&p, DATA, 0, 0, &err), HVI_ERROR_IO);
  assert_int_equal(hvi_problem_load(&p, NULL, 0, 0, &err), HVI_ERROR_ARGUMENT);
  char path[] = "/tmp/hvi_game_XXXXXX";
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  assert_int_equal(ftruncate(fd, (16 << 20) + 1), 0);
  close(fd);
  assert_int_equal(hvi_problem_load(&p, path, 0, 0, &err), HVI_ERROR_INPUT);
  check_text(&err, "at most 16777216");
  unlink(path);
}

static void embedded_text_names_no_files(void **state) {
  (void)state;
  hvi_problem *p;
  hvi_error err;
  const char *text = "players:\n  - start_file: start.npy\n";
  assert_int_equal(hvi_game_parse(&p, text, "inside", NULL, 0, 0, &err), HVI_ERROR_INPUT);
  check_text(&err, "inside:2: no other files can be named here");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(documented_examples_work),
      cmocka_unit_test(documented_pennies_is_pennies),
      cmocka_unit_test(documented_polymatrix_is_right),
      cmocka_unit_test(arrays_come_from_files),
      cmocka_unit_test(instances_draw_their_starts),
      cmocka_unit_test(quadratic_takes_the_symmetric_part),
      cmocka_unit_test(player_regulariser_comes_first),
      cmocka_unit_test(players_are_called_by_their_names),
      cmocka_unit_test(bad_files_get_one_line),
      cmocka_unit_test(unreadable_files_get_one_line),
      cmocka_unit_test(embedded_text_names_no_files),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
