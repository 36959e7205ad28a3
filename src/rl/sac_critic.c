/*
 * One step of the critics. With a' ~ pi(.|s') and the slow copies Q',
 *
 *   y = r + gamma f (min_i Q'_i(s', a') - alpha log pi(a'|s')),     f = 0 where s' is terminal
 *   loss_i = 1/B sum (Q_i(s, a) - y)^2,     dloss_i/dQ = 2/B (Q - y)
 *
 * A time limit is no end: f stays 1 there, since the state has a future all the same. The twins
 * share y and nothing else, so each may have a thread.
 */
#include "rl/sac_parts.h"

#include <math.h>
#include <string.h>

size_t hvi_sac_slice(const hvi_sac *sac, size_t at) {
  const size_t left = sac->settings.batch - at;
  return left < HVI_NET_ROWS ? left : HVI_NET_ROWS;
}

void hvi_sac_judge(hvi_sac *sac, hvi_sac_critic *c, const float *weights, const float *x, size_t at,
                   size_t rows) {
  const hvi_net *net = sac->critic_net;
  hvi_net_forward(net, weights, rows, x + at * sac->batch.x_row, sac->batch.x_row, c->trace);
  memcpy(c->q + at, hvi_net_output(net, c->trace, rows, net->layer_count - 1), rows * sizeof *c->q);
}

static void judge_next(void *context, size_t side) {
  hvi_sac *sac = context;
  hvi_sac_critic *c = &sac->critics[side];
  for (size_t at = 0; at < sac->settings.batch; at += HVI_NET_ROWS)
    hvi_sac_judge(sac, c, c->target, sac->batch.next, at, hvi_sac_slice(sac, at));
}

static void add_gradient(hvi_sac *sac, hvi_sac_critic *c, size_t at, size_t rows) {
  const float share = 2.0F / (float)sac->settings.batch;
  for (size_t i = 0; i < rows; i++) {
    const float error = c->q[at + i] - sac->y[at + i];
    c->pull[i] = share * error;
    c->loss += (double)error * (double)error;
  }
  const hvi_net_pull pull = {.dy = c->pull, .deltas = c->deltas, .grad = c->learner.grad};
  hvi_net_backward(sac->critic_net, c->learner.weights, rows, sac->batch.x + at * sac->batch.x_row,
                   sac->batch.x_row, c->trace, &pull);
}

static void fit(void *context, size_t side) {
  hvi_sac *sac = context;
  const hvi_net *net = sac->critic_net;
  hvi_sac_critic *c = &sac->critics[side];
  hvi_sac_learner *l = &c->learner;
  c->loss = 0.0;
  memset(l->grad, 0, net->dim * sizeof *l->grad);
  for (size_t at = 0; at < sac->settings.batch; at += HVI_NET_ROWS) {
    const size_t rows = hvi_sac_slice(sac, at);
    hvi_sac_judge(sac, c, l->weights, sac->batch.x, at, rows);
    add_gradient(sac, c, at, rows);
  }
  hvi_sac_adam(net->kernels, l->weights, l->first, l->second, l->grad, net->dim,
               sac->settings.critic_lr, ++l->steps);
  hvi_net_prepare(net, l->weights);
  net->kernels->follow(c->target, l->weights, net->dim, (float)sac->settings.tau);
  hvi_net_prepare(net, c->target);
}

void hvi_sac_targets(float *y, size_t n, float gamma, float alpha, const float *reward,
                     const float *future, const float *q1, const float *q2, const float *log_prob) {
  for (size_t i = 0; i < n; i++) {
    const float least = q1[i] <= q2[i] ? q1[i] : q2[i];
    y[i] = reward[i] + gamma * future[i] * (least - alpha * log_prob[i]);
  }
}

void hvi_sac_update_critics(hvi_sac *sac) {
  const size_t n = sac->settings.batch;
  hvi_replay_draw(&sac->replay, &sac->batch, n, sac->places, &sac->generators.rows);
  hvi_sac_sample(sac, sac->batch.next, false, sac->batch.next + sac->obs);
  hvi_twins_run(sac->twins, judge_next, sac);
  hvi_sac_targets(sac->y, n, (float)sac->settings.gamma, hvi_sac_alpha(sac), sac->batch.reward,
                  sac->batch.future, sac->critics[0].q, sac->critics[1].q, sac->squash.log_prob);
  hvi_twins_run(sac->twins, fit, sac);
  double q_sum = 0.0;
  for (size_t i = 0; i < n; i++) q_sum += (double)sac->critics[0].q[i];
  sac->numbers.q_mean = q_sum / (double)n;
  sac->numbers.critic_loss = 0.5 * (sac->critics[0].loss + sac->critics[1].loss) / (double)n;
  sac->traces_fresh = false;
}
