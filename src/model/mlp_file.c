/* First parameters of a network, and parameters in files, by its table of shapes. */
#include "base/base.h"
#include "io/tensors_file.h"
#include "model/mlp.h"

static hvi_status need_mlp(const hvi_mlp **mlp, const hvi_model *model, hvi_error *err) {
  *mlp = hvi_mlp_of(model);
  if (*mlp) return HVI_OK;
  return hvi_error_argument(err, "the model is not a network of hvi_mlp_new");
}

hvi_status hvi_mlp_init(const hvi_model *model, double *theta, hvi_init kind, hvi_rng *rng,
                        hvi_error *err) {
  const hvi_mlp *mlp;
  HVI_TRY(need_mlp(&mlp, model, err));
  HVI_NEW(float, params, model->dim, "a network's first parameters", err);
  if (kind == HVI_INIT_KAIMING)
    hvi_net_init_kaiming(mlp->net, params, rng);
  else if (kind == HVI_INIT_ORTHOGONAL)
    HVI_TRY(hvi_net_init_orthogonal(mlp->net, params, rng, err));
  else
    return hvi_error_argument(err, "unknown initialisation %d", (int)kind);
  for (size_t i = 0; i < model->dim; i++) theta[i] = (double)params[i];
  return HVI_OK;
}

hvi_status hvi_mlp_write(const hvi_model *model, const double *theta, const char *path,
                         const hvi_tensor_note *notes, size_t note_count, hvi_error *err) {
  const hvi_mlp *mlp;
  HVI_TRY(need_mlp(&mlp, model, err));
  HVI_NEW(float, params, model->dim, "a network's parameters", err);
  HVI_NEW(hvi_tensor, items, mlp->part_count, "a network's parameters", err);
  for (size_t i = 0; i < model->dim; i++) params[i] = (float)theta[i];
  /* numbers that a float cannot hold would not come back */
  for (size_t i = 0; i < model->dim; i++)
    if (!isfinite(params[i]))
      return hvi_error_input(err, "parameter %zu is %g: it cannot be saved in single precision",
                             i + 1, theta[i]);
  for (size_t i = 0; i < mlp->part_count; i++) {
    const hvi_mlp_part *part = &mlp->parts[i];
    items[i] = (hvi_tensor){.name = part->name,
                            .type = HVI_TENSOR_F32,
                            .dims = part->dims,
                            .shape = {part->shape[0], part->shape[1]},
                            .data = params + part->offset};
  }
  return hvi_tensors_write(path, items, mlp->part_count, notes, note_count, err);
}

hvi_status hvi_mlp_save(const hvi_model *model, const double *theta, const char *path,
                        hvi_error *err) {
  return hvi_mlp_write(model, theta, path, &(hvi_tensor_note){"format", "pt"}, 1, err);
}

/* "[256, 27]" */
static const char *shape_text(char text[64], size_t dims, const size_t *shape) {
  if (dims == 1)
    snprintf(text, 64, "[%zu]", shape[0]);
  else if (dims == 2)
    snprintf(text, 64, "[%zu, %zu]", shape[0], shape[1]);
  else
    snprintf(text, 64, "of %zu axes", dims);
  return text;
}

static hvi_status take_part(double *params, const hvi_tensors *file, const hvi_mlp_part *part,
                            const char *path, hvi_error *err) {
  char want[64], have[64];
  shape_text(want, part->dims, part->shape);
  const hvi_tensor *t = hvi_tensors_find(file, part->name);
  if (!t)
    return hvi_error_input(err, "%s: there is no tensor '%s', which should be %s", path, part->name,
                           want);
  if (t->dims != part->dims || memcmp(t->shape, part->shape, t->dims * sizeof *t->shape) != 0)
    return hvi_error_input(err, "%s: tensor '%s' is %s, and should be %s", path, part->name,
                           shape_text(have, t->dims, t->shape), want);
  return hvi_tensor_doubles(params + part->offset, t, err);
}

hvi_status hvi_mlp_load(const hvi_model *model, double *theta, const char *path, hvi_error *err) {
  const hvi_mlp *mlp;
  HVI_TRY(need_mlp(&mlp, model, err));
  HVI_OWN_BY(hvi_tensors_release) hvi_tensors *file = NULL;
  HVI_TRY(hvi_tensors_read(&file, path, 0, err));
  HVI_NEW(double, params, model->dim, "a network's parameters", err);
  for (size_t i = 0; i < mlp->part_count; i++)
    HVI_TRY(take_part(params, file, &mlp->parts[i], path, err));
  if (file->count != mlp->part_count)
    return hvi_error_input(
        err, "%s: %zu tensors, of which this network has %zu: it is another network's", path,
        file->count, mlp->part_count);
  memcpy(theta, params, model->dim * sizeof *theta);
  return HVI_OK;
}
