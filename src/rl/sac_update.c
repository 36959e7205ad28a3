/*
 * One step of the critics, and steps of the actor and of the temperature on the same batch. With
 * a' ~ pi(.|s') and the slow copies Q',
 *
 *   y = r + gamma f (min_i Q'_i(s', a') - alpha log pi(a'|s')),     f = 0 where s' is terminal
 *   loss_i = 1/B sum (Q_i(s, a) - y)^2,     dloss_i/dQ = 2/B (Q - y)
 *
 * A time limit is no end: f stays 1 there, since the state has a future all the same. The twins
 * share y and nothing else, so each may have a thread. With a sampled afresh from pi(.|s) through
 * its noise,
 *
 *   loss = 1/B sum (alpha log pi(a|s) - min_i Q_i(s, a))
 *   loss_alpha = -exp(log alpha) 1/B sum (log pi(a'|s) + target),     a' from the moved actor
 *
 * As many of both as there are environment steps between them. Only the smaller critic of a row
 * passes a gradient, so each one pulls back its own rows alone, packed together.
 */
#include "base/base.h"
#include "rl/sac.h"

#include "base/parallel.h"

static const double BETA1 = 0.9, BETA2 = 0.999, EPSILON = 1e-8;

void hvi_sac_draw(hvi_sac *sac) {
  const hvi_sac_batch *b = &sac->batch;
  const size_t n = sac->settings.batch, pair = sac->obs + sac->act;
  for (size_t i = 0; i < n; i++)
    b->index[i] =
        (uint32_t)((uint64_t)hvi_rng_u32(&sac->generators.rows) * sac->counts.stored >> 32);
  for (size_t i = 0; i < n; i++) {
    const float *row = hvi_sac_row(sac, b->index[i]);
    memcpy(b->x + i * b->x_row, row, pair * sizeof *row);
    b->reward[i] = row[pair];
    memcpy(b->next + i * b->x_row, row + pair + 1, sac->obs * sizeof *row);
    b->future[i] = row[sac->row - 1];
  }
}

/* Networks see a batch in slices, each under both critics; `next`: in the states that follow, under
 * the slow copies. */
typedef struct slice {
  hvi_sac *sac;
  bool next;
  size_t at, rows;
} slice;

static slice slice_at(hvi_sac *sac, size_t at, bool next) {
  const size_t left = sac->settings.batch - at;
  return (slice){sac, next, at, left < HVI_NET_ROWS ? left : HVI_NET_ROWS};
}

float hvi_sac_alpha(const hvi_sac *sac) {
  if (sac->settings.alpha > 0.0) return (float)sac->settings.alpha;
  return (float)exp((double)sac->temperature.log_alpha);
}

/* The step of Adam number `steps`, counted from one. */
static hvi_adam_step adam_step(double lr, size_t steps) {
  return (hvi_adam_step){.beta1 = (float)BETA1,
                         .beta2 = (float)BETA2,
                         .epsilon = (float)EPSILON,
                         .rate = (float)(lr / (1.0 - pow(BETA1, (double)steps))),
                         .scale = (float)(1.0 / (1.0 - pow(BETA2, (double)steps))),
                         .keep = 1.0F};
}

/* One Adam step of a learner from its gradient. */
static void learn(hvi_sac_learner *l, double lr, size_t steps) {
  const hvi_net *net = l->net;
  const hvi_adam_step s = adam_step(lr, steps);
  net->kernels->adam(l->weights, l->first, l->second, l->grad, net->dim, &s);
  hvi_net_prepare(net, l->weights);
}

/* Fills the traces and the squash with the actor's output on x[batch][x_row], unless they are
 * there already (`fresh`), and then draws actions: action[batch], x_row apart, with their log_prob
 * in the squash. */
static void sample(hvi_sac *sac, const float *x, bool fresh, float *action) {
  const hvi_net *net = sac->actor.net;
  const size_t n = sac->settings.batch;
  float *trace = sac->traces;
  for (size_t at = 0; at < n; at += HVI_NET_ROWS, trace += sac->trace_size) {
    const size_t rows = slice_at(sac, at, false).rows, x_row = sac->batch.x_row;
    if (!fresh) hvi_net_forward(net, sac->actor.weights, rows, x + at * x_row, x_row, trace);
    hvi_squash_read(&sac->squash, hvi_net_output(net, trace, rows, net->layer_count - 1), at, rows);
  }
  net->kernels->normals(sac->squash.noise, n * sac->act, &sac->generators.noise);
  hvi_squash_sample(&sac->squash, n, action, sac->batch.x_row);
  hvi_squash_log_prob(&sac->squash, n);
}

