/* hvi info: which program this is, and what it runs on. */
#include "base/base.h"
#include "base/module.h"
#include "base/parallel.h"
#include "commands.h"
#include "ensemble/lanes.h"
#include "json.h"
#include "talk.h"

#include <hvi/version.h>

#include <cblas.h>
#include <unistd.h>

#ifdef __clang__
#define COMPILER __VERSION__
#else
#define COMPILER "gcc " __VERSION__
#endif

static void cpu_features(char *text, size_t size) {
#if defined(__x86_64__)
  static const char names[][10] = {"sse4.2",  "avx",      "avx2",    "fma",
                                   "avx512f", "avx512dq", "avx512vl"};
  __builtin_cpu_init();
  const int there[] = {__builtin_cpu_supports("sse4.2"),  __builtin_cpu_supports("avx"),
                       __builtin_cpu_supports("avx2"),    __builtin_cpu_supports("fma"),
                       __builtin_cpu_supports("avx512f"), __builtin_cpu_supports("avx512dq"),
                       __builtin_cpu_supports("avx512vl")};
  size_t length = 0;
  text[0] = '\0';
  for (size_t i = 0; i < sizeof there / sizeof *there; i++) {
    if (!there[i]) continue;
    length += (size_t)snprintf(text + length, size - length, "%s%s", length ? " " : "", names[i]);
  }
#else
  snprintf(text, size, "none looked for");
#endif
}

/* The processor's name, where the system tells. */
static void cpu_name(char *text, size_t size) {
  char row[256];
  FILE *file = fopen("/proc/cpuinfo", "r");
  snprintf(text, size, "not known");
  if (!file) return;
  while (fgets(row, sizeof row, file)) {
    const char *colon = strchr(row, ':');
    if (strncmp(row, "model name", 10) != 0 || !colon) continue;
    const char *name = colon + 1 + strspn(colon + 1, " \t");
    snprintf(text, size, "%.*s", (int)strcspn(name, "\n"), name);
    break;
  }
  fclose(file);
}

/* Where a program would be found on the PATH; "" when nowhere. */
static void find_program(const char *name, char *text, size_t size) {
  const char *path = getenv("PATH");
  text[0] = '\0';
  while (path && *path) {
    int length = (int)strcspn(path, ":");
    snprintf(text, size, "%.*s/%s", length, path, name);
    if (length > 0 && access(text, X_OK) == 0) return;
    text[0] = '\0';
    path += length;
    path += *path == ':';
  }
}

typedef struct facts {
  char cpu[128], features[128], gnuplot[512];
  const hvi_module *mujoco; /* NULL: no_mujoco says why */
  hvi_error no_mujoco;
  const char *kernel, *blas, *blas_core;
  size_t cores;
} facts;

static facts gather(void) {
  facts f = {.kernel = hvi_lanes_kernels()[0]->name,
             .blas = openblas_get_config(),
             .blas_core = openblas_get_corename(),
             .cores = hvi_parallel_cores()};
  cpu_name(f.cpu, sizeof f.cpu);
  cpu_features(f.features, sizeof f.features);
  find_program("gnuplot", f.gnuplot, sizeof f.gnuplot);
  hvi_module_open(&f.mujoco, "mujoco", &f.no_mujoco);
  return f;
}

static void print_text(const facts *f) {
  printf("version   %s\ncompiler  %s\nbuild     %s\n", hvi_version(), COMPILER, HVI_BUILD_TYPE);
  printf("cpu       %s\nfeatures  %s\n", f->cpu, f->features);
  printf("ensemble  %s kernel, %d instances side by side\n", f->kernel, (int)HVI_LANES);
  printf("threads   %zu\n", f->cores);
  printf("blas      %s (%s)\n", f->blas, f->blas_core);
  printf("gnuplot   %s\n", *f->gnuplot ? f->gnuplot : "not found: reproduce draws no pictures");
  if (f->mujoco) {
    printf("mujoco    %s %s (%s)\n", f->mujoco->needs, f->mujoco->needs_version(),
           hvi_module_path(f->mujoco));
  } else {
    printf("mujoco    %s\n", f->no_mujoco.text);
  }
}

static void print_json(const facts *f) {
  hvi_json j = hvi_json_begin();
  hvi_json_put(&j, V("version", hvi_version()), V("compiler", COMPILER), V("build", HVI_BUILD_TYPE),
               V("cpu", f->cpu), V("cpu_features", f->features), V("ensemble_kernel", f->kernel),
               V("ensemble_lanes", (size_t)HVI_LANES), V("threads", f->cores), V("blas", f->blas),
               V("blas_core", f->blas_core), V("gnuplot", *f->gnuplot ? f->gnuplot : NULL));
  hvi_json_open(&j, "modules", '[');
  if (f->mujoco)
    hvi_json_object(&j, NULL, V("name", "mujoco"), V("available", (bool)true),
                    V("needs", f->mujoco->needs), V("needs_version", f->mujoco->needs_version()),
                    V("path", hvi_module_path(f->mujoco)));
  else
    hvi_json_object(&j, NULL, V("name", "mujoco"), V("available", (bool)false),
                    V("missing", f->no_mujoco.text));
  hvi_json_close(&j, ']');
  hvi_json_close(&j, '}');
}

int hvi_cli_info(int argc, char **argv) {
  bool json = false;
  int code;
  hvi_args args = {argv[0], "[OPTION]...",
                   "Prints the version, how the program was built, and what it runs on.",
                   .examples = "  hvi info\n  hvi info --json"};
  hvi_args_json(&args, &json);
  if (!hvi_args_parse(&args, argc, argv, &code)) return code;
  const facts f = gather();
  (json ? print_json : print_text)(&f);
  return HVI_EXIT_DONE;
}
