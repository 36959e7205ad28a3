/*
 * Problems as code: NAME.c is compiled by the machine's compiler into a folder that is gone
 * afterwards, and NAME.so is loaded as it is. docs/own-problems.md tells the details.
 */
#pragma once

#include <hvi/builtin.h>

hvi_status hvi_code_load(const hvi_builtin **problem, const char *path, hvi_error *err);
/* The same for a command: complains itself, and returns the exit code. */
int hvi_code_find(const hvi_builtin **problem, const char *path);
