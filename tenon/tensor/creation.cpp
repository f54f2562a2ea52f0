// New tensors from host data and from formulas.

#include "tenon/tensor/creation.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "tenon/base/hash.h"
#include "tenon/exec/eval.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/record.h"
#include "tenon/tensor/trace.h"

namespace tenon {
namespace {

Tensor finished(Tensor made, const Options& options) {
  if (options.requires_grad) made.requires_grad_();
  return made;
}

template <typename T>
void note_range(Tensor& made, std::span<const std::byte> bytes) {
  T low = std::numeric_limits<T>::max(), high = std::numeric_limits<T>::min();
  for (size_t at = 0; at < bytes.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof(T));  // bytes of a file need not be aligned
    low = std::min(low, value);
    high = std::max(high, value);
  }
  set_known_range(made, low, high);
}

/// What all tensors of host bytes have in common; `upload` makes the leaf.
template <typename Upload>
Tensor of_host_bytes(std::span<const std::byte> bytes, const Dims& shape, const Options& options, Upload upload) {
  const DType dtype = options.dtype.value_or(DType::f32);
  ir::require_shape("tensor", shape);
  const size_t wanted = ir::bytes_of({dtype, shape});
  if (bytes.size() != wanted) {
    base::fail("tensor", "{} bytes given, {}{} takes {}", bytes.size(), name(dtype), ir::to_string(shape), wanted);
  }
  Tensor made = tensor_of(upload(ir::Type{dtype, shape}));
  if (Trace* trace = Trace::current())
    trace->uploads(value_of(made), base::hash_bytes({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
  // Remembered for the check of indices at the moment an op is recorded.
  if (dtype == DType::i64 && !bytes.empty()) note_range<int64_t>(made, bytes);
  if (dtype == DType::i32 && !bytes.empty()) note_range<int32_t>(made, bytes);
  return finished(made, options);
}

}  // namespace

void literal::require_count(size_t values, const Dims& shape) {
  ir::require_shape("tensor", shape);
  const size_t wanted = ir::bytes_of({DType::u8, shape});
  if (values != wanted)
    base::fail("tensor", "{} values given, a tensor of shape {} takes {}", values, ir::to_string(shape), wanted);
}

Tensor from_bytes(std::span<const std::byte> bytes, const Dims& shape, const Options& options) {
  return of_host_bytes(bytes, shape, options,
                       [&](const ir::Type& type) { return exec::upload(bytes, type, options.device.id); });
}

Tensor from_host_memory(std::span<const std::byte> bytes, std::shared_ptr<const void> owner, const Dims& shape,
                        const Options& options) {
  return of_host_bytes(bytes, shape, options, [&](const ir::Type& type) {
    return exec::upload_or_adopt(bytes, std::move(owner), type, options.device.id);
  });
}

Tensor literal::from_numbers(const std::vector<Number>& numbers, const Dims& shape, const Options& options) {
  if (std::ranges::none_of(numbers, &Number::is_real)) {
    std::vector<int64_t> integers;
    for (const Number& number : numbers) integers.push_back(number.as_int());
    return from_vector(integers, shape, options);
  }
  if (options.dtype == DType::f64) {
    std::vector<double> reals;
    for (const Number& number : numbers) reals.push_back(number.as_double());
    return from_vector(reals, shape, options);
  }
  std::vector<float> reals;
  for (const Number& number : numbers) reals.push_back(static_cast<float>(number.as_double()));
  return from_vector(reals, shape, options);
}

Tensor scalar(Number value, const Options& options) {
  Options own = options;
  if (!own.dtype) own.dtype = value.dtype();
  return full({}, value, own);
}

namespace {

Tensor filled(std::string_view op, const Dims& shape, Number value, const Options& options) {
  ir::require_shape(op, shape);
  const DType dtype = options.dtype.value_or(value.dtype());
  const ir::DeviceId device = options.device.id;
  const ir::Value number = record::number(op, value, dtype, device);
  return finished(tensor_of(ir::expand(ir::reshape(number, Dims(shape.size(), 1)), shape)), options);
}

}  // namespace

Tensor full(const Dims& shape, Number value, const Options& options) { return filled("full", shape, value, options); }
Tensor zeros(const Dims& shape, const Options& options) { return filled("zeros", shape, 0.0, options); }
Tensor ones(const Dims& shape, const Options& options) { return filled("ones", shape, 1.0, options); }
Tensor empty(const Dims& shape, const Options& options) { return filled("empty", shape, 0.0, options); }

Tensor full_like(const Tensor& x, Number value, const Options& options) {
  Options own = options;
  own.device = x.device();
  if (!own.dtype) own.dtype = x.dtype();
  return full(x.shape(), value, own);
}
Tensor zeros_like(const Tensor& x, const Options& options) { return full_like(x, 0, options); }
Tensor ones_like(const Tensor& x, const Options& options) { return full_like(x, 1, options); }

Tensor empty_like(const Tensor& x, const Options& options) { return zeros_like(x, options); }

namespace {

// A number cut towards 0, as C does.
double whole_of(std::string_view op, double value) {
  if (!(std::abs(value) < 0x1p63)) base::fail(op, "{} is no integer", value);
  return std::trunc(value);
}

[[noreturn]] void never_arrives(auto start, auto end, auto step) {
  base::fail("arange", "from {} to {} in steps of {} never arrives", start, end, step);
}

int64_t real_steps(double start, double end, double step) {
  const double span = (end - start) / step;
  if (!std::isfinite(span)) base::fail("arange", "start, end and step must be finite");
  if (span < 0) never_arrives(start, end, step);
  if (span > static_cast<double>(ir::kMostElements))
    base::fail("arange", "from {} to {} in steps of {} are too many elements", start, end, step);
  return static_cast<int64_t>(std::ceil(span));
}

int64_t whole_steps(int64_t start, int64_t end, int64_t step) {
  if (start != end && (end > start) != (step > 0)) never_arrives(start, end, step);
  // Without a sign, so that the distance of any two numbers fits.
  const auto from = static_cast<uint64_t>(start), to = static_cast<uint64_t>(end), by = static_cast<uint64_t>(step);
  const uint64_t span = step > 0 ? to - from : from - to, stride = step > 0 ? by : -by;
  const uint64_t steps = span / stride + (span % stride != 0);
  if (steps > static_cast<uint64_t>(ir::kMostElements))
    base::fail("arange", "from {} to {} in steps of {} are too many elements", start, end, step);
  return static_cast<int64_t>(steps);
}

}  // namespace

Tensor arange(Number end, const Options& options) { return arange(0, end, 1, options); }

Tensor arange(Number start, Number end, Number step, const Options& options) {
  if (step.as_double() == 0) base::fail("arange", "step must not be 0");
  if (options.dtype && is_integer(*options.dtype) && (start.is_real() || step.is_real())) {
    // As in PyTorch: as many elements as of real numbers, but first element and step are cut to integers.
    const int64_t n = real_steps(start.as_double(), end.as_double(), step.as_double());
    const Tensor counted = tensor_of(ir::iota(n, DType::i64, options.device.id));
    const auto whole = [](const Number& given) { return static_cast<int64_t>(whole_of("arange", given.as_double())); };
    return finished(add(mul(counted, whole(step)), whole(start)).to(*options.dtype), options);
  }
  const bool real = start.is_real() || end.is_real() || step.is_real();
  const DType dtype = options.dtype.value_or(real ? DType::f32 : DType::i64);
  const int64_t n = real ? real_steps(start.as_double(), end.as_double(), step.as_double())
                         : whole_steps(start.as_int(), end.as_int(), step.as_int());
  // Counted in a type that holds every index exactly, then scaled and rounded once.
  const bool is_plain_i32 = dtype == DType::i32 && !real && start.as_int() == 0 && step.as_int() == 1 && n <= INT32_MAX;
  const DType wide = real ? DType::f64 : is_plain_i32 ? DType::i32 : DType::i64;
  const Device where = real ? record::with_f64(options.device) : options.device;
  Tensor counted = tensor_of(ir::iota(n, wide, where.id));
  if (step.as_double() != 1) counted = mul(counted, step);
  if (start.as_double() != 0) counted = add(counted, start);
  Tensor made = counted.to(dtype).to(options.device);
  if (!real && n > 0) {
    // It lies between start and end, but the way there may be longer than 63 bits.
    const auto last = static_cast<int64_t>(static_cast<uint64_t>(start.as_int()) +
                                           static_cast<uint64_t>(n - 1) * static_cast<uint64_t>(step.as_int()));
    set_known_range(made, std::min(start.as_int(), last), std::max(start.as_int(), last));
  }
  return finished(made, options);
}

Tensor linspace(double start, double end, int64_t steps, const Options& options) {
  if (steps < 0) base::fail("linspace", "the number of steps must not be negative, got {}", steps);
  ir::require_shape("linspace", {steps});
  const DType dtype = options.dtype.value_or(DType::f32);
  if (!is_float(dtype)) {  // as in PyTorch, the ends are integers before what lies between them is computed
    start = whole_of("linspace", start);
    end = whole_of("linspace", end);
  }
  const Tensor i = tensor_of(ir::iota(steps, DType::f64, record::with_f64(options.device).id));
  const double step = steps > 1 ? (end - start) / static_cast<double>(steps - 1) : 0;
  // Counted from the nearer end, so that both ends are exact.
  const Tensor from_start = add(mul(i, step), start),
               from_end = sub(end, mul(sub(static_cast<double>(steps - 1), i), step));
  const Tensor made = where(lt(i, static_cast<double>(steps) / 2), from_start, from_end);
  return finished(made.to(dtype).to(options.device), options);
}

Tensor logspace(double start, double end, int64_t steps, double radix, const Options& options) {
  if (steps < 0) base::fail("logspace", "the number of steps must not be negative, got {}", steps);
  const DType dtype = options.dtype.value_or(DType::f32);
  const bool is_whole = !is_float(dtype);
  const auto given = [&](double value) { return is_whole ? whole_of("logspace", value) : value; };
  // Between whole numbers the exponents are real; powers are computed in f64 and cut once.
  const Options wide(DType::f64, record::with_f64(options.device));
  const Tensor exponents = linspace(given(start), given(end), steps, wide);
  return finished(pow(radix, exponents).to(dtype).to(options.device), options);
}

Tensor eye(int64_t rows, std::optional<int64_t> columns, const Options& options) {
  const Dims shape{rows, columns.value_or(rows)};
  ir::require_shape("eye", shape);
  const ir::DeviceId device = options.device.id;
  const ir::Value same =
      ir::equal(ir::iota_along(shape, 0, DType::i64, device), ir::iota_along(shape, 1, DType::i64, device));
  return finished(tensor_of(ir::cast(same, options.dtype.value_or(DType::f32))), options);
}

}  // namespace tenon
