/* A player's model from its YAML description. */
#ifndef HVI_PROBLEMS_GAMES_LAYERS_H
#define HVI_PROBLEMS_GAMES_LAYERS_H

#include "io/yaml.h"

#include <hvi/model.h>

/* What the rest of the description depends on. */
typedef struct hvi_layers_info {
  size_t rows;         /* fixed inputs; 1 when theta is the input */
  hvi_activation last; /* activation of the last layer */
} hvi_layers_info;

hvi_status hvi_layers_read(hvi_model **model, hvi_layers_info *info, hvi_reader *r,
                           const hvi_node *player);

#endif
