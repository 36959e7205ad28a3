/*
 * A solver's memory: made in one allocation, saved as a row of doubles, and restored.
 *
 * Saved is everything between two outer steps that the next one depends on. Outputs and F are not in
 * it; they are worked out again from theta, to the same bits. So is the sample of a problem that can
 * seek, from the generator's state before the last draw. Other samples are saved.
 */
#include "base/base.h"
#include "inner/optimizers.h"
#include "model/mlp.h"
#include "num/vec.h"
#include "outer/solver.h"
#include "vi/sets.h"

static const hvi_model *part_model(const hvi_solver *s, size_t k) {
  const hvi_model *m = s->problem->model;
  return s->part_count == 1 ? m : m->ops->player(m, k);
}

/* How many earlier iterates are looked back at, by targets, and room for them. */
static void place_past(hvi_solver *s, hvi_arena *arena) {
  const hvi_settings *set = &s->settings;
  const hvi_model *m = s->problem->model;
  hvi_past *past = &s->past;
  past->depth = set->target == HVI_TARGET_OPTIMISTIC ? 1
                : set->target == HVI_TARGET_AVERAGED ? set->average
                                                     : 0;
  if (past->depth == 0) return;
  past->z = hvi_arena_take(arena, past->depth * m->out);
  past->f = hvi_arena_take(arena, past->depth * m->out);
  if (s->problem->ops->draw) past->theta = hvi_arena_take(arena, past->depth * m->dim);
}

/* The arrays that are saved: what the next step depends on. */
static void place_saved(hvi_solver *s, hvi_arena *arena) {
  const hvi_settings *set = &s->settings;
  const size_t n = s->problem->model->out, d = s->problem->model->dim;
  s->info.best_theta = s->best_theta = hvi_arena_take(arena, d);
  s->info.best_z = s->best_z = hvi_arena_take(arena, n);
  s->z_last = hvi_arena_take(arena, n);
  place_past(s, arena);
  const bool adam = set->baseline == HVI_BASELINE_ADAM_GDA,
             rule = set->baseline == HVI_BASELINE_RULE;
  const size_t size = rule ? set->rule->state(s->problem) : adam ? 2 + 2 * d : d;
  for (size_t k = 0; k < s->part_count; k++) {
    const hvi_optimizer *o = set->optimizer;
    s->parts[k].state =
        hvi_arena_take(arena, o->state ? o->state(&set->inner, part_model(s, k)) : 0);
    if (set->floor == HVI_FLOOR_RUNNING) s->parts[k].least = hvi_arena_take(arena, 1);
  }
  const size_t kept = rule && set->rule->kept ? set->rule->kept(s->problem) : hvi_arena_need(size);
  s->saved = arena->used + (set->baseline ? kept : 0);
  if (set->baseline) s->baseline = hvi_arena_take(arena, size);
}

static void place_accelerator(hvi_solver *s, hvi_arena *arena) {
  const size_t n = s->problem->model->out;
  hvi_accelerator *a = &s->accelerator;
  double **const arrays[] = {&a->z, &a->f, &a->mode, &a->mode_f, &a->mode_test};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) *arrays[i] = hvi_arena_take(arena, n);
  a->filter.variance = INFINITY;
  if (s->settings.accelerate == HVI_ACCELERATE_LSTD) hvi_modes_place(s, arena);
}

static void place_part(hvi_solver *s, size_t k, hvi_arena *arena) {
  const hvi_settings *set = &s->settings;
  const hvi_model *whole = s->problem->model, *m = part_model(s, k);
  hvi_subproblem *part = &s->parts[k];
  part->block =
      s->part_count > 1 ? whole->blocks[k] : (hvi_block){.dim = whole->dim, .out = whole->out};
  const double *weights = s->problem->weights ? s->problem->weights + part->block.z : NULL;
  hvi_surrogate_place(&part->l, m, weights, &s->row.counts, arena);
  if (set->floor < HVI_FLOOR_ESTIMATED) return;
  const hvi_optimizer *o = hvi_floor_optimizer(set);
  hvi_surrogate_place(&part->floor, m, weights, &s->row.counts, arena);
  part->floor_state = hvi_arena_take(arena, o->state ? o->state(&set->inner, m) : 0);
}

