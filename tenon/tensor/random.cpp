// Random numbers from Philox words.
//
// The stream is addressed by position, so a value drawn lazily, drawn again in the backward pass or drawn on another
// device is the same; normal numbers, which go through the device's logarithm and cosine, to their last digits. Each
// draw starts on a block of four words.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <mutex>
#include <numbers>

#include "tenon/exec/eval.h"
#include "tenon/ir/composition.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/composed.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/generator_state.h"
#include "tenon/tensor/mapping.h"
#include "tenon/tensor/record.h"
#include "tenon/tensor/trace.h"

namespace tenon {

Generator::Generator(uint64_t seed) : state_(std::make_shared<State>()) {
  state_->seed = seed;
  if (const Trace* trace = Trace::current()) state_->made_in = trace->realm();
}

void Generator::manual_seed(uint64_t seed) { set(seed, 0); }

void Generator::set(uint64_t seed, uint64_t position) {
  if (Trace::current()) base::fail("manual_seed", "a captured function cannot seed; do it before the call");
  std::lock_guard lock(state_->mutex);
  state_->seed = seed;
  state_->position = position;
  state_->on_device.clear();
}

uint64_t Generator::position() const {
  const Trace* trace = Trace::current();
  std::lock_guard lock(state_->mutex);
  return state_->position + (trace ? trace->drawn_of(*state_) : 0);
}

uint64_t Generator::seed() const {
  std::lock_guard lock(state_->mutex);
  return state_->seed;
}

// The counter of a state on the device is renewed after every evaluation, so that a step that draws as much as the one
// before records the same offsets and finds the plan made for it.
Tensor Generator::bits(int64_t words, Device device) {
  ir::require_shape("random_bits", {words});  // before the stream moves on
  const uint64_t taken = (static_cast<uint64_t>(words) + 3) / 4 * 4;
  if (Trace* trace = Trace::current()) {
    const auto [leaf, offset] = trace->draw(state_, device, taken);
    return tensor_of(ir::random_bits(leaf, words, offset));
  }
  std::lock_guard lock(state_->mutex);
  const uint64_t before = state_->position;
  state_->position += taken;
  const uint64_t now = exec::evaluations();
  auto found = std::find_if(state_->on_device.begin(), state_->on_device.end(),
                            [&](const State::OnDevice& one) { return one.device == device.id; });
  if (found == state_->on_device.end() || (found->evaluated != now && found->counter != before)) {
    const int64_t start[] = {static_cast<int64_t>(state_->seed), static_cast<int64_t>(before)};
    const State::OnDevice made{device.id, exec::upload(std::as_bytes(std::span(start)), {DType::i64, {2}}, device.id),
                               before, now};
    if (found == state_->on_device.end())
      found = state_->on_device.insert(found, made);
    else
      *found = made;
  }
  return tensor_of(ir::random_bits(found->leaf, words, before - found->counter));
}

Generator& default_generator() {
  static auto* generator = new Generator(0);
  return *generator;
}

void manual_seed(uint64_t seed) { default_generator().manual_seed(seed); }

namespace {

Generator& chosen(Generator* generator) { return generator ? *generator : default_generator(); }

DType real_dtype(std::string_view op, const Options& options) {
  const DType dtype = options.dtype.value_or(DType::f32);
  if (!is_float(dtype)) base::fail(op, "makes floating-point values, not {}", name(dtype));
  return dtype;
}

// Non-negative 32-bit words as i64.
Tensor words(const Tensor& bits) { return bitwise_and(bits.to(DType::i64), int64_t{0xFFFFFFFF}); }

// Uniform in [0, 1) with as many bits as the dtype's fraction holds, so that rounding never reaches 1.
Tensor uniform(int64_t n, DType dtype, Device device, Generator& generator) {
  if (dtype == DType::f64) {
    const Tensor pair = words(generator.bits(2 * n, device)).reshape({n, 2});
    const Tensor high = pair.select(1, 0) >> 5, low = pair.select(1, 1) >> 6;  // 27 and 26 bits
    return mul(add(mul(high.to(DType::f64), 67108864.0), low.to(DType::f64)), 0x1p-53);
  }
  const int bits = dtype == DType::f16 ? 11 : dtype == DType::bf16 ? 8 : 24;
  // Shifting copies the sign: the mask takes it out again, and all stays in 32 bits.
  const Tensor top = bitwise_and(generator.bits(n, device) >> (32 - bits), (1 << bits) - 1);
  return mul(top.to(DType::f32), std::ldexp(1.0, -bits)).to(dtype);
}

// A tensor of its own, not a view of the flat draw.
Tensor finished(const Tensor& drawn, const Options& options) {
  Tensor made = tensor_of(value_of(drawn));
  if (options.requires_grad) made.requires_grad_();
  return made;
}

}  // namespace

Tensor rand(const Dims& shape, const Options& options, Generator* generator) {
  ir::require_shape("rand", shape);
  const DType dtype = real_dtype("rand", options);
  return finished(uniform(ir::count(shape), dtype, options.device, chosen(generator)).reshape(shape), options);
}

Tensor randn(const Dims& shape, const Options& options, Generator* generator) {
  ir::require_shape("randn", shape);
  const DType dtype = real_dtype("randn", options), wide = accumulator(dtype);
  const int64_t n = ir::count(shape);
  // Box and Muller: radius from one uniform number, angle from another. 1 - u keeps the logarithm finite.
  const Tensor radius = sqrt(mul(log(sub(1.0, uniform(n, wide, options.device, chosen(generator)))), -2.0));
  const Tensor angle = mul(uniform(n, wide, options.device, chosen(generator)), 2 * std::numbers::pi);
  return finished(mul(radius, cos(angle)).to(dtype).reshape(shape), options);
}

Tensor randint(int64_t low, int64_t high, const Dims& shape, const Options& options, Generator* generator) {
  ir::require_shape("randint", shape);
  if (low >= high) base::fail("randint", "no integers between {} and {}", low, high);
  const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  if (range > (uint64_t{1} << 31)) base::fail("randint", "a range of {} is wider than 2^31", range);
  const Tensor word = words(chosen(generator).bits(ir::count(shape), options.device));
  // word * range / 2^32: as even as 32 bits allow, without a division.
  Tensor made = add(mul(word, high - low) >> 32, low).reshape(shape).to(options.dtype.value_or(DType::i64));
  set_known_range(made, low, high - 1, false);
  return made;
}

Tensor randperm(int64_t n, const Options& options, Generator* generator) {
  if (n < 0) base::fail("randperm", "n must not be negative, got {}", n);
  ir::require_shape("randperm", {n, 2});  // two words each
  // Sorting 62-bit keys, the upper 31 bits of both words: ties are as good as impossible, and broken by position. A
  // word whose first bit is flipped is in order as a signed number. Drawn into memory once, all first words before all
  // second ones: both of a pair would be drawn for each of them.
  const DType dtype = options.dtype.value_or(DType::i64);
  const Tensor bits = chosen(generator).bits(2 * n, options.device);
  const auto order = [&](std::span<const Tensor> in) {
    const Tensor pair = in[0].reshape({n, 2}).permute({1, 0}).clone();
    const Tensor upper = bitwise_and(bitwise_xor(pair.select(0, 0), std::numeric_limits<int32_t>::min()), -2);
    const Tensor lower = bitwise_and(pair.select(0, 1).to(DType::i64), int64_t{0xFFFFFFFE});
    return std::vector{argsort(add(upper.to(DType::i64) << 32, lower)).to(dtype)};
  };
  const bool has_routine = dtype == DType::i64 && n > 1 && n <= std::numeric_limits<int32_t>::max();
  Tensor made = composed("randperm", {static_cast<int>(dtype)}, {&bits, 1}, order,
                         has_routine ? ir::Routine::random_order : ir::Routine::none)[0];
  if (n > 0) set_known_range(made, 0, n - 1);
  return made;
}

Tensor rand_like(const Tensor& x, Generator* generator) {
  return rand(x.shape(), Options(x.dtype(), x.device()), generator);
}
Tensor randn_like(const Tensor& x, Generator* generator) {
  return randn(x.shape(), Options(x.dtype(), x.device()), generator);
}

namespace {

// Numbers that nothing can be drawn by are refused at once, as in PyTorch. What a captured function is given changes
// from call to call, and is not looked at.
void require_all(std::string_view op, const Tensor& good, std::string_view otherwise) {
  constexpr int64_t kMost = int64_t{1} << 32;  // what is larger fails for want of memory, or is not worth the time
  if (without_values() || good.numel() > kMost) return;
  const NoGrad looking;
  if (!all(good).item<bool>()) base::fail(op, "{}", otherwise);
}

// Few weights are read themselves: an action that is drawn takes one evaluation, and not one for each question.
void require_weights(const Tensor& weights) {
  constexpr const char* kBad = "a weight is negative, infinite or NaN";
  constexpr const char* kNone = "the weights of a draw sum to 0";
  constexpr int64_t kFew = 1024;
  if (weights.numel() == 0 || without_values()) return;
  if (weights.numel() > kFew) {
    require_all("multinomial", logical_and(ge(weights, 0.0), isfinite(weights)), kBad);
    return require_all("multinomial", gt(sum(weights, {-1}), 0.0), kNone);
  }
  const std::vector<double> values = weights.to_vector<double>();
  if (!std::all_of(values.begin(), values.end(), [](double weight) { return weight >= 0 && std::isfinite(weight); }))
    base::fail("multinomial", "{}", kBad);
  const auto categories = static_cast<size_t>(weights.size(-1));
  for (size_t row = 0; row < values.size(); row += categories) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(row);
    const auto is_zero = [](double weight) { return weight == 0; };
    if (std::all_of(begin, begin + static_cast<std::ptrdiff_t>(categories), is_zero))
      base::fail("multinomial", "{}", kNone);
  }
}

// Without the axes along which a view repeats its elements, but for the last `kept` ones.
Tensor each_once(const Tensor& x, int64_t kept) {
  Tensor once = x;
  for (int64_t i = 0; i < x.dim() - kept; ++i) {
    if (x.size(i) > 1 && x.strides()[static_cast<size_t>(i)] == 0) once = once.narrow(i, 0, 1);
  }
  return once;
}

}  // namespace

