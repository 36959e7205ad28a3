/* Evaluations on the device beside the same ones on the CPU: the first steps of each method. */
#include "check.h"

#include "base/base.h"

void check_methods(check *c) { (void)c; }
