// Tensor: the value type users hold.
//
// A tensor is a handle on a recorded value. Ops record and return at once; reading (item, to_vector, printing)
// computes. Slices, transposes and reshapes of a tensor share its memory as in PyTorch: writing through one is seen by
// the others.
//
//   Tensor x = randn({32, 16}).requires_grad_();
//   Tensor loss = (x * x).mean();
//   loss.backward();
//   fmt::print("{} {}\n", loss.item<float>(), x.grad());

#pragma once

#include <fmt/format.h>

#include <concepts>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/device/lost.h"
#include "tenon/device/out_of_memory.h"
#include "tenon/ir/device_id.h"
#include "tenon/ir/shape.h"
#include "tenon/tensor/number.h"

namespace tenon {

// The dtypes under PyTorch's names.
/// The dtypes under PyTorch's names.
inline constexpr DType float32 = DType::f32, float16 = DType::f16, bfloat16 = DType::bf16, float64 = DType::f64;
inline constexpr DType int32 = DType::i32, int64 = DType::i64, uint8 = DType::u8, boolean = DType::boolean;

/// Where a tensor lives: "reference", ... Converts from a name.
///   Tensor y = zeros({2}, Device("cpu"));
struct Device {
  ir::DeviceId id;                                              // the device's number among all
  Device();                                                     // the default device
  Device(ir::DeviceId device) : id(device) {}                   // NOLINT: ids convert
  Device(std::string_view name);                                // NOLINT: names convert
  Device(const char* name) : Device(std::string_view(name)) {}  // NOLINT
  /// What it is called.
  std::string name() const { return id.name; }
  friend bool operator==(const Device& a, const Device& b) { return a.id == b.id; }
  friend std::ostream& operator<<(std::ostream& out, const Device& device);
};

/// The devices that are there, without those that are for tests alone.
///   for (const Device& device : devices()) std::cout << device.name() << "\n";
std::vector<Device> devices();

/// Dtype, device and gradient flag of a new tensor; each may be left out.
///   Tensor w = zeros({2, 3}, Options(float64, Device("cpu")));
struct Options {
  std::optional<DType> dtype;  // float32 for reals unless given
  Device device;               // the default device unless given
  bool requires_grad = false;  // whether gradients are recorded for it
  Options() = default;
  Options(DType type) : dtype(type) {}  // NOLINT: a dtype is the usual option
  Options(DType type, Device where) : dtype(type), device(where) {}
  Options(Device where) : device(where) {}  // NOLINT
};

/// The dims an op works on: one, several, or none, which means all of them. `sum(x, 1)`, `sum(x, {0, 2})`, `sum(x)`.
///   sum(ones({2, 3, 4}), {0, 2}).shape();  // (3,)
class Axes : public Dims {
 public:
  Axes() = default;
  Axes(std::initializer_list<int64_t> dims) : Dims(dims) {}
  Axes(const Dims& dims) : Dims(dims) {}  // NOLINT: lists of dims convert
  template <std::integral T>
  requires(!std::same_as<T, bool>) Axes(T dim) : Dims{static_cast<int64_t>(dim)} {}  // NOLINT: a dim converts
};

/// start:stop:step as in Python; negative values count from the end, a negative step runs backwards.
///   arange(10)[Slice(2, 8, 3)];  // [2 5]
struct Slice {
  std::optional<int64_t> start, stop;  // where it begins, and what it ends before
  int64_t step = 1;                    // the distance between two
  Slice() = default;
  Slice(std::optional<int64_t> from, std::optional<int64_t> to, int64_t by = 1) : start(from), stop(to), step(by) {}
};
/// A new dim of size 1 in an index expression.
struct NewAxis {};
/// As many whole dims in an index expression as are left.
struct Ellipsis {};

class Tensor;
/// One entry of an index expression: a position, a Slice, NewAxis, Ellipsis, a tensor of positions or a bool mask.
using Index = std::variant<int64_t, Slice, NewAxis, Ellipsis, std::shared_ptr<const Tensor>>;

struct IndexEntry {
  Index index;
  template <std::integral T>
  IndexEntry(T position) : index(static_cast<int64_t>(position)) {}  // NOLINT: positions convert
  IndexEntry(Slice slice) : index(slice) {}                          // NOLINT
  IndexEntry(NewAxis axis) : index(axis) {}                          // NOLINT
  IndexEntry(Ellipsis rest) : index(rest) {}                         // NOLINT
  IndexEntry(const Tensor& positions);                               // NOLINT
};

struct TensorImpl;
class Generator;
class Operand;

/// What register_hook() returns: removes the hook again.
///   Tensor w = ones({2}).requires_grad_();
///   HookHandle handle = w.register_hook([](const Tensor& gradient) { return gradient * 2; });
///   handle.remove();
class HookHandle {
 public:
  HookHandle() = default;
  explicit HookHandle(std::shared_ptr<bool> is_on) : is_on_(std::move(is_on)) {}
  /// Takes the hook away.
  void remove() {
    if (is_on_) *is_on_ = false;
  }

