/* hvi info: which program this is, and what it runs on. */
#include "base/base.h"
#include "base/cpu.h"
#include "base/module.h"
#include "base/parallel.h"
#include "commands.h"
#include "commit.h"
#include "ensemble/lanes.h"
#include "gpu/gang.h"

#include <hvi/version.h>

#include <cblas.h>
#include <time.h>

#ifdef __clang__
#define COMPILER __VERSION__
#else
#define COMPILER "gcc " __VERSION__
#endif

/* Each after a blank. */
static const char *cpu_features(void) {
#if defined(__x86_64__)
#define HAS(name) (__builtin_cpu_supports(name) ? " " name : "")
  __builtin_cpu_init();
  return hvi_format("%s%s%s%s%s%s%s", HAS("sse4.2"), HAS("avx"), HAS("avx2"), HAS("fma"),
                    HAS("avx512f"), HAS("avx512dq"), HAS("avx512vl"));
#else
  return " none looked for";
#endif
}

/* The processor's name, where the system tells. */
static const char *cpu_name(void) {
  char row[256] = "";
  FILE *file = fopen("/proc/cpuinfo", "r");
  while (file && fgets(row, sizeof row, file) && strncmp(row, "model name", 10) != 0) row[0] = '\0';
  if (file) fclose(file);
  const char *colon = strchr(row, ':');
  if (!colon) return "not known";
  const char *name = colon + 1 + strspn(colon + 1, " \t");
  return hvi_format("%.*s", (int)strcspn(name, "\n"), name);
}

hvi_made hvi_made_now(int argc, char **argv) {
  hvi_made m = {.commit = HVI_COMMIT};
  const time_t now = time(NULL);
  struct tm parts;
  hvi_append(m.command, sizeof m.command, "hvi");
  for (int i = 0; i < argc; i++) hvi_append(m.command, sizeof m.command, " %s", argv[i]);
  snprintf(m.version, sizeof m.version, "%s", hvi_version());
  snprintf(m.machine, sizeof m.machine, "%.100s, %zu cores, %s", cpu_name(), hvi_parallel_cores(),
           hvi_cpu_level_name(hvi_cpu_level()));
  if (gmtime_r(&now, &parts)) strftime(m.date, sizeof m.date, "%Y-%m-%d %H:%M UTC", &parts);
  return m;
}

/* Where a program would be found on the PATH; NULL: nowhere. */
static const char *find_program(const char *name) {
  static char text[512];
  for (const char *path = getenv("PATH"); path && *path;) {
    const int length = (int)strcspn(path, ":");
    snprintf(text, sizeof text, "%.*s/%s", length, path, name);
    if (length > 0 && access(text, X_OK) == 0) return text;
    path += length + (path[length] == ':');
  }
  return NULL;
}

/* The module of MuJoCo, or hvi_fault. */
static void show_mujoco(void) {
  const hvi_module *m;
  const bool there = hvi_module_open(&m, "mujoco", &hvi_fault) == HVI_OK;
  if (!hvi_talk.json)
    hvi_show(LINE("mujoco", "", NULL,
                  there ? hvi_format("%s %s (%s)", m->needs, m->needs_version(), hvi_module_path(m))
                        : hvi_fault.text));
  else if (there)
    hvi_json_object(NULL, V("name", "mujoco"), V("available", there), V("needs", m->needs),
                    V("needs_version", m->needs_version()), V("path", hvi_module_path(m)));
  else
    hvi_json_object(NULL, V("name", "mujoco"), V("available", there), V("missing", hvi_fault.text));
}

/* The device that networks can learn on, likewise. */
static void show_device(void) {
  const double GIB = 1024.0 * 1024.0 * 1024.0;
  hvi_gang *gang = NULL;
  const bool there = hvi_gang_open(&gang, HVI_DEVICE_FP16X3, &hvi_fault) == HVI_OK;
  const hvi_device_about *d = there ? hvi_gang_about(gang) : NULL;
  if (!hvi_talk.json)
    hvi_show(LINE("gpu", "", NULL,
                  d ? hvi_format("%s, %.0f GiB, %.0f of them free, driver %s, level %s", d->name,
                                 (double)d->memory / GIB, (double)d->free_memory / GIB, d->driver,
                                 d->level)
                    : hvi_fault.text));
  else if (d)
    hvi_json_object(NULL, V("name", "gpu"), V("available", there), V("device", d->name),
                    V("memory", d->memory), V("free_memory", d->free_memory),
                    V("driver", d->driver), V("level", d->level));
  else
    hvi_json_object(NULL, V("name", "gpu"), V("available", there), V("missing", hvi_fault.text));
  hvi_gang_close(gang);
}

int hvi_cli_info(int argc, char **argv) {
  hvi_args args = {argv[0], .usage = "[OPTION]...", .also = "json"};
  HVI_STEP(hvi_args_parse(&args, argc, argv));
  const char *gnuplot = find_program("gnuplot"), *features = cpu_features(),
             *kernel = hvi_lanes_kernels()[0]->name, *blas = openblas_get_config(),
             *core = openblas_get_corename();
  hvi_json_begin();
  hvi_show(LINE("version", "", "version", hvi_version()), LINE("commit", "", "commit", HVI_COMMIT),
           LINE("compiler", "", "compiler", COMPILER), LINE("build", "", "build", HVI_BUILD_TYPE),
           LINE("cpu", "", "cpu", cpu_name()),
           LINE("features", "", "cpu_features", features + (*features == ' ')),
           LINE("ensemble", " kernel", "ensemble_kernel", kernel),
           LINE("", " instances side by side", "ensemble_lanes", (size_t)HVI_LANES),
           LINE("threads", "", "threads", hvi_parallel_cores()), LINE("blas", "", "blas", blas),
           LINE("", " kernels", "blas_core", core), LINE("gnuplot", "", "gnuplot", gnuplot),
           LINE("gnuplot", "", NULL, gnuplot ? NULL : "not found: reproduce draws no pictures"));
  hvi_json_open("modules", '[');
  show_mujoco();
  show_device();
  hvi_json_end();
  return HVI_EXIT_DONE;
}
