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
#include "io/npy.h"
#include "solve.h"

static const char KIND[] = "checkpoint of a solve", LOG_MARK[] = "\"loss0\": ";

/* Only a checkpoint of a solve is ever replaced, also by force. One that is resumed is judged by its
 * reader. */
static int check_checkpoint(const char *path, bool resume) {
  if (!path) return HVI_EXIT_DONE;
  HVI_CALL(hvi_file_plain(path, &hvi_fault));
  HVI_CALL(hvi_file_ours(path, NULL, &hvi_fault));
  if (resume) return HVI_EXIT_DONE;
  HVI_CALL(hvi_kept_check(path, &hvi_fault));
  const hvi_status status = hvi_file_ours(path, KIND, &hvi_fault);
  if (!status) return HVI_EXIT_DONE;
  if (status == HVI_ERROR_MEMORY) return hvi_complain_fault();
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
  if (!s->checkpoint && hvi_args_given(s->args, "checkpoint-every"))
    return hvi_misuse("--checkpoint-every goes with --checkpoint");
  if (s->trace_z && !s->trace) return hvi_misuse("--trace-z goes with --trace");
  HVI_STEP(hvi_output_check(s->trace, HVI_TRACE_START));
  HVI_STEP(hvi_output_check(s->log, LOG_MARK));
  HVI_STEP(hvi_output_check(s->save, HVI_NPY_THETA));
  HVI_STEP(check_checkpoint(s->checkpoint, s->resume));
  return hvi_picture_check(s->plot);
}

/* What the problem is, in a number: start, outputs and F there, and the solution. Six digits of what
 * is computed are the same on any level of instructions. */
hvi_status hvi_solve_fingerprint(uint64_t *hash, const hvi_setup *s, hvi_error *err) {
  const hvi_problem *p = s->problem;
  const hvi_model *m = p->model;
  const double *theta0 = s->theta0 ? s->theta0 : p->theta0;
  HVI_OWN double *z = NULL;
  double *f, *cache;
  HVI_TRY(hvi_new_arrays("a checkpoint", err, {&z, m->out}, {&f, m->out}, {&cache, m->cache}));
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
  HVI_TRY(hvi_solve_fingerprint(&hash, s, err));
  hvi_text_add(&t, "problem %s; seed %llu; instance %llu",
               hvi_builtin_find(s->name) ? s->name : "from a file", (unsigned long long)s->seed,
               (unsigned long long)s->instance);
  for (size_t i = 0; i < s->set.count; i++) hvi_text_add(&t, "; %s", s->set.items[i]);
  hvi_text_add(&t, "; problem of contents %016llx; method %s; optimizer %s",
               (unsigned long long)hash, s->method, o->baseline ? "none" : o->optimizer->name);
  hvi_text_settings(&t, hvi_settings_table(), o, hvi_method_family(o));
  f->about = hvi_text_take(&t);
  f->head =
      (hvi_kept){.kind = KIND, .about = f->about, .accept_other_bits = f->asked->accept_other_bits};
  return f->about ? HVI_OK : hvi_error_memory(err, "a checkpoint");
}

static hvi_status write_checkpoint(hvi_solve_files *f, hvi_error *err) {
  hvi_tensor state = {"solver", HVI_TENSOR_F64, 1, {hvi_solver_state(f->solver)}, f->state};
  const hvi_tensors t = {.count = 1, .items = &state};
  f->written = hvi_clock_now();
  HVI_TRY(hvi_log_flush(&f->trace.log, err));
  HVI_TRY(hvi_log_flush(&f->log, err));
  HVI_TRY(hvi_log_flush(&f->picture.rows, err));
  return hvi_kept_write(&f->head, f->asked->checkpoint, &t, err);
}