 private:
  std::shared_ptr<bool> is_on_;
};

class Tensor {
 public:
  /// No tensor at all; `defined()` tells.
  Tensor() = default;
  Tensor(const Tensor&) = default;
  Tensor(Tensor&&) noexcept = default;
  ~Tensor() = default;
  Tensor& operator=(const Tensor&) & = default;
  Tensor& operator=(Tensor&&) & noexcept = default;
  /// To a part that has no name of its own, `z[1] = x`, `z.slice(0, 2) = 0` or `z[mask] = 0`: writes into z.
  Tensor& operator=(const Operand& source) &&;
  // In place, as add_ and the others below; of a part without a name they write into what it is a part of.
  /// In place: the tensor's memory is written, and views of it see that.
  Tensor& operator+=(const Operand& other) &;
  Tensor& operator-=(const Operand& other) &;
  Tensor& operator*=(const Operand& other) &;
  Tensor& operator/=(const Operand& other) &;
  Tensor& operator%=(const Operand& other) &;
  Tensor& operator&=(const Operand& other) &;
  Tensor& operator|=(const Operand& other) &;
  Tensor& operator^=(const Operand& other) &;
  Tensor& operator+=(const Operand& other) &&;
  Tensor& operator-=(const Operand& other) &&;
  Tensor& operator*=(const Operand& other) &&;
  Tensor& operator/=(const Operand& other) &&;

  /// Whether there is a tensor.
  bool defined() const { return impl_ != nullptr; }
  /// The same for all handles on one tensor, and for no other that is alive.
  const void* identity() const { return impl_.get(); }
  /// Its shape; the size of one dim, where negative dims count from the end; how many dims and elements there are.
  const Dims& shape() const;
  int64_t size(int64_t dim) const;
  int64_t dim() const { return static_cast<int64_t>(shape().size()); }
  int64_t numel() const;
  /// What its elements are, where they lie, and how many bytes they take.
  DType dtype() const;
  Device device() const;
  int64_t nbytes() const;
  /// How many elements of memory lie between neighbours along each dim.
  Dims strides() const;
  int64_t stride(int64_t dim) const;
  /// How many elements of memory lie before the first one: a slice shows the memory of the whole.
  int64_t storage_offset() const;
  /// Whether the elements lie one behind the other in row-major order.
  bool is_contiguous() const;

  // Reading: computes what is needed, then copies to the host.
  /// The only element of a tensor of one.
  template <typename T>
  T item() const;
  /// All elements in row-major order, as another type or as bytes.
  template <typename T>
  std::vector<T> to_vector() const;
  std::vector<std::byte> to_bytes() const;
  /// The first element where it lies, computed; strides() say where the others are. For reading, until the tensor is
  /// written or gone. Fails where the host cannot address the device's memory.
  template <typename T>
  const T* data_ptr() const;
  /// The elements as numpy prints them.
  std::string to_string() const;
  /// Starts computing now; reading waits for it.
  Tensor eval() const;
  /// Whether it has been computed.
  bool is_evaluated() const;

  // Autograd.
  /// Whether gradients are recorded for it; switches that on or off.
  bool requires_grad() const;
  Tensor& requires_grad_(bool on = true);
  /// Whether no op made it: backward() leaves a gradient here.
  bool is_leaf() const;
  /// The gradient that backward() left; undefined where there is none.
  Tensor grad() const;
  /// Puts another in its place.
  void set_grad(const Tensor& gradient);
  /// Lets go of it.
  void zero_grad();
  /// Keeps the gradient of a tensor that is no leaf, too: grad() has it after backward().
  void retain_grad();
  /// Calls f with the gradient of this tensor in every backward pass; what f returns, if it is defined, takes the
  /// gradient's place. The gradient is that of the value which the tensor has now: after a write in place, the hook
  /// stays with the value from before.
  HookHandle register_hook(std::function<Tensor(const Tensor&)> f);
  /// Adds the gradient of this value (one number unless `gradient` is given) to every leaf below it.
  void backward(const Tensor& gradient = Tensor(), bool retain_graph = false, bool create_graph = false);
  /// The same values without their history.
  Tensor detach() const;
  /// Replaces what the tensor holds, keeping its identity: handles, leaf and gradient flag stay (`p.data = x` in
  /// PyTorch). Memory is shared with `data`. A gradient of another type is dropped.
  void set_data(const Tensor& data);

  // Conversion.
  /// In another dtype, on another device, or both; the tensor itself where it is so already.
  Tensor to(DType dtype) const;
  Tensor to(Device device) const;
  Tensor to(Device device, DType dtype) const;
  /// A copy; the elements in row-major order, copied where they are not.
  Tensor clone() const;
  Tensor contiguous() const;

  // Parts, as x[...] in Python; writing to what these give writes into this tensor.

