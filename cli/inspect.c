/* hvi inspect: what theory says about a problem and a method, and what a short run does. */
#include "inspect.h"

#include "base/file.h"
#include "commands.h"
#include "exit_codes.h"

static const char summary[] =
    "Prints mu and L of PROBLEM, the step sizes and inner accuracies that the convergence theorem\n"
    "allows, the rate it predicts beside the one observed in a short run, and a verdict: safe,\n"
    "unsafe or not covered, with the setting to change. Options are those of 'hvi solve'.";

static const char examples[] = "  hvi inspect pennies --method gd --inner 10 --eta 0.1\n"
                               "  hvi inspect pennies --method lm --eta theorem --alpha 0.09 "
                               "--inner 50\n"
                               "  hvi inspect rps --method phgd --eta best --steps 500 --json\n"
                               "  hvi inspect my-game.yaml --plot out";

static void add_options(hvi_inspect *s, hvi_args *args) {
  /* clang-format off */
  hvi_args_add(args, (hvi_arg[]){
      {.name = "inspection"},
      {"steps", 0, HVI_ARG_SIZE, &s->steps, .range = "[1,1e8]", .help = "outer steps of the run (1000, or --iters)"},
      {"json", 0, HVI_ARG_FLAG, &s->json, .help = "the result as one JSON object"},
      {"plot", 0, HVI_ARG_TEXT, &s->plot, .value = "FOLDER", .help = "a picture of the rates over eta: inspect.png there"},
      {0}});
  /* clang-format on */
}

static int inspect(const hvi_inspect *s) {
  hvi_error err;
  hvi_inspection i;
  /* before anything is printed */
  if (s->plot && hvi_folder_make(s->plot, &err) != HVI_OK) return hvi_complain_error(&err);
  if (hvi_theory_inspect(&i, s->setup.problem, &s->setup.settings, s->steps, &err) != HVI_OK) {
    return hvi_complain_error(&err);
  }
  if (s->json)
    hvi_inspect_json(s, &i);
  else
    hvi_inspect_table(s, &i);
  if (s->plot && hvi_inspect_plot(s, &i, &err) != HVI_OK) return hvi_complain_error(&err);
  return HVI_EXIT_DONE;
}

int hvi_cli_inspect(int argc, char **argv) {
  hvi_inspect s = {.setup = hvi_setup_new(), .talk = hvi_talk_new(), .steps = 1000};
  hvi_args args = {.command = argv[0],
                   .usage = "PROBLEM [OPTION]...",
                   .summary = summary,
                   .examples = examples,
                   .min = 1,
                   .max = 1,
                   .operand = "problem"};
  int code;
  hvi_setup_options(&s.setup, &args);
  add_options(&s, &args);
  hvi_talk_options(&s.talk, &args);
  if (!hvi_args_parse(&args, argc, argv, &code)) return code;
  code = hvi_setup_make(&s.setup, &args);
  if (code == HVI_EXIT_DONE) {
    const size_t iters = s.setup.settings.max_outer;
    if (hvi_args_given(&args, "iters") && !hvi_args_given(&args, "steps") && iters > 0) {
      s.steps = iters;
    }
    code = inspect(&s);
  }
  hvi_setup_free(&s.setup);
  return code;
}
