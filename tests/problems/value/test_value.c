/*
 * The problem `value`: its operator, draws, returns and slow mode against plain loops, and what it
 * refuses.
 */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "problems/value/rows.h"
#include "rl/rollout_folder.h"
#include "support/starve.h"

#include <hvi/tensors.h>

enum { LOST = 30 };

/* A termination is masked and a time limit is not; a successor is the next row's state, or it is not. */
static void the_operator_is_the_sampled_one(void **state) {
  (void)state;
  static const double center[] = {0.5, -1.0, 0.0}, spread[] = {2.0, 0.5, 1.0};
  static rows r;
  hvi_value_spec spec = small_spec(fill_rows(&r, 1, 0.2), 20);
  for (size_t variant = 0; variant < 5; variant++) {
    if (variant & 1) spec.center = center, spec.spread = spread;
    if (variant & 2) spec.shift = 5.0, spec.scale = -3.0;
    for (size_t i = 0; variant == 4 && i < ROWS; i += 7) r.obs[i * OBS] += 1.0f;
    hvi_problem *p = value_problem(&spec);
    hvi_value_sample *s = new_sample(p);
    for (size_t t = 0; t < 3; t++) {
      double z[20], f[20], y[20], wanted[20];
      size_t ends = 0, limits = 0;
      draw_next(p, s, 1);
      field_of(p, s, z, f);
      reference_targets(hvi_value_of(p), t * 20, 20, p->theta0, y);
      reference_pass(hvi_value_of(p), r.obs, t * 20, 20, p->theta0, wanted, NULL, NULL);
      check_close(z, wanted, 20, 2e-5);
      for (size_t i = 0; i < 20; i++) {
        check_near(f[i], (wanted[i] - y[i]) / 20.0, 2e-6);
        if (r.terminated[t * 20 + i]) check_near(y[i], (double)r.reward[t * 20 + i], 0.0);
        ends += r.terminated[t * 20 + i];
        limits += r.truncated[t * 20 + i] && !r.terminated[t * 20 + i];
      }
      assert_true(ends > 0);
      assert_true(limits > 0);
    }
    free(s);
    hvi_problem_free(p);
  }
}

/* Adding a constant to V moves z and V(s') alike: the slow mode says by how much F changes. */
static void the_slow_mode_is_the_change_along_a_constant(void **state) {
  (void)state;
  static rows r;
  const double c = 7.0;
  hvi_value_spec spec = small_spec(fill_rows(&r, 2, 0.2), 10);
  for (size_t variant = 0; variant < 4; variant++) {
    double z[20], f[20], moved[20], u[20], df[20], test[20];
    spec.lambda = variant == 3 ? 0.7 : 0.0;
    spec.buffer = variant == 1 ? 3 : 0;
    spec.returns = variant == 2;
    spec.shift = 0.0;
    hvi_problem *p = value_problem(&spec);
    spec.shift = c;
    hvi_problem *q = value_problem(&spec);
    hvi_value_sample *s = new_sample(p);
    draw_next(p, s, 1);
    field_of(p, s, z, f);
    field_of(q, s, z, moved);
    p->ops->slow_mode(p, s, u, df, test);
    const size_t out = p->model->out;
    assert_int_equal(out, variant == 1 ? 20 : 10);
    for (size_t i = 0; i < out; i++) {
      check_near(u[i], 1.0, 0.0);
      check_near(c * df[i], moved[i] - f[i], 1e-7);
      check_near(p->weights[i], variant == 1 && i < 10 ? 0.0 : 0.1, 0.0);
    }
    if (variant == 1) {
      assert_true(df[0] > 0.0);
      assert_true(df[19] == 0.0);
    }
    free(s);
    hvi_problem_free(q);
    hvi_problem_free(p);
  }
}

/* On all states, also those that no sample has shown. */
static void a_lift_moves_every_value(void **state) {
  (void)state;
  static rows r;
  double before[ROWS], after[ROWS];
  for (size_t variant = 0; variant < 2; variant++) {
    hvi_value_spec spec = small_spec(fill_rows(&r, 2, 0.2), 10);
    hvi_error err;
    if (variant) spec.shift = 5.0, spec.scale = 30.0;
    hvi_problem *p = value_problem(&spec);
    double *theta = malloc(p->model->dim * sizeof *theta);
    assert_non_null(theta);
    memcpy(theta, p->theta0, p->model->dim * sizeof *theta);
    check_ok(hvi_value_predict(p, theta, r.obs, ROWS, before, &err), &err);
    p->ops->lift(p, theta, -7.0);
    check_ok(hvi_value_predict(p, theta, r.obs, ROWS, after, &err), &err);
    for (size_t i = 0; i < ROWS; i++) check_near(after[i], before[i] - 7.0, 1e-4);
    free(theta);
    hvi_problem_free(p);
  }
}

