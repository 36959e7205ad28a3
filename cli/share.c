#include "share.h"

#include "base/base.h"
#include "io/kept.h"
#include "rollout.h"

#include <limits.h>

hvi_share hvi_shared;

static const char KIND[] = "part of a run";

/* This run, as a part. */
static struct {
  int argc;
  char **argv; /* a copy, from "hvi" on */
  const char *asked;
  char *path;              /* of the file `part` */
  char name[NAME_MAX + 1]; /* of the run's file; "": it is a folder */
} own;

/* Ranks */

static hvi_status join(int argc, char **argv, hvi_error *err) {
  HVI_OWN_BY(hvi_text_free) hvi_text command = {0};
  for (int i = 1; i < argc; i++) hvi_text_word(&command, argv[i]);
  if (command.failed) return hvi_error_memory(err, "a command");
  return hvi_ranks_open(&hvi_shared.ranks, command.data ? command.data : "", err);
}

int hvi_share_open(int argc, char **argv) {
  static const char *const shared[] = {"reproduce", "solve", "testset", "data"};
  bool ours = false;
  own.argc = argc;
  own.argv = hvi_alloc((size_t)argc + 1, sizeof *own.argv);
  if (!own.argv) return hvi_complain(HVI_EXIT_SYSTEM, "out of memory for the command line");
  memcpy(own.argv, argv, (size_t)argc * sizeof *argv);
  for (size_t i = 0; i < 4; i++) ours = ours || (argc > 1 && strcmp(argv[1], shared[i]) == 0);
  if (!ours || hvi_ranks_expected() == 0) return HVI_EXIT_DONE;
  const hvi_status status = join(argc, argv, &hvi_fault);
  if (status == HVI_ERROR_UNSUPPORTED && hvi_ranks_expected() == 1) return HVI_EXIT_DONE;
  hvi_talk.follows = hvi_ranks_follows(hvi_shared.ranks);
  if (hvi_talk.follows) freopen("/dev/null", "w", stdout);
  return status ? hvi_complain_fault() : HVI_EXIT_DONE;
}

/* After an error the first rank leaves at once, and the launcher ends the others. One of them tells it
 * first. */
int hvi_share_close(int code) {
  hvi_ranks *r = hvi_shared.ranks;
  const bool failed = code > HVI_EXIT_SHORT && code != HVI_EXIT_DIVERGED;
  if (!r || !r->joined || (failed && !hvi_talk.follows)) return code;
  if (!failed) hvi_fault = (hvi_error){HVI_OK, ""};
  if (failed && !hvi_fault.status) hvi_fault.status = HVI_ERROR_IO;
  const hvi_error own_end = hvi_fault;
  return hvi_ranks_close(r, &own_end, &hvi_fault) ? hvi_complain_fault() : code;
}

int hvi_share_refuse(const char *what) {
  if (!hvi_shared.ranks || hvi_shared.ranks->count == 1) return HVI_EXIT_DONE;
  return hvi_misuse("%s is for one process, and mpirun has started %zu", what,
                    hvi_shared.ranks->count);
}

/* Parts */

void hvi_text_word(hvi_text *t, const char *word) {
  const bool plain = *word && strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                           "0123456789_-+=.,/:%@") == strlen(word);
  hvi_text_add(t, plain ? " " : " '");
  for (const char *c = word; *c; c++)
    if (*c == '\'')
      hvi_text_add(t, "'\\''");
    else
      hvi_text_pad(t, *c, 1);
  hvi_text_add(t, plain ? "" : "'");
}

void hvi_args_part(hvi_args *args) {
  hvi_args_add(args, {"part", 0, HVI_SETTING_TEXT, &own.asked, .value = "K/N",
                      .help = "compute every N-th unit, from the K-th on, into a folder\n"
                              "NAME.part-K-of-N; 'hvi merge' puts N of them together"});
}

void hvi_part_line(char *line) { hvi_kept_head(line, &(hvi_kept){.kind = KIND}); }

/* Words of the command line that have no say in the whole. */
static bool is_dropped(char **argv, int i) {
  const char *w = argv[i];
  return strcmp(w, "--part") == 0 || strcmp(argv[i - 1], "--part") == 0 ||
         strncmp(w, "--part=", 7) == 0 || strcmp(w, "--resume") == 0 || strcmp(w, "--fresh") == 0;
}