  /// x[2, 1:3, None, ..., positions, mask] in Python is x.index({2, Slice(1, 3), NewAxis(), Ellipsis(), positions,
  /// mask}). What tensors pick is a copy; assigning to it writes into this tensor all the same.
  Tensor index(std::initializer_list<IndexEntry> entries) const { return index(std::span(entries)); }
  Tensor index(std::span<const IndexEntry> entries) const;
  /// A position, a slice, or what a tensor of positions or a mask picks, of the first dim.
  Tensor operator[](int64_t position) const { return select(0, position); }
  Tensor operator[](const Slice& slice) const { return this->slice(0, slice.start, slice.stop, slice.step); }
  Tensor operator[](const Tensor& positions_or_mask) const;

  /// The negative, the logical opposite, and all bits inverted.
  Tensor operator-() const;
  Tensor operator!() const;
  Tensor operator~() const;

  // Methods without a comment are the functions of ops.h of the same name; one whose name ends with an underscore
  // changes this tensor: later readers of it and of every view of it see the new value.

  // ---- begin of the methods of functions.def, written by scripts/make_functions.py; do not edit
  // Arithmetic
  Tensor add(const Operand& other, Number alpha = 1) const;
  Tensor& add_(const Operand& other, Number alpha = 1);
  Tensor sub(const Operand& other, Number alpha = 1) const;
  Tensor& sub_(const Operand& other, Number alpha = 1);
  Tensor subtract(const Operand& other, Number alpha = 1) const;
  Tensor& subtract_(const Operand& other, Number alpha = 1);
  Tensor rsub(const Operand& other, Number alpha = 1) const;
  Tensor mul(const Operand& other) const;
  Tensor& mul_(const Operand& other);
  Tensor multiply(const Operand& other) const;
  Tensor& multiply_(const Operand& other);
  Tensor div(const Operand& other, std::optional<std::string_view> rounding_mode = {}) const;
  Tensor& div_(const Operand& other, std::optional<std::string_view> rounding_mode = {});
  Tensor divide(const Operand& other, std::optional<std::string_view> rounding_mode = {}) const;
  Tensor& divide_(const Operand& other, std::optional<std::string_view> rounding_mode = {});
  Tensor true_divide(const Operand& other) const;
  Tensor& true_divide_(const Operand& other);
  Tensor floor_divide(const Operand& other) const;
  Tensor& floor_divide_(const Operand& other);
  Tensor remainder(const Operand& other) const;
  Tensor& remainder_(const Operand& other);
  Tensor fmod(const Operand& other) const;
  Tensor& fmod_(const Operand& other);
  Tensor gcd(const Tensor& other) const;
  Tensor& gcd_(const Tensor& other);
  Tensor lcm(const Tensor& other) const;
  Tensor& lcm_(const Tensor& other);
  Tensor pow(const Operand& exponent) const;
  Tensor& pow_(const Operand& exponent);
  Tensor float_power(const Operand& exponent) const;
  Tensor lerp(const Operand& end, const Operand& weight) const;
  Tensor& lerp_(const Operand& end, const Operand& weight);
  Tensor addcmul(const Tensor& a, const Tensor& b, Number value = 1) const;
  Tensor& addcmul_(const Tensor& a, const Tensor& b, Number value = 1);
  Tensor addcdiv(const Tensor& a, const Tensor& b, Number value = 1) const;
  Tensor& addcdiv_(const Tensor& a, const Tensor& b, Number value = 1);
  Tensor maximum(const Operand& other) const;
  Tensor minimum(const Operand& other) const;
  Tensor atan2(const Operand& other) const;
  Tensor& atan2_(const Operand& other);
  Tensor arctan2(const Operand& other) const;
  Tensor& arctan2_(const Operand& other);
  Tensor hypot(const Operand& other) const;
  Tensor& hypot_(const Operand& other);
  Tensor fmax(const Tensor& other) const;
  Tensor fmin(const Tensor& other) const;
  Tensor xlogy(const Operand& other) const;
  Tensor logaddexp(const Operand& other) const;
  Tensor logaddexp2(const Operand& other) const;
  Tensor copysign(const Operand& other) const;
  Tensor& copysign_(const Operand& other);
  Tensor nextafter(const Tensor& other) const;
  Tensor& nextafter_(const Tensor& other);
  Tensor heaviside(const Tensor& values) const;
  Tensor& heaviside_(const Tensor& values);
  Tensor clamp(std::optional<Operand> min, std::optional<Operand> max) const;
  Tensor& clamp_(std::optional<Operand> min, std::optional<Operand> max);
  Tensor clip(std::optional<Operand> min, std::optional<Operand> max) const;
  Tensor& clip_(std::optional<Operand> min, std::optional<Operand> max);
  Tensor clamp_min(const Operand& min) const;
  Tensor& clamp_min_(const Operand& min);
  Tensor clamp_max(const Operand& max) const;
  Tensor& clamp_max_(const Operand& max);
  /// This tensor where the condition holds, else the other.
  Tensor where(const Tensor& condition, const Operand& other) const;
  Tensor masked_fill(const Tensor& mask, const Operand& value) const;
  Tensor& masked_fill_(const Tensor& mask, const Operand& value);

