#include "study/kinds.h"

const char *const hvi_outcome_words[] = {"running",  "converged", "limit", "stalled",
                                         "diverged", "stopped",   NULL};

const hvi_kind *const hvi_kinds[] = {
    &hvi_kind_trajectory, &hvi_kind_timing,     &hvi_kind_ensemble,
    &hvi_kind_rps_scan,   &hvi_kind_deployment, &hvi_kind_deployment_seeds,
    &hvi_kind_linear,     &hvi_kind_value,      NULL};
