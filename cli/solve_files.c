/*
 * The files of a solve that is under way: trace, log, picture, theta, and the checkpoint from which
 * --resume goes on to the same bits.
 *
 * A checkpoint is the solver's state before a step. It is written every so many seconds, and at the
 * end: after a signal as of then, otherwise as of before the last step. So a run that is resumed
 * after its end takes that step again and ends as it did, or goes on when its limits are wider.
 * Trace and log are on the disk before it, and a resumed run cuts them off after its step.
 */
#include "base/base.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/number.h"
#include "io/npy.h"
#include "solve.h"

#include <unistd.h>

enum { COLUMNS = 6, FEW = 16, MOST_Z = 1000 };
static const char KIND[] = "checkpoint of a solve", LOG_MARK[] = "\"loss0\": ";

/*
 * Policy evaluation is traced beside the exact update: gn with one inner step and eta 1, which is
 * LSPE along a trajectory, projected value iteration over all states. Its solver has the seed of the
 * one it is compared with, so it sees the same transitions, and is stepped as far as the row at hand.
 *
 *   exact_theta   |theta - theta_exact|
 *   exact_value   |Phi theta - Phi theta_exact|_Xi
 *
 * The rest is hvi_mdp_measures.
 */
static const char *const column_names[COLUMNS] = {"exact_theta",    "exact_value", "to_fixed_point",
                                                  "to_true_values", "mspbe",       "bellman_gap"};

static hvi_status open_exact(hvi_solve_files *f, hvi_error *err) {
  const hvi_settings *o = &f->asked->setup.settings;
  hvi_settings s = hvi_method_settings("gn");
  s.rounding = false;
  s.eta = 1.0;
  s.seed = o->seed;
  s.redraw_every = o->redraw_every;
  s.theta0 = o->theta0;
  s.max_outer = SIZE_MAX;
  s.stall_window = 0;
  s.growth_bound = 0.0;
  f->mdp = hvi_mdp_of(f->asked->setup.problem);
  if (!f->mdp) return HVI_OK;
  f->difference = hvi_alloc_doubles(hvi_mdp_features(f->mdp));
  f->values = hvi_alloc_doubles(hvi_mdp_states(f->mdp));
  if (!f->difference || !f->values) return hvi_error_memory(err, "the exact update");
  return hvi_solver_new(&f->exact, f->asked->setup.problem, &s, err);
}

static void fill(void *context, const hvi_record *row, double *values) {
  hvi_solve_files *f = context;
  const size_t d = hvi_mdp_features(f->mdp), n = hvi_mdp_states(f->mdp);
  hvi_mdp_measures m;
  double theta2 = 0.0, value2 = 0.0;
  while (hvi_solver_info(f->exact).last.outer < row->outer)
    if (hvi_solver_step(f->exact) != HVI_RUNNING) break;
  const hvi_record exact = hvi_solver_info(f->exact).last;
  /* row 0 is the start, which both share */
  for (size_t i = 0; row->outer > 0 && i < d; i++) {
    f->difference[i] = row->theta[i] - exact.theta[i];
    theta2 += f->difference[i] * f->difference[i];
  }
  hvi_mdp_values(f->mdp, f->difference, f->values);
  for (size_t s = 0; s < n; s++) value2 += hvi_mdp_law(f->mdp)[s] * f->values[s] * f->values[s];
  if (hvi_mdp_measure(&m, f->mdp, row->theta, NULL) != HVI_OK)
    m = (hvi_mdp_measures){NAN, NAN, NAN, NAN};
  const double all[COLUMNS] = {sqrt(theta2),     sqrt(value2), m.to_fixed_point,
                               m.to_true_values, m.mspbe,      m.bellman_gap};
  memcpy(values, all, sizeof all);
}

static bool has_z(const hvi_solve *s) {
  return s->setup.problem->model->out <= MOST_Z || s->trace_z;
}

