/*
 * The trainer: its settings, what it is made of, and one step of it.
 *
 * Environment step t (from 0) takes a uniformly random action while t < start and the actor's
 * after that; from t = start + 1 on the critics learn in every step, and the actor and the
 * temperature in those that `delay` divides.
 */
#include "rl/sac.h"
#include "base/base.h"

#include <hvi/version.h>

enum { MOST_HIDDEN = sizeof((hvi_sac_settings){0}.hidden) / sizeof(size_t) };

#define AT(member) .offset = offsetof(hvi_sac_settings, member)
HVI_ROWS(static const hvi_setting setting_rows[],
    {"seed", HVI_SETTING_SEED, AT(seed), .fallback = "1", .help = "of everything random"},
    {"threads", HVI_SETTING_COUNT, HVI_SETTING_NO_RESULT, AT(threads), .range = "[1,2]", .fallback = "1",
     .help = "2: the critics side by side; the result is the same"},
    {.name = "Learning"},
    {"gamma", HVI_SETTING_REAL, AT(gamma), .range = "[0,1)", .fallback = "0.99", .help = "discount"},
    {"tau", HVI_SETTING_REAL, AT(tau), .range = "(0,1]", .fallback = "0.005", .help = "how fast the target critics follow"},
    {"batch", HVI_SETTING_COUNT, AT(batch), .range = "[1,65536]", .fallback = "256", .help = "transitions of an update"},
    {"buffer", HVI_SETTING_COUNT, AT(buffer), .range = "[1,2147483648]", .fallback = "1000000", .help = "transitions kept"},
    {"start", HVI_SETTING_COUNT, AT(start), .fallback = "5000", .help = "steps with random actions before learning begins"},
    {"actor_lr", HVI_SETTING_REAL, AT(actor_lr), .range = "(0,inf)", .fallback = "3e-4", .help = "learning rate of the actor"},
    {"critic_lr", HVI_SETTING_REAL, AT(critic_lr), .range = "(0,inf)", .fallback = "1e-3", .help = "learning rate of the critics"},
    {"alpha_lr", HVI_SETTING_REAL, AT(alpha_lr), .range = "(0,inf)", .fallback = "1e-3", .help = "learning rate of the entropy's weight"},
    {"delay", HVI_SETTING_COUNT, AT(delay), .range = "[1,1000000]", .fallback = "2",
     .help = "steps between updates of the actor, which are then as many"},
    {"alpha", HVI_SETTING_REAL, AT(alpha), .range = "[0,inf)", .help = "a fixed weight of the entropy (0: automatic)"},
    {"target_entropy", HVI_SETTING_REAL, HVI_SETTING_NAN_IS_NONE, AT(target_entropy), .fallback = "none",
     .help = "entropy that the automatic weight aims at (none: minus the action's length)"},
    {"hidden", HVI_SETTING_COUNTS, AT(hidden), .second = offsetof(hvi_sac_settings, hidden_count), .most = MOST_HIDDEN,
     .range = "[1,65536]", .fallback = "256,256", .help = "widths of the hidden layers"},
    {0});

HVI_SETTINGS(sac, "SAC", hvi_sac_settings, setting_rows, .gamma = 0.0)

static float *take(hvi_arena *arena, size_t floats) {
  return (float *)hvi_arena_take(arena, (floats + 1) / 2);
}

static void take_learner(hvi_arena *arena, hvi_sac_learner *l, const hvi_net *net) {
  l->net = net;
  l->grad = take(arena, net->dim + HVI_NET_SLACK);
  l->first = take(arena, net->dim);
  l->second = take(arena, net->dim);
}

static void take_critic(hvi_arena *arena, hvi_sac_critic *c, const hvi_sac *sac) {
  const hvi_net *net = sac->critic_net;
  const size_t trace = hvi_net_trace(net, HVI_NET_ROWS);
  take_learner(arena, &c->learner, net);
  c->learner.weights = take(arena, net->weights);
  c->target = take(arena, net->weights);
  c->trace = take(arena, trace);
  c->deltas = take(arena, trace);
  c->packed = take(arena, trace);
  c->pull = take(arena, HVI_NET_ROWS);
  c->dx = take(arena, HVI_NET_ROWS * sac->act + HVI_NET_SLACK);
  c->q = take(arena, sac->settings.batch);
}

