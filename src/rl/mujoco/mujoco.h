/*
 * Inside the module "mujoco": MuJoCo kept from doing harm, and what its environments are made of.
 *
 * An error of the engine, which would wait for a key and end the program, comes back from the call
 * that caused it; so does a C++ exception.
 */
#pragma once

#include <hvi/env.h>

#include <mujoco/mujoco.h>

#include <stdatomic.h>

/* Runs call(context). When MuJoCo raised an error or threw, HVI_ERROR_MEMORY if it ran out of
 * memory and HVI_ERROR_INPUT for all else, with the words in text[size], which may be none: the
 * mjData it worked on must be reset or freed. Warnings inside are silent; MuJoCo counts them in mjData. */
hvi_status hvi_mujoco_guard(void (*call)(void *context), void *context, char *text, size_t size);
/* The part of it that is C++ (catch.cpp): exceptions alone. */
hvi_status hvi_mujoco_catch(void (*call)(void *context), void *context, char *text, size_t size);

/* Sets the handlers of errors, once, and refuses a library that was not compiled for. */
hvi_status hvi_mujoco_start(hvi_error *err);

/* A compiled model, constant and shared by the environments that use it. */
typedef struct hvi_mujoco_model {
  mjModel *model;
  atomic_size_t users;
} hvi_mujoco_model;

/* Compiles MJCF text; `name` is for the error. The caller is its first user. */
hvi_status hvi_mujoco_load(hvi_mujoco_model **model, const char *name, const char *xml,
                           hvi_error *err);
void hvi_mujoco_share(hvi_mujoco_model *model);
/* The last user to leave frees it. */
void hvi_mujoco_leave(hvi_mujoco_model *model);

/* A simulation of the model, in its initial state; mj_deleteData frees it. */
hvi_status hvi_mujoco_data(mjData **data, const hvi_mujoco_model *model, hvi_error *err);

typedef struct hvi_mujoco_env hvi_mujoco_env;

/* What makes an environment of a model. */
typedef struct hvi_robot {
  const char *name;  /* of the environment */
  const char *model; /* of the embedded MJCF */
  size_t hidden;     /* leading entries of qpos that are not observed */
  size_t quaternion; /* where in qpos the root's quaternion starts; 0: there is none */
  bool forces;       /* the bodies' contact forces are observed, cut to [-1, 1] */
  /* The x whose change over a step is the forward reward. */
  double (*position)(const mjData *data);
  /* Reward and termination of a step that ended well and went forward at `velocity`. */
  hvi_transition (*judge)(const hvi_mujoco_env *env, double velocity, const double *action);
  bool (*flipped)(const double *obs);
} hvi_robot;

struct hvi_mujoco_env {
  hvi_env env;
  const hvi_robot *robot;
  hvi_mujoco_model *shared;
  const mjModel *model; /* the one in `shared` */
  mjData *data;
  double position; /* the robot's, after the last step */
};

enum { HVI_MUJOCO_SKIP = 5 }; /* physics steps in a step of the environment */
