/*
 * Damerau-Levenshtein distance in its restricted form (no letter is edited twice):
 *
 *   D(i,j) = min( D(i-1,j) + 1, D(i,j-1) + 1, D(i-1,j-1) + [a_i != b_j],
 *                 D(i-2,j-2) + 1 when the last two letters are swapped )
 */
#include "base/suggest.h"

#include "base/base.h"

#include <ctype.h>

enum { LONGEST = 63 };

static int fold(char c) { return tolower((unsigned char)c); }

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

size_t hvi_suggest_distance(const char *a, const char *b) {
  size_t m = strlen(a), n = strlen(b);
  if (m > LONGEST || n > LONGEST) return m + n;
  size_t D[LONGEST + 1][LONGEST + 1];
  for (size_t i = 0; i <= m; i++) D[i][0] = i;
  for (size_t j = 0; j <= n; j++) D[0][j] = j;
  for (size_t i = 1; i <= m; i++)
    for (size_t j = 1; j <= n; j++) {
      int x = fold(a[i - 1]), y = fold(b[j - 1]);
      size_t best = smaller(D[i - 1][j], D[i][j - 1]) + 1;
      best = smaller(best, D[i - 1][j - 1] + (x != y));
      if (i > 1 && j > 1 && x == fold(b[j - 2]) && y == fold(a[i - 2]))
        best = smaller(best, D[i - 2][j - 2] + 1);
      D[i][j] = best;
    }
  return D[m][n];
}

const char *hvi_suggest(const char *word, const char *const *candidates) {
  const char *nearest = NULL;
  size_t length = strlen(word), smallest = (size_t)-1;
  for (; *candidates; candidates++) {
    size_t distance = hvi_suggest_distance(word, *candidates);
    if (distance < smallest) {
      smallest = distance;
      nearest = *candidates;
    }
  }
  /* a third of the letters wrong is a slip, more is another word */
  return smallest <= (length < 3 ? 1 : (length + 1) / 3) ? nearest : NULL;
}

hvi_status hvi_suggest_refuse(hvi_error *err, const char *where, const char *what, const char *word,
                              const char *const *names) {
  const char *near = hvi_suggest(word, names);
  char hint[320];
  if (near)
    snprintf(hint, sizeof hint, "did you mean '%s'?", near);
  else
    snprintf(hint, sizeof hint, "there are %s", names[0] ? names[0] : "none");
  for (size_t i = 1; !near && names[0] && names[i]; i++) {
    if (strlen(hint) + strlen(names[i]) + 3 > sizeof hint) break;
    hvi_append(hint, sizeof hint, ", %s", names[i]);
  }
  return hvi_error_input(err, "%s%sunknown %s '%.60s'; %s", where ? where : "", where ? ": " : "",
                         what, word, hint);
}

int hvi_words_find(const char *words, char separator, const char *word, size_t length) {
  for (int i = 0; words && length > 0; i++) {
    const char *end = strchr(words, separator);
    const size_t n = end ? (size_t)(end - words) : strlen(words);
    if (n == length && memcmp(words, word, n) == 0) return i;
    words = end ? end + 1 : NULL;
  }
  return -1;
}

bool hvi_words_have(const char *words, const char *word) {
  return hvi_words_find(words, ' ', word, strlen(word)) >= 0;
}

size_t hvi_words_split(const char **names, size_t most, char *words) {
  char *rest = NULL;
  size_t n = 0;
  for (char *w = strtok_r(words, " ", &rest); w && n + 1 < most; w = strtok_r(NULL, " ", &rest))
    names[n++] = w;
  names[n] = NULL;
  return n;
}

bool hvi_ends_in(const char *text, const char *ending) {
  const size_t n = strlen(text), m = strlen(ending);
  return n > m && strcmp(text + n - m, ending) == 0;
}
