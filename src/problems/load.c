/* A problem from a file of any kind: its keys say which. */
#include "base/error.h"
#include "base/yaml_tree.h"
#include "problems/document.h"
#include "problems/games/file.h"
#include "problems/mdp/mdp.h"

#include <hvi/builtin.h>

typedef enum kind { GAME, PROCESS, NEITHER } kind;

static kind kind_of(const hvi_node *root) {
  static const char *const process[] = {"transitions", "transitions_file", "states",
                                        "rewards",     "rewards_file",     NULL};
  static const char *const game[] = {"players", "payoffs", NULL};
  for (size_t k = 0; game[k]; k++) {
    if (hvi_node_get(root, game[k])) return GAME;
  }
  for (size_t k = 0; process[k]; k++) {
    if (hvi_node_get(root, process[k])) return PROCESS;
  }
  return NEITHER;
}

static hvi_status load_process(hvi_problem **problem, const hvi_document *d, uint64_t seed,
                               uint64_t instance, hvi_error *err) {
  hvi_mdp *mdp;
  bool trajectory = false;
  hvi_status status = hvi_mdp_parse(&mdp, &trajectory, d->text, d->name, d->folder, err);
  if (status) return status;
  if (instance > 0) hvi_mdp_draw_start(mdp, seed, instance);
  if (!trajectory) return hvi_mdp_problem_new(problem, mdp, err);
  const hvi_trajectory_settings s = hvi_trajectory_defaults(mdp);
  return hvi_trajectory_problem_new(problem, mdp, &s, err);
}

static hvi_status load(hvi_problem **problem, const hvi_document *d, uint64_t seed,
                       uint64_t instance, hvi_error *err) {
  hvi_tree *tree;
  hvi_status status = hvi_tree_parse(&tree, d->text, d->name, err);
  if (status) return status;
  const hvi_node *root = hvi_tree_root(tree);
  const unsigned line = root->line;
  const kind k = root->kind == HVI_NODE_MAP ? kind_of(root) : NEITHER;
  hvi_tree_free(tree);
  if (k == GAME) return hvi_game_parse(problem, d->text, d->name, d->folder, seed, instance, err);
  if (k == PROCESS) return load_process(problem, d, seed, instance, err);
  return hvi_error_set(err, HVI_ERROR_INPUT,
                       "%s:%u: a problem has 'players' (a game) or 'transitions' (a Markov "
                       "process), and this has neither",
                       d->name, line);
}

hvi_status hvi_problem_load(hvi_problem **problem, const char *path, uint64_t seed,
                            uint64_t instance, hvi_error *err) {
  if (!problem || !path)
    return hvi_error_set(err, HVI_ERROR_ARGUMENT, "hvi_problem_load: a null pointer");
  *problem = NULL;
  hvi_document d;
  hvi_status status = hvi_document_read(&d, path, err);
  if (status) return status;
  status = load(problem, &d, seed, instance, err);
  hvi_document_free(&d);
  return status;
}