/*
 * However an error e depends on the state, the test sum over whole episodes is its plain sum over
 * the states, but for what lies behind a time limit:
 *
 *   sum test_i (e(s_i) - gamma f_i e(s'_i)) = sum e(s_i) - gamma sum over time limits test_i
 * e(s'_i)
 */
static void the_test_of_the_slow_mode_sees_all_states_alike(void **state) {
  (void)state;
  static rows r;
  static double e[ROWS], e_next[ROWS], u[ROWS], df[ROWS], test[ROWS];
  fill_rows(&r, 5, 0.1);
  for (size_t i = 0; i + 1 < ROWS; i++) {
    if (r.terminated[i] || r.truncated[i]) continue;
    memcpy(r.next + i * OBS, r.obs + (i + 1) * OBS, OBS * sizeof *r.obs);
  }
  r.truncated[ROWS - 1] = true;
  for (size_t i = 0; i < ROWS; i++) {
    e[i] = exp((double)r.obs[i * OBS]);
    e_next[i] = exp((double)r.next[i * OBS]);
  }
  hvi_value_spec spec = small_spec(&r.data, 20);
  double sum = 0.0, plain = 0.0;
  hvi_problem *p = value_problem(&spec);
  hvi_value_sample *s = new_sample(p);
  for (size_t t = 0; t < ROWS / 20; t++) { /* episodes go on from batch to batch */
    draw_next(p, s, 1);
    p->ops->slow_mode(p, s, u, df, test);
    for (size_t k = 0; k < 20; k++) {
      const size_t i = s->row[k];
      const double after = r.terminated[i] ? 0.0 : spec.gamma * e_next[i];
      sum += test[k] * (e[i] - after);
      plain += e[i] - (r.truncated[i] ? test[k] * after : 0.0);
    }
  }
  check_near(sum, plain, 1e-9 * fabs(plain));
  free(s);
  hvi_problem_free(p);
}

static void fresh_draws_go_round(void **state) {
  (void)state;
  static rows r;
  hvi_value_spec spec = small_spec(fill_rows(&r, 3, 0.2), 25);
  for (size_t first = 0; first < 6; first += 5) {
    spec.first = first;
    hvi_problem *p = value_problem(&spec);
    hvi_value_sample *s = new_sample(p);
    for (size_t t = first; t < first + 20; t++) {
      draw_next(p, s, 1);
      assert_int_equal(s->draws, t - first + 1);
      for (size_t i = 0; i < 25; i++) {
        const size_t row = (25 * t + i) % ROWS;
        assert_int_equal(s->row[i], row);
        assert_memory_equal(s->x + i * OBS, r.obs + row * OBS, OBS * sizeof(float));
      }
    }
    assert_int_equal(p->draw_steps, 25);
    assert_int_equal(hvi_value_rows(p, 3), 25 * (first + 3));
    free(s);
    hvi_problem_free(p);
  }
}

/* New rows in their order, then rows at random of all that have come. */
static void replay_draws_from_all_rows_so_far(void **state) {
  (void)state;
  static rows r;
  hvi_value_spec spec = small_spec(fill_rows(&r, 6, 0.2), 30);
  spec.replay = 25;
  hvi_problem *p = value_problem(&spec);
  hvi_value_sample *s = new_sample(p);
  size_t seen[ROWS] = {0};
  for (size_t t = 0; t < ROWS / 5 + 3; t++) {
    const size_t there = 5 * (t + 1) < ROWS ? 5 * (t + 1) : ROWS;
    draw_next(p, s, 1);
    for (size_t i = 0; i < 5; i++) assert_int_equal(s->row[i], (5 * t + i) % ROWS);
    for (size_t i = 5; i < 30; i++) {
      assert_true(s->row[i] < there);
      seen[s->row[i]]++;
      assert_memory_equal(s->x + i * OBS, r.obs + s->row[i] * OBS, OBS * sizeof(float));
    }
  }
  for (size_t i = 0; i < 10; i++) assert_true(seen[i] > 0);
  assert_int_equal(p->draw_steps, 5);
  assert_int_equal(hvi_value_rows(p, 3), 15);
  free(s);
  hvi_problem_free(p);
}