/* A critic's q of a slice; the trace stays. */
static hvi_status judge(void *context, size_t side, size_t worker, hvi_error *err) {
  (void)worker, (void)err;
  const slice *s = context;
  const hvi_net *net = s->sac->critic_net;
  const hvi_sac_batch *b = &s->sac->batch;
  hvi_sac_critic *c = &s->sac->critics[side];
  const float *weights = s->next ? c->target : c->learner.weights, *x = s->next ? b->next : b->x;
  hvi_net_forward(net, weights, s->rows, x + s->at * b->x_row, b->x_row, c->trace);
  memcpy(c->q + s->at, hvi_net_output(net, c->trace, s->rows, net->layer_count - 1),
         s->rows * sizeof *c->q);
  return HVI_OK;
}

static void add_gradient(const slice *s, hvi_sac_critic *c) {
  const hvi_sac *sac = s->sac;
  const float share = 2.0F / (float)sac->settings.batch;
  for (size_t i = 0; i < s->rows; i++) {
    const float error = c->q[s->at + i] - sac->y[s->at + i];
    c->pull[i] = share * error;
    c->loss += (double)error * (double)error;
  }
  const hvi_net_pull pull = {.dy = c->pull, .deltas = c->deltas, .grad = c->learner.grad};
  hvi_net_backward(sac->critic_net, c->learner.weights, s->rows,
                   sac->batch.x + s->at * sac->batch.x_row, sac->batch.x_row, c->trace, &pull);
}

static hvi_status fit(void *context, size_t side, size_t worker, hvi_error *err) {
  hvi_sac *sac = context;
  const hvi_net *net = sac->critic_net;
  hvi_sac_critic *c = &sac->critics[side];
  hvi_sac_learner *l = &c->learner;
  c->loss = 0.0;
  memset(l->grad, 0, net->dim * sizeof *l->grad);
  for (size_t at = 0; at < sac->settings.batch; at += HVI_NET_ROWS) {
    slice s = slice_at(sac, at, false);
    judge(&s, side, worker, err);
    add_gradient(&s, c);
  }
  learn(l, sac->settings.critic_lr, ++sac->counts.critic_steps[side]);
  net->kernels->follow(c->target, l->weights, net->dim, (float)sac->settings.tau);
  hvi_net_prepare(net, c->target);
  return HVI_OK;
}

void hvi_sac_targets(hvi_sac *sac) {
  const float gamma = (float)sac->settings.gamma, alpha = hvi_sac_alpha(sac);
  const float *q1 = sac->critics[0].q, *q2 = sac->critics[1].q;
  for (size_t i = 0; i < sac->settings.batch; i++) {
    const float least = q1[i] <= q2[i] ? q1[i] : q2[i];
    sac->y[i] = sac->batch.reward[i] +
                gamma * sac->batch.future[i] * (least - alpha * sac->squash.log_prob[i]);
  }
}

void hvi_sac_update_critics(hvi_sac *sac) {
  const size_t n = sac->settings.batch;
  hvi_sac_draw(sac);
  sample(sac, sac->batch.next, false, sac->batch.next + sac->obs);
  for (size_t at = 0; at < n; at += HVI_NET_ROWS) {
    slice s = slice_at(sac, at, true);
    hvi_parallel_run(2, sac->settings.threads, judge, &s, NULL);
  }
  hvi_sac_targets(sac);
  hvi_parallel_run(2, sac->settings.threads, fit, sac, NULL);
  double q_sum = 0.0;
  for (size_t i = 0; i < n; i++) q_sum += (double)sac->critics[0].q[i];
  sac->numbers.q_mean = q_sum / (double)n;
  sac->numbers.critic_loss = 0.5 * (sac->critics[0].loss + sac->critics[1].loss) / (double)n;
  sac->traces_fresh = false;
}

static size_t smaller(const hvi_sac *sac, size_t i) {
  return sac->critics[0].q[i] <= sac->critics[1].q[i] ? 0U : 1U;
}

