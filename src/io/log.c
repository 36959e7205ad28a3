#include "io/log.h"

#include "base/base.h"

#include <sys/stat.h>

static const double FLUSH_EVERY = 0.5; /* seconds, for tables */

/* The count that a line begins with: 12,... or {"outer": 12, ... */
static bool line_number(size_t *number, const char *line) {
  const char *colon = *line == '{' ? strstr(line, "\": ") : NULL, *at = colon ? colon + 3 : line;
  if (*at < '0' || *at > '9') return false;
  *number = (size_t)strtoull(at, NULL, 10);
  return true;
}

/* How many bytes at the start of a file are its head and whole lines of steps up to this one. */
static hvi_status bytes_until(uint64_t *bytes, size_t *last, const char *path, const char *head,
                              size_t step, hvi_error *err) {
  FILE *file = fopen(path, "re");
  char *line = NULL;
  size_t size = 0, number;
  ssize_t length;
  bool other = false;
  if (!file) return hvi_error_system(err, "open", path);
  while (!other && (length = getline(&line, &size, file)) > 0 && line[length - 1] == '\n') {
    const size_t n = *bytes == 0 && head ? strlen(head) : 0;
    other = n && (strncmp(line, head, n) != 0 || line[n] != '\n');
    if (!n && (!line_number(&number, line) || number > step)) break;
    if (!n) *last = number;
    *bytes += (uint64_t)length;
  }
  const bool failed = ferror(file) != 0;
  free(line);
  fclose(file);
  if (other) return hvi_error_input(err, "'%s' has other columns: it cannot be gone on with", path);
  return failed ? hvi_error_system(err, "read", path) : HVI_OK;
}

static hvi_status open_lines(hvi_log *log, const char *path, const char *head, size_t step,
                             hvi_error *err) {
  struct stat st;
  uint64_t bytes = 0;
  if (step != HVI_LOG_NEW && stat(path, &st) == 0 && S_ISREG(st.st_mode))
    HVI_TRY(bytes_until(&bytes, &log->last, path, head, step, err));
  HVI_TRY(hvi_file_grow(&log->file, path, log->last == HVI_LOG_NEW ? 0 : bytes, err));
  if (head && log->last == HVI_LOG_NEW) fprintf(log->file.stream, "%s\n", head);
  /* a head that cannot be written is known at once */
  return head ? hvi_file_flush(&log->file, err) : HVI_OK;
}

hvi_status hvi_log_open(hvi_log *log, const char *path, const char *head, size_t step,
                        hvi_error *err) {
  *log = (hvi_log){.last = HVI_LOG_NEW, .table = head};
  const hvi_status status = path ? open_lines(log, path, head, step, err) : HVI_OK;
  if (status) hvi_file_discard(&log->file);
  return status;
}

static void put_members(FILE *to, const hvi_value *v) {
  for (const char *before = "{"; v->kind != HVI_END; v++, before = ", ") {
    fputs(before, to);
    hvi_value_write_text(to, v->name);
    fputs(": ", to);
    hvi_value_write(to, v);
  }
  fputs("}\n", to);
}

static void put_cells(FILE *to, const hvi_value *v) {
  char text[HVI_NUMBER_SIZE];
  for (const char *before = ""; v->kind != HVI_END; v++) {
    const double one = v->kind == HVI_COUNT ? (double)v->count : v->number;
    const bool many = v->kind == HVI_NUMBERS;
    for (size_t i = 0; i < (many ? v->size : 1); i++, before = ",") {
      const double x = many ? v->numbers[i] : one;
      fputs(before, to);
      if (!isnan(x)) fputs(hvi_number_format(text, x), to);
    }
  }
  fputc('\n', to);
}

void hvi_log_values(hvi_log *log, const hvi_value *values) {
  if (!log->file.stream) return;
  (log->table ? put_cells : put_members)(log->file.stream, values);
  const double now = hvi_clock_now();
  if (log->table && now - log->flushed < FLUSH_EVERY) return;
  fflush(log->file.stream);
  log->flushed = now;
}

hvi_status hvi_log_flush(hvi_log *log, hvi_error *err) {
  return log->file.stream ? hvi_file_flush(&log->file, err) : HVI_OK;
}

hvi_status hvi_log_close(hvi_log *log, hvi_error *err) {
  return log->file.stream ? hvi_file_commit(&log->file, err) : HVI_OK;
}