  // Comparisons, logic and bits
  Tensor eq(const Operand& other) const;
  Tensor& eq_(const Operand& other);
  Tensor ne(const Operand& other) const;
  Tensor& ne_(const Operand& other);
  Tensor not_equal(const Operand& other) const;
  Tensor& not_equal_(const Operand& other);
  Tensor lt(const Operand& other) const;
  Tensor& lt_(const Operand& other);
  Tensor less(const Operand& other) const;
  Tensor& less_(const Operand& other);
  Tensor le(const Operand& other) const;
  Tensor& le_(const Operand& other);
  Tensor less_equal(const Operand& other) const;
  Tensor& less_equal_(const Operand& other);
  Tensor gt(const Operand& other) const;
  Tensor& gt_(const Operand& other);
  Tensor greater(const Operand& other) const;
  Tensor& greater_(const Operand& other);
  Tensor ge(const Operand& other) const;
  Tensor& ge_(const Operand& other);
  Tensor greater_equal(const Operand& other) const;
  Tensor& greater_equal_(const Operand& other);
  Tensor logical_and(const Operand& other) const;
  Tensor& logical_and_(const Operand& other);
  Tensor logical_or(const Operand& other) const;
  Tensor& logical_or_(const Operand& other);
  Tensor logical_xor(const Operand& other) const;
  Tensor& logical_xor_(const Operand& other);
  Tensor logical_not() const;
  Tensor& logical_not_();
  Tensor bitwise_and(const Operand& other) const;
  Tensor& bitwise_and_(const Operand& other);
  Tensor bitwise_or(const Operand& other) const;
  Tensor& bitwise_or_(const Operand& other);
  Tensor bitwise_xor(const Operand& other) const;
  Tensor& bitwise_xor_(const Operand& other);
  Tensor bitwise_not() const;
  Tensor& bitwise_not_();
  Tensor bitwise_left_shift(const Operand& other) const;
  Tensor& bitwise_left_shift_(const Operand& other);
  Tensor bitwise_right_shift(const Operand& other) const;
  Tensor& bitwise_right_shift_(const Operand& other);
  Tensor isclose(const Tensor& other, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false) const;
  Tensor isnan() const;
  Tensor isinf() const;
  Tensor isposinf() const;
  Tensor isneginf() const;
  Tensor isfinite() const;
  Tensor signbit() const;
  Tensor isin(const Operand& test_elements, bool assume_unique = false, bool invert = false) const;
  bool allclose(const Tensor& other, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false) const;
  bool equal(const Tensor& other) const;

  // Mathematics, element by element
  Tensor neg() const;
  Tensor& neg_();
  Tensor negative() const;
  Tensor& negative_();
  Tensor abs() const;
  Tensor& abs_();
  Tensor absolute() const;
  Tensor& absolute_();
  Tensor sign() const;
  Tensor& sign_();
  Tensor sgn() const;
  Tensor& sgn_();
  Tensor sqrt() const;
  Tensor& sqrt_();
  Tensor rsqrt() const;
  Tensor& rsqrt_();
  Tensor square() const;
  Tensor& square_();
  Tensor reciprocal() const;
  Tensor& reciprocal_();
  Tensor exp() const;
  Tensor& exp_();
  Tensor exp2() const;
  Tensor& exp2_();
  Tensor expm1() const;
  Tensor& expm1_();
  Tensor log() const;
  Tensor& log_();
  Tensor log2() const;
  Tensor& log2_();
  Tensor log10() const;
  Tensor& log10_();
  Tensor log1p() const;
  Tensor& log1p_();
  Tensor sin() const;
  Tensor& sin_();
  Tensor cos() const;
  Tensor& cos_();
  Tensor tan() const;
  Tensor& tan_();
  Tensor asin() const;
  Tensor& asin_();
  Tensor arcsin() const;
  Tensor& arcsin_();
  Tensor acos() const;
  Tensor& acos_();
  Tensor arccos() const;
  Tensor& arccos_();
  Tensor atan() const;
  Tensor& atan_();
  Tensor arctan() const;
  Tensor& arctan_();
  Tensor sinh() const;
  Tensor& sinh_();
  Tensor cosh() const;
  Tensor& cosh_();
  Tensor tanh() const;
  Tensor& tanh_();
  Tensor asinh() const;
  Tensor& asinh_();
  Tensor arcsinh() const;
  Tensor& arcsinh_();
  Tensor acosh() const;
  Tensor& acosh_();
  Tensor arccosh() const;
  Tensor& arccosh_();
  Tensor atanh() const;
  Tensor& atanh_();
  Tensor arctanh() const;
  Tensor& arctanh_();
  Tensor erf() const;
  Tensor& erf_();
  Tensor erfc() const;
  Tensor& erfc_();
  Tensor erfinv() const;
  Tensor& erfinv_();
  Tensor lgamma() const;
  Tensor& lgamma_();
  Tensor digamma() const;
  Tensor& digamma_();
  /// The n-th derivative of digamma.
  Tensor polygamma(int64_t n) const;
  Tensor mvlgamma(int64_t p) const;
  Tensor& mvlgamma_(int64_t p);
  Tensor i0() const;
  Tensor& i0_();
  Tensor logit(std::optional<double> eps = {}) const;
  Tensor& logit_(std::optional<double> eps = {});
  Tensor floor() const;
  Tensor& floor_();
  Tensor ceil() const;
  Tensor& ceil_();
  Tensor round() const;
  Tensor& round_();
  Tensor round(int64_t decimals) const;
  Tensor& round_(int64_t decimals);
  Tensor trunc() const;
  Tensor& trunc_();
  Tensor fix() const;
  Tensor& fix_();
  Tensor frac() const;
  Tensor& frac_();
  Tensor sinc() const;
  Tensor& sinc_();
  Tensor deg2rad() const;
  Tensor& deg2rad_();
  Tensor rad2deg() const;
  Tensor& rad2deg_();
  Tensor nan_to_num(double nan = 0.0, std::optional<double> posinf = {}, std::optional<double> neginf = {}) const;
  Tensor& nan_to_num_(double nan = 0.0, std::optional<double> posinf = {}, std::optional<double> neginf = {});

