// The same from C++: links only if the public headers declare C functions.
#include <hvi/hvi.h>

#include <cstdio>

int main() { return std::printf("hvi %s\n", hvi_version()) > 0 ? 0 : 1; }
