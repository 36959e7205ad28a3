/* How far a run on several threads has come, and whether it is to stop. */
#ifndef HVI_RL_ROLLOUT_METER_H
#define HVI_RL_ROLLOUT_METER_H

#include <hvi/rollout.h>

#include <pthread.h>

typedef struct hvi_meter {
  pthread_mutex_t lock;
  const hvi_rollout_settings *settings;
  size_t steps; /* environment steps */
  size_t done;  /* of `total`, with those that turned out not to be needed */
  size_t total;
  bool stopped;
} hvi_meter;

void hvi_meter_start(hvi_meter *m, const hvi_rollout_settings *settings, size_t total);
void hvi_meter_end(hvi_meter *m);

/* Adds steps that were made and steps that need not be; tells the progress function. False: stop.
 */
bool hvi_meter_add(hvi_meter *m, size_t made, size_t spared);
bool hvi_meter_stopped(hvi_meter *m);

#endif
