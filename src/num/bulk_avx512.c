#include "num/bulk_body.h"

const hvi_bulk hvi_bulk_avx512 = HVI_BULK_TABLE("avx512");
