/* The module does the timing (gpu/device.h, `measure`): here are sizes and precisions. */
#include "gpu.h"

#include "base/error.h"
#include "base/module.h"

#include <stdio.h>
#include <string.h>

enum { INPUTS = 27, WIDTH = 256 };

static const struct {
  size_t hidden, seeds;
} sizes[GPU_SIZES] = {{2, 1}, {2, 20}, {2, 100}, {16, 1}, {16, 20}};

static const hvi_device_precision precisions[GPU_PRECISIONS] = {HVI_DEVICE_FP16X3, HVI_DEVICE_FP32,
                                                                HVI_DEVICE_FP16};

/* The precision that the device has, which may be another than was asked for: the end of its level. */
static hvi_status name_precision(gpu_row *row, const hvi_device_functions *f, hvi_device *device,
                                 hvi_error *err) {
  hvi_device_about about = {0};
  HVI_TRY(f->describe(device, &about, err));
  const char *end = strrchr(about.level, '-');
  snprintf(row->precision, sizeof row->precision, "%.15s", end ? end + 1 : about.level);
  return HVI_OK;
}

static hvi_status measure(gpu_row *row, const hvi_device_functions *f, hvi_device_precision p,
                          hvi_error *err) {
  hvi_device_shape shape = {.layer_count = row->hidden + 1, .activation = HVI_RELU};
  hvi_device *device;
  shape.width[0] = INPUTS;
  for (size_t l = 1; l <= row->hidden; l++) shape.width[l] = WIDTH;
  shape.width[row->hidden + 1] = 1;
  HVI_TRY(f->open(&device, p, err));
  hvi_status status = name_precision(row, f, device, err);
  if (!status) status = f->measure(device, &shape, row->seeds, GPU_BATCH, &row->us, err);
  f->close(device);
  return status;
}

hvi_status bench_gpu_run(void *measured, size_t *done, const bench_options *o, hvi_error *err) {
  gpu_row *rows = measured;
  const hvi_module *module;
  hvi_status status = HVI_OK;
  *done = 0;
  HVI_TRY(hvi_module_open(&module, "gpu", err));
  for (; !status && *done < GPU_ROWS; *done += !status) {
    if (o->progress && !o->progress(o->context, *done, GPU_ROWS)) break;
    gpu_row *row = &rows[*done];
    *row = (gpu_row){.hidden = sizes[*done / GPU_PRECISIONS].hidden,
                     .seeds = sizes[*done / GPU_PRECISIONS].seeds};
    status = measure(row, module->functions, precisions[*done % GPU_PRECISIONS], err);
  }
  return status;
}