/* All arrays but the buffer's. Called twice: to count, and to take. */
static void take_all(hvi_sac *sac, hvi_arena *arena) {
  const size_t n = sac->settings.batch, act = sac->act;
  const size_t slices = (n + HVI_NET_ROWS - 1) / HVI_NET_ROWS;
  hvi_sac_batch *b = &sac->batch;
  const hvi_net *actor = sac->policy->net;
  take_learner(arena, &sac->actor, actor);
  sac->actor.weights = sac->policy->weights;
  for (size_t i = 0; i < 2; i++) take_critic(arena, &sac->critics[i], sac);
  b->x_row = hvi_net_aligned(sac->obs + act);
  b->x = take(arena, n * b->x_row + HVI_NET_SLACK);
  b->next = take(arena, n * b->x_row + HVI_NET_SLACK);
  b->reward = take(arena, n);
  b->future = take(arena, n);
  b->index = (uint32_t *)(void *)take(arena, n);
  sac->y = take(arena, n);
  float *squash = take(arena, hvi_squash_size(n, act));
  if (squash) hvi_squash_bind(&sac->squash, sac->policy, squash, n);
  sac->trace_size = hvi_net_aligned(hvi_net_trace(actor, HVI_NET_ROWS));
  sac->traces = take(arena, slices * sac->trace_size);
  sac->deltas = take(arena, sac->trace_size);
  sac->pull = take(arena, n * act);
  sac->dhead = take(arena, n * 2 * act + HVI_NET_SLACK);
  sac->now = hvi_arena_take(arena, sac->obs);
  sac->next = hvi_arena_take(arena, sac->obs);
  sac->action = hvi_arena_take(arena, act);
  sac->world = hvi_arena_take(arena, sac->env->state);
  sac->scratch = take(arena, hvi_policy_scratch(sac->policy, 1));
}

/* The networks, and memory for all. */
static hvi_status allocate(hvi_sac *sac, hvi_error *err) {
  const hvi_sac_settings *s = &sac->settings;
  size_t widths[MOST_HIDDEN + 1];
  memcpy(widths, s->hidden, s->hidden_count * sizeof *widths);
  widths[s->hidden_count] = 1;
  const hvi_net_spec critic = {
      sac->obs + sac->act, s->hidden_count + 1, widths, HVI_RELU, HVI_IDENTITY, NULL};
  HVI_TRY(hvi_policy_actor(&sac->policy, sac->obs, sac->act, s->hidden_count, s->hidden, HVI_RELU,
                           err));
  HVI_TRY(hvi_net_new(&sac->critic_net, &critic, err));
  hvi_arena arena = {0};
  take_all(sac, &arena);
  arena = (hvi_arena){.size = arena.used};
  arena.base = sac->memory = hvi_alloc_doubles(arena.size);
  if (!sac->memory) return hvi_error_memory(err, "the trainer");
  take_all(sac, &arena);
  sac->row = 2 * sac->obs + sac->act + 2;
  sac->block_count = (s->buffer + HVI_SAC_BLOCK - 1) / HVI_SAC_BLOCK;
  sac->blocks = hvi_alloc(sac->block_count, sizeof *sac->blocks);
  return sac->blocks ? HVI_OK : hvi_error_memory(err, "the replay buffer");
}

/* Weights, generators and the first episode. */
static void start(hvi_sac *sac) {
  const uint64_t seed = sac->settings.seed;
  for (size_t i = 0; i < 2; i++) {
    hvi_rng rng = hvi_rng_new(seed, "sac critic", i);
    float *weights = sac->critics[i].learner.weights;
    hvi_net_init_kaiming(sac->critic_net, weights, &rng);
    hvi_net_prepare(sac->critic_net, weights);
    memcpy(sac->critics[i].target, weights, sac->critic_net->weights * sizeof *weights);
  }
  hvi_rng rng = hvi_rng_new(seed, "sac actor", 0);
  hvi_net_init_kaiming(sac->actor.net, sac->actor.weights, &rng);
  hvi_net_prepare(sac->actor.net, sac->actor.weights);
  sac->generators = (hvi_sac_generators){.acting = hvi_rng_new(seed, "sac acting", 0),
                                         .world = hvi_rng_new(seed, "sac world", 0),
                                         .rows = hvi_rng_new(seed, "sac rows", 0),
                                         .noise = hvi_rng_new(seed, "sac noise", 0)};
  for (size_t j = 0; j < sac->act; j++) {
    sac->policy->scale[j] = (float)(0.5 * (sac->env->high - sac->env->low));
    sac->policy->shift[j] = (float)(0.5 * (sac->env->high + sac->env->low));
  }
  sac->target_entropy =
      isnan(sac->settings.target_entropy) ? -(float)sac->act : (float)sac->settings.target_entropy;
  sac->numbers = (hvi_sac_numbers){
      .last_return = NAN, .critic_loss = NAN, .actor_loss = NAN, .entropy = NAN, .q_mean = NAN};
  hvi_env_reset(sac->env, &sac->generators.world);
  hvi_env_observe(sac->env, sac->now);
}

