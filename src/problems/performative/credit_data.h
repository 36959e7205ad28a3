/*
 * Credit records: ten standardised features, a bias, and whether the borrower defaulted.
 *
 * From the file "Give Me Some Credit" as Kaggle distributes it, cleaned as Perdomo et al. (2020)
 * do: incomplete rows are dropped, each feature is standardised over the complete rows, all
 * defaults and the first 10,000 others are kept. Or synthetic ones of the same shape.
 */
#ifndef HVI_PROBLEMS_PERFORMATIVE_CREDIT_DATA_H
#define HVI_PROBLEMS_PERFORMATIVE_CREDIT_DATA_H

#include <hvi/error.h>

#include <stddef.h>
#include <stdint.h>

enum { HVI_CREDIT_FEATURES = 10, HVI_CREDIT_BIAS = 10, HVI_CREDIT_WIDTH = 11 };

/* Features that borrowers change: utilisation of credit lines, open lines, real-estate loans. */
enum { HVI_CREDIT_STRATEGIC = 3 };
extern const size_t hvi_credit_strategic[HVI_CREDIT_STRATEGIC];

typedef struct hvi_credit_data {
  size_t rows;
  double *x;       /* [rows][11], the last column 1 */
  double *y;       /* [rows] 1: default, 0: none */
  double *product; /* [11][11] x'x / rows */
} hvi_credit_data;

/* source: "synthetic", then `rows` and `seed` count; or a file's name. */
hvi_status hvi_credit_data_new(hvi_credit_data *data, const char *source, size_t rows,
                               uint64_t seed, hvi_error *err);
void hvi_credit_data_clear(hvi_credit_data *data);

/* Raw features [rows][11] and labels [rows] of synthetic records, before standardising. */
void hvi_credit_draw(hvi_credit_data *data, uint64_t seed);
/* The complete rows of a file, raw, in the file's order; allocates x and y. */
hvi_status hvi_credit_read(hvi_credit_data *data, const char *path, hvi_error *err);

#endif
