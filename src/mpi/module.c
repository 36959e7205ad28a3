/* The module `mpi`: messages between the processes that mpirun starts. */
#include "base/module.h"
#include "base/base.h"
#include "base/ranks.h"

#include <hvi/version.h>
#include <mpi.h>

#include <limits.h>

enum { TAG = 1 };

static hvi_status check(int code, const char *what, hvi_error *err) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  if (code == MPI_SUCCESS) return HVI_OK;
  MPI_Error_string(code, text, &length);
  return hvi_error_io(err, "MPI cannot %s: %.*s", what, length, text);
}

static hvi_status join(size_t *rank, size_t *count, hvi_error *err) {
  int got = 0, me = 0, all = 0;
  HVI_TRY(check(MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &got), "start", err));
  if (got < MPI_THREAD_SERIALIZED)
    return hvi_error_unsupported(err, "this MPI cannot be called by several threads in turn");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  HVI_TRY(check(MPI_Comm_rank(MPI_COMM_WORLD, &me), "tell the rank", err));
  HVI_TRY(check(MPI_Comm_size(MPI_COMM_WORLD, &all), "count ranks", err));
  *rank = (size_t)me;
  *count = (size_t)all;
  return HVI_OK;
}

static hvi_status send_letter(const hvi_letter *l, hvi_error *err) {
  const size_t size = sizeof l->head + l->size;
  HVI_OWN char *all = size > INT_MAX ? NULL : hvi_alloc(size, 1);
  if (!all) return hvi_error_memory(err, "a message to another rank");
  memcpy(all, &l->head, sizeof l->head);
  if (l->size) memcpy(all + sizeof l->head, l->bytes, l->size);
  return check(MPI_Send(all, (int)size, MPI_BYTE, (int)l->rank, TAG, MPI_COMM_WORLD), "send", err);
}

static hvi_status receive(hvi_letter *l, bool *found, hvi_error *err) {
  MPI_Status status;
  int there = 0, size = 0;
  HVI_TRY(check(MPI_Iprobe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &there, &status), "look", err));
  *found = there;
  if (!there) return HVI_OK;
  MPI_Get_count(&status, MPI_BYTE, &size);
  HVI_OWN char *all = hvi_alloc((size_t)size + 1, 1);
  if (!all) return hvi_error_memory(err, "a message of another rank");
  HVI_TRY(check(MPI_Recv(all, size, MPI_BYTE, status.MPI_SOURCE, TAG, MPI_COMM_WORLD, &status),
                "receive", err));
  if ((size_t)size < sizeof l->head) return hvi_error_io(err, "MPI: a message is cut short");
  l->rank = (size_t)status.MPI_SOURCE;
  l->size = (size_t)size - sizeof l->head;
  memcpy(&l->head, all, sizeof l->head);
  memmove(all, all + sizeof l->head, l->size + 1);
  HVI_GIVE(&l->bytes, all);
}

static void leave(void) { MPI_Finalize(); }

static const char *needs_version(void) {
  static char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  text[strcspn(text, ",\n")] = '\0';
  return text;
}

static const hvi_ranks_functions functions = {join, send_letter, receive, leave};

HVI_API const hvi_module hvi_module_table = {HVI_MODULE_ABI, "mpi", hvi_version, "MPI",
                                             needs_version,  NULL,  &functions};
