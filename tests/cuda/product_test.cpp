// Products of the cuda device: which calls of the library they become, and that these calls multiply. A stand-in of
// cuBLASLt carries them out as their descriptors say; our own kernels behind them run on the simulated GPU.

#include "tenon/backends/cuda/product.h"

#include <cmath>
#include <cstring>
#include <random>

#include "on_stand_in.h"
#include "tenon/backends/cuda/lt_product.h"
#include "tenon/backends/simulated/interpreter.h"
#include "tenon/base/half.h"
#include "tenon/device/registry.h"

namespace tenon::backends::cuda {
namespace {

ir::Limits limits_of_a_gpu() {
  ir::Limits limits;
  limits.alignment = 128;
  limits.max_threads = 1024;
  limits.subgroup = 32;
  limits.processors = 132;
  limits.shared_bytes = 227 << 10;
  limits.vector = 4;
  limits.has_fma = true;
  limits.tile_dtypes = {DType::f16, DType::bf16};
  return limits;
}

struct Case {
  int64_t rows, depth, columns;
  DType dtype = DType::f32;
  bool turns_left = false, turns_right = false;
  int64_t batch = 0;  // 0: no axis of it
  bool has_bias = false, has_residual = false;
  DType out = dtype, bias = out;
  int64_t padding = 0;        // columns behind each line of the left matrix, in memory
  bool shares_right = false;  // one right matrix for all
  ir::Epilogue::Activation activation = ir::Epilogue::Activation::none;
  bool keeps_before = false;

  bool by_slope() const { return activation == ir::Epilogue::Activation::gelu_slope; }

  // The right part of something wider; `turned`: it lies transposed.
  ir::IndexMap matrix(int64_t of_rows, int64_t of_columns, bool turned, int64_t behind) const {
    const int64_t lines = turned ? of_columns : of_rows, length = turned ? of_rows : of_columns;
    Dims shape{lines, length + behind};
    if (batch > 0) shape.insert(shape.begin(), batch);
    ir::IndexMap map(shape);
    if (behind > 0) {
      Dims start(shape.size()), size = shape, step(shape.size());
      size.back() = length;
      std::fill(step.begin(), step.end(), 1);
      map.apply(ir::Op::shrink, ir::ShrinkAttrs{start, size, step});
    }
    if (turned) map.apply(ir::Op::permute, ir::AxesAttrs{batch > 0 ? Dims{0, 2, 1} : Dims{1, 0}});
    return map;
  }

