/* Which outer steps are measured. */
#ifndef HVI_EVALUATE_SCHEDULE_H
#define HVI_EVALUATE_SCHEDULE_H

#include <hvi/evaluate.h>

bool hvi_schedule_due(const hvi_schedule *s, size_t outer, size_t last);

#endif
