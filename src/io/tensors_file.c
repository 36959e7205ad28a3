/*
 * In a file that is written, types of wide numbers come first, names in order within a width, and
 * the header ends at a multiple of 64 bytes, so that every tensor is aligned to its type without a
 * gap. The order in which tensors are handed over does not matter to the bytes. Numbers go to the
 * file from where they lie.
 *
 * The first note is a checksum over everything that the file says: each tensor's name, type, shape
 * and numbers, each other note. It does not depend on the order, so that another program may write
 * the same tensors and notes again.
 */
#include "io/tensors_file.h"

#include "base/base.h"

#include <jansson.h>

enum { DATA_ALIGNMENT = 64, CHECKSUM_TEXT = 17 };

typedef hvi_tensors_owner store;

/* A tensor in a file, at bytes begin .. end of the numbers. */
typedef struct entry {
  hvi_tensor tensor; /* the name belongs to the document */
  size_t begin, end;
} entry;

static hvi_status check_machine(hvi_error *err) {
  if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) return HVI_OK;
  return hvi_error_unsupported(err,
                               "tensor files are read and written on little-endian machines only");
}

static size_t bytes_of(const hvi_tensor *t) {
  return hvi_tensor_count(t) * hvi_tensor_type_size(t->type);
}

hvi_status hvi_tensor_check_bools(const hvi_tensor *t, const hvi_subject *f) {
  const unsigned char *p = t->data;
  const size_t count = t->type == HVI_TENSOR_BOOL ? hvi_tensor_count(t) : 0;
  for (size_t i = 0; i < count; i++)
    if (p[i] > 1)
      return hvi_refuse(f, ": tensor '%.80s' has %d at index %zu; a BOOL is 0 or 1", t->name, p[i],
                        i);
  return HVI_OK;
}

static void print_checksum(char text[CHECKSUM_TEXT], const hvi_tensors *t) {
  uint64_t sum = 0;
  for (size_t i = 0; i < t->count; i++) {
    const hvi_tensor *x = &t->items[i];
    const char *type = hvi_tensor_type_name(x->type);
    uint64_t own = hvi_checksum(HVI_HASH_START, x->name, strlen(x->name));
    own = hvi_checksum(own, type, strlen(type));
    for (size_t k = 0; k < x->dims; k++) own = hvi_checksum(own, &x->shape[k], sizeof *x->shape);
    sum += hvi_checksum(own, x->data, bytes_of(x));
  }
  for (size_t i = 0; i < t->note_count; i++) {
    const hvi_tensor_note *n = &t->notes[i];
    sum += hvi_checksum(hvi_checksum(~HVI_HASH_START, n->key, strlen(n->key)), n->text,
                        strlen(n->text));
  }
  snprintf(text, CHECKSUM_TEXT, "%016" PRIx64, sum);
}

/* The length of the JSON text, from the first eight bytes. */
static hvi_status measure_header(size_t *length, const unsigned char *bytes, size_t size,
                                 const hvi_subject *f) {
  if (size < HVI_TENSORS_PREFIX)
    return hvi_refuse(f,
                      " is not a .safetensors file: it has %zu bytes, and the length of the header "
                      "alone takes %d",
                      size, HVI_TENSORS_PREFIX);
  uint64_t stated = 0;
  for (int i = HVI_TENSORS_PREFIX; i-- > 0;) stated = stated << 8 | bytes[i];
  if (stated > HVI_TENSORS_MAX_HEADER)
    return hvi_refuse(f,
                      " is not a .safetensors file: its first eight bytes announce a header of %ju "
                      "bytes; at most %d are read",
                      (uintmax_t)stated, HVI_TENSORS_MAX_HEADER);
  if (stated > size - HVI_TENSORS_PREFIX)
    return hvi_refuse(
        f, " announces a header of %ju bytes and has %zu after the first eight (truncated?)",
        (uintmax_t)stated, size - HVI_TENSORS_PREFIX);
  *length = (size_t)stated;
  return HVI_OK;
}

