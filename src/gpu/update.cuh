/*
 * The step of a network: the sums of gradients, of parts or of the head's tiles, are added in their order, and
 * the step is taken in one pass over the parameters, four numbers at a time.
 */
#pragma once

#include "gpu/gpu.cuh"

/* What other processors of a launch have just written is read past this one's cache. */
__device__ inline float4 fresh_four(const float *x) { return __ldcg((const float4 *)x); }

__device__ inline float4 gradient_at(const gpu_job &j, const layer &head, size_t at) {
  const bool of_head = at >= head.weight;
  const float *sums =
      of_head ? head_sums_of(j, head, 0) + (at - head.weight) : sums_of(j, head, 0) + at;
  const size_t each = of_head ? head.lead_in + head.lead_out : head.numbers;
  const int count = of_head ? j.head_tiles : j.parts;
  float4 g = fresh_four(sums);
#pragma unroll 8
  for (int i = 1; i < count; i++) {
    const float4 x = fresh_four(sums + i * each);
    g.x += x.x, g.y += x.y, g.z += x.z, g.w += x.w;
  }
  return g;
}

/* Four numbers, on their way. */
struct four_numbers {
  float4 theta, m, v, g;
};
__device__ inline four_numbers numbers_at(const gpu_job &j, const layer &head, size_t at) {
  return {*(float4 *)(j.theta + at), *(float4 *)(j.m + at), *(float4 *)(j.v + at),
          gradient_at(j, head, at)};
}

struct step_rates {
  float rate, root, shrink; /* as in progress */
};
__device__ inline step_rates rates_of(const gpu_job &j) {
  const progress *p = j.state;
  return {__ldcg(&p->rate), __ldcg(&p->root), __ldcg(&p->shrink)};
}

__device__ inline float step_of(const gpu_job &j, const step_rates &p, float theta, float g,
                                float *m, float *v) {
  if (j.rule == HVI_DEVICE_GD) return theta - p.rate * g;
  const float b1 = (float)j.beta1, b2 = (float)j.beta2;
  if (j.rule == HVI_DEVICE_MOMENTUM) {
    *m = b1 * *m + g;
    return theta - p.rate * *m;
  }
  *m = b1 * *m + (float)(1.0 - j.beta1) * g;
  *v = b2 * *v + (float)(1.0 - j.beta2) * g * g;
  const float down = p.rate * *m / (sqrtf(p.root * *v) + (float)j.epsilon);
  return theta - (down + p.shrink * theta);
}

/* The step of four numbers; the new ones. */
__device__ inline float4 step_from(const gpu_job &j, const step_rates &p, size_t at,
                                   four_numbers x) {
  x.theta.x = step_of(j, p, x.theta.x, x.g.x, &x.m.x, &x.v.x);
  x.theta.y = step_of(j, p, x.theta.y, x.g.y, &x.m.y, &x.v.y);
  x.theta.z = step_of(j, p, x.theta.z, x.g.z, &x.m.z, &x.v.z);
  x.theta.w = step_of(j, p, x.theta.w, x.g.w, &x.m.w, &x.v.w);
  *(float4 *)(j.theta + at) = x.theta;
  if (j.rule != HVI_DEVICE_GD) *(float4 *)(j.m + at) = x.m;
  if (j.rule == HVI_DEVICE_ADAM) *(float4 *)(j.v + at) = x.v;
  return x.theta;
}
