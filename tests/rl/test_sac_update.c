/*
 * Whole updates against a reference in double precision that shares no formula for a derivative:
 * its gradients are central differences of the losses as they are written down. The random numbers
 * are the trainer's own, drawn from copies of its generators.
 */
#include "rl/walk_env.h"
#include "support/check.h"

#include "rl/sac.h"

enum { BATCH = 4, WIDTH = 8, MOST = 256, IN = WALK_OBS + WALK_ACT };

static const double SCALE = 2.0, SHIFT = 1.0; /* of actions in [-1, 3] */

typedef struct learner {
  size_t dim;
  double theta[MOST], first[MOST], second[MOST];
  int steps;
} learner;

typedef struct reference {
  learner actor, critic[2], alpha; /* alpha's theta is log alpha */
  double target[2][MOST];
  double x[BATCH][WALK_OBS], a[BATCH][WALK_ACT], r[BATCH], next[BATCH][WALK_OBS], future[BATCH];
  double noise[BATCH][WALK_ACT];
  double y[BATCH];
  double critic_loss, actor_loss, entropy;
} reference;

/* An input, two relu layers, a linear head: parameters as PyTorch flattens them. */
static void net(double *out, size_t n_out, const double *theta, const double *x, size_t n_in) {
  double from[16], to[16];
  const size_t widths[] = {WIDTH, WIDTH, n_out};
  memcpy(from, x, n_in * sizeof *x);
  for (size_t l = 0, in = n_in; l < 3; l++) {
    const double *bias = theta + widths[l] * in;
    for (size_t o = 0; o < widths[l]; o++) {
      to[o] = bias[o];
      for (size_t i = 0; i < in; i++) to[o] += theta[o * in + i] * from[i];
      if (l < 2 && to[o] < 0.0) to[o] = 0.0;
    }
    theta = bias + widths[l];
    in = widths[l];
    memcpy(from, to, in * sizeof *to);
  }
  memcpy(out, from, n_out * sizeof *out);
}

static double q_of(const double *theta, const double *x, const double *a) {
  double in[IN], q;
  memcpy(in, x, WALK_OBS * sizeof *x);
  memcpy(in + WALK_OBS, a, WALK_ACT * sizeof *a);
  net(&q, 1, theta, in, IN);
  return q;
}

/* The action for this noise, and its log-probability by the normal density of u. */
static double act(double *a, const double *theta, const double *x, const double *noise) {
  double head[2 * WALK_ACT], log_prob = 0.0;
  net(head, 2 * WALK_ACT, theta, x, WALK_OBS);
  for (size_t j = 0; j < WALK_ACT; j++) {
    const double log_std = -5.0 + 0.5 * (2.0 - -5.0) * (tanh(head[WALK_ACT + j]) + 1.0);
    const double std = exp(log_std), u = head[j] + std * noise[j], y = tanh(u);
    const double z = (u - head[j]) / std;
    a[j] = SCALE * y + SHIFT;
    log_prob += -0.5 * z * z - log(std) - 0.5 * log(2.0 * acos(-1.0));
    log_prob -= log(SCALE * (1.0 - y * y) + 1e-6);
  }
  return log_prob;
}

static double critic_loss(const reference *r, const double *theta) {
  double sum = 0.0;
  for (size_t i = 0; i < BATCH; i++) {
    const double e = q_of(theta, r->x[i], r->a[i]) - r->y[i];
    sum += e * e;
  }
  return sum / BATCH;
}

static double actor_loss(const reference *r, const double *theta) {
  double sum = 0.0, a[WALK_ACT];
  for (size_t i = 0; i < BATCH; i++) {
    const double log_prob = act(a, theta, r->x[i], r->noise[i]);
    sum += exp(r->alpha.theta[0]) * log_prob -
           fmin(q_of(r->critic[0].theta, r->x[i], a), q_of(r->critic[1].theta, r->x[i], a));
  }
  return sum / BATCH;
}

static double mean_log_prob(const reference *r) {
  double sum = 0.0, a[WALK_ACT];
  for (size_t i = 0; i < BATCH; i++) sum += act(a, r->actor.theta, r->x[i], r->noise[i]);
  return sum / BATCH;
}

static double alpha_loss(const reference *r, const double *log_alpha) {
  return -exp(log_alpha[0]) * (mean_log_prob(r) - WALK_ACT);
}

/* Adam on a loss whose gradient nobody has worked out. */
static void descend(const reference *r, learner *l, double lr,
                    double (*loss)(const reference *, const double *)) {
  double theta[MOST], grad[MOST];
  const double h = 1e-6;
  memcpy(theta, l->theta, sizeof theta);
  for (size_t i = 0; i < l->dim; i++) {
    theta[i] = l->theta[i] + h;
    const double above = loss(r, theta);
    theta[i] = l->theta[i] - h;
    grad[i] = (above - loss(r, theta)) / (2.0 * h);
    theta[i] = l->theta[i];
  }
  l->steps++;
  for (size_t i = 0; i < l->dim; i++) {
    l->first[i] = 0.9 * l->first[i] + 0.1 * grad[i];
    l->second[i] = 0.999 * l->second[i] + 0.001 * grad[i] * grad[i];
    const double m = l->first[i] / (1.0 - pow(0.9, l->steps));
    const double v = l->second[i] / (1.0 - pow(0.999, l->steps));
    l->theta[i] -= lr * m / (sqrt(v) + 1e-8);
  }
}