/* Every array of the solver, from an arena that counts or from one that gives. */
static void place(hvi_solver *s, hvi_arena *arena) {
  const hvi_model *m = s->problem->model;
  const size_t n = m->out, d = m->dim;
  place_saved(s, arena);
  s->f = hvi_arena_take(arena, n);
  s->all_z = hvi_arena_take(arena, n);
  s->projected = hvi_arena_take(arena, n);
  s->all_theta = hvi_arena_take(arena, d);
  if (s->past.depth > 0 && s->problem->ops->draw) s->past.cache = hvi_arena_take(arena, m->cache);
  if (s->settings.accelerate) place_accelerator(s, arena);
  if (s->settings.target == HVI_TARGET_PROXIMAL && hvi_resolvent_fits(s->problem))
    hvi_resolvent_place(&s->resolvent, s->problem, arena);
  if (s->problem->ops->resample) s->anchor = hvi_arena_take(arena, d);
  for (size_t k = 0; k < s->part_count; k++) place_part(s, k, arena);
}

/* The step rule's eta, or the settings'. */
static hvi_status resolve_step(hvi_solver *s, hvi_error *err) {
  const hvi_settings *set = &s->settings;
  double eta = set->eta;
  if (set->step_rule == HVI_STEP_ADAPTIVE) {
    eta = s->adaptation.eta = hvi_solver_first_eta(s);
    s->adaptation.best = INFINITY;
  } else if (set->step_rule != HVI_STEP_FIXED) {
    hvi_constants c;
    HVI_TRY(hvi_problem_constants(&c, s->problem, err));
    if (!(c.mu > 0.0))
      return hvi_error_unsupported(
          err,
          "%s is not strongly monotone (mu = %.4g): no step rule applies, give "
          "eta",
          s->problem->ops->name, c.mu);
    const double best = c.mu / (c.lipschitz * c.lipschitz);
    eta = set->step_rule == HVI_STEP_BEST ? best : 0.4 * best;
  }
  s->info.eta = eta;
  return HVI_OK;
}

/* Evaluates the model where the parts stand; a model of samples does so at the first draw. */
void hvi_solver_stand(hvi_solver *s) {
  for (size_t k = 0; k < s->part_count; k++) {
    hvi_surrogate *l = &s->parts[k].l;
    const bool drawn = !s->sample || !l->model->ops->bind || s->row.counts.f_evals > 0;
    if (drawn) hvi_surrogate_start(l, NULL, s->sample);
    hvi_solver_gather(s, &s->parts[k]);
  }
}

static hvi_status take_memory(hvi_solver *s, hvi_error *err) {
  const hvi_problem *p = s->problem;
  const bool in_turn = s->settings.alternating && !s->settings.baseline;
  s->part_count = in_turn ? p->model->block_count : 1;
  HVI_TRY(hvi_new(&s->parts, s->part_count, "the solver", err));
  hvi_arena arena = {0};
  place(s, &arena);
  arena = (hvi_arena){.size = arena.used};
  arena.base = s->memory = hvi_alloc_doubles(arena.size);
  if (!s->memory) return hvi_error_memory(err, "the solver's workspace");
  place(s, &arena);
  s->sample = p->ops->draw ? hvi_alloc(1, p->sample_bytes) : NULL;
  return p->ops->draw && !s->sample ? hvi_error_memory(err, "a sample") : HVI_OK;
}

hvi_solver *hvi_solver_open(const hvi_settings *settings) {
  hvi_solver *s = hvi_alloc(1, sizeof *s);
  if (!s) return NULL;
  s->settings = *settings;
  if (s->settings.redraw_every == 0) s->settings.redraw_every = 1;
  return s;
}

