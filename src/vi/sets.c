/*
 * The set Z = product of boxes, simplices, subspaces and free factors.
 *
 * Projection onto the simplex: y_i = max(x_i - tau, 0) with tau such that the result sums to one.
 * Michelot's iteration finds tau without sorting: tau = (sum of the active x_i - 1) / (number
 * active), then those at or below tau become inactive, until none does; at most n rounds. In a
 * weighted norm the multiplier is divided by each weight: max(x_i - tau / w_i, 0). Adding c / w_i
 * to every x_i changes nothing, so the largest is moved to zero first: far points then keep their
 * digits.
 */
#include "vi/sets.h"

#include "base/base.h"
#include "num/dense.h"

/* The point to project: z itself, or z - Xi^-1 f. */
typedef struct point {
  const double *z, *f, *w; /* f and w may be NULL */
} point;

static inline double coordinate(const point *p, size_t i) {
  return p->f ? p->z[i] - (p->w ? p->f[i] / p->w[i] : p->f[i]) : p->z[i];
}

/* The projection's coordinates are max(x_i - shift / w_i - tau / w_i, 0). */
typedef struct threshold {
  double shift, tau;
} threshold;

static inline double above(const point *p, const threshold *t, size_t i) {
  const double x = coordinate(p, i);
  return p->w ? x - t->shift / p->w[i] - t->tau / p->w[i] : x - t->shift - t->tau;
}

static threshold simplex_threshold(const point *p, size_t n) {
  threshold t = {-INFINITY, 0.0};
  for (size_t i = 0; i < n; i++) {
    const double x = coordinate(p, i) * (p->w ? p->w[i] : 1.0);
    t.shift = x > t.shift ? x : t.shift;
  }
  size_t active = n + 1;
  double tau = -INFINITY;
  for (;;) {
    double sum = -1.0, scale = 0.0;
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
      const double inverse = p->w ? 1.0 / p->w[i] : 1.0;
      const double x = coordinate(p, i) - t.shift * inverse;
      if (x <= tau * inverse) continue;
      sum += x;
      scale += inverse;
      count++;
    }
    /* rounding may bring an element back: the count must fall, or the loop would never end */
    if (count == 0 || count >= active) return t;
    t.tau = tau = sum / scale;
    active = count;
  }
}

/* Two selections without a branch; NaN stays NaN. */
static inline double clamp(double x, double low, double high) {
  const double most = high < x ? high : x;
  return low > most ? low : most;
}

/* c[rank] = (basis mix)' (w z), in one pass over the rows of the basis; w may be NULL. */
static void coordinates(double *c, const hvi_set *set, const double *w, const double *z) {
  const size_t rank = set->rank;
  double plain[HVI_SET_RANK];
  double *sum = set->mix ? plain : c;
  hvi_vec_zero(sum, rank);
  for (size_t i = 0; i < set->len; i++)
    hvi_vec_add(sum, w ? w[i] * z[i] : z[i], set->basis + i * rank, rank);
  if (set->mix) hvi_dense_mul_t(c, set->mix, sum, rank, rank);
}

static void project_subspace(const hvi_set *set, const double *w, const double *z, double *out) {
  const size_t rank = set->rank;
  double c[HVI_SET_RANK], mixed[HVI_SET_RANK];
  coordinates(c, set, w, z);
  if (set->mix) hvi_dense_mul(mixed, set->mix, c, rank, rank);
  for (size_t i = 0; i < set->len; i++)
    out[i] = hvi_vec_dot(set->basis + i * rank, set->mix ? mixed : c, rank);
}

void hvi_set_project(const hvi_set *set, const double *w, const double *z, double *out) {
  const point p = {z, NULL, w};
  threshold t;
  switch (set->kind) {
  case HVI_SET_FREE:
    hvi_vec_copy(out, z, set->len);
    break;
  case HVI_SET_BOX:
    for (size_t i = 0; i < set->len; i++) out[i] = clamp(z[i], set->lower[i], set->upper[i]);
    break;
  case HVI_SET_SIMPLEX:
    t = simplex_threshold(&p, set->len);
    for (size_t i = 0; i < set->len; i++) out[i] = fmax(above(&p, &t, i), 0.0);
    break;
  case HVI_SET_SUBSPACE:
    project_subspace(set, w, z, out);
    break;
  }
}

void hvi_problem_project(const hvi_problem *p, const double *z, double *out) {
  for (size_t k = 0; k < p->set_count; k++) {
    const size_t at = p->sets[k].begin;
    hvi_set_project(&p->sets[k], p->weights ? p->weights + at : NULL, z + at, out + at);
  }
}

/* z lies in the subspace, so the residual is the projection of f itself. */
static double subspace_residual2(const hvi_set *set, const double *f) {
  double c[HVI_SET_RANK];
  coordinates(c, set, NULL, f);
  return hvi_vec_norm2(c, set->rank);
}