  // Activations
  Tensor sigmoid() const;
  Tensor& sigmoid_();
  Tensor relu() const;
  Tensor& relu_();
  Tensor leaky_relu(double negative_slope = 0.01) const;
  Tensor elu(double alpha = 1.0) const;
  Tensor softplus(double beta = 1.0, double threshold = 20.0) const;
  Tensor silu() const;
  Tensor mish() const;
  Tensor hardswish() const;
  Tensor gelu(std::string_view approximate = "none") const;
  Tensor relu6() const;
  Tensor hardtanh(double min_val = -1.0, double max_val = 1.0) const;
  Tensor hardsigmoid() const;
  Tensor celu(double alpha = 1.0) const;
  Tensor selu() const;
  Tensor glu(int64_t dim = -1) const;
  Tensor logsigmoid() const;
  Tensor softsign() const;
  Tensor tanhshrink() const;
  Tensor hardshrink(double lambd = 0.5) const;
  Tensor softshrink(double lambd = 0.5) const;
  Tensor threshold(double threshold, double value) const;
  Tensor prelu(const Tensor& weight) const;
  Tensor softmin(int64_t dim, std::optional<DType> dtype = {}) const;
  Tensor softmax(int64_t dim, std::optional<DType> dtype = {}) const;
  Tensor log_softmax(int64_t dim, std::optional<DType> dtype = {}) const;

  // Reductions and scans. Dims may be negative; no dims mean all.
  Tensor sum(const Axes& dim = {}, bool keepdim = false, std::optional<DType> dtype = {}) const;
  Tensor nansum(const Axes& dim = {}, bool keepdim = false, std::optional<DType> dtype = {}) const;
  Tensor mean(const Axes& dim = {}, bool keepdim = false, std::optional<DType> dtype = {}) const;
  Tensor nanmean(const Axes& dim = {}, bool keepdim = false, std::optional<DType> dtype = {}) const;
  Tensor prod(const Axes& dim = {}, bool keepdim = false, std::optional<DType> dtype = {}) const;
  Tensor amax(const Axes& dim = {}, bool keepdim = false) const;
  Tensor amin(const Axes& dim = {}, bool keepdim = false) const;
  Tensor max() const;
  std::pair<Tensor, Tensor> max(int64_t dim, bool keepdim = false) const;
  Tensor min() const;
  std::pair<Tensor, Tensor> min(int64_t dim, bool keepdim = false) const;
  Tensor argmax(std::optional<int64_t> dim = {}, bool keepdim = false) const;
  Tensor argmin(std::optional<int64_t> dim = {}, bool keepdim = false) const;
  Tensor var(const Axes& dim = {}, double correction = 1, bool keepdim = false) const;
  Tensor std(const Axes& dim = {}, double correction = 1, bool keepdim = false) const;
  Tensor any(const Axes& dim = {}, bool keepdim = false) const;
  Tensor all(const Axes& dim = {}, bool keepdim = false) const;
  Tensor count_nonzero(const Axes& dim = {}) const;
  Tensor norm(double p = 2, const Axes& dim = {}, bool keepdim = false) const;
  Tensor dist(const Tensor& other, double p = 2.0) const;
  Tensor logsumexp(const Axes& dim, bool keepdim = false) const;
  Tensor cumsum(int64_t dim, std::optional<DType> dtype = {}) const;
  Tensor& cumsum_(int64_t dim, std::optional<DType> dtype = {});
  Tensor cumprod(int64_t dim, std::optional<DType> dtype = {}) const;
  Tensor& cumprod_(int64_t dim, std::optional<DType> dtype = {});
  std::pair<Tensor, Tensor> cummax(int64_t dim) const;
  std::pair<Tensor, Tensor> cummin(int64_t dim) const;
  Tensor logcumsumexp(int64_t dim) const;
  Tensor diff(int64_t n = 1, int64_t dim = -1, const Tensor& prepend = Tensor(), const Tensor& append = Tensor()) const;
  Tensor histc(int64_t bins = 100, double min = 0, double max = 0) const;
  Tensor cov(int64_t correction = 1, const Tensor& fweights = Tensor(), const Tensor& aweights = Tensor()) const;
  Tensor corrcoef() const;
  Tensor median() const;
  std::pair<Tensor, Tensor> median(int64_t dim, bool keepdim = false) const;
  Tensor nanmedian() const;
  std::pair<Tensor, Tensor> nanmedian(int64_t dim, bool keepdim = false) const;
  std::pair<Tensor, Tensor> kthvalue(int64_t k, int64_t dim = -1, bool keepdim = false) const;
  std::pair<Tensor, Tensor> mode(int64_t dim = -1, bool keepdim = false) const;
  Tensor quantile(const Operand& q, std::optional<int64_t> dim = {}, bool keepdim = false,
                  std::string_view interpolation = "linear") const;
  Tensor nanquantile(const Operand& q, std::optional<int64_t> dim = {}, bool keepdim = false,
                     std::string_view interpolation = "linear") const;
  std::pair<Tensor, Tensor> sort(int64_t dim = -1, bool descending = false, bool stable = true) const;
  Tensor argsort(int64_t dim = -1, bool descending = false, bool stable = true) const;
  std::pair<Tensor, Tensor> topk(int64_t k, int64_t dim = -1, bool largest = true, bool sorted = true) const;