static hvi_status parse_document(json_t **document, const unsigned char *text, size_t length,
                                 const hvi_subject *f) {
  if (length == 0 || text[0] != '{')
    return hvi_refuse(f, " is not a .safetensors file: its header does not start with '{'");
  json_error_t problem;
  errno =
      0; /* Jansson tells a lack of memory as one of a brace, or drops a letter and says nothing */
  *document = json_loadb((const char *)text, length, JSON_REJECT_DUPLICATES, &problem);
  if (errno == ENOMEM) return hvi_error_memory(f->err, "the header of a tensor file");
  if (*document) return HVI_OK;
  return hvi_refuse(f, ": the header is not valid JSON at byte %d: %s",
                    HVI_TENSORS_PREFIX + problem.position, problem.text);
}

static hvi_status parse_type(hvi_tensor *t, const json_t *value, const hvi_subject *f) {
  const char *name = json_string_value(value);
  if (!name) return hvi_refuse(f, " has no dtype; it is a text such as \"F32\"");
  t->type = hvi_tensor_type_find(name);
  if (t->type < HVI_TENSOR_TYPE_COUNT) return HVI_OK;
  return hvi_refuse(
      f,
      " has numbers of type '%.40s'; BOOL, U8 to U64, I8 to I64, F16, BF16, F32 and F64 are read",
      name);
}

static bool take_size(size_t *size, const json_t *value) {
  const json_int_t x = json_is_integer(value) ? json_integer_value(value) : -1;
  *size = (size_t)x;
  return x >= 0 && (uintmax_t)x <= SIZE_MAX;
}

static hvi_status parse_shape(hvi_tensor *t, const json_t *value, const hvi_subject *f) {
  if (!json_is_array(value)) return hvi_refuse(f, " has no shape; it is a list such as [3, 5]");
  t->dims = json_array_size(value);
  if (t->dims > HVI_TENSOR_MAX_DIMS)
    return hvi_refuse(f, " has %zu axes; at most %d are read", t->dims, HVI_TENSOR_MAX_DIMS);
  for (size_t i = 0; i < t->dims; i++)
    if (!take_size(&t->shape[i], json_array_get(value, i)))
      return hvi_refuse(f, " has a shape whose number %zu is not a whole number from 0 up", i + 1);
  return HVI_OK;
}

static hvi_status parse_offsets(entry *e, const json_t *value, const hvi_subject *f) {
  size_t count;
  if (json_array_size(value) != 2 || !take_size(&e->begin, json_array_get(value, 0)) ||
      !take_size(&e->end, json_array_get(value, 1)))
    return hvi_refuse(f, " has no data_offsets; they are two whole numbers, [begin, end]");
  if (e->begin > e->end)
    return hvi_refuse(f, " runs backwards, from byte %zu to %zu of the data", e->begin, e->end);
  if (!hvi_multiply_shape(&count, e->tensor.dims, e->tensor.shape))
    return hvi_refuse(f, " has a shape too large for any memory");
  const size_t bytes = bytes_of(&e->tensor);
  if (bytes == e->end - e->begin) return HVI_OK;
  return hvi_refuse(f, " takes %zu bytes; %zu numbers of type %s need %zu", e->end - e->begin,
                    count, hvi_tensor_type_name(e->tensor.type), bytes);
}

/* Whatever is wrong is said of 'FILE': tensor 'KEY'. */
static hvi_status parse_entry(entry *e, const char *key, const json_t *value,
                              const hvi_subject *file) {
  char name[sizeof file->err->text];
  snprintf(name, sizeof name, "%.400s': tensor '%.80s", file->name, key);
  const hvi_subject f = {name, file->status, file->err};
  if (!json_is_object(value))
    return hvi_refuse(&f, " is not described by an object with dtype, shape and data_offsets");
  e->tensor.name = key;
  HVI_TRY(parse_type(&e->tensor, json_object_get(value, "dtype"), &f));
  HVI_TRY(parse_shape(&e->tensor, json_object_get(value, "shape"), &f));
  return parse_offsets(e, json_object_get(value, "data_offsets"), &f);
}

