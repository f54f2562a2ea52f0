#include "tenon/fft/fftw.h"

#include <dlfcn.h>

#include <memory>
#include <mutex>
#include <string>

#include "tenon/base/error.h"
#include "tenon/base/parallel.h"

namespace tenon::fft::fftw {
namespace {

// What fftw3.h says.
constexpr unsigned kEstimate = 1u << 6, kUnaligned = 1u << 1;

template <typename T>
struct Functions {
  using Complex = T[2];
  using Plan = struct Opaque*;
  Plan (*plan)(int, const int*, Complex*, Complex*, int, unsigned);
  Plan (*plan_real)(int, const int*, T*, Complex*, unsigned);
  Plan (*plan_inverse)(int, const int*, Complex*, T*, unsigned);
  void (*run)(Plan, Complex*, Complex*);
  void (*run_real)(Plan, T*, Complex*);
  void (*run_inverse)(Plan, Complex*, T*);
  void (*destroy)(Plan);

  bool open(const char* library, const std::string& prefix) {
    void* opened = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!opened) return false;
    bool has_all = true;
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(opened, (prefix + name).c_str()));
      has_all = has_all && function;
    };
    find(plan, "plan_dft");
    find(plan_real, "plan_dft_r2c");
    find(plan_inverse, "plan_dft_c2r");
    find(run, "execute_dft");
    find(run_real, "execute_dft_r2c");
    find(run_inverse, "execute_dft_c2r");
    find(destroy, "destroy_plan");
    return has_all;
  }
};

struct Libraries {
  Functions<float> singles{};
  Functions<double> doubles{};
  bool are_there = singles.open("libfftw3f.so.3", "fftwf_") && doubles.open("libfftw3.so.3", "fftw_");
};
const Libraries& libraries() {
  static const Libraries opened;
  return opened;
}

template <typename T>
const Functions<T>& functions() {
  if constexpr (std::is_same_v<T, float>)
    return libraries().singles;
  else
    return libraries().doubles;
}

// Only transforms may run on several threads at once.
std::mutex& planner() {
  static std::mutex mutex;
  return mutex;
}

int64_t product(const std::vector<int>& sizes) {
  int64_t all = 1;
  for (const int size : sizes) all *= size;
  return all;
}

}  // namespace

void require(const char* op) {
  if (!libraries().are_there)
    base::fail(op, "needs FFTW, which is not installed: apt-get install libfftw3-single3 libfftw3-double3");
}

template <typename T>
void transform(Kind kind, const std::vector<int>& sizes, int64_t count, T* from, T* to) {
  if (count == 0) return;
  const Functions<T>& fftw = functions<T>();
  using Complex = typename Functions<T>::Complex;
  const auto complex = [](T* pairs) { return reinterpret_cast<Complex*>(pairs); };
  const int rank = static_cast<int>(sizes.size());
  const int64_t reals = product(sizes), half = reals / sizes.back() * (sizes.back() / 2 + 1);
  const int64_t from_size = kind == Kind::real_to_complex ? reals : 2 * (kind == Kind::complex_to_real ? half : reals);
  const int64_t to_size = kind == Kind::complex_to_real ? reals : 2 * (kind == Kind::real_to_complex ? half : reals);
  constexpr unsigned kFlags = kEstimate | kUnaligned;  // the same plan every time, for every transform of a batch
  typename Functions<T>::Plan plan;
  {
    const std::lock_guard lock(planner());
    plan = kind == Kind::real_to_complex ? fftw.plan_real(rank, sizes.data(), from, complex(to), kFlags)
           : kind == Kind::complex_to_real
               ? fftw.plan_inverse(rank, sizes.data(), complex(from), to, kFlags)
               : fftw.plan(rank, sizes.data(), complex(from), complex(to), kind == Kind::forward ? -1 : 1, kFlags);
  }
  base::parallel_for(count, 1 + 4096 / (reals + 1), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      T *x = from + i * from_size, *y = to + i * to_size;
      if (kind == Kind::real_to_complex)
        fftw.run_real(plan, x, complex(y));
      else if (kind == Kind::complex_to_real)
        fftw.run_inverse(plan, complex(x), y);
      else
        fftw.run(plan, complex(x), complex(y));
    }
  });
  const std::lock_guard lock(planner());
  fftw.destroy(plan);
}

template void transform(Kind, const std::vector<int>&, int64_t, float*, float*);
template void transform(Kind, const std::vector<int>&, int64_t, double*, double*);

}  // namespace tenon::fft::fftw
