/*
 * Tiles of products on the plain units (src/gpu/product.cuh), on the host: the three products of a layer against
 * double precision, on shapes that are no multiples of a tile; and that a number has the same bits wherever it
 * stands in a tile, as it must for a network to have them whatever else a device is doing.
 */
#include "product.h" /* product.cuh, as C++ of the host (CMakeLists.txt) */

#include <cstdio>

alignas(16) float shared[1 << 15];

using of_numbers = tile<64, 64, 32, 8, 4, 1, 3>; /* as in layers.cu */
using of_sac = tile<32, 32, 64, 4, 4, 4, 4>;     /* as in sac.cu */

static int failed;

/* Rows of a matrix, or columns where k runs down; filled up to a multiple of 8. */
struct numbers {
  int count, length, lead;
  bool by_rows;
  std::vector<float4> x;
  numbers(int n, int k, bool rows) : count(n), length(k), by_rows(rows) {
    lead = ((rows ? k : n) + 7) / 8 * 8;
    x.assign((size_t)lead * (rows ? n : k) / 4, make_float4(0, 0, 0, 0));
    for (int i = 0; i < n; i++)
      for (int j = 0; j < k; j++) at(i, j) = (float)rand() / (float)RAND_MAX - 0.5f;
  }
  float &at(int i, int k) {
    return ((float *)x.data())[by_rows ? (size_t)i * lead + k : (size_t)k * lead + i];
  }
  operand seen() {
    return {(float *)x.data(), lead, by_rows ? count : lead, by_rows ? lead : length};
  }
};

/* C, and the sums of A's columns where k runs down; from tiles that begin at m0 and n0. */
template <class T, bool A_ROWS, bool B_ROWS> struct product {
  int rows, across;
  std::vector<float> c, sums;
  product(numbers &A, numbers &B)
      : rows(A.count + T::BM), across(B.count + T::BN), c((size_t)rows * across), sums(rows) {
    const operand a = A.seen(), b = B.seen();
    for (int m = 0; m < A.count; m += T::BM)
      for (int n = 0; n < B.count; n += T::BN)
        run_block(T::THREADS, [=, this] {
          accumulator<T> acc;
          add_product<A_ROWS, B_ROWS>(acc, a, m, b, n);
          for_fours<A_ROWS, B_ROWS>(acc, m, n, [&](int row, int column, const four &x) {
            for (int i = 0; i < 4; i++) c[(size_t)row * across + column + i] = x.x[i];
          });
          if (!A_ROWS && n == 0)
            sum_columns<T>(a, m, [&](int column, float sum) { sums[column] = sum; });
        });
  }
  float at(int m, int n) const { return c[(size_t)m * across + n]; }
};

template <class T, bool A_ROWS, bool B_ROWS> static void compare(int m, int n, int k) {
  numbers A(m, k, A_ROWS), B(n, k, B_ROWS);
  const product<T, A_ROWS, B_ROWS> C(A, B);
  double worst = 0.0;
  for (int i = 0; i < m; i++) {
    double sum = 0.0;
    for (int l = 0; l < k; l++) sum += A.at(i, l);
    if (!A_ROWS) worst = fmax(worst, fabs(sum - C.sums[i]));
    for (int j = 0; j < n; j++) {
      double exact = 0.0;
      for (int l = 0; l < k; l++) exact += (double)A.at(i, l) * B.at(j, l);
      worst = fmax(worst, fabs(exact - C.at(i, j)));
    }
  }
  const double limit = 1e-7 * (8.0 + k); /* of numbers of at most 1/2 */
  if (worst <= limit) return;
  printf("%d by %d, k %d, tile %d: error %g of %g\n", m, n, k, T::BM, worst, limit);
  failed = 1;
}

/* The first rows and columns again, as the last of a larger product. */
template <class T, bool A_ROWS, bool B_ROWS> static void move(int m, int n, int k, int by) {
  numbers A(m, k, A_ROWS), B(n, k, B_ROWS), more_A(m + by, k, A_ROWS), more_B(n + by, k, B_ROWS);
  for (int l = 0; l < k; l++) {
    for (int i = 0; i < m; i++) more_A.at(by + i, l) = A.at(i, l);
    for (int j = 0; j < n; j++) more_B.at(by + j, l) = B.at(j, l);
  }
  const product<T, A_ROWS, B_ROWS> C(A, B), D(more_A, more_B);
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++)
      if (C.at(i, j) != D.at(by + i, by + j)) {
        printf("tile %d: (%d, %d) has other bits %d further on\n", T::BM, i, j, by);
        failed = 1;
        return;
      }
}

template <class T> static void check() {
  const int shapes[][3] = {{1, 1, 1}, {3, 70, 27}, {65, 9, 130}, {31, 33, 7}, {64, 32, 256}};
  for (const auto &s : shapes) {
    compare<T, true, true>(s[0], s[1], s[2]);
    compare<T, true, false>(s[0], s[1], s[2]);
    compare<T, false, false>(s[0], s[1], s[2]);
  }
  move<T, true, true>(5, 6, 200, 27);
  move<T, true, false>(5, 6, 200, 27);
  move<T, false, false>(5, 6, 200, 27);
}

int main() {
  srand(1);
  check<of_numbers>();
  check<of_sac>();
  return failed;
}