static hvi_status parse_notes(store *s, const hvi_subject *f) {
  hvi_tensors *t = &s->tensors;
  json_t *map = json_object_get(s->document, HVI_TENSORS_NOTES), *value;
  if (map && !json_is_object(map))
    return hvi_refuse(f, ": %s is not an object; it is a map from text to text", HVI_TENSORS_NOTES);
  t->notes = hvi_pool_take(&s->pool, json_object_size(map), sizeof *t->notes);
  if (!t->notes) return hvi_error_memory(f->err, "a list of notes");
  const char *key;
  json_object_foreach(map, key, value) {
    if (!json_is_string(value))
      return hvi_refuse(f, ": '%.80s' in %s is not text; it is a map from text to text", key,
                        HVI_TENSORS_NOTES);
    t->notes[t->note_count++] = (hvi_tensor_note){key, json_string_value(value)};
  }
  return HVI_OK;
}

/* By offset; empty tensors share theirs, and are told apart by their name. */
static int compare_offsets(const void *a, const void *b) {
  const entry *x = a, *y = b;
  if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
  if (x->end != y->end) return x->end < y->end ? -1 : 1;
  return strcmp(x->tensor.name, y->tensor.name);
}

/* Sorts the entries and checks that they fill data_size bytes, each once. */
static hvi_status check_offsets(entry *entries, size_t count, size_t data_size,
                                const hvi_subject *f) {
  qsort(entries, count, sizeof *entries, compare_offsets);
  size_t end = 0;
  for (const entry *e = entries; e < entries + count; end = e++->end)
    if (e->begin != end)
      return hvi_refuse(
          f, ": tensor '%.80s' begins at byte %zu of the data, %s; it should begin at %zu",
          e->tensor.name, e->begin, e->begin < end ? "within another tensor" : "after a gap", end);
  if (end > data_size)
    return hvi_refuse(
        f, ": tensor '%.80s' ends at byte %zu of the data, of which there are %zu (truncated?)",
        entries[count - 1].tensor.name, end, data_size);
  if (end == data_size) return HVI_OK;
  return hvi_refuse(f, " has %zu bytes after its last tensor; it should end there",
                    data_size - end);
}

/*
 * Gives every tensor its numbers, aligned to their type. Files whose header is padded and whose
 * wide types come first need no more than a pointer. In any other the numbers move down over the
 * header, which has been parsed: a tensor loses at most 7 bytes to alignment and its description
 * took more than 7, so that none reaches the next one's place before that has moved.
 */
static void place_numbers(store *s, const entry *entries, size_t data_offset) {
  hvi_tensors *t = &s->tensors;
  size_t used = 0;
  bool move = false;
  for (const entry *e = entries; e < entries + t->count; e++)
    move = move || (data_offset + e->begin) % hvi_tensor_type_size(e->tensor.type) != 0;
  for (size_t i = 0; i < t->count; i++) {
    const entry *e = &entries[i];
    const size_t width = hvi_tensor_type_size(e->tensor.type), size = e->end - e->begin;
    const size_t from = data_offset + e->begin,
                 to = move ? (used + width - 1) / width * width : from;
    if (move) memmove(s->bytes + to, s->bytes + from, size);
    t->items[i] = e->tensor;
    t->items[i].data = s->bytes + to;
    used = to + size;
  }
}

/* Takes the checksum out of the notes, where there is one, and compares it. Files that name a level of
 * instructions have one. */
