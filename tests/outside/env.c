/* An outside program that makes an environment of a module. */
#include <hvi/env.h>

#include <stdio.h>

int main(void) {
  hvi_env *env = NULL;
  hvi_error err;
  if (hvi_env_new(&env, "ant", &err)) return puts(err.text), 1;
  hvi_rng rng = hvi_rng_new(1, "outside", 0);
  const double action[8] = {0.0};
  hvi_env_reset(env, &rng);
  const hvi_transition first = hvi_env_step(env, action, NULL);
  printf("%s: %zu numbers, reward %.17g\n", env->name, env->obs, first.reward);
  hvi_env_free(env);
  return 0;
}
