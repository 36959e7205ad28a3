/*
 * Models of MuJoCo from memory, and errors that stay inside.
 *
 * MuJoCo reports through two function pointers of its own that serve the whole process, and without
 * them it writes a log file, waits for Enter and exits. So they are set, once, and what they do
 * depends on the thread: inside hvi_mujoco_guard an error jumps back there and a warning is
 * dropped, and an exception of its C++ parts ends there too. Outside, where the call is somebody
 * else's, both go to whoever was set before; where there was none, an error does what MuJoCo would
 * have done by itself, and a warning is dropped.
 */
#include "base/base.h"
#include "rl/mujoco/mujoco.h"

#include <pthread.h>
#include <setjmp.h>

typedef struct guard {
  jmp_buf back; /* without the signal mask: setjmp is a few stores */
  char *text;
  size_t size;
  volatile hvi_status status; /* of the error that jumped; it is set after setjmp */
} guard;

static _Thread_local guard *inside;

static void (*error_before)(const char *);
static void (*warning_before)(const char *);

/* MuJoCo has no codes, and spells this one in two ways. */
static hvi_status status_of(const char *message) {
  return strstr(message, "ould not allocate") ? HVI_ERROR_MEMORY : HVI_ERROR_INPUT;
}

static void on_error(const char *message) {
  if (inside) {
    snprintf(inside->text, inside->size, "%s", message);
    inside->status = status_of(message);
    longjmp(inside->back, 1);
  }
  if (error_before) {
    error_before(message);
  } else {
    mju_user_error = NULL;
    mju_error_s("%s", message);
  }
}

static void on_warning(const char *message) {
  if (!inside && warning_before) warning_before(message);
}

static void install(void) {
  error_before = mju_user_error;
  warning_before = mju_user_warning;
  mju_user_error = on_error;
  mju_user_warning = on_warning;
}

hvi_status hvi_mujoco_start(hvi_error *err) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, install);
  if (mj_version() == mjVERSION_HEADER) return HVI_OK;
  return hvi_error_unsupported(
      err,
      "built for MuJoCo %d but running with %d; build again with the library that "
      "is installed",
      mjVERSION_HEADER, mj_version());
}

hvi_status hvi_mujoco_guard(void (*call)(void *context), void *context, char *text, size_t size) {
  guard here = {.text = text, .size = size};
  guard *const outer = inside;
  if (setjmp(here.back) != 0) {
    inside = outer;
    return here.status;
  }
  inside = &here;
  const hvi_status status = hvi_mujoco_catch(call, context, text, size);
  inside = outer;
  return status;
}

#if mjVERSION_HEADER >= 313
static bool add_file(mjVFS *vfs, const char *name, const char *text) {
  return mj_addBufferVFS(vfs, name, text, (int)strlen(text)) == 0;
}
#else
static bool add_file(mjVFS *vfs, const char *name, const char *text) {
  if (mj_makeEmptyFileVFS(vfs, name, (int)strlen(text)) != 0) return false;
  const int at = mj_findFileVFS(vfs, name);
  if (at < 0) return false;
  memcpy(vfs->filedata[at], text, strlen(text));
  return true;
}
#endif

/* What is made behind the guard. */
typedef struct work {
  mjVFS *vfs;
  const char *xml;
  mjModel *model;
  mjData *data;
  char text[256];
} work;

static void load(void *context) {
  work *w = context;
  mj_defaultVFS(w->vfs);
  if (add_file(w->vfs, "model.xml", w->xml))
    w->model = mj_loadXML("model.xml", w->vfs, w->text, sizeof w->text);
  else
    snprintf(w->text, sizeof w->text, "could not allocate a file");
}

static void make_data(void *context) {
  work *w = context;
  w->data = mj_makeData(w->model);
}

hvi_status hvi_mujoco_load(hvi_mujoco_model **model, const char *name, const char *xml,
                           hvi_error *err) {
  *model = NULL;
  HVI_NEW(hvi_mujoco_model, made, 1, "a MuJoCo model", err);
  HVI_NEW(mjVFS, vfs, 1, "a MuJoCo model", err);
  work w = {.vfs = vfs, .xml = xml};
  errno = 0;
  hvi_status status = hvi_mujoco_guard(load, &w, w.text, sizeof w.text);
  const bool memory = errno == ENOMEM; /* its reader of numbers takes that for a wrong number */
  mj_deleteVFS(vfs);
  if (w.model) {
    *made = (hvi_mujoco_model){w.model, 1};
    HVI_GIVE(model, made);
  }
  if (!status) status = status_of(w.text);
  if (memory || status == HVI_ERROR_MEMORY) return hvi_error_memory(err, "a MuJoCo model");
  for (char *c = w.text; *c; c++) /* its reports have several lines */
    if (*c == '\n' || *c == '\r') *c = c[1] ? ' ' : '\0';
  return hvi_error_set(err, status, "MuJoCo cannot compile model '%s': %s", name, w.text);
}

void hvi_mujoco_share(hvi_mujoco_model *model) { atomic_fetch_add(&model->users, 1); }

void hvi_mujoco_leave(hvi_mujoco_model *model) {
  if (!model || atomic_fetch_sub(&model->users, 1) != 1) return;
  mj_deleteModel(model->model);
  hvi_free(model);
}

hvi_status hvi_mujoco_data(mjData **data, const hvi_mujoco_model *model, hvi_error *err) {
  work w = {.model = model->model};
  hvi_mujoco_guard(make_data, &w, w.text, sizeof w.text);
  *data = w.data;
  if (w.data) return HVI_OK;
  return hvi_error_set(err, HVI_ERROR_MEMORY, "out of memory for a MuJoCo simulation: %s", w.text);
}