/* Before the first chunk is whole there is no rare one: rows that have not come may not be there at all. */
static void rare_rows_have_come(void **state) {
  (void)state;
  static rows r;
  hvi_value_spec spec = small_spec(fill_rows(&r, 6, 0.2), 30);
  spec.replay = 28;
  spec.replay_rare = 0.5;
  hvi_problem *p = value_problem(&spec);
  hvi_value_sample *s = new_sample(p);
  for (size_t t = 0; t < 12; t++) {
    draw_next(p, s, 1);
    for (size_t i = 0; i < 30; i++) assert_true(s->row[i] < 2 * (t + 1));
  }
  free(s);
  hvi_problem_free(p);
}

/* Draw t is the same in a run that goes on there, and no row is left out for long. */
static void random_draws_can_be_repeated(void **state) {
  (void)state;
  static rows r;
  hvi_value_spec spec = small_spec(fill_rows(&r, 4, 0.2), 100);
  spec.draw = HVI_VALUE_RANDOM;
  hvi_problem *p = value_problem(&spec);
  spec.first = 2;
  hvi_problem *later = value_problem(&spec);
  hvi_value_sample *s = new_sample(p), *other = new_sample(later);
  size_t seen[ROWS] = {0}, drawn[20][100];
  for (size_t t = 0; t < 20; t++) {
    draw_next(p, s, 9);
    memcpy(drawn[t], s->row, sizeof drawn[t]);
    for (size_t i = 0; i < 100; i++) {
      assert_true(s->row[i] < ROWS);
      seen[s->row[i]]++;
      assert_memory_equal(s->x + i * OBS, r.obs + s->row[i] * OBS, OBS * sizeof(float));
    }
    for (size_t before = 0; before < t; before++)
      assert_memory_not_equal(drawn[t], drawn[before], sizeof drawn[t]);
  }
  for (size_t i = 0; i < ROWS; i++) assert_in_range(seen[i], 10, 60); /* 33 on average */
  for (size_t t = 2; t < 5; t++) {
    draw_next(later, other, 9);
    assert_memory_equal(other->row, drawn[t], sizeof drawn[t]);
  }
  draw_next(later, other, 10);
  assert_memory_not_equal(other->row, drawn[5], sizeof drawn[5]);
  assert_int_equal(p->draw_steps, 0);
  free(s);
  free(other);
  hvi_problem_free(p);
  hvi_problem_free(later);
}

static void the_whole_data_set_is_one_draw(void **state) {
  (void)state;
  static rows r;
  hvi_value_spec spec = small_spec(fill_rows(&r, 5, 0.2), 0);
  spec.draw = HVI_VALUE_ALL;
  hvi_problem *p = value_problem(&spec);
  hvi_value_sample *s = new_sample(p);
  assert_int_equal(p->model->out, ROWS);
  draw_next(p, s, 1);
  for (size_t i = 0; i < ROWS; i++) assert_int_equal(s->row[i], i);
  assert_memory_equal(s->x, r.obs, sizeof r.obs);
  s->x[0] = 1e3F; /* a second draw does not touch it */
  draw_next(p, s, 1);
  assert_true(s->x[0] == 1e3F);
  assert_int_equal(p->draw_steps, 0);
  free(s);
  hvi_problem_free(p);
}

/* The sum over what follows, and how much of it a cut leaves out. */
static void returns_are_those_of_a_plain_sum(void **state) {
  (void)state;
  static const double gammas[] = {0.0, 0.3, 0.6, 0.9};
  static rows r;
  for (uint64_t seed = 0; seed < 8; seed++) {
    hvi_value_spec spec = small_spec(fill_rows(&r, 10 + seed, 0.06), 0);
    r.obs[LOST * OBS] += seed < 4 ? 0.0F : 1.0F; /* the row before it is of another episode */
    spec.gamma = gammas[seed % 4];
    spec.draw = HVI_VALUE_ALL;
    spec.returns = true;
    hvi_problem *p = value_problem(&spec);
    hvi_value_sample *s = new_sample(p);
    double z[ROWS], f[ROWS];
    draw_next(p, s, 1);
    field_of(p, s, z, f);
    size_t used = 0, left_out = 0;
    for (size_t i = 0; i < ROWS; i++) {
      double G = 0.0;
      size_t k = i;
      for (;; k++) {
        G += pow(spec.gamma, (double)(k - i)) * (double)r.reward[k];
        if (r.terminated[k] || r.truncated[k] || k + 1 == ROWS) break;
        if (seed >= 4 && k + 1 == LOST) break;
      }
      if (!r.terminated[k] && pow(spec.gamma, (double)(k + 1 - i)) > 0.01) {
        left_out++;
        continue;
      }
      assert_true(used < p->model->out);
      assert_int_equal(s->row[used], i);
      check_near(f[used] * (double)p->model->out, z[used] - G, 1e-5);
      used++;
    }
    assert_int_equal(used, p->model->out);
    assert_true(seed % 4 == 0 || left_out > 0);
    free(s);
    hvi_problem_free(p);
  }
}