/* dQ/daction of the rows where this critic is the smaller one, from their hidden layers' outputs. */
static hvi_status pull_back(void *context, size_t side, size_t worker, hvi_error *err) {
  (void)worker, (void)err;
  const slice *s = context;
  const hvi_sac *sac = s->sac;
  const hvi_net *net = sac->critic_net;
  const hvi_sac_critic *c = &sac->critics[side];
  size_t own[HVI_NET_ROWS], count = 0;
  for (size_t i = 0; i < s->rows; i++)
    if (smaller(sac, s->at + i) == side) own[count++] = i;
  if (count == 0) return HVI_OK;
  for (size_t l = 0; l + 1 < net->layer_count; l++) {
    const size_t width = net->layers[l].out;
    const float *from = hvi_net_output(net, c->trace, s->rows, l);
    float *to = hvi_net_output(net, c->packed, count, l);
    for (size_t k = 0; k < count; k++)
      memcpy(to + k * width, from + own[k] * width, width * sizeof *to);
  }
  for (size_t k = 0; k < count; k++) c->pull[k] = -1.0F / (float)sac->settings.batch;
  const hvi_net_pull pull = {
      .dy = c->pull, .deltas = c->deltas, .dx = c->dx, .dx_first = sac->obs, .dx_count = sac->act};
  hvi_net_backward(net, c->learner.weights, count, sac->batch.x, sac->batch.x_row, c->packed,
                   &pull);
  for (size_t k = 0; k < count; k++)
    memcpy(sac->pull + (s->at + own[k]) * sac->act, c->dx + k * sac->act, sac->act * sizeof *c->dx);
  return HVI_OK;
}

static void step_actor(hvi_sac *sac) {
  const hvi_net *net = sac->actor.net;
  const size_t n = sac->settings.batch;
  const float alpha = hvi_sac_alpha(sac);
  hvi_sac_learner *l = &sac->actor;
  sample(sac, sac->batch.x, sac->traces_fresh, sac->batch.x + sac->obs);
  for (size_t at = 0; at < n; at += HVI_NET_ROWS) {
    slice s = slice_at(sac, at, false);
    hvi_parallel_run(2, sac->settings.threads, judge, &s, NULL);
    hvi_parallel_run(2, sac->settings.threads, pull_back, &s, NULL);
  }
  double loss = 0.0, log_prob = 0.0;
  for (size_t i = 0; i < n; i++) {
    loss += (double)(alpha * sac->squash.log_prob[i] - sac->critics[smaller(sac, i)].q[i]);
    log_prob += (double)sac->squash.log_prob[i];
  }
  sac->numbers.actor_loss = loss / (double)n;
  sac->numbers.entropy = -log_prob / (double)n;
  hvi_squash_pull(&sac->squash, n, alpha / (float)n, sac->pull, sac->dhead);
  memset(l->grad, 0, net->dim * sizeof *l->grad);
  const float *trace = sac->traces;
  for (size_t at = 0; at < n; at += HVI_NET_ROWS, trace += sac->trace_size) {
    const hvi_net_pull pull = {
        .dy = sac->dhead + at * net->out, .deltas = sac->deltas, .grad = l->grad};
    hvi_net_backward(net, l->weights, slice_at(sac, at, false).rows,
                     sac->batch.x + at * sac->batch.x_row, sac->batch.x_row, trace, &pull);
  }
  learn(l, sac->settings.actor_lr, ++sac->counts.actor_steps);
  sac->traces_fresh = false;
}

/* The moved actor's pass over the batch serves the next step of the actor as well. */
static void step_temperature(hvi_sac *sac) {
  const size_t n = sac->settings.batch;
  hvi_sac_temperature *t = &sac->temperature;
  sample(sac, sac->batch.x, false, sac->batch.x + sac->obs);
  sac->traces_fresh = true;
  double sum = 0.0;
  for (size_t i = 0; i < n; i++) sum += (double)(sac->squash.log_prob[i] + sac->target_entropy);
  const float grad = (float)(-(double)hvi_sac_alpha(sac) * sum / (double)n);
  const hvi_adam_step s = adam_step(sac->settings.alpha_lr, ++sac->counts.alpha_steps);
  sac->actor.net->kernels->adam(&t->log_alpha, &t->first, &t->second, &grad, 1, &s);
}

