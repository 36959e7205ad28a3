/*
 * Soft actor-critic (Haarnoja et al., 2018) with twin critics and automatic entropy, as CleanRL
 * runs it.
 *
 *   y  = r + gamma (1 - terminated) (min_i Q'_i(s', a') - alpha log pi(a'|s')),   a' ~ pi(.|s')
 *   critics     minimise the mean of (Q_i(s, a) - y)^2, one Adam step an environment step
 *   actor       every `delay` steps, `delay` times: minimise alpha log pi(a|s) - min_i Q_i(s, a)
 *   alpha       with it: minimise -alpha (log pi(a|s) + target entropy), target entropy = -act
 *   targets     Q'_i <- Q'_i + tau (Q_i - Q'_i)
 *
 * A trainer is a value of everything that goes on: networks, moments, replay buffer, environment
 * and generators. Saved at any step and loaded again it goes on with the same bits.
 */
#ifndef HVI_SAC_H
#define HVI_SAC_H

#include <hvi/policy.h>
#include <hvi/setting.h>

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hvi_sac hvi_sac;

typedef struct hvi_sac_settings {
  double gamma, tau;
  size_t batch, buffer; /* rows of an update; transitions kept */
  size_t start;         /* uniformly random actions and no learning before this step */
  double actor_lr, critic_lr, alpha_lr;
  size_t delay;          /* environment steps between actor updates */
  double alpha;          /* a fixed entropy weight; 0: automatic */
  double target_entropy; /* NAN: minus the number of actions */
  size_t hidden_count;
  size_t hidden[8]; /* widths */
  uint64_t seed;
  size_t threads; /* 1, or 2: the twin critics side by side; the same bits */
} hvi_sac_settings;

/* What `hvi policy train` starts from; names, ranges and defaults of all of them. */
HVI_API hvi_sac_settings hvi_sac_defaults(void);
HVI_API const hvi_setting_table *hvi_sac_table(void);

/* What happened since the trainer was made; returns and losses are of the most recent ones. */
typedef struct hvi_sac_report {
  size_t step, updates, episodes;
  double last_return; /* of the last whole episode */
  double mean_return; /* of the last 10 */
  size_t last_length;
  double critic_loss, actor_loss, alpha, entropy, q_mean;
} hvi_sac_report;

/* Takes its own clone of the environment. */
HVI_API hvi_status hvi_sac_new(hvi_sac **sac, const hvi_env *env, const hvi_sac_settings *s,
                               hvi_error *err);
/* One environment step, and the updates that belong to it. An error: not finite. */
HVI_API hvi_status hvi_sac_step(hvi_sac *sac, hvi_error *err);
/* The updates alone, on what is in the buffer: for benchmarks. */
HVI_API hvi_status hvi_sac_update(hvi_sac *sac, hvi_error *err);
HVI_API hvi_sac_report hvi_sac_state(const hvi_sac *sac);
HVI_API const hvi_sac_settings *hvi_sac_settings_of(const hvi_sac *sac);
/* The actor as it is now. */
HVI_API hvi_status hvi_sac_policy(const hvi_sac *sac, hvi_policy **policy, hvi_error *err);

/* A checkpoint: restored, training goes on with the same bits. */
HVI_API hvi_status hvi_sac_save(const hvi_sac *sac, const char *path, hvi_error *err);
/* The settings are those of the file, on one thread. A file in which a bit has changed is refused,
 * and so is one of another level of instructions, unless other bits are accepted. */
HVI_API hvi_status hvi_sac_load(hvi_sac **sac, const hvi_env *env, const char *path,
                                bool accept_other_bits, hvi_error *err);
HVI_API hvi_status hvi_sac_set_threads(hvi_sac *sac, size_t threads, hvi_error *err);
HVI_API void hvi_sac_free(hvi_sac *sac);

#ifdef __cplusplus
}
#endif

#endif
