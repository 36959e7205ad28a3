/* The problem's half of a setup: built-in or file, its options, and where to start. */
#include "base/memory.h"
#include "base/number.h"
#include "exit_codes.h"
#include "io/npy.h"
#include "setup.h"
#include "talk.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

static bool is_builtin(const char *name) {
  for (const hvi_builtin *b = hvi_builtin_list(); b->name; b++) {
    if (strcmp(b->name, name) == 0) return true;
  }
  return false;
}

static bool ends_in(const char *text, const char *ending) {
  size_t n = strlen(text), m = strlen(ending);
  return n >= m && strcmp(text + n - m, ending) == 0;
}

static bool names_file(const char *name) {
  return strchr(name, '/') || ends_in(name, ".yaml") || ends_in(name, ".yml") ||
         access(name, F_OK) == 0;
}

/* Cuts "key=value" in two. The keys are copies; the values stay where they are. */
static int cut_options(hvi_setup *s) {
  s->options = hvi_alloc(s->set.count + 1, sizeof *s->options + HVI_KEY_SIZE);
  if (!s->options) return hvi_complain(HVI_EXIT_SYSTEM, "out of memory");
  char *keys = (char *)(s->options + s->set.count + 1);
  for (size_t i = 0; i < s->set.count; i++, keys += HVI_KEY_SIZE) {
    const char *text = s->set.items[i], *equals = strchr(text, '=');
    if (!equals || equals == text || equals - text >= HVI_KEY_SIZE) {
      return hvi_complain(HVI_EXIT_USAGE, "--set takes KEY=VALUE, not '%s'", text);
    }
    memcpy(keys, text, (size_t)(equals - text));
    s->options[i] = (hvi_option){keys, equals + 1};
  }
  return HVI_EXIT_DONE;
}

hvi_status hvi_setup_instance(const hvi_setup *s, uint64_t instance, hvi_problem **problem,
                              hvi_error *err) {
  return hvi_builtin_new(problem, s->name, s->options, s->set.count, s->seed, instance, err);
}

static int make_problem(hvi_setup *s, const hvi_args *args) {
  hvi_error err = {.status = HVI_OK};
  hvi_status status;
  s->builtin = is_builtin(s->name) || !names_file(s->name);
  if (!s->builtin && (s->set.count > 0 || hvi_args_given(args, "instance"))) {
    return hvi_complain(HVI_EXIT_USAGE,
                        "--set and --instance are for built-in problems, and '%s' "
                        "is a file",
                        s->name);
  }
  if (s->builtin)
    status = hvi_setup_instance(s, s->instance, &s->problem, &err);
  else
    status = hvi_problem_load(&s->problem, s->name, s->seed, 0, &err);
  return status == HVI_OK ? HVI_EXIT_DONE : hvi_complain_error(&err);
}

static int check_theta0(const hvi_setup *s, const double *theta0, size_t count) {
  size_t dim = s->problem->model->dim;
  if (count != dim) {
    return hvi_complain(HVI_EXIT_INPUT, "--theta0 '%s' has %zu numbers, and %s has %zu parameters",
                        s->theta0_text, count, s->name, dim);
  }
  for (size_t i = 0; i < count; i++) {
    if (!isfinite(theta0[i])) {
      return hvi_complain(HVI_EXIT_INPUT, "--theta0 '%s': number %zu of %zu is not finite",
                          s->theta0_text, i + 1, count);
    }
  }
  return HVI_EXIT_DONE;
}

static int read_theta0(hvi_setup *s) {
  hvi_array array;
  hvi_error err;
  size_t count;
  if (!s->theta0_text) return HVI_EXIT_DONE;
  s->theta0 = hvi_parse_reals(&count, s->theta0_text);
  if (!s->theta0) {
    if (!ends_in(s->theta0_text, ".npy") && access(s->theta0_text, F_OK) != 0) {
      return hvi_complain(HVI_EXIT_USAGE,
                          "--theta0 '%s' is neither numbers such as 1.25,2.25 nor a .npy file",
                          s->theta0_text);
    }
    if (hvi_npy_read(&array, s->theta0_text, 0, &err) != HVI_OK) return hvi_complain_error(&err);
    s->theta0 = array.data;
    count = array.size;
  }
  s->settings.theta0 = s->theta0;
  return check_theta0(s, s->theta0, count);
}

int hvi_setup_problem(hvi_setup *s, const hvi_args *args) {
  s->name = args->operands[0];
  int code = cut_options(s);
  if (code == HVI_EXIT_DONE) code = make_problem(s, args);
  if (code == HVI_EXIT_DONE) code = read_theta0(s);
  return code;
}
