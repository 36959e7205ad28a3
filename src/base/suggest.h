/* Names: whether one is known, and the nearest known one to a mistyped one. */
#pragma once

#include <hvi/error.h>

#include <stdbool.h>
#include <stddef.h>

/* Fewest insertions, deletions, changes and swaps of neighbours that turn a into b, upper and lower
 * case being the same. Words longer than 63 bytes count as far away. */
size_t hvi_suggest_distance(const char *a, const char *b);

/* The nearest of the candidates, which end in NULL; NULL when none is near enough to be meant. */
const char *hvi_suggest(const char *word, const char *const *candidates);

/* Refuses an unknown word: "WHERE: unknown WHAT 'word'; did you mean 'x'?", or "...; there are a, b
 * and so on". `where` may be NULL. Returns HVI_ERROR_INPUT. */
hvi_status hvi_suggest_refuse(hvi_error *err, const char *where, const char *what, const char *word,
                              const char *const *names);

/* The place of word[length] in `words`, which have that separator between them and may be empty; -1:
 * it is not there. NULL: no words. */
int hvi_words_find(const char *words, char separator, const char *word, size_t length);
/* Whether a word is one of `words`, which have blanks between them; NULL: none. */
bool hvi_words_have(const char *words, const char *word);
/* names[most] become the words of a text, which is cut up; a NULL comes after them. How many. */
size_t hvi_words_split(const char **names, size_t most, char *words);
/* Whether a text ends in this, and is longer. */
bool hvi_ends_in(const char *text, const char *ending);
