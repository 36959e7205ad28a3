/*
 * Arms: the methods that a study compares.
 *
 *   - {label: GD(10), method: gd, eta: 0.1, inner: 10, inner_lr: 1, style: 2, highlight: true}
 *   - {label: Surr 10, method: adamw, inner: 10, inner_lr: 1e-2, at: [{environment: ant, inner_lr: 3e-3}]}
 *
 * `at` changes settings where factors of the study have certain levels; `size` is quick or full.
 */
#pragma once

#include "io/yaml.h"

#include <hvi/evaluate.h>

enum { HVI_MOST_RATES = 16 };

typedef struct hvi_arm {
  const char *label, *method;
  char slug[48]; /* the label as part of a file name, unlike any other's */
  hvi_settings settings;
  const hvi_node *at; /* a list of maps: levels, and settings that hold there; NULL: none */
  size_t style;       /* of its lines; its place in the list unless told otherwise */
  bool highlight;     /* its path, or its band, is drawn */
  /* policy evaluation: */
  bool eta_given, normalise_given;
  hvi_normalisation normalise; /* instead of the study's, where given */
  size_t passes;               /* outer steps that each batch serves, as many more of them */
  size_t times;                /* so many times the study's iterations, on fresh data */
  hvi_value_spec value;        /* buffer, lambda and returns of it are the arm's own */
  size_t rate_count;
  double rates[HVI_MOST_RATES]; /* what hvi_arm_rate is chosen from; none: the study's */
  double rate;                  /* while it is tuned, instead of the file's; 0: the file's */
} hvi_arm;

/* Reads one arm, whose method may be one of the rules. */
hvi_status hvi_arm_parse(hvi_arm *c, const hvi_node *map, const hvi_rule *const *rules,
                         const char *origin, hvi_error *err);
const hvi_setting_table *hvi_arm_table(void);
/* What is tuned: a gradient method's inner_lr, lm's damping, the eta of everything else; and its
 * key. */
double *hvi_arm_rate(hvi_settings *s, const char **key);

/* "GD(10)" becomes "gd-10": text as part of a file's name. */
void hvi_slug(char *slug, size_t size, const char *text);
