/*
 * Physics and rewards of the MuJoCo environments against laws of nature: energy and momentum in
 * flight, weight on the ground, symmetries of the ant; and rewards worked out from positions.
 */
#include "support/check.h"

#include <hvi/env.h>

#ifdef HVI_WITH_MUJOCO
#include "rl/mujoco/mujoco.h"

static hvi_mujoco_env *make(const char *name) {
  hvi_env *env = NULL;
  hvi_error err = {HVI_OK, ""};
  check_ok(hvi_env_new(&env, name, &err), &err);
  return (hvi_mujoco_env *)env;
}

static void drop(hvi_mujoco_env *e) { hvi_env_free(&e->env); }

/* Random actions, the same for all who ask with the same step. */
static void act(double *action, size_t n, size_t step, double size) {
  hvi_rng rng = hvi_rng_new(21, "tests", step);
  hvi_rng_fill_uniform(&rng, -size, size, n, action);
}

/* A frictionless copy of a model without limits, high above the floor, keeps its energy. */
static void energy_is_kept_in_flight(void **state) {
  (void)state;
  static const char *names[] = {"ant", "half_cheetah"};
  for (int k = 0; k < 2; k++) {
    hvi_mujoco_env *e = make(names[k]);
    mjModel *m = mj_copyModel(NULL, e->model);
    for (int v = 0; v < m->nv; v++) m->dof_damping[v] = 0.0;
    for (int j = 0; j < m->njnt; j++) m->jnt_limited[j] = 0;
    m->opt.integrator = mjINT_RK4;
    m->opt.timestep = 0.002;
    m->opt.enableflags |= mjENBL_ENERGY;
    mjData *d = mj_makeData(m);
    d->qpos[2 - k] = 50.0;
    fill_normal(d->qvel, (size_t)m->nv, (uint64_t)k);
    mj_forward(m, d);
    const double begin = d->energy[0] + d->energy[1], moving = d->energy[1];
    double swing = 0.0;
    for (int t = 0; t < 500; t++) {
      mj_step(m, d);
      swing = fmax(swing, fabs(d->energy[1] - moving));
    }
    mj_forward(m, d);
    assert_int_equal(d->ncon, 0);
    assert_true(swing > 0.2 * moving); /* it went to and fro, all the same */
    check_near(d->energy[0] + d->energy[1], begin, 1e-5 * swing);
    mj_deleteData(d);
    mj_deleteModel(m);
    drop(e);
  }
}

/* Whatever the motors do, the centre of mass falls as a stone does. */
static void motors_do_not_lift_in_flight(void **state) {
  (void)state;
  static const char *names[] = {"ant", "half_cheetah"};
  for (int k = 0; k < 2; k++) {
    hvi_mujoco_env *e = make(names[k]);
    double action[8], com[3][3];
    e->data->qpos[2 - k] = 50.0;
    for (int t = 0; t < 3; t++) {
      for (size_t s = 0; t > 0 && s < 4; s++) {
        act(action, e->env.act, s, 0.3);
        hvi_env_step(&e->env, action, NULL);
      }
      mj_kinematics(e->model, e->data);
      mj_comPos(e->model, e->data);
      memcpy(com[t], e->data->subtree_com, sizeof com[t]);
    }
    for (int i = 0; i < 3; i++) {
      /* second difference over 0.2 s */
      const double bend = com[2][i] - 2.0 * com[1][i] + com[0][i];
      check_near(bend, i == 2 ? -9.81 * 0.04 : 0.0, k ? 4e-3 : 1e-3);
    }
    drop(e);
  }
}

static void ground_carries_the_weight(void **state) {
  (void)state;
  hvi_mujoco_env *e = make("ant-v5");
  double none[8] = {0.0}, force = 0.0;
  for (int t = 0; t < 400; t++) hvi_env_step(&e->env, none, NULL);
  for (int body = 1; body < e->model->nbody; body++) force += e->data->cfrc_ext[6 * body + 5];
  check_near(force / (9.81 * 0.910880082707), 1.0, 1e-3);
  drop(e);
}

/*
 * A turn by 90 degrees or a mirror of the world, with the legs renamed accordingly. R is its action
 * on x and y; axial vectors (the rotation's, the angular velocity) take det(R) besides.
 */
typedef struct symmetry {
  double R[2][2], det;
  int leg[4]; /* leg i becomes leg[i] */
  double hip, ankle[4];
} symmetry;

static const symmetry quarter = {{{0, -1}, {1, 0}}, 1, {1, 2, 3, 0}, 1, {-1, 1, -1, 1}};
static const symmetry mirror = {{{-1, 0}, {0, 1}}, -1, {1, 0, 3, 2}, -1, {-1, -1, -1, -1}};

