/* The kinds of study. */
#ifndef HVI_STUDY_KINDS_H
#define HVI_STUDY_KINDS_H

#include "study/study.h"

extern const hvi_kind hvi_kind_trajectory;

#endif