static hvi_status restore(hvi_solve_files *f, hvi_error *err) {
  HVI_OWN_BY(hvi_tensors_release) hvi_tensors *t = NULL;
  HVI_TRY(hvi_kept_read(&t, &f->head, f->asked->checkpoint, err));
  const hvi_tensor *state = hvi_tensors_find(t, "solver");
  if (!state || state->type != HVI_TENSOR_F64 ||
      hvi_tensor_count(state) != hvi_solver_state(f->solver))
    return hvi_error_input(err, "'%s' is no checkpoint of this problem", f->asked->checkpoint);
  HVI_TRY(
      hvi_kept_blame(f->asked->checkpoint, hvi_solver_restore(f->solver, state->data, err), err));
  const hvi_record at = hvi_solver_info(f->solver).last;
  if (at.counts.f_evals > 0) f->resumed = at.outer; /* otherwise it ended where it began */
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
static void remark(const hvi_solve_files *f, const hvi_log *log) {
  if (log->file.stream && log->last != f->resumed)
    hvi_say("          '%s' lacks rows before outer step %zu\n", log->file.path, f->resumed + 1);
}

int hvi_solve_files_open(hvi_solve_files *f, const hvi_solve *s, hvi_solver *solver) {
  *f = (hvi_solve_files){.asked = s, .solver = solver, .resumed = HVI_LOG_NEW};
  HVI_STEP(open_checkpoint(f));
  HVI_CALL(hvi_trace_open(&f->trace, s, f->resumed, &hvi_fault));
  HVI_CALL(hvi_log_open(&f->log, s->log, NULL, f->resumed, &hvi_fault));
  HVI_CALL(hvi_picture_open(&f->picture, s, f->resumed, &hvi_fault));
  return HVI_EXIT_DONE;
}

void hvi_solve_files_tell(const hvi_solve_files *f) {
  const hvi_solve *s = f->asked;
  const hvi_record at = hvi_solver_info(f->solver).last;
  if (s->trace && !hvi_trace_has_z(s))
    hvi_say("trace     without z: %zu columns; --trace-z has them\n", s->setup.problem->model->out);
  if (f->resumed == HVI_LOG_NEW) return;
  hvi_say("resumed   at outer step %zu, after %.3g s\n", at.outer, at.seconds);
  remark(f, &f->trace.log);
  remark(f, &f->log);
}

hvi_status hvi_solve_files_keep(hvi_solve_files *f, hvi_error *err) {
  if (!f->state) return HVI_OK;
  hvi_solver_save(f->solver, f->state);
  if (hvi_clock_now() - f->written < f->asked->checkpoint_every) return HVI_OK;
  const hvi_status status = write_checkpoint(f, err);
  if (status) f->written = INFINITY; /* told once; the end tries again */
  return status;
}

void hvi_solve_files_row(hvi_solve_files *f, const hvi_record *r) {
  const hvi_info now = hvi_solver_info(f->solver);
  hvi_trace_row(&f->trace, r);
  hvi_log_put(&f->log, HVI_RECORD_VALUES(r), V("eta", now.eta), V("restarts", now.restarts),
              V("status", hvi_outcome_name(now.outcome)));
  hvi_picture_row(&f->picture, r, now.outcome != HVI_RUNNING);
}

int hvi_solve_files_close(hvi_solve_files *f, const hvi_info *info, int code) {
  const hvi_solve *s = f->asked;
  hvi_log *const logs[] = {&f->trace.log, &f->log, &f->picture.rows};
  bool whole = true; /* a checkpoint beyond rows that are lost would keep the gap */
  if (f->state && info->outcome == HVI_STOPPED) hvi_solver_save(f->solver, f->state);
  for (size_t i = 0; i < 3; i++)
    if (hvi_log_close(logs[i], &hvi_fault)) {
      code = hvi_complain_fault();
      whole = false;
    }
  if (f->state && whole && write_checkpoint(f, &hvi_fault)) code = hvi_complain_fault();
  if (s->save && hvi_npy_write(s->save, info->last.theta, 1, &s->setup.problem->model->dim,
                               HVI_NPY_THETA, &hvi_fault))
    code = hvi_complain_fault();
  if (hvi_picture_draw(&f->picture, info, &hvi_fault)) code = hvi_complain_fault();
  return code;
}

void hvi_solve_files_free(hvi_solve_files *f) {
  hvi_trace_free(&f->trace);
  hvi_log_close(&f->log, NULL);
  hvi_picture_free(&f->picture);
  hvi_free(f->about);
  hvi_free(f->state);
  hvi_lock_release(&f->lock);
}
