/*
 * The bare products of a step by cuBLAS, to compare with: opened at run time, where it is installed.
 *
 * A step of networks A_l = s(A_{l-1} W_l' + b_l), rows n, takes for every layer with in and out units
 *
 *   forward    A_l   [n][out]  = A_{l-1} W_l'
 *   back       D_l-1 [n][in]   = D_l W_l          (from the second layer on)
 *   gradient   G_l   [out][in] = D_l' A_{l-1}
 *
 * of each network: one strided and batched product for all of them, and one graph for a step. cuBLAS counts in
 * columns, so that a row-major C = A B is its C' = B' A'. Operands are random: with zeros a device runs faster.
 */
#include "gpu/host.cuh"

#include <dlfcn.h>
#include <math.h>

namespace {

/* Of cublas_v2.h and library_types.h, so that they are not needed to build. */
enum { OP_N, OP_T, REAL_32F = 0, COMPUTE_32F = 68, COMPUTE_32F_TF32 = 77, DEFAULT_ALGO = -1 };
typedef struct cublasContext *handle_t;

struct library {
  int (*create)(handle_t *);
  int (*destroy)(handle_t);
  int (*set_stream)(handle_t, cudaStream_t);
  int (*set_workspace)(handle_t, void *, size_t);
  int (*multiply)(handle_t, int, int, int, int, int, const void *, const void *, int, int,
                  long long, const void *, int, int, long long, const void *, void *, int, int,
                  long long, int, int, int);
};

template <class F> bool find(F *function, void *library, const char *name) {
  *function = (F)dlsym(library, name);
  return *function;
}

/* Stays open: its own threads and handlers do not survive a dlclose. */
bool open_library(library *l) {
  void *file = NULL;
  for (const char *name :
       {"libcublas.so.13", "libcublas.so.12", "/usr/local/cuda/lib64/libcublas.so.13",
        "/usr/local/cuda/lib64/libcublas.so.12"})
    if (!file) file = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  return file && find(&l->create, file, "cublasCreate_v2") &&
         find(&l->destroy, file, "cublasDestroy_v2") &&
         find(&l->set_stream, file, "cublasSetStream_v2") &&
         find(&l->set_workspace, file, "cublasSetWorkspace_v2") &&
         find(&l->multiply, file, "cublasGemmStridedBatchedEx");
}

/* A matrix as cuBLAS sees it: its leading dimension, and from one network's to the next's. */
struct matrix {
  float *at;
  size_t row, stride;
};

/* Numbers between -1/8 and 1/8, so that sums over a layer stay of that size. */
__global__ void fill(float *p, size_t count) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count;
       i += (size_t)gridDim.x * blockDim.x) {
    unsigned h = (unsigned)i * 2654435769u;
    h = (h ^ (h >> 15)) * 2246822519u;
    p[i] = (float)(int)(h ^ (h >> 13)) * 0x1p-34f;
  }
}

/* What the products of one measurement share: arrays of all networks, a and d with every layer's outputs. */
struct bench {
  enum { WORKSPACE = 32 << 20 };
  library cublas = {};
  handle_t handle = NULL;
  float *weights = NULL, *gradient = NULL, *a = NULL, *d = NULL, *workspace = NULL;
  const hvi_device_shape *shape;
  size_t nets, rows;
  int compute;
  cudaGraphExec_t ready = NULL;

  bench(const hvi_device_shape *s, size_t count, size_t n, bool tf32)
      : shape(s), nets(count), rows(n), compute(tf32 ? COMPUTE_32F_TF32 : COMPUTE_32F) {}
  ~bench() {
    if (ready) cudaGraphExecDestroy(ready);
    if (handle) cublas.destroy(handle);
    for (float *p : {weights, gradient, a, d, workspace}) cudaFree(p);
  }

  /* Where the outputs of layer l begin, l = 0: the inputs; of l = layer_count + 1 the number of all. */
  size_t outputs(size_t l) const {
    size_t at = 0;
    for (size_t i = 0; i < l; i++) at += nets * rows * hvi_device_padded(shape->width[i]);
    return at;
  }
  matrix values(float *base, size_t l) const {
    const size_t row = hvi_device_padded(shape->width[l]);
    return {base + outputs(l), row, rows * row};
  }
  matrix weight(float *base, size_t l) const {
    return {base + hvi_device_weight(shape, l), hvi_device_padded(shape->width[l]),
            hvi_device_numbers(shape)};
  }

  /* Row-major C[m][n] = op(A) op(B), op(A) is [m][k]. */
  bool multiply(matrix c, size_t m, size_t n, size_t k, matrix x, int op_x, matrix y, int op_y) {
    const float one = 1.0f, zero = 0.0f;
    return cublas.multiply(handle, op_y, op_x, (int)n, (int)m, (int)k, &one, y.at, REAL_32F,
                           (int)y.row, (long long)y.stride, x.at, REAL_32F, (int)x.row,
                           (long long)x.stride, &zero, c.at, REAL_32F, (int)c.row,
                           (long long)c.stride, (int)nets, compute, DEFAULT_ALGO) == 0;
  }

  bool step() {
    const size_t *width = shape->width;
    bool good = true;
    for (size_t l = 0; l < shape->layer_count; l++)
      good &= multiply(values(a, l + 1), rows, width[l + 1], width[l], values(a, l), OP_N,
                       weight(weights, l), OP_T);
    for (size_t l = shape->layer_count; l-- > 0;) {
      good &= multiply(weight(gradient, l), width[l + 1], width[l], rows, values(d, l + 1), OP_T,
                       values(a, l), OP_N);
      if (l > 0)
        good &= multiply(values(d, l), rows, width[l], width[l + 1], values(d, l + 1), OP_N,
                         weight(weights, l), OP_N);
    }
    return good;
  }

  bool prepare(cudaStream_t stream) {
    const size_t numbers = nets * hvi_device_numbers(shape), all = outputs(shape->layer_count + 1);
    const size_t counts[] = {numbers, numbers, all, all, WORKSPACE / sizeof(float)};
    float **const arrays[] = {&weights, &gradient, &a, &d, &workspace};
    for (int i = 0; i < 5; i++) {
      if (cudaMalloc(arrays[i], counts[i] * sizeof(float))) return false;
      fill<<<1024, 256, 0, stream>>>(*arrays[i], counts[i]);
    }
    return cublas.create(&handle) == 0 && cublas.set_stream(handle, stream) == 0 &&
           cublas.set_workspace(handle, workspace, WORKSPACE) == 0;
  }
};

} // namespace

hvi_status hvi_gpu_bare_products(hvi_device *d, const hvi_device_shape *shape, size_t nets,
                                 size_t rows, double *us, hvi_error *err) {
  enum { REPLAYS = 20 };
  bench b(shape, nets, rows, d->precision != HVI_DEVICE_FP32);
  *us = NAN;
  /* the step once as it is, so that the library's own preparations are done */
  const auto step = [&] { return b.step() ? cudaSuccess : cudaErrorUnknown; };
  if (!open_library(&b.cublas) || !b.prepare(d->stream) || step() ||
      hvi_gpu_capture(d->stream, step, &b.ready, NULL)) {
    cudaGetLastError(); /* a failure here is not to be found by a later call */
    return HVI_OK;
  }
  const auto replays = [&] {
    for (int i = 0; i < REPLAYS; i++) GPU_TRY(cudaGraphLaunch(b.ready, d->stream), "a graph");
    return HVI_OK;
  };
  HVI_TRY(hvi_gpu_time(d, replays, us, err));
  *us /= REPLAYS;
  return HVI_OK;
}