hvi_status hvi_sac_new(hvi_sac **out, const hvi_env *env, const hvi_sac_settings *s,
                       hvi_error *err) {
  *out = NULL;
  HVI_TRY(hvi_setting_check(&table, s, err));
  if (!isfinite(env->low) || !isfinite(env->high))
    return hvi_error_unsupported(
        err, "SAC needs actions within a range, and those of '%s' have none", env->name);
  HVI_MAKE(hvi_sac, sac, "the trainer", err);
  sac->settings = *s;
  hvi_levels_add(sac->levels, NULL);
  sac->obs = env->obs;
  sac->act = env->act;
  HVI_TRY(hvi_env_clone(env, &sac->env, err));
  HVI_TRY(allocate(sac, err));
  start(sac);
  HVI_GIVE(out, sac);
}

void hvi_sac_free(hvi_sac *sac) {
  if (!sac) return;
  for (size_t i = 0; sac->blocks && i < sac->block_count; i++) hvi_free(sac->blocks[i]);
  hvi_free(sac->blocks);
  if (sac->device && sac->place == 0) sac->device->functions->free(sac->device);
  hvi_policy_free(sac->policy);
  hvi_net_free(sac->critic_net);
  hvi_env_free(sac->env);
  hvi_free(sac->memory);
  hvi_free(sac);
}

hvi_status hvi_sac_set_threads(hvi_sac *sac, size_t threads, hvi_error *err) {
  hvi_sac_settings s = sac->settings;
  s.threads = threads;
  HVI_TRY(hvi_setting_check(&table, &s, err));
  sac->settings = s;
  return HVI_OK;
}

hvi_status hvi_sac_reserve(hvi_sac *sac, size_t count, hvi_error *err) {
  for (size_t i = 0; i * HVI_SAC_BLOCK < count; i++) {
    if (sac->blocks[i]) continue;
    const size_t left = sac->settings.buffer - i * HVI_SAC_BLOCK;
    const size_t rows = left < HVI_SAC_BLOCK ? left : HVI_SAC_BLOCK;
    sac->blocks[i] = hvi_alloc(rows * sac->row, sizeof **sac->blocks);
    if (!sac->blocks[i])
      return hvi_error_set(err, HVI_ERROR_MEMORY,
                           "no memory for %zu transitions; choose a smaller replay buffer",
                           (i + 1) * HVI_SAC_BLOCK);
  }
  return HVI_OK;
}

float *hvi_sac_row(const hvi_sac *sac, size_t i) {
  return sac->blocks[i / HVI_SAC_BLOCK] + i % HVI_SAC_BLOCK * sac->row;
}

hvi_status hvi_sac_add(hvi_sac *sac, const double *obs, const double *action, double reward,
                       const double *next, bool terminated, hvi_error *err) {
  hvi_sac_counts *c = &sac->counts;
  if (!sac->blocks[c->place / HVI_SAC_BLOCK]) HVI_TRY(hvi_sac_reserve(sac, c->place + 1, err));
  float *to = hvi_sac_row(sac, c->place);
  for (size_t i = 0; i < sac->obs; i++) *to++ = (float)obs[i];
  for (size_t i = 0; i < sac->act; i++) *to++ = (float)action[i];
  *to++ = (float)reward;
  for (size_t i = 0; i < sac->obs; i++) *to++ = (float)next[i];
  *to = terminated ? 0.0F : 1.0F;
  c->place = (c->place + 1) % sac->settings.buffer;
  if (c->stored < sac->settings.buffer) c->stored++;
  return HVI_OK;
}

static hvi_status update(hvi_sac *sac, bool actor_too, hvi_error *err) {
  if (sac->device) HVI_TRY(hvi_sac_update_there(&sac, actor_too, err));
  if (!sac->device) hvi_sac_update_critics(sac);
  if (!sac->device && actor_too) hvi_sac_update_actor(sac);
  sac->counts.updates++;
  const hvi_sac_numbers *n = &sac->numbers;
  if (isfinite(n->critic_loss) && (!actor_too || isfinite(n->actor_loss))) return HVI_OK;
  return hvi_error_input(err,
                         "training is no longer finite at step %zu (critics' loss %g, actor's %g); "
                         "smaller learning rates may help",
                         sac->counts.step, n->critic_loss, n->actor_loss);
}

hvi_status hvi_sac_update(hvi_sac *sac, hvi_error *err) {
  if (sac->counts.stored == 0)
    return hvi_error_argument(err, "an update needs transitions in the buffer");
  return update(sac, sac->counts.updates % sac->settings.delay == 0, err);
}

