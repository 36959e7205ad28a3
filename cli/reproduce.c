/* hvi reproduce: the figures and claims of the paper, or a comparison of one's own. */
#include "base/base.h"
#include "commands.h"
#include "device.h"
#include "share.h"
#include "study/stream.h"
#include "study/study.h"

enum { MOST = 64, PARTS = 1000 };

typedef struct job {
  hvi_study_settings settings;
  hvi_device_options device;
  hvi_made made;
  bool tune;          /* rates instead of results */
  bool code;          /* files may name code */
  char *folder;       /* of a part */
  hvi_text made_with; /* settings of what is finished of it */
  size_t count, finished;
  hvi_study *experiments[MOST];
  hvi_claims claims[MOST]; /* [finished] */
} job;

static bool show_progress(void *context, const char *id, const char *doing, double share) {
  (void)context;
  hvi_progress_title(hvi_format("%s: %s", id, doing));
  return hvi_progress_count(NULL, (size_t)(share * PARTS), PARTS);
}

static void show_message(void *context, const char *line) {
  (void)context;
  hvi_progress_clear();
  hvi_say("hvi: %s\n", line);
}

/* Everything is read before anything is run. */
static int load(job *j, const hvi_args *args) {
  const char *const *ids = hvi_study_ids();
  size_t count = args->operand_count;
  if (count == 0)
    while (ids[count]) count++;
  for (size_t i = 0; i < count; i++) {
    const char *name = args->operand_count ? args->operands[i] : ids[i];
    hvi_study **e = &j->experiments[j->count];
    if (hvi_study_open(e, name, j->code ? hvi_code_load : NULL, &hvi_fault))
      return hvi_signals_interrupted() ? HVI_EXIT_INTERRUPTED : hvi_complain_fault();
    const char *id = j->experiments[j->count++]->id;
    for (size_t k = 0; k + 1 < j->count; k++)
      if (strcmp(j->experiments[k]->id, id) == 0)
        return hvi_misuse("experiment '%s' is given twice; an id names a folder", id);
  }
  return HVI_EXIT_DONE;
}

static int run_one(job *j, hvi_study *e) {
  bool stopped = false;
  HVI_OWN char *text = NULL;
  hvi_claims *claims = &j->claims[j->finished];
  hvi_progress_start(e->id, PARTS);
  const hvi_status status =
      hvi_progress_end(j->tune ? hvi_study_tune(&text, &stopped, e, &j->settings, &hvi_fault)
                               : hvi_study_run(claims, &stopped, e, &j->settings, &hvi_fault));
  HVI_CALL(hvi_device_lost(&j->settings.device, status));
  if (text) fputs(text, stdout);
  if (stopped) return HVI_EXIT_INTERRUPTED;
  if (j->tune) return HVI_EXIT_DONE;
  hvi_text_add(&j->made_with, "%s%s %s", j->made_with.length ? "; " : "", e->id,
               claims->settings_hash);
  if (hvi_talk.follows || hvi_shared.parts) return HVI_EXIT_DONE;
  hvi_say("%s: %zu claims, %.1f s, in %s/%s\n", e->id, claims->count, claims->seconds,
          j->settings.out, e->id);
  j->finished++;
  const hvi_status page = hvi_study_page(j->settings.out, j->claims, j->finished, &hvi_fault);
  /* of a damaged result of before the last page tells: it may be replaced until then */
  if (page == HVI_ERROR_INPUT && e != j->experiments[j->count - 1]) return HVI_EXIT_DONE;
  return page ? hvi_complain_fault() : HVI_EXIT_DONE;
}

static int print_table(const job *j) {
  if (!j->finished) return HVI_EXIT_DONE;
  HVI_OWN char *table = hvi_claims_table(j->claims, j->finished, 0, hvi_talk.verbose);
  if (!table) return hvi_complain(HVI_EXIT_SYSTEM, "out of memory for the table of claims");
  fputs(table, stdout);
  hvi_say("The report: %s/index.html\n", j->settings.out);
  return HVI_EXIT_DONE;
}

