/*
 * Studies: an experiment is a grid.
 *
 *   file      its parts: a kind, a problem, methods, factors with their levels
 *   cells     part x levels of its factors, each an index that becomes rows
 *   tables    the rows of all cells, by index, under named columns
 *   then      statistics, CSV files, figures, claims
 *
 * A kind is a function that runs a cell, and a list of columns. What a cell leaves depends on the
 * cell alone. Finished cells are kept in a journal under a hash of everything that decides them:
 * interrupted anywhere, a study that is resumed does the rest and ends in the same bits.
 *
 * ARCHITECTURE.md has the recipe for a kind of one's own.
 */
#pragma once

#include "base/file.h"
#include "base/memory.h"
#include "io/yaml.h"
#include "report/claims.h"
#include "report/plot.h"
#include "study/table.h"

#include <hvi/builtin.h>
#include <hvi/evaluate.h>

struct hvi_text;
struct hvi_gang;
struct hvi_share;
typedef struct hvi_study hvi_study;
typedef struct hvi_part hvi_part;
typedef struct hvi_cell hvi_cell;
typedef struct hvi_rows hvi_rows;

/*
 * Arms: the methods that a study compares.
 *
 *   - {label: GD(10), method: gd, eta: 0.1, inner: 10, inner_lr: 1, style: 2, highlight: true}
 *   - {label: Surr 10, method: adamw, inner: 10, inner_lr: 1e-2, at: [{environment: ant, inner_lr: 3e-3}]}
 *
 * `at` changes settings where factors of the study have certain levels; `size` is quick or full.
 */
enum { HVI_MOST_RATES = 16 };

typedef struct hvi_arm {
  const char *label, *method;
  char slug[48]; /* the label as part of a file name, unlike any other's */
  hvi_settings settings;
  const hvi_node *at; /* a list of maps: levels, and settings that hold there; NULL: none */
  size_t style;       /* of its lines; its place in the list unless told otherwise */
  bool highlight;     /* its path, or its band, is drawn */
  /* policy evaluation: */
  bool eta_given, normalise_given;
  hvi_normalisation normalise; /* instead of the study's, where given */
  size_t passes;               /* outer steps that each batch serves, as many more of them */
  size_t times;                /* so many times the study's iterations, on fresh data */
  hvi_value_spec value;        /* buffer, lambda and returns of it are the arm's own */
  size_t rate_count;
  double rates[HVI_MOST_RATES]; /* what hvi_arm_rate is chosen from; none: the study's */
  double rate;                  /* while it is tuned, instead of the file's; 0: the file's */
} hvi_arm;

/* Reads one arm, whose method may be one of the rules. */
hvi_status hvi_arm_parse(hvi_arm *c, const hvi_node *map, const hvi_rule *const *rules,
                         const char *origin, hvi_error *err);
/* What is tuned: a gradient method's inner_lr, lm's damping, the eta of everything else; and its
 * key. */
double *hvi_arm_rate(hvi_settings *s, const char **key);

/* "GD(10)" becomes "gd-10": text as part of a file's name. */
void hvi_slug(char *slug, size_t size, const char *text);

/* The key `value` of a study: environments, network, data and tuning; plan.c, as methods. */
typedef struct hvi_value_environment {
  const char *environment, *policy, *testset;
  /* a quick run without the test set makes one of this size; 0 states: it does not */
  hvi_testset_settings stand_in;
  double clocks[8]; /* steps a second of other simulators, in the order of the plan's names */
  size_t clock_count;
} hvi_value_environment;

enum { HVI_MOST_ENVIRONMENTS = 4, HVI_MOST_CLOCKS = 8 };

typedef struct hvi_value_plan {
  size_t environment_count;
  hvi_value_environment environments[HVI_MOST_ENVIRONMENTS];
  /* What every cell starts from: hidden, gamma, draw (offline at random, or all of the data at
   * once), normalise and per_decade are the file's. */
  hvi_evaluation_spec spec;
  const char *clock_names[HVI_MOST_CLOCKS + 2]; /* the one that is run first; ending in NULL */
  bool gap;                                     /* offline: the Bellman gap is measured */
  double checkpoint;                            /* seconds between checkpoints of a cell */
  /* tuning: seeds tune_first, tune_first + 1, ..., none of them reported */
  size_t tune_seeds, tune_first;
  const char *tuned; /* how the file's rates were found; NULL: not said */
  size_t rate_count;
  double rates[HVI_MOST_RATES];
} hvi_value_plan;

hvi_status hvi_value_plan_parse(hvi_value_plan **plan, const hvi_node *map, const char *origin,
                                hvi_error *err);
