/*
 * NumPy's .npz files, which are zip archives of .npy files, stored or deflated; and folders of .npy
 * files. Both become tensors under the names of their arrays.
 *
 * The readers treat a file as hostile: the number of arrays, their sizes, what compression can make
 * of the bytes there are, and the sum of all are checked before memory is taken. Nothing is written
 * anywhere, so that names may hold what they like.
 */
#include "base/base.h"
#include "io/npy.h"
#include "io/tensors_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <zip.h>

enum { MOST_ARRAYS = 10000, MOST_NOTE = 1000 };
/* What deflate can make of a byte, and of nothing. */
enum { MOST_RATIO = 1040, MOST_OF_NOTHING = 1024 };

/* Room for `most` arrays. */
static hvi_status new_store(hvi_tensors **out, size_t most, hvi_error *err) {
  HVI_OWN_BY(hvi_tensors_release) hvi_tensors *t = NULL;
  hvi_tensors_owner *s = hvi_alloc(1, sizeof *s);
  if (!s) return hvi_error_memory(err, "a list of arrays");
  t = &s->tensors;
  t->owned = s;
  t->items = hvi_pool_take(&s->pool, most, sizeof *t->items);
  t->notes = hvi_pool_take(&s->pool, most, sizeof *t->notes);
  if (!t->items || !t->notes) return hvi_error_memory(err, "a list of arrays");
  HVI_GIVE(out, t);
}

/* The first bytes of a text, in the store. */
static hvi_status keep_text(const char **out, hvi_tensors *t, const char *text, size_t length,
                            hvi_error *err) {
  hvi_tensors_owner *s = t->owned;
  char *copy = hvi_pool_take(&s->pool, length + 1, 1);
  if (!copy) return hvi_error_memory(err, "the names of arrays");
  *out = memcpy(copy, text, length);
  return HVI_OK;
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
  const bool known = x->type != HVI_TENSOR_TYPE_COUNT;
  hvi_tensor_note *note = &t->notes[t->note_count];
  char text[MOST_NOTE];
  double number;
  if (known && x->dims > 0) return HVI_OK;
  if (known) {
    hvi_tensor_load(&number, x->type, x->data, 1);
    hvi_number_format(text, number);
  } else if (!read_text(text, x, descr, there)) {
    snprintf(text, sizeof text, "an array of type '%s', which is not read", descr);
  }
  note->key = x->name;
  HVI_TRY(keep_text(&note->text, t, text, strlen(text), err));
  t->note_count++;
  return HVI_OK;
}