static void map_polar(const symmetry *s, const double *v, double *out) {
  for (int i = 0; i < 2; i++) out[i] = s->R[i][0] * v[0] + s->R[i][1] * v[1];
  out[2] = v[2];
}

static void map_axial(const symmetry *s, const double *v, double *out) {
  map_polar(s, v, out);
  for (int i = 0; i < 3; i++) out[i] *= s->det;
}

static void map_legs(const symmetry *s, const double *joints, double *out) {
  for (int i = 0; i < 4; i++) {
    out[2 * s->leg[i]] = s->hip * joints[2 * i];
    out[2 * s->leg[i] + 1] = s->ankle[i] * joints[2 * i + 1];
  }
}

static void map_state(const symmetry *s, const double *qpos, const double *qvel, double *place,
                      double *speed) {
  map_polar(s, qpos, place);
  place[3] = qpos[3];
  map_axial(s, qpos + 4, place + 4);
  map_legs(s, qpos + 7, place + 7);
  map_polar(s, qvel, speed);
  map_axial(s, qvel + 3, speed + 3);
  map_legs(s, qvel + 6, speed + 6);
}

/* Motors come in the order of legs 4, 1, 2, 3. */
static void map_action(const symmetry *s, const double *action, double *out) {
  double joints[8], mapped[8];
  for (int i = 0; i < 8; i++) joints[(i + 6) % 8] = action[i];
  map_legs(s, joints, mapped);
  for (int i = 0; i < 8; i++) out[i] = mapped[(i + 6) % 8];
}

static void check_symmetry(const symmetry *s) {
  hvi_mujoco_env *a = make("ant"), *b = make("ant");
  double action[8], mapped[8], place[15], speed[14];
  int contacts = 0;
  hvi_rng rng = hvi_rng_new(22, "tests", 0);
  hvi_env_reset(&a->env, &rng);
  map_state(s, a->data->qpos, a->data->qvel, b->data->qpos, b->data->qvel);
  memset(a->data->qacc_warmstart, 0, 14 * sizeof(double));
  memset(b->data->qacc_warmstart, 0, 14 * sizeof(double));
  for (size_t t = 0; t < 60; t++) {
    act(action, 8, t, 0.3);
    map_action(s, action, mapped);
    hvi_env_step(&a->env, action, NULL);
    hvi_env_step(&b->env, mapped, NULL);
    contacts += a->data->ncon;
    map_state(s, a->data->qpos, a->data->qvel, place, speed);
    check_close(b->data->qpos, place, 15, 1e-6);
    check_close(b->data->qvel, speed, 14, 1e-5);
  }
  assert_true(contacts > 20);
  drop(a);
  drop(b);
}

static void ant_turned_is_an_ant(void **state) {
  (void)state;
  check_symmetry(&quarter);
}

static void ant_mirrored_is_an_ant(void **state) {
  (void)state;
  check_symmetry(&mirror);
}

static double square_sum(const double *x, size_t n) {
  double sum = 0.0;
  for (size_t i = 0; i < n; i++) sum += x[i] * x[i];
  return sum;
}

/* Actions beyond [-1, 1] move it no further than 1 does, but cost what they are. */
static void rewards_from_positions(void **state) {
  (void)state;
  static const char *names[] = {"ant", "half_cheetah"};
  static const double price[] = {0.5, 0.1}, alive[] = {1.0, 0.0};
  for (int k = 0; k < 2; k++) {
    hvi_mujoco_env *e = make(names[k]), *cut = make(names[k]);
    double action[8], at_most[8];
    for (size_t t = 0; t < 30; t++) {
      act(action, e->env.act, t, 3.0);
      for (size_t i = 0; i < e->env.act; i++) at_most[i] = fmax(-1.0, fmin(1.0, action[i]));
      const double before = k ? e->data->qpos[0] : e->data->xpos[3];
      const double r = hvi_env_step(&e->env, action, NULL).reward;
      const double after = k ? e->data->qpos[0] : e->data->xpos[3];
      const double cost = price[k] * square_sum(action, e->env.act);
      check_near(r, (after - before) / 0.05 + alive[k] - cost, 1e-12);
      hvi_env_step(&cut->env, at_most, NULL);
      check_same_bits(e->data->qpos, cut->data->qpos, (size_t)e->model->nq);
    }
    drop(e);
    drop(cut);
  }
}

/* The newer ant lives in the same world, sees and pays for forces besides, and is not paid for
 * being alive when it is not. */
