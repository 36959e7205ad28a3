/* Trainers whose networks learn on a device (gpu/sac.h): what they have goes there, and how they draw. */
#include "base/base.h"
#include "rl/sac.h"

hvi_device_sac_shape hvi_sac_shape(const hvi_sac *sac) {
  const hvi_sac_settings *s = &sac->settings;
  return (hvi_device_sac_shape){sac->obs,
                                sac->act,
                                s->batch,
                                s->hidden_count,
                                s->hidden,
                                sac->policy->scale[0],
                                sac->policy->shift[0],
                                (float)s->gamma,
                                (float)s->tau,
                                (float)s->alpha,
                                sac->target_entropy,
                                s->actor_lr,
                                s->critic_lr,
                                s->alpha_lr};
}

static hvi_device_sac_arrays arrays_of(hvi_sac *sac) {
  const hvi_sac_learner *a = &sac->actor;
  const hvi_sac_learner *c = &sac->critics[0].learner, *d = &sac->critics[1].learner;
  return (hvi_device_sac_arrays){{a->weights, a->first, a->second},
                                 {{c->weights, c->first, c->second, sac->critics[0].target},
                                  {d->weights, d->first, d->second, sac->critics[1].target}},
                                 &sac->temperature.log_alpha,
                                 &sac->counts.actor_steps,
                                 sac->counts.critic_steps,
                                 &sac->counts.alpha_steps};
}

hvi_status hvi_sac_attach(hvi_sac *const *all, size_t count, hvi_gang *gang, hvi_error *err) {
  const hvi_device_sac_shape shape = hvi_sac_shape(all[0]);
  hvi_trainers *device;
  HVI_TRY(hvi_trainers_new(&device, gang, &shape, count, err));
  for (size_t i = 0; i < count; i++) {
    const hvi_device_trainer *t = &device->of[i];
    device->of[i].host = arrays_of(all[i]);
    all[i]->device = device, all[i]->place = i;
    all[i]->batch =
        (hvi_sac_batch){t->x, t->next, t->x_row, t->reward, t->future, all[i]->batch.index};
    hvi_levels_add(all[i]->levels, hvi_gang_about(gang)->level);
  }
  return hvi_trainers_put(device, err);
}

/* In the order of the CPU's draws. */
static void draw(const void *context, size_t i, bool batch, size_t blocks) {
  hvi_sac *sac = ((hvi_sac *const *)context)[i];
  const size_t numbers = sac->settings.batch * sac->act;
  if (batch) hvi_sac_draw(sac);
  for (size_t k = 0; k < blocks; k++)
    sac->actor.net->kernels->normals(sac->device->of[i].noise + k * numbers, numbers,
                                     &sac->generators.noise);
}

hvi_status hvi_sac_update_there(hvi_sac *const *all, bool actor_too, hvi_error *err) {
  hvi_trainers *device = all[0]->device;
  const size_t actors = actor_too ? all[0]->settings.delay : 0;
  HVI_TRY(hvi_trainers_update(device, actors, draw, all, err));
  for (size_t i = 0; i < device->count; i++) {
    const hvi_device_trainer *t = &device->of[i];
    hvi_sac_numbers *n = &all[i]->numbers;
    n->critic_loss = t->critic_loss, n->q_mean = t->q_mean;
    if (!actor_too) continue;
    n->actor_loss = t->actor_loss, n->entropy = t->entropy;
    hvi_net_prepare(all[i]->actor.net, all[i]->actor.weights);
  }
  return HVI_OK;
}
