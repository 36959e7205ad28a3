/*
 * The open scan. The paper shows one random game and does not print its matrices. Its statements do
 * not hold for most games, so the choice of one is part of the result: here every statement is
 * judged on many random games, the counts are reported, and the shipped game is the first one on
 * which all of them hold with a factor of ten to spare.
 */
#include "base/error.h"
#include "base/memory.h"
#include "experiments/kinds.h"
#include "experiments/rps_judge.h"
#include "num/vec.h"
#include "problems/games/file.h"
#include "report/csv.h"
#include "report/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double choice_margin = 10;

typedef struct scan {
  hvi_ensemble *ensembles[HVI_RPS_METHODS];
  size_t count;                 /* games */
  size_t holds[HVI_RPS_CLAIMS]; /* on how many of them */
  size_t all, all_with_margin;
  size_t chosen; /* the first with margin; 0: none */
} scan;

static hvi_status run_all(scan *s, hvi_run *run, hvi_error *err) {
  hvi_status status = HVI_OK;
  for (size_t k = 0; k < HVI_RPS_METHODS && status == HVI_OK && !run->stopped; k++) {
    const hvi_contender *c = hvi_experiment_contender(run->experiment, hvi_rps_methods[k]);
    if (!c)
      return hvi_error_set(err, HVI_ERROR_INPUT, "experiment 'rps' lacks the method %s",
                           hvi_rps_methods[k]);
    double weight = 1.0 / HVI_RPS_METHODS;
    status = hvi_ensemble_contender(&s->ensembles[k], run, c, HVI_RPS_EVERY, (double)k * weight,
                                    weight, err);
  }
  return status;
}

static void write_game(hvi_csv *csv, size_t game, const hvi_rps_measures *m, const bool *holds,
                       bool with_margin) {
  hvi_csv_count(csv, game);
  for (size_t k = 0; k < HVI_RPS_METHODS; k++) hvi_csv_number(csv, m->end[k]);
  for (size_t k = 0; k < HVI_RPS_CLAIMS; k++) hvi_csv_count(csv, holds[k]);
  hvi_csv_count(csv, with_margin);
  hvi_csv_end(csv);
}

/* Judges game `index`, 0 .. count-1, which is the problem's instance index + 1. */
static void judge_game(scan *s, hvi_csv *csv, size_t index, double *columns) {
  hvi_rps_game game = {.rows = s->ensembles[0]->rows};
  for (size_t k = 0; k < HVI_RPS_METHODS; k++) {
    double *y = columns + k * game.rows;
    for (size_t i = 0; i < game.rows; i++) y[i] = s->ensembles[k]->dist2[i * s->count + index];
    game.dist2[k] = y;
  }
  hvi_rps_measures m = hvi_rps_measure(&game);
  bool holds[HVI_RPS_CLAIMS], clearly[HVI_RPS_CLAIMS], all = true, all_clearly = true;
  hvi_rps_judge(holds, &m, 1);
  hvi_rps_judge(clearly, &m, choice_margin);
  for (size_t k = 0; k < HVI_RPS_CLAIMS; k++) {
    s->holds[k] += holds[k];
    all = all && holds[k];
    all_clearly = all_clearly && clearly[k];
  }
  s->all += all;
  s->all_with_margin += all_clearly;
  if (all_clearly && !s->chosen) s->chosen = index + 1;
  write_game(csv, index + 1, &m, holds, all_clearly);
}

static char *header(void) {
  hvi_text t = {0};
  hvi_text_add(&t, "instance,phgd,lm1,lm5,gd10,gd100,gda");
  for (size_t k = 0; k < HVI_RPS_CLAIMS; k++) hvi_text_add(&t, ",%s", hvi_rps_claims[k].column);
  hvi_text_add(&t, ",all_with_margin");
  return hvi_text_take(&t);
}

static hvi_status judge_all(scan *s, const hvi_run *run, hvi_error *err) {
  s->count = s->ensembles[0]->count;
  hvi_csv csv = {0};
  char *path = hvi_run_path(run, "scan", ".csv"), *columns = header();
  double *scratch = hvi_alloc_doubles(HVI_RPS_METHODS * s->ensembles[0]->rows);
  hvi_status status = path && columns && scratch ? hvi_csv_open(&csv, path, columns, err)
                                                 : hvi_error_memory(err, "a scan");
  for (size_t i = 0; i < s->count && status == HVI_OK; i++) judge_game(s, &csv, i, scratch);
  if (status == HVI_OK) status = hvi_csv_close(&csv, err);
  hvi_free(path);
  hvi_free(columns);
  hvi_free(scratch);
  return status;
}

