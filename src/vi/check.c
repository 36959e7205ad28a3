#include <hvi/check.h>

#include "base/base.h"
#include "vi/sets.h"

/* clang-format off */
#define AT(member) .offset = offsetof(hvi_check_settings, member)
static const hvi_setting rows[] = {
    {"points", HVI_SETTING_COUNT, AT(points), .range = "[1,1e6]", .fallback = "20",
     .help = "random points and directions of each test"},
    {"spread", HVI_SETTING_REAL, AT(spread), .range = "(0,inf)", .fallback = "1",
     .help = "how far they lie from the start, in each parameter"},
    {"tolerance", HVI_SETTING_REAL, AT(tolerance), .range = "(0,1)", .fallback = "1e-6",
     .help = "largest relative error of derivatives"},
    {"seed", HVI_SETTING_SEED, AT(seed), .fallback = "1", .help = "of the points"},
    {0},
};
#undef AT
/* clang-format on */

static const hvi_setting_table table = {"check", sizeof(hvi_check_settings), rows};

const hvi_setting_table *hvi_check_table(void) { return &table; }

hvi_check_settings hvi_check_defaults(void) {
  hvi_check_settings s = {0};
  hvi_setting_defaults(&table, &s);
  return s;
}

const char *hvi_check_verdict_name(hvi_check_verdict v) {
  static const char *const names[] = {"skipped", "passed", "warning", "failed"};
  return (unsigned)v < sizeof names / sizeof *names ? names[v] : "unknown";
}

hvi_status hvi_problem_check(hvi_check *report, const hvi_problem *p, const hvi_check_settings *s,
                             hvi_error *err) {
  (void)s;
  if (report) *report = (hvi_check){0};
  return hvi_problem_structure(p, err);
}
