/* The settings of the solver, its inner optimizers and rules: their table, and what does not go
 * together. */
#include "base/base.h"
#include "inner/least_squares.h"
#include "inner/optimizers.h"
#include "num/vec.h"
#include "outer/solver.h"

_Static_assert(sizeof(hvi_target) == sizeof(int), "choices are stored through int pointers");

/* Families of methods, as hvi_method_family names them. */
#define SURROGATE  "gd momentum adam adamw gn dgn lm adversary"
#define FIRST      "gd momentum adam adamw adam-gda baseline" /* methods with a step size */
#define ADAM       "adam adamw adam-gda"
#define NEWTON     "gn dgn lm adversary"
#define WITH_STATE "momentum adam adamw lm"

#define AT(member) .offset = offsetof(hvi_settings, member)
#define NONE       .flags = HVI_SETTING_ZERO_IS_NONE

HVI_ROWS(static const hvi_setting rows[],
    {"eta", HVI_SETTING_REAL, AT(eta), .range = "(0,inf)", .choices = "theorem|best|adaptive",
     .second = offsetof(hvi_settings, step_rule), .fallback = "0.1",
     .help = "step size of the outer loop, or the rule that sets it from mu and L: theorem (2 mu / 5 L^2) or best (mu / L^2); adaptive: by what is reached"},
    {.name = "outer loop"},
    {"target", HVI_SETTING_CHOICE, AT(target), .choices = "plain|optimistic|averaged|proximal", .used_by = SURROGATE,
     .help = "plain, optimistic (2 F - F before), averaged, or proximal (F at the target itself)"},
    {"average", HVI_SETTING_COUNT, AT(average), .range = "[1,1e6]", .fallback = "10", .used_by = SURROGATE,
     .help = "how many targets an averaged target takes"},
    {"accelerate", HVI_SETTING_CHOICE, AT(accelerate), .choices = "none|mode|lstd", .used_by = SURROGATE,
     .help = "start each step nearer to the solution: none, mode (the problem's slow mode taken off), or lstd (several, on the last layer)"},
    {"lstd_lambda", HVI_SETTING_REAL, AT(modes.lambda), .range = "[0,1]", .fallback = "0.9", .used_by = SURROGATE,
     .help = "lstd: lambda of its traces"},
    {"lstd_rows", HVI_SETTING_COUNT, AT(modes.rows), .range = "[0,1e8]", .fallback = "10000", .used_by = SURROGATE,
     .help = "lstd: transitions of all that were seen that a step looks at (0: all)"},
    {"lstd_rare", HVI_SETTING_REAL, AT(modes.rare), .range = "[0,1]", .fallback = "0.25", .used_by = SURROGATE,
     .help = "lstd: share of these that is for the rarest states"},
    {"alternating", HVI_SETTING_FLAG, AT(alternating), .used_by = SURROGATE, .help = "players in turn instead of at once"},
    {"eta_decay", HVI_SETTING_REAL, AT(eta_decay), .range = "[0,inf)", .help = "step t has the size eta / (1 + X t)"},
    {"redraw_every", HVI_SETTING_COUNT, NONE, AT(redraw_every), .range = "[1,1e12]", .help = "outer steps that share a sample: lazy deployment"},
    {"trace_decay", HVI_SETTING_REAL, AT(rule_settings.trace_decay), .range = "[0,1]", .used_by = "td-lambda",
     .help = "td-lambda: lambda of the traces"},
    {"second_rate", HVI_SETTING_REAL, AT(rule_settings.second_rate), .range = "[0,inf)", .fallback = "1",
     .used_by = "tdc tdrc gtd2 td-target",
     .help = "tdc, tdrc, gtd2: step of the second weights, as a share of eta; td-target: how far its network follows at each step (0.1 there)"},
    {"copy_every", HVI_SETTING_COUNT, AT(rule_settings.copy_every), .range = "[0,1e9]", .used_by = "td-target",
     .help = "td-target: its network is a copy, made every N steps (0: it follows, see --second-rate)"},
    {"adam", HVI_SETTING_FLAG, AT(rule_settings.adam), .used_by = "rules-of-networks",
     .help = "td-target, residual-gradient, tdc, tdrc: by Adam's rule"},
    {.name = "inner loop"},
    {"inner", HVI_SETTING_COUNT, AT(inner_steps), .range = "[1,1e12]", .fallback = "1", .used_by = SURROGATE,
     .help = "inner steps of an outer step; with --alpha the most"},
    {"alpha", HVI_SETTING_REAL, NONE, AT(alpha), .range = "(0,1)", .used_by = SURROGATE, .help = "stop the inner loop once loss <= X^2 loss0"},
    {"floor", HVI_SETTING_CHOICE, AT(floor), .choices = "zero|known|estimated|running", .used_by = SURROGATE,
     .help = "least loss that alpha counts from: zero, known, estimated, or what a longer solve reached lately"},
    {"inner_growth", HVI_SETTING_REAL, AT(inner_growth), .range = "[0,1e12]", .used_by = SURROGATE,
     .help = "--inner grows by this much each outer step"},
    {"keep_state", HVI_SETTING_FLAG, AT(keep_state), .used_by = WITH_STATE, .help = "the optimizer's state survives a new target"},
    {"inner_lr", HVI_SETTING_REAL, AT(inner.lr), .range = "(0,inf)", .fallback = "1", .used_by = FIRST,
     .help = "step size of gd, momentum, adam, adamw and the baselines"},
    {"inner_lr_decay", HVI_SETTING_REAL, AT(inner_lr_decay), .range = "[0,inf)", .used_by = "gd momentum adam adamw",
     .help = "outer step t = 0, 1, ... has the inner rate --inner-lr / (1 + X t)"},
    {"momentum", HVI_SETTING_REAL, AT(inner.momentum), .range = "[0,1)", .fallback = "0.9", .used_by = "momentum",
     .help = "share of the last step that momentum keeps"},
    {"beta1", HVI_SETTING_REAL, AT(inner.beta1), .range = "[0,1)", .fallback = "0.9", .used_by = ADAM, .help = "adam: decay of the mean gradient"},
    {"beta2", HVI_SETTING_REAL, AT(inner.beta2), .range = "[0,1)", .fallback = "0.999", .used_by = ADAM, .help = "adam: decay of the mean square"},
    {"epsilon", HVI_SETTING_REAL, AT(inner.epsilon), .range = "(0,inf)", .fallback = "1e-8", .used_by = ADAM,
     .help = "adam: added to the root of the mean square"},
    {"weight_decay", HVI_SETTING_REAL, AT(inner.weight_decay), .range = "[0,inf)", .fallback = "0.01", .used_by = "adamw",
     .help = "adamw: share of theta taken off, times the step size"},
    {"rank_tol", HVI_SETTING_REAL, AT(inner.rank_tol), .range = "[0,1)", .fallback = "1e-10", .used_by = "gn dgn",
     .help = "gn, dgn: singular values below this share of the largest count as zero"},
    {"factor", HVI_SETTING_REAL, AT(inner.factor), .range = "(0,inf)", .fallback = "0.5", .used_by = "dgn",
     .help = "dgn: share of the Gauss-Newton step"},
    {"line_search", HVI_SETTING_FLAG, AT(inner.line_search), .used_by = "dgn", .help = "dgn: Armijo backtracking instead of --factor"},
    {"damping", HVI_SETTING_REAL, AT(inner.damping), .range = "(0,inf)", .fallback = "0.01", .used_by = "lm",
     .help = "lm: lambda; the first one when it adapts"},
    {"adaptive_damping", HVI_SETTING_FLAG, AT(inner.adapt_damping), .used_by = "lm", .help = "lm: lambda by the gain ratio"},
    {"linear", HVI_SETTING_CHOICE, AT(inner.linear), .choices = "auto|dense|matrix-free|gram", .used_by = NEWTON,
     .help = "gn, dgn, lm, with n outputs and d parameters: auto, dense (about 3 n d doubles), matrix-free (4 d + 3 n), or gram (n^2, networks); over 4 GiB is refused"},
    {"linear_tol", HVI_SETTING_REAL, AT(inner.linear_tol), .range = "[0,1)", .fallback = "1e-14", .used_by = NEWTON,
     .help = "matrix-free: relative tolerance"},
    {"linear_iters", HVI_SETTING_COUNT, AT(inner.linear_iters), .used_by = NEWTON, .help = "matrix-free: most iterations a step; 0: 4 (n + d)"},
    {"error_alpha", HVI_SETTING_REAL, AT(inner.error_alpha), .range = "[0,1)", .fallback = "0.7071067811865476",
     .used_by = "adversary", .help = "adversary: the alpha it errs by"},
    {"error_angle", HVI_SETTING_REAL, AT(inner.error_angle), .fallback = "0.7853981633974483", .used_by = "adversary",
     .help = "adversary: in which direction, in radians"},
    {.name = "when to stop (0: no such limit)"},
    {"iters", HVI_SETTING_COUNT, HVI_SETTING_ZERO_IS_NONE | HVI_SETTING_NO_RESULT, AT(max_outer), .fallback = "1000", .help = "outer steps"},
    {"tol", HVI_SETTING_REAL, NONE, AT(tol), .range = "[0,inf)", .help = "residual at or below X"},
    {"max_evals", HVI_SETTING_COUNT, NONE, AT(max_f_evals), .help = "evaluations of F"},
    {"max_seconds", HVI_SETTING_REAL, HVI_SETTING_ZERO_IS_NONE | HVI_SETTING_NO_RESULT, AT(max_seconds), .range = "[0,inf)", .help = "time"},
    {"stall_window", HVI_SETTING_COUNT, NONE, AT(stall_window), .fallback = "200", .help = "outer steps without movement"},
    {"growth_bound", HVI_SETTING_REAL, NONE, AT(growth_bound), .range = "[0,inf)", .fallback = "1e8",
     .help = "residual beyond X (1 + first residual) is divergence"},
    {"tol_relative", HVI_SETTING_FLAG, AT(tol_relative), .help = "--tol in units of the first residual, where that is below 1"},
    {"rounding", HVI_SETTING_FLAG, AT(rounding), .fallback = "yes", .help = "a residual at rounding is convergence"},
    {"restarts", HVI_SETTING_COUNT, AT(restarts), .range = "[0,1e6]", .used_by = SURROGATE,
     .help = "--eta adaptive: most new starts, drawn around the first, where a run is stuck"},
    {"seed", HVI_SETTING_SEED, AT(seed), .help = "of the draws of a stochastic problem"},
    {0});

