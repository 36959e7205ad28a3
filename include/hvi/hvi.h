/* Everything libhvi offers. Each header can also be read and included alone. */
#ifndef HVI_HVI_H
#define HVI_HVI_H

#include <hvi/activation.h>
#include <hvi/builtin.h>
#include <hvi/check.h>
#include <hvi/collector.h>
#include <hvi/ensemble.h>
#include <hvi/env.h>
#include <hvi/error.h>
#include <hvi/evaluate.h>
#include <hvi/game.h>
#include <hvi/mdp.h>
#include <hvi/mlp.h>
#include <hvi/model.h>
#include <hvi/optimizer.h>
#include <hvi/performative.h>
#include <hvi/plugin.h>
#include <hvi/policy.h>
#include <hvi/problem.h>
#include <hvi/rng.h>
#include <hvi/rollout.h>
#include <hvi/sac.h>
#include <hvi/setting.h>
#include <hvi/solver.h>
#include <hvi/sparse.h>
#include <hvi/surrogate.h>
#include <hvi/tensors.h>
#include <hvi/testset.h>
#include <hvi/theory.h>
#include <hvi/value.h>
#include <hvi/version.h>

#endif
