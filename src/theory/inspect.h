/* What an inspection says in words, once its numbers and its verdict are there. */
#pragma once

#include <hvi/theory.h>

/* Fills explanation and advice. `stuck`: the inner solves have ceased to make progress, and not
 * because the loop has arrived. */
void hvi_inspection_explain(hvi_inspection *i, const hvi_problem *p, const hvi_settings *s,
                            bool stuck);