static void copy_floats(double *to, const float *from, size_t n) {
  for (size_t i = 0; i < n; i++) to[i] = (double)from[i];
}

static void start_learner(learner *l, const hvi_sac_learner *from) {
  assert_true(from->net->dim <= MOST);
  l->dim = from->net->dim;
  copy_floats(l->theta, from->weights, l->dim);
}

static void draw_batch(reference *r, const hvi_sac *sac, hvi_rng *rows) {
  for (size_t i = 0; i < BATCH; i++) {
    const size_t at = (size_t)((uint64_t)hvi_rng_u32(rows) * sac->counts.stored >> 32);
    const float *row = hvi_sac_row(sac, at);
    copy_floats(r->x[i], row, WALK_OBS);
    copy_floats(r->a[i], row + WALK_OBS, WALK_ACT);
    r->r[i] = (double)row[IN];
    copy_floats(r->next[i], row + IN + 1, WALK_OBS);
    r->future[i] = (double)row[IN + 1 + WALK_OBS];
  }
}

static void draw_noise(reference *r, const hvi_sac *sac, hvi_rng *rng) {
  float noise[BATCH * WALK_ACT];
  sac->actor.net->kernels->normals(noise, BATCH * WALK_ACT, rng);
  copy_floats(&r->noise[0][0], noise, BATCH * WALK_ACT);
}

/* One update as published; from copies of the trainer's generators. */
static void update(reference *r, const hvi_sac *sac, hvi_sac_generators g, bool actor_too) {
  const hvi_sac_settings *s = &sac->settings;
  draw_batch(r, sac, &g.rows);
  draw_noise(r, sac, &g.noise);
  for (size_t i = 0; i < BATCH; i++) {
    double a[WALK_ACT];
    const double log_prob = act(a, r->actor.theta, r->next[i], r->noise[i]);
    const double q = fmin(q_of(r->target[0], r->next[i], a), q_of(r->target[1], r->next[i], a));
    r->y[i] = r->r[i] + s->gamma * r->future[i] * (q - exp(r->alpha.theta[0]) * log_prob);
  }
  r->critic_loss = 0.0;
  for (size_t k = 0; k < 2; k++) {
    r->critic_loss += 0.5 * critic_loss(r, r->critic[k].theta);
    descend(r, &r->critic[k], s->critic_lr, critic_loss);
    for (size_t i = 0; i < r->critic[k].dim; i++)
      r->target[k][i] = (1.0 - s->tau) * r->target[k][i] + s->tau * r->critic[k].theta[i];
  }
  for (size_t k = 0; actor_too && k < s->delay; k++) {
    draw_noise(r, sac, &g.noise);
    r->actor_loss = actor_loss(r, r->actor.theta);
    r->entropy = -mean_log_prob(r);
    descend(r, &r->actor, s->actor_lr, actor_loss);
    draw_noise(r, sac, &g.noise);
    descend(r, &r->alpha, s->alpha_lr, alpha_loss);
  }
}

static void compare(const double *x, const float *y, size_t n) {
  double wide[MOST];
  copy_floats(wide, y, n);
  check_close(wide, x, n, 2e-5);
}

static void compare_all(const reference *r, const hvi_sac *sac) {
  compare(r->actor.theta, sac->actor.weights, r->actor.dim);
  for (size_t k = 0; k < 2; k++) {
    compare(r->critic[k].theta, sac->critics[k].learner.weights, r->critic[k].dim);
    compare(r->target[k], sac->critics[k].target, r->critic[k].dim);
  }
  compare(r->alpha.theta, &sac->temperature.log_alpha, 1);
  check_near(sac->numbers.critic_loss, r->critic_loss, 1e-4 * (1.0 + r->critic_loss));
  if (r->actor.steps == 0) return;
  check_near(sac->numbers.actor_loss, r->actor_loss, 1e-4 * (1.0 + fabs(r->actor_loss)));
  check_near(sac->numbers.entropy, r->entropy, 1e-4 * (1.0 + fabs(r->entropy)));
}

static hvi_sac *new_trainer(uint64_t seed) {
  hvi_error err;
  hvi_env *env;
  hvi_sac *sac;
  hvi_sac_settings s = hvi_sac_defaults();
  s.batch = BATCH;
  s.buffer = 64;
  s.start = 40;
  s.hidden[0] = s.hidden[1] = WIDTH;
  s.seed = seed;
  s.actor_lr = 5e-3; /* large, so that a wrong step shows */
  s.critic_lr = s.alpha_lr = 1e-2;
  s.tau = 0.1;
  check_ok(walk_new(&env, &err), &err);
  check_ok(hvi_sac_new(&sac, env, &s, &err), &err);
  hvi_env_free(env);
  return sac;
}

