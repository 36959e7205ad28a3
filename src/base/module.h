/*
 * Modules: shared libraries that are loaded when something in them is asked for, so that libhvi
 * itself links nothing they need.
 *
 * Module NAME is the file libhvi_NAME.so. It is looked for beside the program, then in LIBDIR/hvi
 * (from where libhvi.so lies, or from the program that contains libhvi), then in the folders of
 * HVI_MODULE_PATH; the first file with that name counts. A module calls nothing of whoever loads
 * it: the few functions of libhvi that it uses are compiled into it. Nothing is remembered here,
 * and a module stays loaded until the process ends.
 */
#pragma once

#include <hvi/error.h>

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* Raised when this struct or a table of functions behind it changes. */
enum { HVI_MODULE_ABI = 5 };

/* What a module exports, under the name hvi_module_table, and nothing else. */
typedef struct hvi_module {
  unsigned abi; /* HVI_MODULE_ABI */
  const char *name;
  const char *(*version)(void); /* of hvi; that of the program must be the same */
  const char *needs;            /* the library that it stands on, and which of its versions */
  const char *(*needs_version)(void);
  /* Called each time that the module is opened, by any thread. NULL: there is nothing to do. */
  hvi_status (*start)(hvi_error *err);
  const void *functions; /* a table whose type the users of the module know */
} hvi_module;

/* Finds, loads, checks and starts a module. HVI_ERROR_UNSUPPORTED, with where it was looked for or
 * what is wrong with it, when it cannot be had. Any thread may call it. */
hvi_status hvi_module_open(const hvi_module **module, const char *name, hvi_error *err);

/* Loads any shared library by its path, which has a '/'; a file that is damaged is refused. */
hvi_status hvi_module_load(void **handle, const char *path, hvi_error *err);
/* The folder that the program lies in; false, and an empty text, where the system does not tell. */
bool hvi_program_folder(char folder[PATH_MAX]);

/* The file that an open module comes from. */
const char *hvi_module_path(const hvi_module *module);
