/* The reader of processes: any text either makes a process whose law sums to one, or one line of
 * error. */
#include "problems/document.h"
#include "problems/mdp/mdp.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(const hvi_mdp *m) {
  double sum = 0.0;
  for (size_t i = 0; i < hvi_mdp_states(m); i++) sum += hvi_mdp_law(m)[i];
  if (!(fabs(sum - 1.0) < 1e-9)) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = malloc(size + 1);
  if (!text) return 0;
  if (size) memcpy(text, data, size);
  text[size] = '\0';
  hvi_mdp *m = NULL;
  bool trajectory = false;
  hvi_error err = {HVI_OK, ""};
  hvi_document d;
  hvi_status status = hvi_document_parse(&d, text, "fuzz", NULL, &err);
  if (!status) status = hvi_mdp_read(&m, &trajectory, &d, &err);
  hvi_document_free(&d);
  if (!status)
    use(m);
  else if (m || !err.text[0] || strchr(err.text, '\n'))
    abort();
  hvi_mdp_free(m);
  free(text);
  return 0;
}
