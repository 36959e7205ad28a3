/* Release of a problem; its ops free what the problem owns, the model included. */
#include <hvi/problem.h>

void hvi_problem_free(hvi_problem *p) {
  if (p && p->ops->free) p->ops->free(p);
}
