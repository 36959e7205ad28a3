/*
 * Whose units these are. Work is units, each an index that becomes bytes. A process may have every
 * N-th of them (a part), take over what parts have finished (a merge), or share them with the
 * processes of an MPI job (base/ranks.h). Nobody's bytes depend on that.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct hvi_share {
  size_t part, parts;      /* units part, part + parts, ...; parts 0: all */
  size_t from_count;       /* a merge: */
  const char **from;       /* [from_count] folders of parts */
  const char *name;        /* of the journals in them; NULL: as that of the whole */
  const char *device;      /* that computes them beside the processor, by its level; NULL: none */
  struct hvi_ranks *ranks; /* NULL: this process alone */
} hvi_share;

/* NULL: one process does everything. */
static inline bool hvi_share_has(const hvi_share *s, size_t unit) {
  return !s || !s->parts || unit % s->parts == s->part;
}
static inline bool hvi_share_is_part(const hvi_share *s) { return s && s->parts; }
static inline size_t hvi_share_froms(const hvi_share *s) { return s ? s->from_count : 0; }
static inline struct hvi_ranks *hvi_share_ranks(const hvi_share *s) { return s ? s->ranks : NULL; }
