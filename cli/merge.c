/*
 * hvi merge: parts of a run become the whole.
 *
 * The command that made the parts is run again, with their journals taken over: all units are there,
 * and it does what comes after them. So merging knows nothing of what is merged, and the whole is of
 * the parts' level wherever it is made.
 */
#include "base/base.h"
#include "commands.h"
#include "io/kept.h"
#include "rollout.h"
#include "share.h"

enum { MOST = 1000, TOLD = 20 };

typedef struct merge {
  size_t count;
  hvi_part_file *parts; /* [count] */
  const char **folders; /* [count] */
  bool accept_other_bits;
  size_t complaints;
} merge;

static void free_merge(merge *m) {
  for (size_t i = 0; m->parts && i < m->count; i++) hvi_tensors_free(m->parts[i].file);
  hvi_free(m->parts);
  hvi_free(m->folders);
}

/* "hvi reproduce pennies --part 2/3 --resume"; hvi_free it. */
static char *command_of(const hvi_part_file *p, const char *more) {
  hvi_text t = {0};
  hvi_text_add(&t, "hvi");
  for (size_t i = 0; i < p->word_count; i++) hvi_text_word(&t, p->words[i]);
  hvi_text_add(&t, "%s", more);
  return hvi_text_take(&t);
}

/* A line for each thing that is wrong, up to a limit. */
static void tell(merge *m, const char *text) {
  if (m->complaints++ < TOLD) hvi_complain(HVI_EXIT_INPUT, "%s", text);
}

static void check_alike(merge *m) {
  char line[HVI_KEPT_HEAD];
  const hvi_part_file *first = m->parts;
  hvi_part_line(line);
  const size_t version = (size_t)(strrchr(line, ';') - line); /* where it ends */
  for (size_t i = 0; i < m->count; i++) {
    const hvi_part_file *p = &m->parts[i];
    HVI_OWN char *command = command_of(p, ""), *other = command_of(first, "");
    const bool finished = p->finished && first->finished;
    if (strncmp(p->line, line, version + 1) != 0)
      tell(m, hvi_format("'%s' is a %s, and this is '%s'", p->folder, p->line,
                         line + strcspn(line, ";") + 2));
    else if (p->parts != first->parts)
      tell(m, hvi_format("'%s' is one of %zu parts, and '%s' one of %zu", p->folder, p->parts,
                         first->folder, first->parts));
    else if (finished && !m->accept_other_bits && strcmp(p->line, first->line) != 0)
      tell(m, hvi_format("'%s' is a %s, and '%s' a %s: --accept-other-bits mixes them", p->folder,
                         p->line, first->folder, first->line));
    else if (finished && strcmp(p->settings, first->settings) != 0)
      tell(m, hvi_format("'%s' was made with other settings (%s) than '%s' (%s)", p->folder,
                         command, first->folder, other));
  }
}

/* Each part once, and finished. */
static void check_complete(merge *m) {
  for (size_t k = 1; k <= m->parts->parts; k++) {
    const hvi_part_file *found = NULL;
    for (const hvi_part_file *p = m->parts; p < m->parts + m->count; p++) {
      if (p->part != k) continue;
      if (found)
        tell(m, hvi_format("'%s' and '%s' are the same part, %zu of %zu", found->folder, p->folder,
                           k, p->parts));
      found = p;
    }
    if (found && found->finished) continue;
    HVI_OWN char *command =
        command_of(found ? found : m->parts,
                   hvi_format(" --part %zu/%zu%s", k, m->parts->parts, found ? " --resume" : ""));
    tell(m, hvi_format("part %zu of %zu is %s: %s", k, m->parts->parts,
                       found ? "not finished" : "missing", command ? command : ""));
  }
}

static int read_parts(merge *m, const hvi_args *args) {
  m->count = args->operand_count;
  m->parts = hvi_alloc(m->count, sizeof *m->parts);
  m->folders = hvi_alloc(m->count, sizeof *m->folders);
  if (!m->parts || !m->folders)
    return hvi_complain(HVI_EXIT_SYSTEM, "out of memory for the list of parts");
  for (size_t i = 0; i < m->count; i++) {
    HVI_CALL(hvi_part_read(&m->parts[i], args->operands[i], &hvi_fault));
    m->folders[i] = args->operands[i];
  }
  check_alike(m);
  if (!m->complaints) check_complete(m);
  if (m->complaints > TOLD)
    hvi_complain(HVI_EXIT_INPUT, "and %zu more like that", m->complaints - TOLD);
  return m->complaints ? HVI_EXIT_INPUT : HVI_EXIT_DONE;
}

int hvi_cli_merge(int argc, char **argv) {
  const char *out = NULL;
  hvi_args args = {argv[0],     "DIR... [OPTION]...",       .min = 1,
                   .max = MOST, .operand = "part's folder", .also = "force quiet verbose"};
  HVI_OWN_BY(free_merge) merge m = {0};
  hvi_args_add(&args,
      {"out", 'o', HVI_SETTING_TEXT, &out, .value = "NAME", .help = "where the whole goes (as the command of the parts says)"},
      {"accept-other-bits", 0, HVI_SETTING_FLAG, &m.accept_other_bits, .help = "put parts of several levels of instructions together"});
  HVI_STEP(hvi_args_parse(&args, argc, argv));
  HVI_STEP(read_parts(&m, &args));
  hvi_part_file *first = m.parts;
  char *words[HVI_PART_WORDS + 4];
  char name[] = "--out", kept[] = "--checkpoint", accept[] = "--accept-other-bits";
  size_t count = first->word_count;
  memcpy(words, first->words, count * sizeof *words);
  if (out) words[count++] = strcmp(words[0], "solve") == 0 ? kept : name;
  if (out) words[count++] = (char *)out;
  if (m.accept_other_bits) words[count++] = accept;
  words[count] = NULL;
  hvi_shared.from = m.folders;
  hvi_shared.from_count = m.count;
  hvi_shared.name = first->name ? hvi_base_name(first->name) : NULL;
  const hvi_verb *c = hvi_verb_find(hvi_commands, words[0]);
  return c ? c->run((int)count, words) : hvi_command_unknown(words[0]);
}