static hvi_status check_sum(store *s, const hvi_subject *f) {
  hvi_tensors *t = &s->tensors;
  char is[CHECKSUM_TEXT];
  const char *stated = hvi_tensors_note(t, HVI_TENSORS_CHECKSUM);
  if (!stated && hvi_tensors_note(t, "level"))
    return hvi_refuse(f, " is damaged: it has hvi's note 'level' and not its checksum, '%s'",
                      HVI_TENSORS_CHECKSUM);
  if (!stated) return HVI_OK;
  size_t at = 0;
  while (t->notes[at].text != stated) at++;
  t->note_count--;
  memmove(&t->notes[at], &t->notes[at + 1], (t->note_count - at) * sizeof *t->notes);
  s->checked = true;
  print_checksum(is, t);
  if (strcmp(is, stated) == 0) return HVI_OK;
  return hvi_refuse(f, " is damaged: the checksum of its contents is %s and should be %.16s", is,
                    stated);
}

static hvi_status parse_file(store *s, size_t size, const hvi_subject *f) {
  hvi_tensors *t = &s->tensors;
  size_t length = 0;
  HVI_TRY(check_machine(f->err));
  HVI_TRY(measure_header(&length, s->bytes, size, f));
  HVI_TRY(parse_document(&s->document, s->bytes + HVI_TENSORS_PREFIX, length, f));
  const size_t most = json_object_size(s->document), data_offset = HVI_TENSORS_PREFIX + length;
  HVI_OWN entry *entries = hvi_alloc(most, sizeof *entries);
  t->items = hvi_pool_take(&s->pool, most, sizeof *t->items);
  if (!entries || !t->items) return hvi_error_memory(f->err, "a list of tensors");
  const char *key;
  json_t *value;
  json_object_foreach(s->document, key, value) {
    if (!strcmp(key, HVI_TENSORS_NOTES)) continue;
    HVI_TRY(parse_entry(&entries[t->count], key, value, f));
    t->count++;
  }
  HVI_TRY(parse_notes(s, f));
  HVI_TRY(check_offsets(entries, t->count, size - data_offset, f));
  place_numbers(s, entries, data_offset);
  for (size_t i = 0; i < t->count; i++) HVI_TRY(hvi_tensor_check_bools(&t->items[i], f));
  return check_sum(s, f);
}

/* Takes the bytes, or frees them. */
static hvi_status take_bytes(hvi_tensors **out, unsigned char *bytes, size_t size, const char *name,
                             hvi_error *err) {
  HVI_OWN_BY(hvi_tensors_release) hvi_tensors *t = NULL;
  store *s = hvi_alloc(1, sizeof *s);
  if (!s) {
    hvi_free(bytes);
    return hvi_error_memory(err, "a list of tensors");
  }
  *s = (store){.bytes = bytes, .tensors.owned = s};
  t = &s->tensors;
  HVI_TRY(parse_file(s, size, &(hvi_subject){name, HVI_ERROR_INPUT, err}));
  HVI_GIVE(out, t);
}

hvi_status hvi_tensors_read(hvi_tensors **t, const char *path, size_t max_bytes, hvi_error *err) {
  *t = NULL;
  if (max_bytes == 0) max_bytes = hvi_memory_size();
  unsigned char *bytes;
  size_t size;
  HVI_TRY(hvi_file_read_bytes(&bytes, &size, path, max_bytes, err));
  return take_bytes(t, bytes, size, path, err);
}

hvi_status hvi_tensors_decode(hvi_tensors **t, const unsigned char *bytes, size_t size,
                              const char *name, hvi_error *err) {
  *t = NULL;
  unsigned char *copy = size < SIZE_MAX ? hvi_alloc(size + 1, 1) : NULL;
  if (!copy) return hvi_error_memory(err, "a tensor file");
  if (size) memcpy(copy, bytes, size);
  return take_bytes(t, copy, size, name, err);
}