static void versions_of_the_ant(void **state) {
  (void)state;
  hvi_mujoco_env *v4 = make("ant"), *v5 = make("ant-v5");
  double a[27], b[105], action[8];
  size_t cut = 0;
  bool ended = false;
  hvi_env_observe(&v5->env, b);
  check_near(square_sum(b + 27, 78), 0.0, 0.0); /* no forces before the first step */
  for (size_t t = 0; t < 400 && !ended; t++) {
    act(action, 8, t, 1.0);
    const hvi_transition x = hvi_env_step(&v4->env, action, NULL);
    const hvi_transition y = hvi_env_step(&v5->env, action, NULL);
    hvi_env_observe(&v4->env, a);
    hvi_env_observe(&v5->env, b);
    check_same_bits(a, b, 27);
    double forces = 0.0;
    for (int i = 0; i < 84; i++) {
      const double f = v5->data->cfrc_ext[i], seen = fmax(-1.0, fmin(1.0, f));
      if (i >= 6) check_near(b[21 + i], seen, 0.0);
      if (fabs(f) > 1.0) cut++;
      forces += seen * seen;
    }
    const double alive = y.terminated ? 1.0 : 0.0;
    check_near(x.reward - y.reward, 5e-4 * forces + alive, 1e-12);
    assert_int_equal(x.terminated, y.terminated);
    ended = x.terminated;
  }
  assert_true(ended);
  assert_true(cut > 0);
  drop(v4);
  drop(v5);
}

static void ant_ends_outside_its_heights(void **state) {
  (void)state;
  static const double heights[] = {0.1, 0.15, 0.5, 0.8, 1.2, 2.0};
  hvi_mujoco_env *ant = make("ant"), *cheetah = make("half_cheetah");
  double none[8] = {0.0};
  for (size_t k = 0; k < 6; k++) {
    hvi_env_reset(&ant->env, NULL);
    ant->data->qpos[2] = heights[k];
    const hvi_transition t = hvi_env_step(&ant->env, none, NULL);
    const double height = ant->data->qpos[2];
    assert_int_equal(t.terminated, height < 0.2 || height > 1.0);
    check_near(t.reward, 1.0, 0.2); /* v4 pays for health to the last */
    cheetah->data->qpos[1] = heights[k] + 5.0;
    assert_false(hvi_env_step(&cheetah->env, none, NULL).terminated);
  }
  drop(ant);
  drop(cheetah);
}

/* A drawn start: uniform places within 0.1 of the initial ones, normal speeds, a unit quaternion.
 */
static void starts_have_their_spread(void **state) {
  (void)state;
  enum { DRAWS = 400 };
  hvi_mujoco_env *e = make("half_cheetah"), *ant = make("ant");
  double place = 0.0, speed = 0.0;
  for (size_t k = 0; k < DRAWS; k++) {
    hvi_rng rng = hvi_rng_new(23, "tests", k);
    hvi_env_reset(&e->env, &rng);
    for (int i = 0; i < 9; i++) assert_true(fabs(e->data->qpos[i]) <= 0.1);
    place += square_sum(e->data->qpos, 9);
    speed += square_sum(e->data->qvel, 9);
    hvi_env_reset(&ant->env, &rng);
    check_near(square_sum(ant->data->qpos + 3, 4), 1.0, 1e-14);
    assert_true(fabs(ant->data->qpos[0]) <= 0.1);
    assert_true(ant->data->qpos[0] != 0.0);
    assert_true(fabs(ant->data->qpos[2] - 0.75) <= 0.1);
  }
  check_near(place / (9 * DRAWS), 0.01 / 3.0, 0.0003);
  check_near(speed / (9 * DRAWS), 0.01, 0.0012);
  drop(e);
  drop(ant);
}
#else
static void needs_mujoco(void **state) {
  (void)state;
  hvi_env *env = NULL;
  hvi_error err = {HVI_OK, ""};
  check_error(hvi_env_new(&env, "ant-v5", &err), HVI_ERROR_UNSUPPORTED, &err, "MuJoCo");
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
#ifdef HVI_WITH_MUJOCO
      cmocka_unit_test(energy_is_kept_in_flight),  cmocka_unit_test(motors_do_not_lift_in_flight),
      cmocka_unit_test(ground_carries_the_weight), cmocka_unit_test(ant_turned_is_an_ant),
      cmocka_unit_test(ant_mirrored_is_an_ant),    cmocka_unit_test(rewards_from_positions),
      cmocka_unit_test(versions_of_the_ant),       cmocka_unit_test(ant_ends_outside_its_heights),
      cmocka_unit_test(starts_have_their_spread),
#else
      cmocka_unit_test(needs_mujoco),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
