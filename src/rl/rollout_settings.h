/* Tables of the settings of roll-outs: how they are run, data sets, returns, test sets. */
#ifndef HVI_RL_ROLLOUT_SETTINGS_H
#define HVI_RL_ROLLOUT_SETTINGS_H

#include <hvi/setting.h>

const hvi_setting_table *hvi_rollout_table(void); /* of hvi_rollout_settings */
const hvi_setting_table *hvi_collect_table(void); /* of hvi_collect_settings, but for `run` */
const hvi_setting_table *hvi_returns_table(void); /* of hvi_returns_settings, but for `run` */
const hvi_setting_table *hvi_testset_table(void); /* of hvi_testset_settings, but for `run` */

#endif
