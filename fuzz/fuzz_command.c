/* Command lines: any words after 'hvi', each ended by a newline, are read by the command's table of
 * options or refused. No command runs: a visitor takes its place. */
#define main hvi_main
#include "main.c"
#undef main

#include "harness.h"

enum { MOST_WORDS = 40 };

static void visit(hvi_args *args, int argc, char **argv) {
  const int code = hvi_args_read(args, argc, argv);
  if (code != HVI_EXIT_DONE && code != HVI_EXIT_USAGE && code != HVI_EXIT_HELP) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = fuzz_text(data, size), *words[MOST_WORDS + 1] = {(char[]){"hvi"}};
  int count = 1;
  if (!hvi_args_visitor && !freopen("/dev/null", "w", stdout)) abort();
  hvi_args_visitor = visit;
  for (char *at = text, *end; count < MOST_WORDS && *at; at = end) {
    end = at + strcspn(at, "\n");
    if (*end) *end++ = '\0';
    words[count++] = at;
  }
  /* completion and the manual go through all tables, and files */
  if (count > 1 && strcmp(words[1], "complete") != 0 && strcmp(words[1], "man") != 0)
    dispatch(count, words);
  free(text);
  return 0;
}
