/*
 * Settings, described: one row for each member of a struct that people fill in.
 *
 *   {.name = "inner_lr", .kind = HVI_SETTING_REAL, .offset = offsetof(hvi_settings, inner.lr),
 *    .range = "(0,inf)", .fallback = "1", .help = "step size of gd, ...", .used_by = "gd adam"}
 *
 * From its row a setting has its default, its check and its one sentence of refusal, its option on
 * the command line (--inner-lr), its key in files (inner_lr:), its member in JSON, and its part of
 * the text that a resumed run is compared by. A struct has one table; hvi_setting_table_at
 * goes through those of the library, for programs and bindings that set members by name.
 */
#ifndef HVI_SETTING_H
#define HVI_SETTING_H

#include <hvi/error.h>
#include <hvi/export.h>

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the member is. */
typedef enum hvi_setting_kind {
  HVI_SETTING_SECTION, /* none: the name is a heading in the help */
  HVI_SETTING_REAL,    /* double, finite */
  HVI_SETTING_COUNT,   /* size_t; 1e3 will do */
  HVI_SETTING_SEED,    /* uint64_t */
  HVI_SETTING_FLAG,    /* bool: yes or no, true or false */
  HVI_SETTING_CHOICE,  /* int or enum: the place of a word among `choices` */
  HVI_SETTING_TEXT,    /* const char *: points at the text that it was set from */
  HVI_SETTING_COUNTS,  /* size_t[most], and how many in a size_t at `second` */
  HVI_SETTING_REALS    /* double[most], likewise */
} hvi_setting_kind;

enum {
  HVI_SETTING_ZERO_IS_NONE = 1, /* 0 stands for "no such thing", as text: none */
  HVI_SETTING_NAN_IS_NONE = 2,  /* so does NaN, in a real */
  HVI_SETTING_NO_RESULT = 4,    /* has no say in the numbers of a result: threads, where to stop */
  HVI_SETTING_REQUIRED = 8,     /* a file must give it */
  HVI_SETTING_NOT_EMPTY = 16,   /* a list, where one is given, has an entry at least */
  HVI_SETTING_DISTINCT = 32     /* and no entry twice */
};

typedef struct hvi_setting {
  const char *name; /* "inner_lr"; NULL ends a table */
  hvi_setting_kind kind;
  unsigned flags;
  size_t offset;     /* of the member */
  const char *range; /* of a number or of each in a list, as "(0,1]" or "[0,inf)"; NULL: any */
  const char
      *choices;  /* "plain|optimistic|averaged"; an empty word is no choice. Of a number: words in
                    its place; the enum at  `second` is then 1, 2, ..., and 0 with a number */
  size_t second; /* offset of a list's count, or of such an enum */
  size_t most;   /* entries of a list, at most 64; characters of a text, 0: any */
  const char *fallback; /* the default as text; NULL: zero, off, empty */
  const char *help;     /* one line */
  const char *used_by;  /* methods that use it, as words with blanks between; NULL: all */
} hvi_setting;

typedef struct hvi_setting_table {
  const char *name;        /* of what it describes: "solver" */
  size_t size;             /* of the struct */
  const hvi_setting *rows; /* ending in a NULL name */
} hvi_setting_table;

/* The library's tables, one after the other; NULL past the last. Those of built-in problems stand
 * in hvi_builtin_list. */
HVI_API const hvi_setting_table *hvi_setting_table_at(size_t index);

/* The row of that name ('-' and '_' are the same), or NULL. */
HVI_API const hvi_setting *hvi_setting_find(const hvi_setting_table *t, const char *name);

/* Sets the members to their defaults; what has no row stays. */
HVI_API void hvi_setting_defaults(const hvi_setting_table *t, void *settings);

/*
 * Sets one member from text. `where` is what a refusal begins with, NULL: the name:
 *   --inner-lr: must be a number above 0, not '-1'
 *   f.yaml:12: inner_lr: must be a number above 0, not '-1'
 *   inner_lr: must be a number above 0, not '-1'
 */
HVI_API hvi_status hvi_setting_parse(const hvi_setting *row, void *settings, const char *text,
                                     const char *where, hvi_error *err);
/* The same by name; an unknown one is refused with the nearest that there is. */
HVI_API hvi_status hvi_setting_set(const hvi_setting_table *t, void *settings, const char *name,
                                   const char *text, hvi_error *err);

/* Refuses members that are out of range, in the same words. */
HVI_API hvi_status hvi_setting_check(const hvi_setting_table *t, const void *settings,
                                     hvi_error *err);

/* What the setting must be, in words: "a number above 0". Cut off at size; returns text. */
HVI_API char *hvi_setting_rule(const hvi_setting *row, char *text, size_t size);
/* The value as text that reads back to the same bits. Cut off at size; returns text. */
HVI_API char *hvi_setting_format(const hvi_setting *row, const void *settings, char *text,
                                 size_t size);

/* Whether a method, by any of its words, uses it; NULL: any method. */
HVI_API bool hvi_setting_used(const hvi_setting *row, const char *method);
HVI_API bool hvi_setting_equal(const hvi_setting *row, const void *a, const void *b);
HVI_API void hvi_setting_copy(const hvi_setting *row, void *to, const void *from);
/* The first row that the results depend on, that the method uses, and in which the two differ;
 * NULL: none. */
HVI_API const hvi_setting *hvi_setting_differ(const hvi_setting_table *t, const void *a,
                                              const void *b, const char *method);

/* "inner_lr 0.1; momentum 0.9; ...": all that the results depend on and the method uses. Writes at
 * most `size` bytes with the end, and returns the length of all of it, as snprintf does. */
HVI_API size_t hvi_setting_describe(const hvi_setting_table *t, const void *settings,
                                    const char *method, char *text, size_t size);

#ifdef __cplusplus
}
#endif

#endif
