#include "io/npz.h"

#include "base/base.h"
#include "base/file.h"
#include "base/number.h"
#include "io/npy.h"
#include "io/tensors_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zip.h>

enum { MOST_ARRAYS = 10000, MOST_NOTE = 1000, OWNED = 3 }; /* of an array: name, numbers, note */
/* What deflate can make of a byte, and of nothing. */
enum { MOST_RATIO = 1040, MOST_OF_NOTHING = 1024 };

HVI_RELEASE(hvi_tensors)

static hvi_status new_store(hvi_tensors **out, size_t most, hvi_error *err) {
  hvi_tensors_owner *s = hvi_alloc(1, sizeof *s);
  if (!s) return hvi_error_memory(err, "a list of arrays");
  *out = &s->tensors;
  s->tensors.owned = s;
  s->tensors.items = hvi_alloc(most, sizeof *s->tensors.items);
  s->tensors.notes = hvi_alloc(most, sizeof *s->tensors.notes);
  s->owned = hvi_alloc(most, OWNED * sizeof *s->owned);
  if (s->tensors.items && s->tensors.notes && s->owned) return HVI_OK;
  hvi_tensors_free(*out);
  *out = NULL;
  return hvi_error_memory(err, "a list of arrays");
}

/* From here on the store frees it. */
static void *own(hvi_tensors *t, void *block) {
  hvi_tensors_owner *s = t->owned;
  if (block) s->owned[s->owned_count++] = block;
  return block;
}

/* A single text, <U5 (four bytes a letter) or |S5, in printable ASCII; false: it is none. */
static bool read_text(char text[MOST_NOTE], const hvi_tensor *x, const char *descr, size_t there) {
  const size_t width = strncmp(descr, "<U", 2) == 0 ? 4 : strncmp(descr, "|S", 2) == 0 ? 1 : 0;
  const unsigned char *p = x->data;
  if (x->dims > 0 || width == 0) return false;
  size_t n = strtoul(descr + 2, NULL, 10);
  if (n > there / width) n = there / width;
  if (n > MOST_NOTE - 1) n = MOST_NOTE - 1;
  for (size_t i = 0; i < n; i++) {
    bool plain = p[width * i] >= ' ' && p[width * i] <= '~';
    for (size_t k = 1; k < width; k++) plain = plain && p[width * i + k] == 0;
    text[i] = plain ? (char)p[width * i] : p[width * i] ? '?' : '\0';
  }
  text[n] = '\0';
  return true;
}

/* A single number or text, and what an array lacks, become notes. */
static hvi_status add_note(hvi_tensors *t, const hvi_tensor *x, const char *descr, size_t there,
                           hvi_error *err) {
  char text[MOST_NOTE];
  double number;
  if (x->type == HVI_TENSOR_TYPE_COUNT && !read_text(text, x, descr, there))
    snprintf(text, sizeof text, "an array of type '%s', which is not read", descr);
  else if (x->type != HVI_TENSOR_TYPE_COUNT && x->dims > 0)
    return HVI_OK;
  else if (x->type != HVI_TENSOR_TYPE_COUNT) {
    hvi_tensor_load(&number, x->type, x->data, 1);
    hvi_number_format(text, number);
  }
  const char *copy = own(t, hvi_copy_text(text));
  if (!copy) return hvi_error_memory(err, "a note");
  t->notes[t->note_count++] = (hvi_tensor_note){x->name, copy};
  return HVI_OK;
}

/* Takes over the bytes of a .npy file. `name` ends in .npy; file: what contains it. */
static hvi_status add_array(hvi_tensors *t, const char *name, unsigned char *bytes, size_t size,
                            const hvi_subject *file) {
  char subject[sizeof file->err->text], descr[HVI_NPY_DESCR];
  own(t, bytes);
  char *own_name = own(t, hvi_copy_text(name));
  if (!own_name) return hvi_error_memory(file->err, "the name of an array");
  own_name[strlen(name) - 4] = '\0';
  hvi_tensor x = {.name = own_name};
  snprintf(subject, sizeof subject, "%.400s': '%.80s", file->name, name);
  const hvi_subject f = {subject, HVI_ERROR_INPUT, file->err};
  for (size_t i = 0; i < t->count; i++)
    if (strcmp(t->items[i].name, own_name) == 0) return hvi_refuse(&f, " is there twice");
  HVI_TRY(hvi_npy_tensor(&x, descr, bytes, size, subject, file->err));
  const size_t there = size - (size_t)((const unsigned char *)x.data - bytes);
  HVI_TRY(add_note(t, &x, descr, there, file->err));
  if (x.type == HVI_TENSOR_TYPE_COUNT) return HVI_OK;
  t->items[t->count++] = x;
  return hvi_tensor_check_bools(&x, file);
}

