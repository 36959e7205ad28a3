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

/* The contraction test of repeated risk minimisation, for problems whose data answer to the model;
 * nothing for others. */
struct hvi_json;
void hvi_inspect_deployment_table(const hvi_inspect *s);
void hvi_inspect_deployment_json(struct hvi_json *j, const hvi_inspect *s);
/* A paragraph, broken at blanks, under a label. */
void hvi_inspect_paragraph(const char *label, const char *text);

/* FOLDER/inspect.{csv,gp,png,svg}: kappa^2 and rho over eta, and where the settings stand. The
 * folder exists. */
hvi_status hvi_inspect_plot(const hvi_inspect *s, const hvi_inspection *i, hvi_error *err);

#endif