/* The tables that methods and the key are read by, ending in NULL. */
extern const hvi_setting_table *const hvi_plan_tables[];

/* How much to do. */
typedef struct hvi_scale {
  size_t iterations; /* outer iterations of a run; deployments; transitions of a trajectory */
  size_t instances;  /* ensembles; seeds of kind value */
  size_t repeats;    /* timing: the fastest counts */
  /* value; 0: not given */
  size_t batch;     /* transitions of an outer step */
  size_t offline;   /* transitions of a fixed data set */
  size_t gradients; /* that each method may compute, instead of iterations */
  size_t states;    /* of the test set; 0: all */
  size_t width;     /* of all hidden layers, instead of those in `value` */
  size_t measures;  /* evenly spaced */
  double gamma;     /* instead of that in `value`; 0: that one */
} hvi_scale;

enum { HVI_MOST_FACTORS = 10, HVI_MOST_KEYS = 12, HVI_MOST_PARTS = 24, HVI_KIND_TABLES = 3 };
enum { HVI_MOST_SPLITS = 4 /* factors that a table is split by */ };

/* What is varied, and over what. A level is a value, or a map of several that vary together: a factor
 * has one key, its name, or those of the maps. */
typedef struct hvi_factor {
  const char *name; /* "alpha", "environment", "method", "seed" */
  size_t levels, keys;
  const char *key[HVI_MOST_KEYS + 1]; /* [keys] and NULL */
  bool words[HVI_MOST_KEYS];          /* [keys] whether some level is no number */
  const char *
      *text; /* [keys][levels + 1], each ending in NULL: as in the file, "" where not given */
  char (*made)[24]; /* levels that were counted up */
} hvi_factor;

/* A table that a kind fills. */
typedef struct hvi_kind_table {
  const char *name;      /* of the CSV, after the part's; NULL ends a list */
  hvi_column columns[4]; /* of a row, ending in a NULL name; the factors are added in front */
  const char *split;     /* factors with a CSV for each level: "method"; NULL: one CSV */
} hvi_kind_table;

enum {
  HVI_KIND_PROBLEM = 1,  /* needs the key problem */
  HVI_KIND_METHODS = 2,  /* needs methods; they are a factor */
  HVI_KIND_ALONE = 4,    /* its cells are timed, or use all threads themselves: one after another */
  HVI_KIND_SEEDS = 8,    /* instances are a factor: seeds seed, seed + 1, ... */
  HVI_KIND_REPEATS = 32, /* repeats are a factor, before the methods */
  HVI_KIND_VALUE = 16,   /* needs the key value; its environments are a factor */
  HVI_KIND_SETTINGS = 64 /* factors that are settings of methods are handed on to them */
};

typedef struct hvi_kind {
  const char *name, *summary;
  unsigned flags;
  /* Factors that it reads, with blanks between, as numbers and as words; options of the problem and
   * keys of `at` need not be named. Others are refused. */
  const char *numbers, *words;
  hvi_kind_table tables[HVI_KIND_TABLES + 1];
  /* What cells share (environments, streams), into part->shared; optional. */
  hvi_status (*open)(hvi_study *study, hvi_part *part, hvi_error *err);
  void (*close)(hvi_part *part);
  /* Runs a cell. One that returns HVI_OK after hvi_cell_tick was false has been stopped. */
  hvi_status (*run)(const hvi_cell *cell, hvi_rows *rows, hvi_error *err);
  /* More that decides a cell's rows than file, levels and settings: contents of files; optional. */
  void (*describe)(const hvi_cell *cell, struct hvi_text *text);
  double (*cost)(const hvi_cell *cell);           /* about; optional: 1 */
  size_t (*group)(const hvi_cell *cell);          /* as in work.h; optional */
  void (*leave)(hvi_part *part, size_t group);    /* optional */
  void (*tell)(hvi_study *study, hvi_part *part); /* how its cells ran, after the last; optional */
  /* Further tables, empty (hvi_study_add_table), and what is worked out for them from those of the
   * cells before anything is written; optional. */
  hvi_status (*extend)(hvi_study *study, hvi_part *part, hvi_error *err);
  hvi_status (*derive)(hvi_study *study, hvi_part *part, hvi_error *err);
  /* Why a level of `environment` could not be run; NULL: it was. Optional. */
  const char *(*missing)(const hvi_part *part, const char *level);
} hvi_kind;

/* The kinds, ending in a NULL name; kinds.c. */
extern const hvi_kind *const hvi_kinds[];

