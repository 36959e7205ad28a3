/* First parameters of a network, and parameters in files, by its table of shapes. */
#include "base/base.h"
#include "model/mlp.h"

static hvi_status need_mlp(const hvi_mlp **mlp, const hvi_model *model, hvi_error *err) {
  *mlp = hvi_mlp_of(model);
  if (*mlp) return HVI_OK;
  return hvi_error_argument(err, "the model is not a network of hvi_mlp_new");
}

hvi_status hvi_mlp_init(const hvi_model *model, double *theta, hvi_init kind, hvi_rng *rng,
                        hvi_error *err) {
  const hvi_mlp *mlp;
  hvi_status status = need_mlp(&mlp, model, err);
  if (status) return status;
  float *params = hvi_alloc(model->dim, sizeof *params);
  if (!params) return hvi_error_memory(err, "a network's first parameters");
  if (kind == HVI_INIT_KAIMING)
    hvi_net_init_kaiming(mlp->net, params, rng);
  else if (kind == HVI_INIT_ORTHOGONAL)
    status = hvi_net_init_orthogonal(mlp->net, params, rng, err);
  else
    status = hvi_error_argument(err, "unknown initialisation %d", (int)kind);
  if (!status) mlp->bulk->widen(theta, params, model->dim);
  hvi_free(params);
  return status;
}

/* Numbers that a float cannot hold would not come back. */
static hvi_status narrow_all(float *params, const hvi_mlp *mlp, const double *theta,
                             hvi_error *err) {
  mlp->bulk->narrow(params, theta, mlp->base.dim);
  for (size_t i = 0; i < mlp->base.dim; i++) {
    if (isfinite(params[i])) continue;
    return hvi_error_input(err, "parameter %zu is %g: it cannot be saved in single precision",
                           i + 1, theta[i]);
  }
  return HVI_OK;
}

hvi_status hvi_mlp_write(const hvi_model *model, const double *theta, const char *path,
                         const hvi_tensor_note *notes, size_t note_count, hvi_error *err) {
  const hvi_mlp *mlp;
  hvi_status status = need_mlp(&mlp, model, err);
  if (status) return status;
  float *params = hvi_alloc(model->dim, sizeof *params);
  hvi_tensor *items = hvi_alloc(mlp->part_count, sizeof *items);
  if (!params || !items)
    status = hvi_error_memory(err, "a network's parameters");
  else
    status = narrow_all(params, mlp, theta, err);
  for (size_t i = 0; !status && i < mlp->part_count; i++) {
    const hvi_mlp_part *part = &mlp->parts[i];
    items[i] = (hvi_tensor){.name = part->name,
                            .type = HVI_TENSOR_F32,
                            .dims = part->dims,
                            .shape = {part->shape[0], part->shape[1]},
                            .data = params + part->offset};
  }
  if (!status) status = hvi_tensors_write(path, items, mlp->part_count, notes, note_count, err);
  hvi_free(items);
  hvi_free(params);
  return status;
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

static hvi_status check_part(const hvi_tensor **item, const hvi_tensors *file,
                             const hvi_mlp_part *part, const char *path, hvi_error *err) {
  char want[64], have[64];
  shape_text(want, part->dims, part->shape);
  *item = hvi_tensors_find(file, part->name);
  if (!*item)
    return hvi_error_input(err, "%s: there is no tensor '%s', which should be %s", path, part->name,
                           want);
  const hvi_tensor *t = *item;
  if (t->dims == part->dims && memcmp(t->shape, part->shape, t->dims * sizeof *t->shape) == 0)
    return HVI_OK;
  return hvi_error_input(err, "%s: tensor '%s' is %s, and should be %s", path, part->name,
                         shape_text(have, t->dims, t->shape), want);
}

static hvi_status take_parts(double *params, const hvi_mlp *mlp, const hvi_tensors *file,
                             const char *path, hvi_error *err) {
  hvi_status status = HVI_OK;
  for (size_t i = 0; !status && i < mlp->part_count; i++) {
    const hvi_tensor *item;
    status = check_part(&item, file, &mlp->parts[i], path, err);
    if (!status) status = hvi_tensor_doubles(params + mlp->parts[i].offset, item, err);
  }
  if (!status && file->count != mlp->part_count)
    return hvi_error_input(
        err, "%s: %zu tensors, of which this network has %zu: it is another network's", path,
        file->count, mlp->part_count);
  return status;
}

hvi_status hvi_mlp_load(const hvi_model *model, double *theta, const char *path, hvi_error *err) {
  const hvi_mlp *mlp;
  HVI_TRY(need_mlp(&mlp, model, err));
  hvi_tensors *file;
  hvi_status status = hvi_tensors_read(&file, path, 0, err);
  if (status) return status;
  double *params = hvi_alloc_doubles(model->dim);
  if (params)
    status = take_parts(params, mlp, file, path, err);
  else
    status = hvi_error_memory(err, "a network's parameters");
  if (!status) memcpy(theta, params, model->dim * sizeof *theta);
  hvi_free(params);
  hvi_tensors_free(file);
  return status;
}
