/* gd, momentum, adam and adamw against their formulas, written out step by step. */
#include "support/models.h"
#include "support/rig.h"

enum { STEPS = 40, ROOM = 64 };

typedef struct setup {
  hvi_model *m;
  double theta[ROOM], target[ROOM], weights[ROOM];
  rig r;
} setup;

static void set_up(setup *x, bool weighted) {
  x->m = make_model(&model_cases[13]); /* input and layers trainable */
  assert_true(x->m->dim <= ROOM);
  fill_normal(x->theta, x->m->dim, 1);
  fill_normal(x->target, x->m->out, 2);
  for (size_t i = 0; i < x->m->out; i++) x->weights[i] = 0.5 + (double)i;
  rig_init(&x->r, x->m, weighted ? x->weights : NULL, x->theta, x->target);
}

static void tear_down(setup *x) {
  rig_free(&x->r);
  hvi_model_free(x->m);
}

/* The optimizer's step k (from 1) on theta, given the gradient and what it remembers. */
typedef void (*formula)(const hvi_optimizer_settings *s, int k, size_t d, const double *g,
                        double *theta, double *memory);

static void gd(const hvi_optimizer_settings *s, int k, size_t d, const double *g, double *theta,
               double *memory) {
  (void)k, (void)memory;
  for (size_t i = 0; i < d; i++) theta[i] -= s->lr * g[i];
}

static void momentum(const hvi_optimizer_settings *s, int k, size_t d, const double *g,
                     double *theta, double *memory) {
  (void)k;
  for (size_t i = 0; i < d; i++) {
    memory[i] = s->momentum * memory[i] + g[i];
    theta[i] -= s->lr * memory[i];
  }
}

static void adam(const hvi_optimizer_settings *s, int k, size_t d, const double *g, double *theta,
                 double *memory) {
  for (size_t i = 0; i < d; i++) {
    double *m = memory + 2 * i, *v = m + 1;
    *m = s->beta1 * *m + (1 - s->beta1) * g[i];
    *v = s->beta2 * *v + (1 - s->beta2) * g[i] * g[i];
    const double mean = *m / (1 - pow(s->beta1, k)), square = *v / (1 - pow(s->beta2, k));
    theta[i] -= s->lr * mean / (sqrt(square) + s->epsilon);
  }
}

static void adamw(const hvi_optimizer_settings *s, int k, size_t d, const double *g, double *theta,
                  double *memory) {
  for (size_t i = 0; i < d; i++) theta[i] -= s->lr * s->weight_decay * theta[i];
  adam(s, k, d, g, theta, memory);
}

static void check_formula(const char *name, formula step, double lr) {
  for (int weighted = 0; weighted < 2; weighted++) {
    setup x;
    double g[ROOM], memory[2 * ROOM] = {0.0};
    set_up(&x, weighted);
    x.r.settings.lr = lr;
    x.r.settings.weight_decay = 0.1;
    x.r.settings.beta2 = 0.99;
    rig_use(&x.r, name);
    for (int k = 1; k <= STEPS; k++) {
      gradient_of(x.m, x.theta, x.target, weighted ? x.weights : NULL, g);
      step(&x.r.settings, k, x.m->dim, g, x.theta, memory);
      assert_true(rig_step(&x.r));
      check_relative(x.r.l.now->theta, x.theta, x.m->dim, 1e-12);
    }
    /* one evaluation and one gradient a step, besides the one at the start */
    assert_int_equal(x.r.counts.model_passes, 1 + STEPS);
    assert_int_equal(x.r.counts.grad_evals, STEPS);
    tear_down(&x);
  }
}

static void gd_is_its_formula(void **state) {
  (void)state;
  check_formula("gd", gd, 0.3);
}

static void momentum_is_its_formula(void **state) {
  (void)state;
  check_formula("momentum", momentum, 0.05);
}

static void adam_is_its_formula(void **state) {
  (void)state;
  check_formula("adam", adam, 0.05);
}

static void adamw_is_its_formula(void **state) {
  (void)state;
  check_formula("adamw", adamw, 0.05);
}

/* After a reset the optimizer takes its first step again; without one it remembers. */
static void a_reset_forgets(void **state) {
  (void)state;
  static const char *const names[] = {"momentum", "adam", "adamw"};
  for (size_t i = 0; i < 3; i++) {
    setup x;
    double first[ROOM], second[ROOM];
    set_up(&x, false);
    x.r.settings.lr = 0.05;
    rig_use(&x.r, names[i]);
    for (int k = 0; k < 3; k++) rig_step(&x.r);
    for (int round = 0; round < 2; round++) {
      if (round == 1) x.r.optimizer->reset(&x.r.settings, x.m, x.r.state);
      hvi_surrogate_start(&x.r.l, x.theta, NULL);
      hvi_surrogate_freeze(&x.r.l);
      rig_step(&x.r);
      memcpy(round ? second : first, x.r.l.now->theta, x.m->dim * sizeof *first);
    }
    tear_down(&x);
    set_up(&x, false);
    x.r.settings.lr = 0.05;
    rig_use(&x.r, names[i]);
    rig_step(&x.r);
    check_same_bits(x.r.l.now->theta, second, x.m->dim);
    assert_memory_not_equal(first, second, x.m->dim * sizeof *first);
    tear_down(&x);
  }
}

static void the_list_and_the_names_agree(void **state) {
  (void)state;
  static const char *const names[] = {"gd", "momentum", "adam", "adamw",
                                      "gn", "dgn",      "lm",   "adversary"};
  size_t count = 0;
  for (const hvi_optimizer *const *o = hvi_optimizer_list(); *o; o++, count++) {
    assert_ptr_equal(hvi_optimizer_find((*o)->name), *o);
    assert_true((*o)->summary);
    assert_true((*o)->summary[0]);
  }
  assert_int_equal(count, sizeof names / sizeof names[0]);
  for (size_t i = 0; i < count; i++) assert_non_null(hvi_optimizer_find(names[i]));
  assert_null(hvi_optimizer_find("sgd"));
  assert_null(hvi_optimizer_find(NULL));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gd_is_its_formula),   cmocka_unit_test(momentum_is_its_formula),
      cmocka_unit_test(adam_is_its_formula), cmocka_unit_test(adamw_is_its_formula),
      cmocka_unit_test(a_reset_forgets),     cmocka_unit_test(the_list_and_the_names_agree),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