void hvi_tensors_free(hvi_tensors *t) {
  if (!t) return;
  store *s = t->owned;
  for (size_t i = 0; !s->bytes && i < t->count; i++) hvi_free((void *)(uintptr_t)t->items[i].data);
  json_decref(s->document);
  hvi_free(s->bytes);
  hvi_pool_free(s->pool);
  hvi_free(s);
}

/* Adds a value under a key, and lets go of it. */
static hvi_status add(json_t *object, const char *key, json_t *given, const hvi_subject *f) {
  json_auto_t *value = given;
  if (json_object_get(object, key)) return hvi_refuse(f, ": the name '%.80s' is given twice", key);
  if (value && json_object_set(object, key, value) == 0) return HVI_OK;
  if (errno == ENOMEM) return hvi_error_memory(f->err, "the header of a tensor file");
  return hvi_refuse(f, ": '%.80s' cannot be written; names and notes are UTF-8 text", key);
}

static json_t *describe(const hvi_tensor *t, size_t begin, size_t end) {
  json_auto_t *shape = json_array();
  for (size_t i = 0; i < t->dims; i++)
    if (json_array_append_new(shape, json_integer((json_int_t)t->shape[i]))) return NULL;
  return json_pack("{s:s, s:O, s:[I, I]}", "dtype", hvi_tensor_type_name(t->type), "shape", shape,
                   "data_offsets", (json_int_t)begin, (json_int_t)end);
}

static hvi_status add_tensors(json_t *root, const hvi_tensors *t, const hvi_subject *f) {
  size_t begin = 0;
  for (size_t i = 0; i < t->count; i++) {
    const size_t bytes = bytes_of(&t->items[i]);
    if (bytes > (size_t)INT64_MAX - begin) return hvi_refuse(f, ": the tensors are too large");
    json_t *description = describe(&t->items[i], begin, begin + bytes);
    if (!description) return hvi_error_memory(f->err, "the header of a tensor file");
    HVI_TRY(add(root, t->items[i].name, description, f));
    begin += bytes;
  }
  return HVI_OK;
}

/* The checksum stands first, then the notes. */
static hvi_status add_notes(json_t *root, const hvi_tensors *t, const hvi_subject *f) {
  char sum[CHECKSUM_TEXT];
  json_t *map = json_object();
  if (!map || json_object_set_new(root, HVI_TENSORS_NOTES, map))
    return hvi_error_memory(f->err, "the header of a tensor file");
  for (size_t i = 0; i < t->note_count; i++)
    if (!t->notes[i].key || !t->notes[i].text) return hvi_refuse(f, ": a note without key or text");
  print_checksum(sum, t);
  HVI_TRY(add(map, HVI_TENSORS_CHECKSUM, json_string(sum), f));
  for (size_t i = 0; i < t->note_count; i++)
    HVI_TRY(add(map, t->notes[i].key, json_string(t->notes[i].text), f));
  return HVI_OK;
}

/* The JSON text after its length, padded. */
static hvi_status pad_header(unsigned char **header, size_t *size, const json_t *root,
                             const hvi_subject *f) {
  const size_t length = json_dumpb(root, NULL, 0, JSON_COMPACT);
  const size_t total =
      (HVI_TENSORS_PREFIX + length + DATA_ALIGNMENT - 1) / DATA_ALIGNMENT * DATA_ALIGNMENT;
  if (total - HVI_TENSORS_PREFIX > HVI_TENSORS_MAX_HEADER)
    return hvi_refuse(f, ": names and notes take %zu bytes; at most %d can be read back", length,
                      HVI_TENSORS_MAX_HEADER);
  HVI_OWN unsigned char *bytes = hvi_alloc(total, 1);
  if (!bytes ||
      json_dumpb(root, (char *)bytes + HVI_TENSORS_PREFIX, length, JSON_COMPACT) != length)
    return hvi_error_memory(f->err, "the header of a tensor file");
  memset(bytes + HVI_TENSORS_PREFIX + length, ' ', total - HVI_TENSORS_PREFIX - length);
  for (int i = 0; i < HVI_TENSORS_PREFIX; i++)
    bytes[i] = (unsigned char)((uint64_t)(total - HVI_TENSORS_PREFIX) >> 8 * i);
  *size = total;
  HVI_GIVE(header, bytes);
}

