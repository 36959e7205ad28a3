/*
 * MuJoCo, kept from doing harm: models from memory, and calls that come back with an error where
 * the library would wait for a key and end the program.
 */
#ifndef HVI_RL_MUJOCO_H
#define HVI_RL_MUJOCO_H

#include <hvi/error.h>

#include <mujoco/mujoco.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* Runs call(context). False when MuJoCo raised an error, which is then in text[size]: the mjData it
 * worked on must be reset or freed. Warnings inside are silent; MuJoCo counts them in mjData. */
bool hvi_mujoco_guard(void (*call)(void *context), void *context, char *text, size_t size);

/* A compiled model, constant and shared by the environments that use it. */
typedef struct hvi_mujoco_model {
  mjModel *model;
  atomic_size_t users;
} hvi_mujoco_model;

/* Compiles MJCF text; `name` is for the error. The caller is its first user. */
hvi_status hvi_mujoco_load(hvi_mujoco_model **model, const char *name, const char *xml,
                           hvi_error *err);
void hvi_mujoco_share(hvi_mujoco_model *model);
/* The last user to leave frees it. */
void hvi_mujoco_leave(hvi_mujoco_model *model);

/* A simulation of the model, in its initial state; mj_deleteData frees it. */
hvi_status hvi_mujoco_data(mjData **data, const hvi_mujoco_model *model, hvi_error *err);

#endif
