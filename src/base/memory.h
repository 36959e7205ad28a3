/* Allocation: zeroed, aligned to a cache line, overflow-checked. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* count * size bytes, zeroed and 64-byte aligned; NULL on overflow or when there is no memory. A
 * zero count gives a valid pointer. Free with hvi_free. */
void *hvi_alloc(size_t count, size_t size);
double *hvi_alloc_doubles(size_t count);
void hvi_free(void *p);
/* A local `HVI_OWN double *x` is freed when its block ends, whichever way that is left. */
#define HVI_OWN __attribute__((cleanup(hvi_free_owned), unused))
void hvi_free_owned(void *pointer_to_pointer);
/* The same for what a function of its own lets go: `HVI_OWN_BY(hvi_text_free) hvi_text t = {0}`, and
 * after HVI_RELEASE(hvi_problem) at the head of a file `HVI_OWN_BY(hvi_problem_release) hvi_problem *p`. */
#define HVI_OWN_BY(release) __attribute__((cleanup(release), unused))
#define HVI_RELEASE(type)                                                                          \
  static inline void type##_release(type **object) { type##_free(*object); }
/* As hvi_alloc, with the first `used` bytes of old, which is freed. NULL: old stays. */
void *hvi_grow(void *old, size_t used, size_t count, size_t size);

/* For tests: a program that defines this is asked before every allocation, and false makes it fail.
 * Nobody else defines it, and then it costs one comparison with NULL. */
bool hvi_alloc_allowed(size_t bytes) __attribute__((weak, visibility("hidden")));

/* A copy of x[n]; of a string. NULL when there is no memory. */
double *hvi_copy_doubles(const double *x, size_t n);
char *hvi_copy_text(const char *text);
/* One text after the other. */
char *hvi_join_texts(const char *a, const char *b);

/* Bytes of memory that the machine has; SIZE_MAX when it does not tell. */
size_t hvi_memory_size(void);

/* *product = a * b; false when that overflows. */
bool hvi_multiply_sizes(size_t a, size_t b, size_t *product);
/* The product of a shape; false when so many doubles have no address, zero axes set aside, so that
 * every partial product is safe too. */
bool hvi_multiply_shape(size_t *count, size_t dims, const size_t *shape);

/*
 * One block of doubles handed out in pieces: a solver's whole workspace in one allocation. An arena
 * without a base hands out nothing and adds up what would be used, so that the same code first
 * counts and then takes.
 */
typedef struct hvi_arena {
  double *base;
  size_t used, size; /* in doubles */
} hvi_arena;

/* Room for n doubles, rounded up to a cache line; NULL when the arena is too small. */
double *hvi_arena_take(hvi_arena *arena, size_t n);
/* How much hvi_arena_take(n) uses: for adding up a workspace before allocating it. */
size_t hvi_arena_need(size_t n);

/* Many pieces that are freed together: blocks, of which the first has room. NULL: nothing yet. */
typedef struct hvi_pool hvi_pool;

/* As hvi_alloc, in the pool. */
void *hvi_pool_take(hvi_pool **pool, size_t count, size_t size);
void hvi_pool_free(hvi_pool *pool);

/* Several arrays in one block, each from a cache line on; the first one is what to free. False, and
 * nothing is changed, when there is no memory: `hvi_alloc_arrays({&x, n}, {&A, n * n})`. */
typedef struct hvi_array_slot {
  double **at;
  size_t size;
} hvi_array_slot;
#define hvi_alloc_arrays(...) hvi_alloc_array_list((const hvi_array_slot[]){__VA_ARGS__, {NULL, 0}})
bool hvi_alloc_array_list(const hvi_array_slot *list);
