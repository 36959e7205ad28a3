/* The parts of `hvi inspect`. */
#ifndef HVI_CLI_INSPECT_H
#define HVI_CLI_INSPECT_H

#include "setup.h"
#include "talk.h"

#include <hvi/theory.h>

typedef struct hvi_inspect {
  hvi_setup setup;
  hvi_talk talk;
  size_t steps; /* of the run */
  bool json;
  const char *plot; /* folder, or NULL */
} hvi_inspect;

/* The result on stdout, for people and as JSON. */
void hvi_inspect_table(const hvi_inspect *s, const hvi_inspection *i);
void hvi_inspect_json(const hvi_inspect *s, const hvi_inspection *i);

/* FOLDER/inspect.{csv,gp,png,svg}: kappa^2 and rho over eta, and where the settings stand. The
 * folder exists. */
hvi_status hvi_inspect_plot(const hvi_inspect *s, const hvi_inspection *i, hvi_error *err);

#endif