static double simplex_residual2(const hvi_set *set, const double *w, const double *z,
                                const double *f) {
  const point p = {z, f, w};
  const threshold t = simplex_threshold(&p, set->len);
  double sum = 0.0;
  for (size_t i = 0; i < set->len; i++) {
    const double y = above(&p, &t, i), gap = z[i] - (y > 0.0 ? y : 0.0);
    sum += (w ? w[i] : 1.0) * gap * gap;
  }
  return sum;
}

/* How far z may move along -f before it meets the box. */
static double box_residual2(const hvi_set *set, const double *w, const double *z, const double *f) {
  double sum = 0.0;
  for (size_t i = 0; i < set->len; i++) {
    const double step = w ? f[i] / w[i] : f[i];
    const double gap = clamp(step, z[i] - set->upper[i], z[i] - set->lower[i]);
    sum += (w ? w[i] * gap : gap) * gap;
  }
  return sum;
}

/* One factor's share of the squared residual, without room for the projected point. */
static double set_residual2(const hvi_set *set, const double *w, const double *z, const double *f) {
  double sum = 0.0;
  switch (set->kind) {
  case HVI_SET_FREE:
    for (size_t i = 0; i < set->len; i++) sum += w ? f[i] * f[i] / w[i] : f[i] * f[i];
    return sum;
  case HVI_SET_BOX:
    return box_residual2(set, w, z, f);
  case HVI_SET_SIMPLEX:
    return simplex_residual2(set, w, z, f);
  case HVI_SET_SUBSPACE:
    return subspace_residual2(set, f);
  }
  return NAN;
}

double hvi_problem_residual(const hvi_problem *p, const double *z, const double *f) {
  double sum = 0.0;
  for (size_t k = 0; k < p->set_count; k++) {
    const size_t at = p->sets[k].begin;
    sum += set_residual2(&p->sets[k], p->weights ? p->weights + at : NULL, z + at, f + at);
  }
  return sqrt(sum);
}

static size_t set_rank(const hvi_set *set) {
  size_t rank = 0;
  if (set->kind == HVI_SET_SUBSPACE) return set->rank;
  if (set->kind == HVI_SET_SIMPLEX) return set->len - 1;
  if (set->kind == HVI_SET_FREE) return set->len;
  for (size_t i = 0; i < set->len; i++) rank += set->lower[i] < set->upper[i];
  return rank;
}

/*
 * Directions within the simplex, orthonormal in the weights' product: for j = 1 .. len-1
 *   d_j = (1/w_0, ..., 1/w_{j-1}, -S_j, 0, ...) / sqrt(S_j + S_j^2 w_j),  S_j = sum_{i<j} 1/w_i
 * which for w = 1 are Helmert's.
 */
static void simplex_directions(double *rows, const double *w, size_t len, size_t width) {
  double sum = 0.0;
  for (size_t j = 1; j < len; j++) {
    sum += w ? 1.0 / w[j - 1] : 1.0;
    const double scale = 1.0 / sqrt(sum + sum * sum * (w ? w[j] : 1.0));
    for (size_t i = 0; i < j; i++) rows[i * width + j - 1] = w ? scale / w[i] : scale;
    rows[j * width + j - 1] = -sum * scale;
  }
}

/* Writes one factor's directions into columns column .. of B. */
static void set_directions(const hvi_set *set, const double *w, double *B, size_t width,
                           size_t column) {
  double *rows = B + set->begin * width + column;
  if (set->kind == HVI_SET_SIMPLEX) {
    simplex_directions(rows, w, set->len, width);
    return;
  }
  size_t next = 0;
  for (size_t i = 0; i < set->len; i++) {
    if (set->kind == HVI_SET_SUBSPACE) {
      const double *row = set->basis + i * set->rank;
      if (set->mix)
        hvi_dense_mul_t(rows + i * width, set->mix, row, set->rank, set->rank);
      else
        hvi_vec_copy(rows + i * width, row, set->rank);
    } else if (set->kind == HVI_SET_FREE || set->lower[i] < set->upper[i]) {
      rows[i * width + next++] = w ? 1.0 / sqrt(w[i]) : 1.0;
    }
  }
}

void hvi_problem_tangent(const hvi_problem *p, double *B, size_t *rank) {
  size_t width = 0, column = 0;
  for (size_t k = 0; k < p->set_count; k++) width += set_rank(&p->sets[k]);
  hvi_vec_zero(B, p->model->out * width);
  for (size_t k = 0; k < p->set_count; k++) {
    const hvi_set *set = &p->sets[k];
    set_directions(set, p->weights ? p->weights + set->begin : NULL, B, width, column);
    column += set_rank(set);
  }
  *rank = width;
}

/* The model goes first: it may be a member of the struct that `free` gives back. */
void hvi_problem_free(hvi_problem *p) {
  if (!p) return;
  hvi_model_free(p->model);
  p->model = NULL;
  if (p->ops && p->ops->free) p->ops->free(p);
}