/* Both products and the Gram matrix of a scaled network are those of the reference. */
static void a_scaled_network_is_still_a_model(void **state) {
  (void)state;
  static const double center[] = {0.5, -1.0, 0.0}, spread[] = {2.0, 0.5, 1.0};
  static rows r;
  hvi_value_spec spec = small_spec(fill_rows(&r, 6, 0.2), 20);
  spec.center = center, spec.spread = spread, spec.shift = 4.0, spec.scale = -2.5;
  hvi_problem *p = value_problem(&spec);
  const hvi_model *m = p->model;
  const size_t d = m->dim;
  hvi_value_sample *s = new_sample(p);
  double *cache = calloc(m->cache, sizeof *cache), *work = calloc(m->outer_work, sizeof *work);
  double *J = malloc(20 * d * sizeof *J), *out = malloc(d * sizeof *out);
  double *v = malloc(d * sizeof *v), z[20], u[20] = {0}, Jv[20], K[400];
  draw_next(p, s, 1);
  m->ops->bind(m, cache, s);
  m->ops->eval(m, cache, p->theta0, z);
  m->ops->outer_gram(m, cache, p->theta0, K, work);
  fill_normal(v, d, 1);
  m->ops->jvp(m, cache, p->theta0, v, Jv);
  for (size_t i = 0; i < 20; i++) {
    u[i] = 1.0;
    reference_pass(hvi_value_of(p), r.obs, 0, 20, p->theta0, z, u, J + i * d);
    m->ops->vjp(m, cache, p->theta0, u, out);
    check_relative(out, J + i * d, d, 1e-5);
    check_near(Jv[i], dot(J + i * d, v, d), 1e-3);
    u[i] = 0.0;
  }
  for (size_t i = 0; i < 20; i++) {
    for (size_t j = 0; j <= i; j++) {
      const double wanted = dot(J + i * d, J + j * d, d);
      check_near(K[i * 20 + j], wanted, 1e-4 * (1.0 + fabs(wanted)));
    }
  }
  m->ops->jacobian(m, cache, p->theta0, out = realloc(out, 20 * d * sizeof *out));
  check_relative(out, J, 20 * d, 1e-5);
  free(cache), free(work), free(J), free(out), free(v), free(s);
  hvi_problem_free(p);
}

