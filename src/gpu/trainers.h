/* Trainers on the device of a gang (gpu/sac.h), for host code: a failure of theirs is the gang's. */
#pragma once

#include "gpu/gang.h"
#include "gpu/sac.h"

typedef struct hvi_trainers {
  hvi_gang *gang;
  const hvi_device_sac_functions *functions;
  hvi_device_sac *device;
  size_t count;
  bool automatic;         /* alpha is learned too */
  hvi_device_trainer *of; /* [count] */
} hvi_trainers;

/* By the caller's thread, as everything here; the gang has no members meanwhile. */
hvi_status hvi_trainers_new(hvi_trainers **trainers, hvi_gang *gang,
                            const hvi_device_sac_shape *shape, size_t count, hvi_error *err);
void hvi_trainers_free(hvi_trainers *t);
/* The networks of all from the host's arrays; those of one back to them. */
hvi_status hvi_trainers_put(hvi_trainers *t, hvi_error *err);
hvi_status hvi_trainers_get(hvi_trainers *t, size_t i, hvi_error *err);

/* Fills in trainer i's batch, where asked for, and so many blocks of noise. */
typedef void (*hvi_trainers_draw)(const void *context, size_t i, bool batch, size_t blocks);
/* A step of the critics and so many of the actor, however many they are. */
hvi_status hvi_trainers_update(hvi_trainers *t, size_t actors, hvi_trainers_draw draw,
                               const void *context, hvi_error *err);
/* Whether a device is of use: an update's products take longer on a core than their launches there. */
bool hvi_trainers_useful(const hvi_device_sac_shape *shape);
