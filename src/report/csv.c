#include "report/csv.h"

#include "base/base.h"

hvi_status hvi_csv_open(hvi_csv *csv, const char *path, const char *header, hvi_error *err) {
  *csv = (hvi_csv){0};
  HVI_TRY(hvi_file_create(&csv->file, path, err));
  fprintf(csv->file.stream, "%s\n", header);
  return HVI_OK;
}

static void begin_cell(hvi_csv *csv) {
  if (csv->started) fputc(',', csv->file.stream);
  csv->started = true;
}

void hvi_csv_number(hvi_csv *csv, double x) {
  char text[HVI_NUMBER_SIZE];
  begin_cell(csv);
  if (!isnan(x)) fputs(hvi_number_format(text, x), csv->file.stream);
}

void hvi_csv_text(hvi_csv *csv, const char *text) {
  begin_cell(csv);
  if (!strpbrk(text, ",\"\r\n")) {
    fputs(text, csv->file.stream);
    return;
  }
  fputc('"', csv->file.stream);
  for (; *text; text++) {
    if (*text == '"') fputc('"', csv->file.stream);
    fputc(*text, csv->file.stream);
  }
  fputc('"', csv->file.stream);
}

void hvi_csv_end(hvi_csv *csv) {
  fputc('\n', csv->file.stream);
  csv->started = false;
}

hvi_status hvi_csv_close(hvi_csv *csv, hvi_error *err) { return hvi_file_commit(&csv->file, err); }

void hvi_csv_discard(hvi_csv *csv) { hvi_file_discard(&csv->file); }
