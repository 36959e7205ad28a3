/* Commits the fault it is asked for. A sanitizer that is on stops it before its last line. */
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* volatile hides the faults from the compiler, which would warn of them or remove them. */
static volatile int eight = 8, largest = INT_MAX;
static int shared;

static void write_past_heap(void) {
  volatile char *bytes = malloc((size_t)eight);
  if (bytes) bytes[eight] = 1;
  free((void *)bytes);
}

static void overflow_sum(void) { largest = largest + eight; }

static void *count_up(void *unused) {
  for (int i = 0; i < 100000; i++) shared++;
  return unused;
}

static void race(void) {
  pthread_t other;
  if (pthread_create(&other, NULL, count_up, NULL) != 0) return;
  count_up(NULL);
  pthread_join(other, NULL);
}

/* Leaks are found at exit, so this one says nothing. */
static int leak(void) {
  char *volatile bytes = malloc(8);
  bytes = NULL;
  return bytes != NULL;
}

int main(int argc, char **argv) {
  const char *fault = argc > 1 ? argv[1] : "";
  if (strcmp(fault, "leak") == 0) return leak();
  if (strcmp(fault, "heap") == 0) write_past_heap();
  if (strcmp(fault, "overflow") == 0) overflow_sum();
  if (strcmp(fault, "race") == 0) race();
  puts("the canary survived");
  return 0;
}
