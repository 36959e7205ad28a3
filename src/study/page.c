/* Which experiments stand on the page of an output folder. */
#include "base/error.h"
#include "base/memory.h"
#include "report/text.h"
#include "study/study.h"

#include <string.h>

static bool is_among(const hvi_claims *claims, size_t count, const char *id) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(claims[i].experiment, id) == 0) return true;
  return false;
}

static bool read_earlier(hvi_claims *claims, const char *out, const char *id) {
  hvi_text path = {0};
  hvi_text_add(&path, "%s/%s/claims.json", out, id);
  bool read = !path.failed && hvi_claims_read(claims, path.data, NULL) == HVI_OK;
  hvi_text_free(&path);
  return read;
}

/* A shallow copy of the list is enough: only the earlier ones, at its end, are this file's own. */
hvi_status hvi_study_page(const char *out, const hvi_claims *claims, size_t count, hvi_error *err) {
  const char *const *ids = hvi_study_ids();
  size_t most = count, shown = count;
  while (ids[most - count]) most++;
  hvi_claims *list = hvi_alloc(most, sizeof *list);
  if (!list) return hvi_error_memory(err, "index.html");
  if (count) memcpy(list, claims, count * sizeof *list);
  for (size_t i = 0; ids[i]; i++)
    if (!is_among(claims, count, ids[i])) shown += read_earlier(&list[shown], out, ids[i]);
  hvi_status status = hvi_claims_page(list, shown, out, err);
  for (size_t i = count; i < shown; i++) hvi_claims_clear(&list[i]);
  hvi_free(list);
  return status;
}
