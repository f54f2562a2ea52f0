// New tensors: from host data, filled, counted, random.

#pragma once

#include "tenon/tensor/tensor.h"

namespace tenon {

/// A tensor of these bytes, which are copied.
///   const std::vector<float> values = {1, 2};
///   from_bytes(std::as_bytes(std::span(values)), {2}, float32);  // [1. 2.]
Tensor from_bytes(std::span<const std::byte> bytes, const Dims& shape, const Options& options);

/// A tensor over these bytes, which stay where they are (kept by owner) where the device reads host memory and they are
/// aligned for it; else copied. In-place ops may write over them: the memory must be writable and no other tensor's.
///   auto values = std::make_shared<std::vector<float>>(1024, 1.0f);
///   Tensor y = from_host_memory(std::as_bytes(std::span(*values)), values, {32, 32}, float32);
Tensor from_host_memory(std::span<const std::byte> bytes, std::shared_ptr<const void> owner, const Dims& shape,
                        const Options& options);

/// A tensor of these values in row-major order; dtype follows T unless the options say otherwise.
///   from_vector(std::vector<int64_t>{1, 2, 3, 4}, {2, 2});  // [[1 2] [3 4]]
template <typename T>
Tensor from_vector(const std::vector<T>& values, const Dims& shape, const Options& options = {});
/// The numbers of nested lists: reals become f32 and integers i64 unless the options say otherwise.
///   tensor({{1.5, 2.0}, {3.0, 4.0}});  // [[1.5 2.] [3. 4.]]
template <typename T>
Tensor tensor(std::initializer_list<T> values, const Options& options = {});
template <typename T>
Tensor tensor(std::initializer_list<std::initializer_list<T>> rows, const Options& options = {});
template <typename T>
Tensor tensor(std::initializer_list<std::initializer_list<std::initializer_list<T>>> planes,
              const Options& options = {});
template <typename T>
Tensor tensor(std::initializer_list<std::initializer_list<std::initializer_list<std::initializer_list<T>>>> blocks,
              const Options& options = {});
/// The same of numbers of several types, as {1, 2.5}: reals where one is real, else integers.
Tensor tensor(std::initializer_list<Number> values, const Options& options = {});
Tensor tensor(std::initializer_list<std::initializer_list<Number>> rows, const Options& options = {});
Tensor tensor(std::initializer_list<std::initializer_list<std::initializer_list<Number>>> planes,
              const Options& options = {});
/// A single number of shape ().
///   scalar(3);  // 3
Tensor scalar(Number value, const Options& options = {});

/// Filled with 0, or with 1.
///   zeros({2, 2});  // [[0. 0.] [0. 0.]]
Tensor zeros(const Dims& shape, const Options& options = {});
Tensor ones(const Dims& shape, const Options& options = {});
/// For code that fills it anyway; holds zeros, so that a program never depends on what was in memory.
///   empty({2, 3}).shape();  // (2, 3)
Tensor empty(const Dims& shape, const Options& options = {});
/// One number everywhere.
///   full({2}, 7);  // [7 7]
Tensor full(const Dims& shape, Number value, const Options& options = {});
/// In the shape of another tensor, with its dtype and device unless the options say otherwise.
///   ones_like(tensor({5, 6}));  // [1 1]
Tensor zeros_like(const Tensor& x, const Options& options = {});
Tensor ones_like(const Tensor& x, const Options& options = {});
Tensor empty_like(const Tensor& x, const Options& options = {});
Tensor full_like(const Tensor& x, Number value, const Options& options = {});
/// From start, 0 unless given, in steps to before end.
///   arange(1, 10, 3);  // [1 4 7]
Tensor arange(Number end, const Options& options = {});
Tensor arange(Number start, Number end, Number step = 1, const Options& options = {});
/// So many numbers at even distances, both ends among them.
///   linspace(0, 1, 5);  // [0. 0.25 0.5 0.75 1.]
Tensor linspace(double start, double end, int64_t steps, const Options& options = {});
/// Powers of `radix` whose exponents are at even distances from start to end.
///   logspace(0, 2, 3);  // [1. 10. 100.]
Tensor logspace(double start, double end, int64_t steps, double radix = 10, const Options& options = {});
/// 1 on the diagonal, 0 elsewhere; square unless there is a number of columns.
///   eye(2);  // [[1. 0.] [0. 1.]]
Tensor eye(int64_t rows, std::optional<int64_t> columns = {}, const Options& options = {});

/// A stream of random numbers: the same seed gives the same numbers on every device.
///   Generator generator(7);
///   Tensor y = rand({2, 3}, {}, &generator);
class Generator {
 public:
  explicit Generator(uint64_t seed = 0);
  /// Begins the stream of a seed; the seed it has.
  void manual_seed(uint64_t seed);
  uint64_t seed() const;
  /// How far the stream has been drawn. With the seed it is all of the state: set() goes on from there.
  uint64_t position() const;
  void set(uint64_t seed, uint64_t position);
  /// `words` random 32-bit words as i32; each call continues behind the last.
  Tensor bits(int64_t words, Device device);

  struct State;