static bool is_npy(const char *name) {
  const size_t length = strlen(name);
  return length > 4 && strcmp(name + length - 4, ".npy") == 0;
}

/* Archives */

static void close_archive(zip_t **z) {
  if (*z) zip_discard(*z);
}

static void close_member(zip_file_t **f) {
  if (*f) zip_fclose(*f);
}

static hvi_status check_member(const zip_stat_t *st, size_t *left, const hvi_subject *f) {
  const zip_uint64_t needed =
      ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
  if ((st->valid & needed) != needed) return hvi_refuse(f, " has a member without name or size");
  if ((st->valid & ZIP_STAT_ENCRYPTION_METHOD) && st->encryption_method != ZIP_EM_NONE)
    return hvi_refuse(f, ": '%.80s' is encrypted", st->name);
  if (st->comp_method != ZIP_CM_STORE && st->comp_method != ZIP_CM_DEFLATE)
    return hvi_refuse(f, ": '%.80s' is compressed by method %d; NumPy stores or deflates", st->name,
                      st->comp_method);
  if (st->size > MOST_OF_NOTHING && (st->size - MOST_OF_NOTHING) / MOST_RATIO > st->comp_size)
    return hvi_refuse(f, ": '%.80s' announces %ju bytes; its %ju cannot hold so many", st->name,
                      (uintmax_t)st->size, (uintmax_t)st->comp_size);
  if (st->size > *left)
    return hvi_refuse(f, ": with '%.80s' of %ju bytes it is larger than what is read at most",
                      st->name, (uintmax_t)st->size);
  *left -= (size_t)st->size;
  return HVI_OK;
}

/* All of it, and the end, where libzip compares the checksum. */
static hvi_status read_member(unsigned char **bytes, zip_t *z, zip_uint64_t index,
                              const zip_stat_t *st, const hvi_subject *f) {
  unsigned char more;
  HVI_OWN unsigned char *block = hvi_alloc((size_t)st->size, 1);
  if (!block) return hvi_error_memory(f->err, "an array of an archive");
  HVI_OWN_BY(close_member) zip_file_t *member = zip_fopen_index(z, index, 0);
  if (!member) return hvi_refuse(f, ": '%.80s' cannot be read: %s", st->name, zip_strerror(z));
  size_t used = 0;
  for (zip_int64_t n = 1; n > 0 && used<st->size; used += n> 0 ? (size_t)n : 0)
    n = zip_fread(member, block + used, st->size - used);
  if (used < st->size || zip_fread(member, &more, 1) != 0)
    return hvi_refuse(f, ": '%.80s' is damaged: %s", st->name,
                      zip_error_code_zip(zip_file_get_error(member)) ? zip_file_strerror(member)
                                                                     : "not of the size it states");
  *bytes = block;
  block = NULL;
  return HVI_OK;
}

static hvi_status read_archive(hvi_tensors **out, zip_t *z, size_t left, const hvi_subject *f) {
  const zip_int64_t count = zip_get_num_entries(z, 0);
  if (count > MOST_ARRAYS)
    return hvi_refuse(f, " has %jd members; at most %d are read", (intmax_t)count, MOST_ARRAYS);
  HVI_OWN_BY(hvi_tensors_release) hvi_tensors *t = NULL;
  HVI_TRY(new_store(&t, (size_t)count, f->err));
  for (zip_uint64_t i = 0; i < (zip_uint64_t)count; i++) {
    zip_stat_t st;
    unsigned char *bytes = NULL;
    if (zip_stat_index(z, i, 0, &st) != 0)
      return hvi_refuse(f, " has a member that cannot be read: %s", zip_strerror(z));
    HVI_TRY(check_member(&st, &left, f));
    if (!is_npy(st.name)) continue;
    HVI_TRY(read_member(&bytes, z, i, &st, f));
    HVI_TRY(add_array(t, st.name, bytes, (size_t)st.size, f));
  }
  *out = t;
  t = NULL;
  return HVI_OK;
}

