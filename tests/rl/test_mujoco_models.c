/* The compiled MuJoCo models against the numbers of the published ones. */
#include "support/check.h"

#include <hvi/env.h>

#include <stdio.h>

#ifdef HVI_WITH_MUJOCO
#include "rl/mujoco/mujoco.h"

static hvi_env *make(const char *name, const mjModel **m, mjData **d) {
  hvi_env *env = NULL;
  hvi_error err = {HVI_OK, ""};
  check_ok(hvi_env_new(&env, name, &err), &err);
  *m = ((hvi_mujoco_env *)env)->model;
  *d = ((hvi_mujoco_env *)env)->data;
  return env;
}

static void check_body(const mjModel *m, int body, const double row[4]) {
  check_near(m->body_mass[body] / row[0], 1.0, 1e-11);
  for (int i = 0; i < 3; i++) check_near(m->body_inertia[3 * body + i] / row[1 + i], 1.0, 1e-9);
}

static void check_name(const mjModel *m, int kind, int id, const char *expected) {
  assert_string_equal(mj_id2name(m, kind, id), expected);
}

static void settings(void **state) {
  (void)state;
  static const char *names[] = {"ant", "half_cheetah"};
  for (int k = 0; k < 2; k++) {
    const mjModel *m;
    mjData *d;
    hvi_env *env = make(names[k], &m, &d);
    check_near(m->opt.timestep, 0.01, 0.0);
    check_close(m->opt.gravity, (double[]){0, 0, -9.81}, 3, 0.0);
    assert_int_equal(m->opt.integrator, k == 0 ? mjINT_RK4 : mjINT_EULER);
    assert_int_equal(m->opt.solver, mjSOL_NEWTON);
    assert_int_equal(m->opt.iterations, 100);
    check_near(m->opt.tolerance, 1e-8, 0.0);
    assert_int_equal(m->opt.cone, mjCONE_PYRAMIDAL);
    assert_int_equal(m->opt.noslip_iterations, 0);
    check_near(m->opt.impratio, 1.0, 0.0);
    check_near(m->opt.density + m->opt.viscosity, 0.0, 0.0);
    for (int i = 0; i < m->nu; i++) {
      check_close(m->actuator_ctrlrange + 2 * i, (double[]){-1, 1}, 2, 0.0);
      assert_int_equal(m->actuator_ctrllimited[i], 1);
      check_near(m->actuator_gainprm[i * mjNGAIN], 1.0, 0.0);
    }
    hvi_env_free(env);
  }
}

/* Flipped is what MuJoCo's own rotation of the torso says, in any position. */
static void flipped_is_upside_down(void **state) {
  (void)state;
  static const char *names[] = {"ant", "half_cheetah", "ant-v5"};
  hvi_rng rng = hvi_rng_new(5, "flipped", 0);
  for (int k = 0; k < 3; k++) {
    const mjModel *m;
    mjData *d;
    hvi_env *env = make(names[k], &m, &d);
    double obs[105];
    size_t flipped = 0;
    assert_string_equal(env->ops->classes, "upright flipped");
    for (int trial = 0; trial < 200; trial++) {
      for (int i = 0; i < m->nq; i++) d->qpos[i] = hvi_rng_range(&rng, -3.0, 3.0);
      if (k != 1) mju_normalize4(d->qpos + 3);
      mj_forward(m, d);
      hvi_env_observe(env, obs);
      const size_t label = env->ops->classify(env, obs);
      assert_int_equal(label, d->xmat[9 + 8] < 0.0);
      flipped += label;
    }
    assert_in_range(flipped, 50, 150);
    hvi_env_free(env);
  }
}

