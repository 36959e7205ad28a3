/* Processes as YAML text. The schema is in docs/mdp-files.md. */
#ifndef HVI_PROBLEMS_MDP_FILE_H
#define HVI_PROBLEMS_MDP_FILE_H

#include <hvi/mdp.h>

#include <stdbool.h>

/* Makes the process that a text describes; *trajectory says which data it asks for. `name` opens
 * error texts; files are looked for in `folder`, and there can be none when it is NULL. */
hvi_status hvi_mdp_parse(hvi_mdp **mdp, bool *trajectory, const char *text, const char *name,
                         const char *folder, hvi_error *err);

#endif
