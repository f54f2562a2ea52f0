#include "tenon/linalg/lapack.h"

#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tenon/base/error.h"

namespace tenon::linalg::lapack {
namespace {

// Fortran passes the length of each text after the other arguments.
using Length = std::size_t;
using Text = const char*;
using Int = const int*;

template <typename T>
struct Functions {
  void (*getrf)(Int, Int, T*, Int, int*, int*);
  void (*getri)(Int, T*, Int, Int, T*, Int, int*);
  void (*gesv)(Int, Int, T*, Int, int*, T*, Int, int*);
  void (*trtrs)(Text, Text, Text, Int, Int, const T*, Int, T*, Int, int*, Length, Length, Length);
  void (*potrf)(Text, Int, T*, Int, int*, Length);
  void (*geqrf)(Int, Int, T*, Int, T*, T*, Int, int*);
  void (*orgqr)(Int, Int, Int, T*, Int, const T*, T*, Int, int*);
  void (*gesdd)(Text, Int, Int, T*, Int, T*, T*, Int, T*, Int, T*, Int, int*, int*, Length);
  void (*syevd)(Text, Text, Int, T*, Int, T*, T*, Int, int*, Int, int*, Length, Length);
  void (*gelsd)(Int, Int, Int, T*, Int, T*, Int, T*, const T*, int*, T*, Int, int*, int*);
};

struct Library {
  Functions<float> of_float{};
  Functions<double> of_double{};
  std::string why_none;

  Library() {
    void* handle = nullptr;
    for (const char* name : {"liblapack.so.3", "libopenblas.so.0", "liblapack.so", "liblapack.dylib"}) {
      if ((handle = dlopen(name, RTLD_NOW | RTLD_LOCAL))) break;
    }
    if (!handle) {
      why_none = "needs LAPACK, and liblapack.so.3 was not found: install Debian's liblapack3 or libopenblas0";
      return;
    }
    take(handle, 's', of_float);
    take(handle, 'd', of_double);
  }

