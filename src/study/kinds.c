#include "study/kinds.h"

const char *const hvi_outcome_words[] = {"running",  "converged", "limit", "stalled",
                                         "diverged", "stopped",   NULL};

#define ADDRESS(name) &hvi_kind_##name,
const hvi_kind *const hvi_kinds[] = {HVI_KINDS(ADDRESS) NULL};
