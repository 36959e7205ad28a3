#include "tunables.h"

#include "base/number.h"

#include <stdio.h>
#include <string.h>

#define SURROGATE  "gd momentum adam adamw gn dgn lm adversary"
#define FIRST      "gd momentum adam adamw adam-gda baseline" /* methods with a step size */
#define ADAM       "adam adamw adam-gda"
#define NEWTON     "gn dgn lm adversary"
#define WITH_STATE "momentum adam adamw lm"

/* Choices are stored through int pointers. */
_Static_assert(sizeof(hvi_target) == sizeof(int) && sizeof(hvi_floor) == sizeof(int) &&
                   sizeof(hvi_linear_solver) == sizeof(int) &&
                   sizeof(hvi_acceleration) == sizeof(int),
               "enums are as wide as int");

#define AT(member) offsetof(hvi_settings, member)

/* clang-format off */
const hvi_tunable hvi_tunables[] = {
    {"outer loop", HVI_ARG_SECTION, 0, NULL, NULL, NULL, NULL, false},
    {"target", HVI_ARG_CHOICE, AT(target), "plain|optimistic|averaged", "KIND",
     "plain, optimistic (2 F - F before) or averaged", SURROGATE, false},
    {"average", HVI_ARG_SIZE, AT(average), "[1,1e6]", "TAU",
     "how many targets an averaged target takes", SURROGATE, false},
    {"accelerate", HVI_ARG_CHOICE, AT(accelerate), "none|mode|anderson", "KIND",
     "start each step nearer to the solution: none, mode (the\nproblem's slow mode taken off) or anderson", SURROGATE, false},
    {"memory", HVI_ARG_SIZE, AT(memory), "[1,8]", "K",
     "iterates that anderson looks back at", SURROGATE, false},
    {"alternating", HVI_ARG_FLAG, AT(alternating), NULL, NULL,
     "players in turn instead of at once", SURROGATE, false},
    {"eta-decay", HVI_ARG_REAL, AT(eta_decay), "[0,inf)", "X",
     "step t has the size eta / (1 + X t)", NULL, false},
    {"redraw-every", HVI_ARG_SIZE, AT(redraw_every), "[1,1e12]", "N",
     "outer steps that share a sample: lazy deployment", NULL, true},
    {"trace-decay", HVI_ARG_REAL, AT(rule_settings.trace_decay), "[0,1]", "X",
     "td-lambda: lambda of the traces", "td-lambda", false},
    {"second-rate", HVI_ARG_REAL, AT(rule_settings.second_rate), "[0,inf)", "X",
     "tdc, tdrc, gtd2: step of the second weights, as a share\nof eta; td-target: how far its network follows at each step\n(0.1 there)", "tdc tdrc gtd2 td-target", false},
    {"inner loop", HVI_ARG_SECTION, 0, NULL, NULL, NULL, NULL, false},
    {"inner", HVI_ARG_SIZE, AT(inner_steps), "[1,1e12]", "N",
     "inner steps of an outer step; with --alpha the most", SURROGATE, false},
    {"alpha", HVI_ARG_REAL, AT(alpha), "(0,1)", "A",
     "stop the inner loop once loss <= A^2 loss0", SURROGATE, true},
    {"floor", HVI_ARG_CHOICE, AT(floor), "zero|known|estimated", "KIND",
     "least loss that alpha counts from: zero, known, estimated", SURROGATE, false},
    {"inner-growth", HVI_ARG_REAL, AT(inner_growth), "[0,1e12]", "X",
     "N grows by this much each outer step", SURROGATE, false},
    {"keep-state", HVI_ARG_FLAG, AT(keep_state), NULL, NULL,
     "the optimizer's state survives a new target", WITH_STATE, false},
    {"inner-lr", HVI_ARG_REAL, AT(inner.lr), "(0,inf)", "X",
     "step size of gd, momentum, adam, adamw and the baselines", FIRST, false},
    {"momentum", HVI_ARG_REAL, AT(inner.momentum), "[0,1)", "X",
     "share of the last step that momentum keeps", "momentum", false},
    {"beta1", HVI_ARG_REAL, AT(inner.beta1), "[0,1)", "X",
     "adam: decay of the mean gradient", ADAM, false},
    {"beta2", HVI_ARG_REAL, AT(inner.beta2), "[0,1)", "X",
     "adam: decay of the mean square", ADAM, false},
    {"epsilon", HVI_ARG_REAL, AT(inner.epsilon), "(0,inf)", "X",
     "adam: added to the root of the mean square", ADAM, false},
    {"weight-decay", HVI_ARG_REAL, AT(inner.weight_decay), "[0,inf)", "X",
     "adamw: share of theta taken off, times the step size", "adamw", false},
    {"rank-tol", HVI_ARG_REAL, AT(inner.rank_tol), "[0,1)", "X",
     "gn, dgn: singular values below this share of the\nlargest count as zero", "gn dgn", false},
    {"factor", HVI_ARG_REAL, AT(inner.factor), "(0,inf)", "X",
     "dgn: share of the Gauss-Newton step", "dgn", false},
    {"line-search", HVI_ARG_FLAG, AT(inner.line_search), NULL, NULL,
     "dgn: Armijo backtracking instead of --factor", "dgn", false},
    {"damping", HVI_ARG_REAL, AT(inner.damping), "(0,inf)", "X",
     "lm: lambda; the first one when it adapts", "lm", false},
    {"adaptive-damping", HVI_ARG_FLAG, AT(inner.adapt_damping), NULL, NULL,
     "lm: lambda by the gain ratio", "lm", false},
    {"linear", HVI_ARG_CHOICE, AT(inner.linear), "auto|dense|matrix-free|gram", "KIND",
     "gn, dgn, lm, with n outputs and d parameters: auto,\ndense (about 3 n d doubles), matrix-free (4 d + 3 n),\n"
     "or gram (n^2, networks); over 4 GiB is refused", NEWTON, false},
    {"linear-tol", HVI_ARG_REAL, AT(inner.linear_tol), "(0,1)", "X",
     "matrix-free: relative tolerance", NEWTON, false},
    {"linear-iters", HVI_ARG_SIZE, AT(inner.linear_iters), NULL, "N",
     "matrix-free: most iterations a step; 0: 4 (n + d)", NEWTON, false},
    {"error-alpha", HVI_ARG_REAL, AT(inner.error_alpha), "[0,1)", "A",
     "adversary: the alpha it errs by", "adversary", false},
    {"error-angle", HVI_ARG_REAL, AT(inner.error_angle), NULL, "X",
     "adversary: in which direction, in radians", "adversary", false},
    {"when to stop (0: no such limit)", HVI_ARG_SECTION, 0, NULL, NULL, NULL, NULL, false},
    {"iters", HVI_ARG_SIZE, AT(max_outer), NULL, "N", "outer steps", NULL, true},
    {"tol", HVI_ARG_REAL, AT(tol), "[0,inf)", "X", "residual at or below X", NULL, true},
    {"max-evals", HVI_ARG_SIZE, AT(max_f_evals), NULL, "N", "evaluations of F", NULL, true},
    {"max-seconds", HVI_ARG_REAL, AT(max_seconds), "[0,inf)", "X", "time", NULL, true},
    {"stall-window", HVI_ARG_SIZE, AT(stall_window), NULL, "N",
     "outer steps without movement", NULL, true},
    {"growth-bound", HVI_ARG_REAL, AT(growth_bound), "[0,inf)", "X",
     "residual beyond X (1 + first residual) is divergence", NULL, true},
    {NULL, HVI_ARG_SECTION, 0, NULL, NULL, NULL, NULL, false},
};
/* clang-format on */

