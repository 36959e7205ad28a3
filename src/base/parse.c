#include "base/parse.h"

#include "base/memory.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Keeps out what strtod would take beyond decimal numbers: blanks, hexadecimal, "nan", "inf". */
static bool looks_decimal(const char *text) {
  return text[0] && strspn(text, "0123456789+-.eE") == strlen(text);
}

bool hvi_parse_real(double *x, const char *text) {
  char *end;
  if (!looks_decimal(text)) return false;
  double value = strtod(text, &end);
  if (end == text || *end || !isfinite(value)) return false;
  *x = value;
  return true;
}

bool hvi_parse_u64(uint64_t *x, const char *text) {
  const double exact = 9007199254740992.0; /* 2^53: a double holds every whole number up to here */
  double real;
  if (text[0] && strspn(text, "0123456789") == strlen(text)) {
    errno = 0;
    unsigned long long value = strtoull(text, NULL, 10);
    if (errno) return false;
    *x = value;
    return true;
  }
  if (!hvi_parse_real(&real, text) || real < 0 || real > exact || real != floor(real)) return false;
  *x = (uint64_t)real;
  return true;
}

bool hvi_parse_size(size_t *x, const char *text) {
  uint64_t value;
  if (!hvi_parse_u64(&value, text) || value > SIZE_MAX) return false;
  *x = (size_t)value;
  return true;
}

static const char separators[] = ", \t\n";

/* Copies the next word of a list to word[size] and returns what follows it; NULL at the end. */
static const char *next_word(char *word, size_t size, const char *text) {
  text += strspn(text, separators);
  size_t length = strcspn(text, separators);
  if (length == 0) return NULL;
  bool fits = length < size;
  memcpy(word, fits ? text : "?", fits ? length : 1); /* too long to be a number */
  word[fits ? length : 1] = '\0';
  return text + length;
}

/* "1,,2" and "1," have a hole; blanks around a comma are fine. */
static bool has_hole(const char *text) {
  bool open = true; /* nothing since the start or the last comma */
  for (; *text; text++) {
    if (*text == ',' && open) return true;
    if (*text == ',')
      open = true;
    else if (!strchr(separators, *text))
      open = false;
  }
  return open;
}

bool hvi_parse_list(double *x, size_t most, size_t *count, const char *text) {
  char word[64];
  size_t n = 0;
  if (has_hole(text)) return false;
  while ((text = next_word(word, sizeof word, text)) != NULL)
    if (n == most || !hvi_parse_real(&x[n++], word)) return false;
  *count = n;
  return true;
}

double *hvi_parse_reals(size_t *count, const char *text) {
  /* each number takes at least one letter and a separator */
  const size_t most = strlen(text) / 2 + 1;
  double *list = hvi_alloc_doubles(most);
  if (list && hvi_parse_list(list, most, count, text)) return list;
  hvi_free(list);
  return NULL;
}

bool hvi_words_have(const char *words, const char *word) {
  const size_t length = strlen(word);
  for (; words && *words; words += strspn(words, " ")) {
    const size_t n = strcspn(words, " ");
    if (n == length && memcmp(words, word, n) == 0) return true;
    words += n;
  }
  return false;
}
