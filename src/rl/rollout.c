#include "rl/rollout.h"

#include "base/base.h"
#include "base/parallel.h"
#include "base/ranks.h"
#include "base/work.h"

#include <float.h>

/* Steps between two calls of the progress function: a fraction of a second, whatever a step costs.
 */
enum { TELL_AFTER = 512 };

/* An environment busy with an episode. */
typedef struct slot {
  hvi_env *env;
  hvi_rng rng;
  size_t episode; /* number within the group */
  size_t steps;
  double discount;
} slot;

/* What a thread works with, and its group. */
typedef struct worker {
  slot *slots;         /* [width] */
  hvi_rng *policy_rng; /* [width] */
  double *obs;         /* [width][obs] */
  double *action;      /* [width][act] */
  double *next;        /* [obs] */
  float *scratch;
  uint64_t first;     /* episode */
  size_t count;       /* episodes */
  hvi_return *record; /* [plan.group], and rows behind */
} worker;

struct hvi_runner {
  hvi_rollout_run *run;
  hvi_rollout_plan plan;
  size_t threads;
  worker *workers; /* [threads] */
  size_t row_bytes, record_bytes;
  unsigned char *records; /* one for each thread, or for each group that stays in memory */
  uint64_t first;         /* episode of group 0 */
  size_t groups, next;    /* how many there are, and which may be handed out next */
  size_t whole, rows;     /* finished groups without a gap, and their rows */
};

#define AT(member) .offset = offsetof(hvi_rollout_settings, member)
HVI_ROWS(static const hvi_setting rollout_rows[],
    {"seed", HVI_SETTING_SEED, AT(seed), .fallback = "1", .help = "the seed; the same one gives the same bits"},
    {"threads", HVI_SETTING_COUNT, HVI_SETTING_NO_RESULT, AT(threads), .range = "[0,1024]",
     .help = "threads (0: one per core); the results are the same for any"},
    {0});

HVI_SETTINGS(rollout, "rollout", hvi_rollout_settings, rollout_rows, .seed = 0)
_Static_assert(HVI_ROLLOUT_MAX_THREADS == 1024, "the range of threads");

hvi_status hvi_rollout_begin(hvi_rollout_run *run, const hvi_env *env, const hvi_policy *policy,
                             const hvi_setting_table *own, const void *s,
                             hvi_rollout_report *report, hvi_error *err) {
  if (report) *report = (hvi_rollout_report){0};
  if (!env || !policy || !s)
    return hvi_error_argument(err, "roll-outs need an environment, a policy and settings");
  HVI_TRY(hvi_setting_check(&table, s, err));
  HVI_TRY(hvi_policy_check(policy, env, err));
  HVI_TRY(hvi_setting_check(own, s, err));
  *run = (hvi_rollout_run){.env = env, .policy = policy, .settings = s, .report = report};
  run->started = hvi_clock_now();
  run->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
  return HVI_OK;
}

size_t hvi_rollout_threads(const hvi_rollout_settings *s) {
  const size_t threads = hvi_parallel_threads(s->threads);
  return threads < HVI_ROLLOUT_MAX_THREADS ? threads : HVI_ROLLOUT_MAX_THREADS;
}

bool hvi_rollout_apart(const hvi_rollout_run *run) {
  return run->follows || hvi_share_is_part(run->settings->share);
}

hvi_status hvi_rollout_open(hvi_rollout_run *run, const char *path, void *set,
                            const hvi_columns *columns, hvi_error *err) {
  const hvi_rollout_settings *s = run->settings;
  char lines[HVI_NOTES_LINES];
  hvi_kept kept = {
      .kind = "run of roll-outs", .about = lines, .accept_other_bits = s->accept_other_bits};
  if (!path) return hvi_error_argument(err, "roll-outs need a file to write");
  run->path = path;
  run->set = set;
  run->columns = columns;
  run->follows = hvi_ranks_follows(hvi_share_ranks(s->share));
  if (!hvi_columns_alloc(set, columns)) return hvi_error_memory(err, columns->what);
  if (run->follows) return HVI_OK;
  hvi_notes_lines(lines, &run->notes);
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  HVI_TRY(hvi_journal_absorb(NULL, path, s->share, name, &kept, false, err));
  HVI_TRY(hvi_journal_open(&run->journal, path, &kept, (hvi_journal_rule)s->partial, err));
  HVI_TRY(hvi_journal_absorb(run->journal, path, s->share, name, &kept, false, err));
  hvi_notes_add(&run->notes, "policy", "%s", s->policy_name ? s->policy_name : "");
  hvi_notes_add(&run->notes, "level", "%s", kept.levels);
  return HVI_OK;
}

