/* Methods by name: those that fit every problem, and the rules of single problems. */
#ifndef HVI_REPORT_METHODS_H
#define HVI_REPORT_METHODS_H

#include <hvi/solver.h>

enum { HVI_MOST_NAMES = 64 };

/* Makes the settings those of the method; false when there is none of that name. */
bool hvi_methods_apply(const char *name, hvi_settings *s);
/* One line about it, or NULL. */
const char *hvi_methods_summary(const char *name);
/* All names, ending in NULL. */
void hvi_methods_names(const char *names[HVI_MOST_NAMES]);
/* The rules, ending in NULL, and the problem they belong to. */
const hvi_rule *const *hvi_methods_rules(const char **problem);

#endif
