/* hvi policy info: what a policy file holds. */
#include "args.h"
#include "exit_codes.h"
#include "json.h"
#include "policy.h"
#include "rl/policy.h"

#include <hvi/tensors.h>

#include <stdio.h>
#include <string.h>

/* "fc3.weight" or "fc3.bias" of one of the hidden layers */
static bool is_hidden_layer(const char *name, size_t layers) {
  char own[32];
  for (size_t l = 1; l <= layers; l++) {
    snprintf(own, sizeof own, "fc%zu.weight", l);
    if (strcmp(name, own) == 0) return true;
    snprintf(own, sizeof own, "fc%zu.bias", l);
    if (strcmp(name, own) == 0) return true;
  }
  return false;
}

/* Whether a policy of this form has such a tensor. */
static bool is_used(const hvi_policy *p, const char *name) {
  static const char *const linear[] = {"gain", "std", NULL};
  static const char *const actor[] = {"fc_mean.weight",
                                      "fc_mean.bias",
                                      "fc_logstd.weight",
                                      "fc_logstd.bias",
                                      "action_scale",
                                      "action_bias",
                                      NULL};
  for (const char *const *known = p->net ? actor : linear; *known; known++)
    if (strcmp(name, *known) == 0) return true;
  return p->net && is_hidden_layer(name, p->net->layer_count - 1);
}

/* Text of a file that may come from anywhere: no control characters reach the terminal. */
static void print_line(const char *title, const char *text) {
  char line[400];
  snprintf(line, sizeof line, "%-13s %s", title, text);
  for (char *c = line; *c; c++)
    if ((unsigned char)*c < ' ' || *c == 127) *c = '?';
  puts(line);
}

static void print_text(const hvi_policy *p, const hvi_tensors *t) {
  printf("form          %s\n", p->net ? "actor" : "linear-Gaussian");
  printf("observation   %zu numbers\n", p->obs);
  printf("action        %zu numbers\n", p->act);
  if (p->net) {
    printf("hidden       ");
    for (size_t l = 0; l + 1 < p->net->layer_count; l++) printf(" %zu", p->net->layers[l].out);
    printf("\nparameters    %zu\n", p->net->dim);
  }
  for (size_t i = 0; i < t->note_count; i++) print_line(t->notes[i].key, t->notes[i].text);
  for (size_t i = 0; i < t->count; i++)
    if (!is_used(p, t->items[i].name)) print_line("not used", t->items[i].name);
}

static void print_json(const hvi_policy *p, const hvi_tensors *t) {
  hvi_json j = {0};
  hvi_json_open(&j, NULL, '{');
  hvi_json_count(&j, "schema_version", 1);
  hvi_json_text(&j, "form", p->net ? "actor" : "linear-Gaussian");
  hvi_json_count(&j, "obs", p->obs);
  hvi_json_count(&j, "act", p->act);
  hvi_json_open(&j, "hidden", '[');
  for (size_t l = 0; p->net && l + 1 < p->net->layer_count; l++)
    hvi_json_count(&j, NULL, p->net->layers[l].out);
  hvi_json_close(&j, ']');
  hvi_json_open(&j, "notes", '{');
  for (size_t i = 0; i < t->note_count; i++) hvi_json_text(&j, t->notes[i].key, t->notes[i].text);
  hvi_json_close(&j, '}');
  hvi_json_open(&j, "not_used", '[');
  for (size_t i = 0; i < t->count; i++)
    if (!is_used(p, t->items[i].name)) hvi_json_text(&j, NULL, t->items[i].name);
  hvi_json_close(&j, ']');
  hvi_json_close(&j, '}');
}

int hvi_cli_policy_info(int argc, char **argv) {
  bool json = false;
  int code;
  hvi_args args = {.command = "policy info",
                   .usage = "FILE [OPTION]...",
                   .summary = "Prints the sizes of a policy, the notes of its file, and tensors\n"
                              "that are there but not used.",
                   .examples = "  hvi policy info half_cheetah.safetensors",
                   .min = 1,
                   .max = 1,
                   .operand = "policy file"};
  hvi_args_add(
      &args,
      (hvi_arg[]){
          {.name = "json", .kind = HVI_ARG_FLAG, .to = &json, .help = "one JSON object on stdout"},
          {0}});
  if (!hvi_args_parse(&args, argc, argv, &code)) return code;
  hvi_policy *policy = NULL;
  hvi_tensors *tensors = NULL;
  hvi_error err = {HVI_OK, ""};
  if (hvi_policy_load(&policy, args.operands[0], &err) != HVI_OK ||
      hvi_tensors_read(&tensors, args.operands[0], 0, &err) != HVI_OK) {
    code = hvi_complain_error(&err);
  } else {
    code = HVI_EXIT_DONE;
    if (json) {
      print_json(policy, tensors);
    } else {
      print_text(policy, tensors);
    }
  }
  hvi_policy_free(policy);
  hvi_tensors_free(tensors);
  return code;
}
