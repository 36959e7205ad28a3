#include "gpu/trainers.h"

#include "base/base.h"

hvi_status hvi_trainers_new(hvi_trainers **trainers, hvi_gang *gang,
                            const hvi_device_sac_shape *shape, size_t count, hvi_error *err) {
  hvi_device *device;
  const hvi_device_sac_functions *f = hvi_gang_device(gang, &device)->sac;
  *trainers = NULL;
  if (shape->hidden_count == 0)
    return hvi_error_set(err, HVI_ERROR_UNSUPPORTED, "a device needs a hidden layer");
  hvi_trainers *t = hvi_alloc(1, sizeof *t);
  if (!t) return hvi_error_memory(err, "trainers");
  *t = (hvi_trainers){
      .gang = gang, .functions = f, .count = count, .automatic = shape->alpha == 0.0F};
  const hvi_status status = f->make(&t->device, device, shape, count, err);
  if (status) {
    hvi_free(t);
    return hvi_gang_note(gang, status, err);
  }
  t->of = f->trainers(t->device);
  *trainers = t;
  return HVI_OK;
}

void hvi_trainers_free(hvi_trainers *t) {
  if (!t) return;
  t->functions->free(t->device);
  hvi_free(t);
}

hvi_status hvi_trainers_put(hvi_trainers *t, hvi_error *err) {
  hvi_status status = HVI_OK;
  for (size_t i = 0; i < t->count && !status; i++) status = t->functions->put(t->device, i, err);
  return hvi_gang_note(t->gang, status, err);
}

hvi_status hvi_trainers_get(hvi_trainers *t, size_t i, hvi_error *err) {
  return hvi_gang_note(t->gang, t->functions->get(t->device, i, err), err);
}

/* Many steps of the actor are several calls, so that their noise has an end. */
hvi_status hvi_trainers_update(hvi_trainers *t, size_t actors, hvi_trainers_draw draw,
                               const void *context, hvi_error *err) {
  for (bool critics = true; critics || actors > 0; critics = false) {
    const size_t some = actors < HVI_DEVICE_SAC_ACTORS ? actors : HVI_DEVICE_SAC_ACTORS;
    const size_t blocks = critics + (t->automatic ? 2 : 1) * some;
    for (size_t i = 0; i < t->count; i++) draw(context, i, critics, blocks);
    HVI_TRY(hvi_gang_note(t->gang, t->functions->update(t->device, critics, some, err), err));
    actors -= some;
  }
  return HVI_OK;
}

/* A million products, thirty times over, are about half a millisecond of a core. */
bool hvi_trainers_useful(const hvi_device_sac_shape *s) {
  const double LEAST = 1e6;
  double products = 0.0;
  for (size_t l = 0; l < s->hidden_count; l++)
    products += (double)(l == 0 ? s->obs + s->act : s->hidden[l - 1]) * (double)s->hidden[l];
  return s->hidden_count > 0 && products * (double)s->batch >= LEAST;
}
