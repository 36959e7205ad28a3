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

static hvi_status send_bytes(size_t to, const void *bytes, size_t size, hvi_error *err) {
  if (size > INT_MAX)
    return hvi_error_unsupported(err, "a unit of %zu bytes is too long for a message", size);
  return check(MPI_Send(bytes, (int)size, MPI_BYTE, (int)to, TAG, MPI_COMM_WORLD), "send", err);
}

static bool probe(size_t *from, size_t *size) {
  MPI_Status status;
  int there = 0, count = 0;
  if (MPI_Iprobe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &there, &status) != MPI_SUCCESS || !there)
    return false;
  MPI_Get_count(&status, MPI_BYTE, &count);
  *from = (size_t)status.MPI_SOURCE;
  *size = (size_t)count;
  return true;
}

static hvi_status receive(size_t from, void *bytes, size_t size, hvi_error *err) {
  return check(
      MPI_Recv(bytes, (int)size, MPI_BYTE, (int)from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
      "receive", err);
}

static void leave(void) { MPI_Finalize(); }

static const char *needs_version(void) {
  static char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  text[strcspn(text, ",\n")] = '\0';
  return text;
}

static const hvi_ranks_functions functions = {join, send_bytes, probe, receive, leave};

HVI_API const hvi_module hvi_module_table = {HVI_MODULE_ABI, "mpi", hvi_version, "MPI",
                                             needs_version,  NULL,  &functions};
