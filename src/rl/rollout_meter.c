#include "rl/rollout_meter.h"

void hvi_meter_start(hvi_meter *m, const hvi_rollout_settings *settings, size_t total) {
  *m = (hvi_meter){.settings = settings, .total = total};
  pthread_mutex_init(&m->lock, NULL);
}

void hvi_meter_end(hvi_meter *m) { pthread_mutex_destroy(&m->lock); }

bool hvi_meter_add(hvi_meter *m, size_t made, size_t spared) {
  pthread_mutex_lock(&m->lock);
  m->steps += made;
  m->done += made + spared;
  const size_t done = m->done < m->total ? m->done : m->total;
  const hvi_rollout_settings *s = m->settings;
  if (s->progress && !m->stopped) m->stopped = !s->progress(s->progress_context, done, m->total);
  const bool stopped = m->stopped;
  pthread_mutex_unlock(&m->lock);
  return !stopped;
}

bool hvi_meter_stopped(hvi_meter *m) {
  pthread_mutex_lock(&m->lock);
  const bool stopped = m->stopped;
  pthread_mutex_unlock(&m->lock);
  return stopped;
}
