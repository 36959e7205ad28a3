/* The YAML loader: any text either makes a game whose operator can be called, or one line of error.
 */
#include "problems/document.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(const hvi_problem *p) {
  size_t n = p->model->out;
  double *z = calloc(2 * n, sizeof *z);
  if (z) p->ops->operate(p, NULL, p->theta0, z, z + n);
  free(z);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = malloc(size + 1);
  if (!text) return 0;
  if (size) memcpy(text, data, size);
  text[size] = '\0';
  hvi_problem *p = NULL;
  hvi_error err = {HVI_OK, ""};
  hvi_status status = hvi_game_parse(&p, text, "fuzz", NULL, 1, 0, &err);
  if (!status)
    use(p);
  else if (p || !err.text[0] || strchr(err.text, '\n'))
    abort();
  hvi_problem_free(p);
  free(text);
  return 0;
}