  // Shapes. Views share memory wherever strides can express them.
  Tensor reshape(const Dims& shape) const;
  /// The same elements in the shape of another tensor.
  Tensor reshape_as(const Tensor& other) const;
  /// As reshape, but fails where it would have to copy.
  Tensor view(const Dims& shape) const;
  /// As view, in the shape of another tensor.
  Tensor view_as(const Tensor& other) const;
  Tensor flatten(int64_t start_dim = 0, int64_t end_dim = -1) const;
  Tensor ravel() const;
  Tensor unflatten(int64_t dim, const Dims& sizes) const;
  Tensor permute(const Dims& dims) const;
  Tensor transpose(int64_t dim0, int64_t dim1) const;
  Tensor swapdims(int64_t dim0, int64_t dim1) const;
  Tensor swapaxes(int64_t axis0, int64_t axis1) const;
  Tensor t() const;
  Tensor movedim(const Axes& source, const Axes& destination) const;
  Tensor moveaxis(const Axes& source, const Axes& destination) const;
  Tensor expand(const Dims& shape) const;
  /// Expanded to the shape of another.
  Tensor expand_as(const Tensor& other) const;
  Tensor broadcast_to(const Dims& shape) const;
  Tensor squeeze() const;
  Tensor squeeze(int64_t dim) const;
  Tensor squeeze(const Dims& dims) const;
  Tensor unsqueeze(int64_t dim) const;
  Tensor diagonal(int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1) const;
  Tensor select(int64_t dim, int64_t index) const;
  /// Positions start:stop:step along a dim, as in Python.
  Tensor slice(int64_t dim, std::optional<int64_t> start = {}, std::optional<int64_t> stop = {},
               int64_t step = 1) const;
  Tensor narrow(int64_t dim, int64_t start, int64_t length) const;
  std::vector<Tensor> split(const Dims& sizes, int64_t dim = 0) const;
  std::vector<Tensor> split(int64_t size, int64_t dim = 0) const;
  std::vector<Tensor> split_with_sizes(const Dims& split_sizes, int64_t dim = 0) const;
  std::vector<Tensor> chunk(int64_t chunks, int64_t dim = 0) const;
  std::vector<Tensor> unbind(int64_t dim = 0) const;
  Tensor unfold(int64_t dimension, int64_t size, int64_t step) const;
  Tensor as_strided(const Dims& size, const Dims& stride, std::optional<int64_t> storage_offset = {}) const;

  // Other arrangements: copies
  Tensor flip(const Axes& dims) const;
  Tensor fliplr() const;
  Tensor flipud() const;
  Tensor roll(int64_t shift, int64_t dim) const;
  Tensor roll(const Dims& shifts, const Dims& dims = {}) const;
  Tensor pad(const Dims& pad, Number value = 0.0) const;
  Tensor repeat(const Dims& repeats) const;
  Tensor tile(const Dims& dims) const;
  Tensor repeat_interleave(const Operand& repeats, std::optional<int64_t> dim = {}) const;
  Tensor tril(int64_t diagonal = 0) const;
  Tensor& tril_(int64_t diagonal = 0);
  Tensor triu(int64_t diagonal = 0) const;
  Tensor& triu_(int64_t diagonal = 0);
  Tensor diag(int64_t diagonal = 0) const;
  Tensor diag_embed(int64_t offset = 0, int64_t dim1 = -2, int64_t dim2 = -1) const;
  Tensor trace() const;
  Tensor renorm(double p, int64_t dim, double maxnorm) const;
  Tensor& renorm_(double p, int64_t dim, double maxnorm);

