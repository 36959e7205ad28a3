/* claims.json: any text either makes claims that can be shown and come back the same from a file, or
 * one line of error. */
#include "report/claims.h"

#include "harness.h"

static char *table_of(const hvi_claims *c) { return hvi_claims_table(c, 1, 0, true); }

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  hvi_claims c, again;
  hvi_error err = {HVI_OK, ""};
  const hvi_status status = hvi_claims_read(&c, fuzz_file(data, size), &err);
  fuzz_verdict(status, status ? (void *)c.items : &c, &err);
  if (!status) {
    if (hvi_claims_write(&c, fuzz_path(), &err) || hvi_claims_read(&again, fuzz_path(), &err))
      abort();
    char *one = table_of(&c), *two = table_of(&again);
    if (!one || !two || strcmp(one, two) != 0) abort();
    hvi_free(one);
    hvi_free(two);
    hvi_claims_clear(&again);
  }
  hvi_claims_clear(&c);
  return 0;
}
