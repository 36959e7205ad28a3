/* hvi info: which program this is, and what it runs on. */
#include "args.h"
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

typedef struct facts {
  const char *cpu, *features, *kernel, *blas, *blas_core, *gnuplot;
  size_t cores;
  const hvi_module *mujoco; /* NULL: hvi_fault says why */
} facts;

static void print_text(const facts *f) {
  printf("version   %s\ncompiler  %s\nbuild     %s\n", hvi_version(), COMPILER, HVI_BUILD_TYPE);
  printf("cpu       %s\nfeatures %s\n", f->cpu, f->features);
  printf("ensemble  %s kernel, %d instances side by side\n", f->kernel, (int)HVI_LANES);
  printf("threads   %zu\n", f->cores);
  printf("blas      %s (%s)\n", f->blas, f->blas_core);
  printf("gnuplot   %s\n", f->gnuplot ? f->gnuplot : "not found: reproduce draws no pictures");
  printf("mujoco    %s\n", f->mujoco
                               ? hvi_format("%s %s (%s)", f->mujoco->needs,
                                            f->mujoco->needs_version(), hvi_module_path(f->mujoco))
                               : hvi_fault.text);
}

static void print_json(const facts *f) {
  hvi_json_begin();
  hvi_json_put(V("version", hvi_version()), V("compiler", COMPILER), V("build", HVI_BUILD_TYPE),
               V("cpu", f->cpu), V("cpu_features", f->features + (*f->features == ' ')),
               V("ensemble_kernel", f->kernel), V("ensemble_lanes", (size_t)HVI_LANES),
               V("threads", f->cores), V("blas", f->blas), V("blas_core", f->blas_core),
               V("gnuplot", f->gnuplot));
  hvi_json_open("modules", '[');
  if (f->mujoco)
    hvi_json_object(NULL, V("name", "mujoco"), V("available", (bool)true),
                    V("needs", f->mujoco->needs), V("needs_version", f->mujoco->needs_version()),
                    V("path", hvi_module_path(f->mujoco)));
  else
    hvi_json_object(NULL, V("name", "mujoco"), V("available", (bool)false),
                    V("missing", hvi_fault.text));
  hvi_json_end();
}

int hvi_cli_info(int argc, char **argv) {
  hvi_args args = {argv[0], "[OPTION]...",
                   "Prints the version, how the program was built, and what it runs on.",
                   .examples = "  hvi info\n  hvi info --json"};
  hvi_args_json(&args);
  HVI_STEP(hvi_args_parse(&args, argc, argv));
  facts f = {.cpu = cpu_name(),
             .features = cpu_features(),
             .kernel = hvi_lanes_kernels()[0]->name,
             .blas = openblas_get_config(),
             .blas_core = openblas_get_corename(),
             .gnuplot = find_program("gnuplot"),
             .cores = hvi_parallel_cores()};
  hvi_module_open(&f.mujoco, "mujoco", &hvi_fault);
  (hvi_talk.json ? print_json : print_text)(&f);
  return HVI_EXIT_DONE;
}