  ir::Call call() const {
    ir::Call call;
    call.op = ir::Op::contract;
    ir::ContractAttrs attrs;
    attrs.result = DType::f32;
    call.attrs = attrs;
    call.inputs.push_back({dtype, matrix(rows, depth, turns_left, padding)});
    ir::IndexMap right = matrix(depth, columns, turns_right, 0);
    if (shares_right) {
      right = ir::IndexMap(Dims{1, depth, columns});
      right.apply(ir::Op::expand, ir::ShapeAttrs{Dims{batch, depth, columns}});
    }
    call.inputs.push_back({dtype, right});
    Dims shape{rows, columns};
    if (batch > 0) shape.insert(shape.begin(), batch);
    if (has_bias) call.inputs.push_back({bias, ir::IndexMap(Dims{columns})});
    if (has_residual) call.inputs.push_back({DType::f32, ir::IndexMap(shape)});
    if (by_slope()) call.inputs.push_back({out, ir::IndexMap(shape)});
    call.epilogue = {has_bias, has_residual, activation};
    call.outputs.push_back({out, shape});
    if (keeps_before) call.outputs.push_back({out, shape});
    return call;
  }
};

void PrintTo(const Case& c, std::ostream* to) {
  *to << fmt::format("({} x {}) * ({} x {}) of {}", c.rows, c.depth, c.depth, c.columns, name(c.dtype));
}

std::optional<Product> plan(const Case& c) { return plan_product(c.call(), limits_of_a_gpu()); }

// ---- what is decided ----

TEST(CudaProducts, ALinearLayerIsOneCallWithItsBias) {
  const auto product = plan({8192, 768, 3072, DType::bf16, false, true, 0, true});
  ASSERT_TRUE(product);
  ASSERT_EQ(product->calls.size(), 1u);
  const LtCall& call = product->calls[0];
  EXPECT_TRUE(call.bias && !call.added && call.writes_results);
  EXPECT_TRUE(call.right.is_transposed);
  EXPECT_EQ(call.right.leading, 768);
  EXPECT_FALSE(call.left.is_transposed);
  EXPECT_EQ(call.result.leading, 3072);
  EXPECT_TRUE(product->rest.dispatches.empty());
  EXPECT_EQ(product->rest.scratch_bytes, 0u);
}

TEST(CudaProducts, AGradientIsAddedToTheOneBefore) {
  const auto product = plan({3072, 1024, 3072, DType::bf16, true, false, 0, false, true, DType::f32});
  ASSERT_TRUE(product);
  ASSERT_EQ(product->calls.size(), 1u);
  EXPECT_TRUE(product->calls[0].added.has_value());
}

TEST(CudaProducts, WhatTheLibraryAddsInAnotherOrderOurKernelFinishes) {
  const auto both = plan({512, 768, 3072, DType::f32, false, false, 0, true, true});
  ASSERT_TRUE(both);
  EXPECT_FALSE(both->calls[0].writes_results || both->calls[0].bias || both->calls[0].added);
  ASSERT_EQ(both->rest.dispatches.size(), 1u);
  const auto wide_bias = plan({8192, 768, 3072, DType::bf16, false, false, 0, true, false, DType::bf16, DType::f32});
  ASSERT_TRUE(wide_bias);
  EXPECT_FALSE(wide_bias->calls[0].writes_results);
}

TEST(CudaProducts, LongSumsAreCutAsInOurOwnKernels) {
  const auto product = plan({768, 32768, 768, DType::bf16, true, false, 0, false, false, DType::f32});
  ASSERT_TRUE(product);
  EXPECT_FALSE(product->calls[0].writes_results);
  EXPECT_GT(product->calls[0].batches, 1);
  EXPECT_EQ(product->rest.dispatches.size(), 1u);
}

TEST(CudaProducts, ShortSumsAreNotCutWhereSmallTilesKeepTheChipBusy) {
  const auto product = plan({512, 3072, 768, DType::bf16});
  ASSERT_TRUE(product);
  EXPECT_TRUE(product->calls[0].writes_results);
  EXPECT_EQ(product->calls[0].batches, 1);
  EXPECT_FALSE(plan({64, 3072, 768, DType::bf16})->calls[0].writes_results);
}

TEST(CudaProducts, AnOddInnerDimensionIsAMultipleOfEightAndARest) {
  const auto product =
      plan({8192, 50257, 768, DType::bf16, false, false, 0, false, false, DType::bf16, DType::bf16, 7});
  ASSERT_TRUE(product);
  ASSERT_EQ(product->calls.size(), 2u);
  EXPECT_EQ(product->calls[0].depth, 50256);
  EXPECT_EQ(product->calls[1].depth, 1);
  EXPECT_EQ(product->calls[1].left.offset, 50256 * 2);
}

TEST(CudaProducts, OddRowsSideBySideAreCutToo) {
  const auto product = plan({50257, 1024, 768, DType::bf16, true, false, 0, false, false, DType::f32, DType::f32, 7});
  ASSERT_TRUE(product);
  ASSERT_EQ(product->calls.size(), 2u);
  EXPECT_EQ(product->calls[0].rows, 50256);
  EXPECT_EQ(product->calls[1].rows, 1);
  EXPECT_EQ(product->calls[1].result.offset, 50256 * 768 * 4);
}

TEST(CudaProducts, WhatTheLibraryIsSlowAtOrCannotDoIsOurs) {
  EXPECT_FALSE(plan({8192, 768, 50257, DType::bf16, false, true}));  // odd lines of the result
  EXPECT_FALSE(plan({8192, 50257, 768, DType::bf16}));               // and of an operand
  EXPECT_FALSE(plan({64, 64, 64, DType::f64}));
  EXPECT_FALSE(plan({64, 64, 64, DType::i32}));
  EXPECT_FALSE(plan({64, 0, 64, DType::f32}));
  Case spread{64, 64, 64};
  ir::Call call = spread.call();
  ir::IndexMap repeated(Dims{1, 64});
  repeated.apply(ir::Op::expand, ir::ShapeAttrs{Dims{64, 64}});
  call.inputs[0].map = repeated;  // one row for all
  EXPECT_FALSE(plan_product(call, limits_of_a_gpu()));
  call = spread.call();
  call.way = {64, 64, 16, 8, 4, 128};  // a tile of our own kernels is wanted
  EXPECT_FALSE(plan_product(call, limits_of_a_gpu()));
  EXPECT_TRUE(plan({7, 13, 5}));                    // f32 takes any size
  EXPECT_FALSE(plan({1, 768, 3072, DType::bf16}));  // memory is all there is to wait for
}

TEST(CudaProducts, RoundToTf32WhereTheyMay) {
  ir::Call call = Case{512, 768, 3072}.call();
  EXPECT_FALSE(plan_product(call, limits_of_a_gpu())->calls[0].tf32);
  std::get<ir::ContractAttrs>(call.attrs).tf32 = true;
  EXPECT_TRUE(plan_product(call, limits_of_a_gpu())->calls[0].tf32);
}

// ---- that they multiply ----

using Bytes = std::vector<std::byte>;

double number_at(std::span<const std::byte> bytes, DType dtype, int64_t i) {
  const std::byte* at = bytes.data() + static_cast<size_t>(i) * size_of(dtype);
  uint16_t half = 0;
  float single = 0;
  if (dtype == DType::f32) {
    std::memcpy(&single, at, 4);
    return single;
  }
  std::memcpy(&half, at, 2);
  return dtype == DType::f16 ? base::f16_to_double(half) : base::bf16_to_double(half);
}

// Small whole numbers, of which all sums are exact.
Bytes random_numbers(DType dtype, size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  Bytes made(count * size_of(dtype));
  for (size_t i = 0; i < count; ++i) {
    const double value = static_cast<double>(random() % 7) - 3;
    const auto single = static_cast<float>(value);
    const uint16_t half = dtype == DType::f16 ? base::double_to_f16(value) : base::double_to_bf16(value);
    if (dtype == DType::f32)
      std::memcpy(made.data() + i * 4, &single, 4);
    else
      std::memcpy(made.data() + i * 2, &half, 2);
  }
  return made;
}

using Activation = ir::Epilogue::Activation;

double rounded(double value, DType dtype) {
  if (dtype == DType::bf16) return base::bf16_to_double(base::double_to_bf16(value));
  return dtype == DType::f16 ? base::f16_to_double(base::double_to_f16(value)) : value;
}
double gelu(double x) { return 0.5 * x * (1 + std::tanh(0.7978845608 * (x + 0.044715 * x * x * x))); }
double gelu_slope(double x) { return (gelu(x + 1e-4) - gelu(x - 1e-4)) / 2e-4; }

class CudaProduct : public OnStandIn, public testing::WithParamInterface<Case> {};

TEST_P(CudaProduct, Multiplies) {
  const Case& c = GetParam();
  const ir::Call call = c.call();
  const auto product = plan(c);
  ASSERT_TRUE(product);
  ASSERT_NE(lt(), nullptr);
  LtHandle handle = nullptr;
  ASSERT_EQ(lt()->create(&handle), 0);

  std::vector<Bytes> memory;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const auto& operand = call.inputs[i];
    const size_t bytes = ir::bytes_reached(operand.map, operand.dtype).end;
    memory.push_back(random_numbers(operand.dtype, bytes / size_of(operand.dtype), static_cast<uint32_t>(i)));
  }
  const int64_t elements = ir::count(call.outputs[0].shape);
  for (size_t i = 0; i < call.outputs.size(); ++i)
    memory.emplace_back(static_cast<size_t>(elements) * size_of(c.out), std::byte{0xEE});
  size_t scratch = (product->rest.scratch_bytes + 255) / 256 * 256;
  memory.emplace_back(scratch + 1024, std::byte{0xEE});