/* A trace has theta too while it is short, and z unless that makes a thousand columns. */
static hvi_status open_trace(hvi_solve_files *f, hvi_error *err) {
  const hvi_model *m = f->asked->setup.problem->model;
  if (!f->asked->trace) return HVI_OK;
  HVI_TRY(open_exact(f, err));
  const hvi_trace_settings columns = {.theta = m->dim <= FEW,
                                      .z = has_z(f->asked),
                                      .problem = f->asked->setup.problem,
                                      .resumed = f->resumed != HVI_LOG_NEW,
                                      .step = f->resumed,
                                      .extra = f->mdp ? COLUMNS : 0,
                                      .extra_names = column_names,
                                      .fill = fill,
                                      .fill_context = f};
  return hvi_trace_open(&f->trace, f->asked->trace, &columns, err);
}

/* Only a checkpoint of a solve is ever replaced, also by force. */
static int check_checkpoint(const char *path) {
  if (!path) return HVI_EXIT_DONE;
  HVI_CALL(hvi_kept_check(path, &hvi_fault));
  HVI_CALL(hvi_file_ours(path, NULL, &hvi_fault));
  if (!hvi_file_ours(path, KIND, NULL)) return HVI_EXIT_DONE;
  return hvi_complain(HVI_EXIT_SYSTEM, "'%s' is there and is no %s: it is not replaced", path,
                      KIND);
}

int hvi_solve_files_check(const hvi_solve *s) {
  const char *const names[] = {"trace", "log", "plot", "save", "checkpoint"};
  const char *const paths[] = {s->trace, s->log, s->plot, s->save, s->checkpoint};
  for (size_t i = 0; i < 5; i++)
    for (size_t j = i + 1; j < 5; j++)
      if (paths[i] && paths[j] && strcmp(paths[i], paths[j]) == 0)
        return hvi_misuse("--%s and --%s name the same file '%s'", names[i], names[j], paths[i]);
  if (!s->checkpoint && (s->resume || s->fresh || s->accept_other_bits))
    return hvi_misuse("--%s goes with --checkpoint", s->resume  ? "resume"
                                                     : s->fresh ? "fresh"
                                                                : "accept-other-bits");
  if (s->resume && s->fresh) return hvi_misuse("--resume and --fresh exclude each other");
  if (s->trace_z && !s->trace) return hvi_misuse("--trace-z goes with --trace");
  HVI_STEP(hvi_output_check(s->trace, HVI_TRACE_START));
  HVI_STEP(hvi_output_check(s->log, LOG_MARK));
  HVI_STEP(hvi_output_check(s->save, HVI_NPY_THETA));
  HVI_STEP(check_checkpoint(s->checkpoint));
  return s->plot ? hvi_history_check(s->plot) : HVI_EXIT_DONE;
}

/* What the problem is, in a number: start, outputs and F there, and the solution. Six digits of what
 * is computed are the same on any level of instructions. */
static hvi_status fingerprint(uint64_t *hash, const hvi_setup *s, hvi_error *err) {
  const hvi_problem *p = s->problem;
  const hvi_model *m = p->model;
  const double *theta0 = s->theta0 ? s->theta0 : p->theta0;
  HVI_OWN double *z = NULL;
  double *f, *cache;
  if (!hvi_alloc_arrays({&z, m->out}, {&f, m->out}, {&cache, m->cache}))
    return hvi_error_memory(err, "a checkpoint");
  m->ops->eval(m, cache, theta0, z);
  p->ops->operate(p, NULL, theta0, z, f);
  *hash = hvi_hash_bytes(HVI_HASH_START, theta0, m->dim * sizeof *theta0);
  if (p->solution) *hash = hvi_hash_bytes(*hash, p->solution, m->out * sizeof *p->solution);
  for (size_t i = 0; i < 2 * m->out; i++) {
    char text[HVI_NUMBER_SIZE];
    hvi_number_short(text, i < m->out ? z[i] : f[i - m->out], 6);
    *hash = hvi_hash_bytes(*hash, text, strlen(text));
  }
  return HVI_OK;
}

