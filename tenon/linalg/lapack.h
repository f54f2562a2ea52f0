// LAPACK's functions, in the library that the machine has.
//
// It is opened when a matrix is first factorised, so that a program which never does needs none, and one built
// elsewhere takes the quickest that is installed: Debian lets OpenBLAS stand in the place of liblapack.so.3. Matrices
// lie by columns.

#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::linalg::lapack {

/// Fails in one line that says what to install, where no library is found.
void require(const char* op);

// Each gives what LAPACK calls info: 0, or the 1-based place of what went wrong. Matrices are (rows, columns) by
// columns, without gaps. Work space is their own.

template <typename T>
int getrf(int n, T* a, int* pivots);
template <typename T>
int getri(int n, T* a, const int* pivots);
template <typename T>
int gesv(int n, int columns, T* a, int* pivots, T* b);
template <typename T>
int trtrs(bool upper, bool unit_diagonal, int n, int columns, const T* a, T* b);
template <typename T>
int potrf(int n, T* a);  // of the lower triangle
/// R above the diagonal of `a`, and with `q_columns` the first columns of Q in `q`.
template <typename T>
int qr(int rows, int columns, T* a, int q_columns, T* q);
template <typename T>
int gesdd(bool full, int rows, int columns, T* a, T* s, T* u, T* vt);
template <typename T>
int syevd(bool upper, int n, T* a, T* values);
/// `b` has max(rows, columns) rows.
template <typename T>
int gelsd(int rows, int columns, int right, T* a, T* b, T* s, T rcond, int* rank);

}  // namespace tenon::linalg::lapack