hvi_status hvi_rollout_write(hvi_rollout_run *run, hvi_error *err) {
  if (run->stopped || hvi_rollout_apart(run)) return HVI_OK;
  HVI_TRY(hvi_columns_write(run->path, run->set, run->columns, &run->notes, err));
  run->written = true;
  return HVI_OK;
}

void hvi_rollout_end(hvi_rollout_run *run) {
  hvi_journal *j = run->journal;
  if (run->report)
    *run->report = (hvi_rollout_report){.stopped = run->stopped,
                                        .resumed = j ? hvi_journal_kept(j) : 0,
                                        .damaged = j ? hvi_journal_damaged(j) : 0,
                                        .steps = run->steps,
                                        .seconds = hvi_clock_now() - run->started};
  hvi_columns_free(run->set, run->columns);
  (run->written ? hvi_journal_remove : hvi_journal_close)(j);
}

/* Adds steps that were made and steps that need not be; tells the progress function. False: stop.
 */
static bool advance(hvi_rollout_run *run, size_t made, size_t spared) {
  const hvi_rollout_settings *s = run->settings;
  pthread_mutex_lock(&run->lock);
  run->steps += made;
  run->done += made + spared;
  const size_t done = run->done < run->total ? run->done : run->total;
  if (s->progress && !run->stopped)
    run->stopped = !s->progress(s->progress_context, done, run->total);
  const bool stopped = run->stopped;
  pthread_mutex_unlock(&run->lock);
  return !stopped;
}

/* Episodes in lock-step */

static size_t row_bytes(const hvi_rollout_plan *plan, const hvi_env *env) {
  if (plan->keep == HVI_KEEP_RETURNS) return 0;
  if (plan->keep == HVI_KEEP_TRANSITIONS) return (2 * env->obs + env->act + 3) * sizeof(float);
  return (env->state + env->obs) * sizeof(double);
}

/* Where a row goes: each episode has room for plan.steps of them. */
static void *row_of(const hvi_runner *r, const worker *w, size_t episode, size_t row) {
  return (unsigned char *)(w->record + r->plan.group) +
         (episode * r->plan.steps + row) * r->row_bytes;
}

static hvi_return *record_of(const hvi_runner *r, size_t number) {
  return (hvi_return *)(void *)(r->records + number * r->record_bytes);
}

static void begin(const hvi_runner *r, worker *w, size_t i, size_t episode) {
  const hvi_rollout_plan *p = &r->plan;
  const uint64_t number = w->first + episode, seed = r->run->settings->seed;
  slot *s = &w->slots[i];
  *s = (slot){.env = s->env, .episode = episode, .discount = 1.0};
  s->rng = hvi_rng_new(seed, p->env_stream, number);
  w->policy_rng[i] = hvi_rng_new(seed, p->policy_stream, number);
  if (p->starts)
    hvi_env_restore(s->env, p->starts + number / p->per_start * s->env->state);
  else
    hvi_env_reset(s->env, &s->rng);
  hvi_env_observe(s->env, w->obs + i * s->env->obs);
}

/* The episode in slot i is over; the last one moves there. */
static void leave(worker *w, size_t i, size_t last) {
  const slot over = w->slots[i];
  const size_t obs = over.env->obs;
  w->slots[i] = w->slots[last];
  w->slots[last] = over;
  w->policy_rng[i] = w->policy_rng[last];
  memmove(w->obs + i * obs, w->obs + last * obs, obs * sizeof *w->obs);
}

/* After a step, with the observation in w->next. */
static void keep_step(const hvi_runner *r, const worker *w, size_t i, const hvi_transition *t) {
  slot *s = &w->slots[i];
  const size_t obs = s->env->obs, act = s->env->act;
  hvi_return *o = w->record + s->episode;
  o->total += s->discount * t->reward;
  o->length += 1.0;
  o->terminated = t->terminated;
  o->broken = t->broken;
  s->discount *= r->plan.gamma;
  if (r->plan.keep != HVI_KEEP_TRANSITIONS) return;
  float *x = row_of(r, w, s->episode, s->steps);
  for (size_t k = 0; k < obs; k++) *x++ = (float)w->obs[i * obs + k];
  for (size_t k = 0; k < act; k++) *x++ = (float)w->action[i * act + k];
  *x++ = (float)t->reward;
  for (size_t k = 0; k < obs; k++) *x++ = (float)w->next[k];
  *x++ = t->terminated ? 1.0F : 0.0F;
  *x = t->truncated ? 1.0F : 0.0F;
}

