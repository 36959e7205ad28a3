/*
 * Reads one JSON value from stdin and prints a member of it: json NAME... goes down by names, and
 * by positions in arrays. Numbers are printed so that they read back to the same bits. Exit code 1
 * when the input is not exactly one JSON value, or has no such member.
 */
#include <jansson.h>

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  json_error_t error;
  json_t *root = json_loadf(stdin, JSON_REJECT_DUPLICATES, &error);
  if (!root) {
    fprintf(stderr, "json: line %d: %s\n", error.line, error.text);
    return 1;
  }
  const json_t *at = root;
  for (int i = 1; i < argc && at; i++)
    if (json_is_array(at))
      at = json_array_get(at, strtoul(argv[i], NULL, 10));
    else
      at = json_object_get(at, argv[i]);
  if (!at) return 1;
  if (json_is_string(at))
    puts(json_string_value(at));
  else if (json_dumpf(at, stdout, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17)) == 0)
    puts("");
  json_decref(root);
  return 0;
}