/* Everything that the bits of the solve depend on. */
static hvi_status describe(hvi_solve_files *f, hvi_error *err) {
  const hvi_setup *s = &f->asked->setup;
  const hvi_settings *o = hvi_solver_settings(f->solver);
  HVI_OWN_BY(hvi_text_free) hvi_text t = {0};
  uint64_t hash = 0;
  HVI_TRY(fingerprint(&hash, s, err));
  hvi_text_add(&t, "problem %s; seed %llu; instance %llu",
               hvi_builtin_find(s->name) ? s->name : "from a file", (unsigned long long)s->seed,
               (unsigned long long)s->instance);
  for (size_t i = 0; i < s->set.count; i++) hvi_text_add(&t, "; %s", s->set.items[i]);
  hvi_text_add(&t, "; problem of contents %016llx; method %s; optimizer %s",
               (unsigned long long)hash, s->method, o->baseline ? "none" : o->optimizer->name);
  if (s->player_eta) hvi_text_add(&t, "; player_eta %s", s->player_eta_text);
  hvi_text_settings(&t, hvi_settings_table(), o, hvi_method_family(o));
  f->about = hvi_text_take(&t);
  f->head =
      (hvi_kept){.kind = KIND, .about = f->about, .accept_other_bits = f->asked->accept_other_bits};
  return f->about ? HVI_OK : hvi_error_memory(err, "a checkpoint");
}

static hvi_status write_checkpoint(hvi_solve_files *f, hvi_error *err) {
  const hvi_history *h = &f->history;
  const size_t size = hvi_solver_state(f->solver);
  hvi_tensor items[] = {{"solver", HVI_TENSOR_F64, 1, {size}, f->state},
                        {"first_residual", HVI_TENSOR_F64, 1, {1}, &f->first_residual},
                        {"picture", HVI_TENSOR_F64, 2, {h->rows, h->columns}, h->data}};
  const hvi_tensors t = {.count = h->rows > 0 ? 3 : 2, .items = items};
  f->written = hvi_clock_now();
  HVI_TRY(f->trace ? hvi_trace_flush(f->trace, err) : HVI_OK);
  HVI_TRY(hvi_log_flush(&f->log, err));
  return hvi_kept_write(&f->head, f->asked->checkpoint, &t, err);
}

static hvi_status restore(hvi_solve_files *f, hvi_error *err) {
  HVI_OWN_BY(hvi_tensors_release) hvi_tensors *t = NULL;
  HVI_TRY(hvi_kept_read(&t, &f->head, f->asked->checkpoint, err));
  const hvi_tensor *state = hvi_tensors_find(t, "solver"),
                   *first = hvi_tensors_find(t, "first_residual");
  if (!state || state->type != HVI_TENSOR_F64 || !first || first->type != HVI_TENSOR_F64 ||
      hvi_tensor_count(state) != hvi_solver_state(f->solver) || hvi_tensor_count(first) != 1)
    return hvi_error_input(err, "'%s' is no checkpoint of this problem", f->asked->checkpoint);
  HVI_TRY(hvi_solver_restore(f->solver, state->data, err));
  f->first_residual = *(const double *)first->data;
  const hvi_record at = hvi_solver_info(f->solver).last;
  if (at.counts.f_evals == 0) return HVI_OK; /* of a run that ended where it began */
  f->resumed = at.outer;
  hvi_history_restore(&f->history, hvi_tensors_find(t, "picture"), at.outer);
  return HVI_OK;
}

/* The lock on the checkpoint, and what there is to go on from. */
static int open_checkpoint(hvi_solve_files *f) {
  const char *path = f->asked->checkpoint;
  if (!path) return HVI_EXIT_DONE;
  HVI_CALL(hvi_lock_take(&f->lock, path, &hvi_fault));
  const bool there = access(path, F_OK) == 0;
  if (there && !f->asked->resume && !f->asked->fresh)
    return hvi_misuse("'%s' is there: --resume goes on from it, --fresh begins anew", path);
  f->state = hvi_alloc_doubles(hvi_solver_state(f->solver));
  if (!f->state) return hvi_complain(HVI_EXIT_SYSTEM, "out of memory for a checkpoint");
  HVI_CALL(describe(f, &hvi_fault));
  if (there && f->asked->resume) HVI_CALL(restore(f, &hvi_fault));
  f->written = hvi_clock_now();
  return HVI_EXIT_DONE;
}

/* A file that a resumed run adds to begins where the run went on when it was not there before. */
static void remark(const hvi_solve_files *f, const char *path, size_t last) {
  if (last != f->resumed)
    hvi_say("          '%s' lacks rows before outer step %zu\n", path, f->resumed + 1);
}

