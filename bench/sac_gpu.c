/* Rounds of as many environment steps as lie between the actor's: one with its steps, the others without.
 * The fastest counts. */
#include "sac_gpu.h"

#include "base/base.h"
#include "base/clock.h"
#include "rl/sac.h"
#include "sac.h"

enum { MOST = 16, WARM = 3, OBS = 17, ACT = 6 };
static const size_t seeds[SAC_GPU_ROWS] = {1, 4, MOST};

static hvi_status round_there(hvi_sac *const *all, hvi_error *err) {
  for (size_t k = 0; k < all[0]->settings.delay; k++)
    HVI_TRY(hvi_sac_update_there(all, k == 0, err));
  return HVI_OK;
}

static void round_here(hvi_sac *sac) {
  for (size_t k = 0; k < sac->settings.delay; k++) {
    hvi_sac_update_critics(sac);
    if (k == 0) hvi_sac_update_actor(sac);
  }
}

static hvi_status time_here(double *step, size_t repeats, hvi_error *err) {
  HVI_OWN_BY(hvi_sac_release) hvi_sac *sac = NULL;
  HVI_TRY(bench_sac_trainer(&sac, OBS, ACT, 1, err));
  *step = INFINITY;
  for (size_t r = 0; r < repeats + WARM; r++) {
    const double t0 = hvi_clock_now();
    round_here(sac);
    const double spent = (hvi_clock_now() - t0) / (double)sac->settings.delay;
    if (r >= WARM) *step = fmin(*step, spent);
  }
  return HVI_OK;
}

static hvi_status time_there(sac_gpu_row *row, hvi_sac *const *all, hvi_gang *gang, size_t repeats,
                             hvi_error *err) {
  const double delay = (double)all[0]->settings.delay;
  HVI_TRY(hvi_sac_attach(all, row->seeds, gang, err));
  hvi_device_sac *device = all[0]->device;
  row->step = row->device = INFINITY;
  for (size_t r = 0; r < 10 * repeats + WARM; r++) {
    const double t0 = hvi_clock_now();
    HVI_TRY(round_there(all, err));
    const double t1 = hvi_clock_now();
    for (size_t k = 0; k < all[0]->settings.delay; k++)
      HVI_TRY(device->functions->update(device, k == 0, err));
    if (r < WARM) continue;
    row->step = fmin(row->step, (t1 - t0) / delay);
    row->device = fmin(row->device, (hvi_clock_now() - t1) / delay);
  }
  return HVI_OK;
}

static hvi_status measure(sac_gpu_row *row, hvi_gang *gang, size_t repeats, hvi_error *err) {
  hvi_sac *all[MOST] = {NULL};
  hvi_status status = HVI_OK;
  for (size_t i = 0; i < row->seeds && !status; i++)
    status = bench_sac_trainer(&all[i], OBS, ACT, 1 + i, err);
  if (!status) status = time_there(row, all, gang, repeats, err);
  for (size_t i = row->seeds; i-- > 0;) hvi_sac_free(all[i]);
  return status;
}

hvi_status bench_sac_gpu_run(void *measured, size_t *done, const bench_options *o, hvi_error *err) {
  sac_gpu_row *rows = measured;
  hvi_gang *gang;
  *done = 0;
  HVI_TRY(hvi_gang_open(&gang, HVI_DEVICE_FP32, err));
  hvi_status status = HVI_OK;
  for (; !status && *done < SAC_GPU_ROWS; *done += !status) {
    if (o->progress && !o->progress(o->context, *done, SAC_GPU_ROWS)) break;
    rows[*done] = (sac_gpu_row){.seeds = seeds[*done]};
    status = measure(&rows[*done], gang, o->repeats, err);
    if (!status) status = time_here(&rows[*done].cpu, o->repeats, err);
  }
  hvi_gang_close(gang);
  return status;
}
