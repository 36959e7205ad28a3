#define _GNU_SOURCE /* dladdr1, secure_getenv */
#include "base/module.h"

#include "base/base.h"

#include <hvi/version.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <sys/stat.h>

typedef struct search {
  const char *name;
  char path[PATH_MAX]; /* the file that was tried last */
  char looked[256];    /* the folders so far */
} search;

/* True when the module lies in folder[length]. */
static bool look_in(search *s, const char *folder, size_t length) {
  if (length == 0 || length >= PATH_MAX) return false;
  hvi_append(s->looked, sizeof s->looked, "%s%.*s", *s->looked ? ", " : "", (int)length, folder);
  const int needed =
      snprintf(s->path, sizeof s->path, "%.*s/libhvi_%s.so", (int)length, folder, s->name);
  return needed < (int)sizeof s->path && access(s->path, F_OK) == 0;
}

static size_t folder_length(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? (size_t)(slash - path) : 0;
}

/* The file of libhvi.so; NULL where libhvi is part of the program. */
static const char *own_file(void) {
  static const char here = 0;
  Dl_info info;
  void *map = NULL;
  if (!dladdr1(&here, &info, &map, RTLD_DL_LINKMAP) || !map) return NULL;
  const char *name = ((const struct link_map *)map)->l_name;
  return name && *name ? name : NULL;
}

/* LIBDIR/hvi as seen from where this code lies: an installed tree may be moved. */
static bool look_in_libdir(search *s, const char *program) {
  char folder[PATH_MAX];
  const char *library = own_file(), *from = library ? library : program;
  const size_t length = library ? folder_length(library) : strlen(program);
  const int needed = snprintf(folder, sizeof folder, "%.*s/%s", (int)length, from,
                              library ? "hvi" : HVI_MODULE_FOLDER);
  return needed < (int)sizeof folder && look_in(s, folder, (size_t)needed);
}

static bool look_in_path(search *s) {
  const char *path = secure_getenv("HVI_MODULE_PATH");
  while (path && *path) {
    const size_t length = strcspn(path, ":");
    if (look_in(s, path, length)) return true;
    path += length + (path[length] == ':');
  }
  return false;
}

bool hvi_program_folder(char folder[PATH_MAX]) {
  const ssize_t length = readlink("/proc/self/exe", folder, PATH_MAX - 1);
  folder[length > 0 ? length : 0] = '\0';
  folder[folder_length(folder)] = '\0';
  return *folder != '\0';
}

/* The system's loader crashes on a file that was cut short. Its table of sections comes last. */
static bool is_whole(const char *path) {
  ElfW(Ehdr) head;
  struct stat about;
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe may wait */
  if (file < 0) return true;                                      /* the loader says why */
  const bool whole =
      fstat(file, &about) == 0 && S_ISREG(about.st_mode) &&
      read(file, &head, sizeof head) == (ssize_t)sizeof head &&
      memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 && head.e_shoff <= (size_t)about.st_size &&
      (size_t)head.e_shnum * head.e_shentsize <= (size_t)about.st_size - head.e_shoff;
  close(file);
  return whole;
}

hvi_status hvi_module_load(void **handle, const char *path, hvi_error *err) {
  if (!is_whole(path))
    return hvi_error_unsupported(err, "'%s' is damaged or no shared library", path);
  errno = 0;
  *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (*handle) return HVI_OK;
  bool memory = errno == ENOMEM;
  const char *why = dlerror();
  if (!why) why = "the system does not say why";
  memory = memory || strstr(why, "allocate memory") || strstr(why, "out of memory");
  return hvi_error_set(err, memory ? HVI_ERROR_MEMORY : HVI_ERROR_UNSUPPORTED,
                       memory ? "out of memory for '%s': %s" : "cannot load '%s': %s", path, why);
}

static hvi_status check(const hvi_module *m, const search *s, hvi_error *err) {
  if (!m) return hvi_error_unsupported(err, "'%s' is not a module of hvi", s->path);
  if (m->abi != HVI_MODULE_ABI)
    return hvi_error_unsupported(
        err, "'%s' has interface %u, and this program needs %d: the two were not built together",
        s->path, m->abi, (int)HVI_MODULE_ABI);
  if (strcmp(m->name, s->name) != 0)
    return hvi_error_unsupported(err, "'%s' is the module '%s', not '%s'", s->path, m->name,
                                 s->name);
  if (strcmp(m->version(), hvi_version()) != 0)
    return hvi_error_unsupported(err, "'%s' belongs to hvi %s, and this is hvi %s", s->path,
                                 m->version(), hvi_version());
  return HVI_OK;
}

hvi_status hvi_module_open(const hvi_module **module, const char *name, hvi_error *err) {
  search s = {.name = name};
  char program[PATH_MAX];
  void *handle = NULL;
  *module = NULL;
  hvi_program_folder(program);
  if (!look_in(&s, program, strlen(program)) && !look_in_libdir(&s, program) && !look_in_path(&s))
    return hvi_error_unsupported(
        err, "no libhvi_%s.so in %s; HVI_MODULE_PATH can name more folders", name, s.looked);
  HVI_TRY(hvi_module_load(&handle, s.path, err));
  const hvi_module *m = dlsym(handle, "hvi_module_table");
  hvi_status status = check(m, &s, err);
  if (status) dlclose(handle);
  if (!status && m->start) status = m->start(err);
  if (!status) *module = m;
  return status;
}

const char *hvi_module_path(const hvi_module *module) {
  Dl_info info;
  return dladdr(module, &info) && info.dli_fname ? info.dli_fname : "";
}