static void predictions_and_files_are_the_network(void **state) {
  (void)state;
  enum { MANY = 1000 };
  static const double center[] = {0.5, -1.0, 0.1}, spread[] = {2.0, 0.3, 1.0};
  static rows r;
  static float obs[MANY * OBS];
  static double values[MANY], wanted[MANY];
  hvi_value_spec spec = small_spec(fill_rows(&r, 7, 0.2), 20);
  spec.center = center, spec.spread = spread, spec.shift = 4.0, spec.scale = -2.5;
  hvi_problem *p = value_problem(&spec);
  hvi_error err;
  for (size_t i = 0; i < MANY * OBS; i++) obs[i] = (float)sin((double)(i * i % 1009));
  check_ok(hvi_value_predict(p, p->theta0, obs, MANY, values, &err), &err);
  reference_pass(hvi_value_of(p), obs, 0, MANY, p->theta0, wanted, NULL, NULL);
  check_close(values, wanted, MANY, 2e-5);
  check_ok(hvi_value_predict(p, p->theta0, NULL, 0, values, &err), &err);

  check_ok(hvi_value_save(p, p->theta0, here.file, &err), &err);
  double *theta = malloc(p->model->dim * sizeof *theta), numbers[3];
  check_ok(hvi_mlp_load(p->model, theta, here.file, &err), &err);
  for (size_t j = 0; j < p->model->dim; j++) check_near(theta[j], (float)p->theta0[j], 0.0);
  hvi_tensors *file;
  check_ok(hvi_tensors_read(&file, here.file, 0, &err), &err);
  check_near(atof(hvi_tensors_note(file, "gamma")), 0.9, 0.0);
  check_near(atof(hvi_tensors_note(file, "shift")), 4.0, 0.0);
  check_near(atof(hvi_tensors_note(file, "scale")), -2.5, 0.0);
  assert_string_equal(hvi_tensors_note(file, "activation"), "tanh");
  assert_int_equal(
      sscanf(hvi_tensors_note(file, "center"), "%lf %lf %lf", numbers, numbers + 1, numbers + 2),
      3);
  check_close(numbers, center, 3, 0.0);
  assert_int_equal(
      sscanf(hvi_tensors_note(file, "spread"), "%lf %lf %lf", numbers, numbers + 1, numbers + 2),
      3);
  check_close(numbers, spread, 3, 1e-15);
  hvi_tensors_free(file);
  theta[1] = 1e300;
  check_error(hvi_value_save(p, theta, here.file, &err), HVI_ERROR_INPUT, &err, "parameter 2");
  check_error(hvi_value_save(p, p->theta0, "/nowhere/file", &err), HVI_ERROR_IO, &err, "/nowhere");
  free(theta);
  hvi_problem_free(p);
  p = builtin("pennies", 0);
  check_error(hvi_value_predict(p, p->theta0, obs, 1, values, &err), HVI_ERROR_ARGUMENT, &err,
              "hvi_value_new");
  assert_int_equal(hvi_value_rows(p, 3), 0);
  hvi_problem_free(p);
}

/* Without a sample there is no operator, and the judge sees that. */
static void the_mean_is_not_known(void **state) {
  (void)state;
  static rows r;
  const hvi_value_spec spec = small_spec(fill_rows(&r, 8, 0.2), 20);
  hvi_problem *p = value_problem(&spec);
  hvi_certificate c;
  hvi_constants k;
  hvi_error err;
  check_ok(hvi_problem_judge(&c, p, p->theta0, &err), &err);
  assert_false(c.finite);
  check_ok(hvi_problem_constants(&k, p, &err), &err);
  check_near(k.mu, 0.1, 1e-15);
  check_near(k.lipschitz, 1.9, 1e-15);
  hvi_problem_free(p);
}

static void refuse(const hvi_value_spec *spec, hvi_status status, const char *words) {
  hvi_problem *p = (hvi_problem *)(size_t)spec;
  hvi_error err;
  check_error(hvi_value_new(&p, spec, 1, &err), status, &err, words);
  assert_null(p);
}