HVI_SETTINGS(settings, "solver", hvi_settings, rows, .automatic = true)

hvi_settings hvi_method_settings(const char *name) {
  hvi_settings s = hvi_settings_defaults();
  hvi_method_apply(&s, name, NULL);
  return s;
}

hvi_optimizer_settings hvi_optimizer_defaults(void) { return hvi_settings_defaults().inner; }

/* Steps that solve a linear system. */
static bool solves(const hvi_settings *s) {
  const hvi_optimizer *o = s->optimizer;
  return !s->baseline &&
         (o == &hvi_optimizer_gn || o == &hvi_optimizer_dgn || o == &hvi_optimizer_lm ||
          o == &hvi_optimizer_adversary || s->floor == HVI_FLOOR_ESTIMATED);
}

/* What does not go together; %s is the problem's name. */
static hvi_status check_fit(const hvi_settings *s, const hvi_problem *p, hvi_error *err) {
  const bool in_turn = s->alternating || s->baseline == HVI_BASELINE_ALTERNATING_GDA;
  const bool proximal = !s->baseline && s->target == HVI_TARGET_PROXIMAL;
  const hvi_acceleration accelerate = s->baseline ? HVI_ACCELERATE_NONE : s->accelerate;
  const double *theta0 = s->theta0 ? s->theta0 : p->theta0;
  const struct {
    bool applies;
    hvi_status status;
    const char *text;
  } list[] = {
      {s->tol > 0.0 && p->ops->draw, HVI_ERROR_UNSUPPORTED,
       "%s is stochastic and has no residual to test: set a limit instead of a tolerance"},
      {in_turn && p->model->block_count < 2, HVI_ERROR_UNSUPPORTED,
       "%s has one player: alternating needs at least two"},
      {in_turn && p->ops->draw && p->model->ops->bind, HVI_ERROR_UNSUPPORTED,
       "%s: a model of samples cannot alternate between its players"},
      {p->ops->resample && s->redraw_every > 1, HVI_ERROR_UNSUPPORTED,
       "double sampling needs a new sample at each step"},
      {!theta0, HVI_ERROR_ARGUMENT, "there is no start: give theta0"},
      {theta0 && !hvi_vec_finite(theta0, p->model->dim), HVI_ERROR_INPUT,
       "theta0 holds a number that is not finite"},
      {(accelerate == HVI_ACCELERATE_MODE && !p->ops->slow_mode) ||
           (accelerate == HVI_ACCELERATE_LSTD && !hvi_modes_fit(p)),
       HVI_ERROR_UNSUPPORTED, "%s has no slow mode, or no equations for LSTD"},
      {proximal && (in_turn || accelerate || !hvi_resolvent_fits(p)), HVI_ERROR_UNSUPPORTED,
       "proximal targets: players at once, no acceleration or samples"},
      {s->step_rule == HVI_STEP_ADAPTIVE && (s->baseline || in_turn || p->ops->draw),
       HVI_ERROR_UNSUPPORTED, "adaptive steps: surrogates with players at once, no samples"},
      {accelerate && (in_turn || s->target != HVI_TARGET_PLAIN), HVI_ERROR_UNSUPPORTED,
       "acceleration goes with plain targets and players at once"},
      {accelerate && s->redraw_every > 1 && p->ops->draw, HVI_ERROR_UNSUPPORTED,
       "acceleration learns from samples, and needs a new one at each step"},
      {!s->baseline && p->ops->resample && (solves(s) || s->alpha > 0.0 || s->inner.line_search),
       HVI_ERROR_UNSUPPORTED,
       "%s samples anew for every inner step: that goes with gd, momentum, adam and adamw, and a "
       "fixed number of steps"},
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++)
    if (list[i].applies) return hvi_error_set(err, list[i].status, list[i].text, p->ops->name);
  return HVI_OK;
}

