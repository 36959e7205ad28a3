#include "base/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CACHE_LINE = 64, LINE_DOUBLES = CACHE_LINE / sizeof(double), POOL_BLOCK = 1 << 16 };

size_t hvi_memory_size(void) {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  size_t bytes;
  const bool told = pages > 0 && page > 0;
  return told && hvi_multiply_sizes((size_t)pages, (size_t)page, &bytes) ? bytes : SIZE_MAX;
}

bool hvi_multiply_sizes(size_t a, size_t b, size_t *product) {
  if (b && a > SIZE_MAX / b) return false;
  *product = a * b;
  return true;
}

bool hvi_multiply_shape(size_t *count, size_t dims, const size_t *shape) {
  size_t bytes = sizeof(double);
  bool empty = false;
  for (size_t i = 0; i < dims; i++) {
    empty = empty || shape[i] == 0;
    if (shape[i] && !hvi_multiply_sizes(bytes, shape[i], &bytes)) return false;
  }
  *count = empty ? 0 : bytes / sizeof(double);
  return true;
}

void *hvi_alloc(size_t count, size_t size) {
  size_t bytes;
  if (!hvi_multiply_sizes(count, size, &bytes) || bytes > SIZE_MAX - CACHE_LINE) return NULL;
  if (hvi_alloc_allowed && !hvi_alloc_allowed(bytes)) return NULL;
  /* aligned_alloc wants whole lines, and a zero size still needs a pointer */
  size_t lines = bytes ? (bytes + CACHE_LINE - 1) / CACHE_LINE : 1;
  void *p = aligned_alloc(CACHE_LINE, lines * CACHE_LINE);
  if (p) memset(p, 0, lines * CACHE_LINE);
  return p;
}

double *hvi_alloc_doubles(size_t count) { return hvi_alloc(count, sizeof(double)); }

void hvi_free(void *p) { free(p); }

void hvi_free_owned(void *pointer_to_pointer) {
  void *p;
  memcpy(&p, pointer_to_pointer, sizeof p);
  free(p);
}

void *hvi_grow(void *old, size_t used, size_t count, size_t size) {
  void *grown = hvi_alloc(count, size);
  if (!grown) return NULL;
  if (used) memcpy(grown, old, used);
  hvi_free(old);
  return grown;
}

double *hvi_copy_doubles(const double *x, size_t n) {
  double *copy = hvi_alloc_doubles(n);
  if (copy && n) memcpy(copy, x, n * sizeof *copy);
  return copy;
}

char *hvi_join_texts(const char *a, const char *b) {
  const size_t first = strlen(a), second = strlen(b) + 1;
  char *text = hvi_alloc(first + second, 1);
  if (!text) return NULL;
  memcpy(text, a, first);
  memcpy(text + first, b, second);
  return text;
}

char *hvi_copy_text(const char *text) { return hvi_join_texts(text, ""); }

size_t hvi_arena_need(size_t n) {
  if (n > SIZE_MAX - LINE_DOUBLES) return SIZE_MAX;
  return (n + LINE_DOUBLES - 1) / LINE_DOUBLES * LINE_DOUBLES;
}

double *hvi_arena_take(hvi_arena *arena, size_t n) {
  size_t need = hvi_arena_need(n);
  if (!arena->base) {
    arena->used = need > SIZE_MAX - arena->used ? SIZE_MAX : arena->used + need;
    return NULL;
  }
  if (need > arena->size - arena->used) return NULL;
  double *block = arena->base + arena->used;
  arena->used += need;
  return block;
}

struct hvi_pool {
  hvi_pool *next;
  size_t left; /* the block is used from its end */
  _Alignas(CACHE_LINE) char bytes[];
};

void *hvi_pool_take(hvi_pool **pool, size_t count, size_t size) {
  size_t bytes;
  if (!hvi_multiply_sizes(count, size, &bytes) || bytes > SIZE_MAX / 2) return NULL;
  bytes = (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
  if (!*pool || bytes > (*pool)->left) {
    const size_t left = bytes > POOL_BLOCK ? bytes : POOL_BLOCK;
    hvi_pool *fresh = hvi_alloc(1, sizeof *fresh + left);
    if (!fresh) return NULL;
    fresh->next = *pool;
    fresh->left = left;
    *pool = fresh;
  }
  (*pool)->left -= bytes;
  return (*pool)->bytes + (*pool)->left;
}

void hvi_pool_free(hvi_pool *pool) {
  for (hvi_pool *next; pool; pool = next) {
    next = pool->next;
    hvi_free(pool);
  }
}

bool hvi_alloc_array_list(const hvi_array_slot *list) {
  hvi_arena arena = {0};
  for (const hvi_array_slot *a = list; a->at; a++) hvi_arena_take(&arena, a->size);
  arena = (hvi_arena){.base = hvi_alloc_doubles(arena.used), .size = arena.used};
  for (const hvi_array_slot *a = list; arena.base && a->at; a++)
    *a->at = hvi_arena_take(&arena, a->size);
  return arena.base != NULL;
}