/* Whether the shipped game starts where the chosen instance does: the draw is the same. */
static bool is_shipped(const hvi_experiment *e, size_t instance) {
  hvi_problem *shipped = NULL, *drawn = NULL;
  bool same = instance && hvi_experiment_problem(&shipped, e, 0, NULL) == HVI_OK &&
              hvi_experiment_problem(&drawn, e, instance, NULL) == HVI_OK &&
              shipped->model->dim == drawn->model->dim &&
              hvi_vec_dist2(shipped->theta0, drawn->theta0, shipped->model->dim) == 0;
  hvi_problem_free(shipped);
  hvi_problem_free(drawn);
  return same;
}

/* The chosen game as a file: problems/rps.yaml is a copy of it. */
static hvi_status write_chosen(const scan *s, const hvi_run *run, hvi_error *err) {
  char comment[400];
  hvi_problem *game = NULL;
  if (!s->chosen) return HVI_OK;
  snprintf(comment, sizeof comment,
           "Hidden rock-paper-scissors: softmax(A2 CELU(A1 theta)) for each player.\n"
           "Random instance %zu of seed %llu: the first on which every statement of the paper's\n"
           "Section 4.1 holds with each comparison by a factor of %g; of %zu instances %zu do.\n"
           "Chosen and written by `hvi reproduce rps`, which reports the whole scan.",
           s->chosen, (unsigned long long)run->experiment->seed, choice_margin, s->count,
           s->all_with_margin);
  char *path = hvi_run_path(run, "chosen-game", ".yaml");
  hvi_status status = path ? hvi_experiment_problem(&game, run->experiment, s->chosen, err)
                           : hvi_error_memory(err, "a path");
  if (status == HVI_OK) status = hvi_game_write_yaml(path, game, comment, err);
  hvi_problem_free(game);
  hvi_free(path);
  return status;
}

/* The fixed game was chosen for these claims, so each shows how often it holds without a choice. */
static void add_shares(const scan *s, hvi_claims *claims) {
  for (size_t i = 0; i < claims->count; i++)
    for (size_t k = 0; k < HVI_RPS_CLAIMS; k++)
      if (strcmp(claims->items[i]->id, hvi_rps_claims[k].id) == 0)
        hvi_claim_measure(claims->items[i], "share of random games where it holds",
                          (double)s->holds[k] / (double)s->count);
}

static void report(const scan *s, hvi_run *run) {
  add_shares(s, run->claims);
  hvi_claim *c = hvi_claims_add(run->claims, "scan", "not in the paper",
                                "How often the statements above hold on random games, and which "
                                "game was chosen.");
  hvi_claim_measure(c, "games", (double)s->count);
  for (size_t k = 0; k < HVI_RPS_CLAIMS; k++)
    hvi_claim_measure(c, hvi_rps_claims[k].id, (double)s->holds[k]);
  hvi_claim_measure(c, "all at once", (double)s->all);
  hvi_claim_measure(c, "all at once, by a factor of 10", (double)s->all_with_margin);
  hvi_claim_measure(c, "first of these", s->chosen ? (double)s->chosen : NAN);
  hvi_claim_measure(c, "the shipped game is that one", is_shipped(run->experiment, s->chosen));
  hvi_claim_note(c,
                 "Counts of games. The shipped game, problems/rps.yaml, is the first of %zu random "
                 "games (seed %llu) on which all statements hold, each comparison by a factor of "
                 "10. scan.csv has every game; rps-random shows the averages.",
                 s->count, (unsigned long long)run->experiment->seed);
}

hvi_status hvi_rps_scan(hvi_run *run, hvi_error *err) {
  scan s = {0};
  hvi_status status = run_all(&s, run, err);
  if (status == HVI_OK && !run->stopped) status = judge_all(&s, run, err);
  if (status == HVI_OK && !run->stopped) status = write_chosen(&s, run, err);
  if (status == HVI_OK && !run->stopped) report(&s, run);
  for (size_t k = 0; k < HVI_RPS_METHODS; k++) hvi_ensemble_free(s.ensembles[k]);
  return status;
}