Tensor bernoulli(const Tensor& probabilities, Generator* generator) {
  record::require_float("bernoulli", probabilities);
  const Tensor given = each_once(probabilities.detach(), 0);
  require_all("bernoulli", logical_and(ge(given, 0.0), le(given, 1.0)), "a probability does not lie in 0..1");
  const DType wide = accumulator(probabilities.dtype());
  const Tensor drawn = rand(probabilities.shape(), Options(wide, probabilities.device()), generator);
  return lt(drawn, probabilities.detach().to(wide)).to(probabilities.dtype());
}

Tensor normal(const Operand& given_mean, const Operand& given_std, Generator* generator) {
  const auto cut = [](const Operand& one) { return one.is_tensor() ? Operand(one.tensor().detach()) : one; };
  const std::array<Operand, 2> given{cut(given_mean), cut(given_std)};
  if (!given[0].is_tensor() && !given[1].is_tensor())
    base::fail("normal", "takes a tensor as mean or as std; randn() draws a shape");
  if (!given[1].is_tensor() && !(given[1].number().as_double() >= 0))
    base::fail("normal", "std must not be negative, got {}", given[1].number().as_double());
  const Device device = record::common_device("normal", given);
  Dims shape;
  for (const Operand& one : given) {
    if (one.is_tensor()) shape = record::broadcast("normal", shape, one.tensor().shape());
  }
  const Options options(real_dtype("normal", Options(record::result_type(given), device)), device);
  return add(mul(randn(shape, options, generator), given[1]), given[0]);
}

