#include "problems/games/layers.h"

#include "base/error.h"

#include <string.h>

/* More than any hidden game needs, and small enough that a hostile file cannot eat the memory. */
enum { MOST_OUTPUTS = 10000, MOST_LAYERS = 100, MOST_NUMBERS = 10000000, MOST_IDENTITY = 1000 };

static hvi_status read_activation(hvi_reader *r, const hvi_node *layer,
                                  hvi_activation *activation) {
  const hvi_node *node = hvi_node_get(layer, "activation");
  *activation = HVI_IDENTITY;
  if (!node) return HVI_OK;
  const char *name = NULL;
  hvi_status status = hvi_reader_text(r, node, &name);
  if (status) return status;
  *activation = hvi_activation_find(name);
  if (*activation != HVI_ACTIVATION_COUNT) return HVI_OK;
  char list[200] = "";
  for (int a = 0; a < HVI_ACTIVATION_COUNT; a++) {
    if (a) strcat(list, ", ");
    strcat(list, hvi_activation_name((hvi_activation)a));
  }
  return hvi_reader_fail(r, node, "unknown activation '%.40s'; there are %s", name, list);
}

static hvi_status read_bias(hvi_reader *r, const hvi_node *map, hvi_layer *layer) {
  const hvi_node *node = hvi_node_get(map, "bias");
  if (!node) return HVI_OK;
  if (node->kind == HVI_NODE_SCALAR && strcmp(node->text, "trainable") == 0) {
    layer->train_bias = true;
    return HVI_OK;
  }
  return hvi_reader_vector(r, node, layer->out, false, &layer->bias);
}

static hvi_status read_trainable(hvi_reader *r, const hvi_node *map, hvi_layer *layer, size_t in) {
  const hvi_node *out = hvi_node_get(map, "out");
  if (!out) return hvi_reader_fail(r, map, "a trainable layer needs 'out', its number of outputs");
  if (!in)
    return hvi_reader_fail(r, map, "a player whose first layer is trainable needs 'input_size'");
  return hvi_reader_count(r, out, MOST_OUTPUTS, &layer->out);
}

static hvi_status read_fixed(hvi_reader *r, const hvi_node *map, hvi_layer *layer, size_t *in,
                             const hvi_matrix *W) {
  const hvi_node *out = hvi_node_get(map, "out");
  layer->out = W->rows;
  layer->matrix = W->data;
  hvi_status status = out ? hvi_reader_count(r, out, MOST_OUTPUTS, &layer->out) : HVI_OK;
  if (!*in) *in = W->columns;
  return status ? status : hvi_reader_shape(r, W, layer->out, *in);
}

/* A layer with *in inputs; zero: as many as its matrix has columns, which *in is then. */
static hvi_status read_layer(hvi_reader *r, const hvi_node *map, hvi_layer *layer, size_t *in) {
  static const char *const known[] = {"matrix", "matrix_file", "trainable", "out",
                                      "bias",   "activation",  NULL};
  hvi_status status = hvi_reader_keys(r, map, "a layer", known);
  if (!status) status = read_activation(r, map, &layer->activation);
  hvi_matrix W = {.data = NULL};
  if (!status) status = hvi_reader_matrix(r, map, "matrix", &W);
  const hvi_node *node = status ? NULL : hvi_node_get(map, "trainable");
  bool trainable = false;
  if (node) status = hvi_reader_bool(r, node, &trainable);
  if (status) return status;
  if (trainable == (W.data != NULL))
    return hvi_reader_fail(r, map, "a layer needs either a matrix or 'trainable: true'");
  status = trainable ? read_trainable(r, map, layer, *in) : read_fixed(r, map, layer, in, &W);
  return status ? status : read_bias(r, map, layer);
}

