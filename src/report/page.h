/* OUT/index.html: the report on all experiments. It stands alone: its style and its script
 * (page/) are in it, pictures and data lie below its folder, and nothing is from elsewhere. */
#pragma once

#include "report/claims.h"

hvi_status hvi_claims_page(const hvi_claims *list, size_t count, const char *folder,
                           hvi_error *err);