hvi_status hvi_solver_fill(hvi_solver *s, const hvi_problem *p, hvi_error *err) {
  const hvi_settings *set = &s->settings;
  HVI_TRY(hvi_problem_structure(p, err));
  HVI_TRY(hvi_setting_check(hvi_settings_table(), set, err)); /* before anything is made of them */
  hvi_settings_choose(&s->settings, p);
  HVI_TRY(hvi_settings_check(set, p, err));
  s->problem = p;
  s->shrink = 1.0;
  s->inner = set->inner;
  s->info.reason = "not started";
  s->rng = hvi_rng_new(set->seed, "solver", 0);
  s->info.best_residual = s->info.best_dist2 = NAN;
  s->alpha2 = s->alpha2_worst = NAN;
  s->row = (hvi_record){.loss0 = NAN, .loss = NAN, .ratio = NAN, .alpha = NAN};
  s->row.seconds_inner = set->time_inner ? 0.0 : NAN;
  HVI_TRY(take_memory(s, err));
  if (s->resolvent.exact && p->ops->affine)
    hvi_resolvent_linearise(&s->resolvent, NULL, NULL, NULL);
  HVI_TRY(resolve_step(s, err));
  if (set->baseline == HVI_BASELINE_ADAM_GDA) s->baseline[0] = s->baseline[1] = 1.0;
  const double *theta0 = set->theta0 ? set->theta0 : p->theta0;
  for (size_t k = 0; k < s->part_count; k++) {
    hvi_subproblem *part = &s->parts[k];
    if (set->optimizer->reset) set->optimizer->reset(&set->inner, part->l.model, part->state);
    hvi_vec_copy(part->l.now->theta, theta0 + part->block.theta, part->block.dim);
  }
  hvi_solver_stand(s);
  return HVI_OK;
}

hvi_status hvi_solver_new(hvi_solver **solver, const hvi_problem *p, const hvi_settings *settings,
                          hvi_error *err) {
  if (!solver) return hvi_error_argument(err, "hvi_solver_new: nowhere to put the solver");
  *solver = NULL;
  if (!p || !settings) return hvi_error_argument(err, "a solver needs a problem and settings");
  HVI_OWN_BY(hvi_solver_release) hvi_solver *s = hvi_solver_open(settings);
  if (!s) return hvi_error_memory(err, "the solver");
  HVI_TRY(hvi_solver_fill(s, p, err));
  HVI_GIVE(solver, s);
}

void hvi_solver_free(hvi_solver *s) {
  if (!s) return;
  hvi_free(s->memory);
  hvi_free(s->parts);
  hvi_free(s->sample);
  hvi_free(s);
}

/* Walks over the state in one order, counting, copying out or copying in. */
typedef struct walker {
  double *row; /* NULL: only counts */
  size_t at;
  bool in;
} walker;

static void walk(walker *w, double *x, size_t n) {
  if (w->row) {
    double *here = w->row + w->at;
    hvi_vec_copy(w->in ? x : here, w->in ? here : x, n);
  }
  w->at += n;
}

static void walk_rng(walker *w, hvi_rng *rng) {
  _Static_assert(sizeof *rng == 11 * sizeof(uint32_t), "a generator is words and nothing else");
  uint32_t *words = (uint32_t *)(void *)rng;
  for (size_t i = 0; i < sizeof *rng / sizeof *words; i++) {
    double x = words[i];
    walk(w, &x, 1);
    if (w->in) words[i] = (uint32_t)x;
  }
}

/* The sample as it is, where it cannot be drawn again. */
static void walk_sample(walker *w, const hvi_solver *s) {
  const size_t bytes = s->sample && !s->problem->ops->seek ? s->problem->sample_bytes : 0;
  if (w->row && bytes) {
    double *here = w->row + w->at;
    memcpy(w->in ? s->sample : (void *)here, w->in ? (void *)here : s->sample, bytes);
  }
  w->at += (bytes + sizeof *w->row - 1) / sizeof *w->row;
}

static void walk_record(walker *w, hvi_solver *s) {
  hvi_record *r = &s->row;
  hvi_counts *c = &r->counts;
  hvi_info *info = &s->info;
  size_t *const counts[] = {&r->outer,         &r->inner,      &c->f_evals,        &c->model_passes,
                            &c->grad_evals,    &c->env_steps,  &info->inner_total, &s->still,
                            &info->best_outer, &info->restarts};
  double *const reals[] = {&r->loss0,
                           &r->loss,
                           &r->ratio,
                           &r->dist2,
                           &r->residual,
                           &r->seconds,
                           &r->seconds_inner,
                           &s->alpha2,
                           &s->alpha2_worst,
                           &s->first_residual,
                           &info->best_residual,
                           &info->best_dist2};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    double x = (double)*counts[i];
    walk(w, &x, 1);
    if (w->in) *counts[i] = (size_t)x;
  }
  for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) walk(w, reals[i], 1);
}

