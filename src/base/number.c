#define _GNU_SOURCE /* strtod_l */
#include "base/number.h"

#include "base/base.h"

#include <locale.h>

char *hvi_number_format(char text[HVI_NUMBER_SIZE], double x) {
  if (isnan(x)) return strcpy(text, "nan"); /* without its sign */
  for (int digits = 15; digits <= 17; digits++) {
    snprintf(text, HVI_NUMBER_SIZE, "%.*g", digits, x);
    if (strtod(text, NULL) == x) break;
  }
  return text;
}

char *hvi_number_short(char text[HVI_NUMBER_SIZE], double x, int digits) {
  if (isnan(x)) return strcpy(text, "nan");
  const bool whole = x == floor(x) && fabs(x) < 1e7; /* written in full */
  snprintf(text, HVI_NUMBER_SIZE, "%.*g", whole && digits < 7 ? 7 : digits, x);
  return text;
}

/* m 10^e is one exact operation on two doubles, and so correctly rounded, while m is below 2^53 and
 * |e| at most 22. Everything else is left to strtod. */
const char *hvi_parse_decimal(double *x, const char *text) {
  static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                  1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  const char *c = text + (*text == '-' || *text == '+');
  uint64_t m = 0;
  int digits = 0, e = 0;
  for (bool point = false; (*c >= '0' && *c <= '9') || (*c == '.' && !point); c++) {
    if (*c == '.') point = true;
    if (*c == '.') continue;
    m = m < UINT64_MAX / 20 ? 10 * m + (uint64_t)(*c - '0') : UINT64_MAX;
    digits++;
    e -= point;
  }
  if (c == text && strncmp(c, "inf", 3) == 0) return *x = INFINITY, c + 3;
  char *end = (char *)(uintptr_t)c;
  if (digits && (*c == 'e' || *c == 'E') && strspn(c + 1, "+-0123456789") < 6) {
    e += (int)strtol(c + 1, &end, 10);
    if (end == c + 1) return NULL;
  }
  if (digits && m < 1ull << 53 && e >= -22 && e <= 22) {
    *x = e < 0 ? (double)m / powers[-e] : (double)m * powers[e];
    if (*text == '-') *x = -*x;
    return end;
  }
  /* with a point for the decimals, whatever the program's locale says */
  const locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
  *x = plain ? strtod_l(text, &end, plain) : strtod(text, &end);
  if (plain) freelocale(plain);
  return end == text ? NULL : end;
}

bool hvi_parse_real(double *x, const char *text) {
  double value;
  /* keeps out what strtod would take beyond decimal numbers: blanks, hexadecimal, "nan", "inf" */
  if (!text[0] || text[strspn(text, "0123456789+-.eE")]) return false;
  const char *end = hvi_parse_decimal(&value, text);
  if (!end || *end || !isfinite(value)) return false;
  *x = value;
  return true;
}

bool hvi_parse_u64(uint64_t *x, const char *text) {
  const double exact = 9007199254740992.0; /* 2^53: a double holds every whole number up to here */
  double real;
  if (text[0] && !text[strspn(text, "0123456789")]) {
    errno = 0;
    const unsigned long long value = strtoull(text, NULL, 10);
    if (!errno) *x = value;
    return !errno;
  }
  if (!hvi_parse_real(&real, text) || real < 0 || real > exact || real != floor(real)) return false;
  *x = (uint64_t)real;
  return true;
}

bool hvi_parse_list(double *x, size_t most, size_t *count, const char *text) {
  static const char blanks[] = " \t\n";
  char word[64];
  size_t n = 0;
  for (;;) {
    text += strspn(text, blanks);
    const size_t length = strcspn(text, ", \t\n");
    if (length >= sizeof word || n == most) return false;
    memcpy(word, text, length);
    word[length] = '\0';
    if (!hvi_parse_real(&x[n++], word)) return false; /* an empty one is none */
    text += length + strspn(text + length, blanks);
    if (!*text) break;
    text += *text == ',';
  }
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
