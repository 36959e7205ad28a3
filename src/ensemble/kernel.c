/*
 * Kernels, part 3: inner steps, the operator, the residual and the outer step on lanes.
 *
 * Formulas and order of operations of inner steps are those of inner/optimizers.c. A lane that is
 * no longer active keeps its theta.
 *
 *   F_i(z) = sum_j A_ij z_j + w_i z_i + constant_i        residual = |z - projection(z - F(z))|
 *
 * Projection onto the simplex is max(x - tau, 0) with tau = max_k (x_(1) + .. + x_(k) - 1) / k, the
 * x_(i) being sorted down; a sorting network does that without branches.
 *
 * The kernels are built once per level of instructions.
 */
#include "ensemble/kernel_linear.h"
#include "outer/solver.h"

/* step = J' r */
static inline void gradient(const hvi_lanes_plan *plan, hvi_lane *s) {
  for (size_t k = 0; k < plan->player_count; k++) {
    const hvi_lanes_player *p = &plan->players[k];
    vjp(plan, p, s, s + plan->r + p->z, s + plan->step + p->theta);
  }
}

/* theta -= t step where `moving` is not 0 */
static inline void move(const hvi_lanes_plan *plan, hvi_lane *s, const hvi_lane *restrict moving,
                        double t) {
  hvi_lane *restrict theta = s + plan->theta;
  const hvi_lane *restrict step = s + plan->step;
  for (size_t i = 0; i < plan->d; i++)
    for (int l = 0; l < HVI_LANES; l++) {
      const double old = theta[i].at[l], fresh = old - t * step[i].at[l];
      theta[i].at[l] = moving->at[l] != 0.0 ? fresh : old;
    }
}

static inline void levenberg_step(const hvi_lanes_plan *plan, hvi_lane *s) {
  hvi_lane good = s[HVI_SLOT_ACTIVE];
  for (size_t k = 0; k < plan->player_count; k++) {
    const hvi_lanes_player *p = &plan->players[k];
    jacobian(plan, p, s);
    damped_solve(plan, p, s, s + plan->step + p->theta, &good);
  }
  for (size_t i = 0; i < plan->d; i++) {
    const hvi_lane *restrict step = s + plan->step + i;
    for (int l = 0; l < HVI_LANES; l++)
      good.at[l] = fabs(step->at[l]) <= DBL_MAX ? good.at[l] : 0.0;
  }
  move(plan, s, &good, 1.0);
}

static inline void inner_step(const hvi_lanes_plan *plan, hvi_lane *s) {
  if (plan->damped) {
    levenberg_step(plan, s);
  } else {
    gradient(plan, s);
    move(plan, s, s + HVI_SLOT_ACTIVE, plan->method->inner.lr);
  }
}

static inline void operate(const hvi_lanes_plan *plan, hvi_lane *s) {
  const hvi_lane *z = s + plan->z;
  for (size_t k = 0; k < plan->player_count; k++) {
    const hvi_lanes_player *p = &plan->players[k];
    const hvi_lane *weight = s + p->weight, *offset = s + plan->offset + p->z, *own = z + p->z;
    hvi_lane *f = s + plan->f + p->z;
    for (size_t i = 0; i < p->out; i++) {
      EACH_GROUP {
        vf sum[GROUP];
        EACH_OF_IT sum[g] = part(weight, m) * part(own + i, m) + part(offset + i, m);
        for (size_t j = 0; j < plan->payoff_count; j++) {
          const hvi_lanes_payoff *a = &plan->payoffs[j];
          if (a->row != p->z) continue;
          add_terms(sum, l, s + a->matrix + i * a->columns, 1, z + a->column, a->columns);
        }
        EACH_OF_IT store(f[i].at + m, sum[g]);
      }
    }
  }
}

static inline void compare_exchange(hvi_lane *restrict a, hvi_lane *restrict b) {
  for (int l = 0; l < HVI_LANES; l++) {
    const double x = a->at[l], y = b->at[l];
    a->at[l] = x > y ? x : y;
    b->at[l] = x > y ? y : x;
  }
}