int hvi_solve_files_open(hvi_solve_files *f, const hvi_solve *s, hvi_solver *solver) {
  *f = (hvi_solve_files){
      .asked = s, .solver = solver, .first_residual = NAN, .resumed = HVI_LOG_NEW};
  HVI_CALL(hvi_history_open(&f->history, s, &hvi_fault));
  HVI_STEP(open_checkpoint(f));
  HVI_CALL(open_trace(f, &hvi_fault));
  HVI_CALL(hvi_log_open(&f->log, s->log, f->resumed, &hvi_fault));
  return HVI_EXIT_DONE;
}

void hvi_solve_files_tell(const hvi_solve_files *f) {
  const hvi_solve *s = f->asked;
  const hvi_record at = hvi_solver_info(f->solver).last;
  if (f->trace && !has_z(s))
    hvi_say("trace     without z: %zu columns; --trace-z has them\n", s->setup.problem->model->out);
  if (f->resumed == HVI_LOG_NEW) return;
  hvi_say("resumed   at outer step %zu, after %.3g s\n", at.outer, at.seconds);
  if (f->trace) remark(f, s->trace, hvi_trace_last(f->trace));
  if (s->log) remark(f, s->log, f->log.last);
}

hvi_status hvi_solve_files_keep(hvi_solve_files *f, hvi_error *err) {
  if (!f->state) return HVI_OK;
  hvi_solver_save(f->solver, f->state);
  const bool due = hvi_clock_now() - f->written >= f->asked->checkpoint_every;
  return due ? write_checkpoint(f, err) : HVI_OK;
}

void hvi_solve_files_row(hvi_solve_files *f, const hvi_record *r) {
  const hvi_counts *c = &r->counts;
  const hvi_info now = hvi_solver_info(f->solver);
  if (r->outer == 0) f->first_residual = r->residual;
  if (f->trace) hvi_trace_observe(f->trace, r);
  hvi_log_put(&f->log, V("outer", r->outer), V("inner", r->inner), V("loss0", r->loss0),
              V("loss", r->loss), V("ratio", r->ratio), V("alpha", r->alpha), V("dist2", r->dist2),
              V("residual", r->residual), V("eta", now.eta), V("restarts", now.restarts),
              V("f_evals", c->f_evals), V("model_passes", c->model_passes),
              V("grad_evals", c->grad_evals), V("env_steps", c->env_steps),
              V("seconds", r->seconds), V("status", hvi_outcome_name(now.outcome)));
  hvi_history_add(&f->history, r, now.outcome != HVI_RUNNING);
}

int hvi_solve_files_close(hvi_solve_files *f, const hvi_info *info, int code) {
  const hvi_setup *s = &f->asked->setup;
  hvi_trace *trace = f->trace;
  f->trace = NULL;
  if (f->state && info->outcome == HVI_STOPPED) hvi_solver_save(f->solver, f->state);
  if (trace && hvi_trace_close(trace, &hvi_fault)) code = hvi_complain_fault();
  if (hvi_log_close(&f->log, &hvi_fault)) code = hvi_complain_fault();
  if (f->state && write_checkpoint(f, &hvi_fault)) code = hvi_complain_fault();
  if (f->asked->save && hvi_npy_write(f->asked->save, info->last.theta, 1, &s->problem->model->dim,
                                      HVI_NPY_THETA, &hvi_fault))
    code = hvi_complain_fault();
  hvi_history_add(&f->history, &info->last, true);
  const char *title = hvi_format("%s, %s: %s after %zu outer steps", s->name, s->method,
                                 hvi_outcome_name(info->outcome), info->last.outer);
  if (hvi_history_draw(&f->history, title, &hvi_fault)) code = hvi_complain_fault();
  return code;
}

void hvi_solve_files_free(hvi_solve_files *f) {
  hvi_trace_discard(f->trace);
  hvi_log_close(&f->log, NULL);
  hvi_history_free(&f->history);
  hvi_solver_free(f->exact);
  hvi_free(f->difference);
  hvi_free(f->values);
  hvi_free(f->about);
  hvi_free(f->state);
  hvi_lock_release(&f->lock);
}