static void bad_specs_are_refused(void **state) {
  (void)state;
  static rows r;
  static const double bad[] = {1.0, 0.0, 1.0}, nan[] = {0.0, 0.0, NAN};
  const hvi_value_spec good = small_spec(fill_rows(&r, 9, 0.2), 20);
  hvi_value_spec s;
  refuse(NULL, HVI_ERROR_ARGUMENT, "needs a data set");
  s = good, s.data = NULL, refuse(&s, HVI_ERROR_ARGUMENT, "needs a data set");
  s = good, s.gamma = 1.0,
  refuse(&s, HVI_ERROR_ARGUMENT, "gamma: must be a number at least 0 and below 1, not '1'");
  s = good, s.gamma = NAN, refuse(&s, HVI_ERROR_ARGUMENT, "below 1");
  s = good, s.gamma = -0.1, refuse(&s, HVI_ERROR_ARGUMENT, "at least 0");
  s = good, s.batch = 0, refuse(&s, HVI_ERROR_ARGUMENT, "a batch needs");
  s = good, s.batch = ROWS + 1, refuse(&s, HVI_ERROR_INPUT, "61 rows");
  s = good, s.buffer = 4, refuse(&s, HVI_ERROR_INPUT, "4 of them");
  s = good, s.buffer = SIZE_MAX / 2, refuse(&s, HVI_ERROR_ARGUMENT, "double_sampling: must be");
  s.buffer = 4, s.draw = HVI_VALUE_ALL, refuse(&s, HVI_ERROR_ARGUMENT, "double sampling");
  s = good, s.draw = (hvi_value_draw)7,
  refuse(&s, HVI_ERROR_ARGUMENT, "draw: must be fresh, random or all, not '7'");
  s = good, s.lambda = -0.1,
  refuse(&s, HVI_ERROR_ARGUMENT, "lambda: must be a number from 0 to 1, not '-0.1'");
  s = good, s.lambda = NAN, refuse(&s, HVI_ERROR_ARGUMENT, "from 0 to 1");
  s = good, s.lambda = 1.1, refuse(&s, HVI_ERROR_ARGUMENT, "from 0 to 1");
  s = good, s.lambda_decay = -1.0,
  refuse(&s, HVI_ERROR_ARGUMENT, "lambda_decay: must be a number at least 0, not '-1'");
  s = good, s.lambda = 0.5, s.draw = HVI_VALUE_RANDOM, refuse(&s, HVI_ERROR_ARGUMENT, "at random");
  s = good, s.lambda = 0.5, s.returns = true;
  refuse(&s, HVI_ERROR_ARGUMENT, "Bellman targets");
  s = good, s.hidden_count = 65,
  refuse(&s, HVI_ERROR_ARGUMENT,
         "hidden: must be a list of 0 to 64 whole numbers from 1 to 65536, not '65 of them'");
  s = good, s.hidden[1] = 0, refuse(&s, HVI_ERROR_ARGUMENT, "hidden: must be");
  s = good, s.activation = HVI_ACTIVATION_COUNT, refuse(&s, HVI_ERROR_ARGUMENT, "activation");
  s = good, s.scale = 0.0, refuse(&s, HVI_ERROR_ARGUMENT, "scale 0");
  s = good, s.shift = INFINITY, refuse(&s, HVI_ERROR_ARGUMENT, "shift inf");
  s = good, s.spread = bad, refuse(&s, HVI_ERROR_ARGUMENT, "input 2");
  s = good, s.center = nan, refuse(&s, HVI_ERROR_ARGUMENT, "input 3");
  s = good, s.threads = 100000, refuse(&s, HVI_ERROR_ARGUMENT, "threads");
  memset(r.terminated, 0, sizeof r.terminated);
  s = good, s.returns = true, s.gamma = 0.99;
  refuse(&s, HVI_ERROR_INPUT, "no return to learn from");
  r.data.count = 0, refuse(&good, HVI_ERROR_INPUT, "no transitions");
  r.data.count = ROWS;
  /* the smallest network is linear */
  s = good, s.hidden_count = 0;
  hvi_problem *p = value_problem(&s);
  assert_int_equal(p->model->dim, OBS + 1);
  hvi_problem_free(p);
}

static hvi_status make_one(const void *context, hvi_problem **p, hvi_error *err) {
  return hvi_value_new(p, context, 1, err);
}

static hvi_status use_one(const void *context, hvi_problem **p, hvi_error *err) {
  static double value;
  hvi_problem *q = NULL;
  hvi_status status = hvi_value_new(&q, context, 1, err);
  const hvi_value_spec *spec = context;
  if (!status) status = hvi_value_predict(q, q->theta0, spec->data->next, 1, &value, err);
  if (!status) status = hvi_value_save(q, q->theta0, here.file, err);
  *p = q;
  if (status) hvi_problem_free(q);
  if (status) *p = NULL;
  return status;
}

static void without_memory_it_says_so(void **state) {
  (void)state;
  static rows r;
  static const double one[] = {1.0, 1.0, 1.0};
  hvi_value_spec spec = small_spec(fill_rows(&r, 1, 0.2), 20);
  spec.spread = one, spec.scale = 2.0, spec.returns = true;
  assert_true(starve_problem(make_one, &spec) > 5);
  assert_true(starve_problem(use_one, &spec) > 8);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_operator_is_the_sampled_one),
      cmocka_unit_test(the_slow_mode_is_the_change_along_a_constant),
      cmocka_unit_test(a_lift_moves_every_value),
      cmocka_unit_test(the_test_of_the_slow_mode_sees_all_states_alike),
      cmocka_unit_test(fresh_draws_go_round),
      cmocka_unit_test(replay_draws_from_all_rows_so_far),
      cmocka_unit_test(rare_rows_have_come),
      cmocka_unit_test(random_draws_can_be_repeated),
      cmocka_unit_test(the_whole_data_set_is_one_draw),
      cmocka_unit_test(returns_are_those_of_a_plain_sum),
      cmocka_unit_test(a_scaled_network_is_still_a_model),
      cmocka_unit_test_setup_teardown(predictions_and_files_are_the_network, enter, leave),
      cmocka_unit_test(the_mean_is_not_known),
      cmocka_unit_test(bad_specs_are_refused),
      cmocka_unit_test_setup_teardown(without_memory_it_says_so, enter, leave),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
