#include "base/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *not_finite(char *text, double x) {
  return strcpy(text, isnan(x) ? "nan" : x > 0 ? "inf" : "-inf");
}

char *hvi_number_format(char text[HVI_NUMBER_SIZE], double x) {
  if (!isfinite(x)) return not_finite(text, x);
  for (int digits = 15; digits <= 17; digits++) {
    snprintf(text, HVI_NUMBER_SIZE, "%.*g", digits, x);
    if (strtod(text, NULL) == x) break;
  }
  return text;
}

char *hvi_number_short(char text[HVI_NUMBER_SIZE], double x, int digits) {
  if (!isfinite(x)) return not_finite(text, x);
  if (x == floor(x) && fabs(x) < 1e7)
    snprintf(text, HVI_NUMBER_SIZE, "%.0f", x);
  else
    snprintf(text, HVI_NUMBER_SIZE, "%.*g", digits, x);
  return text;
}