/* One run over a grid. */
struct hvi_part {
  const char *name, *kind_name; /* name begins the names of its files; empty for the only part */
  const hvi_kind *kind;
  const hvi_node *map;     /* of the file, or of its list of parts */
  const char *split;       /* factors with a CSV for each level; NULL: as the kind's tables */
  const char *problem;     /* built in, or a file beside the experiment's; NULL: none */
  char *problem_path;      /* of such a file */
  uint64_t file_hash;      /* of its contents, while the study runs */
  const hvi_builtin *code; /* what makes it, where that file is code */
  size_t option_count;
  hvi_option *options;
  uint64_t seed;
  hvi_scale quick, full;
  bool counts_instances; /* the file says how many */
  const hvi_node *grid, *quick_grid,
      *full_grid; /* the file's factors; quick and full replace some */
  size_t method_count;
  hvi_arm *methods;
  hvi_value_plan *value; /* of kind value */
  /* while the study runs: */
  hvi_scale scale;
  size_t factor_count;
  hvi_factor factors[HVI_MOST_FACTORS]; /* of the file, then environment, method, seed */
  size_t first, cells;                  /* its cells among the study's */
  size_t first_table;                   /* its tables among the study's, one each of the kind's */
  double busy, idle;                    /* seconds of a device before its cells */
  void *shared;                         /* the kind's */
};

/* What the program asks for. */
typedef struct hvi_study_settings {
  const char *out; /* folder; the study's is OUT/ID */
  bool full, resume;
  bool force;                       /* files that hvi did not make are replaced */
  bool accept_other_bits;           /* cells of another level of instructions are taken too */
  size_t threads;                   /* 0: one per core */
  struct hvi_gang *device;          /* that networks of kind value learn on; NULL: the processor */
  const struct hvi_share *share;    /* of the cells; NULL: all are this process's */
  struct hvi_stream_cache *streams; /* of earlier studies of the run; NULL: none is kept */
  const hvi_made *made;             /* what claims.json says of the run; NULL: nothing */
  /* How far a study is; false stops. Optional. */
  bool (*progress)(void *context, const char *id, const char *doing, double share);
  /* A line worth telling, e.g. that gnuplot is missing. Optional. */
  void (*message)(void *context, const char *line);
  void *context;
} hvi_study_settings;

struct hvi_study {
  /* the file: */
  const char *id, *title;
  const char *paper, *shows; /* what the paper says, and what the figures show; NULL: not told */
  char *origin, *text;       /* what errors begin with; the file itself */
  hvi_tree *tree, *defaults;
  bool builtin;     /* one of the program's own */
  const char *runs; /* another study that makes the same cells; NULL: none */
  size_t part_count;
  hvi_part parts[HVI_MOST_PARTS];
  const hvi_node *figures, *claim_rows; /* of the file, or the kind's defaults */
  bool default_figures;                 /* the kind's; figures is NULL where they do not fit */
  /* while it runs: */
  const hvi_study_settings *settings;
  bool stopped, checking;     /* checking: no cell has run, and tables are empty */
  struct hvi_tuning *tuning;  /* while rates are tried; tune.c */
  char *folder, *claims_path; /* OUT/ID, its claims.json */
  hvi_lock lock;
  size_t cell_count, table_count;
  hvi_table *tables;
  hvi_claims *claims;
};

/* Finds a built-in study by its ID or reads a file (a name with a '/' or a '.'). An unknown ID gives
 * HVI_ERROR_INPUT with the nearest one. `load` finds code that a file names (NAME.c, NAME.so); NULL:
 * it may name none. */
typedef hvi_status hvi_code_fn(const hvi_builtin **problem, const char *path, hvi_error *err);
hvi_status hvi_study_open(hvi_study **study, const char *name, hvi_code_fn *load, hvi_error *err);
/* The same from text; `origin` names it in errors, and a relative problem file is looked for beside
 * it. */
hvi_status hvi_study_parse(hvi_study **study, const char *text, const char *origin, hvi_error *err);
void hvi_study_free(hvi_study *study);
HVI_RELEASE(hvi_study)
/* The tables that studies are read by, one after the other; NULL past the last. */
const hvi_setting_table *hvi_study_table_at(size_t index);
/* IDs of the built-in studies in the order of the paper, ending in NULL. */
const char *const *hvi_study_ids(void);

/* Runs a study and writes OUT/ID/ with claims.json last, or, when resuming, reads the claims of an
 * earlier run with the same settings. `*stopped`: the user stopped it, and claims is empty. */
hvi_status hvi_study_run(hvi_claims *claims, bool *stopped, hvi_study *study,
                         const hvi_study_settings *s, hvi_error *err);

/* Tries the rates of the arms' grids on seeds of their own, writes OUT/ID/tune.csv, and tells which are
 * best; hvi_free the text. Of a run that was stopped it tells the grids that are through, or is NULL. tune.c */