  // Indexing
  Tensor gather(int64_t dim, const Tensor& index) const;
  Tensor take(const Tensor& index) const;
  Tensor take_along_dim(const Tensor& indices, std::optional<int64_t> dim = {}) const;
  Tensor index_select(int64_t dim, const Tensor& index) const;
  Tensor index_add(int64_t dim, const Tensor& index, const Tensor& source, Number alpha = 1) const;
  Tensor& index_add_(int64_t dim, const Tensor& index, const Tensor& source, Number alpha = 1);
  Tensor index_copy(int64_t dim, const Tensor& index, const Tensor& source) const;
  Tensor& index_copy_(int64_t dim, const Tensor& index, const Tensor& source);
  Tensor index_fill(int64_t dim, const Tensor& index, const Operand& value) const;
  Tensor& index_fill_(int64_t dim, const Tensor& index, const Operand& value);
  Tensor scatter(int64_t dim, const Tensor& index, const Operand& source,
                 std::optional<std::string_view> reduce = {}) const;
  Tensor& scatter_(int64_t dim, const Tensor& index, const Operand& source,
                   std::optional<std::string_view> reduce = {});
  Tensor scatter_add(int64_t dim, const Tensor& index, const Tensor& source) const;
  Tensor& scatter_add_(int64_t dim, const Tensor& index, const Tensor& source);
  Tensor scatter_reduce(int64_t dim, const Tensor& index, const Tensor& source, std::string_view reduce,
                        bool include_self = true) const;
  Tensor& scatter_reduce_(int64_t dim, const Tensor& index, const Tensor& source, std::string_view reduce,
                          bool include_self = true);
  Tensor index_reduce(int64_t dim, const Tensor& index, const Tensor& source, std::string_view reduce,
                      bool include_self = true) const;
  Tensor& index_reduce_(int64_t dim, const Tensor& index, const Tensor& source, std::string_view reduce,
                        bool include_self = true);
  Tensor select_scatter(const Tensor& src, int64_t dim, int64_t index) const;
  Tensor slice_scatter(const Tensor& src, int64_t dim = 0, std::optional<int64_t> start = {},
                       std::optional<int64_t> end = {}, int64_t step = 1) const;
  Tensor diagonal_scatter(const Tensor& src, int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1) const;
  Tensor masked_scatter(const Tensor& mask, const Tensor& source) const;
  Tensor& masked_scatter_(const Tensor& mask, const Tensor& source);
  Tensor searchsorted(const Operand& values, bool out_int32 = false, bool right = false,
                      std::optional<std::string_view> side = {}, const Tensor& sorter = Tensor()) const;
  Tensor bucketize(const Tensor& boundaries, bool out_int32 = false, bool right = false) const;
  Tensor one_hot(int64_t num_classes = -1) const;

  // Indexing whose shape depends on values: computes at once, and fails inside captured functions
  Tensor masked_select(const Tensor& mask) const;
  Tensor nonzero() const;
  Tensor bincount(const Tensor& weights = Tensor(), int64_t minlength = 0) const;

  // Products
  Tensor matmul(const Tensor& b) const;
  Tensor mm(const Tensor& b) const;
  Tensor bmm(const Tensor& b) const;
  Tensor mv(const Tensor& b) const;
  Tensor dot(const Tensor& b) const;
  Tensor vdot(const Tensor& b) const;
  Tensor inner(const Tensor& other) const;
  Tensor kron(const Tensor& other) const;
  Tensor cross(const Tensor& other, std::optional<int64_t> dim = {}) const;
  Tensor outer(const Tensor& b) const;
  Tensor addmm(const Tensor& a, const Tensor& b, Number beta = 1, Number alpha = 1) const;
  Tensor& addmm_(const Tensor& a, const Tensor& b, Number beta = 1, Number alpha = 1);
  Tensor addmv(const Tensor& a, const Tensor& b, Number beta = 1, Number alpha = 1) const;
  Tensor& addmv_(const Tensor& a, const Tensor& b, Number beta = 1, Number alpha = 1);
  Tensor baddbmm(const Tensor& a, const Tensor& b, Number beta = 1, Number alpha = 1) const;
  Tensor& baddbmm_(const Tensor& a, const Tensor& b, Number beta = 1, Number alpha = 1);
  Tensor addr(const Tensor& a, const Tensor& b, Number beta = 1, Number alpha = 1) const;
  Tensor& addr_(const Tensor& a, const Tensor& b, Number beta = 1, Number alpha = 1);

