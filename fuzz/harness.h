/* What the harnesses of files share: readers take a path, so that an input becomes a file in memory. */
#pragma once

#include "base/memory.h"
#include "io/kept.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char fuzz_folder[64];

static inline void fuzz_leave(void) {
  char path[128];
  for (const char *const *name = (const char *const[]){"input", "input.partial", NULL}; *name;
       name++)
    unlink((snprintf(path, sizeof path, "%s/%s", fuzz_folder, *name), path));
  rmdir(fuzz_folder);
}

/* The path of the input in a folder of the process's own. */
static inline const char *fuzz_path(void) {
  static char path[96];
  if (path[0]) return path;
  struct stat st;
  snprintf(fuzz_folder, sizeof fuzz_folder, "%s/hvi-fuzz-XXXXXX",
           stat("/dev/shm", &st) == 0 ? "/dev/shm" : "/tmp");
  if (!mkdtemp(fuzz_folder)) abort();
  atexit(fuzz_leave);
  snprintf(path, sizeof path, "%s/input", fuzz_folder);
  return path;
}

static inline void fuzz_put(const char *path, const void *data, size_t size) {
  const int fd = open(path, O_WRONLY | O_CREAT, 0600);
  if (fd < 0 || (size && write(fd, data, size) != (ssize_t)size)) abort();
  if (ftruncate(fd, (off_t)size) != 0) abort();
  close(fd);
}

static inline const char *fuzz_file(const void *data, size_t size) {
  fuzz_put(fuzz_path(), data, size);
  return fuzz_path();
}

/* The input as text; free it. */
static inline char *fuzz_text(const uint8_t *data, size_t size) {
  char *text = malloc(size + 1);
  if (!text) abort();
  if (size) memcpy(text, data, size);
  text[size] = '\0';
  return text;
}

/* Success and a thing, or one line of error and nothing. */
static inline void fuzz_verdict(hvi_status status, const void *thing, const hvi_error *err) {
  if (status ? thing || err->status != status || !err->text[0] || strchr(err->text, '\n') : !thing)
    abort();
}

/* Gives a key of the header another name of the same length, wherever it stands. */
static inline void fuzz_rename(uint8_t *data, size_t size, const char *key, const char *other) {
  const size_t n = strlen(key);
  for (size_t i = 0; i + n <= size; i++)
    if (memcmp(data + i, key, n) == 0) memcpy(data + i, other, n);
}

/* The input as a .safetensors file without hvi's seal, and with a length that agrees with the header,
 * which ends at the last brace: chance seldom finds either. hvi_free it. */
static inline uint8_t *fuzz_unsealed(const uint8_t *data, size_t size) {
  uint8_t *file = hvi_alloc(size + 1, 1);
  size_t end = size;
  if (!file) abort();
  if (size) memcpy(file, data, size);
  while (end > HVI_TENSORS_PREFIX && file[end - 1] != '}') end--;
  for (size_t i = 0; i < HVI_TENSORS_PREFIX && end > HVI_TENSORS_PREFIX; i++)
    file[i] = (uint8_t)((uint64_t)(end - HVI_TENSORS_PREFIX) >> 8 * i);
  fuzz_rename(file, size, "\"hvi.checksum\"", "\"hvi.Checksum\"");
  fuzz_rename(file, size, "\"level\"", "\"Level\"");
  return file;
}

/* An open file of tensors. */
static inline const char *fuzz_open_file(const uint8_t *data, size_t size) {
  HVI_OWN uint8_t *file = fuzz_unsealed(data, size);
  return fuzz_file(file, size);
}

/* The file of these tensors, with a checksum that fits; NULL: there is none. It is not made as hvi
 * makes its own, by a rename and syncs, which take ten times as long as to read it. */
static inline const char *fuzz_tensors_file(const hvi_tensors *t) {
  HVI_OWN unsigned char *header = NULL;
  size_t used = 0, size = 0;
  if (hvi_tensors_header_write(&header, &used, t, "input", NULL)) return NULL;
  for (size_t i = 0; i < t->count; i++)
    size += hvi_tensor_count(&t->items[i]) * hvi_tensor_type_size(t->items[i].type);
  HVI_OWN unsigned char *file = hvi_alloc(used + size, 1);
  if (!file) abort();
  memcpy(file, header, used);
  for (size_t i = 0; i < t->count; i++) {
    size = hvi_tensor_count(&t->items[i]) * hvi_tensor_type_size(t->items[i].type);
    if (size) memcpy(file + used, t->items[i].data, size);
    used += size;
  }
  return fuzz_file(file, used);
}

/* The same tensors in a file that hvi keeps, with a checksum that fits; NULL: they are none. */
static inline const char *fuzz_kept_file(const uint8_t *data, size_t size, const char *kind,
                                         const char *about) {
  HVI_OWN uint8_t *file = fuzz_unsealed(data, size);
  char line[HVI_KEPT_HEAD];
  hvi_kept head = {.kind = kind, .about = about};
  hvi_kept_head(line, &head);
  hvi_tensor_note notes[64] = {{"hvi.kept", line}, {"about", about}};
  hvi_tensors *t = NULL;
  size_t count = 2;
  if (hvi_tensors_decode(&t, file, size, "input", NULL)) return NULL;
  for (size_t i = 0; i < t->note_count && count < 64; i++)
    if (strcmp(t->notes[i].key, "hvi.kept") != 0 && strcmp(t->notes[i].key, "about") != 0)
      notes[count++] = t->notes[i];
  const char *path = fuzz_tensors_file(&(hvi_tensors){t->count, t->items, count, notes, NULL});
  hvi_tensors_free(t);
  return path;
}
