/* The settings of a method that are options of the program: one table for parsing, checking, help
 * and JSON. */
#ifndef HVI_CLI_TUNABLES_H
#define HVI_CLI_TUNABLES_H

#include "args.h"

#include <hvi/solver.h>

typedef struct hvi_tunable {
  const char *name; /* of the option; NULL ends the table */
  hvi_arg_kind kind;
  size_t offset;     /* in hvi_settings */
  const char *range; /* as in hvi_arg */
  const char *value;
  const char *help;
  const char *used_by; /* families of methods, as words; NULL: all */
  bool zero_is_none;   /* zero stands for "no such thing" */
} hvi_tunable;

extern const hvi_tunable hvi_tunables[];

/* What hvi_tunable.used_by is about: an optimizer's or a rule's name, "adam-gda" or "baseline".
 */
const char *hvi_tunable_family(const hvi_settings *s);
bool hvi_tunable_used(const hvi_tunable *f, const hvi_settings *s);

void *hvi_tunable_in(const hvi_tunable *f, hvi_settings *s);
/* to's field becomes from's; whether the two are equal. */
void hvi_tunable_copy(const hvi_tunable *f, hvi_settings *to, const hvi_settings *from);
bool hvi_tunable_equal(const hvi_tunable *f, const hvi_settings *a, const hvi_settings *b);
/* Some other value than now. */
void hvi_tunable_change(const hvi_tunable *f, hvi_settings *s);
/* The value as text for a person. */
void hvi_tunable_text(const hvi_tunable *f, const hvi_settings *s, char *text, size_t size);

#endif