/* Words are divided by line feeds, so that none may have one. */
static hvi_status write_part(const char *settings, bool finished, hvi_error *err) {
  char which[48], words[HVI_PART_TEXT] = "";
  hvi_tensor_note notes[] = {{"part", which},
                             {"finished", finished ? "yes" : "no"},
                             {"command", words},
                             {"name", own.name}};
  snprintf(which, sizeof which, "%zu/%zu", hvi_shared.part + 1, hvi_shared.parts);
  for (int i = 1; i < own.argc; i++) {
    if (strchr(own.argv[i], '\n') || strlen(words) + strlen(own.argv[i]) + 2 > sizeof words)
      return hvi_error_argument(err, "--part: the command is too long, or has a line feed");
    if (!is_dropped(own.argv, i)) hvi_append(words, sizeof words, "%s\n", own.argv[i]);
  }
  hvi_kept head = {.kind = KIND, .about = settings, .device = hvi_shared.device};
  return hvi_kept_write(&head, own.path,
                        &(hvi_tensors){.note_count = *own.name ? 4 : 3, .notes = notes}, err);
}

int hvi_share_begin(const char **out, char **made, bool file, bool begins) {
  char rest;
  if (!own.asked) return HVI_EXIT_DONE;
  if (sscanf(own.asked, "%zu/%zu%c", &hvi_shared.part, &hvi_shared.parts, &rest) != 2 ||
      strspn(own.asked, "0123456789/") != strlen(own.asked) || hvi_shared.part < 1 ||
      hvi_shared.part > hvi_shared.parts || hvi_shared.parts > 1000)
    return hvi_misuse("--part %s: should be K/N with 1 <= K <= N <= 1000, such as 2/8", own.asked);
  hvi_shared.part--;
  HVI_OWN char *folder =
      hvi_join_texts(*out, hvi_format(".part-%zu-of-%zu", hvi_shared.part + 1, hvi_shared.parts));
  *made = folder ? hvi_path_join(folder, file ? hvi_base_name(*out) : "", "") : NULL;
  own.path = folder ? hvi_path_join(folder, "part", "") : NULL;
  if (!*made || !own.path) return hvi_complain(HVI_EXIT_SYSTEM, "out of memory for a path");
  if (file) snprintf(own.name, sizeof own.name, "%s", hvi_base_name(*made));
  *out = *made;
  if (hvi_talk.follows) return HVI_EXIT_DONE;
  HVI_CALL(hvi_folder_make(folder, &hvi_fault));
  if (begins || access(own.path, F_OK) != 0) HVI_CALL(write_part("", false, &hvi_fault));
  return HVI_EXIT_DONE;
}

int hvi_share_end(const char *settings) {
  if (!hvi_shared.parts || hvi_talk.follows) return HVI_EXIT_DONE;
  HVI_CALL(write_part(settings, true, &hvi_fault));
  hvi_say("part %zu of %zu is finished: %.*s\n", hvi_shared.part + 1, hvi_shared.parts,
          (int)(strlen(own.path) - strlen("/part")), own.path);
  return HVI_EXIT_DONE;
}

hvi_status hvi_part_read(hvi_part_file *p, const char *folder, hvi_error *err) {
  HVI_OWN char *path = hvi_path_join(folder, "part", "");
  if (!path) return hvi_error_memory(err, "a path");
  *p = (hvi_part_file){.folder = folder};
  if (access(path, F_OK) != 0)
    return hvi_error_input(err, "'%s' is no part of a run: it has no file 'part'", folder);
  HVI_TRY(hvi_file_plain(path, err));
  HVI_TRY(hvi_tensors_read(&p->file, path, 0, err));
  const hvi_tensors *t = p->file;
  const char *which = hvi_tensors_note(t, "part"), *end = hvi_tensors_note(t, "finished"),
             *command = hvi_tensors_note(t, "command");
  p->line = hvi_tensors_note(t, "hvi.kept");
  p->settings = hvi_tensors_note(t, "about");
  p->name = hvi_tensors_note(t, "name");
  p->finished = end && strcmp(end, "yes") == 0;
  snprintf(p->text, sizeof p->text, "%s", command ? command : "");
  for (char *w = strtok(p->text, "\n"); w && p->word_count < HVI_PART_WORDS; w = strtok(NULL, "\n"))
    p->words[p->word_count++] = w;
  if (((hvi_tensors_owner *)t->owned)->checked && p->line && p->settings && p->word_count &&
      strncmp(p->line, KIND, strlen(KIND)) == 0 && which &&
      sscanf(which, "%zu/%zu", &p->part, &p->parts) == 2 && p->part >= 1 && p->part <= p->parts)
    return HVI_OK;
  return hvi_error_input(err, "'%s' is damaged, or no part of a run", path);
}
