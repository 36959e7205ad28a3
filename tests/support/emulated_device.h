/*
 * A device (gpu/device.h) in plain loops, to try a gang of networks on without one. It insists on the
 * contract: one caller at a time, zeros where rows are filled up, jobs that come back unchanged, and
 * nothing left when it is closed; where that is broken the program ends.
 *
 * Rows that jobs say are the same each time it reads once, and insists that they stay so.
 *
 * Memory, where it has an end, is taken as on a GPU: by a network, by the most rows that it ever had, of each
 * kind of inputs and in all, and during a run by the values of the job that has most of them.
 */
#pragma once

#include "gpu/device.h"

typedef struct emulation {
  size_t fail_at;    /* the run that fails, from 1 on; 0: none */
  size_t fail_call;  /* the same, of all calls that can fail: networks and states too */
  size_t memory;     /* bytes; 0: without end */
  size_t runs;       /* so far */
  size_t calls;      /* so far */
  size_t refused;    /* of them, for lack of memory */
  size_t most_nets;  /* at a time */
  size_t most_jobs;  /* of a run */
  size_t joined;     /* runs of descents that had begun together with others that had not */
  size_t sent;       /* jobs that brought parameters */
  size_t brought;    /* jobs that brought rows */
  size_t trainers;   /* that are there */
  const char *level; /* what it calls its bits; NULL: "emulated" */
} emulation;

/* Zero it, or set what is to be set, while no device is open, and read it afterwards. */
extern emulation emulated;

const hvi_device_functions *emulated_device(void);
const struct hvi_device_sac_functions *emulated_sac(void); /* emulated_sac.c */

/* Bytes of a network, of its rows with one kind of inputs, of such inputs alone, and of the values of a step. */
size_t emulated_net_bytes(const hvi_device_shape *s);
size_t emulated_row_bytes(const hvi_device_shape *s, size_t rows);
size_t emulated_input_bytes(const hvi_device_shape *s, size_t rows);
size_t emulated_step_bytes(const hvi_device_shape *s, size_t rows);