  // Random numbers. Without a generator the default one draws; no gradient goes through a draw.
  Tensor bernoulli(Generator* generator = nullptr) const;
  Tensor multinomial(int64_t num_samples, bool replacement = false, Generator* generator = nullptr) const;
  /// Draws new elements, even between low and high.
  Tensor& uniform_(double low = 0.0, double high = 1.0, Generator* generator = nullptr);
  /// Draws new elements, normally distributed.
  Tensor& normal_(double mean = 0.0, double std = 1.0, Generator* generator = nullptr);
  /// Draws 1 with probability p, else 0.
  Tensor& bernoulli_(double p = 0.5, Generator* generator = nullptr);
  /// Draws new elements, exponentially distributed.
  Tensor& exponential_(double lambd = 1.0, Generator* generator = nullptr);
  /// Draws new elements, integers from low, which is 0 unless given, to below high, or to the last that the dtype tells
  /// apart.
  Tensor& random_(std::optional<int64_t> low = {}, std::optional<int64_t> high = {}, Generator* generator = nullptr);
  // ---- end of the methods of functions.def --------------------------------------------------------------------------

  /// Takes over the values of another tensor, of any dtype and device.
  Tensor& copy_(const Operand& source);
  /// Writes one number, or 0, everywhere.
  Tensor& fill_(Number value);
  Tensor& zero_();
  /// x.index(entries) = source; with `accumulate` the source is added, as often as a position is named. Without, the
  /// last of several sources for one position counts.
  Tensor& index_put_(std::initializer_list<IndexEntry> entries, const Operand& source, bool accumulate = false) {
    return index_put_(std::span(entries), source, accumulate);
  }
  Tensor& index_put_(std::span<const IndexEntry> entries, const Operand& source, bool accumulate = false);

 private:
  friend struct TensorAccess;  // access.h: for the library itself

  Tensor read_as(DType dtype) const;
  std::vector<std::byte> bytes_as(DType dtype) const;
  const std::byte* host_address() const;

  std::shared_ptr<TensorImpl> impl_;
};

/// A tensor or a number: what binary ops take on either side.
///   const auto twice = [](const Operand& value) { return value * 2; };
///   twice(tensor({1, 2}));  // [2 4]
class Operand {
 public:
  Operand(const Tensor& tensor) : tensor_(tensor), is_tensor_(true) {}  // NOLINT: both convert
  template <typename T>
  requires std::is_arithmetic_v<T> Operand(T number) : number_(number) {}  // NOLINT
  Operand(Number number) : number_(number) {}                              // NOLINT

  /// Whether it is a tensor, and that, or else the number.
  bool is_tensor() const { return is_tensor_; }
  const Tensor& tensor() const { return tensor_; }
  const Number& number() const { return number_; }

 private:
  Tensor tensor_;
  Number number_ = 0;
  bool is_tensor_ = false;
};

/// Writes what print() shows in Python; a tensor is computed first.
///   std::cout << tensor({1, 2}) << "\n";
std::ostream& operator<<(std::ostream& out, const Tensor& tensor);
std::ostream& operator<<(std::ostream& out, DType dtype);
namespace base {  // where Dims lies
std::ostream& operator<<(std::ostream& out, const Dims& sizes);
}

/// Starts computing all of these in one plan; reading them waits for it.
///   Tensor a = x * 2, b = x + 1;
///   eval({a, b});
void eval(std::span<const Tensor> tensors);
void eval(std::initializer_list<Tensor> tensors);
/// Computes all of these and returns when they are there; throws what went wrong with them.
///   Tensor a = x * 2;
///   wait({a});
void wait(std::span<const Tensor> tensors);
void wait(std::initializer_list<Tensor> tensors);
/// Returns when everything that was started on a device, or on all, has run; throws what went wrong there and nobody
/// has been told yet.
///   synchronize();
void synchronize(Device device);
void synchronize();

template <typename T>
std::vector<T> Tensor::to_vector() const {
  const std::vector<std::byte> bytes = bytes_as(kDTypeOf<T>);
  std::vector<T> values(bytes.size() / sizeof(T));
  if constexpr (std::is_same_v<T, bool>) {
    for (size_t i = 0; i < values.size(); ++i) values[i] = bytes[i] != std::byte{0};
  } else if (!bytes.empty()) {
    std::memcpy(values.data(), bytes.data(), bytes.size());
  }
  return values;
}

template <typename T>
const T* Tensor::data_ptr() const {
  if (dtype() != kDTypeOf<T>) base::fail("data_ptr", "the elements are {}, not {}", name(dtype()), name(kDTypeOf<T>));
  return reinterpret_cast<const T*>(host_address());
}

template <typename T>
T Tensor::item() const {
  if (numel() != 1) base::fail("item", "a tensor of shape {} is not a single number", ir::to_string(shape()));
  return to_vector<T>()[0];
}

}  // namespace tenon

template <>
struct fmt::formatter<tenon::Tensor> : fmt::formatter<std::string> {
  template <typename Context>
  auto format(const tenon::Tensor& tensor, Context& context) const {
    return fmt::formatter<std::string>::format(tensor.to_string(), context);
  }
};

/// "f32", "bool", ...
template <>
struct fmt::formatter<tenon::DType> : fmt::formatter<std::string_view> {
  template <typename Context>
  auto format(tenon::DType dtype, Context& context) const {
    return fmt::formatter<std::string_view>::format(tenon::name(dtype), context);
  }
};
