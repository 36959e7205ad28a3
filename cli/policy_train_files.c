/*
 * The files of a training run.
 *
 * The log grows row by row, and a row is on its way to the disk before the checkpoint of a later
 * step is. So a checkpoint never knows an episode that the log lacks, and a resumed run cuts off
 * what the log has beyond it: the two go on together.
 */
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "policy.h"
#include "report/plot.h"
#include "report/text.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char HEADER[] =
    "step,episode,return,length,mean_return_10,critic_loss,actor_loss,alpha,entropy,q_mean\n";
enum { MOST_LOG = 1 << 30 };

static bool ends_with(const char *text, const char *ending) {
  const size_t length = strlen(text), tail = strlen(ending);
  return length > tail && strcmp(text + length - tail, ending) == 0;
}

hvi_status hvi_training_paths(hvi_training *t, hvi_error *err) {
  hvi_text checkpoint = {0}, log = {0};
  const size_t length = strlen(t->out);
  const size_t stem = ends_with(t->out, ".safetensors") ? length - strlen(".safetensors") : length;
  hvi_text_add(&checkpoint, "%s.checkpoint", t->out);
  if (t->log) {
    hvi_text_add(&log, "%s", t->log);
  } else {
    hvi_text_add(&log, "%.*s.csv", (int)stem, t->out);
  }
  t->checkpoint = hvi_text_take(&checkpoint);
  t->log_path = hvi_text_take(&log);
  hvi_text_free(&checkpoint);
  hvi_text_free(&log);
  return t->checkpoint && t->log_path ? HVI_OK : hvi_error_memory(err, "file names");
}

/* Where the rows up to `step` end. A line that was cut short ends it too. */
static char *end_of_rows(char *text, size_t step) {
  char *at = text + strlen(HEADER);
  for (;;) {
    char *line_end = strchr(at, '\n'), *comma;
    if (!line_end) return at;
    const unsigned long long number = strtoull(at, &comma, 10);
    if (comma == at || *comma != ',' || number > step) return at;
    at = line_end + 1;
  }
}

/* What is in the log, or NULL when it is new, empty, or a pipe. A file that is no log is left
 * alone.
 */
static hvi_status read_log(char **text, const hvi_training *t, hvi_error *err) {
  struct stat st;
  *text = NULL;
  if (fstat(fileno(t->rows), &st) != 0) return hvi_error_system(err, "read", t->log_path);
  if (!S_ISREG(st.st_mode) || st.st_size == 0) return HVI_OK;
  const hvi_status status = hvi_file_read_text(text, t->log_path, MOST_LOG, err);
  if (status != HVI_OK || strncmp(*text, HEADER, strlen(HEADER)) == 0) return status;
  hvi_free(*text);
  *text = NULL;
  return hvi_error_set(err, HVI_ERROR_INPUT,
                       "'%s' is there and is no log of a training: --log takes another name",
                       t->log_path);
}

/* The rows of an earlier run, which this one does not go on with. */
static hvi_status keep_rows(const hvi_training *t, const char *text, hvi_error *err) {
  char *previous = hvi_file_previous(t->log_path);
  const hvi_status status =
      previous ? hvi_file_write_text(previous, text, err) : hvi_error_memory(err, "a file name");
  hvi_free(previous);
  return status;
}

