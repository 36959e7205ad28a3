/* Numbers as text that reads back to the same bits, and from text, strictly: nothing before,
 * nothing after, no NaN, no infinity, no overflow. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HVI_NUMBER_SIZE = 32 };

/* The shortest of %.15g, %.16g and %.17g that strtod reads back to x; "nan", "inf" or "-inf"
 * otherwise. Returns text. */
char *hvi_number_format(char text[HVI_NUMBER_SIZE], double x);

/* For people: `digits` significant digits, e.g. 1.6e-07, 0.107, 1000. Returns text. */
char *hvi_number_short(char text[HVI_NUMBER_SIZE], double x, int digits);

/* The decimal number that a text begins with, by no locale; the rest of the text, or NULL. */
const char *hvi_parse_decimal(double *x, const char *text);
/* A decimal number; false, and *x untouched, when the text is not one. */
bool hvi_parse_real(double *x, const char *text);
/* A whole number; "1e3" counts as one. */
bool hvi_parse_u64(uint64_t *x, const char *text);

/* Numbers with commas or blanks between them, at most `most`; false when the text is not that. */
bool hvi_parse_list(double *x, size_t most, size_t *count, const char *text);
/* Numbers with commas or blanks between them (hvi_free them); NULL when the text is not that or
 * there is no memory. */
double *hvi_parse_reals(size_t *count, const char *text);
