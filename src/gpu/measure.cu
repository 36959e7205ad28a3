/*
 * How fast steps are: networks on random data, AdamW, by the device's own clock, and two limits of the
 * same run: the bare products by cuBLAS (cublas.cu), and the arithmetic at the device's peak.
 *
 * A step of one network has, for each row, 2 (3 P - P_1) operations, P being the products of all
 * layers and P_1 those of the first, whose inputs need no slopes.
 */
#include "gpu/host.cuh"

#include <cmath>
#include <vector>

/* Operations a second: fused multiply-adds of all processors at the highest clock. Hopper's half-precision
 * units do 2,048 a cycle for each processor; plain ones 128. */
static double peak_of(const hvi_device *d) {
  const double each = d->precision == HVI_DEVICE_FP32 ? 128.0 : 2048.0;
  return 2.0 * each * d->processors * 1e3 * d->clock;
}

static double floor_of(const hvi_device *d, const hvi_device_shape *s, size_t nets, size_t rows) {
  double products = 0.0;
  for (size_t l = 0; l < s->layer_count; l++) products += (double)(s->width[l] * s->width[l + 1]);
  const double flops = 2.0 * (3.0 * products - (double)(s->width[0] * s->width[1]));
  const double times = d->precision == HVI_DEVICE_FP16X3 ? 3.0 : 1.0;
  return 1e6 * times * flops * (double)(nets * rows) / peak_of(d);
}

/* Random numbers for tests of speed: not zeros, on which hardware can be faster. */
static void fill(float *x, size_t n, double scale) {
  static unsigned long long state = 88172645463325252ull;
  for (size_t i = 0; i < n; i++) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    x[i] = (float)(scale * ((double)(state >> 11) * 0x1p-52 - 1.0));
  }
}

/* Of the host's memory that a device can reach. */
template <class T> struct reachable {
  T *at = NULL;
  ~reachable() { hvi_gpu_functions.host_free(at); }
  bool take(size_t n) { return (at = (T *)hvi_gpu_functions.host_alloc(n * sizeof(T))) != NULL; }
};

/* What the jobs are made of. */
struct workload {
  reachable<float> x, theta, y, result;
  reachable<double> target, weight;
  std::vector<hvi_device_net *> nets;
  std::vector<hvi_device_job> jobs;
  std::vector<hvi_device_job *> list;
};

static hvi_status make(workload *w, hvi_device *d, const hvi_device_shape *s, size_t nets,
                       size_t rows, hvi_error *err) {
  const size_t in = hvi_device_padded(s->width[0]), numbers = hvi_device_numbers(s);
  if (!w->x.take(rows * in) || !w->theta.take(numbers) || !w->y.take(rows) ||
      !w->result.take(numbers) || !w->target.take(rows) || !w->weight.take(rows))
    return hvi_error_set(err, HVI_ERROR_MEMORY, "not enough memory for a batch");
  std::fill_n(w->target.at, rows, 1.0), std::fill_n(w->weight.at, rows, 1.0 / (double)rows);
  fill(w->x.at, rows * in, 1.0);
  fill(w->theta.at, numbers, 0.06);
  w->nets.assign(nets, NULL), w->jobs.assign(nets, hvi_device_job{}), w->list.resize(nets);
  for (size_t i = 0; i < nets; i++) {
    HVI_TRY(hvi_gpu_functions.net_new(&w->nets[i], d, s, err));
    hvi_device_job *j = w->list[i] = &w->jobs[i];
    j->net = w->nets[i], j->rows = rows, j->x = w->x.at, j->theta = w->theta.at;
    j->y = w->y.at, j->result = w->result.at;
    hvi_device_descent *t = &j->descent;
    t->target = w->target.at, t->weight = w->weight.at, t->scale = 1.0;
    t->rule = HVI_DEVICE_ADAM, t->lr = 1e-4, t->lr_factor = 1.0, t->beta1 = 0.9, t->beta2 = 0.999;
    t->epsilon = 1e-8, t->decay = 0.01, t->forget = true, t->most = 1 << 30, t->goal = -INFINITY;
  }
  return HVI_OK;
}

/* Microseconds of a step, from repeated chunks. */
static hvi_status time_steps(hvi_device *d, workload *w, double *step, hvi_error *err) {
  enum { CHUNK = 10, REPLAYS = 5 };
  const hvi_device_shape *s = &w->nets[0]->shape;
  launch l;
  HVI_TRY(hvi_gpu_functions.run(d, HVI_DEVICE_DESCEND, w->list.data(), w->list.size(), CHUNK, err));
  HVI_TRY(hvi_gpu_place_jobs(d, HVI_DEVICE_DESCEND, w->list.data(), w->list.size(), &l, err));
  if ((size_t)l.count < w->list.size())
    return hvi_error_set(err, HVI_ERROR_MEMORY, "the GPU has no memory for %zu networks at once",
                         w->list.size());
  const auto chunks = [&] {
    for (int i = 0; i < REPLAYS; i++) HVI_TRY(hvi_gpu_run_steps(d, s, &l, CHUNK, false, err));
    return HVI_OK;
  };
  HVI_TRY(hvi_gpu_time(d, chunks, step, err));
  *step /= CHUNK * REPLAYS;
  return HVI_OK;
}

hvi_status hvi_gpu_measure(hvi_device *d, const hvi_device_shape *s, size_t nets, size_t rows,
                           hvi_device_times *times, hvi_error *err) {
  workload w;
  hvi_status status = make(&w, d, s, nets, rows, err);
  if (!status) status = time_steps(d, &w, &times->step, err);
  for (hvi_device_net *n : w.nets) hvi_gpu_functions.net_free(n);
  if (status) return status;
  times->floor = floor_of(d, s, nets, rows);
  return hvi_gpu_bare_products(d, s, nets, rows, &times->products, err);
}