/* Returns how many doubles the state has. */
static size_t walk_all(hvi_solver *s, double *row, bool in) {
  walker w = {.row = row, .in = in};
  walk_record(&w, s);
  walk_rng(&w, &s->rng);
  walk_rng(&w, &s->rng_before);
  for (size_t k = 0; k < s->part_count; k++)
    walk(&w, s->parts[k].l.now->theta, s->parts[k].block.dim);
  walk(&w, (double *)(void *)&s->accelerator.filter, HVI_FILTER_DOUBLES);
  walk(&w, (double *)(void *)&s->adaptation, HVI_ADAPTATION_DOUBLES);
  walk(&w, s->memory, s->saved);
  walk_sample(&w, s);
  return w.at;
}

void hvi_solver_move_state(const hvi_solver *s, const hvi_subproblem *part, bool put) {
  hvi_member *member = hvi_mlp_member(part->l.model);
  hvi_device_descent d;
  double *x = part->state, *second = x + 2 + part->block.dim;
  if (!member || !s->settings.keep_state ||
      !hvi_optimizer_descent(&d, s->settings.optimizer, &s->inner))
    return;
  if (d.rule == HVI_DEVICE_ADAM) hvi_member_move_state(member, x, x + 2, second, put);
  if (d.rule == HVI_DEVICE_MOMENTUM) hvi_member_move_state(member, NULL, x, NULL, put);
}

/* A walk that counts or copies out only reads the solver, and one that copies in only the state. */
size_t hvi_solver_state(const hvi_solver *s) {
  return walk_all((hvi_solver *)(uintptr_t)s, NULL, false);
}

void hvi_solver_save(const hvi_solver *s, double *state) {
  for (size_t k = 0; k < s->part_count; k++) hvi_solver_move_state(s, &s->parts[k], false);
  walk_all((hvi_solver *)(uintptr_t)s, state, false);
}

/* Draws the current sample again. */
static void redraw(hvi_solver *s) {
  const hvi_problem *p = s->problem;
  const hvi_rng after = s->rng;
  memset(s->sample, 0, p->sample_bytes);
  p->ops->seek(p, s->sample, s->row.outer / s->settings.redraw_every);
  s->rng = s->rng_before;
  p->ops->draw(p, s->theta, s->sample, &s->rng);
  s->rng = after;
}

/* A row of walk_all begins with counts, reals, and the words of two generators. */
static bool makes_sense(const double *state) {
  enum { COUNTS = 10, WORDS = 22, REALS = 12, END = COUNTS + REALS + WORDS };
  for (size_t i = 0; i < END; i++) {
    if (i >= COUNTS && i < COUNTS + REALS) continue;
    if (!(state[i] >= 0.0 && state[i] <= (i < COUNTS ? 0x1p53 : (double)UINT32_MAX))) return false;
  }
  return true;
}

hvi_status hvi_solver_restore(hvi_solver *s, const double *state, hvi_error *err) {
  const double far = HVI_FAR_STEPS * (double)s->settings.inner_steps;
  bool good = makes_sense(state);
  if (good) walk_all(s, (double *)(uintptr_t)state, true);
  good = good && s->adaptation.more >= 0.0 && s->adaptation.more <= far;
  if (!good) return hvi_error_input(err, "the saved state of the solve makes no sense");
  for (size_t k = 0; k < s->part_count; k++) hvi_solver_move_state(s, &s->parts[k], true);
  hvi_solver_set_rates(s);
  if (s->settings.step_rule == HVI_STEP_ADAPTIVE) hvi_solver_set_eta(s, s->adaptation.eta);
  const hvi_counts counts = s->row.counts;
  if (counts.f_evals == 0) return HVI_OK; /* saved before its first step */
  if (s->sample && s->problem->ops->seek) redraw(s);
  hvi_solver_stand(s);
  hvi_solver_operate(s);
  s->row.counts = counts;
  s->row.theta = s->theta;
  s->row.z = s->z;
  s->info.outcome = HVI_RUNNING;
  s->start = hvi_clock_now() - s->row.seconds;
  return HVI_OK;
}
