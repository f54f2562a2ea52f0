// Running a call on the CPU's kernels and on the reference device.

#include "calls_support.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "tenon/backends/reference/reference_device.h"
#include "tenon/base/parallel.h"

namespace tenon::backends::cpu {
namespace {

constexpr size_t kGuard = 64;
constexpr std::byte kUntouched{0xAB};

void put(DType dtype, Bytes& bytes, size_t i, double value) {
  dispatch(dtype, [&]<typename T>() {
    const T element = static_cast<T>(value);
    std::memcpy(bytes.data() + i * sizeof(T), &element, sizeof(T));
  });
}

}  // namespace

ir::Move reshaped(Dims shape) { return {ir::Op::reshape, ir::ShapeAttrs{std::move(shape)}}; }
ir::Move permuted(Dims axes) { return {ir::Op::permute, ir::AxesAttrs{std::move(axes)}}; }
ir::Move expanded(Dims shape) { return {ir::Op::expand, ir::ShapeAttrs{std::move(shape)}}; }
ir::Move padded(Dims before, Dims after) { return {ir::Op::pad, ir::PadAttrs{std::move(before), std::move(after)}}; }
ir::Move cut(Dims start, Dims size, Dims step) {
  return {ir::Op::shrink, ir::ShrinkAttrs{std::move(start), std::move(size), std::move(step)}};
}
ir::Move flipped(Dims axes) { return {ir::Op::flip, ir::AxesAttrs{std::move(axes)}}; }

Given given(DType dtype, const Dims& buffer, const std::vector<ir::Move>& moves, uint64_t seed) {
  Given made{{dtype, ir::IndexMap(buffer)}, {}};
  made.operand.map.apply(moves);
  const auto n = static_cast<size_t>(ir::count(buffer));
  made.bytes.resize(n * size_of(dtype));
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> reals(-1, 1);
  std::uniform_int_distribution<int> wholes(dtype == DType::u8 ? 0 : -9, 9);
  for (size_t i = 0; i < n; ++i) put(dtype, made.bytes, i, is_float(dtype) ? reals(random) : wholes(random));
  return made;
}

Given exactly(DType dtype, const Dims& shape, const std::vector<double>& values) {
  Given made{{dtype, ir::IndexMap(shape)}, Bytes(values.size() * size_of(dtype))};
  for (size_t i = 0; i < values.size(); ++i) put(dtype, made.bytes, i, values[i]);
  return made;
}

ir::Call call_of(ir::Op op, ir::Attrs attrs, const std::vector<Given>& inputs, std::vector<ir::Type> outputs) {
  ir::Call call;
  call.op = op;
  call.attrs = std::move(attrs);
  for (const Given& input : inputs) call.inputs.push_back(input.operand);
  for (ir::Type& output : outputs) call.outputs.push_back(std::move(output));
  return call;
}

Results run(const CallKernel& kernel, const ir::Call& call, const std::vector<Given>& inputs) {
  std::vector<Bytes> memory;
  std::vector<std::byte*> args;
  for (const Given& input : inputs) memory.push_back(input.bytes);
  for (const ir::Type& output : call.outputs) memory.emplace_back(bytes_of(output) + 2 * kGuard, kUntouched);
  for (size_t i = 0; i < memory.size(); ++i) args.push_back(memory[i].data() + (i < inputs.size() ? 0 : kGuard));
  Bytes scratch(kernel.scratch_bytes(), kUntouched);
  if (!scratch.empty()) args.push_back(scratch.data());
  ir::Call taken = call;
  const ir::Numbers numbers = ir::take_numbers(taken);
  kernel.run({args, {numbers.data(), numbers.size()}});
  for (size_t i = 0; i < inputs.size(); ++i) EXPECT_EQ(memory[i], inputs[i].bytes) << "input " << i << " was changed";
  Results results;
  for (size_t i = inputs.size(); i < memory.size(); ++i) {
    const auto untouched = [](std::byte b) { return b == kUntouched; };
    EXPECT_TRUE(std::all_of(memory[i].begin(), memory[i].begin() + kGuard, untouched)) << "wrote before output";
    EXPECT_TRUE(std::all_of(memory[i].end() - kGuard, memory[i].end(), untouched)) << "wrote behind output";
    results.emplace_back(memory[i].begin() + kGuard, memory[i].end() - kGuard);
  }
  return results;
}

Results run_on_cpu(const ir::Call& call, const std::vector<Given>& inputs) {
  return run(*compile_call(call), call, inputs);
}

Results run_on_reference(const ir::Call& call, const std::vector<Given>& inputs) {
  const auto device = reference::open();
  Results memory;
  for (const Given& input : inputs) memory.push_back(input.bytes);
  for (const ir::Type& output : call.outputs) memory.emplace_back(bytes_of(output));
  ir::Call kernel = call;
  const ir::Numbers numbers = ir::take_numbers(kernel);
  device::Launch launch{device->compiler().compile(kernel), {}};
  launch.numbers = numbers;
  for (Bytes& bytes : memory) launch.args.push_back({{0, bytes.size(), bytes.data()}, 0});
  const device::Command command = launch;
  device->enqueue({&command, 1});
  return {memory.begin() + static_cast<ptrdiff_t>(inputs.size()), memory.end()};
}

std::vector<double> numbers(DType dtype, const Bytes& bytes) {
  std::vector<double> values(bytes.size() / size_of(dtype));
  dispatch(dtype, [&]<typename T>() {
    for (size_t i = 0; i < values.size(); ++i) {
      T element;
      std::memcpy(&element, bytes.data() + i * sizeof(T), sizeof(T));
      values[i] = static_cast<double>(element);
    }
  });
  return values;
}

double tolerance(DType dtype) {
  switch (dtype) {
    case DType::f64: return 1e-14;
    case DType::f32: return 1e-6;
    case DType::f16: return 1e-3;
    case DType::bf16: return 8e-3;
    default: return 0;
  }
}

void expect_close(const ir::Call& call, const Results& results, const Results& expected, double slack) {
  ASSERT_EQ(results.size(), expected.size());
  for (size_t output = 0; output < results.size(); ++output) {
    const DType dtype = call.outputs[output].dtype;
    const std::vector<double> got = numbers(dtype, results[output]), want = numbers(dtype, expected[output]);
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i) {
      const bool both_nan = std::isnan(got[i]) && std::isnan(want[i]);
      if (got[i] == want[i] || both_nan) continue;
      const double allowed = tolerance(dtype) * slack * std::max(1.0, std::fabs(want[i]));
      ASSERT_LE(std::fabs(got[i] - want[i]), allowed) << ir::name(call.op) << " output " << output << " element " << i
                                                      << ": " << got[i] << " instead of " << want[i];
    }
  }
}

void expect_as_reference(const ir::Call& call, const std::vector<Given>& inputs, double slack) {
  const Results expected = run_on_reference(call, inputs);
  Results first;
  for (const int count : {1, 2, 5}) {
    const Threads threads(count);
    const Results results = run_on_cpu(call, inputs);
    if (first.empty()) {
      expect_close(call, results, expected, slack);
      first = results;
    }
    EXPECT_EQ(results, first) << count << " threads change bits of " << ir::name(call.op);
  }
}

Threads::Threads(int count) : before_(base::num_threads()) { base::set_num_threads(count); }
Threads::~Threads() { base::set_num_threads(before_); }

}  // namespace tenon::backends::cpu
