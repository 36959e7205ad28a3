/*
 * Steps of the actor and of the temperature on the batch that the critics have just seen. With a
 * sampled afresh from pi(.|s) through its noise,
 *
 *   loss = 1/B sum (alpha log pi(a|s) - min_i Q_i(s, a))
 *   loss_alpha = -exp(log alpha) 1/B sum (log pi(a'|s) + target),     a' from the moved actor
 *
 * As many of both as there are environment steps between them. Only the smaller critic of a row
 * passes a gradient, so each one pulls back its own rows alone, packed together.
 */
#include "rl/sac_parts.h"

#include <math.h>
#include <string.h>

void hvi_sac_sample(hvi_sac *sac, const float *x, bool fresh, float *action) {
  const hvi_net *net = sac->actor_net;
  const size_t n = sac->settings.batch;
  float *trace = sac->traces;
  for (size_t at = 0; at < n; at += HVI_NET_ROWS, trace += sac->trace_size) {
    const size_t rows = hvi_sac_slice(sac, at);
    if (!fresh) {
      hvi_net_forward(net, sac->actor.weights, rows, x + at * sac->batch.x_row, sac->batch.x_row,
                      trace);
    }
    hvi_squash_read(&sac->squash, hvi_net_output(net, trace, rows, net->layer_count - 1), at, rows);
  }
  net->kernels->normals(sac->squash.noise, n * sac->act, &sac->generators.noise);
  hvi_squash_sample(&sac->squash, n, action, sac->batch.x_row);
  hvi_squash_log_prob(&sac->squash, n);
}

/* A slice of the batch, under both critics. */
typedef struct slice {
  hvi_sac *sac;
  size_t at, rows;
} slice;

static void judge(void *context, size_t side) {
  const slice *s = context;
  hvi_sac *sac = s->sac;
  hvi_sac_critic *c = &sac->critics[side];
  hvi_sac_judge(sac, c, c->learner.weights, sac->batch.x, s->at, s->rows);
}

static size_t smaller(const hvi_sac *sac, size_t i) {
  return sac->critics[0].q[i] <= sac->critics[1].q[i] ? 0U : 1U;
}

/* The hidden layers' outputs of the rows where this critic is the smaller one. */
static void pack(const slice *s, size_t side, size_t count) {
  const hvi_net *net = s->sac->critic_net;
  hvi_sac_critic *c = &s->sac->critics[side];
  for (size_t l = 0; l + 1 < net->layer_count; l++) {
    const size_t width = net->layers[l].out;
    const float *from = hvi_net_output(net, c->trace, s->rows, l);
    float *to = hvi_net_output(net, c->packed, count, l);
    for (size_t i = 0; i < s->rows; i++) {
      if (smaller(s->sac, s->at + i) != side) continue;
      memcpy(to, from + i * width, width * sizeof *to);
      to += width;
    }
  }
}

static void pull_back(void *context, size_t side) {
  const slice *s = context;
  hvi_sac *sac = s->sac;
  hvi_sac_critic *c = &sac->critics[side];
  size_t count = 0;
  for (size_t i = 0; i < s->rows; i++) count += smaller(sac, s->at + i) == side ? 1 : 0;
  if (count == 0) return;
  pack(s, side, count);
  for (size_t i = 0; i < count; i++) c->pull[i] = -1.0F / (float)sac->settings.batch;
  const hvi_net_pull pull = {
      .dy = c->pull, .deltas = c->deltas, .dx = c->dx, .dx_first = sac->obs, .dx_count = sac->act};
  hvi_net_backward(sac->critic_net, c->learner.weights, count, sac->batch.x, sac->batch.x_row,
                   c->packed, &pull);
  const float *from = c->dx;
  for (size_t i = s->at; i < s->at + s->rows; i++) {
    if (smaller(sac, i) != side) continue;
    memcpy(sac->pull + i * sac->act, from, sac->act * sizeof *from);
    from += sac->act;
  }
}

static void note_loss(hvi_sac *sac, float alpha) {
  const size_t n = sac->settings.batch;
  double loss = 0.0, log_prob = 0.0;
  for (size_t i = 0; i < n; i++) {
    const float q = sac->critics[smaller(sac, i)].q[i];
    loss += (double)(alpha * sac->squash.log_prob[i] - q);
    log_prob += (double)sac->squash.log_prob[i];
  }
  sac->numbers.actor_loss = loss / (double)n;
  sac->numbers.entropy = -log_prob / (double)n;
}

static void step_actor(hvi_sac *sac) {
  const hvi_net *net = sac->actor_net;
  const size_t n = sac->settings.batch;
  const float alpha = hvi_sac_alpha(sac);
  hvi_sac_learner *l = &sac->actor;
  hvi_sac_sample(sac, sac->batch.x, sac->traces_fresh, sac->batch.x + sac->obs);
  for (size_t at = 0; at < n; at += HVI_NET_ROWS) {
    slice s = {sac, at, hvi_sac_slice(sac, at)};
    hvi_twins_run(sac->twins, judge, &s);
    hvi_twins_run(sac->twins, pull_back, &s);
  }
  note_loss(sac, alpha);
  hvi_squash_pull(&sac->squash, n, alpha / (float)n, sac->pull, sac->dhead);
  memset(l->grad, 0, net->dim * sizeof *l->grad);
  const float *trace = sac->traces;
  for (size_t at = 0; at < n; at += HVI_NET_ROWS, trace += sac->trace_size) {
    const hvi_net_pull pull = {
        .dy = sac->dhead + at * net->out, .deltas = sac->deltas, .grad = l->grad};
    hvi_net_backward(net, l->weights, hvi_sac_slice(sac, at), sac->batch.x + at * sac->batch.x_row,
                     sac->batch.x_row, trace, &pull);
  }
  hvi_sac_adam(net->kernels, l->weights, l->first, l->second, l->grad, net->dim,
               sac->settings.actor_lr, ++l->steps);
  hvi_net_prepare(net, l->weights);
  sac->traces_fresh = false;
}

/* The moved actor's pass over the batch serves the next step of the actor as well. */
static void step_temperature(hvi_sac *sac) {
  const size_t n = sac->settings.batch;
  hvi_sac_temperature *t = &sac->temperature;
  hvi_sac_sample(sac, sac->batch.x, false, sac->batch.x + sac->obs);
  sac->traces_fresh = true;
  double sum = 0.0;
  for (size_t i = 0; i < n; i++) sum += (double)(sac->squash.log_prob[i] + sac->target_entropy);
  const float grad = (float)(-(double)hvi_sac_alpha(sac) * sum / (double)n);
  hvi_sac_adam(sac->actor_net->kernels, &t->log_alpha, &t->first, &t->second, &grad, 1,
               sac->settings.alpha_lr, ++t->steps);
}

void hvi_sac_update_actor(hvi_sac *sac) {
  for (size_t k = 0; k < sac->settings.delay; k++) {
    step_actor(sac);
    if (sac->settings.alpha == 0.0) step_temperature(sac);
  }
}