  device::Launch launch;
  std::vector<device::Buffer> buffers;
  for (const Bytes& one : memory) {
    buffers.push_back(device_->allocate(one.size()));
    launch.args.push_back({buffers.back(), 0, one.size()});
    const device::Command upload = device::Upload{one, launch.args.back()};
    device_->send({&upload, 1}, false);
  }
  device_->wait(device_->submit(true));
  for (const LtCall& one : product->calls) {
    const auto run = LtRun::make(handle, one, 128);
    ASSERT_NE(run, nullptr);
    EXPECT_EQ(run->workspace_bytes(), 1024u);  // the first proposal splits its sums
    run->set_workspace(product->scratch_arg, scratch);
    ASSERT_EQ(run->run({}, launch, 0, nullptr), 0);
  }
  for (const codegen::Dispatch& dispatch : product->rest.dispatches) {
    std::vector<std::span<std::byte>> bound;
    for (const auto& binding : dispatch.buffers) {
      const device::Arg& arg = launch.args[binding.arg];
      bound.emplace_back(reinterpret_cast<std::byte*>(arg.buffer.handle) + binding.offset, arg.bytes - binding.offset);
    }
    simulated::run(dispatch, bound, {});
  }
  const size_t result = call.inputs.size();
  for (size_t i = result; i < result + call.outputs.size(); ++i) {
    const device::Command download = device::Download{launch.args[i], memory[i]};
    device_->wait(device_->send({&download, 1}, true));
  }

