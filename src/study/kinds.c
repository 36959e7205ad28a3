#include "study/kinds.h"

const hvi_kind *const hvi_kinds[] = {&hvi_kind_trajectory, NULL};