/* Files keep floats. */
static bool fits_floats(const double *x, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (!(fabs(x[i]) <= (double)FLT_MAX)) return false;
  return true;
}

/* One step in slot i; *over is whether it was the episode's last. */
static hvi_status step(const hvi_runner *r, const worker *w, size_t i, bool *over, hvi_error *err) {
  const hvi_rollout_plan *p = &r->plan;
  slot *s = &w->slots[i];
  hvi_env *env = s->env;
  const double *action = w->action + i * env->act;
  if (p->keep == HVI_KEEP_STATES) {
    double *x = row_of(r, w, s->episode, s->steps);
    hvi_env_save(env, x);
    memcpy(x + env->state, w->obs + i * env->obs, env->obs * sizeof *x);
  }
  const hvi_transition t = hvi_env_step(env, action, &s->rng);
  hvi_env_observe(env, w->next);
  if (!fits_floats(w->next, env->obs) || !fits_floats(&t.reward, 1) ||
      !fits_floats(action, env->act))
    return hvi_error_input(err,
                           "%s %zu: an action, observation or reward is not finite or beyond 3e38; "
                           "the policy does not hold environment '%s'",
                           p->noun, (size_t)w->first + s->episode, env->name);
  keep_step(r, w, i, &t);
  *over = t.terminated || (t.truncated && !p->endless) || ++s->steps == p->steps;
  memcpy(w->obs + i * env->obs, w->next, env->obs * sizeof *w->obs);
  return HVI_OK;
}

/* Runs the worker's group, unless the run is stopped. */
static hvi_status simulate(const hvi_runner *r, worker *w, hvi_error *err) {
  const hvi_rollout_plan *p = &r->plan;
  size_t busy = 0, begun = 0, made = 0;
  for (;;) {
    while (busy < p->width && begun < w->count) begin(r, w, busy++, begun++);
    if (busy == 0) break;
    hvi_policy_act(r->run->policy, w->scratch, busy, w->obs,
                   p->deterministic ? NULL : w->policy_rng, w->action);
    made += busy;
    /* downwards: who moves into a slot that became free has made its step already */
    for (size_t i = busy; i-- > 0;) {
      bool over = false;
      HVI_TRY(step(r, w, i, &over, err));
      if (over) leave(w, i, --busy);
    }
    if (made < TELL_AFTER) continue;
    if (!advance(r->run, made, 0)) return HVI_OK;
    made = 0;
  }
  advance(r->run, made, 0);
  return HVI_OK;
}

/* Groups of episodes and their records */

static size_t group_count(const hvi_rollout_plan *p) {
  const size_t most = p->rows > p->least ? p->rows : p->least; /* an episode has one row at least */
  const size_t episodes = p->episodes ? p->episodes : most;
  return episodes / p->group + (episodes % p->group != 0);
}

static size_t group_size(const hvi_rollout_plan *p, size_t number) {
  const size_t left = p->episodes - number * p->group;
  return p->episodes && left < p->group ? left : p->group;
}

/* Rows in a record of that size; 0 for a size that none has. */
static size_t rows_in(const hvi_rollout_plan *p, size_t bytes_of_row, size_t size) {
  const size_t head = p->group * sizeof(hvi_return);
  const size_t rows = size < head ? 0 : (size - head) / bytes_of_row;
  return rows / p->group <= p->steps ? rows : 0;
}

static bool in_journal(const hvi_rollout_run *run, const hvi_rollout_plan *p, size_t group) {
  return run->journal && hvi_journal_has(run->journal, p->kind, group, NULL);
}

/* Of whose groups the plan's are: a part may have to have all. */
static const hvi_share *share_of(const hvi_rollout_run *run, const hvi_rollout_plan *p) {
  return p->every ? NULL : run->settings->share;
}

/* Counts finished groups without a gap, and their rows, on from what was counted before. A part takes
 * the groups of the others to be like its own; what they lack in the end is simulated by the merge. */
static bool enough(const hvi_rollout_run *run, const hvi_rollout_plan *p, size_t *groups,
                   size_t *rows) {
  const hvi_share *share = share_of(run, p);
  const size_t n = hvi_share_is_part(share) ? share->parts : 1, first = n > 1 ? share->part : 0;
  size_t size;
  while (run->journal && (*rows * n < p->rows || *groups * n * p->group < p->least) &&
         hvi_journal_has(run->journal, p->kind, *groups * n + first, &size)) {
    *rows += rows_in(p, row_bytes(p, run->env), size);
    ++*groups;
  }
  return p->rows > 0 && *rows * n >= p->rows && *groups * n * p->group >= p->least;
}

