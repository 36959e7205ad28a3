/*
 * hvi solve --trace: one row an outer iteration, each number with its cost beside it.
 *
 *   outer,inner,loss0,loss,ratio,dist2,residual,f_evals,model_passes,grad_evals,env_steps,seconds,
 *   alpha[,theta1 ..][,z1 ..][,exact_theta ..]
 *
 * theta is there while it is short, and z unless that makes a thousand columns. Where players have
 * names, they are theta_NAME_1, z_NAME_1, ... counted within the player.
 *
 * Policy evaluation is traced beside the exact update: gn with one inner step and eta 1, which is
 * LSPE along a trajectory, projected value iteration over all states. Its solver has the seed of the
 * one it is compared with, so it sees the same transitions, and is stepped as far as the row at hand.
 *
 *   exact_theta   |theta - theta_exact|
 *   exact_value   |Phi theta - Phi theta_exact|_Xi
 *
 * The rest is hvi_mdp_measures.
 */
#include "base/base.h"
#include "solve.h"

enum { COLUMNS = 6, FEW = 16, MOST_Z = 1000 };

static bool has_theta(const hvi_model *m) { return m->dim <= FEW; }

bool hvi_trace_has_z(const hvi_solve *s) {
  return s->setup.problem->model->out <= MOST_Z || s->trace_z;
}

static hvi_status open_exact(hvi_solve_trace *t, hvi_error *err) {
  const hvi_settings *o = &t->asked->setup.settings;
  hvi_settings s = hvi_method_settings("gn");
  s.rounding = false;
  s.eta = 1.0;
  s.seed = o->seed;
  s.redraw_every = o->redraw_every;
  s.theta0 = o->theta0;
  s.max_outer = SIZE_MAX;
  s.stall_window = 0;
  s.growth_bound = 0.0;
  t->mdp = hvi_mdp_of(t->asked->setup.problem);
  if (!t->mdp) return HVI_OK;
  HVI_TRY(hvi_new_arrays("the exact update", err, {&t->difference, hvi_mdp_features(t->mdp)},
                         {&t->values, hvi_mdp_states(t->mdp)}));
  return hvi_solver_new(&t->exact, t->asked->setup.problem, &s, err);
}

/* A column for every output (z) or parameter (theta), each after a comma. */
static void add_columns(hvi_text *header, const char *kind, const hvi_problem *p) {
  const bool z = strcmp(kind, "z") == 0;
  for (size_t k = 0, i = 1; k < p->model->block_count; k++) {
    const size_t count = z ? p->model->blocks[k].out : p->model->blocks[k].dim;
    for (size_t j = 1; j <= count; j++, i++)
      if (p->players)
        hvi_text_add(header, ",%s_%s_%zu", kind, p->players[k], j);
      else
        hvi_text_add(header, ",%s%zu", kind, i);
  }
}

hvi_status hvi_trace_open(hvi_solve_trace *t, const hvi_solve *asked, size_t step, hvi_error *err) {
  const hvi_problem *p = asked->setup.problem;
  HVI_OWN_BY(hvi_text_free) hvi_text header = {0};
  if (!asked->trace) return HVI_OK;
  t->asked = asked;
  HVI_TRY(open_exact(t, err));
  hvi_text_add(&header, HVI_TRACE_START "f_evals,model_passes,grad_evals,env_steps,seconds,alpha");
  if (has_theta(p->model)) add_columns(&header, "theta", p);
  if (hvi_trace_has_z(asked)) add_columns(&header, "z", p);
  if (t->mdp)
    hvi_text_add(&header,
                 ",exact_theta,exact_value,to_fixed_point,to_true_values,mspbe,bellman_gap");
  if (header.failed) return hvi_error_memory(err, "a trace");
  return hvi_log_open(&t->log, asked->trace, header.data, step, err);
}

static void compare(hvi_solve_trace *t, const hvi_record *row, double values[COLUMNS]) {
  const size_t d = hvi_mdp_features(t->mdp), n = hvi_mdp_states(t->mdp);
  hvi_mdp_measures m;
  double theta2 = 0.0, value2 = 0.0;
  while (hvi_solver_info(t->exact).last.outer < row->outer)
    if (hvi_solver_step(t->exact) != HVI_RUNNING) break;
  const hvi_record exact = hvi_solver_info(t->exact).last;
  /* row 0 is the start, which both share */
  for (size_t i = 0; row->outer > 0 && i < d; i++) {
    t->difference[i] = row->theta[i] - exact.theta[i];
    theta2 += t->difference[i] * t->difference[i];
  }
  hvi_mdp_values(t->mdp, t->difference, t->values);
  for (size_t s = 0; s < n; s++) value2 += hvi_mdp_law(t->mdp)[s] * t->values[s] * t->values[s];
  if (hvi_mdp_measure(&m, t->mdp, row->theta, NULL) != HVI_OK)
    m = (hvi_mdp_measures){NAN, NAN, NAN, NAN};
  const double all[COLUMNS] = {sqrt(theta2),     sqrt(value2), m.to_fixed_point,
                               m.to_true_values, m.mspbe,      m.bellman_gap};
  memcpy(values, all, sizeof all);
}

void hvi_trace_row(hvi_solve_trace *t, const hvi_record *r) {
  double exact[COLUMNS];
  if (!t->asked) return;
  const hvi_model *m = t->asked->setup.problem->model;
  if (t->mdp) compare(t, r, exact);
  hvi_log_put(&t->log, HVI_RECORD_VALUES(r),
              hvi_value_numbers("theta", r->theta, has_theta(m) ? m->dim : 0),
              hvi_value_numbers("z", r->z, hvi_trace_has_z(t->asked) ? m->out : 0),
              hvi_value_numbers("exact", exact, t->mdp ? COLUMNS : 0));
}

void hvi_trace_free(hvi_solve_trace *t) {
  hvi_log_close(&t->log, NULL);
  hvi_solver_free(t->exact);
  hvi_free(t->difference);
}
