/*
 * Runs a fuzzer's function over the files of folders, once each: what fuzzing has found stays
 * found, under any compiler. Usage: replay FOLDER...
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The bytes lie in a block of their own size, so that a read beyond them is seen. */
static int replay_file(const char *path, size_t size) {
  uint8_t *data = malloc(size ? size : 1);
  FILE *file = fopen(path, "rb");
  int read = data && file && fread(data, 1, size, file) == size;
  if (read) LLVMFuzzerTestOneInput(data, size);
  if (file) fclose(file);
  free(data);
  return read;
}

/* How many files were replayed; -1 when one could not be read. */
static int replay_folder(const char *folder) {
  int count = 0;
  DIR *d = opendir(folder);
  if (!d) return -1;
  for (const struct dirent *entry; count >= 0 && (entry = readdir(d));) {
    char path[4096];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode)) continue;
    /* after an abort the last line names the input */
    printf("%s\n", path);
    fflush(stdout);
    count = replay_file(path, (size_t)st.st_size) ? count + 1 : -1;
  }
  closedir(d);
  return count;
}

int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    if (replay_folder(argv[i]) > 0) continue;
    fprintf(stderr, "%s: no inputs, or one that cannot be read\n", argv[i]);
    return 1;
  }
  return argc < 2;
}