size_t hvi_rollout_left(const hvi_rollout_run *run, const hvi_rollout_plan *p) {
  size_t groups = 0, rows = 0, episodes = 0;
  if (p->rows > 0 && enough(run, p, &groups, &rows)) return 0;
  if (p->rows > 0) {
    const size_t made = groups * p->group, least = made < p->least ? p->least - made : 0;
    return rows + least * p->steps < p->rows ? p->rows - rows : least * p->steps;
  }
  for (size_t g = 0; g < group_count(p); g++)
    if (hvi_share_has(share_of(run, p), g) && !in_journal(run, p, g)) episodes += group_size(p, g);
  return episodes * p->steps;
}

/* Moves the rows together; returns the bytes of the record. */
static size_t close_record(const hvi_runner *r, const worker *w) {
  unsigned char *end = row_of(r, w, 0, 0);
  for (size_t e = 0; e < w->count; e++) {
    const size_t bytes = (size_t)w->record[e].length * r->row_bytes;
    memmove(end, row_of(r, w, e, 0), bytes);
    end += bytes;
  }
  return (size_t)(end - (unsigned char *)w->record);
}

/* Simulates a group into a record, and says how long that is; 0: the run is stopped. */
static hvi_status run_record(hvi_runner *r, size_t number, size_t thread, size_t record,
                             size_t *bytes, hvi_error *err) {
  const hvi_rollout_plan *p = &r->plan;
  worker *w = &r->workers[thread];
  size_t spared = 0; /* steps that termination made unnecessary */
  *bytes = 0;
  w->first = r->first + number * p->group;
  w->count = group_size(p, number);
  w->record = record_of(r, record);
  memset(w->record, 0, p->group * sizeof *w->record);
  HVI_TRY(simulate(r, w, err));
  for (size_t e = 0; !p->rows && e < w->count; e++)
    spared += p->steps - (size_t)w->record[e].length;
  if (advance(r->run, 0, spared)) *bytes = close_record(r, w);
  return HVI_OK;
}

static hvi_status run_group(void *context, size_t number, size_t thread, hvi_error *err) {
  hvi_runner *r = context;
  size_t bytes;
  pthread_mutex_lock(&r->run->lock);
  const bool stopped = r->run->stopped;
  pthread_mutex_unlock(&r->run->lock);
  return stopped ? HVI_OK : run_record(r, number, thread, number, &bytes, err);
}

/* Groups as units of work, whose records the journal takes. */

static size_t next_group(void *context, size_t who) {
  (void)who;
  hvi_runner *r = context;
  const hvi_share *share = share_of(r->run, &r->plan);
  if (enough(r->run, &r->plan, &r->whole, &r->rows)) return HVI_WORK_NONE;
  while (r->next < r->groups &&
         (!hvi_share_has(share, r->next) || in_journal(r->run, &r->plan, r->next)))
    r->next++;
  return r->next < r->groups ? r->next++ : HVI_WORK_NONE;
}

static hvi_status run_unit(void *context, size_t unit, size_t thread, hvi_bytes *bytes,
                           hvi_error *err) {
  hvi_runner *r = context;
  HVI_TRY(run_record(r, unit, thread, thread, &bytes->size, err));
  if (bytes->size) bytes->data = hvi_alloc(bytes->size, 1);
  if (bytes->size && !bytes->data) return hvi_error_memory(err, "a group of roll-outs");
  if (bytes->size) memcpy(bytes->data, record_of(r, thread), bytes->size);
  return HVI_OK;
}

static hvi_status accept(void *context, size_t unit, const hvi_bytes *bytes, hvi_error *err) {
  const hvi_runner *r = context;
  return hvi_journal_append(r->run->journal, r->plan.kind, unit, bytes->data, bytes->size, err);
}

static bool wait_for_groups(void *context) { return advance(((hvi_runner *)context)->run, 0, 0); }

hvi_status hvi_runner_run(hvi_runner *r, uint64_t first, size_t groups, hvi_error *err) {
  hvi_ranks *ranks = hvi_share_ranks(r->run->settings->share);
  const hvi_work work = {r, groups, next_group, run_unit, accept, wait_for_groups};
  r->first = first;
  r->groups = groups;
  if (!r->run->journal && !r->run->follows)
    return hvi_parallel_run(groups, r->threads, run_group, r, err);
  return hvi_work_run(&work, r->threads, ranks, &r->run->stopped, err);
}

