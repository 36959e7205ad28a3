/*
 * The returns of a test set: from each state R roll-outs,
 *   G = sum over t < H of gamma^t reward_t,
 * up to termination. Records are groups of states.
 */
#include "base/error.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "rl/testset_parts.h"

enum { GROUP_STATES = 8, WIDTH = 16 };

/* What a roll-out leaves behind. */
typedef struct outcome {
  double total, length, terminated, broken;
} outcome;

typedef struct run {
  const hvi_testset *set;
  hvi_crew *crew;
  uint64_t seed;
} run;

/* A group under way. */
typedef struct group {
  const hvi_testset *set;
  uint64_t seed;
  size_t first;      /* roll-out */
  outcome *outcomes; /* [jobs] */
  double *discount;  /* [jobs] */
} group;

static size_t group_count(const hvi_testset *set) {
  return (set->count + GROUP_STATES - 1) / GROUP_STATES;
}

/* Roll-outs of a group; the last one may be smaller. */
static size_t jobs_of(const hvi_testset *set, size_t number) {
  const size_t first = number * GROUP_STATES, left = set->count - first;
  return (left < GROUP_STATES ? left : GROUP_STATES) * set->rollouts;
}

static void begin(void *context, size_t job, hvi_env *env, hvi_rng *env_rng, hvi_rng *policy_rng) {
  const group *g = context;
  const size_t rollout = g->first + job, state = rollout / g->set->rollouts;
  *env_rng = hvi_rng_new(g->seed, "rollout-environment", rollout);
  *policy_rng = hvi_rng_new(g->seed, "rollout-policy", rollout);
  hvi_env_restore(env, g->set->states + state * g->set->state);
  g->outcomes[job] = (outcome){0.0, 0.0, 0.0, 0.0};
  g->discount[job] = 1.0;
}

/* The time limit is not looked at. */
static bool take(void *context, size_t job, const hvi_env *env, const hvi_lockstep_step *step) {
  (void)env;
  const group *g = context;
  outcome *o = &g->outcomes[job];
  o->total += g->discount[job] * step->result.reward;
  o->length += 1.0;
  o->terminated = step->result.terminated;
  o->broken = step->result.broken;
  g->discount[job] *= g->set->gamma;
  return !step->result.terminated && o->length < (double)g->set->horizon;
}

/* Steps that termination made unnecessary. */
static size_t spared(const group *g, size_t jobs) {
  size_t sum = 0;
  for (size_t i = 0; i < jobs; i++) sum += g->set->horizon - (size_t)g->outcomes[i].length;
  return sum;
}

static hvi_status run_group(void *context, size_t number, size_t worker, hvi_error *err) {
  const run *r = context;
  hvi_crew *c = r->crew;
  if (hvi_meter_stopped(&c->meter) ||
      hvi_journal_has(c->journal, HVI_TESTSET_ROLLOUTS, number, NULL)) {
    return HVI_OK;
  }
  const size_t jobs = jobs_of(r->set, number);
  outcome *outcomes = c->buffers[worker];
  group g = {.set = r->set,
             .seed = r->seed,
             .first = number * GROUP_STATES * r->set->rollouts,
             .outcomes = outcomes,
             .discount = (double *)(outcomes + GROUP_STATES * r->set->rollouts)};
  const hvi_lockstep_task task = {.count = jobs,
                                  .context = &g,
                                  .begin = begin,
                                  .take = take,
                                  .noun = "roll-out",
                                  .first = g.first};
  const hvi_status status = hvi_lockstep_run(c->workers[worker], &task, &c->meter, err);
  if (status || hvi_meter_stopped(&c->meter)) return status;
  hvi_meter_add(&c->meter, 0, spared(&g, jobs));
  return hvi_journal_append(c->journal, HVI_TESTSET_ROLLOUTS, number, outcomes,
                            jobs * sizeof *outcomes, err);
}

size_t hvi_testset_steps_left(hvi_crew *crew, const hvi_testset *set) {
  size_t jobs = 0;
  for (size_t g = 0; g < group_count(set); g++) {
    if (!hvi_journal_has(crew->journal, HVI_TESTSET_ROLLOUTS, g, NULL)) jobs += jobs_of(set, g);
  }
  return jobs * set->horizon;
}

static hvi_status gather(hvi_testset *set, hvi_crew *crew, hvi_error *err) {
  outcome *outcomes = crew->buffers[0];
  for (size_t g = 0, row = 0; g < group_count(set); g++) {
    const size_t jobs = jobs_of(set, g);
    const hvi_status status = hvi_journal_read(crew->journal, HVI_TESTSET_ROLLOUTS, g, outcomes,
                                               jobs * sizeof *outcomes, err);
    if (status) return status;
    for (size_t i = 0; i < jobs; i++, row++) {
      set->returns[row] = outcomes[i].total;
      set->length[row] = outcomes[i].length;
      set->terminated[row] = outcomes[i].terminated;
      set->origin.broken += outcomes[i].broken != 0.0;
    }
  }
  return HVI_OK;
}

hvi_status hvi_testset_roll(hvi_testset *set, hvi_crew *crew, const hvi_testset_settings *s,
                            hvi_error *err) {
  run r = {.set = set, .crew = crew, .seed = s->run.seed};
  size_t bytes;
  if (!hvi_multiply_sizes(set->rollouts, GROUP_STATES * (sizeof(outcome) + sizeof(double)),
                          &bytes)) {
    return hvi_error_memory(err, "a group of roll-outs");
  }
  hvi_status status = hvi_crew_equip(crew, group_count(set), WIDTH, false, bytes, 1, err);
  if (!status) status = hvi_parallel_run(group_count(set), crew->threads, run_group, &r, err);
  if (status || crew->meter.stopped) return status;
  status = gather(set, crew, err);
  if (!status) set->tail = hvi_testset_find_tail(set);
  for (size_t i = 0; i < set->count && !status; i++) {
    hvi_testset_average(set, i, &set->value[i], &set->standard_error[i]);
  }
  return status;
}
