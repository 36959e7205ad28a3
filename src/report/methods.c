#include "report/methods.h"

#include <hvi/mdp.h>

#include <string.h>

const hvi_rule *const *hvi_methods_rules(const char **problem) {
  if (problem) *problem = "chain --set data=trajectory";
  return hvi_trajectory_rules();
}

static const hvi_rule *find_rule(const char *name) {
  const hvi_rule *const *rule = hvi_methods_rules(NULL);
  while (*rule && strcmp((*rule)->name, name) != 0) rule++;
  return *rule;
}

bool hvi_methods_apply(const char *name, hvi_settings *s) {
  const hvi_method *m = hvi_method_find(name);
  const hvi_rule *rule = m ? NULL : find_rule(name);
  if (m) m->apply(s);
  if (rule) {
    s->baseline = HVI_BASELINE_RULE;
    s->rule = rule;
  }
  return m || rule;
}

const char *hvi_methods_summary(const char *name) {
  const hvi_method *m = hvi_method_find(name);
  const hvi_rule *rule = m ? NULL : find_rule(name);
  return m ? m->summary : rule ? rule->summary : NULL;
}

void hvi_methods_names(const char *names[HVI_MOST_NAMES]) {
  size_t n = 0;
  for (const hvi_method *m = hvi_method_list(); m->name && n + 1 < HVI_MOST_NAMES; m++)
    names[n++] = m->name;
  for (const hvi_rule *const *r = hvi_methods_rules(NULL); *r && n + 1 < HVI_MOST_NAMES; r++)
    names[n++] = (*r)->name;
  names[n] = NULL;
}
