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

#include <cstring>
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
#include "tenon/ir/device_id.h"
#include "tenon/ir/shape.h"
#include "tenon/tensor/number.h"

namespace tenon {

/// Where a tensor lives: "reference", ... Converts from a name.
struct Device {
  ir::DeviceId id;
  Device();                                                     // the default device
  Device(ir::DeviceId device) : id(device) {}                   // NOLINT: ids convert
  Device(std::string_view name);                                // NOLINT: names convert
  Device(const char* name) : Device(std::string_view(name)) {}  // NOLINT
  std::string name() const { return id.name; }
  friend bool operator==(const Device& a, const Device& b) { return a.id == b.id; }
};

/// Dtype, device and gradient flag of a new tensor; each may be left out.
struct Options {
  std::optional<DType> dtype;
  Device device;
  bool requires_grad = false;
  Options() = default;
  Options(DType type) : dtype(type) {}  // NOLINT: a dtype is the usual option
  Options(DType type, Device where) : dtype(type), device(where) {}
  Options(Device where) : device(where) {}  // NOLINT
};

/// start:stop:step as in Python; negative values count from the end, a negative step runs backwards.
struct Slice {
  std::optional<int64_t> start, stop;
  int64_t step = 1;
  Slice() = default;
  Slice(std::optional<int64_t> from, std::optional<int64_t> to, int64_t by = 1) : start(from), stop(to), step(by) {}
};
struct NewAxis {};
struct Ellipsis {};

class Tensor;
/// One entry of an index expression: a position, a Slice, NewAxis, Ellipsis, or a tensor of positions.
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
class Operand;

class Tensor {
 public:
  /// No tensor at all; `defined()` tells.
  Tensor() = default;
  Tensor(const Tensor&) = default;
  Tensor(Tensor&&) noexcept = default;
  ~Tensor() = default;
  Tensor& operator=(const Tensor&) & = default;
  Tensor& operator=(Tensor&&) & noexcept = default;
  /// To a part that has no name of its own, `z[1] = x` or `z.slice(0, 2) = 0`: writes into the memory it shows.
  Tensor& operator=(const Operand& source) && { return copy_(source); }

  bool defined() const { return impl_ != nullptr; }
  const Dims& shape() const;
  int64_t size(int64_t dim) const;
  int64_t dim() const { return static_cast<int64_t>(shape().size()); }
  int64_t numel() const;
  DType dtype() const;
  Device device() const;

  // Reading: computes what is needed, then copies to the host.
  template <typename T>
  T item() const;
  template <typename T>
  std::vector<T> to_vector() const;
  std::vector<std::byte> to_bytes() const;
  std::string to_string() const;
  /// Starts computing now; reading waits for it.
  Tensor eval() const;
  bool is_evaluated() const;

  // Autograd.
  bool requires_grad() const;
  Tensor& requires_grad_(bool on = true);
  bool is_leaf() const;
  Tensor grad() const;
  void set_grad(const Tensor& gradient);
  void zero_grad();
  /// Adds the gradient of this value (one number unless `gradient` is given) to every leaf below it.
  void backward(const Tensor& gradient = Tensor(), bool retain_graph = false, bool create_graph = false);
  Tensor detach() const;
  /// Replaces what the tensor holds, keeping its identity: handles, leaf and gradient flag stay (`p.data = x` in
  /// PyTorch). Memory is shared with `data`. A gradient of another type is dropped.
  void set_data(const Tensor& data);

  // Conversion.
  Tensor to(DType dtype) const;
  Tensor to(Device device) const;
  Tensor clone() const;
  Tensor contiguous() const;

  // Elementwise.
  Tensor abs() const;
  Tensor exp() const;
  Tensor log() const;
  Tensor sqrt() const;
  Tensor rsqrt() const;
  Tensor square() const;
  Tensor sin() const;
  Tensor cos() const;
  Tensor tanh() const;
  Tensor sigmoid() const;
  Tensor relu() const;
  Tensor pow(const Operand& exponent) const;
  Tensor clamp(std::optional<Number> min, std::optional<Number> max) const;
  Tensor masked_fill(const Tensor& mask, Number value) const;
  Tensor operator-() const;
  Tensor operator!() const;