/* tau of the projection of x[n] onto the simplex; x is sorted down on the way */
static inline void simplex_threshold(hvi_lane *restrict tau, hvi_lane *restrict x, size_t n) {
  for (size_t end = n; end > 1; end--)
    for (size_t i = 0; i + 1 < end; i++) compare_exchange(x + i, x + i + 1);
  hvi_lane sum;
  for (int l = 0; l < HVI_LANES; l++) sum.at[l] = tau->at[l] = x->at[l] - 1.0;
  for (size_t i = 1; i < n; i++) {
    const double inverse = 1.0 / (double)(i + 1);
    for (int l = 0; l < HVI_LANES; l++) {
      sum.at[l] += x[i].at[l];
      const double candidate = sum.at[l] * inverse, best = tau->at[l];
      tau->at[l] = candidate > best ? candidate : best;
    }
  }
}

/* gap = z - projection(z - f) onto an interval */
static inline void box_gap(hvi_lane *gap, const hvi_lane *z, const hvi_lane *f,
                           const hvi_lane *lower, const hvi_lane *upper) {
  for (int l = 0; l < HVI_LANES; l += WIDTH) {
    const vf x = part(z, l) - part(f, l);
    store(gap->at + l, part(z, l) - at_most(at_least(x, part(lower, l)), part(upper, l)));
  }
}

static inline void simplex_gap(hvi_lane *restrict gap, const hvi_lane *restrict z,
                               const hvi_lane *restrict f, size_t n) {
  hvi_lane tau;
  for (size_t i = 0; i < n; i++)
    for (int l = 0; l < HVI_LANES; l++) gap[i].at[l] = z[i].at[l] - f[i].at[l];
  simplex_threshold(&tau, gap, n);
  for (size_t i = 0; i < n; i++)
    for (int l = 0; l < HVI_LANES; l++) {
      const double x = z[i].at[l] - f[i].at[l] - tau.at[l], y = x > 0.0 ? x : 0.0;
      gap[i].at[l] = z[i].at[l] - y;
    }
}

/* The square of the residual; its root is taken where someone looks at it. */
static inline void residual(const hvi_lanes_plan *plan, hvi_lane *s) {
  for (size_t k = 0; k < plan->set_count; k++) {
    const hvi_lanes_set *set = &plan->sets[k];
    const hvi_lane *z = s + plan->z + set->begin, *f = s + plan->f + set->begin;
    hvi_lane *gap = s + plan->gap + set->begin;
    if (set->kind == HVI_SET_SIMPLEX)
      simplex_gap(gap, z, f, set->len);
    else if (set->kind == HVI_SET_BOX)
      for (size_t i = 0; i < set->len; i++)
        box_gap(gap + i, z + i, f + i, s + set->lower + i, s + set->upper + i);
    else
      lane_copy(gap, f, set->len);
  }
  product(s + HVI_SLOT_RESIDUAL2, s + plan->gap, 1, s + plan->gap, plan->n, NULL);
}

/* out = sum_i (x_i - y_i)^2 */
static inline void distance2(hvi_lane *restrict out, const hvi_lane *restrict x,
                             const hvi_lane *restrict y, size_t n) {
  lane_fill(out, 0.0);
  for (size_t i = 0; i < n; i++)
    for (int l = 0; l < HVI_LANES; l++) {
      const double difference = x[i].at[l] - y[i].at[l];
      out->at[l] += difference * difference;
    }
}

/* r = z - target */
static inline void measure(const hvi_lanes_plan *plan, hvi_lane *s) {
  const hvi_lane *restrict z = s + plan->z, *restrict target = s + plan->target;
  hvi_lane *restrict r = s + plan->r;
  for (size_t i = 0; i < plan->n; i++)
    for (int l = 0; l < HVI_LANES; l++) r[i].at[l] = z[i].at[l] - target[i].at[l];
}

static inline void loss(const hvi_lanes_plan *plan, const hvi_lane *s, hvi_lane *restrict out) {
  const hvi_lane *restrict r = s + plan->r;
  product(out, r, 1, r, plan->n, NULL);
  for (int l = 0; l < HVI_LANES; l++) out->at[l] *= 0.5;
}

