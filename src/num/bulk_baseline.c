#include "num/bulk_body.h"

const hvi_bulk hvi_bulk_baseline = HVI_BULK_TABLE("baseline");