  // Reductions. Without dims: over all.
  Tensor sum() const;
  Tensor sum(const Dims& dims, bool keepdim = false) const;
  Tensor mean() const;
  Tensor mean(const Dims& dims, bool keepdim = false) const;
  Tensor max() const;
  Tensor min() const;
  Tensor amax(const Dims& dims, bool keepdim = false) const;
  Tensor amin(const Dims& dims, bool keepdim = false) const;
  Tensor argmax(std::optional<int64_t> dim = {}, bool keepdim = false) const;
  Tensor argmin(std::optional<int64_t> dim = {}, bool keepdim = false) const;
  Tensor any() const;
  Tensor all() const;
  Tensor softmax(int64_t dim) const;

  // Views: they share this tensor's memory wherever strides can express them.
  Tensor reshape(const Dims& shape) const;
  Tensor view(const Dims& shape) const;
  Tensor flatten(int64_t first = 0, int64_t last = -1) const;
  Tensor permute(const Dims& dims) const;
  Tensor transpose(int64_t a, int64_t b) const;
  Tensor t() const;
  Tensor expand(const Dims& shape) const;
  Tensor squeeze() const;
  Tensor squeeze(int64_t dim) const;
  Tensor unsqueeze(int64_t dim) const;
  Tensor select(int64_t dim, int64_t position) const;
  Tensor slice(int64_t dim, std::optional<int64_t> start = {}, std::optional<int64_t> stop = {},
               int64_t step = 1) const;
  Tensor narrow(int64_t dim, int64_t start, int64_t length) const;
  Tensor index(std::initializer_list<IndexEntry> entries) const;
  Tensor operator[](int64_t position) const { return select(0, position); }
  std::vector<Tensor> split(const Dims& sizes, int64_t dim = 0) const;
  std::vector<Tensor> chunk(int64_t chunks, int64_t dim = 0) const;

  Tensor matmul(const Tensor& other) const;

  // In place: later readers of this tensor and of every view of it see the new value.
  Tensor& copy_(const Operand& source);
  Tensor& fill_(Number value);
  Tensor& zero_();
  Tensor& add_(const Operand& other);
  Tensor& sub_(const Operand& other);
  Tensor& mul_(const Operand& other);
  Tensor& div_(const Operand& other);
  Tensor& index_put_(std::initializer_list<IndexEntry> entries, const Operand& source);

 private:
  friend struct TensorAccess;  // access.h: for the library itself

  Tensor read_as(DType dtype) const;

  std::shared_ptr<TensorImpl> impl_;
};

/// A tensor or a number: what binary ops take on either side.
class Operand {
 public:
  Operand(const Tensor& tensor) : tensor_(tensor), is_tensor_(true) {}  // NOLINT: both convert
  template <typename T>
  requires std::is_arithmetic_v<T> Operand(T number) : number_(number) {}  // NOLINT
  Operand(Number number) : number_(number) {}                              // NOLINT

  bool is_tensor() const { return is_tensor_; }
  const Tensor& tensor() const { return tensor_; }
  const Number& number() const { return number_; }

 private:
  Tensor tensor_;
  Number number_ = 0;
  bool is_tensor_ = false;
};

std::ostream& operator<<(std::ostream& out, const Tensor& tensor);

/// Starts computing all of these in one plan; reading them waits for it.
void eval(std::span<const Tensor> tensors);
void eval(std::initializer_list<Tensor> tensors);
/// Computes all of these and returns when they are there; throws what went wrong with them.
void wait(std::span<const Tensor> tensors);
void wait(std::initializer_list<Tensor> tensors);
/// Returns when everything that was started on a device, or on all, has run; throws what went wrong there and nobody
/// has been told yet.
void synchronize(Device device);
void synchronize();

template <typename T>
std::vector<T> Tensor::to_vector() const {
  const std::vector<std::byte> bytes = read_as(kDTypeOf<T>).to_bytes();
  std::vector<T> values(bytes.size() / sizeof(T));
  if constexpr (std::is_same_v<T, bool>) {
    for (size_t i = 0; i < values.size(); ++i) values[i] = bytes[i] != std::byte{0};
  } else if (!bytes.empty()) {
    std::memcpy(values.data(), bytes.data(), bytes.size());
  }
  return values;
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