/* Takes over the bytes of a .npy file. `name` ends in .npy; file: what contains it. */
static hvi_status add_array(hvi_tensors *t, const char *name, unsigned char **bytes, size_t size,
                            const hvi_subject *file) {
  char subject[sizeof file->err->text], descr[HVI_NPY_DESCR];
  hvi_tensor x = {0};
  HVI_TRY(keep_text(&x.name, t, name, strlen(name) - 4, file->err));
  snprintf(subject, sizeof subject, "%.400s': '%.80s", file->name, name);
  const hvi_subject f = {subject, HVI_ERROR_INPUT, file->err};
  if (hvi_tensors_find(t, x.name)) return hvi_refuse(&f, " is there twice");
  HVI_TRY(hvi_npy_tensor(&x, descr, *bytes, size, &f));
  const size_t there = size - (size_t)((const unsigned char *)x.data - *bytes);
  HVI_TRY(add_note(t, &x, descr, there, file->err));
  if (x.type == HVI_TENSOR_TYPE_COUNT) return HVI_OK;
  t->items[t->count++] = x;
  *bytes = NULL;
  return hvi_tensor_check_bools(&x, file);
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
static hvi_status read_member(unsigned char *bytes, zip_t *z, zip_uint64_t index,
                              const zip_stat_t *st, const hvi_subject *f) {
  unsigned char more;
  HVI_OWN_BY(close_member) zip_file_t *member = zip_fopen_index(z, index, 0);
  if (!member) return hvi_refuse(f, ": '%.80s' cannot be read: %s", st->name, zip_strerror(z));
  const zip_int64_t got = zip_fread(member, bytes, st->size);
  if (got >= 0 && (zip_uint64_t)got == st->size && zip_fread(member, &more, 1) == 0) return HVI_OK;
  return hvi_refuse(f, ": '%.80s' is damaged: %s", st->name,
                    zip_error_code_zip(zip_file_get_error(member)) ? zip_file_strerror(member)
                                                                   : "not of the size it states");
}

static hvi_status read_archive(hvi_tensors **out, zip_t *z, size_t left, const hvi_subject *f) {
  const zip_int64_t count = zip_get_num_entries(z, 0);
  if (count > MOST_ARRAYS)
    return hvi_refuse(f, " has %jd members; at most %d are read", (intmax_t)count, MOST_ARRAYS);
  HVI_OWN_BY(hvi_tensors_release) hvi_tensors *t = NULL;
  HVI_TRY(new_store(&t, (size_t)count, f->err));
  for (zip_uint64_t i = 0; i < (zip_uint64_t)count; i++) {
    zip_stat_t st;
    if (zip_stat_index(z, i, 0, &st) != 0)
      return hvi_refuse(f, " has a member that cannot be read: %s", zip_strerror(z));
    HVI_TRY(check_member(&st, &left, f));
    if (!hvi_ends_in(st.name, ".npy")) continue;
    HVI_NEW(unsigned char, bytes, (size_t)st.size, "an array of an archive", f->err);
    HVI_TRY(read_member(bytes, z, i, &st, f));
    HVI_TRY(add_array(t, st.name, &bytes, (size_t)st.size, f));
  }
  HVI_GIVE(out, t);
}

/* From a source, which is let go. */
static hvi_status open_archive(hvi_tensors **t, zip_source_t *source, size_t most,
                               const hvi_subject *f) {
  zip_error_t problem;
  zip_error_init(&problem);
  if (!source) return hvi_error_memory(f->err, "an archive");
  HVI_OWN_BY(close_archive) zip_t *z = zip_open_from_source(source, ZIP_RDONLY, &problem);
  if (z) return read_archive(t, z, most, f);
  hvi_refuse(f, " is no .npz file that can be read: %s", zip_error_strerror(&problem));
  zip_source_free(source);
  zip_error_fini(&problem);
  return f->status;
}

hvi_status hvi_npz_decode(hvi_tensors **t, const unsigned char *bytes, size_t size,
                          size_t max_bytes, const char *name, hvi_error *err) {
  *t = NULL;
  return open_archive(t, zip_source_buffer_create(bytes, size, 0, NULL), max_bytes,
                      &(hvi_subject){name, HVI_ERROR_INPUT, err});
}

/* Folders */

typedef struct listing {
  struct dirent **items;
  int count;
} listing;

static void free_listing(listing *l) {
  for (int i = 0; i < l->count; i++) free(l->items[i]);
  free(l->items);
}

static int is_array(const struct dirent *e) { return hvi_ends_in(e->d_name, ".npy"); }

static hvi_status read_folder(hvi_tensors **out, size_t left, const hvi_subject *f) {
  HVI_OWN_BY(free_listing) listing l = {0};
  HVI_OWN_BY(hvi_tensors_release) hvi_tensors *t = NULL;
  l.count = scandir(f->name, &l.items, is_array, alphasort);
  if (l.count < 0) return hvi_error_system(f->err, "read", f->name);
  if (l.count == 0) return hvi_refuse(f, " is a folder without .npy files");
  if (l.count > MOST_ARRAYS)
    return hvi_refuse(f, " has %d .npy files; at most %d are read", l.count, MOST_ARRAYS);
  HVI_TRY(new_store(&t, (size_t)l.count, f->err));
  for (int i = 0; i < l.count; i++) {
    const char *name = l.items[i]->d_name;
    size_t size;
    HVI_OWN unsigned char *bytes = NULL;
    HVI_NEW(char, path, strlen(f->name) + strlen(name) + 2, "the name of a file", f->err);
    sprintf(path, "%s/%s", f->name, name);
    HVI_TRY(hvi_file_read_bytes(&bytes, &size, path, left, f->err));
    left -= size;
    HVI_TRY(add_array(t, name, &bytes, size, f));
  }
  HVI_GIVE(out, t);
}

hvi_status hvi_tensors_open(hvi_tensors **t, const char *path, size_t max_bytes, hvi_error *err) {
  const hvi_subject f = {path, HVI_ERROR_INPUT, err};
  const size_t most = max_bytes ? max_bytes : hvi_memory_size();
  struct stat st;
  char magic[4] = "";
  *t = NULL;
  const bool there = stat(path, &st) == 0;
  if (there && S_ISDIR(st.st_mode)) return read_folder(t, most, &f);
  const int fd = there && S_ISREG(st.st_mode) ? open(path, O_RDONLY) : -1;
  const bool archive = fd >= 0 && hvi_file_read_at(fd, magic, 4, 0) == 4 &&
                       (!memcmp(magic, "PK\3\4", 4) || !memcmp(magic, "PK\5\6", 4));
  if (fd >= 0) close(fd);
  if (!archive) return hvi_tensors_read(t, path, max_bytes, err);
  return open_archive(t, zip_source_file_create(path, 0, -1, NULL), most, &f);
}