Tensor multinomial(const Tensor& weights, int64_t samples, bool replacement, Generator* generator) {
  record::require_float("multinomial", weights);
  if (weights.dim() != 1 && weights.dim() != 2) {
    base::fail("multinomial", "takes a vector or a matrix of weights, got shape {}", ir::to_string(weights.shape()));
  }
  const int64_t categories = weights.size(-1);
  if (samples <= 0) base::fail("multinomial", "the number of samples must be positive, got {}", samples);
  if (!replacement && samples > categories) {
    base::fail("multinomial", "cannot draw {} samples of {} categories without replacement", samples, categories);
  }
  const Tensor p = weights.detach().to(accumulator(weights.dtype()));
  require_weights(each_once(weights.detach(), 1).to(p.dtype()));
  if (!replacement) {
    // The k smallest of exponential times weighted by p are a draw without replacement; log1p keeps them above 0.
    const Tensor waiting = neg(log1p(neg(rand(p.shape(), Options(p.dtype(), p.device()), generator))));
    const Tensor order = where(gt(p, 0.0), div(p, clamp(waiting, 1e-30, {})), -1.0);
    return samples == 1 ? argmax(order, -1, true) : topk(order, samples, -1).second;
  }
  Dims shape = p.shape();
  shape.back() = samples;
  Dims compared = shape;
  compared.push_back(categories);
  ir::require_shape("multinomial", compared);
  const Tensor total = cumsum(p, -1);
  const Tensor drawn = mul(rand(shape, Options(p.dtype(), p.device()), generator), total.slice(-1, categories - 1));
  const Tensor passed = le(total.unsqueeze(-2), drawn.unsqueeze(-1));  // cumulated weights that the draw lies beyond
  return clamp(sum(passed, {-1}), 0, categories - 1);
}

}  // namespace tenon
