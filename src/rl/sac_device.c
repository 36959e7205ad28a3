/* Trainers whose networks learn on a device (gpu/sac.h): what they have goes there, and how they draw. */
#include "base/base.h"
#include "rl/sac.h"

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
  return hvi_gang_note(sac->gang, device->functions->put(device, i, err), err);
}

hvi_status hvi_sac_attach(hvi_sac *const *all, size_t count, hvi_gang *gang, hvi_error *err) {
  const hvi_device_sac_shape shape = shape_of(all[0]);
  hvi_device *d;
  hvi_device_sac *s;
  if (shape.hidden_count == 0 || shape.delay > HVI_DEVICE_SAC_DELAY)
    return hvi_error_set(err, HVI_ERROR_UNSUPPORTED,
                         "a GPU needs a hidden layer, and a delay of at most %d",
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
  const hvi_status status = sac->device->functions->get(sac->device, sac->place, err);
  return hvi_gang_note(sac->gang, status, err);
}
