/* Games made in C: the operator against hand-computed values, and what is refused. */
#include "check.h"

#include "problems/games/game.h"

static hvi_model *identity(size_t n) {
  double *A = doubles(n * n);
  for (size_t i = 0; i < n; i++) A[i * n + i] = 1.0;
  hvi_model *model = NULL;
  assert_int_equal(hvi_affine_new(&model, n, n, A, NULL, NULL), HVI_OK);
  free(A);
  return model;
}

static const double zeros[8] = {0};

static hvi_problem *build(const hvi_game_spec *spec) {
  hvi_problem *p = NULL;
  hvi_error err = {HVI_OK, ""};
  if (hvi_game_new(&p, spec, &err)) fail_msg("%s", err.text);
  assert_non_null(hvi_game_of(p));
  return p;
}

static void zero_sum(void **state) {
  (void)state;
  const double A[] = {1, 2, 3, 4, 5, 6}, minus[] = {-1, -4, -2, -5, -3, -6};
  hvi_player players[] = {{.model = identity(2), .theta0 = zeros},
                          {.model = identity(3), .theta0 = zeros}};
  hvi_payoff payoffs[] = {{0, 1, A}, {1, 0, minus}};
  hvi_problem *p = build(&(hvi_game_spec){2, players, 2, payoffs, NULL});
  const double z[] = {1, -1, 2, 0, 1}, want[] = {5, 14, 3, 3, 3};
  double f[5];
  operate(p, z, f);
  for (size_t i = 0; i < 5; i++) assert_true(f[i] == want[i]);
  /* z'F = 0: what one loses the other gains */
  double sum = 0.0;
  for (size_t i = 0; i < 5; i++) sum += z[i] * f[i];
  assert_true(sum == 0.0);
  check_affine(p);
  hvi_problem_free(p);
}

/* F_1 = z_2 + z_3, F_2 = 2 z_1 + z_2 (own) + q, F_3 = 3 (z_3 - c): twice the same pair adds up. */
static void polymatrix_of_three(void **state) {
  (void)state;
  const double one[] = {1}, two[] = {2}, minus[] = {-3}, linear[] = {10}, centre[] = {4};
  hvi_player players[] = {{.model = identity(1), .theta0 = zeros},
                          {.model = identity(1), .theta0 = zeros, .linear = linear},
                          {.model = identity(1), .theta0 = zeros, .weight = 3, .centre = centre}};
  hvi_payoff payoffs[] = {{0, 1, one}, {0, 2, one}, {1, 0, two}, {1, 1, one}, {0, 1, minus}};
  hvi_problem *p = build(&(hvi_game_spec){3, players, 5, payoffs, NULL});
  const double z[] = {5, 7, 11}, want[] = {7 + 11 - 21, 10 + 7 + 10, 3 * (11 - 4)};
  double f[3];
  operate(p, z, f);
  for (size_t i = 0; i < 3; i++) assert_true(f[i] == want[i]);
  check_affine(p);
  hvi_problem_free(p);
}

static void keeps_its_own_copies(void **state) {
  (void)state;
  double theta0[] = {1, 2}, lower[] = {-1, -2}, upper[] = {1, 2}, A[] = {1, 0, 0, 1};
  double solution[] = {0.5, 0.25};
  hvi_player player = {
      .model = identity(2), .theta0 = theta0, .set = HVI_SET_BOX, .lower = lower, .upper = upper};
  hvi_payoff payoff = {0, 0, A};
  hvi_problem *p = build(&(hvi_game_spec){1, &player, 1, &payoff, solution});
  theta0[0] = lower[0] = upper[0] = A[0] = solution[0] = 99;
  assert_true(p->theta0[0] == 1);
  assert_true(p->theta0[1] == 2);
  assert_true(p->solution[0] == 0.5);
  assert_true(p->solution[1] == 0.25);
  assert_int_equal(p->set_count, 1);
  assert_true(p->sets[0].lower[0] == -1);
  assert_true(p->sets[0].upper[0] == 1);
  double f[2];
  operate(p, p->theta0, f);
  assert_true(f[0] == 1);
  assert_true(f[1] == 2);
  hvi_problem_free(p);
}

