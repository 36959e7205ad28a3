/* Problem files: parsed once, and made into what their keys say; and code from outside: found in a
 * shared library, and checked before it is used. */
#include "base/base.h"
#include "base/module.h"
#include "problems/document.h"
#include "problems/mdp/mdp.h"
#include "problems/options.h"

#include <hvi/plugin.h>

#include <dlfcn.h>
#include <limits.h>

enum { LONGEST_NAME = 120 };
static const size_t largest_file = (size_t)16 << 20;

hvi_status hvi_document_parse(hvi_document *d, const char *text, const char *name,
                              const char *folder, hvi_error *err) {
  *d = (hvi_document){.name = name, .folder = folder};
  const hvi_status status = hvi_tree_parse(&d->tree, text, name, err);
  if (!status) d->root = d->tree->root;
  return status;
}

hvi_status hvi_document_read(hvi_document *d, const char *path, hvi_error *err) {
  HVI_OWN char *text = NULL;
  const char *name = path, *folder = ".";
  char *copy = hvi_copy_text(path);
  *d = (hvi_document){0};
  if (!copy) return hvi_error_memory(err, "a path");
  char *slash = strrchr(copy, '/');
  if (slash) {
    slash[slash == copy] = '\0';
    folder = copy;
    /* a long path would crowd out the rest of an error text */
    if (strlen(path) > LONGEST_NAME) name = strrchr(path, '/') + 1;
  }
  hvi_status status = hvi_file_read_text(&text, path, largest_file, err);
  if (!status) status = hvi_document_parse(d, text, name, folder, err);
  d->path = copy;
  if (status) hvi_document_free(d);
  return status;
}

void hvi_document_free(hvi_document *d) {
  hvi_tree_free(d->tree);
  hvi_free(d->path);
  *d = (hvi_document){0};
}

static hvi_status load_process(hvi_problem **problem, const hvi_document *d, uint64_t seed,
                               uint64_t instance, hvi_error *err) {
  hvi_mdp *mdp;
  bool trajectory = false;
  HVI_TRY(hvi_mdp_read(&mdp, &trajectory, d, err));
  if (instance > 0) hvi_mdp_draw_start(mdp, seed, instance);
  if (!trajectory) return hvi_mdp_problem_new(problem, mdp, err);
  const hvi_trajectory_settings s = hvi_trajectory_defaults(mdp);
  return hvi_trajectory_problem_new(problem, mdp, &s, err);
}

/* Whether a map has one of the keys, which have blanks between. */
static bool has_any(const hvi_node *root, const char *keys) {
  const hvi_node *n = root->kind == HVI_NODE_MAP ? root->first : NULL;
  while (n && !hvi_words_have(keys, n->key)) n = n->next;
  return n != NULL;
}

static hvi_status load(hvi_problem **problem, const hvi_document *d, uint64_t seed,
                       uint64_t instance, hvi_error *err) {
  static const char process[] = "transitions transitions_file states rewards rewards_file";
  if (has_any(d->root, "players payoffs")) return hvi_game_read(problem, d, seed, instance, err);
  if (has_any(d->root, process)) return load_process(problem, d, seed, instance, err);
  return hvi_error_line(err, d->name, d->root->line,
                        "a problem has 'players' (a game) or 'transitions' (a Markov "
                        "process), and this has neither");
}

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

static hvi_status load_code(hvi_problem **problem, const char *path, uint64_t seed,
                            uint64_t instance, hvi_error *err) {
  const hvi_builtin *b;
  if (path[strlen(path) - 1] == 'c')
    return hvi_error_unsupported(
        err, "'%s' is a C file: the program hvi compiles it, the library loads a .so", path);
  HVI_TRY(hvi_plugin_load(&b, path, err));
  return hvi_builtin_make(problem, b, NULL, 0, seed, instance, err);
}

hvi_status hvi_problem_load(hvi_problem **problem, const char *path, uint64_t seed,
                            uint64_t instance, hvi_error *err) {
  if (!problem || !path) return hvi_error_argument(err, "hvi_problem_load: a null pointer");
  *problem = NULL;
  if (hvi_names_code(path)) return load_code(problem, path, seed, instance, err);
  HVI_OWN_BY(hvi_document_free) hvi_document d = {0};
  HVI_TRY(hvi_document_read(&d, path, err));
  return load(problem, &d, seed, instance, err);
}

hvi_status hvi_problem_parse(hvi_problem **problem, const char *text, const char *name,
                             const char *folder, uint64_t seed, uint64_t instance, hvi_error *err) {
  if (!problem || !text || !name)
    return hvi_error_argument(err, "hvi_problem_parse: a null pointer");
  *problem = NULL;
  HVI_OWN_BY(hvi_document_free) hvi_document d = {0};
  HVI_TRY(hvi_document_parse(&d, text, name, folder, err));
  return load(problem, &d, seed, instance, err);
}