  const int64_t batches = std::max<int64_t>(c.batch, 1);
  for (int64_t i = 0; i < elements; ++i) {
    const int64_t batch = i / (c.rows * c.columns), row = i / c.columns % c.rows, column = i % c.columns;
    double sum = 0;
    for (int64_t k = 0; k < c.depth; ++k) {
      std::vector<int64_t> left{row, k}, right{k, column};
      if (c.batch > 0) {
        left.insert(left.begin(), batch);
        right.insert(right.begin(), batch);
      }
      sum += number_at(memory[0], c.dtype, call.inputs[0].map.locate(left)) *
             number_at(memory[1], c.dtype, call.inputs[1].map.locate(right));
    }
    if (c.has_bias) sum += number_at(memory[2], c.bias, column);
    if (c.has_residual) sum += number_at(memory[c.has_bias ? 3 : 2], DType::f32, i);
    if (c.keeps_before) {
      ASSERT_EQ(number_at(memory[result + 1], c.out, i), rounded(sum, c.out)) << i;
    }
    if (c.activation == Activation::gelu) sum = gelu(sum);
    if (c.by_slope()) sum *= gelu_slope(number_at(memory[result - 1], c.out, i));
    const double is = number_at(memory[result], c.out, i), expected = rounded(sum, c.out);
    if (c.activation == Activation::none) {
      ASSERT_EQ(is, expected) << "element " << i << " of " << batches << " batches";
    } else {
      ASSERT_NEAR(is, expected, 0.01 * std::abs(expected) + 1e-6) << i;
    }
  }
  for (const device::Buffer& buffer : buffers) device_->release(buffer);
}

constexpr DType kBf16 = DType::bf16, kF16 = DType::f16, kF32 = DType::f32;
INSTANTIATE_TEST_SUITE_P(
    Cases, CudaProduct,
    testing::Values(Case{7, 13, 5}, Case{7, 13, 5, kF32, true}, Case{7, 13, 5, kF32, false, true},
                    Case{7, 13, 5, kF32, true, true}, Case{1, 41, 23}, Case{24, 40, 1}, Case{24, 1, 40},
                    Case{24, 40, 1, kF32, true, true}, Case{1, 1, 1}, Case{7, 13, 5, kF32, false, true, 3},
                    Case{7, 13, 5, kF32, true, false, 3}, Case{7, 13, 5, kF32, false, false, 0, true},
                    Case{7, 13, 5, kF32, false, false, 0, false, true},
                    Case{7, 13, 5, kF32, false, false, 0, true, true}, Case{16, 24, 32, kBf16},
                    Case{16, 24, 32, kF16, true, true}, Case{16, 24, 32, kBf16, false, true, 0, true},
                    Case{16, 24, 32, kF16, false, true, 3, true},
                    Case{16, 24, 32, kBf16, true, false, 0, false, true, kF32},
                    Case{16, 24, 32, kBf16, true, false, 0, true, false, kF32},
                    Case{16, 24, 32, kBf16, true, false, 0, true, false, kBf16, kF32},
                    Case{16, 24, 32, kBf16, true, false, 0, false, true, kBf16},
                    Case{16, 25, 32, kBf16, false, false, 0, true, false, kBf16, kBf16, 7},
                    Case{17, 24, 32, kBf16, true, false, 0, false, false, kF32, kF32, 7},
                    Case{17, 29, 32, kBf16, true, false, 0, false, false, kBf16, kBf16, 7},
                    Case{9, 4000, 8, kBf16, false, false, 0, true}, Case{9, 4001, 8, kF32, false, true, 2},
                    Case{9, 4003, 8, kBf16, false, false, 0, true, true, kF32, kF32, 5},
                    Case{5, 12, 8, kF32, false, false, 4, false, false, kF32, kF32, 3, true}));

constexpr Activation kGelu = Activation::gelu, kSlope = Activation::gelu_slope;
INSTANTIATE_TEST_SUITE_P(  // one call of the library, one for each half of a batch, and sums that our kernel finishes
    Activations, CudaProduct,
    testing::Values(Case{16, 24, 32, kBf16, false, true, 0, true, false, kBf16, kBf16, 0, false, kGelu, true},
                    Case{16, 24, 32, kF16, false, true, 0, true, false, kF16, kF16, 0, false, kGelu},
                    Case{16, 24, 32, kBf16, false, false, 3, false, false, kBf16, kBf16, 0, false, kGelu, true},
                    Case{16, 24, 32, kBf16, false, false, 0, false, false, kBf16, kBf16, 0, false, kSlope},
                    Case{16, 24, 32, kBf16, true, false, 3, false, false, kBf16, kBf16, 0, false, kSlope},
                    Case{17, 24, 32, kBf16, true, false, 0, true, false, kBf16, kBf16, 7, false, kGelu, true},
                    Case{9, 4000, 8, kBf16, false, false, 0, true, false, kBf16, kBf16, 0, false, kGelu, true},
                    Case{9, 4000, 8, kBf16, false, false, 0, true, false, kBf16, kF32, 0, false, kGelu, true},
                    Case{9, 4000, 8, kBf16, false, false, 0, false, false, kBf16, kBf16, 0, false, kSlope}));

TEST(CudaProducts, GeluAndItsSlopeAreTheLibrarys) {
  const auto forward = plan({8192, 768, 3072, kBf16, false, true, 0, true, false, kBf16, kBf16, 0, false, kGelu, true});
  ASSERT_TRUE(forward);
  ASSERT_EQ(forward->calls.size(), 1u);
  EXPECT_TRUE(forward->calls[0].bias && forward->calls[0].aux && forward->calls[0].writes_results);
  EXPECT_EQ(forward->calls[0].aux->arg, 4u);
  const auto backward = plan({8192, 768, 3072, kBf16, false, false, 0, false, false, kBf16, kBf16, 0, false, kSlope});
  ASSERT_TRUE(backward);
  EXPECT_EQ(backward->calls[0].aux->arg, 2u);
  EXPECT_TRUE(backward->rest.dispatches.empty());
}

TEST_F(OnStandIn, APlanLeavesProductsToTheLibrary) {
  const device::ProgramRef program =
      device_->compiler().compile(Case{512, 768, 768, kBf16, false, true, 0, true}.call());
  EXPECT_EQ(program->scratch_bytes(), 256u + 1024u);  // of which the library takes what is aligned to 256
  EXPECT_TRUE(device_->compiler().saved_as(Case{512, 768, 768, kBf16, false, true, 0, true}.call()).empty());
  EXPECT_EQ(stand_in().calls("cuModuleLoadData"), 0);
}

// A library looks at no fault: what it writes becomes state by a copy that does.
TEST_F(OnStandIn, AProductIntoStateIsCopiedThere) {
  if (!nvrtc()) GTEST_SKIP() << why_no_compiler();
  const Case c{8, 8, 8};
  device::Launch launch{device_->compiler().compile(c.call()), {}, 2};
  std::vector<float> ones(64, 1.0f), out(64);
  for (int i = 0; i < 3; ++i) launch.args.push_back({make(256), 0, 256});
  launch.args.push_back({make(2048), 128, 1280});
  launch.writes_state = true;
  for (int i = 0; i < 2; ++i)
    run({device::Upload{std::as_bytes(std::span(ones)), launch.args[static_cast<size_t>(i)]}});
  run({device::Fill{launch.args[2], std::byte{0}}});
  run({launch, device::Download{launch.args[2], std::as_writable_bytes(std::span(out))}});
  EXPECT_EQ(out, std::vector<float>(64, 8.0f));
  EXPECT_EQ(stand_in().calls("cuMemAllocAsync"), 1);
  EXPECT_EQ(stand_in().calls("cuLaunchKernel"), 1);
}

// Rows of a larger matrix begin anywhere, and a library reads and writes aligned memory.
TEST_F(OnStandIn, AProductIntoRowsOfSomethingLargerIsCopiedThere) {
  const Case c{8, 8, 8, kF32, false, false, 0, false, true};
  device::Launch launch{device_->compiler().compile(c.call()), {}, 3};
  std::vector<float> ones(64, 1.0f), out(128);
  for (int i = 0; i < 2; ++i) launch.args.push_back({make(256), 0, 256});
  launch.args.push_back({make(256), 0, 256});  // what is added
  const device::Arg whole{make(512), 0, 512};
  launch.args.push_back({whole.buffer, 100, 256});
  launch.args.push_back({make(2048), 128, 1280});
  for (size_t i = 0; i < 3; ++i) run({device::Upload{std::as_bytes(std::span(ones)), launch.args[i]}});
  run({device::Fill{whole, std::byte{0}}});
  run({launch, device::Download{whole, std::as_writable_bytes(std::span(out))}});
  std::vector<float> expected(128, 0.0f);
  std::fill_n(expected.begin() + 25, 64, 9.0f);
  EXPECT_EQ(out, expected);
  EXPECT_EQ(stand_in().calls("cuMemAllocAsync"), 1);
}

}  // namespace
}  // namespace tenon::backends::cuda
