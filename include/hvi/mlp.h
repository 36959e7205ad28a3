/*
 * Networks as models: z = g(theta), the outputs of a multilayer perceptron on many inputs at once.
 *
 *   A_0 = X,   A_l = s_l(A_{l-1} W_l' + b_l),   z = A_L, row after row
 *
 * theta is W_1 b_1 W_2 b_2 ..., each W row-major [out][in] as PyTorch has it, so theta is what
 * torch.nn.utils.parameters_to_vector gives. It is double, as everywhere; these networks compute in
 * single precision inside (hvi_stack_new makes the same network in double precision).
 *
 * A cache holds the weights as floats and all activations: for 27 inputs, two hidden layers of 256
 * and 4,096 rows, 11 MB. The Jacobian of a network is never formed unless it is asked for.
 */
#ifndef HVI_MLP_H
#define HVI_MLP_H

#include <hvi/model.h>
#include <hvi/rng.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hvi_mlp_spec {
  size_t in;
  size_t layer_count;   /* with the head */
  const size_t *widths; /* [layer_count]; the last is the number of outputs of a row */
  hvi_activation hidden, head;
  size_t rows;         /* inputs at once */
  const double *input; /* [rows][in], fixed, copied; NULL: bound to each sample's (see below) */
  size_t threads;      /* that share the rows, with the same bits for any number; 0: 1 */
} hvi_mlp_spec;

/*
 * A model without fixed inputs is bound to those of a sample, by its op `bind`; the sample then
 * begins with this. They are copied. Rows that are missing have outputs of 0 and no influence; a
 * cache that was never bound, or to NULL, sees inputs of 0. Each cache is bound alone, so that one
 * model serves for states and for their successors.
 */
typedef struct hvi_mlp_batch {
  const float *x; /* [rows][in] */
  size_t rows;    /* at most the model's */
} hvi_mlp_batch;

/* A model of that description; hvi_model_free gives it back. */
HVI_API hvi_status hvi_mlp_new(hvi_model **model, const hvi_mlp_spec *spec, hvi_error *err);

/* First parameters. Kaiming: PyTorch's default, W and b uniform on +-1/sqrt(in). Orthogonal: W of
 * orthonormal rows or columns, times the gain of its activation, and b = 0. */
typedef enum hvi_init { HVI_INIT_KAIMING, HVI_INIT_ORTHOGONAL } hvi_init;

/* These and the following are for models that hvi_mlp_new has made; theta[dim]. */
HVI_API hvi_status hvi_mlp_init(const hvi_model *model, double *theta, hvi_init kind, hvi_rng *rng,
                                hvi_error *err);

/* A view of theta: one matrix or one bias, by the name it has in a torch.nn.Sequential of Linear
 * layers with activations between them ("0.weight", "0.bias", "2.weight", ...). */
typedef struct hvi_mlp_part {
  char name[32];
  size_t offset;   /* in theta */
  size_t dims;     /* 2, or 1 for a bias */
  size_t shape[2]; /* {out, in}, or {out} */
} hvi_mlp_part;

/* The table of all parts, in order; NULL for a model of another kind. */
HVI_API const hvi_mlp_part *hvi_mlp_parts(const hvi_model *model, size_t *count);

/* .safetensors, single precision, under these names. A file to be loaded must have exactly these
 * tensors, in these shapes; an error leaves theta as it was. */
HVI_API hvi_status hvi_mlp_save(const hvi_model *model, const double *theta, const char *path,
                                hvi_error *err);
HVI_API hvi_status hvi_mlp_load(const hvi_model *model, double *theta, const char *path,
                                hvi_error *err);

#ifdef __cplusplus
}
#endif

#endif