hvi_status hvi_settings_check(const hvi_settings *s, const hvi_problem *p, hvi_error *err) {
  if (!s->optimizer) return hvi_error_argument(err, "the settings name no inner optimizer");
  if (!s->optimizer->name || !s->optimizer->step)
    return hvi_error_argument(err, "the inner optimizer lacks its name or its step");
  if ((unsigned)s->baseline > HVI_BASELINE_RULE)
    return hvi_error_argument(err, "baseline %d: there is no such method", (int)s->baseline);
  HVI_TRY(hvi_setting_check(&table, s, err));
  if (s->max_outer == 0 && s->max_f_evals == 0 && s->max_seconds == 0.0 && s->tol == 0.0 &&
      !s->observe)
    return hvi_error_argument(err,
                              "nothing ends this solve: set a limit, a tolerance or an observer");
  const hvi_rule *const *known = p->ops->rules;
  while (known && *known && *known != s->rule) known++;
  if (s->baseline == HVI_BASELINE_RULE && !(known && *known))
    return hvi_error_unsupported(err, "%s does not apply to %s",
                                 s->rule ? s->rule->name : "a missing rule", p->ops->name);
  HVI_TRY(check_fit(s, p, err));
  return solves(s) ? hvi_least_squares_check(&s->inner, p->model, err) : HVI_OK;
}
