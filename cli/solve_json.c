/* The result of a solve as one JSON object; the manual page describes its members. */
#include "json.h"
#include "solve.h"

static void counts_json(hvi_json *j, const hvi_counts *c) {
  hvi_json_open(j, "counts", '{');
  hvi_json_count(j, "f_evals", c->f_evals);
  hvi_json_count(j, "model_passes", c->model_passes);
  hvi_json_count(j, "grad_evals", c->grad_evals);
  hvi_json_count(j, "env_steps", c->env_steps);
  hvi_json_close(j, '}');
}

static void best_json(hvi_json *j, const hvi_info *i, const hvi_model *m) {
  hvi_json_open(j, "best", '{');
  hvi_json_count(j, "outer", i->best_outer);
  hvi_json_number(j, "residual", i->best_residual);
  hvi_json_number(j, "dist2", i->best_dist2);
  hvi_json_numbers(j, "theta", i->best_theta, m->dim);
  hvi_json_numbers(j, "z", i->best_z, m->out);
  hvi_json_close(j, '}');
}

static void dimensions_json(hvi_json *j, const hvi_model *m) {
  hvi_json_open(j, "dimensions", '{');
  hvi_json_count(j, "parameters", m->dim);
  hvi_json_count(j, "outputs", m->out);
  hvi_json_count(j, "players", m->block_count);
  hvi_json_close(j, '}');
}

void hvi_solve_json(const hvi_solve *s, const hvi_solved *r) {
  const hvi_model *m = s->setup.problem->model;
  char advice[1024];
  hvi_json j = {0};
  hvi_solve_advice(s, r, advice, sizeof advice);
  hvi_json_open(&j, NULL, '{');
  hvi_json_count(&j, "schema_version", 1);
  hvi_json_text(&j, "problem", s->setup.name);
  dimensions_json(&j, m);
  hvi_json_text(&j, "method", s->setup.method);
  hvi_json_text(&j, "status", hvi_outcome_name(r->info.outcome));
  hvi_json_text(&j, "reason", r->info.reason);
  hvi_json_text(&j, "advice", *advice ? advice : NULL);
  hvi_json_count(&j, "outer", r->info.last.outer);
  hvi_json_count(&j, "inner", r->info.inner_total);
  hvi_json_number(&j, "dist2", r->judge.dist2);
  hvi_json_number(&j, "residual", r->judge.residual);
  hvi_json_number(&j, "gap", r->judge.gap);
  hvi_json_number(&j, "alpha_worst", r->info.alpha_worst);
  hvi_json_numbers(&j, "theta", r->info.last.theta, m->dim);
  hvi_json_numbers(&j, "z", r->info.last.z, m->out);
  best_json(&j, &r->info, m);
  hvi_json_open(&j, "settings", '{');
  hvi_setup_json(&j, &s->setup, r->info.eta);
  hvi_json_close(&j, '}');
  counts_json(&j, &r->info.last.counts);
  hvi_json_number(&j, "seconds", r->info.last.seconds);
  hvi_json_close(&j, '}');
}
