/* Settings of a trainer as names and text: for checkpoints, and to say which of them differ. */
#ifndef HVI_RL_SAC_SETTINGS_H
#define HVI_RL_SAC_SETTINGS_H

#include <hvi/sac.h>

/* Everything that decides the numbers; threads do not. */
enum { HVI_SAC_FIELDS = 13, HVI_SAC_FIELD_TEXT = 192 };

hvi_status hvi_sac_settings_check(const hvi_sac_settings *s, hvi_error *err);

const char *hvi_sac_field_name(size_t i);
/* The value as text that reads back to the same bits. */
void hvi_sac_field_print(char text[HVI_SAC_FIELD_TEXT], const hvi_sac_settings *s, size_t i);
/* False: the text is no value of that field. */
bool hvi_sac_field_read(hvi_sac_settings *s, size_t i, const char *text);

/* The first field in which the two differ, or HVI_SAC_FIELDS. */
size_t hvi_sac_settings_compare(const hvi_sac_settings *a, const hvi_sac_settings *b);

#endif
