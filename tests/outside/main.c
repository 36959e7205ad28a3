/* A program of somebody else's: sees the installed headers and the installed library, nothing else.
 */
#include <hvi/hvi.h>

#include <stdio.h>

int main(void) {
  char headers[32];
  snprintf(headers, sizeof headers, "%d.%d.%d", HVI_VERSION_MAJOR, HVI_VERSION_MINOR,
           HVI_VERSION_PATCH);
  printf("hvi %s\n", headers);
  for (int i = 0; headers[i] || hvi_version()[i]; i++)
    if (headers[i] != hvi_version()[i]) return 1;
  return 0;
}