static void finish_episode(hvi_sac *sac) {
  hvi_sac_numbers *n = &sac->numbers;
  hvi_sac_counts *c = &sac->counts;
  n->last_return = n->episode_return;
  c->last_length = c->length;
  n->recent[c->episodes % HVI_SAC_RECENT] = n->last_return;
  if (c->recent_count < HVI_SAC_RECENT) c->recent_count++;
  c->episodes++;
  n->episode_return = 0.0;
  c->length = 0;
  hvi_env_reset(sac->env, &sac->generators.world);
  hvi_env_observe(sac->env, sac->now);
}

/* A transition of a broken simulation is not kept; the episode ends with it. */
static hvi_status step_env(hvi_sac *sac, hvi_error *err) {
  const hvi_transition t = hvi_env_step(sac->env, sac->action, &sac->generators.world);
  hvi_status status = HVI_OK;
  sac->counts.length++;
  if (!t.broken) {
    hvi_env_observe(sac->env, sac->next);
    sac->numbers.episode_return += t.reward;
    status = hvi_sac_add(sac, sac->now, sac->action, t.reward, sac->next, t.terminated, err);
  }
  if (t.terminated || t.truncated || t.broken)
    finish_episode(sac);
  else
    memcpy(sac->now, sac->next, sac->obs * sizeof *sac->now);
  return status;
}

hvi_status hvi_sac_step(hvi_sac *sac, hvi_error *err) {
  const size_t t = sac->counts.step;
  hvi_rng *rng = &sac->generators.acting;
  if (t < sac->settings.start)
    hvi_rng_fill_uniform(rng, sac->env->low, sac->env->high, sac->act, sac->action);
  else
    hvi_policy_act(sac->policy, sac->scratch, 1, sac->now, rng, sac->action);
  const hvi_status status = step_env(sac, err);
  sac->counts.step++;
  if (status || t <= sac->settings.start || sac->counts.stored == 0) return status;
  return update(sac, t % sac->settings.delay == 0, err);
}

/* In the order of time, so that it does not matter where the ring begins. */
static double mean_of_recent(const hvi_sac *sac) {
  const size_t n = sac->counts.recent_count;
  double sum = 0.0;
  for (size_t i = 0; i < n; i++)
    sum += sac->numbers.recent[(sac->counts.episodes - n + i) % HVI_SAC_RECENT];
  return n ? sum / (double)n : NAN;
}

hvi_sac_report hvi_sac_state(const hvi_sac *sac) {
  const hvi_sac_numbers *n = &sac->numbers;
  return (hvi_sac_report){.step = sac->counts.step,
                          .updates = sac->counts.updates,
                          .episodes = sac->counts.episodes,
                          .last_return = n->last_return,
                          .mean_return = mean_of_recent(sac),
                          .last_length = sac->counts.last_length,
                          .critic_loss = n->critic_loss,
                          .actor_loss = n->actor_loss,
                          .alpha = (double)hvi_sac_alpha(sac),
                          .entropy = n->entropy,
                          .q_mean = n->q_mean};
}

const hvi_sac_settings *hvi_sac_settings_of(const hvi_sac *sac) { return &sac->settings; }

static hvi_status add_notes(hvi_policy *p, const hvi_sac *sac, hvi_error *err) {
  char seed[32], steps[32], gamma[HVI_NUMBER_SIZE];
  snprintf(seed, sizeof seed, "%llu", (unsigned long long)sac->settings.seed);
  snprintf(steps, sizeof steps, "%zu", sac->counts.step);
  hvi_number_format(gamma, sac->settings.gamma);
  const char *const notes[][2] = {
      {"env", sac->env->name}, {"algorithm", "sac"},   {"seed", seed},        {"steps", steps},
      {"gamma", gamma},        {"hvi", hvi_version()}, {"level", sac->levels}};
  for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
    HVI_TRY(hvi_policy_add_note(p, notes[i][0], notes[i][1], err));
  return HVI_OK;
}

hvi_status hvi_sac_policy(const hvi_sac *sac, hvi_policy **out, hvi_error *err) {
  const hvi_sac_settings *s = &sac->settings;
  *out = NULL;
  HVI_OWN_BY(hvi_policy_release) hvi_policy *p = NULL;
  HVI_TRY(hvi_policy_actor(&p, sac->obs, sac->act, s->hidden_count, s->hidden, HVI_RELU, err));
  HVI_TRY(add_notes(p, sac, err));
  memcpy(p->weights, sac->policy->weights, (p->net->weights + 2 * p->act) * sizeof *p->weights);
  HVI_GIVE(out, p);
}