hvi_status hvi_runner_read(hvi_runner *r, size_t number, hvi_rollout_group *group, hvi_error *err) {
  const hvi_rollout_plan *p = &r->plan;
  hvi_journal *journal = r->run->journal;
  hvi_return *record = record_of(r, journal ? 0 : number);
  const size_t head = p->group * sizeof *record;
  size_t size = 0;
  if (journal) {
    hvi_journal_has(journal, p->kind, number, &size);
    if (size < head || size > r->record_bytes) size = SIZE_MAX; /* the journal complains */
    HVI_TRY(hvi_journal_read(journal, p->kind, number, record, size, err));
  }
  *group = (hvi_rollout_group){
      .episodes = record, .count = group_size(p, number), .data = record + p->group};
  bool whole = true;
  for (size_t e = 0; e < group->count; e++) {
    whole = whole && record[e].length >= 0.0 && record[e].length <= (double)p->steps;
    group->rows += whole ? (size_t)record[e].length : 0;
    group->broken += record[e].broken != 0.0;
  }
  if (whole && (!journal || head + group->rows * r->row_bytes == size)) return HVI_OK;
  return hvi_error_input(err, "group %zu of the partial file is not whole", number);
}

/* Threads and memory */

static hvi_status fill_worker(const hvi_runner *r, worker *w, hvi_error *err) {
  const hvi_env *env = r->run->env;
  const size_t width = r->plan.width;
  HVI_TRY(hvi_new(&w->slots, width, "roll-outs", err));
  HVI_TRY(hvi_new(&w->policy_rng, width, "roll-outs", err));
  HVI_TRY(hvi_new(&w->obs, width * (env->obs + env->act) + env->obs, "roll-outs", err));
  HVI_TRY(hvi_new(&w->scratch, hvi_policy_scratch(r->run->policy, width), "roll-outs", err));
  w->action = w->obs + width * env->obs;
  w->next = w->action + width * env->act;
  for (size_t i = 0; i < width; i++) HVI_TRY(hvi_env_clone(env, &w->slots[i].env, err));
  return HVI_OK;
}

hvi_status hvi_runner_new(hvi_runner **runner, hvi_rollout_run *run, const hvi_rollout_plan *plan,
                          size_t groups, hvi_error *err) {
  const size_t threads = hvi_rollout_threads(run->settings);
  *runner = NULL;
  HVI_MAKE(hvi_runner, r, "roll-outs", err);
  r->run = run;
  r->plan = *plan;
  if (!plan->width) r->plan.width = plan->group;
  if (!plan->noun) r->plan.noun = "episode";
  r->threads = threads < groups ? threads : groups;
  r->row_bytes = row_bytes(plan, run->env);
  size_t rows; /* in bytes, which must be countable */
  if (!hvi_multiply_sizes(plan->steps, r->row_bytes, &rows) || rows > SIZE_MAX / 2 ||
      !hvi_multiply_sizes(plan->group, sizeof(hvi_return) + rows, &r->record_bytes))
    return hvi_error_memory(err, "a group of roll-outs");
  const bool passed_on = run->journal || run->follows;
  r->records = hvi_alloc(passed_on ? r->threads : groups, r->record_bytes);
  r->workers = hvi_alloc(r->threads, sizeof *r->workers);
  if (!r->records || !r->workers) return hvi_error_memory(err, "a group of roll-outs");
  for (size_t i = 0; i < r->threads; i++) HVI_TRY(fill_worker(r, &r->workers[i], err));
  HVI_GIVE(runner, r);
}

void hvi_runner_free(hvi_runner *r) {
  if (!r) return;
  for (size_t k = 0; r->workers && k < r->threads; k++) {
    worker *w = &r->workers[k];
    for (size_t i = 0; w->slots && i < r->plan.width; i++) hvi_env_free(w->slots[i].env);
    hvi_free(w->slots);
    hvi_free(w->policy_rng);
    hvi_free(w->obs);
    hvi_free(w->scratch);
  }
  hvi_free(r->workers);
  hvi_free(r->records);
  hvi_free(r);
}

hvi_status hvi_rollout_all(hvi_runner **runner, hvi_rollout_run *run, const hvi_rollout_plan *plan,
                           hvi_error *err) {
  const size_t groups = group_count(plan),
               likely = (plan->rows / plan->steps + plan->least) / plan->group + 1;
  HVI_TRY(hvi_runner_new(runner, run, plan, plan->rows ? likely : groups, err));
  return hvi_runner_run(*runner, 0, groups, err);
}
