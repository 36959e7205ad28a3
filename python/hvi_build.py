"""Builds the extension hvi._hvi with cffi: the declarations are read from the library's own headers.

The library is the static one of a CMake build: HVI_BUILD_DIR, or build/ beside this folder, which is made where it
is not there. OpenBLAS is linked statically and hidden: NumPy's, or any other in the process, is never touched.
"""
import os
import re
import subprocess
from pathlib import Path

from cffi import FFI

HERE = Path(__file__).resolve().parent
ROOT = Path(os.environ.get("HVI_SOURCE_DIR", HERE.parent)).resolve()
BUILD = Path(os.environ.get("HVI_BUILD_DIR", ROOT / "build")).resolve()

# In the order in which they need each other.
HEADERS = """error setting version activation model rng problem surrogate optimizer solver builtin theory check tensors sparse
             mlp env policy rollout collector value testset evaluate mdp performative""".split()

# What Python sees of glue.c.
GLUE = """
typedef struct hvi_py_row {
  uint64_t outer, inner; double loss0, loss, ratio, alpha, dist2, residual;
  uint64_t f_evals, model_passes, grad_evals, env_steps; double seconds;
} hvi_py_row;
typedef struct hvi_py_watch {
  bool keep, keep_points; void *callback; bool failed; bool no_memory; double every, next;
  size_t count, room, dim, out;
  hvi_py_row *rows; double *points;
} hvi_py_watch;
void hvi_py_blas_threads(int threads);
int hvi_py_blas_count(void);
bool hvi_py_observe(void *context, const hvi_record *row);
void hvi_py_watch_end(hvi_py_watch *w);
hvi_outcome hvi_py_run(hvi_solver *s, const hvi_py_watch *w, double seconds);
bool hvi_py_evaluate(hvi_evaluation *e, double seconds, hvi_status *status, hvi_error *err);
hvi_model *hvi_py_model(void *handle, size_t dim, size_t out);
hvi_problem *hvi_py_problem(void *handle, hvi_model *m);
hvi_status hvi_py_may_write(const char *path, const char *mark, hvi_error *err);
typedef struct hvi_py_layer { size_t in, out; const float *weight, *bias; } hvi_py_layer;
typedef struct hvi_py_form {
  size_t layers; hvi_activation activation; bool clipped, noise; const float *scale, *shift; const double *gain;
} hvi_py_form;
hvi_py_form hvi_py_policy_form(const hvi_policy *p);
hvi_py_layer hvi_py_policy_layer(const hvi_policy *p, size_t l);
void hvi_py_policy_text(const hvi_policy *p, char *text);
extern "Python" {
  bool hvi_py_on_row(void *handle, const hvi_record *row);
  void hvi_py_on_F(void *handle, const double *theta, const double *z, double *f);
  void hvi_py_on_g(void *handle, const double *theta, double *z);
  void hvi_py_on_vjp(void *handle, const double *theta, const double *u, double *out);
  void hvi_py_on_jvp(void *handle, const double *theta, const double *v, double *out);
}
"""


def declarations(name: str) -> str:
    """A header without comments, preprocessor lines and what cffi's parser does not know."""
    text = (ROOT / "include" / "hvi" / f"{name}.h").read_text()
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"^#ifdef __cplusplus\n.*?^#endif\n", "", text, flags=re.S | re.M)
    text = re.sub(r"^#.*\n", "", text, flags=re.M)
    text = re.sub(r"__attribute__\(\(format[^;]*", "", text)
    return text.replace("HVI_API ", "")


def pkg_config(*words: str) -> list:
    return subprocess.run(["pkg-config", *words], check=True, text=True, capture_output=True).stdout.split()


def build_library() -> Path:
    library = BUILD / "src" / "libhvi.a"
    if not library.exists():
        subprocess.run(["cmake", "-S", ROOT, "-B", BUILD, "-DHVI_TESTS=OFF"], check=True)
        subprocess.run(["cmake", "--build", BUILD, "-j", str(os.cpu_count()), "--target", "hvi_static", "hvi"], check=True)
    return library


def link_arguments() -> list:
    folder = pkg_config("--variable=libdir", "openblas")[0]
    return [
        "-Wl,--whole-archive", str(build_library()), "-Wl,--no-whole-archive",
        "-l:liblapacke.a", f"{folder}/libopenblas.a",
        *pkg_config("--libs", "yaml-0.1", "jansson", "libzip"), "-lgfortran", "-lpthread", "-lm", "-ldl",
        f"-Wl,--version-script={HERE / 'exports.map'}", "-Wl,-Bsymbolic", "-Wl,--disable-new-dtags",
        "-Wl,-rpath,$ORIGIN/program/lib/hvi",
    ]


ffibuilder = FFI()
for header in HEADERS:
    ffibuilder.cdef(declarations(header))
ffibuilder.cdef(GLUE)
ffibuilder.set_source(
    "hvi._hvi", (HERE / "glue.c").read_text(),
    include_dirs=[str(ROOT / "include"), str(ROOT / "src")], extra_compile_args=["-O2", "-std=gnu11", *pkg_config("--cflags", "openblas")],
    extra_link_args=link_arguments(), depends=[str(BUILD / "src" / "libhvi.a"), str(HERE / "glue.c")])

if __name__ == "__main__":  # into a folder of one's own: hvi_build.py FOLDER
    import sys

    folder = Path(sys.argv[1]).resolve()
    (folder / "hvi").mkdir(parents=True, exist_ok=True)
    print(ffibuilder.compile(tmpdir=str(folder)))