hvi_status hvi_study_tune(char **text, bool *stopped, hvi_study *study, const hvi_study_settings *s,
                          hvi_error *err);
/* A file of data as named, under $HVI_DATA, under ./data, or beside the program: in ../data for one
 * built in a source tree, in ../share/hvi for one that is installed; hvi_free it. NULL: it is nowhere.
 * shipped.c */
char *hvi_study_find_file(const char *name);
/* Adds the result at full size that came with the program, where there is one, to a quick one of a
 * built-in study, and copies what a page shows of it to OUT/ID/full. shipped.c */
void hvi_study_attach_full(hvi_claims *claims, const char *out);
/* Writes OUT/index.html: the studies given, and the paper's others that OUT has from before. */
hvi_status hvi_study_page(const char *out, const hvi_claims *claims, size_t count, hvi_error *err);

/* A cell: a part and a level of each of its factors. */
struct hvi_cell {
  hvi_study *study;
  hvi_part *part;
  size_t index;                   /* in the part */
  size_t level[HVI_MOST_FACTORS]; /* [part->factor_count] */
  struct hvi_cell_watch *watch;   /* who is told how far it is */
};

/* The level of a factor, as a number and as text; NaN and NULL where the part has no such factor. */
double hvi_cell_number(const hvi_cell *c, const char *factor);
const char *hvi_cell_word(const hvi_cell *c, const char *factor);
/* Its place among the levels; 0 where the part has no such factor. */
size_t hvi_cell_level(const hvi_cell *c, const char *factor);
/* Its place among these words, which end in NULL; another one, or none, is refused. */
hvi_status hvi_cell_choice(size_t *at, const hvi_cell *c, const char *factor,
                           const char *const *words, hvi_error *err);
/* Its method, and the settings that hold at its levels (the key `at` of a method). */
const hvi_arm *hvi_cell_method(const hvi_cell *c);
hvi_status hvi_cell_settings(hvi_settings *s, const hvi_cell *c, hvi_error *err);
/* Levels that are settings of methods, but for the keys `but`. */
hvi_status hvi_cell_hand_on(hvi_settings *s, const hvi_cell *c, const char *but, hvi_error *err);
/* The part's seed, or the level of `seed`. */
uint64_t hvi_cell_seed(const hvi_cell *c);
/* The part's problem. Factors that are options of it are handed on to it; instance 0 is the fixed
 * one, others are draws by the part's seed. */
hvi_status hvi_cell_problem(hvi_problem **p, const hvi_cell *c, uint64_t instance, hvi_error *err);
/* Tells how far the cell is, share in [0, 1]; false: stop, and leave no rows. */
bool hvi_cell_tick(const hvi_cell *c, double share);
/* Where a long cell may keep its state until it is finished, and what that is compared by;
 * hvi_free both. The file is removed when the cell is finished. */
char *hvi_cell_checkpoint(const hvi_cell *c);
char *hvi_cell_describe(const hvi_cell *c);

/* Appends a row of the kind's table number `table`: values in the order of its columns. */
hvi_status hvi_rows_add(hvi_rows *rows, size_t table, const double *values, hvi_error *err);
#define hvi_rows_put(rows, table, err, ...)                                                        \
  hvi_rows_add(rows, table, (const double[]){__VA_ARGS__}, err)

/* The table NAME of a part, while figures and claims are made; NULL: none. */
hvi_table *hvi_study_table(hvi_study *study, const hvi_part *part, const char *name);
/* A further one, for extend: empty, with these columns (ending in a NULL name), split as in
 * hvi_kind_table. Tables of the study move when one is added. */
hvi_status hvi_study_add_table(hvi_study *study, const hvi_part *part, const char *name,
                               const hvi_column *columns, const char *split, hvi_error *err);
/* OUT/ID/NAME.ending; hvi_free it. */
char *hvi_study_path(const hvi_study *study, const char *name, const char *ending);
void hvi_study_tell(const hvi_study *study, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Whether it has cells for a device. */
bool hvi_study_learns(const hvi_study *study);
/* False: the user wants to stop. */
bool hvi_study_progress(hvi_study *study, const char *doing, double share);

/* Lays out both sizes and goes through figures and claims without a cell: refuses names of what is not
 * there. check.c */
hvi_status hvi_study_check(hvi_study *study, hvi_error *err);
/* What is made of the tables of a run. */
hvi_status hvi_study_draw(hvi_study *study, hvi_error *err);         /* figures.c */
hvi_status hvi_study_judge(hvi_study *study, hvi_error *err);        /* claims.c */
hvi_status hvi_study_report_rates(hvi_study *study, hvi_error *err); /* tune.c */
hvi_status hvi_study_check_rates(const hvi_study *study, hvi_error *err);
