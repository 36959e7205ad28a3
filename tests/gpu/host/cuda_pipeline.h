/* What src/gpu/product.cuh takes from CUDA, for one block at a time on the host: a thread for each of its threads,
 * and copies that are there at once. */
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <thread>
#include <vector>

#define __device__
#define __shared__   static
#define __align__(n) __attribute__((aligned(n)))

using std::max;
using std::min;

struct float4 {
  float x, y, z, w;
};
static inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

struct thread_place {
  int x;
};
static thread_local thread_place threadIdx;
static pthread_barrier_t block_barrier;
static inline void __syncthreads() { pthread_barrier_wait(&block_barrier); }

static inline void __pipeline_memcpy_async(void *to, const void *from, size_t size, size_t zeros) {
  if ((uintptr_t)to % size != 0 || (uintptr_t)from % size != 0) abort();
  memset(to, 0, size);
  memcpy(to, from, size - zeros);
}
static inline void __pipeline_commit() {}
static inline void __pipeline_wait_prior(int) {}

/* Runs work() as so many threads of a block. */
template <class WORK> static void run_block(int threads, WORK work) {
  std::vector<std::thread> all;
  pthread_barrier_init(&block_barrier, NULL, (unsigned)threads);
  for (int i = 0; i < threads; i++)
    all.emplace_back([=] {
      threadIdx.x = i;
      work();
    });
  for (std::thread &t : all) t.join();
  pthread_barrier_destroy(&block_barrier);
}
