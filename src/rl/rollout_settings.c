#include "rl/rollout_settings.h"

#include <hvi/testset.h>

/* clang-format off */
#define AT(member) .offset = offsetof(hvi_rollout_settings, member)
static const hvi_setting rollout_rows[] = {
    {"seed", HVI_SETTING_SEED, AT(seed), .fallback = "1", .help = "the seed; the same one gives the same bits"},
    {"threads", HVI_SETTING_COUNT, HVI_SETTING_NO_RESULT, AT(threads), .range = "[0,1024]",
     .help = "threads (0: one per core); the results are the same for any"},
    {0},
};
#undef AT
_Static_assert(HVI_ROLLOUT_MAX_THREADS == 1024, "the range of threads");

#define AT(member) .offset = offsetof(hvi_collect_settings, member)
static const hvi_setting collect_rows[] = {
    {"transitions", HVI_SETTING_COUNT, AT(transitions), .range = "[1,1e12]", .fallback = "100000", .help = "how many"},
    {"deterministic", HVI_SETTING_FLAG, AT(deterministic), .help = "the policy's mean action, without noise"},
    {0},
};
#undef AT

#define AT(member) .offset = offsetof(hvi_returns_settings, member)
static const hvi_setting returns_rows[] = {
    {"episodes", HVI_SETTING_COUNT, AT(episodes), .range = "[1,1e7]", .fallback = "20", .help = "whole episodes"},
    {"deterministic", HVI_SETTING_FLAG, AT(deterministic), .help = "the policy's mean action, without noise"},
    {0},
};
#undef AT

#define AT(member) .offset = offsetof(hvi_testset_settings, member)
static const hvi_setting testset_rows[] = {
    {"states", HVI_SETTING_COUNT, AT(states), .range = "[1,1e9]", .fallback = "10000", .help = "states"},
    {"rollouts", HVI_SETTING_COUNT, AT(rollouts), .range = "[2,1e6]", .fallback = "10", .help = "roll-outs from each"},
    {"horizon", HVI_SETTING_COUNT, AT(horizon), .range = "[1,1e9]", .fallback = "500", .help = "steps of a roll-out"},
    {"gamma", HVI_SETTING_REAL, AT(gamma), .range = "(0,1)", .fallback = "0.99", .help = "discount"},
    {"visits", HVI_SETTING_COUNT, AT(visits), .range = "[0,1e10]",
     .help = "visited states to choose from, in whole episodes (0: five times --states)"},
    {0},
};
#undef AT
/* clang-format on */

static const hvi_setting_table rollout = {"rollout", sizeof(hvi_rollout_settings), rollout_rows};
static const hvi_setting_table collect = {"collect", sizeof(hvi_collect_settings), collect_rows};
static const hvi_setting_table returns = {"returns", sizeof(hvi_returns_settings), returns_rows};
static const hvi_setting_table testset = {"testset", sizeof(hvi_testset_settings), testset_rows};

const hvi_setting_table *hvi_rollout_table(void) { return &rollout; }
const hvi_setting_table *hvi_collect_table(void) { return &collect; }
const hvi_setting_table *hvi_returns_table(void) { return &returns; }
const hvi_setting_table *hvi_testset_table(void) { return &testset; }

hvi_collect_settings hvi_collect_defaults(void) {
  hvi_collect_settings s = {.transitions = 0};
  hvi_setting_defaults(&collect, &s);
  hvi_setting_defaults(&rollout, &s.run);
  return s;
}

hvi_returns_settings hvi_returns_defaults(void) {
  hvi_returns_settings s = {.episodes = 0};
  hvi_setting_defaults(&returns, &s);
  hvi_setting_defaults(&rollout, &s.run);
  return s;
}

hvi_testset_settings hvi_testset_defaults(void) {
  hvi_testset_settings s = {.states = 0};
  hvi_setting_defaults(&testset, &s);
  hvi_setting_defaults(&rollout, &s.run);
  return s;
}
