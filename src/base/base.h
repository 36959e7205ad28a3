/*
 * What files of code are written with: errors, memory, files, texts and clocks, tables of settings, and
 * the everyday part of the standard library. They include this first of all; headers include just what
 * they use.
 */
#pragma once

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/suggest.h"

#include <hvi/setting.h>

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* An array that is a table: HVI_ROWS(static const hvi_setting rows[], {...}, {...}); and a table of the
 * settings in a struct. The formatter leaves the rows as they are written. */
#define HVI_ROWS(array, ...) array = {__VA_ARGS__}
#define HVI_TABLE(table, title, type, ...)                                                         \
  table = {title, sizeof(type), (const hvi_setting[]){__VA_ARGS__}}

/* The table of a struct's settings, from its rows, and its defaults, for which other members are given:
 * hvi_STEM_table() and hvi_STEM_defaults(). */
#define HVI_SETTINGS(stem, title, type, rows, ...)                                                 \
  static const hvi_setting_table table = {title, sizeof(type), rows};                              \
  const hvi_setting_table *hvi_##stem##_table(void) { return &table; }                             \
  type hvi_##stem##_defaults(void) {                                                               \
    type s = {__VA_ARGS__};                                                                        \
    hvi_setting_defaults(&table, &s);                                                              \
    return s;                                                                                      \
  }