  template <typename T>
  void take(void* handle, char letter, Functions<T>& into) {
    const auto one = [&]<typename F>(F& function, const char* name) {
      const std::string symbol = fmt::format("{}{}_", letter, name);
      function = reinterpret_cast<F>(dlsym(handle, symbol.c_str()));
      if (!function && why_none.empty()) why_none = fmt::format("needs LAPACK, and the one found has no {}", symbol);
    };
    one(into.getrf, "getrf");
    one(into.getri, "getri");
    one(into.gesv, "gesv");
    one(into.trtrs, "trtrs");
    one(into.potrf, "potrf");
    one(into.geqrf, "geqrf");
    one(into.orgqr, "orgqr");
    one(into.gesdd, "gesdd");
    one(into.syevd, "syevd");
    one(into.gelsd, "gelsd");
  }
};

const Library& library() {
  static const Library& loaded = *new Library;
  return loaded;
}

template <typename T>
const Functions<T>& functions() {
  if constexpr (sizeof(T) == sizeof(float))
    return library().of_float;
  else
    return library().of_double;
}

/// Calls twice: for the size of the work space, then for the work.
template <typename T, typename Call>
int with_work(Call&& call) {
  T wanted{};
  int info = 0;
  const int ask = -1;
  call(&wanted, &ask, &info);
  if (info != 0) return info;
  const int size = std::max(1, static_cast<int>(std::ceil(wanted)));
  std::vector<T> work(static_cast<std::size_t>(size));
  call(work.data(), &size, &info);
  return info;
}

}  // namespace

void require(const char* op) {
  if (!library().why_none.empty()) base::fail(op, "{}", library().why_none);
}

template <typename T>
int getrf(int n, T* a, int* pivots) {
  int info = 0;
  functions<T>().getrf(&n, &n, a, &n, pivots, &info);
  return info;
}

template <typename T>
int getri(int n, T* a, const int* pivots) {
  return with_work<T>([&](T* work, Int size, int* info) { functions<T>().getri(&n, a, &n, pivots, work, size, info); });
}

template <typename T>
int gesv(int n, int columns, T* a, int* pivots, T* b) {
  int info = 0;
  functions<T>().gesv(&n, &columns, a, &n, pivots, b, &n, &info);
  return info;
}

template <typename T>
int trtrs(bool upper, bool unit_diagonal, int n, int columns, const T* a, T* b) {
  int info = 0;
  functions<T>().trtrs(upper ? "U" : "L", "N", unit_diagonal ? "U" : "N", &n, &columns, a, &n, b, &n, &info, 1, 1, 1);
  return info;
}

template <typename T>
int potrf(int n, T* a) {
  int info = 0;
  functions<T>().potrf("L", &n, a, &n, &info, 1);
  return info;
}

template <typename T>
int qr(int rows, int columns, T* a, int q_columns, T* q) {
  const int reflections = std::min(rows, columns);
  std::vector<T> factors(static_cast<std::size_t>(reflections));
  int failed = with_work<T>([&](T* work, Int size, int* info) {
    functions<T>().geqrf(&rows, &columns, a, &rows, factors.data(), work, size, info);
  });
  if (failed != 0 || q_columns == 0) return failed;
  std::copy_n(a, static_cast<std::size_t>(rows) * static_cast<std::size_t>(std::min(columns, q_columns)), q);
  return with_work<T>([&](T* work, Int size, int* info) {
    functions<T>().orgqr(&rows, &q_columns, &reflections, q, &rows, factors.data(), work, size, info);
  });
}

template <typename T>
int gesdd(bool full, int rows, int columns, T* a, T* s, T* u, T* vt) {
  const int least = std::min(rows, columns), rows_of_vt = full ? columns : least;
  std::vector<int> more_work(8 * static_cast<std::size_t>(least));
  return with_work<T>([&](T* work, Int size, int* info) {
    functions<T>().gesdd(full ? "A" : "S", &rows, &columns, a, &rows, s, u, &rows, vt, &rows_of_vt, work, size,
                         more_work.data(), info, 1);
  });
}

template <typename T>
int syevd(bool upper, int n, T* a, T* values) {
  const int more = 3 + 5 * n;
  std::vector<int> more_work(static_cast<std::size_t>(more));
  return with_work<T>([&](T* work, Int size, int* info) {
    functions<T>().syevd("V", upper ? "U" : "L", &n, a, &n, values, work, size, more_work.data(), &more, info, 1, 1);
  });
}

template <typename T>
int gelsd(int rows, int columns, int right, T* a, T* b, T* s, T rcond, int* rank) {
  const int longer = std::max(rows, columns), least = std::min(rows, columns);
  // LAPACK's bound, with subproblems of the smallest size that it may choose.
  const int levels = std::max(0, static_cast<int>(std::log2(std::max(1, least) / 2.0)) + 1);
  std::vector<int> more_work(static_cast<std::size_t>(std::max(1, 3 * least * levels + 11 * least)));
  return with_work<T>([&](T* work, Int size, int* info) {
    functions<T>().gelsd(&rows, &columns, &right, a, &rows, b, &longer, s, &rcond, rank, work, size, more_work.data(),
                         info);
  });
}

#define FOR(T)                                            \
  template int getrf(int, T*, int*);                      \
  template int getri(int, T*, const int*);                \
  template int gesv(int, int, T*, int*, T*);              \
  template int trtrs(bool, bool, int, int, const T*, T*); \
  template int potrf(int, T*);                            \
  template int qr(int, int, T*, int, T*);                 \
  template int gesdd(bool, int, int, T*, T*, T*, T*);     \
  template int syevd(bool, int, T*, T*);                  \
  template int gelsd(int, int, int, T*, T*, T*, T, int*);
FOR(float)
FOR(double)
#undef FOR

}  // namespace tenon::linalg::lapack
