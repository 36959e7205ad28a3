/* The learners that go along a trajectory without a surrogate. */
#ifndef HVI_PROBLEMS_BELLMAN_RULES_H
#define HVI_PROBLEMS_BELLMAN_RULES_H

#include <hvi/mdp.h>

/* td0, td-lambda, lstd, tdc, gtd2, residual-gradient, NULL. */
extern const hvi_rule *const hvi_trajectory_rule_list[];

#endif
