/* The settings of a trainer. */
#include <hvi/sac.h>

enum { MOST_HIDDEN = sizeof((hvi_sac_settings){0}.hidden) / sizeof(size_t) };

#define AT(member) .offset = offsetof(hvi_sac_settings, member)
/* clang-format off */
static const hvi_setting rows[] = {
    {"seed", HVI_SETTING_SEED, AT(seed), .fallback = "1", .help = "of everything random"},
    {"threads", HVI_SETTING_COUNT, HVI_SETTING_NO_RESULT, AT(threads), .range = "[1,2]", .fallback = "1",
     .help = "2: the critics side by side; the result is the same"},
    {.name = "Learning"},
    {"gamma", HVI_SETTING_REAL, AT(gamma), .range = "[0,1)", .fallback = "0.99", .help = "discount"},
    {"tau", HVI_SETTING_REAL, AT(tau), .range = "(0,1]", .fallback = "0.005", .help = "how fast the target critics follow"},
    {"batch", HVI_SETTING_COUNT, AT(batch), .range = "[1,65536]", .fallback = "256", .help = "transitions of an update"},
    {"buffer", HVI_SETTING_COUNT, AT(buffer), .range = "[1,2147483648]", .fallback = "1000000", .help = "transitions kept"},
    {"start", HVI_SETTING_COUNT, AT(start), .fallback = "5000", .help = "steps with random actions before learning begins"},
    {"actor_lr", HVI_SETTING_REAL, AT(actor_lr), .range = "(0,inf)", .fallback = "3e-4", .help = "learning rate of the actor"},
    {"critic_lr", HVI_SETTING_REAL, AT(critic_lr), .range = "(0,inf)", .fallback = "1e-3", .help = "learning rate of the critics"},
    {"alpha_lr", HVI_SETTING_REAL, AT(alpha_lr), .range = "(0,inf)", .fallback = "1e-3",
     .help = "learning rate of the entropy's weight"},
    {"delay", HVI_SETTING_COUNT, AT(delay), .range = "[1,1000000]", .fallback = "2",
     .help = "steps between updates of the actor, which are then as many"},
    {"alpha", HVI_SETTING_REAL, AT(alpha), .range = "[0,inf)", .help = "a fixed weight of the entropy (0: automatic)"},
    {"target_entropy", HVI_SETTING_REAL, HVI_SETTING_NAN_IS_NONE, AT(target_entropy), .fallback = "none",
     .help = "entropy that the automatic weight aims at (none: minus the action's length)"},
    {"hidden", HVI_SETTING_COUNTS, AT(hidden), .second = offsetof(hvi_sac_settings, hidden_count), .most = MOST_HIDDEN,
     .range = "[1,65536]", .fallback = "256,256", .help = "widths of the hidden layers"},
    {0},
};
/* clang-format on */
#undef AT

static const hvi_setting_table table = {"SAC", sizeof(hvi_sac_settings), rows};

const hvi_setting_table *hvi_sac_table(void) { return &table; }

hvi_sac_settings hvi_sac_defaults(void) {
  hvi_sac_settings s = {.gamma = 0.0};
  hvi_setting_defaults(&table, &s);
  return s;
}
