/* What a solve says: header, table of iterations, footer and advice on stderr; the result on stdout,
 * for people or as JSON, whose members the manual page describes. */
#include "base/number.h"
#include "solve.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { DIGITS = 6, SHOWN = 12, TABLE_ROWS = 20 };

static const char *word(char text[HVI_NUMBER_SIZE], double x) {
  return isnan(x) ? "not known" : hvi_number_short(text, x, 4);
}

/* A judge that finds a residual well above the tolerance contradicts a solver that has converged.
 */
static bool judge_disagrees(const hvi_solve *s, const hvi_solved *r) {
  return r->info.outcome == HVI_CONVERGED && r->judge.residual > 2 * s->setup.settings.tol;
}

int hvi_solve_code(const hvi_solve *s, const hvi_solved *r) {
  if (r->interrupted && r->info.outcome == HVI_STOPPED) return HVI_EXIT_INTERRUPTED;
  if (!r->judge.finite || r->info.outcome == HVI_DIVERGED) return HVI_EXIT_DIVERGED;
  switch (r->info.outcome) {
  case HVI_CONVERGED:
    return judge_disagrees(s, r) ? HVI_EXIT_SHORT : HVI_EXIT_DONE;
  case HVI_LIMIT:
    return s->setup.settings.tol > 0 ? HVI_EXIT_SHORT : HVI_EXIT_DONE;
  default:
    return HVI_EXIT_SHORT;
  }
}

static void header_stop(const hvi_solve *s) {
  const hvi_settings *o = &s->setup.settings;
  char tol[HVI_NUMBER_SIZE];
  hvi_say(&s->talk, "stop      ");
  if (o->tol > 0) hvi_say(&s->talk, "residual <= %s, ", hvi_number_short(tol, o->tol, 4));
  if (o->max_outer > 0) hvi_say(&s->talk, "%zu outer steps, ", o->max_outer);
  if (o->max_f_evals > 0) hvi_say(&s->talk, "%zu evaluations of F, ", o->max_f_evals);
  if (o->max_seconds > 0) hvi_say(&s->talk, "%g s, ", o->max_seconds);
  if (o->stall_window > 0) hvi_say(&s->talk, "stalled over %zu steps, ", o->stall_window);
  hvi_say(&s->talk, "divergence\n");
}

static void header_inner(const hvi_solve *s) {
  const hvi_settings *o = &s->setup.settings;
  if (o->baseline != HVI_BASELINE_NONE) return;
  hvi_say(&s->talk, ", inner %zu", o->inner_steps);
  if (o->inner_growth > 0) hvi_say(&s->talk, " + %g a step", o->inner_growth);
  if (o->alpha > 0) hvi_say(&s->talk, " at most, alpha %g", o->alpha);
}

static void header_settings(const hvi_solve *s) {
  char text[64];
  for (const hvi_setting *row = hvi_settings_table()->rows; row->name; row++) {
    if (!hvi_setup_shows(&s->setup, row)) continue;
    hvi_setting_format(row, &s->setup.settings, text, sizeof text);
    hvi_say(&s->talk, "          %-18s%s\n", row->name, text);
  }
}

/* The step size, or the name of the rule when it differs between instances. */
static const char *eta_word(const hvi_solve *s, double eta, char text[HVI_NUMBER_SIZE]) {
  if (s->setup.player_eta) return "by player";
  if (!isnan(eta)) return hvi_number_short(text, eta, 4);
  return s->setup.settings.step_rule == HVI_STEP_THEOREM ? "by theorem" : "best";
}

void hvi_solve_header(const hvi_solve *s, double eta) {
  const hvi_model *m = s->setup.problem->model;
  char number[HVI_NUMBER_SIZE];
  hvi_say(&s->talk, "problem   %s: %zu parameters, %zu outputs", s->setup.name, m->dim, m->out);
  if (m->block_count > 1) {
    const bool game = strcmp(s->setup.problem->ops->name, "game") == 0;
    hvi_say(&s->talk, ", %zu %s", m->block_count, game ? "players" : "blocks");
  }
  hvi_say(&s->talk, "\n");
  hvi_say(&s->talk, "method    %s, eta %s", s->setup.method, eta_word(s, eta, number));
  header_inner(s);
  hvi_say(&s->talk, "\n");
  header_stop(s);
  if (s->talk.verbose) header_settings(s);
}

hvi_screen hvi_screen_new(const hvi_talk *talk, size_t every, size_t total) {
  const double unknown = 1e6;
  double last = total > 0 ? (double)total : unknown;
  return (hvi_screen){.talk = talk,
                      .every = every,
                      .factor = pow(last, 1.0 / (TABLE_ROWS - 4)),
                      .bar = hvi_progress_new(talk, "solving", total)};
}

/* 1, 2, 5, 10, 20, 50, ...: the nearest from below, when it lies beyond `now`. */
static size_t round_down(double x, size_t now) {
  double unit = pow(10, floor(log10(x) + 1e-12)), lead = x / unit;
  double steps = floor(lead * 2 + 1e-9) / 2; /* to half a leading digit */
  double rounded = floor(steps * unit);
  return rounded > (double)now ? (size_t)rounded : (size_t)ceil(x);
}