/* Steps of the environment, each with its update: both phases of the delay, several times. */
static void updates_are_as_published(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 5; seed++) {
    hvi_error err;
    hvi_sac *sac = new_trainer(seed);
    while (sac->counts.step <= sac->settings.start) check_ok(hvi_sac_step(sac, &err), &err);
    assert_int_equal(sac->counts.updates, 0);
    reference r = {.alpha = {.dim = 1}};
    start_learner(&r.actor, &sac->actor);
    for (size_t k = 0; k < 2; k++) {
      start_learner(&r.critic[k], &sac->critics[k].learner);
      memcpy(r.target[k], r.critic[k].theta, sizeof r.target[k]);
    }
    for (int n = 0; n < 6; n++) {
      const hvi_sac_generators g = sac->generators;
      const bool actor_too = sac->counts.step % 2 == 0;
      check_ok(hvi_sac_step(sac, &err), &err);
      update(&r, sac, g, actor_too); /* the buffer holds the new transition, as it did */
      compare_all(&r, sac);
    }
    assert_int_equal(r.actor.steps, 6);
    hvi_sac_free(sac);
  }
}

/* The end of an episode counts when it is an end, and not when the clock ran out. */
static void time_limits_are_no_ends(void **state) {
  (void)state;
  hvi_error err;
  hvi_sac *sac = new_trainer(3);
  size_t ends = 0, limits = 0;
  for (size_t i = 0; i < 40; i++) {
    const uint64_t episodes = sac->counts.episodes;
    check_ok(hvi_sac_step(sac, &err), &err);
    const float *row = hvi_sac_row(sac, i);
    const bool ended = fabs((double)row[IN + 1]) > 1.5, over = sac->counts.episodes > episodes;
    assert_true(row[IN + 1 + WALK_OBS] == (ended ? 0.0F : 1.0F));
    assert_true(!ended || over);
    ends += ended;
    limits += over && !ended;
  }
  assert_true(ends > 0);
  assert_true(limits > 0);
  hvi_sac_free(sac);

  float reward[] = {1.0F, 1.0F}, future[] = {1.0F, 0.0F};
  float q1[] = {4.0F, 4.0F}, q2[] = {3.0F, 5.0F}, log_prob[] = {-2.0F, -2.0F};
  float y[2];
  hvi_sac two = {.settings = {.batch = 2, .gamma = 0.5, .alpha = 0.25},
                 .batch = {.reward = reward, .future = future},
                 .critics = {{.q = q1}, {.q = q2}},
                 .squash = {.log_prob = log_prob},
                 .y = y};
  hvi_sac_targets(&two);
  assert_true(y[0] == 1.0F + 0.5F * (3.0F + 0.5F));
  assert_true(y[1] == 1.0F);
}

/* Of a batch larger than a slice: the gradient is that of all rows. */
static void slices_make_one_batch(void **state) {
  (void)state;
  hvi_error err;
  hvi_env *env;
  hvi_sac *whole, *cut;
  hvi_sac_settings s = hvi_sac_defaults();
  s.start = 30;
  s.buffer = 100;
  s.hidden[0] = s.hidden[1] = WIDTH;
  s.batch = HVI_NET_ROWS + 100;
  check_ok(walk_new(&env, &err), &err);
  check_ok(hvi_sac_new(&cut, env, &s, &err), &err);
  for (int i = 0; i < 30; i++) check_ok(hvi_sac_step(cut, &err), &err);
  hvi_sac_update_critics(cut);
  double direct = 0.0;
  for (size_t i = 0; i < s.batch; i++) {
    const double e = (double)cut->critics[0].q[i] - (double)cut->y[i];
    direct += e * e / (double)s.batch;
  }
  check_near(cut->critics[0].loss / (double)s.batch, direct, 1e-6 * direct);
  /* the last layer's bias has the mean of 2 (Q - y) as its gradient */
  double mean = 0.0;
  for (size_t i = 0; i < s.batch; i++)
    mean += 2.0 * ((double)cut->critics[0].q[i] - (double)cut->y[i]) / (double)s.batch;
  const size_t bias = cut->critic_net->layers[2].bias;
  check_near((double)cut->critics[0].learner.grad[bias], mean, 1e-5 * (1.0 + fabs(mean)));
  hvi_sac_update_actor(cut);
  assert_true(isfinite(cut->numbers.actor_loss));
  s.batch = HVI_NET_ROWS;
  check_ok(hvi_sac_new(&whole, env, &s, &err), &err);
  for (int i = 0; i < 30; i++) check_ok(hvi_sac_step(whole, &err), &err);
  hvi_sac_update_critics(whole);
  /* the same generators: the first slice is the same rows */
  for (size_t i = 0; i < HVI_NET_ROWS; i++)
    assert_true(whole->batch.reward[i] == cut->batch.reward[i]);
  hvi_sac_free(whole);
  hvi_sac_free(cut);
  hvi_env_free(env);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(updates_are_as_published),
      cmocka_unit_test(time_limits_are_no_ends),
      cmocka_unit_test(slices_make_one_batch),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
