#include "rl/rollout_group.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/parallel.h"

#include <string.h>

/* The finished groups without a gap. */
typedef struct run {
  const hvi_group_plan *plan;
  pthread_mutex_t lock;
  size_t groups, rows;
} run;

/* A group under way; the buffer holds the head and `cap` + 1 rows for each episode. */
typedef struct group {
  const hvi_group_plan *plan;
  size_t first; /* episode */
  hvi_group_head *head;
  unsigned char *rows;
} group;

static size_t region_bytes(const hvi_group_plan *p) { return (p->cap + 1) * p->row_bytes; }

static unsigned char *row_of(const group *g, size_t job, size_t row) {
  return g->rows + job * region_bytes(g->plan) + row * g->plan->row_bytes;
}

static void begin(void *context, size_t job, hvi_env *env, hvi_rng *env_rng, hvi_rng *policy_rng) {
  const group *g = context;
  const hvi_group_plan *p = g->plan;
  *env_rng = hvi_rng_new(p->seed, p->env_stream, g->first + job);
  *policy_rng = hvi_rng_new(p->seed, p->policy_stream, g->first + job);
  hvi_env_reset(env, env_rng);
  p->write(env, NULL, NULL, row_of(g, job, 0));
}

static bool take(void *context, size_t job, const hvi_env *env, const hvi_lockstep_step *step) {
  const group *g = context;
  const size_t row = (size_t)g->head->length[job]++;
  g->plan->write(env, step, row_of(g, job, row), row_of(g, job, row + 1));
  g->head->broken += step->result.broken;
  return !step->result.terminated && !step->result.truncated && row + 1 < g->plan->cap;
}

/* Moves the episodes' rows together; returns the bytes of the whole record. */
static size_t close_ranks(const group *g) {
  unsigned char *end = g->rows;
  for (size_t e = 0; e < HVI_GROUP_EPISODES; e++) {
    const size_t bytes = (size_t)g->head->length[e] * g->plan->row_bytes;
    memmove(end, row_of(g, e, 0), bytes);
    end += bytes;
  }
  return (size_t)(end - (unsigned char *)g->head);
}

/* Rows in a record of that size; 0 for a size that no group has. */
static size_t rows_in(const hvi_group_plan *p, size_t size) {
  if (size < sizeof(hvi_group_head)) return 0;
  const size_t bytes = size - sizeof(hvi_group_head);
  return bytes / HVI_GROUP_EPISODES <= p->cap * p->row_bytes ? bytes / p->row_bytes : 0;
}

/* Whether enough rows are there without those of a group that is yet to be run. */
static bool enough(run *r) {
  const hvi_group_plan *p = r->plan;
  size_t size;
  pthread_mutex_lock(&r->lock);
  while (r->rows < p->wanted && hvi_journal_has(p->crew->journal, p->kind, r->groups, &size)) {
    r->rows += rows_in(p, size);
    r->groups++;
  }
  const bool yes = r->rows >= p->wanted;
  pthread_mutex_unlock(&r->lock);
  return yes;
}

static hvi_status run_group(void *context, size_t number, size_t worker, hvi_error *err) {
  run *r = context;
  const hvi_group_plan *p = r->plan;
  hvi_crew *c = p->crew;
  if (hvi_meter_stopped(&c->meter) || enough(r) ||
      hvi_journal_has(c->journal, p->kind, number, NULL)) {
    return HVI_OK;
  }
  unsigned char *buffer = c->buffers[worker];
  group g = {.plan = p,
             .first = number * HVI_GROUP_EPISODES,
             .head = (hvi_group_head *)(void *)buffer,
             .rows = buffer + sizeof *g.head};
  const hvi_lockstep_task task = {.count = HVI_GROUP_EPISODES,
                                  .context = &g,
                                  .begin = begin,
                                  .take = take,
                                  .noun = "episode",
                                  .first = g.first};
  memset(g.head, 0, sizeof *g.head);
  const hvi_status status = hvi_lockstep_run(c->workers[worker], &task, &c->meter, err);
  if (status || hvi_meter_stopped(&c->meter)) return status;
  const size_t bytes = close_ranks(&g);
  return hvi_journal_append(c->journal, p->kind, number, buffer, bytes, err);
}

size_t hvi_group_rows(const hvi_group_plan *p) {
  size_t rows = 0, size;
  for (size_t g = 0; hvi_journal_has(p->crew->journal, p->kind, g, &size); g++) {
    rows += rows_in(p, size);
  }
  return rows;
}

hvi_status hvi_group_read(const hvi_group_plan *p, size_t number, hvi_group_head *head,
                          const unsigned char **rows, size_t *row_count, hvi_error *err) {
  unsigned char *buffer = p->crew->buffers[0];
  size_t size;
  hvi_journal_has(p->crew->journal, p->kind, number, &size);
  *row_count = rows_in(p, size);
  if (*row_count == 0) size = SIZE_MAX; /* the journal complains */
  const hvi_status status = hvi_journal_read(p->crew->journal, p->kind, number, buffer, size, err);
  if (status) return status;
  memcpy(head, buffer, sizeof *head);
  *rows = buffer + sizeof *head;
  size_t sum = 0;
  bool whole = true;
  for (size_t e = 0; e < HVI_GROUP_EPISODES && whole; e++) {
    whole = head->length[e] <= p->cap;
    if (whole) sum += (size_t)head->length[e];
  }
  if (whole && sum == *row_count) return HVI_OK;
  return hvi_error_set(err, HVI_ERROR_INPUT, "group %zu of the partial file is not whole", number);
}

hvi_status hvi_group_run(const hvi_group_plan *plan, bool deterministic, hvi_error *err) {
  run r = {.plan = plan};
  /* an episode has one row at least */
  const size_t groups = (plan->wanted + HVI_GROUP_EPISODES - 1) / HVI_GROUP_EPISODES;
  const size_t likely = plan->wanted / (HVI_GROUP_EPISODES * plan->cap) + 1;
  size_t bytes;
  if (!hvi_multiply_sizes(plan->cap + 1, HVI_GROUP_EPISODES * plan->row_bytes, &bytes) ||
      bytes > SIZE_MAX - sizeof(hvi_group_head)) {
    bytes = SIZE_MAX - sizeof(hvi_group_head);
  }
  hvi_status status = hvi_crew_equip(plan->crew, likely, HVI_GROUP_EPISODES, deterministic,
                                     sizeof(hvi_group_head) + bytes, 1, err);
  if (status) return status;
  pthread_mutex_init(&r.lock, NULL);
  status = hvi_parallel_run(groups, plan->crew->threads, run_group, &r, err);
  pthread_mutex_destroy(&r.lock);
  return status;
}