static size_t next_shown(size_t now, size_t every, double factor) {
  if (every > 0) return now - now % every + every;
  double next = (double)now * factor;
  if (next < (double)now + 1) return now + 1;
  return next < 1e15 ? round_down(next, now) : now + 1;
}

static const char *cell(char text[HVI_NUMBER_SIZE], double x, int digits) {
  if (isnan(x))
    snprintf(text, HVI_NUMBER_SIZE, "-");
  else
    snprintf(text, HVI_NUMBER_SIZE, "%.*e", digits - 1, x);
  return text;
}

static void print_head(const hvi_screen *t) {
  hvi_say(t->talk, "%s%9s %7s %10s %9s %10s %10s", hvi_tone_code(t->talk, HVI_STRONG), "outer",
          "inner", "loss", "ratio", "residual", "dist2");
  if (t->talk->verbose)
    hvi_say(t->talk, " %10s %9s %9s %9s %9s", "loss0", "alpha", "F evals", "passes", "grads");
  hvi_say(t->talk, " %9s%s\n", "seconds", hvi_tone_code(t->talk, HVI_PLAIN));
}

static void print_row(const hvi_screen *t, const hvi_record *r) {
  char a[HVI_NUMBER_SIZE], b[HVI_NUMBER_SIZE], c[HVI_NUMBER_SIZE], d[HVI_NUMBER_SIZE];
  hvi_say(t->talk, "%9zu %7zu %10s %9s %10s %10s", r->outer, r->inner, cell(a, r->loss, 4),
          cell(b, r->ratio, 3), cell(c, r->residual, 4), cell(d, r->dist2, 4));
  if (t->talk->verbose) {
    hvi_say(t->talk, " %10s %9s %9zu %9zu %9zu", cell(a, r->loss0, 4), cell(b, r->alpha, 3),
            r->counts.f_evals, r->counts.model_passes, r->counts.grad_evals);
  }
  hvi_say(t->talk, " %9.4f\n", r->seconds);
}

static void show(hvi_screen *t, const hvi_record *row) {
  hvi_progress_clear(&t->bar);
  if (!t->started) print_head(t);
  t->started = true;
  print_row(t, row);
  t->last = row->outer;
}

void hvi_screen_row(hvi_screen *t, const hvi_record *row) {
  if (t->talk->quiet) return;
  /* the clock is not worth a look at every iteration */
  if (row->outer % 64 == 0) hvi_progress_update(&t->bar, row->outer);
  if (row->outer < t->next) return;
  show(t, row);
  t->next = next_shown(row->outer, t->every, t->factor);
}

void hvi_screen_end(hvi_screen *t, const hvi_record *last) {
  hvi_progress_clear(&t->bar);
  if (!t->talk->quiet && (!t->started || last->outer != t->last)) show(t, last);
}

static hvi_tone outcome_tone(const hvi_solved *r) {
  if (r->code == HVI_EXIT_DONE) return HVI_GOOD;
  return r->code == HVI_EXIT_DIVERGED ? HVI_BAD : HVI_WARN;
}

/* What happened, without what to do about it; "" for a good end. */
static void complaint(const hvi_solve *s, const hvi_solved *r, char *text, size_t size) {
  char now[HVI_NUMBER_SIZE], first[HVI_NUMBER_SIZE], dist[HVI_NUMBER_SIZE];
  const hvi_info *i = &r->info;
  const double residual = r->judge.residual, start = r->first_residual;
  word(now, residual);
  word(first, start);
  text[0] = '\0';
  if (i->outcome == HVI_DIVERGED || !r->judge.finite) {
    snprintf(text, size, "diverged at outer step %zu: %s.", i->last.outer, i->reason);
  } else if (i->outcome == HVI_STALLED) {
    snprintf(text, size, "stalled at dist2 %s: the outputs no longer move, and the residual is %s.",
             word(dist, r->judge.dist2), now);
  } else if (judge_disagrees(s, r)) {
    snprintf(text, size, "not converged: the judge finds a residual of %s.", now);
  } else if (i->outcome == HVI_LIMIT && s->setup.settings.tol > 0) {
    snprintf(text, size, "not converged: the residual is %s after %zu outer steps.", now,
             i->last.outer);
  } else if (i->outcome == HVI_LIMIT && residual > 0.1 * start) {
    snprintf(text, size, "little progress: the residual is %s, and was %s at the start.", now,
             first);
  }
}

/* In plain words, what is wrong with the result and where to look; "" when nothing is. */
static void advise(const hvi_solve *s, const hvi_solved *r, char *text, size_t size) {
  char what[256], number[HVI_NUMBER_SIZE], inner[32] = "";
  const hvi_settings *o = &s->setup.settings;
  complaint(s, r, what, sizeof what);
  if (o->inner_steps > 1) snprintf(inner, sizeof inner, " --inner %zu", o->inner_steps);
  if (!*what)
    text[0] = '\0';
  else
    snprintf(text, size, "%s 'hvi inspect %s --method %s --eta %s%s' tells why.", what,
             s->setup.name, s->setup.method, hvi_number_format(number, r->info.eta), inner);
}