static void sets_cover_the_outputs(void **state) {
  (void)state;
  const double basis[] = {0.6, 0.8, 0.0};
  hvi_player players[] = {
      {.model = identity(4), .theta0 = zeros, .set = HVI_SET_SIMPLEX, .parts = 2},
      {.model = identity(3), .theta0 = zeros, .set = HVI_SET_SUBSPACE, .basis = basis, .rank = 1},
      {.model = identity(1), .theta0 = zeros}};
  hvi_problem *p = build(&(hvi_game_spec){3, players, 0, NULL, NULL});
  const hvi_set_kind kinds[] = {HVI_SET_SIMPLEX, HVI_SET_SIMPLEX, HVI_SET_SUBSPACE, HVI_SET_FREE};
  const size_t begins[] = {0, 2, 4, 7}, lens[] = {2, 2, 3, 1};
  assert_int_equal(p->set_count, 4);
  for (size_t i = 0; i < 4; i++) {
    assert_int_equal(p->sets[i].kind, kinds[i]);
    assert_int_equal(p->sets[i].begin, begins[i]);
    assert_int_equal(p->sets[i].len, lens[i]);
  }
  const double z[] = {1, 1, 3, 0, 1, 1, 1, 9};
  const double want[] = {0.5, 0.5, 1, 0, 0.84, 1.12, 0, 9};
  double out[8];
  hvi_problem_project(p, z, out);
  for (size_t i = 0; i < 8; i++) assert_true(fabs(out[i] - want[i]) < 1e-15);
  hvi_problem_free(p);
}

static void refuse(const hvi_game_spec *spec, hvi_status status, const char *words) {
  hvi_problem *p = (hvi_problem *)&spec;
  hvi_error err = {HVI_OK, ""};
  assert_int_equal(hvi_game_new(&p, spec, &err), status);
  assert_null(p);
  assert_int_equal(err.status, status);
  check_text(&err, words);
}

/* One player with something wrong; the model goes with it. */
static void refuse_player(hvi_player player, hvi_status status, const char *words) {
  player.model = identity(2);
  refuse(&(hvi_game_spec){1, &player, 0, NULL, NULL}, status, words);
}

static void refuses_bad_players(void **state) {
  (void)state;
  const double nan[] = {0, NAN}, up[] = {1, 1}, down[] = {2, 0};
  refuse_player((hvi_player){.theta0 = NULL}, HVI_ERROR_ARGUMENT, "player 1 has no start");
  refuse_player((hvi_player){.theta0 = nan}, HVI_ERROR_INPUT, "theta0[1] is");
  refuse_player((hvi_player){.theta0 = zeros, .weight = INFINITY}, HVI_ERROR_INPUT,
                "weight[0] is inf");
  refuse_player((hvi_player){.theta0 = zeros, .centre = nan}, HVI_ERROR_INPUT, "centre[1] is");
  refuse_player((hvi_player){.theta0 = zeros, .linear = nan}, HVI_ERROR_INPUT, "linear[1] is");
  refuse_player((hvi_player){.theta0 = zeros, .set = HVI_SET_BOX, .lower = up}, HVI_ERROR_ARGUMENT,
                "needs lower and upper");
  refuse_player((hvi_player){.theta0 = zeros, .set = HVI_SET_BOX, .lower = up, .upper = down},
                HVI_ERROR_INPUT, "lower[1] = 1 is not below upper[1] = 0");
  refuse_player((hvi_player){.theta0 = zeros, .set = HVI_SET_BOX, .lower = nan, .upper = up},
                HVI_ERROR_INPUT, "lower[1] = ");
  refuse_player((hvi_player){.theta0 = zeros, .set = HVI_SET_SIMPLEX, .parts = 3}, HVI_ERROR_INPUT,
                "2 outputs are not 3 simplices");
  refuse_player((hvi_player){.theta0 = zeros, .set = HVI_SET_SUBSPACE}, HVI_ERROR_ARGUMENT,
                "needs a basis of rank 1 to 2");
  refuse_player((hvi_player){.theta0 = zeros, .set = (hvi_set_kind)17}, HVI_ERROR_ARGUMENT,
                "set kind 17");
}

