/* hvi info: which program this is, and what it runs on. */
#include "args.h"
#include "base/module.h"
#include "base/parallel.h"
#include "commands.h"
#include "ensemble/lanes.h"
#include "exit_codes.h"
#include "json.h"

#include <hvi/version.h>

#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef HVI_BUILD_TYPE
#ifdef __OPTIMIZE__
#define HVI_BUILD_TYPE "optimised"
#else
#define HVI_BUILD_TYPE "not optimised"
#endif
#endif

#ifdef __clang__
#define COMPILER __VERSION__
#else
#define COMPILER "gcc " __VERSION__
#endif

static void add_feature(char *text, size_t size, const char *name, int there) {
  size_t length = strlen(text);
  if (there) snprintf(text + length, size - length, "%s%s", length > 0 ? " " : "", name);
}

static void cpu_features(char *text, size_t size) {
  text[0] = '\0';
#if defined(__x86_64__)
  __builtin_cpu_init();
  add_feature(text, size, "sse4.2", __builtin_cpu_supports("sse4.2"));
  add_feature(text, size, "avx", __builtin_cpu_supports("avx"));
  add_feature(text, size, "avx2", __builtin_cpu_supports("avx2"));
  add_feature(text, size, "fma", __builtin_cpu_supports("fma"));
  add_feature(text, size, "avx512f", __builtin_cpu_supports("avx512f"));
  add_feature(text, size, "avx512dq", __builtin_cpu_supports("avx512dq"));
  add_feature(text, size, "avx512vl", __builtin_cpu_supports("avx512vl"));
#else
  add_feature(text, size, "none looked for", 1);
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
  printf("version   %s\n", hvi_version());
  printf("compiler  %s\n", COMPILER);
  printf("build     %s\n", HVI_BUILD_TYPE);
  printf("cpu       %s\n", f->cpu);
  printf("features  %s\n", f->features);
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

static void module_json(hvi_json *j, const char *name, const hvi_module *module,
                        const hvi_error *why) {
  hvi_json_open(j, NULL, '{');
  hvi_json_text(j, "name", name);
  hvi_json_bool(j, "available", module != NULL);
  if (module) {
    hvi_json_text(j, "needs", module->needs);
    hvi_json_text(j, "needs_version", module->needs_version());
    hvi_json_text(j, "path", hvi_module_path(module));
  } else {
    hvi_json_text(j, "missing", why->text);
  }
  hvi_json_close(j, '}');
}

static void print_json(const facts *f) {
  hvi_json j = {0};
  hvi_json_open(&j, NULL, '{');
  hvi_json_count(&j, "schema_version", 1);
  hvi_json_text(&j, "version", hvi_version());
  hvi_json_text(&j, "compiler", COMPILER);
  hvi_json_text(&j, "build", HVI_BUILD_TYPE);
  hvi_json_text(&j, "cpu", f->cpu);
  hvi_json_text(&j, "cpu_features", f->features);
  hvi_json_text(&j, "ensemble_kernel", f->kernel);
  hvi_json_count(&j, "ensemble_lanes", HVI_LANES);
  hvi_json_count(&j, "threads", f->cores);
  hvi_json_text(&j, "blas", f->blas);
  hvi_json_text(&j, "blas_core", f->blas_core);
  hvi_json_text(&j, "gnuplot", *f->gnuplot ? f->gnuplot : NULL);
  hvi_json_open(&j, "modules", '[');
  module_json(&j, "mujoco", f->mujoco, &f->no_mujoco);
  hvi_json_close(&j, ']');
  hvi_json_close(&j, '}');
}

int hvi_cli_info(int argc, char **argv) {
  bool json = false;
  int code;
  hvi_args args = {.command = argv[0],
                   .usage = "[OPTION]...",
                   .summary = "Prints the version, how the program was built, and what it runs on.",
                   .examples = "  hvi info\n  hvi info --json"};
  hvi_args_add(
      &args,
      (hvi_arg[]){{.name = "json", .kind = HVI_ARG_FLAG, .to = &json, .help = "as one JSON object"},
                  {0}});
  if (!hvi_args_parse(&args, argc, argv, &code)) return code;
  facts f = gather();
  if (json)
    print_json(&f);
  else
    print_text(&f);
  return HVI_EXIT_DONE;
}