void hvi_solve_footer(const hvi_solve *s, const hvi_solved *r) {
  const hvi_info *i = &r->info;
  char a[HVI_NUMBER_SIZE], b[HVI_NUMBER_SIZE], c[HVI_NUMBER_SIZE], text[1024];
  hvi_say(&s->talk, "status    %s%s%s (%s) after %zu outer and %zu inner steps, %.3g s\n",
          hvi_tone_code(&s->talk, outcome_tone(r)), hvi_outcome_name(i->outcome),
          hvi_tone_code(&s->talk, HVI_PLAIN), i->reason, i->last.outer, i->inner_total,
          i->last.seconds);
  hvi_say(&s->talk, "cost      %zu evaluations of F, %zu model passes, %zu gradients\n",
          i->last.counts.f_evals, i->last.counts.model_passes, i->last.counts.grad_evals);
  hvi_say(&s->talk, "judge     residual %s, dist2 %s, gap %s\n", word(a, r->judge.residual),
          word(b, r->judge.dist2), word(c, r->judge.gap));
  if (s->talk.verbose && isfinite(i->best_residual)) {
    hvi_say(&s->talk, "best      residual %s, dist2 %s, at outer step %zu\n",
            word(a, i->best_residual), word(b, i->best_dist2), i->best_outer);
  }
  advise(s, r, text, sizeof text);
  if (*text) {
    hvi_say(&s->talk, "%s%s%s\n", hvi_tone_code(&s->talk, outcome_tone(r)), text,
            hvi_tone_code(&s->talk, HVI_PLAIN));
  }
}

static void print_numbers(const char *name, const double *x, size_t n) {
  char number[HVI_NUMBER_SIZE];
  printf("%-10s", name);
  for (size_t i = 0; i < n && i < SHOWN; i++)
    printf("%s%s", i > 0 ? " " : "", hvi_number_short(number, x[i], DIGITS));
  if (n > SHOWN) printf(" ... (%zu in all)", n);
  putchar('\n');
}

static void print_number(const char *name, double x) {
  char number[HVI_NUMBER_SIZE];
  printf("%-10s%s\n", name, isnan(x) ? "not known" : hvi_number_short(number, x, DIGITS));
}

void hvi_solve_summary(const hvi_solve *s, const hvi_solved *r) {
  const hvi_model *m = s->setup.problem->model;
  printf("%-10s%s\n%-10s%s\n", "problem", s->setup.name, "method", s->setup.method);
  printf("%-10s%s (%s)\n", "status", hvi_outcome_name(r->info.outcome), r->info.reason);
  printf("%-10s%zu\n", "outer", r->info.last.outer);
  print_number("residual", r->judge.residual);
  print_number("dist2", r->judge.dist2);
  print_number("gap", r->judge.gap);
  print_numbers("theta", r->info.last.theta, m->dim);
  print_numbers("z", r->info.last.z, m->out);
}

void hvi_solve_json(const hvi_solve *s, const hvi_solved *r) {
  const hvi_model *m = s->setup.problem->model;
  const hvi_info *i = &r->info;
  const hvi_counts *c = &i->last.counts;
  char advice[1024];
  hvi_json j = hvi_json_begin();
  advise(s, r, advice, sizeof advice);
  hvi_json_text(&j, "problem", s->setup.name);
  hvi_json_object(&j, "dimensions", V("parameters", m->dim), V("outputs", m->out),
                  V("players", m->block_count));
  hvi_json_put(&j, V("method", s->setup.method), V("status", hvi_outcome_name(i->outcome)),
               V("reason", i->reason), V("advice", *advice ? advice : NULL),
               V("outer", i->last.outer), V("inner", i->inner_total), V("dist2", r->judge.dist2),
               V("residual", r->judge.residual), V("gap", r->judge.gap),
               V("alpha_worst", i->alpha_worst));
  hvi_json_numbers(&j, "theta", i->last.theta, m->dim);
  hvi_json_numbers(&j, "z", i->last.z, m->out);
  hvi_json_open(&j, "best", '{');
  hvi_json_put(&j, V("outer", i->best_outer), V("residual", i->best_residual),
               V("dist2", i->best_dist2));
  hvi_json_numbers(&j, "theta", i->best_theta, m->dim);
  hvi_json_numbers(&j, "z", i->best_z, m->out);
  hvi_json_close(&j, '}');
  hvi_json_open(&j, "settings", '{');
  hvi_setup_json(&j, &s->setup, i->eta);
  hvi_json_close(&j, '}');
  hvi_json_object(&j, "counts", V("f_evals", c->f_evals), V("model_passes", c->model_passes),
                  V("grad_evals", c->grad_evals), V("env_steps", c->env_steps));
  hvi_json_number(&j, "seconds", i->last.seconds);
  hvi_json_close(&j, '}');
}