const char *hvi_tunable_family(const hvi_settings *s) {
  if (s->baseline == HVI_BASELINE_ADAM_GDA) return "adam-gda";
  if (s->baseline == HVI_BASELINE_RULE) return s->rule->name;
  if (s->baseline != HVI_BASELINE_NONE) return "baseline";
  return s->optimizer->name;
}

bool hvi_tunable_used(const hvi_tunable *f, const hvi_settings *s) {
  if (!f->used_by) return true;
  const char *family = hvi_tunable_family(s), *word = f->used_by;
  size_t length = strlen(family);
  for (; *word; word += strspn(word, " ")) {
    size_t n = strcspn(word, " ");
    if (n == length && memcmp(word, family, n) == 0) return true;
    word += n;
  }
  return false;
}

static size_t field_size(const hvi_tunable *f) {
  switch (f->kind) {
  case HVI_ARG_FLAG:
    return sizeof(bool);
  case HVI_ARG_REAL:
    return sizeof(double);
  case HVI_ARG_SIZE:
    return sizeof(size_t);
  case HVI_ARG_CHOICE:
    return sizeof(int);
  default:
    return 0;
  }
}

void *hvi_tunable_in(const hvi_tunable *f, hvi_settings *s) { return (char *)s + f->offset; }

void hvi_tunable_copy(const hvi_tunable *f, hvi_settings *to, const hvi_settings *from) {
  memcpy((char *)to + f->offset, (const char *)from + f->offset, field_size(f));
}

bool hvi_tunable_equal(const hvi_tunable *f, const hvi_settings *a, const hvi_settings *b) {
  return memcmp((const char *)a + f->offset, (const char *)b + f->offset, field_size(f)) == 0;
}

void hvi_tunable_change(const hvi_tunable *f, hvi_settings *s) {
  void *at = hvi_tunable_in(f, s);
  switch (f->kind) {
  case HVI_ARG_FLAG:
    *(bool *)at = !*(bool *)at;
    break;
  case HVI_ARG_REAL:
    *(double *)at += 1;
    break;
  case HVI_ARG_SIZE:
    *(size_t *)at += 1;
    break;
  case HVI_ARG_CHOICE:
    *(int *)at = *(int *)at == 0;
    break;
  default:
    break;
  }
}

void hvi_tunable_text(const hvi_tunable *f, const hvi_settings *s, char *text, size_t size) {
  const char *at = (const char *)s + f->offset;
  char number[HVI_NUMBER_SIZE];
  switch (f->kind) {
  case HVI_ARG_FLAG:
    snprintf(text, size, "%s", *(const bool *)at ? "yes" : "no");
    break;
  case HVI_ARG_REAL:
    snprintf(text, size, "%s", hvi_number_format(number, *(const double *)(const void *)at));
    break;
  case HVI_ARG_SIZE:
    snprintf(text, size, "%zu", *(const size_t *)(const void *)at);
    break;
  case HVI_ARG_CHOICE:
    hvi_choice_name(f->range, *(const int *)(const void *)at, text, size);
    break;
  default:
    text[0] = '\0';
  }
  if (f->zero_is_none && strcmp(text, "0") == 0) snprintf(text, size, "none");
}
