/*
 * NumPy's .npz files, which are zip archives of .npy files, stored or deflated; and folders of .npy
 * files. Both become tensors under the names of their arrays.
 *
 * The readers treat a file as hostile: the number of arrays, their sizes, what compression can make
 * of the bytes there are, and the sum of all are checked before memory is taken. Nothing is written
 * anywhere, so that names may hold what they like.
 */
#pragma once

#include <hvi/tensors.h>

/* Files over max_bytes, and archives that become more than that, are refused; 0: the memory of the
 * machine. */
hvi_status hvi_npz_read(hvi_tensors **t, const char *path, size_t max_bytes, hvi_error *err);
/* The same from the bytes of a file; `name` is for the error text. */
hvi_status hvi_npz_decode(hvi_tensors **t, const unsigned char *bytes, size_t size,
                          size_t max_bytes, const char *name, hvi_error *err);
hvi_status hvi_npy_folder_read(hvi_tensors **t, const char *path, size_t max_bytes, hvi_error *err);
