/*
 * The bare products of a step by cuBLAS, to compare with: opened at run time, where it is installed.
 *
 * A step of networks A_l = s(A_{l-1} W_l' + b_l), rows n, takes for every layer with in and out units
 *
 *   forward    A_l   [n][out]  = A_{l-1} W_l'
 *   back       D_l-1 [n][in]   = D_l W_l          (from the second layer on)
 *   gradient   G_l   [out][in] = D_l' A_{l-1}
 *
 * of each network: one strided and batched product for all of them. cuBLAS counts in columns, so that
 * a row-major C = A B is its C' = B' A'. Nothing else is computed: no bias, no activation, no update.
 * All products of a step are one graph; the median of rounds of replays counts. Operands are random:
 * with zeros a device draws less power and runs faster.
 */
#include "gpu/gpu.cuh"

#include <dlfcn.h>
#include <stdint.h>

#include <algorithm>
#include <cmath>

namespace {

constexpr int ROUNDS = 5, REPLAYS = 20;

/* Of cublas_v2.h and library_types.h, so that they are not needed to build. */
enum {
  OP_N = 0,
  OP_T = 1,
  REAL_32F = 0,
  COMPUTE_32F = 68,
  COMPUTE_32F_TF32 = 77,
  DEFAULT_ALGO = -1
};
typedef struct cublasContext *handle_t;

typedef struct library {
  int (*create)(handle_t *);
  int (*destroy)(handle_t);
  int (*set_stream)(handle_t, cudaStream_t);
  int (*set_workspace)(handle_t, void *, size_t);
  int (*multiply)(handle_t, int, int, int, int, int, const void *, const void *, int, int,
                  long long, const void *, int, int, long long, const void *, void *, int, int,
                  long long, int, int, int);
} library;

/* What the products of one measurement share. */
typedef struct bench {
  library cublas;
  handle_t handle;
  cudaStream_t stream;
  void *workspace;
  float *weights, *gradient, *a, *d; /* each of all networks; a and d hold every layer's outputs */
  const hvi_device_shape *shape;
  size_t nets, rows;
  int compute;
  bool failed;
} bench;

constexpr size_t WORKSPACE = size_t{32} << 20;

template <typename F> bool find(F *function, void *library, const char *name) {
  *function = reinterpret_cast<F>(dlsym(library, name));
  return *function != nullptr;
}

/* Stays open: its own threads and handlers do not survive a dlclose. */
bool open_library(library *l) {
  void *file = nullptr;
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
typedef struct matrix {
  float *at;
  size_t row, stride;
} matrix;

/* Row-major C[m][n] = op(A) op(B), op(A) is [m][k]. */
void multiply(bench *b, matrix c, size_t m, size_t n, size_t k, matrix a, int op_a, matrix by,
              int op_by) {
  const float one = 1.0F, zero = 0.0F;
  const int status = b->cublas.multiply(
      b->handle, op_by, op_a, (int)n, (int)m, (int)k, &one, by.at, REAL_32F, (int)by.row,
      (long long)by.stride, a.at, REAL_32F, (int)a.row, (long long)a.stride, &zero, c.at, REAL_32F,
      (int)c.row, (long long)c.stride, (int)b->nets, b->compute, DEFAULT_ALGO);
  b->failed = b->failed || status != 0;
}

/* Where the outputs of layer l begin, l = 0: the inputs; of l = layer_count + 1 the number of all. */
size_t outputs(const bench *b, size_t l) {
  size_t at = 0;
  for (size_t i = 0; i < l; i++) at += b->nets * b->rows * hvi_device_padded(b->shape->width[i]);
  return at;
}

matrix values(const bench *b, float *base, size_t l) {
  const size_t row = hvi_device_padded(b->shape->width[l]);
  return {base + outputs(b, l), row, b->rows * row};
}

matrix weight(const bench *b, float *base, size_t l) {
  return {base + hvi_device_weight(b->shape, l), hvi_device_padded(b->shape->width[l]),
          hvi_device_numbers(b->shape)};
}

void step(bench *b) {
  const size_t *width = b->shape->width, rows = b->rows;
  for (size_t l = 0; l < b->shape->layer_count; l++)
    multiply(b, values(b, b->a, l + 1), rows, width[l + 1], width[l], values(b, b->a, l), OP_N,
             weight(b, b->weights, l), OP_T);
  for (size_t l = b->shape->layer_count; l-- > 0;) {
    multiply(b, weight(b, b->gradient, l), width[l + 1], width[l], rows, values(b, b->d, l + 1),
             OP_T, values(b, b->a, l), OP_N);
    if (l > 0)
      multiply(b, values(b, b->d, l), rows, width[l], width[l + 1], values(b, b->d, l + 1), OP_N,
               weight(b, b->weights, l), OP_N);
  }
}

/* Numbers between -1/8 and 1/8, so that sums over a layer stay of that size. */
__global__ void fill(float *p, size_t count) {
  for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < count;
       i += size_t{gridDim.x} * blockDim.x) {
    uint32_t h = static_cast<uint32_t>(i) * 2654435769U;
    h = (h ^ (h >> 15)) * 2246822519U;
    p[i] = static_cast<float>(static_cast<int32_t>(h ^ (h >> 13))) * 0x1p-34F;
  }
}

bool allocate(float **p, size_t count) {
  if (cudaMalloc(reinterpret_cast<void **>(p), count * sizeof **p) != cudaSuccess) return false;
  fill<<<1024, 256>>>(*p, count);
  return cudaDeviceSynchronize() == cudaSuccess;
}

bool prepare(bench *b) {
  const size_t numbers = b->nets * hvi_device_numbers(b->shape);
  const size_t values = outputs(b, b->shape->layer_count + 1);
  return cudaStreamCreate(&b->stream) == cudaSuccess && allocate(&b->weights, numbers) &&
         allocate(&b->gradient, numbers) && allocate(&b->a, values) && allocate(&b->d, values) &&
         cudaMalloc(&b->workspace, WORKSPACE) == cudaSuccess && b->cublas.create(&b->handle) == 0 &&
         b->cublas.set_stream(b->handle, b->stream) == 0 &&
         b->cublas.set_workspace(b->handle, b->workspace, WORKSPACE) == 0;
}

void release(bench *b) {
  if (b->handle) b->cublas.destroy(b->handle);
  for (void *p :
       {(void *)b->weights, (void *)b->gradient, (void *)b->a, (void *)b->d, b->workspace})
    cudaFree(p);
  if (b->stream) cudaStreamDestroy(b->stream);
}

/* Microseconds of one replay; NaN after a failure. */
double time_replays(cudaGraphExec_t graph, cudaStream_t stream) {
  cudaEvent_t begin = nullptr, end = nullptr;
  float ms[ROUNDS];
  bool good = cudaEventCreate(&begin) == cudaSuccess && cudaEventCreate(&end) == cudaSuccess;
  for (int i = 0; good && i < REPLAYS; i++) good = cudaGraphLaunch(graph, stream) == cudaSuccess;
  for (int round = 0; good && round < ROUNDS; round++) {
    cudaEventRecord(begin, stream);
    for (int i = 0; i < REPLAYS; i++) cudaGraphLaunch(graph, stream);
    cudaEventRecord(end, stream);
    good = cudaEventSynchronize(end) == cudaSuccess &&
           cudaEventElapsedTime(&ms[round], begin, end) == cudaSuccess;
  }
  if (begin) cudaEventDestroy(begin);
  if (end) cudaEventDestroy(end);
  if (!good) return NAN;
  std::sort(ms, ms + ROUNDS);
  return 1e3 * ms[ROUNDS / 2] / REPLAYS;
}

/* The step once as it is, so that the library's own preparations are done; then as a graph. */
double time_step(bench *b) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t ready = nullptr;
  double us = NAN;
  step(b);
  if (!b->failed &&
      cudaStreamBeginCapture(b->stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess) {
    step(b);
    const bool captured = cudaStreamEndCapture(b->stream, &graph) == cudaSuccess && !b->failed;
    if (captured && cudaGraphInstantiate(&ready, graph, 0) == cudaSuccess)
      us = time_replays(ready, b->stream);
  }
  if (ready) cudaGraphExecDestroy(ready);
  if (graph) cudaGraphDestroy(graph);
  return us;
}

} // namespace

double hvi_gpu_bare_products(const hvi_device_shape *shape, size_t nets, size_t rows, int tf32,
                             hvi_error *err) {
  bench b = {};
  if (!open_library(&b.cublas)) return NAN;
  b.shape = shape;
  b.nets = nets;
  b.rows = rows;
  b.compute = tf32 ? COMPUTE_32F_TF32 : COMPUTE_32F;
  double us = NAN;
  if (prepare(&b)) us = time_step(&b);
  release(&b);
  const cudaError_t left =
      cudaGetLastError(); /* a failure here is not to be found by a later call */
  if (std::isnan(us))
    hvi_error_set(err, HVI_ERROR_UNSUPPORTED, "the products by cuBLAS failed: %s",
                  left ? cudaGetErrorString(left) : "the library does not say why");
  return us;
}