void hvi_sac_update_actor(hvi_sac *sac) {
  for (size_t k = 0; k < sac->settings.delay; k++) {
    step_actor(sac);
    if (sac->settings.alpha == 0.0) step_temperature(sac);
  }
}

/* Trainers whose networks learn on a device (gpu/sac.h): what they have goes there, and how they draw.
 */

static hvi_device_sac_shape shape_of(const hvi_sac *sac) {
  const hvi_sac_settings *s = &sac->settings;
  hvi_device_sac_shape z = {.obs = sac->obs, .act = sac->act, .batch = s->batch};
  z.delay = s->delay, z.hidden_count = s->hidden_count, z.hidden = s->hidden;
  z.scale = sac->policy->scale[0], z.shift = sac->policy->shift[0];
  z.gamma = (float)s->gamma, z.tau = (float)s->tau;
  z.alpha = (float)s->alpha, z.target_entropy = sac->target_entropy;
  z.actor_lr = s->actor_lr, z.critic_lr = s->critic_lr, z.alpha_lr = s->alpha_lr;
  return z;
}

static void give(float **to, const hvi_sac_learner *l) {
  to[0] = l->weights, to[1] = l->first, to[2] = l->second;
}

static hvi_status attach(hvi_sac *sac, hvi_device_sac *device, size_t i, hvi_error *err) {
  hvi_device_trainer *t = &device->of[i];
  hvi_sac_batch *b = &sac->batch;
  sac->device = device, sac->place = i;
  give(t->actor, &sac->actor);
  for (size_t c = 0; c < 2; c++) {
    give(t->critics[c], &sac->critics[c].learner);
    t->critics[c][3] = sac->critics[c].target;
  }
  t->temperature = &sac->temperature.log_alpha, t->numbers = &sac->numbers.critic_loss;
  t->actor_steps = &sac->counts.actor_steps, t->critic_steps = sac->counts.critic_steps;
  t->alpha_steps = &sac->counts.alpha_steps;
  *b = (hvi_sac_batch){t->x, t->next, t->x_row, t->reward, t->future, b->index};
  hvi_levels_add(sac->levels, hvi_gang_about(sac->gang)->level);
  return hvi_gang_note(sac->gang, device->functions->move(device, i, true, err), err);
}

hvi_status hvi_sac_attach(hvi_sac *const *all, size_t count, hvi_gang *gang, hvi_error *err) {
  const hvi_device_sac_shape shape = shape_of(all[0]);
  hvi_device *d;
  hvi_device_sac *s;
  if (shape.hidden_count == 0 || shape.delay > HVI_DEVICE_SAC_DELAY)
    return hvi_error_unsupported(err, "a GPU needs a hidden layer, and a delay of at most %d",
                                 (int)HVI_DEVICE_SAC_DELAY);
  HVI_TRY(
      hvi_gang_note(gang, hvi_gang_device(gang, &d)->sac->make(&s, d, &shape, count, err), err));
  for (size_t i = 0; i < count; i++) all[i]->gang = gang;
  for (size_t i = 0; i < count; i++) HVI_TRY(attach(all[i], s, i, err));
  return HVI_OK;
}

/* Batches and noise are drawn in the order of the CPU. */
hvi_status hvi_sac_update_there(hvi_sac *const *all, bool actor_too, hvi_error *err) {
  hvi_device_sac *device = all[0]->device;
  const hvi_sac_settings *s = &all[0]->settings;
  const size_t n = s->batch * all[0]->act, of_step = s->alpha == 0.0 ? 2 : 1;
  for (size_t i = 0; i < device->count; i++) {
    hvi_sac_draw(all[i]);
    for (size_t k = 0; k < 1 + (actor_too ? s->delay * of_step : 0); k++)
      all[i]->actor.net->kernels->normals(device->of[i].noise + k * n, n,
                                          &all[i]->generators.noise);
  }
  HVI_TRY(hvi_gang_note(all[0]->gang, device->functions->update(device, actor_too, err), err));
  for (size_t i = 0; actor_too && i < device->count; i++)
    hvi_net_prepare(all[i]->actor.net, all[i]->actor.weights);
  return HVI_OK;
}

hvi_status hvi_sac_fetch(const hvi_sac *sac, hvi_error *err) {
  const hvi_status status = sac->device->functions->move(sac->device, sac->place, false, err);
  return hvi_gang_note(sac->gang, status, err);
}
