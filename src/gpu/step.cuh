/*
 * The step of numbers whose gradient is known, in the kernel that knows it: step.cu from sums of parts,
 * gradients.cu from its own. In a product J'u the gradient itself is what is wanted.
 */
#pragma once

#include "gpu/halves.cuh"

/* What an optimizer needs of some parameters. */
template <int N> struct state { numbers<N> theta, m, v; };

/* To the last bit but one or two, as the division is, in a tenth of the instructions. */
__device__ inline float square_root(float x) {
  asm("sqrt.approx.ftz.f32 %0, %0;" : "+f"(x));
  return x;
}

/* What a job says of its step, read once. */
struct stepper {
  float *theta, *m, *v, *to; /* to: where the gradient is left; NULL: there is a step */
  int rule;
  float rate, root, shrink, keep1, rest1, keep2, rest2, epsilon;

  __device__ stepper(const gpu_job &j, float *leave) {
    const progress &p = *j.state;
    theta = j.theta, m = j.m, v = j.v, to = leave, rule = j.rule;
    rate = p.rate, root = p.root, shrink = p.shrink;
    keep1 = j.keep1, rest1 = j.rest1, keep2 = j.keep2, rest2 = j.rest2, epsilon = j.epsilon;
  }

  __device__ bool steps() const { return !to; }

  /* One rule for all, so that their long operations overlap. */
  template <int N> __device__ void go_on(state<N> &x, const numbers<N> &g) const {
    if (rule == HVI_DEVICE_GD) {
#pragma unroll
      for (int i = 0; i < N; i++) x.theta.at[i] -= rate * g.at[i];
    } else if (rule == HVI_DEVICE_MOMENTUM) {
#pragma unroll
      for (int i = 0; i < N; i++) {
        x.m.at[i] = keep1 * x.m.at[i] + g.at[i];
        x.theta.at[i] -= rate * x.m.at[i];
      }
    } else {
#pragma unroll
      for (int i = 0; i < N; i++) {
        x.m.at[i] = keep1 * x.m.at[i] + rest1 * g.at[i];
        x.v.at[i] = keep2 * x.v.at[i] + rest2 * g.at[i] * g.at[i];
        const float down = square_root(root * x.v.at[i]) + epsilon;
        x.theta.at[i] -= __fdividef(rate * x.m.at[i], down) + shrink * x.theta.at[i];
      }
    }
  }

  /* Of all that are to be put, before the first is: they wait for memory together. */
  template <int N> __device__ state<N> fetch(unsigned at) const {
    state<N> x = {};
    if (!steps()) return x;
    x.theta = *(const numbers<N> *)(theta + at);
    x.m = *(const numbers<N> *)(m + at);
    x.v = *(const numbers<N> *)(v + at);
    return x;
  }

  /* Their step, or the gradient: what parameters become. */
  template <int N> __device__ numbers<N> put(unsigned at, const numbers<N> &g, state<N> x) const {
    if (!steps()) {
      *(numbers<N> *)(to + at) = g;
      return x.theta;
    }
    go_on(x, g);
    *(numbers<N> *)(theta + at) = x.theta;
    *(numbers<N> *)(m + at) = x.m;
    *(numbers<N> *)(v + at) = x.v;
    return x.theta;
  }
};

/* So many sums, `each` apart, in their order. */
template <int N> __device__ inline numbers<N> sum_up(const float *sums, size_t each, int count) {
  numbers<N> g = *(const numbers<N> *)sums;
#pragma unroll 8
  for (int i = 1; i < count; i++) {
    const numbers<N> x = *(const numbers<N> *)(sums + i * each);
#pragma unroll
    for (int k = 0; k < N; k++) g.at[k] += x.at[k];
  }
  return g;
}
