/*
 * Networks that learn side by side on a device (gpu/device.h).
 *
 * Each evaluation is a thread that runs the ordinary solver. What its network computes goes to the
 * device: the thread posts a job and waits. One thread of the gang hands all jobs that wait, of one
 * kind and shape, to the device together; descents that take longer than others go on while new ones
 * join. So the solver, its checkpoints and every method are the same code on both, and a device is
 * busy as long as any thread has something to compute.
 *
 * There may be more members than the device has memory for: some are put aside in turns, and compute the
 * same bits. Only what does not fit there alone is a failure.
 *
 * A device that fails takes the gang with it: from then on nothing more is computed, outputs are NaN,
 * parameters and states stay what they are, and hvi_gang_failure tells why. Whoever runs the solver
 * asks after each step, and goes back to the last checkpoint.
 */
#pragma once

#include "gpu/device.h"
#include "net/net.h"

typedef struct hvi_gang hvi_gang;     /* shared by all threads */
typedef struct hvi_member hvi_member; /* one network; of one thread at a time */

/* Opens module `gpu`, or takes other functions (an emulation), and starts the gang's thread.
 * HVI_ERROR_UNSUPPORTED, with a line that says what is missing, where there is no device. */
hvi_status hvi_gang_open(hvi_gang **gang, hvi_device_precision precision, hvi_error *err);
hvi_status hvi_gang_open_with(hvi_gang **gang, const hvi_device_functions *functions,
                              hvi_device_precision precision, hvi_error *err);
/* After its members are gone. NULL is fine. */
void hvi_gang_close(hvi_gang *gang);
/* "NVIDIA H200 ..." and the level that checkpoints carry. */
const hvi_device_about *hvi_gang_about(const hvi_gang *gang);
/* HVI_OK, or why the device no longer computes; HVI_ERROR_MEMORY: it has no room for one member alone. */
hvi_status hvi_gang_failure(hvi_gang *gang, hvi_error *err);
/* Seconds that the device has computed, and that it had nothing to do while members existed. */
void hvi_gang_seconds(hvi_gang *gang, double *busy, double *idle);

/* The device, for calls by the caller's own thread while there are no members. What they return goes through
 * `note`: a failure of theirs is the gang's. */
const hvi_device_functions *hvi_gang_device(const hvi_gang *gang, hvi_device **device);
hvi_status hvi_gang_note(hvi_gang *gang, hvi_status status, const hvi_error *err);

/* Whether a device can compute this network: one output, activations that it knows, nothing fixed. */
bool hvi_gang_fits(const hvi_net *net);
hvi_status hvi_member_new(hvi_member **m, hvi_gang *gang, const hvi_net *net, hvi_error *err);
void hvi_member_free(hvi_member *m);
hvi_gang *hvi_member_gang(const hvi_member *m);
/* Seconds of the device that this member has used; 0 for NULL. */
double hvi_member_seconds(const hvi_member *m);

/* Rows of inputs. Those that are the same each time are laid out once, and x is not looked at again. */
typedef struct hvi_inputs {
  const float *x; /* [rows][row]; NULL: they are where hvi_member_inputs told */
  size_t row, rows;
  hvi_device_rows whose;
} hvi_inputs;

/* Where so many rows are to be laid out, `row` numbers apart, for the next call: states are then gathered
 * in place. NULL: these rows are there, or the device has failed. */
float *hvi_member_inputs(hvi_member *m, hvi_device_rows whose, size_t rows, size_t *row);
/* theta[net->dim], y[rows]: outputs, J'u and J v. */
void hvi_member_eval(hvi_member *m, const double *theta, const hvi_inputs *in, double *y);
void hvi_member_pull(hvi_member *m, const double *theta, const hvi_inputs *in, const double *u,
                     double *gradient);
void hvi_member_push(hvi_member *m, const double *theta, const hvi_inputs *in, const double *v,
                     double *y);

/* A descent from theta, which becomes where it ended, in the digits of floats; without a step it stays
 * what it is. y[rows]: the outputs there. The optimizer's state stays on the device until it is read. */
void hvi_member_descend(hvi_member *m, double *theta, const hvi_inputs *in, hvi_device_descent *d,
                        double *y);
/* The state {beta1^k, beta2^k, m[dim], v[dim]}, as Adam's of inner/optimizers.c; momentum has m alone,
 * and NULL in place of the others. After a `put` the next descent goes on from it. */
void hvi_member_move_state(hvi_member *m, double *power, double *first, double *second, bool put);