hvi_status hvi_training_open_log(hvi_training *t, bool resumed, hvi_error *err) {
  size_t end = 0;
  int fd;
  char *text = NULL;
  t->logged = hvi_sac_state(t->sac).episodes;
  hvi_status status = hvi_file_open_locked(&fd, t->log_path, O_WRONLY | O_APPEND, err);
  if (status != HVI_OK) return status;
  t->rows = fdopen(fd, "a");
  if (!t->rows) {
    close(fd);
    return hvi_error_system(err, "write", t->log_path);
  }
  status = read_log(&text, t, err);
  if (text && resumed) end = (size_t)(end_of_rows(text, hvi_sac_state(t->sac).step) - text);
  if (text && !resumed) status = keep_rows(t, text, err);
  if (resumed && !status && !text)
    hvi_say(&t->talk, "hvi: '%s' is gone; its rows begin anew\n", t->log_path);
  hvi_free(text);
  if (status != HVI_OK) return status;
  /* a pipe or a terminal cannot be cut and need not be */
  if (ftruncate(fd, (off_t)end) != 0 && errno != EINVAL)
    return hvi_error_system(err, "write", t->log_path);
  if (end == 0) fputs(HEADER, t->rows);
  if (fflush(t->rows) != 0) return hvi_error_system(err, "write", t->log_path);
  return hvi_folder_sync(t->log_path, err);
}

static void put(FILE *out, double x) {
  char text[HVI_NUMBER_SIZE];
  fprintf(out, ",%s", isnan(x) ? "" : hvi_number_format(text, x));
}

hvi_status hvi_training_log(hvi_training *t, hvi_error *err) {
  const hvi_sac_report r = hvi_sac_state(t->sac);
  if (r.episodes == t->logged) return HVI_OK;
  t->logged = r.episodes;
  fprintf(t->rows, "%zu,%zu", r.step, r.episodes);
  put(t->rows, r.last_return);
  fprintf(t->rows, ",%zu", r.last_length);
  const double rest[] = {r.mean_return, r.critic_loss, r.actor_loss, r.alpha, r.entropy, r.q_mean};
  for (size_t i = 0; i < sizeof rest / sizeof *rest; i++) put(t->rows, rest[i]);
  fputc('\n', t->rows);
  return fflush(t->rows) == 0 ? HVI_OK : hvi_error_system(err, "write", t->log_path);
}

static hvi_status save_policy(const hvi_training *t, hvi_error *err) {
  hvi_policy *policy = NULL;
  hvi_status status = hvi_sac_policy(t->sac, &policy, err);
  if (status == HVI_OK) status = hvi_policy_save(policy, t->out, err);
  hvi_policy_free(policy);
  return status;
}

hvi_status hvi_training_save(hvi_training *t, hvi_error *err) {
  hvi_status status = hvi_file_sync(fileno(t->rows), t->log_path, err);
  if (status == HVI_OK) status = hvi_sac_save(t->sac, t->checkpoint, err);
  return status == HVI_OK ? save_policy(t, err) : status;
}

hvi_status hvi_training_draw(hvi_training *t, hvi_error *err) {
  char *folder = NULL, *name = NULL, note[HVI_PLOT_NOTE];
  hvi_status status = HVI_OK;
  if (hvi_sac_state(t->sac).episodes == 0) return HVI_OK;
  if (!hvi_path_split(&folder, &name, t->log_path, ".csv")) {
    status = hvi_error_memory(err, "file names");
  } else {
    const char *slash = strrchr(t->log_path, '/'), *file = slash ? slash + 1 : t->log_path;
    const hvi_series series[] = {
        {"an episode", file, "step", "return", NULL, HVI_MARK_THIN, 7},
        {"mean of ten", file, "step", "mean_return_10", NULL, HVI_MARK_LINE, 0}};
    const hvi_panel panel = {.x = {.label = "environment steps, thousands", .thousands = true},
                             .y = {.label = "return"},
                             .series_count = sizeof series / sizeof *series,
                             .series = series};
    const hvi_plot plot = {.name = name, .title = t->env->name, .panel_count = 1, .panels = &panel};
    status = hvi_plot_make(folder, &plot, note, err);
    if (status == HVI_OK && *note) hvi_say(&t->talk, "hvi: %s\n", note);
  }
  hvi_free(folder);
  hvi_free(name);
  return status;
}

void hvi_training_close(hvi_training *t) {
  if (t->rows) fclose(t->rows);
  hvi_lock_release(&t->lock);
  hvi_sac_free(t->sac);
  hvi_env_free(t->env);
  hvi_free(t->checkpoint);
  hvi_free(t->log_path);
}
