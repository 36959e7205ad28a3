/* Processes as YAML text. The schema is in docs/mdp-files.md. */
#ifndef HVI_PROBLEMS_BELLMAN_FILE_H
#define HVI_PROBLEMS_BELLMAN_FILE_H

#include "problems/document.h"

#include <hvi/mdp.h>

#include <stdbool.h>

/* Makes the process that a document describes; *trajectory says which data it asks for. */
hvi_status hvi_mdp_read(hvi_mdp **mdp, bool *trajectory, const hvi_document *d, hvi_error *err);

#endif
