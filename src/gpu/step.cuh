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
  const bool steps;
  const int rule;
  float *theta, *m, *v, *gradient;
  float rate, root, shrink, beta1, beta2, rest1, rest2, epsilon;

  __device__ stepper(const gpu_job &j, pass_kind kind) : steps(kind == FOR_STEP), rule(j.rule) {
    const progress &p = *j.state;
    theta = j.theta, m = j.m, v = j.v, gradient = j.gradient;
    rate = p.rate, root = p.root, shrink = p.shrink;
    beta1 = (float)j.beta1, beta2 = (float)j.beta2, epsilon = (float)j.epsilon;
    rest1 = (float)(1.0 - j.beta1), rest2 = (float)(1.0 - j.beta2);
  }

  /* x from where it is; m and v are its moments, g its gradient. */
  __device__ float next(float x, float g, float &m, float &v) const {
    if (rule == HVI_DEVICE_GD) return x - rate * g;
    if (rule == HVI_DEVICE_MOMENTUM) {
      m = beta1 * m + g;
      return x - rate * m;
    }
    m = beta1 * m + rest1 * g;
    v = beta2 * v + rest2 * g * g;
    return x - (__fdividef(rate * m, square_root(root * v) + epsilon) + shrink * x);
  }

  /* Of all that are to be put, before the first is: they wait for memory together. */
  template <int N> __device__ state<N> fetch(size_t at) const {
    state<N> x = {};
    if (!steps) return x;
    x.theta = *(const numbers<N> *)(theta + at);
    if (rule != HVI_DEVICE_GD) x.m = *(const numbers<N> *)(m + at);
    if (rule == HVI_DEVICE_ADAM) x.v = *(const numbers<N> *)(v + at);
    return x;
  }

  /* Their step, or the gradient: what parameters become. */
  template <int N> __device__ numbers<N> put(size_t at, const numbers<N> &g, state<N> x) const {
    if (!steps) {
      *(numbers<N> *)(gradient + at) = g;
      return x.theta;
    }
#pragma unroll
    for (int i = 0; i < N; i++) x.theta.at[i] = next(x.theta.at[i], g.at[i], x.m.at[i], x.v.at[i]);
    *(numbers<N> *)(theta + at) = x.theta;
    if (rule != HVI_DEVICE_GD) *(numbers<N> *)(m + at) = x.m;
    if (rule == HVI_DEVICE_ADAM) *(numbers<N> *)(v + at) = x.v;
    return x.theta;
  }
};

template <int N> __device__ inline float larger(float top, const numbers<N> &x) {
#pragma unroll
  for (int i = 0; i < N; i++) top = fmaxf(top, fabsf(x.at[i]));
  return top;
}

/* Has the L2 cache fetch what the steps of the 32 numbers at .. will read. */
__device__ inline void foresee_state(const gpu_job &j, size_t at) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(j.theta + at));
  asm volatile("prefetch.global.L2 [%0];" ::"l"(j.m + at));
  asm volatile("prefetch.global.L2 [%0];" ::"l"(j.v + at));
}

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