/* A device is of use where networks learn. The report names it with the machine. */
static int open_device(job *j) {
  bool learns = false;
  if (hvi_shared.from_count) return HVI_EXIT_DONE; /* nothing is left to learn */
  for (size_t i = 0; i < j->count; i++) learns = learns || hvi_study_learns(j->experiments[i]);
  HVI_STEP(hvi_device_open(&j->settings.device, &j->device,
                           learns ? NULL : "no network learns in these experiments"));
  if (!j->settings.device) return HVI_EXIT_DONE;
  const hvi_device_about *about = hvi_gang_about(j->settings.device);
  hvi_shared.device = about->level;
  hvi_append(j->made.machine, sizeof j->made.machine, ", %s", about->name);
  return HVI_EXIT_DONE;
}

/* What is finished is kept and shown, however the run ends. */
static int run_all(job *j) {
  int code = HVI_EXIT_DONE;
  if (!hvi_talk.follows) {
    HVI_CALL(hvi_folder_make(j->settings.out, &hvi_fault));
    HVI_STEP(hvi_output_check_in(j->settings.out, "index.html", "<title>hvi reproduce<"));
  }
  for (size_t i = 0; i < j->count && !code; i++) code = run_one(j, j->experiments[i]);
  if (!code && !j->made_with.failed)
    code = hvi_share_end(j->made_with.data ? j->made_with.data : "");
  const int printed = print_table(j);
  if (code != HVI_EXIT_INTERRUPTED) return code ? code : printed;
  if (j->tune) return hvi_complain(code, "interrupted; --resume goes on from here");
  return hvi_complain(code, "interrupted after %zu of %zu experiments; --resume goes on from here",
                      j->finished, j->count);
}

static void free_job(job *j) {
  for (size_t i = 0; i < j->count; i++) hvi_study_free(j->experiments[i]);
  for (size_t i = 0; i < j->finished; i++) hvi_claims_clear(&j->claims[i]);
  hvi_stream_cache_free(j->settings.streams);
  hvi_gang_close(j->settings.device);
  hvi_free(j->folder);
  hvi_text_free(&j->made_with);
}

int hvi_cli_reproduce(int argc, char **argv) {
  bool quick = false;
  hvi_args args = {argv[0], "[ID|FILE]... [OPTION]...", .max = MOST,
                   .operand = "an experiment's ID or file", .also = "force quiet verbose"};
  HVI_OWN_BY(free_job)
  job j = {.settings = {.out = "out", .progress = show_progress, .message = show_message},
           .made = hvi_made_now(argc, argv)};
  hvi_study_settings *s = &j.settings;
  hvi_args_add(&args,
      {"quick", 0, HVI_SETTING_FLAG, &quick, .help = "seconds: the size that shows the point (default)"},
      {"full", 0, HVI_SETTING_FLAG, &s->full, .help = "the paper's size or beyond: minutes, for policy\nevaluation hours"},
      {"out", 'o', HVI_SETTING_TEXT, &s->out, .value = "DIR", .help = "where results go (out)"},
      {"resume", 0, HVI_SETTING_FLAG, &s->resume, .help = "keep what an earlier run with the same settings finished"},
      {"accept-other-bits", 0, HVI_SETTING_FLAG, &s->accept_other_bits, .help = "go on from what another level of instructions computed"},
      {"allow-code", 0, HVI_SETTING_FLAG, &j.code, .help = "run the code (.c, .so) that files name as their problem"},
      {"tune", 0, HVI_SETTING_FLAG, &j.tune,
       .help = "try the rates of the file's grids on seeds of their own, write\ntune.csv and tell the best (experiments of kind value)"});
  hvi_args_part(&args);
  hvi_args_device(&args, &j.device, NULL);
  hvi_args_jobs(&args, &s->threads);
  HVI_STEP(hvi_args_parse(&args, argc, argv));
  if (quick && s->full) return hvi_misuse("--quick and --full are one or the other");
  s->force = hvi_talk.force;
  s->made = &j.made;
  s->share = &hvi_shared;
  s->streams = hvi_stream_cache_new();
  if (hvi_shared.from_count) s->resume = false;
  HVI_STEP(load(&j, &args));
  if (j.tune && args.operand_count == 0)
    return hvi_misuse("--tune takes the experiments to tune by name");
  HVI_STEP(hvi_share_begin(&s->out, &j.folder, false, true));
  if (j.tune && hvi_shared.parts) return hvi_misuse("--tune and --part exclude each other");
  if (j.device.asked != HVI_ON_CPU) HVI_STEP(hvi_share_refuse("--device"));
  HVI_STEP(open_device(&j));
  if (s->full)
    hvi_say("hvi: the full size takes minutes, for policy evaluation hours; --resume goes on after "
            "any end\n");
  return run_all(&j);
}
