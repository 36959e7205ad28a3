/*
 * Is a problem what it says it is? Its structure in no time, what it computes at random points.
 *
 *   hvi_error err;
 *   if (hvi_problem_check(NULL, p, NULL, &err)) return puts(err.text), 1;    // structure alone
 *
 *   hvi_check report;
 *   if (hvi_problem_check(&report, p, NULL, &err)) return puts(err.text), 1; // and everything else
 *   printf("mu is at most %g\n", report.mu);
 *
 * hvi_solver_new, hvi_theory_inspect, hvi_problem_judge and hvi_problem_constants check the
 * structure. Nobody but you asks for the rest: do so whenever you have changed a model or an
 * operator. A solve with a wrong derivative may well end `converged`, somewhere else.
 */
#ifndef HVI_CHECK_H
#define HVI_CHECK_H

#include <hvi/problem.h>
#include <hvi/setting.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hvi_check_settings {
  size_t points;    /* random points and directions for each test */
  double spread;    /* theta = theta0 + spread * normal; the first point is theta0 itself */
  double tolerance; /* relative error of derivatives; limits of other errors follow from it */
  uint64_t seed;
  double *pair; /* [2][n] takes the two points at which F is least monotone; NULL: not wanted */
} hvi_check_settings;

/* What `hvi check` starts from; names, ranges and defaults of all of them. */
HVI_API hvi_check_settings hvi_check_defaults(void);
HVI_API const hvi_setting_table *hvi_check_table(void);

typedef enum hvi_check_test {
  /* the model */
  HVI_CHECK_ARRAYS,      /* eval, vjp and jvp write the whole of their results, and nothing else */
  HVI_CHECK_DETERMINISM, /* same theta, same bits, with a fresh cache or one used elsewhere before */
  HVI_CHECK_JVP,         /* J v against differences of g */
  HVI_CHECK_VJP,         /* J'u against differences of g */
  HVI_CHECK_ADJOINT,     /* <u, J v> = <J'u, v> */
  HVI_CHECK_PLAYERS,     /* a player moves its own outputs alone, and its own model agrees */
  HVI_CHECK_MATRICES,    /* jacobian, gram and outer_gram against jvp and vjp */
  /* the set and the operator */
  HVI_CHECK_SETS,      /* outputs lie in Z */
  HVI_CHECK_REACH,     /* and can go everywhere in Z, as far as can be seen */
  HVI_CHECK_OPERATOR,  /* F is finite, written whole, and the same each time */
  HVI_CHECK_AFFINE,    /* F(z) = A z + b with the A and b that `affine` gives */
  HVI_CHECK_MONOTONE,  /* <F(x) - F(y), x - y> >= 0 */
  HVI_CHECK_CONSTANTS, /* no pair contradicts the problem's exact mu and L */
  HVI_CHECK_SOLUTION,  /* the solution lies in Z and its residual is zero */
  HVI_CHECK_DRAWS,     /* same generator, same sample, and F of it is finite */
  HVI_CHECK_SEEK,      /* a sample after `seek` goes on as one that was drawn */
  HVI_CHECK_COUNT
} hvi_check_test;

typedef enum hvi_check_verdict {
  HVI_CHECK_SKIPPED, /* the problem has nothing of the kind, or too much of it */
  HVI_CHECK_PASSED,
  HVI_CHECK_WARNED, /* no mistake by itself; a solve may suffer */
  HVI_CHECK_FAILED
} hvi_check_verdict;

typedef struct hvi_check_result {
  const char *name, *what; /* "vjp", "J'u against differences of g" */
  hvi_check_verdict verdict;
  double worst, limit; /* the number that was judged; NaN: there is none */
  char text[240];      /* what is wrong, where, and what would be right; empty: nothing */
} hvi_check_result;

/* On the directions that Z allows, as far as is known. */
typedef enum hvi_monotonicity {
  HVI_MONOTONICITY_UNKNOWN, /* no two points differ */
  HVI_NOT_MONOTONE,
  HVI_MONOTONE, /* mu is zero */
  HVI_STRONGLY_MONOTONE
} hvi_monotonicity;

typedef struct hvi_check {
  hvi_check_result results[HVI_CHECK_COUNT];
  size_t failed, warned;

  /* what kind of problem it is, as far as random points can tell */
  bool affine;             /* F is affine in z */
  bool theta_in_F;         /* F changes with theta while z stays */
  bool zero_sum;           /* `affine` says so: A_ij = -A_ji' for every two players */
  double mu, lipschitz;    /* over pairs of points: mu is at most, L at least this */
  size_t pairs;            /* that were compared */
  hvi_constants constants; /* the problem's exact ones, where it has them; else those of pairs */
  hvi_monotonicity monotonicity; /* by these constants */
} hvi_check;

/* "passed" */
HVI_API const char *hvi_check_verdict_name(hvi_check_verdict v);

/*
 * HVI_ERROR_ARGUMENT or HVI_ERROR_INPUT when the structure is wrong: functions that are missing,
 * blocks that do not cover parameters and outputs, sets that are no sets. Nothing of the problem's
 * is called for that but `player`. Then, where there is a report to fill, all tests run; a test that
 * fails gives HVI_ERROR_INPUT with the first of the lines. settings NULL: the defaults.
 */
HVI_API hvi_status hvi_problem_check(hvi_check *report, const hvi_problem *p,
                                     const hvi_check_settings *s, hvi_error *err);

#ifdef __cplusplus
}
#endif

#endif
