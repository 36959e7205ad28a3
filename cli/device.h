/* The device that networks learn on: the options of commands that can use one, and opening it. */
#pragma once

#include "args.h"
#include "gpu/gang.h"

typedef enum hvi_device_asked { HVI_ON_CPU, HVI_ON_GPU, HVI_ON_EITHER } hvi_device_asked;

typedef struct hvi_device_options {
  hvi_device_asked asked;
  hvi_device_precision precision;
} hvi_device_options;

/* Adds --device and --device-precision, except for one that `left_out` names. */
void hvi_args_device(hvi_args *args, hvi_device_options *o, const char *left_out);
/* *gang is NULL where the CPU is to be used. `useless`: why a device would be; NULL: it is of use.
 * Returns an exit code. */
int hvi_device_open(hvi_gang **gang, const hvi_device_options *o, const char *useless);
/* Closes one that has no room for the work, where it may be the CPU instead; its members are gone. */
bool hvi_device_dismiss(hvi_gang **gang, const hvi_device_options *o);
/* For a call that has failed: a device that was lost is told with how to go on. */
hvi_status hvi_device_lost(hvi_gang *const *gang, hvi_status status);