static void ant_bodies(void **state) {
  (void)state;
  static const double torso[] = {0.327249234749, 0.008181230869, 0.008181230869, 0.008181230869},
                      piece[] = {0.0391577537285, 0.0005679660832, 0.0005679660832,
                                 0.0001184418981},
                      foot[] = {0.0675922045327, 0.00267479066, 0.00267479066, 0.0002094321406};
  const mjModel *m;
  mjData *d;
  hvi_env *env = make("ant", &m, &d);
  assert_int_equal(m->nq, 15);
  assert_int_equal(m->nv, 14);
  assert_int_equal(m->nu, 8);
  assert_int_equal(m->nbody, 14);
  check_near(m->stat.meaninertia, 0.81259920202315505, 1e-15);
  check_near(m->body_subtreemass[0], 0.910880082707, 1e-12);
  check_body(m, 1, torso);
  for (int leg = 0; leg < 4; leg++) {
    check_body(m, 2 + 3 * leg, piece);
    check_body(m, 3 + 3 * leg, piece);
    check_body(m, 4 + 3 * leg, foot);
  }
  assert_int_equal(d->ncon, 0);
  assert_int_equal(d->nefc, 4); /* the ankles begin outside their limits */
  check_close(m->qpos0, (double[]){0, 0, 0.75, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 15, 0.0);
  hvi_env_free(env);
}

static void ant_joints(void **state) {
  (void)state;
  static const double low[] = {30, -70, -70, 30}, high[] = {70, -30, -30, 70};
  static const int legs[] = {4, 1, 2, 3}; /* in the order of the motors */
  const double degree = 3.14159265358979323846 / 180;
  const mjModel *m;
  mjData *d;
  hvi_env *env = make("ant", &m, &d);
  for (int v = 0; v < 3; v++) check_near(m->dof_invweight0[v], 1.101437499, 1e-9);
  for (int v = 0; v < 6; v++) check_near(m->dof_armature[v] + m->dof_damping[v], 0.0, 0.0);
  for (int leg = 0; leg < 4; leg++) {
    const int hip = 1 + 2 * leg, ankle = hip + 1;
    char name[32];
    snprintf(name, sizeof name, "ankle_%d", leg + 1);
    check_name(m, mjOBJ_JOINT, ankle, name);
    check_close(m->jnt_range + 2 * hip, (double[]){-30 * degree, 30 * degree}, 2, 1e-15);
    check_close(m->jnt_range + 2 * ankle, (double[]){low[leg] * degree, high[leg] * degree}, 2,
                1e-15);
    check_close(m->jnt_axis + 3 * hip, (double[]){0, 0, 1}, 3, 0.0);
    check_close(m->jnt_axis + 3 * ankle, (double[]){leg % 2 ? sqrt(0.5) : -sqrt(0.5), sqrt(0.5), 0},
                3, 1e-15);
    check_near(m->dof_invweight0[6 + 2 * leg], 0.982635956, 1e-9);
    check_near(m->dof_invweight0[7 + 2 * leg], 0.9951024318, 1e-9);
    for (int v = 6 + 2 * leg; v < 8 + 2 * leg; v++) {
      check_near(m->dof_armature[v], 1.0, 0.0);
      check_near(m->dof_damping[v], 1.0, 0.0);
    }
    snprintf(name, sizeof name, "hip_%d", legs[leg]);
    check_name(m, mjOBJ_ACTUATOR, 2 * leg, name);
    assert_int_equal(m->actuator_trnid[4 * leg], 1 + 2 * (legs[leg] - 1));
    check_near(m->actuator_gear[12 * leg], 150.0, 0.0);
  }
  hvi_env_free(env);
}

static const struct {
  const char *name;
  double body[4], pos[3], range[2], damping, stiffness, gear, half;
} limbs[] = {{"bthigh",
              {1.54351464435, 0.01684433958, 0.01684433958, 0.00157602159},
              {-0.5, 0, 0},
              {-0.52, 1.05},
              6,
              240,
              120,
              0.145},
             {"bshin",
              {1.58744769874, 0.01826741908, 0.01826741908, 0.001622502762},
              {0.16, 0, -0.25},
              {-0.785, 0.785},
              4.5,
              180,
              90,
              0.15},
             {"bfoot",
              {1.09539748954, 0.006352423264, 0.006352423264, 0.00110191364},
              {-0.28, 0, -0.14},
              {-0.4, 0.785},
              3,
              120,
              60,
              0.094},
             {"fthigh",
              {1.43807531381, 0.01373964335, 0.01373964335, 0.001464466778},
              {0.5, 0, 0},
              {-1, 0.7},
              4.5,
              180,
              120,
              0.133},
             {"fshin",
              {1.20083682008, 0.008222108619, 0.008222108619, 0.001213468452},
              {-0.14, 0, -0.24},
              {-1.2, 0.87},
              3,
              120,
              60,
              0.106},
             {"ffoot",
              {0.884518828452, 0.003529109456, 0.003529109456, 0.0008788040167},
              {0.13, 0, -0.18},
              {-0.5, 0.5},
              1.5,
              60,
              30,
              0.07}};

static void half_cheetah_bodies(void **state) {
  (void)state;
  static const double torso[] = {6.25020920502, 0.8971176881, 0.8856554522, 0.01796092341};
  const mjModel *m;
  mjData *d;
  hvi_env *env = make("half_cheetah", &m, &d);
  assert_int_equal(m->nq, 9);
  assert_int_equal(m->nv, 9);
  assert_int_equal(m->nu, 6);
  assert_int_equal(m->nbody, 8);
  check_near(m->stat.meaninertia, 3.7227024293816839, 1e-14);
  check_near(m->body_subtreemass[0], 14.0, 1e-12);
  check_body(m, 1, torso);
  check_close(m->body_ipos + 3, (double[]){0.1523898782, 0, 0.02539831303}, 3, 1e-10);
  check_close(m->body_pos + 3, (double[]){0, 0, 0.7}, 3, 0.0);
  assert_int_equal(d->ncon, 0);
  assert_int_equal(d->nefc, 0);
  hvi_env_free(env);
}

static void half_cheetah_limbs(void **state) {
  (void)state;
  const mjModel *m;
  mjData *d;
  hvi_env *env = make("half_cheetah", &m, &d);
  for (int k = 0; k < 6; k++) {
    const int body = 2 + k, joint = 3 + k, geom = 3 + k;
    check_name(m, mjOBJ_JOINT, joint, limbs[k].name);
    check_name(m, mjOBJ_BODY, body, limbs[k].name);
    check_body(m, body, limbs[k].body);
    check_close(m->body_pos + 3 * body, limbs[k].pos, 3, 0.0);
    check_close(m->jnt_range + 2 * joint, limbs[k].range, 2, 0.0);
    check_close(m->jnt_axis + 3 * joint, (double[]){0, 1, 0}, 3, 0.0);
    check_close(m->jnt_solimp + mjNIMP * joint, (double[]){0, 0.8, 0.03}, 3, 0.0);
    check_near(m->jnt_stiffness[joint], limbs[k].stiffness, 0.0);
    check_near(m->dof_damping[joint], limbs[k].damping, 0.0);
    check_near(m->dof_armature[joint], 0.1, 0.0);
    check_near(m->actuator_gear[6 * k], limbs[k].gear, 0.0);
    assert_int_equal(m->actuator_trnid[2 * k], joint);
    check_close(m->geom_size + 3 * geom, (double[]){0.046, limbs[k].half}, 2, 0.0);
  }
  for (int joint = 0; joint < 3; joint++) {
    assert_int_equal(m->jnt_limited[joint], 0);
    check_near(m->dof_armature[joint] + m->dof_damping[joint] + m->jnt_stiffness[joint], 0.0, 0.0);
  }
  hvi_env_free(env);
}

/* Every limb meets the floor with the friction and margin of the published geoms, and nothing else
 * meets anything. */
static void contacts(void **state) {
  (void)state;
  static const char *names[] = {"ant", "half_cheetah"};
  static const double friction[2][5] = {{1, 1, 0.5, 0.5, 0.5}, {0.4, 0.4, 0.1, 0.1, 0.1}};
  static const double solimp[2][3] = {{0.9, 0.95, 0.001}, {0, 0.8, 0.01}};
  for (int k = 0; k < 2; k++) {
    const mjModel *m;
    mjData *d;
    hvi_env *env = make(names[k], &m, &d);
    assert_int_equal(m->npair, m->ngeom - 1);
    for (int g = 0; g < m->ngeom; g++)
      assert_int_equal(m->geom_contype[g] | m->geom_conaffinity[g], 0);
    for (int p = 0; p < m->npair; p++) {
      assert_int_equal(m->pair_geom1[p] + m->pair_geom2[p], p + 1); /* the floor is 0 */
      assert_int_equal(m->pair_dim[p], 3);
      check_near(m->pair_margin[p], k == 0 ? 0.01 : 0.0, 0.0);
      check_close(m->pair_friction + 5 * p, friction[k], 5, 0.0);
      check_close(m->pair_solref + mjNREF * p, (double[]){0.02, 1}, 2, 0.0);
      check_close(m->pair_solimp + mjNIMP * p, solimp[k], 3, 0.0);
    }
    hvi_env_free(env);
  }
}

/* The memory that the models ask for holds everything that can happen at once. */
static void deep_in_the_floor(void **state) {
  (void)state;
  static const char *names[] = {"ant", "half_cheetah"};
  static const int most[] = {25, 16};
  for (int k = 0; k < 2; k++) {
    const mjModel *m;
    mjData *d;
    int seen = 0;
    hvi_env *env = make(names[k], &m, &d);
    for (size_t i = 0; i < 300; i++) {
      hvi_rng rng = hvi_rng_new(1, "tests", i);
      hvi_env_reset(env, &rng);
      d->qpos[2 - k] = (k ? -1.5 : -1.0) + 0.005 * (double)i;
      for (int j = k ? 3 : 7; j < m->nq; j++) d->qpos[j] += hvi_rng_range(&rng, -2, 2);
      mj_step(m, d);
      if (d->ncon > seen) seen = d->ncon;
      for (int w = 0; w < mjNWARNING; w++) assert_int_equal(d->warning[w].number, 0);
    }
    assert_int_equal(seen, most[k]);
    hvi_env_free(env);
  }
}
#else
static void needs_mujoco(void **state) {
  (void)state;
  hvi_env *env = NULL;
  hvi_error err = {HVI_OK, ""};
  check_error(hvi_env_new(&env, "ant", &err), HVI_ERROR_UNSUPPORTED, &err, "libmujoco-dev");
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
#ifdef HVI_WITH_MUJOCO
      cmocka_unit_test(settings),
      cmocka_unit_test(flipped_is_upside_down),
      cmocka_unit_test(ant_bodies),
      cmocka_unit_test(ant_joints),
      cmocka_unit_test(half_cheetah_bodies),
      cmocka_unit_test(half_cheetah_limbs),
      cmocka_unit_test(contacts),
      cmocka_unit_test(deep_in_the_floor),
#else
      cmocka_unit_test(needs_mujoco),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