static void names_are_copied_and_checked(void **state) {
  (void)state;
  char own[] = "me";
  hvi_player players[] = {{.theta0 = zeros, .name = own, .model = identity(1)},
                          {.theta0 = zeros, .model = identity(1)}};
  hvi_problem *p = build(&(hvi_game_spec){2, players, 0, NULL, NULL});
  own[0] = 'x';
  assert_string_equal(p->players[0], "me");
  assert_string_equal(p->players[1], "player2");
  hvi_problem_free(p);
  static const char *const bad[][2] = {
      {"", "1 to 40 bytes"}, {"01234567890123456789012345678901234567890", "40 bytes"},
      {" a", "blank"},       {"a ", "blank"},
      {"1e3", "a number"},   {"a,b", "commas"},
      {"a\"b", "quotes"},    {"a'b", "quotes"},
      {"a\nb", "control"},   {"a\x7f", "control"}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    refuse_player((hvi_player){.theta0 = zeros, .name = bad[i][0]}, HVI_ERROR_INPUT, bad[i][1]);
  players[0] = (hvi_player){.theta0 = zeros, .name = "player2", .model = identity(1)};
  players[1] = (hvi_player){.theta0 = zeros, .model = identity(1)};
  refuse(&(hvi_game_spec){2, players, 0, NULL, NULL}, HVI_ERROR_INPUT,
         "players 1 and 2 have one name, 'player2'");
}

static void refuses_bad_games(void **state) {
  (void)state;
  const double nan[] = {0, 1, NAN, 0};
  refuse(&(hvi_game_spec){0, NULL, 0, NULL, NULL}, HVI_ERROR_ARGUMENT, "at least one player");
  hvi_player player = {.theta0 = zeros};
  refuse(&(hvi_game_spec){1, &player, 0, NULL, NULL}, HVI_ERROR_ARGUMENT, "player 1 has no model");
  hvi_payoff payoff = {0, 1, zeros};
  player.model = identity(2);
  refuse(&(hvi_game_spec){1, &player, 1, &payoff, NULL}, HVI_ERROR_INPUT,
         "payoffs[0]: players 0 and 1, but the last one is 0");
  payoff = (hvi_payoff){0, 0, nan};
  player.model = identity(2);
  refuse(&(hvi_game_spec){1, &player, 1, &payoff, NULL}, HVI_ERROR_INPUT, "row 2, column 1 is");
  payoff.matrix = NULL;
  player.model = identity(2);
  refuse(&(hvi_game_spec){1, &player, 1, &payoff, NULL}, HVI_ERROR_ARGUMENT, "has no matrix");
  player.model = identity(2);
  refuse(&(hvi_game_spec){1, &player, 1, NULL, NULL}, HVI_ERROR_ARGUMENT, "1 payoffs has none");
  player.model = identity(2);
  refuse(&(hvi_game_spec){1, &player, 0, NULL, nan + 1}, HVI_ERROR_INPUT, "solution[1] is");
  hvi_model *both[] = {identity(1), identity(1)};
  assert_int_equal(hvi_players_new(&player.model, 2, both, NULL), HVI_OK);
  refuse(&(hvi_game_spec){1, &player, 0, NULL, NULL}, HVI_ERROR_ARGUMENT, "2 blocks");
  hvi_problem *p;
  assert_int_equal(hvi_game_new(&p, NULL, NULL), HVI_ERROR_ARGUMENT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(zero_sum),
      cmocka_unit_test(names_are_copied_and_checked),
      cmocka_unit_test(polymatrix_of_three),
      cmocka_unit_test(keeps_its_own_copies),
      cmocka_unit_test(sets_cover_the_outputs),
      cmocka_unit_test(refuses_bad_players),
      cmocka_unit_test(refuses_bad_games),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
