/* flip FILE BIT: changes one bit of a file; flip FILE prints how many there are. */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  FILE *f = argc > 1 ? fopen(argv[1], "r+b") : NULL;
  if (!f || fseek(f, 0, SEEK_END) != 0) return 2;
  if (argc < 3) return printf("%ld\n", 8 * ftell(f)) < 0;
  const long bit = atol(argv[2]);
  fseek(f, bit / 8, SEEK_SET);
  const int byte = getc(f);
  fseek(f, bit / 8, SEEK_SET);
  return byte == EOF || putc(byte ^ 1 << bit % 8, f) == EOF || fclose(f) != 0;
}
