#include "rl/sac_settings.h"

#include "base/error.h"
#include "base/number.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BATCH = 65536, MOST_WIDTH = 65536, MOST_HIDDEN = 8 };
static const size_t MOST_BUFFER = (size_t)1 << 31;

typedef enum kind { REAL, SIZE, SEED, WIDTHS } kind;

typedef struct field {
  const char *name;
  kind kind;
  size_t at;
} field;

#define AT(member) offsetof(hvi_sac_settings, member)
static const field fields[HVI_SAC_FIELDS] = {
    {"seed", SEED, AT(seed)},
    {"gamma", REAL, AT(gamma)},
    {"tau", REAL, AT(tau)},
    {"batch", SIZE, AT(batch)},
    {"buffer", SIZE, AT(buffer)},
    {"start", SIZE, AT(start)},
    {"actor-lr", REAL, AT(actor_lr)},
    {"critic-lr", REAL, AT(critic_lr)},
    {"alpha-lr", REAL, AT(alpha_lr)},
    {"delay", SIZE, AT(delay)},
    {"alpha", REAL, AT(alpha)},
    {"target-entropy", REAL, AT(target_entropy)},
    {"hidden", WIDTHS, 0},
};
#undef AT

hvi_sac_settings hvi_sac_defaults(void) {
  return (hvi_sac_settings){.gamma = 0.99,
                            .tau = 0.005,
                            .batch = 256,
                            .buffer = 1000000,
                            .start = 5000,
                            .actor_lr = 3e-4,
                            .critic_lr = 1e-3,
                            .alpha_lr = 1e-3,
                            .delay = 2,
                            .target_entropy = NAN,
                            .hidden_count = 2,
                            .hidden = {256, 256},
                            .seed = 1,
                            .threads = 1};
}

static hvi_status refuse(hvi_error *err, const char *name, const char *range) {
  return hvi_error_set(err, HVI_ERROR_ARGUMENT, "SAC's %s must be %s", name, range);
}

hvi_status hvi_sac_settings_check(const hvi_sac_settings *s, hvi_error *err) {
  if (!(s->gamma >= 0.0 && s->gamma < 1.0)) return refuse(err, "gamma", "in [0,1)");
  if (!(s->tau > 0.0 && s->tau <= 1.0)) return refuse(err, "tau", "in (0,1]");
  if (s->batch < 1 || s->batch > MOST_BATCH) return refuse(err, "batch", "1 to 65536 rows");
  if (s->buffer < 1 || s->buffer > MOST_BUFFER) return refuse(err, "buffer", "1 to 2^31 rows");
  const double rates[] = {s->actor_lr, s->critic_lr, s->alpha_lr};
  for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
    if (!(rates[i] > 0.0) || isinf(rates[i])) return refuse(err, "learning rates", "positive");
  }
  if (s->delay < 1) return refuse(err, "delay", "at least 1");
  if (!(s->alpha >= 0.0) || isinf(s->alpha)) return refuse(err, "alpha", "0 or positive");
  if (isinf(s->target_entropy)) return refuse(err, "target entropy", "finite");
  if (s->hidden_count > MOST_HIDDEN) return refuse(err, "hidden layers", "at most 8");
  for (size_t l = 0; l < s->hidden_count; l++) {
    if (s->hidden[l] < 1 || s->hidden[l] > MOST_WIDTH)
      return refuse(err, "hidden layers", "1 to 65536 wide");
  }
  if (s->threads < 1 || s->threads > 2) return refuse(err, "threads", "1 or 2");
  return HVI_OK;
}

const char *hvi_sac_field_name(size_t i) { return fields[i].name; }

static void print_widths(char *text, size_t size, const hvi_sac_settings *s) {
  size_t used = 0;
  text[0] = '\0';
  for (size_t l = 0; l < s->hidden_count && used < size; l++)
    used += (size_t)snprintf(text + used, size - used, "%s%zu", l ? "," : "", s->hidden[l]);
}

void hvi_sac_field_print(char text[HVI_SAC_FIELD_TEXT], const hvi_sac_settings *s, size_t i) {
  const void *p = (const char *)s + fields[i].at;
  switch (fields[i].kind) {
  case REAL:
    hvi_number_format(text, *(const double *)p);
    break;
  case SIZE:
    snprintf(text, HVI_SAC_FIELD_TEXT, "%zu", *(const size_t *)p);
    break;
  case SEED:
    snprintf(text, HVI_SAC_FIELD_TEXT, "%llu", (unsigned long long)*(const uint64_t *)p);
    break;
  case WIDTHS:
    print_widths(text, HVI_SAC_FIELD_TEXT, s);
  }
}

static bool read_whole(uint64_t *x, const char **text) {
  char *end;
  if (**text < '0' || **text > '9') return false;
  errno = 0;
  const unsigned long long value = strtoull(*text, &end, 10);
  if (errno) return false;
  *x = value;
  *text = end;
  return true;
}

static bool read_widths(hvi_sac_settings *s, const char *text) {
  s->hidden_count = 0;
  while (*text) {
    uint64_t width;
    if (s->hidden_count == MOST_HIDDEN || !read_whole(&width, &text)) return false;
    s->hidden[s->hidden_count++] = (size_t)width;
    if (*text == ',' && text[1])
      text++;
    else if (*text)
      return false;
  }
  return true;
}

bool hvi_sac_field_read(hvi_sac_settings *s, size_t i, const char *text) {
  void *p = (char *)s + fields[i].at;
  uint64_t whole = 0;
  char *end;
  switch (fields[i].kind) {
  case REAL:
    *(double *)p = strtod(text, &end);
    return end != text && !*end;
  case SIZE:
    if (!read_whole(&whole, &text)) return false;
    *(size_t *)p = (size_t)whole;
    return !*text;
  case SEED:
    if (!read_whole(&whole, &text)) return false;
    *(uint64_t *)p = whole;
    return !*text;
  case WIDTHS:
    return read_widths(s, text);
  }
  return false;
}

size_t hvi_sac_settings_compare(const hvi_sac_settings *a, const hvi_sac_settings *b) {
  char left[HVI_SAC_FIELD_TEXT], right[HVI_SAC_FIELD_TEXT];
  for (size_t i = 0; i < HVI_SAC_FIELDS; i++) {
    hvi_sac_field_print(left, a, i);
    hvi_sac_field_print(right, b, i);
    if (strcmp(left, right) != 0) return i;
  }
  return HVI_SAC_FIELDS;
}