hvi_status hvi_tensors_header_write(unsigned char **header, size_t *size, const hvi_tensors *t,
                                    const char *name, hvi_error *err) {
  const hvi_subject f = {name, HVI_ERROR_ARGUMENT, err};
  json_auto_t *root = json_object();
  if (!root) return hvi_error_memory(err, "the header of a tensor file");
  errno = 0;
  HVI_TRY(add_notes(root, t, &f));
  HVI_TRY(add_tensors(root, t, &f));
  return pad_header(header, size, root, &f);
}

static hvi_status check_tensor(const hvi_tensor *t, const hvi_subject *f) {
  size_t count;
  const char *problem = NULL;
  if (!t->name) return hvi_refuse(f, ": a tensor has no name");
  if (!strcmp(t->name, HVI_TENSORS_NOTES))
    problem = "has the name that is kept for the notes";
  else if ((unsigned)t->type >= HVI_TENSOR_TYPE_COUNT)
    problem = "has an unknown type";
  else if (t->dims > HVI_TENSOR_MAX_DIMS)
    problem = "has more than 8 axes";
  else if (!hvi_multiply_shape(&count, t->dims, t->shape))
    problem = "has a shape too large for any memory";
  else if (count && !t->data)
    problem = "has no data";
  if (problem) return hvi_refuse(f, ": tensor '%.80s' %s", t->name, problem);
  return hvi_tensor_check_bools(t, f);
}

static int compare_order(const void *a, const void *b) {
  const hvi_tensor *x = a, *y = b;
  size_t x_size = hvi_tensor_type_size(x->type), y_size = hvi_tensor_type_size(y->type);
  if (x_size != y_size) return x_size > y_size ? -1 : 1;
  return strcmp(x->name, y->name);
}

hvi_status hvi_tensors_store(const char *path, const hvi_tensors *t, bool keep, hvi_error *err) {
  const hvi_subject f = {path, HVI_ERROR_ARGUMENT, err};
  HVI_TRY(check_machine(err));
  for (size_t i = 0; i < t->count; i++) HVI_TRY(check_tensor(&t->items[i], &f));
  HVI_NEW(hvi_tensor, items, t->count, "a list of tensors", err);
  if (t->count) memcpy(items, t->items, t->count * sizeof *items);
  qsort(items, t->count, sizeof *items, compare_order);
  hvi_tensors sorted = *t;
  sorted.items = items;
  HVI_OWN unsigned char *header = NULL;
  size_t header_size = 0;
  HVI_TRY(hvi_tensors_header_write(&header, &header_size, &sorted, path, err));
  hvi_file file;
  HVI_TRY(keep ? hvi_file_replace(&file, path, err) : hvi_file_create(&file, path, err));
  /* a failed write stays in the stream and is found by the commit */
  bool good = fwrite(header, 1, header_size, file.stream) == header_size;
  for (size_t i = 0; i < t->count && good; i++) {
    const size_t bytes = bytes_of(&items[i]);
    good = bytes == 0 || fwrite(items[i].data, 1, bytes, file.stream) == bytes;
  }
  return hvi_file_commit(&file, err);
}

hvi_status hvi_tensors_write(const char *path, const hvi_tensor *items, size_t count,
                             const hvi_tensor_note *notes, size_t note_count, hvi_error *err) {
  const hvi_tensors t = {count, (hvi_tensor *)(uintptr_t)items, note_count,
                         (hvi_tensor_note *)(uintptr_t)notes, NULL};
  return hvi_tensors_store(path, &t, false, err);
}
