/* The states of a test set: whole episodes, and a uniform choice among the states on their way. */
#include "base/error.h"
#include "base/memory.h"
#include "rl/rollout_group.h"
#include "rl/testset_parts.h"

#include <string.h>

static const size_t NOT_CHOSEN = SIZE_MAX;

/* Saved state and observation of the state in which the next step starts. */
static void write_row(const hvi_env *env, const hvi_lockstep_step *step, unsigned char *row,
                      unsigned char *next_row) {
  (void)step;
  (void)row;
  double *x = (double *)(void *)next_row;
  hvi_env_save(env, x);
  hvi_env_observe(env, x + env->state);
}

static size_t visits_wanted(const hvi_testset_settings *s) {
  return s->visits ? s->visits : 5 * s->states;
}

static hvi_group_plan plan_of(hvi_crew *crew, const hvi_testset_settings *s) {
  return (hvi_group_plan){.crew = crew,
                          .kind = HVI_TESTSET_VISITS,
                          .env_stream = "visit-environment",
                          .policy_stream = "visit-policy",
                          .seed = s->run.seed,
                          .wanted = visits_wanted(s),
                          .cap = crew->env->time_limit,
                          .row_bytes = (crew->env->state + crew->env->obs) * sizeof(double),
                          .write = write_row};
}

size_t hvi_testset_visits_left(hvi_crew *crew, const hvi_testset_settings *s) {
  const hvi_group_plan plan = plan_of(crew, s);
  const size_t there = hvi_group_rows(&plan);
  return there < plan.wanted ? plan.wanted - there : 0;
}

/* Whole episodes, as few as give enough states. */
static hvi_status count_visits(const hvi_group_plan *p, size_t *visited, size_t *episodes,
                               size_t *broken, hvi_error *err) {
  hvi_group_head head;
  const unsigned char *rows;
  size_t count;
  *visited = *episodes = 0;
  for (size_t g = 0; *visited < p->wanted; g++) {
    const hvi_status status = hvi_group_read(p, g, &head, &rows, &count, err);
    if (status) return status;
    *broken += (size_t)head.broken;
    for (size_t e = 0; e < HVI_GROUP_EPISODES && *visited < p->wanted; e++) {
      *visited += (size_t)head.length[e];
      ++*episodes;
    }
  }
  return HVI_OK;
}

/* place[visited]: which row of the test set a visited state becomes. The first `count` entries of a
 * random permutation, by exchanging. */
static hvi_status choose(size_t *place, size_t visited, size_t count, uint64_t seed,
                         hvi_error *err) {
  size_t *order = hvi_alloc(visited, sizeof *order);
  if (!order) return hvi_error_memory(err, "a choice of states");
  hvi_rng rng = hvi_rng_new(seed, "choose-states", 0);
  for (size_t i = 0; i < visited; i++) {
    order[i] = i;
    place[i] = NOT_CHOSEN;
  }
  for (size_t i = 0; i < count; i++) {
    const size_t k = i + (size_t)(hvi_rng_uniform(&rng) * (double)(visited - i));
    const size_t chosen = order[k];
    order[k] = order[i];
    place[chosen] = i;
  }
  hvi_free(order);
  return HVI_OK;
}

static hvi_status gather(hvi_testset *set, const hvi_group_plan *p, const size_t *place,
                         size_t visited, hvi_error *err) {
  hvi_group_head head;
  const unsigned char *rows;
  size_t count, seen = 0;
  for (size_t g = 0; seen < visited; g++) {
    const hvi_status status = hvi_group_read(p, g, &head, &rows, &count, err);
    if (status) return status;
    for (size_t i = 0; i < count && seen < visited; i++, seen++) {
      if (place[seen] == NOT_CHOSEN) continue;
      const double *x = (const double *)(const void *)(rows + i * p->row_bytes);
      memcpy(set->states + place[seen] * set->state, x, set->state * sizeof *x);
      memcpy(set->observation + place[seen] * set->obs, x + set->state, set->obs * sizeof *x);
    }
  }
  return HVI_OK;
}

hvi_status hvi_testset_visit(hvi_testset *set, hvi_crew *crew, const hvi_testset_settings *s,
                             size_t *visited, size_t *episodes, hvi_error *err) {
  const hvi_group_plan plan = plan_of(crew, s);
  hvi_status status = hvi_group_run(&plan, false, err);
  if (status || crew->meter.stopped) return status;
  status = count_visits(&plan, visited, episodes, &set->origin.broken, err);
  if (status) return status;
  size_t *place = hvi_alloc(*visited, sizeof *place);
  if (!place) return hvi_error_memory(err, "a choice of states");
  status = choose(place, *visited, set->count, s->run.seed, err);
  if (!status) status = gather(set, &plan, place, *visited, err);
  hvi_free(place);
  return status;
}
