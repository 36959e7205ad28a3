/*
 * Problems as code: a C file for `hvi solve mine.c`, or a shared library for `hvi solve ./mine.so`.
 *
 *   #include <hvi/plugin.h>
 *   static hvi_status make(hvi_problem **problem, const hvi_options *o, hvi_error *err) { ... }
 *   const hvi_plugin hvi_plugin_problem = {
 *       HVI_PLUGIN_ABI, {"mine", "what it is, in a line", &options, make}};
 *
 * That one name is all that such a file exports. It is then treated as a built-in problem: options,
 * instances, ensembles, experiments. docs/own-problems.md says how it is compiled, what it may call,
 * and what it may not do; examples/own.c is a whole one.
 */
#ifndef HVI_PLUGIN_H
#define HVI_PLUGIN_H

#include <hvi/builtin.h>
#include <hvi/version.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised by one where the interface changes and no size tells (`make abi-check`). */
enum { HVI_PLUGIN_REVISION = 1 };

/* Differs between versions, and where one of the structs that both sides read has changed. */
enum {
  HVI_PLUGIN_ABI =
      (HVI_VERSION_MAJOR * 100 + HVI_VERSION_MINOR) * 10000 +
      (int)((sizeof(hvi_problem) + 3 * sizeof(hvi_problem_ops) + 5 * sizeof(hvi_model) +
             7 * sizeof(hvi_model_ops) + 11 * sizeof(hvi_set) + 13 * sizeof(hvi_block) +
             17 * sizeof(hvi_setting) + 19 * sizeof(hvi_options) + 23 * sizeof(hvi_builtin) +
             29 * HVI_PLUGIN_REVISION) %
            10000)
};

typedef struct hvi_plugin {
  unsigned abi; /* HVI_PLUGIN_ABI of the headers that it was compiled with */
  hvi_builtin problem;
} hvi_plugin;

/* Yours to define. */
extern HVI_API const hvi_plugin hvi_plugin_problem;

/* Loads a shared library, which stays loaded until the process ends. HVI_ERROR_INPUT when it has no
 * hvi_plugin_problem, or one for another hvi. Any thread may call it. The library never compiles:
 * that is for the program. */
HVI_API hvi_status hvi_plugin_load(const hvi_builtin **problem, const char *path, hvi_error *err);

#ifdef __cplusplus
}
#endif

#endif
