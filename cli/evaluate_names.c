/* The files that an evaluation writes: names that begin alike, none of which it also reads. */
#include "base/memory.h"
#include "evaluate_parts.h"
#include "report/text.h"
#include "rollout.h"

#include <string.h>
#include <sys/stat.h>

/* NAME, and the names that begin with it. */
static int make_names(hvi_evaluate *e) {
  hvi_text stem = {0};
  if (e->out) {
    const size_t length = strlen(e->out), tail = strlen(".safetensors");
    const bool ends = length > tail && strcmp(e->out + length - tail, ".safetensors") == 0;
    hvi_text_add(&stem, "%.*s", (int)(ends ? length - tail : length), e->out);
  } else if (e->env_name) {
    hvi_text_add(&stem, "%s-value", e->env_name);
  } else {
    const char *name = hvi_rollout_base_name(e->data_path);
    hvi_text_add(&stem, "%.*s-value", (int)strcspn(name, "."), name);
  }
  e->stem = hvi_text_take(&stem);
  if (e->stem) {
    e->network = hvi_join_texts(e->stem, ".safetensors");
    e->trace = hvi_join_texts(e->stem, ".csv");
    e->checkpoint = hvi_join_texts(e->stem, ".checkpoint");
  }
  const bool keeps = e->stem && e->env_name && !e->testset_path && e->test_states > 0;
  if (keeps) e->kept = hvi_join_texts(e->stem, "-testset.safetensors");
  if (e->network && e->trace && e->checkpoint && (e->kept || !keeps)) return HVI_EXIT_DONE;
  return hvi_complain(HVI_EXIT_SYSTEM, "no memory for file names");
}

static bool same_file(const char *a, const char *b) {
  struct stat x, y;
  if (strcmp(a, b) == 0) return true;
  return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* A network written over the policy that it judges would be a loss. */
static int check_inputs(const hvi_evaluate *e) {
  const char *const read[] = {e->policy_path, e->data_path, e->testset_path};
  const char *const written[] = {e->network, e->trace, e->checkpoint, e->kept};
  for (size_t i = 0; i < sizeof read / sizeof *read; i++) {
    for (size_t k = 0; read[i] && k < sizeof written / sizeof *written; k++) {
      if (!written[k] || !same_file(read[i], written[k])) continue;
      return hvi_complain(HVI_EXIT_USAGE, "'%s' would be overwritten: --out takes another name",
                          read[i]);
    }
  }
  return HVI_EXIT_DONE;
}

int hvi_evaluate_names(hvi_evaluate *e) {
  const int code = make_names(e);
  return code == HVI_EXIT_DONE ? check_inputs(e) : code;
}
