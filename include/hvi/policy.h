/*
 * Policies: how an agent acts on an observation.
 *
 * Two forms. An actor is a network with two heads, as CleanRL trains them:
 *   h = relu layers of obs,  mean = fc_mean(h),  log std = -5 + 3.5 (tanh(fc_logstd(h)) + 1),
 *   action = scale * tanh(mean + std * noise) + shift   (scale 1, shift 0 for actions in [-1, 1]).
 * A linear-Gaussian policy is action = gain obs + std * noise.
 *
 * Files are .safetensors: fc1.weight, fc1.bias, fc2 ... , fc_mean.*, fc_logstd.* in PyTorch's
 * [out][in] order (with action_scale and action_bias where they are not 1 and 0), or gain and std.
 *
 * Actors of other kinds are read by the names that their trainers give them: CleanRL's TD3 and PPO,
 * Stable-Baselines3's SAC, TD3, DDPG, PPO and A2C, and a plain Sequential (0.weight, 0.bias,
 * 2.weight, ...), whose notes or options say the rest. They have other activations, another log std
 * (h clamped to [-20, 2], a vector, none), or actions that are clipped to a range instead of
 * squashed by tanh.
 */
#ifndef HVI_POLICY_H
#define HVI_POLICY_H

#include <hvi/env.h>
#include <hvi/setting.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hvi_policy hvi_policy;

/* What a file says of itself is overruled by members that are not 0. */
typedef struct hvi_policy_options {
  int kind;         /* 1: deterministic, 2: Gaussian */
  int activation;   /* an hvi_activation + 1 */
  int squash;       /* 1: tanh, 2: clipped to the range */
  int action_range; /* of a squashed policy: 1: scaled to the environment's, 2: the file's */
} hvi_policy_options;
/* Names, ranges and defaults of these options. */
HVI_API const hvi_setting_table *hvi_policy_table(void);

/* A .safetensors or .npz file, or a folder of .npy files. options NULL: as the file says. */
HVI_API hvi_status hvi_policy_read(hvi_policy **policy, const char *path,
                                   const hvi_policy_options *options, hvi_error *err);
HVI_API hvi_status hvi_policy_load(hvi_policy **policy, const char *path, hvi_error *err);
/* Gives a policy whose file leaves that to the environment the environment's range of actions, and
 * checks the result. */
HVI_API hvi_status hvi_policy_fit(hvi_policy *policy, const hvi_env *env, hvi_error *err);
/* A linear-Gaussian policy, gain[act][obs] and std[act] copied. */
HVI_API hvi_status hvi_policy_linear(hvi_policy **policy, size_t obs, size_t act,
                                     const double *gain, const double *std, hvi_error *err);
/* The policy that an environment brings along ("default" on the command line): lqr's own. */
HVI_API hvi_status hvi_policy_of_env(hvi_policy **policy, const hvi_env *env, hvi_error *err);
HVI_API hvi_status hvi_policy_save(const hvi_policy *policy, const char *path, hvi_error *err);
HVI_API void hvi_policy_free(hvi_policy *policy);

/* Lengths of an observation and of an action. */
HVI_API size_t hvi_policy_obs(const hvi_policy *policy);
HVI_API size_t hvi_policy_act_size(const hvi_policy *policy);
/* HVI_ERROR_INPUT, in words, when it does not fit the environment: other sizes, or actions beyond
 * its range, or in [-1, 1] where that is not the range and the file does not say so. */
HVI_API hvi_status hvi_policy_check(const hvi_policy *policy, const hvi_env *env, hvi_error *err);

enum { HVI_POLICY_ROWS = 256 };
/* Floats of scratch that `rows` rows take. */
HVI_API size_t hvi_policy_scratch(const hvi_policy *policy, size_t rows);
/*
 * Actions for obs[rows][obs], rows <= HVI_POLICY_ROWS: action[rows][act]. Row i draws its noise
 * from rngs[i], act normals in order; rngs NULL: the mean action, without noise. A row's action
 * depends on that row alone.
 */
HVI_API void hvi_policy_act(const hvi_policy *policy, float *scratch, size_t rows,
                            const double *obs, hvi_rng *rngs, double *action);

#ifdef __cplusplus
}
#endif

#endif
