/* The credit problems from inside, for each other and for tests. */
#pragma once

#include <hvi/model.h>

#include <stdint.h>

/*
 * Credit records: ten standardised features, a bias, and whether the borrower defaulted.
 *
 * From the file "Give Me Some Credit" as Kaggle distributes it, cleaned as Perdomo et al. (2020)
 * do: incomplete rows are dropped, each feature is standardised over the complete rows, all
 * defaults and the first 10,000 others are kept. Or synthetic ones of the same shape.
 */
enum { HVI_CREDIT_FEATURES = 10, HVI_CREDIT_BIAS = 10, HVI_CREDIT_WIDTH = 11 };

/* Features that borrowers change: utilisation of credit lines, open lines, real-estate loans. */
enum { HVI_CREDIT_STRATEGIC = 3 };
extern const size_t hvi_credit_strategic[HVI_CREDIT_STRATEGIC];

typedef struct hvi_credit_data {
  size_t rows;
  double *x;       /* [rows][11], the last column 1; owns the next two */
  double *y;       /* [rows] 1: default, 0: none */
  double *product; /* [11][11] x'x / rows */
} hvi_credit_data;

/* source: "synthetic", then `rows` and `seed` count; or a file's name. */
hvi_status hvi_credit_data_new(hvi_credit_data *data, const char *source, size_t rows,
                               uint64_t seed, hvi_error *err);
void hvi_credit_data_clear(hvi_credit_data *data);

/* theta[11] = argmin 1/n sum_i loss(x_i theta, y_i) + lambda/2 |theta without its bias|^2 by
 * Newton's method, that least value, and the curvature 1/n sum_i s'(x_i theta) x_i x_i' [11][11]
 * there. */
hvi_status hvi_credit_fit(double *theta, double *least, double *curvature,
                          const hvi_credit_data *data, double lambda, hvi_error *err);

/* A draw of `credit`. One of `credit-rir` is source[rows]: whose strategic features a row has. */
typedef struct hvi_credit_sample {
  double theta[HVI_CREDIT_WIDTH]; /* as deployed */
} hvi_credit_sample;

enum { HVI_RIR_HIDDEN = 8, HVI_RIR_DIM = HVI_RIR_HIDDEN * (HVI_CREDIT_WIDTH + 1) + 1 };

/* z[rows] of the network of `credit-rir`: on the base data, or on the fixed lot of draws that theta
 * brings about. */
void hvi_rir_predict(const hvi_model *m, const double *theta, bool deployed, double *z,
                     double *cache);
