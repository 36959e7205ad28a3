/*
 * Hopper's own instructions, under names: barriers that count bytes, bulk copies, and products of a warp
 * group (wgmma). They exist for the target sm_90a alone; elsewhere these functions are empty, and the
 * kernels that use them are never launched.
 *
 * A descriptor tells the tensor cores where an operand lies in shared memory, in the order of halves.cuh.
 * By rows, k runs along a row: groups of 8 rows are 1,024 bytes apart, and 16 of k are 32 bytes. By columns,
 * k runs down the rows: groups of 8 k are 1,024 bytes apart, and from 64 columns to the next it is a block.
 */
#pragma once

#include "gpu/halves.cuh"

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define ON_HOPPER(...) asm volatile(__VA_ARGS__)
#else
#define ON_HOPPER(...)
#endif

__device__ inline unsigned shared_at(const void *p) {
  return (unsigned)__cvta_generic_to_shared(p);
}

__device__ inline void barrier_init(unsigned barrier, int arrivals) {
  ON_HOPPER("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
__device__ inline void barrier_expect(unsigned barrier, unsigned bytes) {
  ON_HOPPER("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
            : "memory");
}
__device__ inline void barrier_arrive(unsigned barrier) {
  ON_HOPPER("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
__device__ inline void barrier_wait(unsigned barrier, unsigned parity) {
  ON_HOPPER("{\n"
            ".reg .pred done;\n"
            "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
            "@!done bra again;\n"
            "}" ::"r"(barrier),
            "r"(parity)
            : "memory");
}

/* Contiguous bytes, a multiple of 16. */
__device__ inline void copy_in(unsigned to, const char *from, unsigned bytes, unsigned barrier) {
  ON_HOPPER(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(to),
      "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(barrier)
      : "memory");
}
__device__ inline void copy_out(char *to, unsigned from, unsigned bytes) {
  ON_HOPPER("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(
                __cvta_generic_to_global(to)),
            "r"(from), "r"(bytes)
            : "memory");
}
__device__ inline void end_copies_out() { ON_HOPPER("cp.async.bulk.commit_group;" ::: "memory"); }
/* Shared memory has been read; all but the last so many are written. */
__device__ inline void wait_copies_read() {
  ON_HOPPER("cp.async.bulk.wait_group.read 0;" ::: "memory");
}
template <int BUT> __device__ inline void wait_copies_out() {
  ON_HOPPER("cp.async.bulk.wait_group %0;" ::"n"(BUT) : "memory");
}

/* Ordinary writes to shared memory are seen by copies after it; a fence of the barriers' making. */
__device__ inline void fence_copies() { ON_HOPPER("fence.proxy.async.shared::cta;" ::: "memory"); }
__device__ inline void fence_barriers() {
  ON_HOPPER("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ inline void meet(int name, int threads) {
  ON_HOPPER("bar.sync %0, %1;" ::"r"(name), "r"(threads) : "memory");
}

/* A warp arrives once, when all of its lanes are through. Racecheck knows the order that a barrier makes for those
 * that arrive themselves alone: in a build for it each of the 32 lanes does. */
#ifndef OF_WARP
#define OF_WARP 1
#endif
__device__ inline void warp_arrives(unsigned barrier) {
  __syncwarp();
  if (threadIdx.x % 32 < OF_WARP) barrier_arrive(barrier);
}

/* Barriers of stages of shared memory that are filled and used in turn; one side's view of them, in which `at`
 * counts what has been through, on both sides alike. */
template <int STAGES> struct ring_barriers {
  unsigned long long full[STAGES], empty[STAGES];
  __device__ void init(int warps) {
    for (int i = 0; i < STAGES; i++) {
      barrier_init(shared_at(&full[i]), 1);
      barrier_init(shared_at(&empty[i]), warps * OF_WARP);
    }
  }
};
template <int STAGES> struct ring_side {
  ring_barriers<STAGES> &barriers;
  unsigned at;
  __device__ explicit ring_side(ring_barriers<STAGES> &b) : barriers(b), at(0) {}
  __device__ int stage() const { return at % STAGES; }
  __device__ unsigned turn() const { return at / STAGES % 2; }
  /* The stage may be filled: the barrier that counts its bytes. */
  __device__ unsigned offer() const {
    barrier_wait(shared_at(&barriers.empty[stage()]), turn() ^ 1);
    return shared_at(&barriers.full[stage()]);
  }
  /* The next stage is full: which it is. */
  __device__ int take() {
    const int which = stage();
    barrier_wait(shared_at(&barriers.full[which]), turn());
    at++;
    return which;
  }
  /* This warp is done with it, all of its lanes. */
  __device__ void release(int which) const { warp_arrives(shared_at(&barriers.empty[which])); }
};

/* A group of four warps gives up registers, or takes what others have given up: then it has COUNT. */
template <int COUNT> __device__ inline void give_registers() {
  ON_HOPPER("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(COUNT));
}
template <int COUNT> __device__ inline void take_registers() {
  ON_HOPPER("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(COUNT));
}

template <bool BY_ROWS> __device__ inline unsigned long long operand_at(unsigned shared) {
  constexpr unsigned long long next = BY_ROWS ? 1 : (BLOCK * ROW_BYTES) >> 4;
  return (1ull << 62) | (64ull << 32) | (next << 16) | ((shared & 0x3ffff) >> 4);
}
/* From 16 of k to the next 16. */
template <bool BY_ROWS> constexpr unsigned long long OPERAND_STEP = BY_ROWS ? 2 : 128;

__device__ inline void products_begin() { ON_HOPPER("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void products_commit() {
  ON_HOPPER("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/* All but the last so many that were committed are done. */
template <int BUT> __device__ inline void products_wait() {
  ON_HOPPER("wgmma.wait_group.sync.aligned %0;" ::"n"(BUT) : "memory");
}
/* What products have summed up is not looked at before this. */
template <int COUNT> __device__ inline void settle(float (&c)[COUNT]) {
#pragma unroll
  for (int i = 0; i < COUNT; i++) asm volatile("" : "+f"(c[i])::"memory");
}

#define FOUR(c, i)    "+f"(c[i]), "+f"(c[i + 1]), "+f"(c[i + 2]), "+f"(c[i + 3])
#define SIXTEEN(c, i) FOUR(c, i), FOUR(c, i + 4), FOUR(c, i + 8), FOUR(c, i + 12)

/* C [64][N] = A B' + (on ? C : 0) over 16 of k, the columns of C being 2 COUNT; asynchronously. */
template <bool A_ROWS, bool B_ROWS>
__device__ inline void multiply_async(float (&c)[64], unsigned long long a, unsigned long long b,
                                      int on) {
  ON_HOPPER("{\n"
            ".reg .pred on;\n"
            "setp.ne.b32 on, %66, 0;\n"
            "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 "
            "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"
            "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,"
            "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,"
            "%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63}, "
            "%64, %65, on, 1, 1, %67, %68;\n"
            "}"
            : SIXTEEN(c, 0), SIXTEEN(c, 16), SIXTEEN(c, 32), SIXTEEN(c, 48)
            : "l"(a), "l"(b), "r"(on), "n"(A_ROWS ? 0 : 1), "n"(B_ROWS ? 0 : 1));
}
template <bool A_ROWS, bool B_ROWS>
__device__ inline void multiply_async(float (&c)[32], unsigned long long a, unsigned long long b,
                                      int on) {
  ON_HOPPER("{\n"
            ".reg .pred on;\n"
            "setp.ne.b32 on, %34, 0;\n"
            "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
            "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"
            "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}, "
            "%32, %33, on, 1, 1, %35, %36;\n"
            "}"
            : SIXTEEN(c, 0), SIXTEEN(c, 16)
            : "l"(a), "l"(b), "r"(on), "n"(A_ROWS ? 0 : 1), "n"(B_ROWS ? 0 : 1));
}
