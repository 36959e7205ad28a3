/* Networks on several threads: the same bits as on one, and nobody in another's way. */
#include "support/networks.h"

enum { MOST_THREADS = 4 };

static void check_products(const network_case *c) {
  hvi_model *alone = make_network(c, 1, true);
  desk a = desk_at(alone, alone, 0);
  desk_use(&a);
  for (size_t threads = 2; threads <= MOST_THREADS; threads++) {
    hvi_model *m = make_network(c, threads, true);
    desk b = desk_at(m, m, 0);
    desk_use(&b);
    check_same_bits(a.z, b.z, m->out);
    check_same_bits(a.back, b.back, m->dim);
    check_same_bits(a.forth, b.forth, m->out);
    desk_free(&b);
    hvi_model_free(m);
  }
  desk_free(&a);
  hvi_model_free(alone);
}

static void products_have_the_same_bits(void **state) {
  (void)state;
  for (size_t i = 0; i < NETWORK_CASES; i++) check_products(&network_cases[i]);
}

/* The lower triangle of J J'; the caller frees it. */
static double *outer_of(const network_case *c, size_t threads) {
  hvi_model *m = make_network(c, threads, true);
  double *K = calloc(m->out * m->out, sizeof *K), *work = malloc(m->outer_work * sizeof *work);
  desk b = desk_at(m, m, 0);
  desk_use(&b);
  m->ops->outer_gram(m, b.cache, b.theta, K, work);
  free(work);
  desk_free(&b);
  hvi_model_free(m);
  return K;
}

static void gram_matrices_have_the_same_bits(void **state) {
  (void)state;
  const network_case many = {"many rows", 3, 3, {8, 24, 1}, HVI_GELU, HVI_IDENTITY, 800};
  double *alone = outer_of(&many, 1);
  for (size_t threads = 2; threads <= MOST_THREADS; threads++) {
    double *K = outer_of(&many, threads);
    for (size_t i = 0; i < many.rows; i++)
      check_same_bits(K + i * many.rows, alone + i * many.rows, i + 1);
    free(K);
  }
  free(alone);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products_have_the_same_bits),
      cmocka_unit_test(gram_matrices_have_the_same_bits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
