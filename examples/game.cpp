// From C++: rock, paper, scissors between two players, each a softmax over a matrix times its own
// parameters. Handles own what the library makes, a lambda watches the solve, and an error of the
// library becomes an exception here, outside of it.
//
//   make game && ./game
#include <hvi/hvi.h>

#include <array>
#include <cstdio>
#include <memory>
#include <stdexcept>

namespace {

template <auto release> struct Free {
  template <class T> void operator()(T *p) const { release(p); }
};
using Problem = std::unique_ptr<hvi_problem, Free<hvi_problem_free>>;
using Solver = std::unique_ptr<hvi_solver, Free<hvi_solver_free>>;

// Calls the library with room for its error, and throws what it says.
template <class Call> void check(Call &&call) {
  hvi_error err;
  if (call(&err) != HVI_OK) throw std::runtime_error(err.text);
}

hvi_model *softmax_of(const std::array<double, 6> &matrix) {
  hvi_layer layer = {};
  layer.out = 3;
  layer.matrix = matrix.data();
  layer.activation = HVI_SOFTMAX;
  hvi_stack_spec spec = {};
  spec.in = 2;
  spec.rows = 1;
  spec.layer_count = 1;
  spec.layers = &layer;
  hvi_model *model = nullptr;
  check([&](hvi_error *err) { return hvi_stack_new(&model, &spec, err); });
  return model;
}

Problem rock_paper_scissors() {
  const std::array<double, 9> loss = {0, 1, -1, -1, 0, 1, 1, -1, 0};
  const std::array<double, 2> start[2] = {{0.5, -0.3}, {-0.2, 0.4}};
  hvi_player players[2] = {};
  for (int i = 0; i < 2; i++) {
    players[i].model = softmax_of({1, 0, -0.5, 1, 0, -1}); // taken over by the game
    players[i].theta0 = start[i].data();
    players[i].set = HVI_SET_SIMPLEX;
    players[i].weight = 0.2;
  }
  // zero-sum: what the second loses is minus the transpose, which is the same matrix here
  const hvi_payoff payoffs[2] = {{0, 1, loss.data()}, {1, 0, loss.data()}};
  hvi_game_spec spec = {};
  spec.player_count = 2;
  spec.players = players;
  spec.payoff_count = 2;
  spec.payoffs = payoffs;
  hvi_problem *game = nullptr;
  check([&](hvi_error *err) { return hvi_game_new(&game, &spec, err); });
  return Problem(game);
}

// Any callable as an observer. No exception may leave it: there is C on the way.
template <class Watch> void watch_by(hvi_settings &s, Watch &watch) {
  s.observer_context = &watch;
  s.observe = [](void *context, const hvi_record *row) {
    return (*static_cast<Watch *>(context))(*row);
  };
}

void solve() {
  const Problem game = rock_paper_scissors();
  double first = 0.0;
  auto watch = [&first](const hvi_record &row) {
    if (row.outer == 0) first = row.residual;
    return row.outer < 1000; // false stops the solve
  };
  hvi_settings s = hvi_settings_defaults();
  watch_by(s, watch);
  hvi_solver *made = nullptr;
  check([&](hvi_error *err) { return hvi_solver_new(&made, game.get(), &s, err); });
  const Solver solver(made);
  hvi_solver_run(solver.get());
  const hvi_info info = hvi_solver_info(solver.get());
  std::printf("%s; the residual was %.4f at first\n", hvi_outcome_name(info.outcome), first);
  for (std::size_t i = 0; i < 2; i++)
    std::printf("player %zu: %.4f %.4f %.4f\n", i + 1, info.last.z[3 * i], info.last.z[3 * i + 1],
                info.last.z[3 * i + 2]);
}

} // namespace

int main() try {
  solve();
  return 0;
} catch (const std::exception &e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