/* Fixed inputs, or theta itself with a length that is 0 when the first matrix is to tell. */
static hvi_status read_input(hvi_reader *r, const hvi_node *map, hvi_stack_spec *stack) {
  const hvi_node *node = hvi_node_get(map, "input"), *size = hvi_node_get(map, "input_size");
  stack->rows = 1;
  hvi_matrix X = {.data = NULL};
  bool theta = node && node->kind == HVI_NODE_SCALAR && strcmp(node->text, "theta") == 0;
  hvi_status status = theta ? HVI_OK : hvi_reader_matrix(r, map, "input", &X);
  if (status) return status;
  if (!X.data) return size ? hvi_reader_count(r, size, MOST_OUTPUTS, &stack->in) : HVI_OK;
  if (size) return hvi_reader_fail(r, size, "input_size is for an input that is theta");
  stack->input = X.data;
  stack->rows = X.rows;
  stack->in = X.columns;
  return HVI_OK;
}

/* A player without layers plays theta itself: one layer with the identity matrix. */
static hvi_status make_identity(hvi_reader *r, const hvi_node *map, hvi_stack_spec *stack,
                                hvi_layer *layer) {
  if (stack->input) return hvi_reader_fail(r, map, "a player with fixed inputs needs layers");
  hvi_matrix start = {.rows = 0};
  hvi_status status = stack->in ? HVI_OK : hvi_reader_column(r, map, "start", &start);
  if (status) return status;
  if (!stack->in) stack->in = start.rows;
  if (stack->in < 1 || stack->in > MOST_IDENTITY)
    return hvi_reader_fail(
        r, map, "a player without layers needs 1 to %d parameters, by 'start' or 'input_size'",
        MOST_IDENTITY);
  double *identity = hvi_reader_doubles(r, stack->in * stack->in);
  if (!identity) return hvi_error_memory(r->err, r->name);
  for (size_t i = 0; i < stack->in; i++) identity[i * stack->in + i] = 1.0;
  *layer = (hvi_layer){.out = stack->in, .matrix = identity};
  stack->layer_count = 1;
  return HVI_OK;
}

/* Adds the layer's parameters to *numbers and fails when there are too many of them. */
static hvi_status count_numbers(hvi_reader *r, const hvi_node *map, const hvi_stack_spec *stack,
                                const hvi_layer *layer, size_t in, size_t *numbers) {
  if (!layer->matrix) *numbers += in * layer->out;
  if (layer->train_bias) *numbers += layer->out;
  if (*numbers <= MOST_NUMBERS && stack->rows <= MOST_NUMBERS / layer->out) return HVI_OK;
  return hvi_reader_fail(r, map, "more than %d parameters or outputs", MOST_NUMBERS);
}

static hvi_status read_layers(hvi_reader *r, const hvi_node *map, hvi_stack_spec *stack,
                              hvi_layer *layers) {
  hvi_status status = read_input(r, map, stack);
  if (status) return status;
  const hvi_node *list = hvi_node_get(map, "layers");
  if (!list) return make_identity(r, map, stack, layers);
  if (list->kind != HVI_NODE_LIST || !list->count || list->count > MOST_LAYERS)
    return hvi_reader_fail(r, list, "layers must be a list of 1 to %d layers", MOST_LAYERS);
  size_t in = stack->in, numbers = 0;
  for (const hvi_node *node = list->first; node; node = node->next) {
    hvi_layer *layer = &layers[stack->layer_count];
    status = read_layer(r, node, layer, &in);
    if (!status) status = count_numbers(r, node, stack, layer, in, &numbers);
    if (status) return status;
    if (stack->layer_count++ == 0) stack->in = in;
    in = layer->out;
  }
  return HVI_OK;
}

hvi_status hvi_layers_read(hvi_model **model, hvi_layers_info *info, hvi_reader *r,
                           const hvi_node *player) {
  hvi_layer layers[MOST_LAYERS] = {{.out = 0}};
  hvi_stack_spec stack = {.layers = layers};
  hvi_status status = read_layers(r, player, &stack, layers);
  if (status) return status;
  hvi_error why = {HVI_OK, ""};
  status = hvi_stack_new(model, &stack, &why);
  if (status) return hvi_error_set(r->err, status, "%s:%u: %s", r->name, player->line, why.text);
  *info = (hvi_layers_info){stack.rows, layers[stack.layer_count - 1].activation};
  return HVI_OK;
}
