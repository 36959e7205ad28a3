/*
 * Which problem, which method: the options that solve and inspect share, and what they make.
 *
 *   HVI_OWN_BY(hvi_setup_free) hvi_setup setup = hvi_setup_new();
 *   hvi_setup_options(&setup, &args);
 *   HVI_STEP(hvi_args_parse(&args, argc, argv));
 *   HVI_STEP(hvi_setup_make(&setup, &args));        // complains itself
 *   ... setup.problem, setup.settings ...
 *
 * An option that the chosen method does not use is a mistake, and so is one that contradicts what a
 * preset fixes (phgd is gn with one inner step; for more, ask for gn).
 */
#pragma once

#include "args.h"
#include "talk.h"

#include <hvi/builtin.h>
#include <hvi/solver.h>

typedef struct hvi_setup {
  /* as asked for */
  hvi_texts set;           /* key=value */
  uint64_t seed, instance; /* of a problem that is built in, or code */
  const char *theta0_text; /* a list or a file */
  hvi_precision precision; /* of networks */
  const char *method;
  hvi_settings asked; /* the other options, before the method has its say */

  /* as made */
  const char *name;        /* the operand */
  const hvi_builtin *kind; /* built in, or code of the user's; NULL: a YAML file */
  bool many;               /* stands for random instances 1, 2, ... and not for `instance` */
  hvi_option *options;     /* [set.count] the texts of `set`, cut in two */
  hvi_problem *problem;
  hvi_settings settings; /* points to theta0 below */
  double *theta0;
} hvi_setup;

hvi_setup hvi_setup_new(void);
/* Adds two sections of options: the problem's and the method's. Stop rules and limits too. */
void hvi_setup_options(hvi_setup *s, hvi_args *args);
/* The first of them alone. */
void hvi_setup_problem_options(hvi_setup *s, hvi_args *args);
/* Makes problem and settings from args->operands[0] and the options; returns an exit code. */
int hvi_setup_make(hvi_setup *s, const hvi_args *args);
void hvi_setup_free(hvi_setup *s);

/* The method's half of hvi_setup_make. */
int hvi_setup_method(hvi_setup *s, const hvi_args *args);
/* The options that were given go from `asked` to `settings`, whose method must use them. */
int hvi_setup_apply(hvi_setup *s, const hvi_args *args);

/* Whether a setting is one of the method in force: not eta, which is shown by itself, nor a seed.
 */
bool hvi_setup_shows(const hvi_setup *s, const hvi_setting *row);
/* The settings in force, as members of an object. */
void hvi_setup_json(const hvi_setup *s, double eta_in_force);

void hvi_setting_json(const hvi_setting *row, const void *settings);