/* From a source, which is let go. */
static hvi_status open_archive(hvi_tensors **t, zip_source_t *source, size_t max_bytes,
                               const hvi_subject *f) {
  zip_error_t problem;
  zip_error_init(&problem);
  *t = NULL;
  if (!source) return hvi_error_memory(f->err, "an archive");
  HVI_OWN_BY(close_archive) zip_t *z = zip_open_from_source(source, ZIP_RDONLY, &problem);
  if (!z) {
    hvi_refuse(f, " is no .npz file that can be read: %s", zip_error_strerror(&problem));
    zip_source_free(source);
    zip_error_fini(&problem);
    return f->status;
  }
  return read_archive(t, z, max_bytes ? max_bytes : hvi_memory_size(), f);
}

hvi_status hvi_npz_read(hvi_tensors **t, const char *path, size_t max_bytes, hvi_error *err) {
  return open_archive(t, zip_source_file_create(path, 0, -1, NULL), max_bytes,
                      &(hvi_subject){path, HVI_ERROR_INPUT, err});
}

hvi_status hvi_npz_decode(hvi_tensors **t, const unsigned char *bytes, size_t size,
                          size_t max_bytes, const char *name, hvi_error *err) {
  return open_archive(t, zip_source_buffer_create(bytes, size, 0, NULL), max_bytes,
                      &(hvi_subject){name, HVI_ERROR_INPUT, err});
}

/* Folders */

static int is_array(const struct dirent *e) { return is_npy(e->d_name); }

static void free_list(struct dirent **list, int count) {
  for (int i = 0; i < count; i++) free(list[i]);
  free(list);
}

static hvi_status read_folder(hvi_tensors *t, struct dirent **list, size_t count, size_t left,
                              const hvi_subject *f) {
  for (size_t i = 0; i < count; i++) {
    unsigned char *bytes;
    size_t size;
    HVI_OWN char *path = hvi_alloc(strlen(f->name) + strlen(list[i]->d_name) + 2, 1);
    if (!path) return hvi_error_memory(f->err, "the name of a file");
    sprintf(path, "%s/%s", f->name, list[i]->d_name);
    HVI_TRY(hvi_file_read_bytes(&bytes, &size, path, left, f->err));
    left -= size;
    HVI_TRY(add_array(t, list[i]->d_name, bytes, size, f));
  }
  return HVI_OK;
}

hvi_status hvi_npy_folder_read(hvi_tensors **out, const char *path, size_t max_bytes,
                               hvi_error *err) {
  const hvi_subject f = {path, HVI_ERROR_INPUT, err};
  struct dirent **list = NULL;
  HVI_OWN_BY(hvi_tensors_release) hvi_tensors *t = NULL;
  *out = NULL;
  const int count = scandir(path, &list, is_array, alphasort);
  if (count < 0) return hvi_error_system(err, "read", path);
  hvi_status status = HVI_OK;
  if (count == 0) status = hvi_refuse(&f, " is a folder without .npy files");
  if (count > MOST_ARRAYS)
    status = hvi_refuse(&f, " has %d .npy files; at most %d are read", count, MOST_ARRAYS);
  if (!status) status = new_store(&t, (size_t)count, err);
  if (!status)
    status = read_folder(t, list, (size_t)count, max_bytes ? max_bytes : hvi_memory_size(), &f);
  free_list(list, count);
  if (status) return status;
  *out = t;
  t = NULL;
  return HVI_OK;
}

hvi_status hvi_tensors_open(hvi_tensors **t, const char *path, size_t max_bytes, hvi_error *err) {
  struct stat st;
  char magic[4] = "";
  *t = NULL;
  if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
    return hvi_npy_folder_read(t, path, max_bytes, err);
  const int fd = stat(path, &st) == 0 && S_ISREG(st.st_mode) ? open(path, O_RDONLY) : -1;
  const bool archive = fd >= 0 && hvi_file_read_at(fd, magic, 4, 0) == 4 &&
                       (!memcmp(magic, "PK\3\4", 4) || !memcmp(magic, "PK\5\6", 4));
  if (fd >= 0) close(fd);
  return (archive ? hvi_npz_read : hvi_tensors_read)(t, path, max_bytes, err);
}
