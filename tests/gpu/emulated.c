/*
 * The whole of hvi-gpu-check on the emulated device: that it can pass; and on one with a planted fault,
 * that it fails.
 *
 *   gpu_check_emulated [FAULT] [OPTION of hvi-gpu-check]...
 */
#include "base/base.h"
#include "gpu/sac.h"
#include "options.h"
#include "support/emulated_device.h"

static const char *fault = "";
static hvi_device_functions faulty;
static hvi_device_sac_functions faulty_sac;

static bool is(const char *name) { return strcmp(fault, name) == 0; }

/* Where the fault shows in a job that has just been run with others; `before`: steps until then. */
static void spoil(hvi_device_kind kind, hvi_device_job *job, size_t jobs, size_t steps) {
  const bool descent = kind == HVI_DEVICE_DESCEND;
  if (!job->done) return;
  if (is("outputs") && kind == HVI_DEVICE_EVAL) job->y[job->rows - 1] *= 1.001F;
  if (is("gradient") && kind == HVI_DEVICE_PULL)
    job->result[0] += 0.01F * fabsf(job->result[0]) + 0.01F;
  if (is("tangent") && kind == HVI_DEVICE_PUSH) job->y[0] = -job->y[0];
  if (is("loss") && descent) job->descent.loss *= 1.0001;
  if (is("others") && jobs > 1 && kind == HVI_DEVICE_EVAL) job->y[0] = nextafterf(job->y[0], 9.0F);
  if (is("chunks") && descent && steps == 3) job->result[0] = nextafterf(job->result[0], 9.0F);
  if (is("kept") && job->whose) job->y[0] = nextafterf(job->y[0], 9.0F);
  if (is("goal") && descent && job->descent.goal > -INFINITY) job->descent.steps++;
}

static hvi_status run(hvi_device *d, hvi_device_kind kind, hvi_device_job *const *jobs,
                      size_t count, size_t steps, hvi_error *err) {
  const hvi_status status = emulated_device()->run(d, kind, jobs, count, steps, err);
  for (size_t i = 0; i < count; i++) spoil(kind, jobs[i], count, steps);
  return status;
}

/* The state that is kept has lost an average. */
static hvi_status move_state(hvi_device_net *net, bool put, double power[2], float *m, float *v,
                             hvi_error *err) {
  return emulated_device()->move_state(net, put, power, m, put && is("state") ? m : v, err);
}

/* The emulation has the host's memory, and ends where that does. */
static hvi_status net_new(hvi_device_net **net, hvi_device *d, const hvi_device_shape *shape,
                          hvi_error *err) {
  const hvi_device_shape small = {.layer_count = 1, .width = {1, 1}};
  if (hvi_device_numbers(shape) < 100000000) return emulated_device()->net_new(net, d, shape, err);
  if (is("memory")) return emulated_device()->net_new(net, d, &small, err);
  return hvi_error_memory(err, "a network on the device");
}

/* A number of a slow copy is wrong. */
static hvi_status move_sac(hvi_device_sac *s, size_t i, bool put, hvi_error *err) {
  const hvi_status status = emulated_sac()->move(s, i, put, err);
  if (is("sac") && !put) s->of[i].critics[1][3][0] += 0.1F;
  return status;
}

static hvi_status make_sac(hvi_device_sac **s, hvi_device *d, const hvi_device_sac_shape *shape,
                           size_t count, hvi_error *err) {
  const hvi_status status = emulated_sac()->make(s, d, shape, count, err);
  if (!status) (*s)->functions = &faulty_sac;
  return status;
}

int main(int argc, char **argv) {
  check_options options = {0};
  bool wanted[PRECISIONS] = {false};
  if (argc > 1 && argv[1][0] != '-') {
    fault = argv[1];
    argv++, argc--;
  }
  if (!options_read(&options, wanted, argc, argv)) return 2;
  faulty = *emulated_device();
  faulty.run = run;
  faulty.net_new = net_new;
  faulty.move_state = move_state;
  faulty_sac = *emulated_sac();
  faulty_sac.make = make_sac;
  faulty_sac.move = move_sac;
  faulty.sac = &faulty_sac;
  options.functions = &faulty;
  return options_run(&options, wanted);
}
