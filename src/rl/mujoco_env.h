/* What environments on MuJoCo share: everything but the reward and the end of an episode. */
#ifndef HVI_RL_MUJOCO_ENV_H
#define HVI_RL_MUJOCO_ENV_H

#include <hvi/env.h>

#include "rl/mujoco.h"

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
  void (*judge)(const hvi_mujoco_env *env, double velocity, const double *action,
                hvi_transition *result);
} hvi_robot;

struct hvi_mujoco_env {
  hvi_env env;
  const hvi_robot *robot;
  hvi_mujoco_model *shared;
  const mjModel *model; /* the one in `shared` */
  mjData *data;
  double position; /* the robot's, after the last step */
  size_t clock;
};

enum { HVI_MUJOCO_SKIP = 5 }; /* physics steps in a step of the environment */

hvi_status hvi_mujoco_env_new(hvi_env **env, const hvi_robot *robot, hvi_error *err);

/* A contact force as it is observed. */
static inline double hvi_mujoco_cut(double force) {
  return force > 1.0 ? 1.0 : force < -1.0 ? -1.0 : force;
}

#endif
