/* Problems as code from outside: found in a shared library, and checked before they are used. */
#include <hvi/plugin.h>

#include "base/base.h"
#include "base/module.h"
#include "problems/options.h"

#include <dlfcn.h>
#include <limits.h>
#include <unistd.h>

bool hvi_names_code(const char *name) {
  const char *dot = strrchr(name, '.');
  return dot && (strcmp(dot, ".c") == 0 || strcmp(dot, ".so") == 0);
}

static hvi_status check(const hvi_plugin *p, const char *path, hvi_error *err) {
  if (!p)
    return hvi_error_input(err, "'%s' has no hvi_plugin_problem, which <hvi/plugin.h> asks for",
                           path);
  if (p->abi != (unsigned)HVI_PLUGIN_ABI)
    return hvi_error_input(err, "'%s' was compiled for another hvi than %s; compile it again", path,
                           hvi_version());
  const hvi_builtin *b = &p->problem;
  if (b->name && b->summary && b->make && (!b->options || (b->options->name && b->options->rows)))
    return HVI_OK;
  return hvi_error_input(err, "'%s': hvi_plugin_problem lacks a name, a summary or a function",
                         path);
}

hvi_status hvi_plugin_load(const hvi_builtin **problem, const char *path, hvi_error *err) {
  char here[PATH_MAX];
  void *handle;
  if (!problem || !path) return hvi_error_argument(err, "hvi_plugin_load: a null pointer");
  *problem = NULL;
  if (access(path, R_OK) != 0) return hvi_error_system(err, "open", path);
  /* the system would look for a bare name among its own libraries */
  snprintf(here, sizeof here, "%s%s", strchr(path, '/') ? "" : "./", path);
  HVI_TRY(hvi_module_load(&handle, here, err));
  const hvi_plugin *p = dlsym(handle, "hvi_plugin_problem");
  const hvi_status status = check(p, path, err);
  if (status)
    dlclose(handle);
  else
    *problem = &p->problem;
  return status;
}
