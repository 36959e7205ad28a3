/*
 * A device (gpu/device.h) in plain loops, to try a gang of networks on without one. It insists on the
 * contract: one caller at a time, zeros where rows are filled up, jobs that come back unchanged, and
 * nothing left when it is closed; where that is broken the program ends.
 */
#pragma once

#include "gpu/device.h"

typedef struct emulation {
  size_t fail_at;    /* the run that fails, from 1 on; 0: none */
  size_t runs;       /* so far */
  size_t most_jobs;  /* of a run */
  size_t joined;     /* runs of descents that had begun together with others that had not */
  size_t sent;       /* jobs that brought parameters */
  const char *level; /* what it calls its bits; NULL: "emulated" */
} emulation;

/* Zero it, or set what is to be set, while no device is open, and read it afterwards. */
extern emulation emulated;

const hvi_device_functions *emulated_device(void);