/* target = z - eta F,  r = z - target */
static inline void freeze(const hvi_lanes_plan *plan, hvi_lane *s) {
  for (size_t k = 0; k < plan->player_count; k++) {
    const hvi_lanes_player *p = &plan->players[k];
    const hvi_lane *eta = s + p->eta, *z = s + plan->z, *f = s + plan->f;
    hvi_lane *target = s + plan->target, *r = s + plan->r;
    for (size_t i = p->z; i < p->z + p->out; i++)
      for (int l = 0; l < HVI_LANES; l += WIDTH) {
        const vf from = part(z + i, l), to = from - part(eta, l) * part(f + i, l);
        store(target[i].at + l, to);
        store(r[i].at + l, from - to);
      }
  }
}

/* Counts the steps in which z hardly moved, measured by the length of the exact step, as
 * outer/solver.c does; most steps need only the first half. */
static inline void count_still(const hvi_lanes_plan *plan, hvi_lane *s) {
  const hvi_lane *restrict size2 = s + HVI_SLOT_RESIDUAL2, *restrict eta = s + plan->players[0].eta;
  hvi_lane *restrict still = s + HVI_SLOT_STILL;
  hvi_lane moved2, norm2;
  uint64_t any = 0;
  distance2(&moved2, s + plan->z, s + plan->z_last, plan->n);
  for (int l = 0; l < HVI_LANES; l++) {
    const double exact = hvi_still_share * eta->at[l];
    const double count = moved2.at[l] <= exact * exact * size2->at[l] ? still->at[l] + 1.0 : 0.0;
    still->at[l] = count;
    any |= count > 0.0 ? 1U : 0U;
  }
  if (!any) return;
  product(&norm2, s + plan->z, 1, s + plan->z, plan->n, NULL);
  for (int l = 0; l < HVI_LANES; l++) {
    const double least = hvi_rounding * (1.0 + sqrt(norm2.at[l]));
    const bool matters = size2->at[l] > least * least;
    still->at[l] = matters ? still->at[l] : 0.0;
  }
}

/* size2 becomes NaN where something is not finite; F is, where z is not. */
static inline bool ended(const hvi_lanes_plan *plan, const hvi_lane *s) {
  vi any = {0};
  EACH_GROUP {
    vf size2[GROUP];
    EACH_OF_IT size2[g] = part(s + HVI_SLOT_RESIDUAL2, m);
    for (size_t i = 0; i < plan->d; i++) EACH_OF_IT size2[g] += 0.0 * part(s + plan->theta + i, m);
    for (size_t i = 0; i < plan->n; i++) EACH_OF_IT size2[g] += 0.0 * part(s + plan->f + i, m);
    EACH_OF_IT {
      const vi fine = (size2[g] <= part(s + HVI_SLOT_BOUND2, m)) & (size2[g] > plan->tol2) &
                      (part(s + HVI_SLOT_STILL, m) < plan->stall_window);
      any |= (part(s + HVI_SLOT_ACTIVE, m) != 0) & ~fine;
    }
  }
  whole some = 0;
  for (int i = 0; i < (int)WIDTH; i++) some |= any[i];
  return some != 0;
}

static inline void evaluate(const hvi_lanes_plan *plan, hvi_lane *s, bool record) {
  operate(plan, s);
  residual(plan, s);
  if (record) distance2(s + HVI_SLOT_DIST2, s + plan->z, s + plan->solution, plan->n);
}

static inline void start(const hvi_lanes_plan *plan, hvi_lane *s) {
  forward(plan, s);
  evaluate(plan, s, true);
}

static inline void step(const hvi_lanes_plan *plan, hvi_lane *s, size_t inner_steps, bool record) {
  const bool watch = plan->stall_window < INFINITY;
  if (watch) lane_copy(s + plan->z_last, s + plan->z, plan->n);
  freeze(plan, s);
  if (record) loss(plan, s, s + HVI_SLOT_LOSS0);
  for (size_t i = 0; i < inner_steps; i++) {
    inner_step(plan, s);
    forward(plan, s);
    if (record || i + 1 < inner_steps) measure(plan, s);
  }
  if (record) loss(plan, s, s + HVI_SLOT_LOSS);
  evaluate(plan, s, record);
  if (watch) count_still(plan, s);
}

const hvi_lanes_kernel HVI_LEVEL_TABLE(hvi_lanes) = {
    .name = HVI_LEVEL_NAME, .start = start, .step = step, .ended = ended};
