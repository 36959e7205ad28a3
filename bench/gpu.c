/* The module does the timing (gpu/device.h, `measure`): here are sizes and precisions. */
#include "gpu.h"

#include "base/error.h"
#include "base/module.h"

enum { INPUTS = 27, WIDTH = 256 };

static const struct {
  size_t hidden, seeds;
} sizes[GPU_SIZES] = {{2, 1}, {2, 20}, {2, 100}, {16, 1}, {16, 20}};

static const struct {
  const char *name;
  hvi_device_precision precision;
} precisions[GPU_PRECISIONS] = {
    {"fp16x3", HVI_DEVICE_FP16X3}, {"fp32", HVI_DEVICE_FP32}, {"fp16", HVI_DEVICE_FP16}};

static hvi_status measure(gpu_row *row, const hvi_device_functions *f, hvi_device_precision p,
                          hvi_error *err) {
  hvi_device_shape shape = {.layer_count = row->hidden + 1, .activation = HVI_RELU};
  hvi_device *device;
  shape.width[0] = INPUTS;
  for (size_t l = 1; l <= row->hidden; l++) shape.width[l] = WIDTH;
  shape.width[row->hidden + 1] = 1;
  HVI_TRY(f->open(&device, p, err));
  const hvi_status status = f->measure(device, &shape, row->seeds, GPU_BATCH, &row->us, err);
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
                     .seeds = sizes[*done / GPU_PRECISIONS].seeds,
                     .precision = precisions[*done % GPU_PRECISIONS].name};
    status = measure(row, module->functions, precisions[*done % GPU_PRECISIONS].precision, err);
  }
  return status;
}
