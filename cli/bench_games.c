/* What `hvi bench games` prints. */
#include "bench_parts.h"

#include "games.h"

#include <math.h>
#include <stdio.h>

static void print_trajectories(const games_row *rows, size_t count) {
  char ratio[16], hand[16];
  printf("one trajectory: nanoseconds per outer step\n");
  printf("  %-8s %-8s %10s %10s %7s   %s\n", "game", "method", "hvi", "by hand", "ratio",
         "per step: evaluations of g, J'u, F");
  for (size_t i = 0; i < count; i++) {
    const games_row *r = &rows[i];
    snprintf(hand, sizeof hand, "%.1f", r->by_hand);
    printf("  %-8s %-8s %10.1f %10s %7s   %.3g, %.3g, %.3g%s\n", r->game, r->label, r->trajectory,
           isnan(r->by_hand) ? "-" : hand, hvi_bench_ratio(ratio, r->trajectory, r->by_hand),
           r->model_passes, r->grad_evals, r->f_evals,
           r->agrees ? "" : "   (the two disagree: this is a defect)");
  }
}

static void print_ensembles(const games_row *rows, size_t count, size_t instances) {
  char ratio[16];
  printf("\nensemble of %zu instances, one thread: nanoseconds per outer step and instance\n",
         instances);
  printf("  %-8s %-8s %10s %12s %9s\n", "game", "method", "lanes", "one by one", "speed-up");
  for (size_t i = 0; i < count; i++) {
    const games_row *r = &rows[i];
    printf("  %-8s %-8s %10.2f %12.1f %9s\n", r->game, r->label, r->lanes, r->one_by_one,
           hvi_bench_ratio(ratio, r->one_by_one, r->lanes));
  }
}

static void print(const void *rows, size_t count, const bench_options *o) {
  print_trajectories(rows, count);
  print_ensembles(rows, count, o->instances);
}

static void print_json(hvi_json *j, const void *rows, size_t count, const bench_options *o) {
  const games_row *r = rows;
  hvi_json_count(j, "outer", o->outer);
  hvi_json_count(j, "instances", o->instances);
  hvi_json_open(j, "games", '[');
  for (size_t i = 0; i < count; i++, r++) {
    hvi_json_open(j, NULL, '{');
    hvi_json_text(j, "game", r->game);
    hvi_json_text(j, "method", r->label);
    hvi_json_number(j, "trajectory_ns", r->trajectory);
    hvi_json_number(j, "by_hand_ns", r->by_hand);
    hvi_json_number(j, "ratio", r->trajectory / r->by_hand);
    hvi_json_number(j, "lanes_ns", r->lanes);
    hvi_json_number(j, "one_by_one_ns", r->one_by_one);
    hvi_json_number(j, "model_passes", r->model_passes);
    hvi_json_number(j, "grad_evals", r->grad_evals);
    hvi_json_number(j, "f_evals", r->f_evals);
    hvi_json_bool(j, "agrees", r->agrees);
    hvi_json_close(j, '}');
  }
  hvi_json_close(j, ']');
}

static hvi_status run(void *rows, size_t *done, const bench_options *o, hvi_error *err) {
  return bench_games_run(rows, done, o, err);
}

const hvi_bench_part hvi_bench_games = {"games", GAMES_ROWS, sizeof(games_row),
                                        run,     print,      print_json};
