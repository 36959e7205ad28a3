/* Numbers as text that reads back to the same bits. */
#ifndef HVI_BASE_NUMBER_H
#define HVI_BASE_NUMBER_H

enum { HVI_NUMBER_SIZE = 32 };

/* The shortest of %.15g, %.16g and %.17g that strtod reads back to x; "nan", "inf" or "-inf"
 * otherwise. Returns text. */
char *hvi_number_format(char text[HVI_NUMBER_SIZE], double x);

/* For people: `digits` significant digits, e.g. 1.6e-07, 0.107, 1000. Returns text. */
char *hvi_number_short(char text[HVI_NUMBER_SIZE], double x, int digits);

#endif