 private:
  std::shared_ptr<State> state_;
};

/// The generator used when none is given.
///   const uint64_t drawn = default_generator().position();
Generator& default_generator();
/// Seeds the default generator.
///   manual_seed(42);
void manual_seed(uint64_t seed);

/// Numbers from 0 to below 1, all equally likely.
///   rand({2, 3}).shape();  // (2, 3)
Tensor rand(const Dims& shape, const Options& options = {}, Generator* generator = nullptr);  // [0, 1)
/// Mean 0, variance 1. Made with each device's own logarithm and cosine: the same seed gives the same numbers on every
/// device to within 1e-6 (f32) or 4e-15 (f64), times the number where that is above 1.
///   randn({2, 3}).shape();  // (2, 3)
Tensor randn(const Dims& shape, const Options& options = {}, Generator* generator = nullptr);
/// Whole numbers from low to below high, all equally likely.
///   randint(5, 6, {3});  // [5 5 5]
Tensor randint(int64_t low, int64_t high, const Dims& shape, const Options& options = {},
               Generator* generator = nullptr);
/// The numbers from 0 to n - 1 in random order.
///   randperm(5).sum();  // 10
Tensor randperm(int64_t n, const Options& options = {}, Generator* generator = nullptr);
/// As rand() and randn(), in the shape, the dtype and on the device of another tensor.
///   rand_like(zeros({2, 3})).shape();  // (2, 3)
Tensor rand_like(const Tensor& x, Generator* generator = nullptr);
Tensor randn_like(const Tensor& x, Generator* generator = nullptr);
// More draws, of tensors: bernoulli(), multinomial(), normal() of ops.h and the methods uniform_(), normal_(),
// random_(), ...

// ---- templates ----

namespace literal {
/// Fails unless a shape has so many elements.
void require_count(size_t values, const Dims& shape);
}  // namespace literal

template <typename T>
Tensor from_vector(const std::vector<T>& values, const Dims& shape, const Options& options) {
  literal::require_count(values.size(), shape);
  Options own = options;
  own.dtype = kDTypeOf<T>;
  own.requires_grad = false;
  Tensor made;
  if constexpr (std::is_same_v<T, bool>) {  // vector<bool> has no bytes to point at
    std::vector<std::byte> bytes(values.size());
    for (size_t i = 0; i < values.size(); ++i) bytes[i] = std::byte{values[i]};
    made = from_bytes(bytes, shape, own);
  } else {
    made = from_bytes(std::as_bytes(std::span<const T>(values)), shape, own);
  }
  if (options.dtype) made = made.to(*options.dtype);
  if (options.requires_grad) made.requires_grad_();
  return made;
}

template <typename T>
Tensor tensor(std::initializer_list<T> values, const Options& options) {
  using Stored = std::conditional_t<std::is_same_v<T, double>, float,  // numbers as Python's: reals f32, integers i64
                                    std::conditional_t<std::is_same_v<T, int>, int64_t, T>>;
  if (options.dtype == DType::f64) {
    return from_vector(std::vector<double>(values.begin(), values.end()), {static_cast<int64_t>(values.size())},
                       options);
  }
  return from_vector(std::vector<Stored>(values.begin(), values.end()), {static_cast<int64_t>(values.size())}, options);
}

namespace literal {

/// The shape of a nested literal; fails where its lists differ in length.
template <typename T>
void measure(const T&, Dims&, size_t) {}
template <typename T>
void measure(std::initializer_list<T> list, Dims& shape, size_t depth = 0) {
  const auto size = static_cast<int64_t>(list.size());
  if (shape.size() == depth) shape.push_back(size);
  if (shape[depth] != size) base::fail("tensor", "rows of {} and {} elements", shape[depth], size);
  for (const T& part : list) measure(part, shape, depth + 1);
}

template <typename T, typename Wide>
void flatten(const T& number, std::vector<Wide>& into) {
  into.push_back(number);
}
template <typename T, typename Wide>
void flatten(std::initializer_list<T> list, std::vector<Wide>& into) {
  for (const T& part : list) flatten(part, into);
}

/// Numbers as Python's: reals f32, integers i64.
template <typename T, typename Nested>
Tensor made(const Nested& lists, size_t rank, const Options& options) {
  using Wide = std::conditional_t<std::is_floating_point_v<T>, double, std::conditional_t<sizeof(T) == 1, T, int64_t>>;
  Dims shape;
  measure(lists, shape);
  shape.resize(rank, 0);  // of a list without lists
  std::vector<Wide> flat;
  flatten(lists, flat);
  Options own = options;
  if (!own.dtype && std::is_floating_point_v<T>) own.dtype = DType::f32;
  return from_vector(flat, shape, own);
}

Tensor from_numbers(const std::vector<Number>& numbers, const Dims& shape, const Options& options);
template <typename Nested>
Tensor mixed(const Nested& lists, size_t rank, const Options& options) {
  Dims shape;
  measure(lists, shape);
  shape.resize(rank, 0);
  std::vector<Number> flat;
  flatten(lists, flat);
  return from_numbers(flat, shape, options);
}

}  // namespace literal

template <typename T>
Tensor tensor(std::initializer_list<std::initializer_list<T>> rows, const Options& options) {
  return literal::made<T>(rows, 2, options);
}

template <typename T>
Tensor tensor(std::initializer_list<std::initializer_list<std::initializer_list<T>>> planes, const Options& options) {
  return literal::made<T>(planes, 3, options);
}

template <typename T>
Tensor tensor(std::initializer_list<std::initializer_list<std::initializer_list<std::initializer_list<T>>>> blocks,
              const Options& options) {
  return literal::made<T>(blocks, 4, options);
}

inline Tensor tensor(std::initializer_list<Number> values, const Options& options) {
  return literal::mixed(values, 1, options);
}
inline Tensor tensor(std::initializer_list<std::initializer_list<Number>> rows, const Options& options) {
  return literal::mixed(rows, 2, options);
}
inline Tensor tensor(std::initializer_list<std::initializer_list<std::initializer_list<Number>>> planes,
                     const Options& options) {
  return literal::mixed(planes, 3, options);
}

}  // namespace tenon
