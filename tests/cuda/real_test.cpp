// What no stand-in can show: products of cuBLASLt and attention on a GPU. Run by scripts/check_gpu.sh, which names the
// real driver in TENON_CUDA_DRIVER; skipped otherwise.

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string_view>

#include "attention_case.h"
#include "tenon/backends/cuda/api.h"
#include "tenon/backends/cuda/attention.h"
#include "tenon/backends/cuda/cuda_device.h"
#include "tenon/backends/cuda/product.h"
#include "tenon/base/half.h"
#include "tenon/device/pool.h"
#include "tenon/device/registry.h"
#include "tenon/tenon.h"
#include "tests/error_text.h"

namespace tenon {
namespace {

class RealCuda : public testing::Test {
 protected:
  void SetUp() override {
    const char* driver = getenv("TENON_CUDA_DRIVER");
    if (!driver || !std::string_view(driver).starts_with("libcuda.so")) GTEST_SKIP() << "scripts/check_gpu.sh runs it";
    for (const device::Absent& one : device::absent()) {
      if (one.name == "cuda") GTEST_SKIP() << one.why;
    }
  }
  static Tensor random(Dims shape, DType dtype, double scale = 1) {
    const Device cuda("cuda");
    return (randn({shape.begin(), shape.end()}, Options(DType::f32, cuda)) * scale).to(dtype).eval();
  }
  // Of matrices that lie row by row.
  static ir::Call product(int64_t rows, int64_t depth, int64_t columns, DType dtype, DType out, bool has_bias) {
    ir::Call made;
    made.op = ir::Op::contract;
    made.attrs = ir::ContractAttrs{};
    made.inputs.push_back({dtype, ir::IndexMap(Dims{rows, depth})});
    made.inputs.push_back({dtype, ir::IndexMap(Dims{depth, columns})});
    if (has_bias) made.inputs.push_back({out, ir::IndexMap(Dims{columns})});
    made.epilogue = {has_bias, false};
    made.outputs.push_back({out, Dims{rows, columns}});
    return made;
  }
  // What a call makes of these bytes.
  static std::vector<std::byte> result_of(const ir::Call& call, const std::vector<std::vector<std::byte>>& inputs) {
    device::Device& device = device::open(device::find("cuda"));
    const device::ProgramRef program = device.compiler().compile(call);
    std::vector<std::byte> result(ir::bytes_of(call.outputs[0]));
    device::Launch launch{program, {}, static_cast<uint32_t>(inputs.size())};
    std::vector<device::Command> commands;
    const auto take = [&](size_t bytes) { launch.args.push_back({device.allocate(bytes), 0, bytes}); };
    for (const auto& input : inputs) {
      take(input.size());
      commands.push_back(device::Upload{input, launch.args.back()});
    }
    take(result.size());
    const device::Arg out = launch.args.back();
    if (program->scratch_bytes() > 0) take(program->scratch_bytes());
    commands.push_back(launch);
    commands.push_back(device::Download{out, result});
    device.wait(device.send(commands, true));
    for (const device::Arg& arg : launch.args) device.release(arg.buffer);
    return result;
  }
  static std::vector<std::byte> in_16_bits(const std::vector<std::byte>& sums, DType dtype) {
    std::vector<std::byte> made;
    for (size_t at = 0; at < sums.size(); at += 4) {
      float sum = 0;
      std::memcpy(&sum, sums.data() + at, 4);
      const uint16_t bits = dtype == DType::f16 ? base::double_to_f16(sum) : base::double_to_bf16(sum);
      made.push_back(static_cast<std::byte>(bits & 0xff));
      made.push_back(static_cast<std::byte>(bits >> 8));
    }
    return made;
  }
  static std::vector<float> values(const Tensor& x) { return x.to(DType::f32).to_vector<float>(); }
  // The largest difference, as a part of the largest value.
  static double difference(const std::vector<float>& a, const std::vector<float>& b) {
    double most = 0, largest = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      most = std::max(most, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
      largest = std::max(largest, std::abs(static_cast<double>(b[i])));
    }
    return most / std::max(largest, 1e-30);
  }
};

TEST_F(RealCuda, HasTheLibraryAndTheCompiler) {
  EXPECT_NE(backends::cuda::lt(), nullptr);
  EXPECT_NE(backends::cuda::nvrtc(), nullptr) << backends::cuda::why_no_compiler();
  std::fprintf(stderr, "%s\n", device::open(device::find("cuda")).describe().c_str());
  if (backends::cuda::lt()) std::fprintf(stderr, "cuBLASLt %zu\n", backends::cuda::lt()->version());
}

// None of the ways is a tile of our own kernels: the library has taken the product.
TEST_F(RealCuda, TheProductsOfGpt2GoToTheLibrary) {
  device::Compiler& compiler = device::open(device::find("cuda")).compiler();
  const auto call = [](int64_t rows, int64_t depth, int64_t columns, DType dtype, bool turns_left, bool turns_right,
                       DType out, bool has_bias) {
    ir::Call made;
    made.op = ir::Op::contract;
    ir::ContractAttrs attrs;
    attrs.result = DType::f32;
    made.attrs = attrs;
    const auto map = [](int64_t lines, int64_t length, bool turned) {
      ir::IndexMap whole(turned ? Dims{length, lines} : Dims{lines, length});
      if (turned) whole.apply(ir::Op::permute, ir::AxesAttrs{Dims{1, 0}});
      return whole;
    };
    made.inputs.push_back({dtype, map(rows, depth, turns_left)});
    made.inputs.push_back({dtype, map(depth, columns, turns_right)});
    if (has_bias) made.inputs.push_back({out, ir::IndexMap(Dims{columns})});
    made.epilogue = {has_bias, false};
    made.outputs.push_back({out, Dims{rows, columns}});
    return made;
  };
  const auto is_of_library = [&](const ir::Call& one) {
    return std::ranges::all_of(compiler.ways(one),
                               [](const ir::Way& way) { return way.size() == backends::cuda::kNumbersOfAlgorithm; });
  };
  for (const auto& [columns, depth] : {std::pair{2304, 768}, {768, 768}, {3072, 768}, {768, 3072}, {50304, 768}}) {
    for (const int64_t rows : {512, 8192}) {
      for (const DType dtype : {DType::bf16, DType::f16, DType::f32}) {
        EXPECT_TRUE(is_of_library(call(rows, depth, columns, dtype, false, true, dtype, true)))
            << rows << " rows, " << depth << " -> " << columns << " of " << name(dtype);
        EXPECT_TRUE(is_of_library(call(rows, columns, depth, dtype, false, false, dtype, false)));
        EXPECT_TRUE(is_of_library(call(columns, rows, depth, dtype, true, false, DType::f32, false)));
      }
    }
  }
}

// What compete are algorithms that give the same bits every time, and the same sums with a bias and without, rounded or
// not.
TEST_F(RealCuda, EveryAlgorithmThatIsTimedGivesTheSameSumsWhateverFollowsThem) {
  const device::Compiler& compiler = device::open(device::find("cuda")).compiler();
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    for (const auto& [m, k, n] : {std::array<int64_t, 3>{512, 768, 3072}, {8192, 768, 768}, {1024, 3072, 768}}) {
      const std::vector<std::vector<std::byte>> plain{random({m, k}, dtype).to_bytes(),
                                                      random({k, n}, dtype, 0.05).to_bytes()};
      std::vector<std::vector<std::byte>> with_bias = plain;
      with_bias.emplace_back(static_cast<size_t>(n) * 4);  // zeros, which leave every sum as it is
      ir::Call alone = product(m, k, n, dtype, DType::f32, false), biased = product(m, k, n, dtype, DType::f32, true),
               rounded = product(m, k, n, dtype, dtype, false);
      const std::vector<ir::Way> ways = compiler.ways(alone);
      size_t kinds = 0;
      std::vector<std::byte> before;
      for (const ir::Way& way : ways) {
        alone.way = biased.way = way;
        ASSERT_TRUE(compiler.has_way(biased, way));
        const std::vector<std::byte> sums = result_of(alone, plain);
        EXPECT_TRUE(sums == result_of(alone, plain)) << fmt::format("{}", fmt::join(way, " "));
        EXPECT_TRUE(sums == result_of(biased, with_bias)) << fmt::format("{}", fmt::join(way, " "));
        rounded.way = way;
        if (dtype != DType::f32) {
          ASSERT_TRUE(compiler.has_way(rounded, way)) << fmt::format("{}", fmt::join(way, " "));
          EXPECT_TRUE(in_16_bits(sums, dtype) == result_of(rounded, plain)) << fmt::format("{}", fmt::join(way, " "));
        }
        kinds += sums != before ? 1 : 0;
        before = sums;
      }
      std::fprintf(stderr, "%lld x %lld x %lld of %s: %zu algorithms, bits change %zu times\n",
                   static_cast<long long>(m), static_cast<long long>(k), static_cast<long long>(n),
                   std::string(name(dtype)).c_str(), ways.size(), kinds > 0 ? kinds - 1 : 0);
    }
  }
}

TEST_F(RealCuda, ProductsAreRight) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    for (const auto& [m, k, n] : {std::array<int64_t, 3>{64, 64, 64},
                                  {512, 768, 3072},
                                  {257, 1000, 96},
                                  {1, 768, 768},
                                  {768, 8192, 768},
                                  {33, 1024, 8}}) {
      const Tensor a = random({m, k}, dtype), b = random({k, n}, dtype);
      const Device cpu("cpu");
      const std::vector<float> expected = values(matmul(a.to(cpu).to(DType::f32), b.to(cpu).to(DType::f32)));
      const double tolerance = dtype == DType::f32 ? 8e-6 : dtype == DType::f16 ? 2e-3 : 1e-2;
      EXPECT_LT(difference(values(matmul(a, b)), expected), tolerance) << m << " x " << k << " x " << n;
      const Tensor at = a.transpose(0, 1).contiguous().eval(), bt = b.transpose(0, 1).contiguous().eval();
      EXPECT_LT(difference(values(matmul(at.transpose(0, 1), b)), expected), tolerance);
      EXPECT_LT(difference(values(matmul(a, bt.transpose(0, 1))), expected), tolerance);
    }
  }
}

// tf32 has 10 bits of mantissa: errors are about 2^-11 of a factor, and gone without permission.
TEST_F(RealCuda, ProductsOfTf32AreRoundedAndNoWorse) {
  const Device cpu("cpu");
  for (const auto& [m, k, n] : {std::array<int64_t, 3>{512, 768, 3072}, {1024, 1024, 1024}, {768, 8192, 768}}) {
    const Tensor a = random({m, k}, DType::f32), b = random({k, n}, DType::f32);
    const std::vector<float> expected = values(matmul(a.to(cpu), b.to(cpu)));
    auto captured = compile([&b](const Tensor& x) { return matmul(x, b); });
    std::vector<float> rounded, again;
    for (int call = 0; call < 3; ++call) EXPECT_LT(difference(values(captured(a)), expected), 8e-6);
    {
      const AllowTf32 products;
      rounded = values(matmul(a, b));
      for (int call = 0; call < 3; ++call) again = values(captured(a));
    }
    const double error = difference(rounded, expected);
    EXPECT_LT(error, 2e-3) << m << " x " << k << " x " << n;
    EXPECT_GT(error, 2e-5) << "nothing was rounded";
    EXPECT_EQ(rounded, again);
    EXPECT_LT(difference(values(matmul(a, b)), expected), 8e-6);
  }
}

TEST_F(RealCuda, WithoutMemoryThereIsOneLineAndTheProcessGoesOn) {
  const Device cuda("cuda");
  const Tensor held = random({1 << 20}, DType::f32);
  const auto make = [&](int64_t elements) {
    return zeros({elements}, Options(DType::f32, cuda)).clone().eval().to_vector<float>().size();
  };
  const std::string all = text_of([&] { device::open(cuda.id).pool().take(size_t{1} << 39); });
  EXPECT_NE(all.find("[memory] 549755813888 bytes asked for, but the device has no more: "), std::string::npos) << all;
  EXPECT_NE(all.find(" available; largest: "), std::string::npos) << all;
  set_memory_limit(memory_stats(cuda).live_bytes + (256 << 20), cuda);
  const std::string limited = text_of([&] { make(1 << 28); });
  set_memory_limit(0, cuda);
  EXPECT_NE(limited.find("the memory limit is reached"), std::string::npos) << limited;
  EXPECT_EQ(make(1 << 20), size_t{1} << 20);
  EXPECT_EQ(values(held).size(), size_t{1} << 20);
}

// The promise of every device: what a product is fused with changes no bit.
TEST_F(RealCuda, ABiasChangesNoBitOfTheSums) {
  const Device cuda("cuda"), unfused("cuda_unfused");
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    for (const auto& [m, k, n] :
         {std::array<int64_t, 3>{512, 768, 3072}, {8192, 768, 768}, {64, 256, 64}, {1024, 3072, 768}}) {
      const Tensor a = random({m, k}, dtype), b = random({k, n}, dtype, 0.05), bias = random({n}, dtype);
      const auto together = values(matmul(a, b) + bias);
      const auto apart = values(matmul(a.to(unfused), b.to(unfused)) + bias.to(unfused));
      EXPECT_EQ(std::memcmp(together.data(), apart.data(), together.size() * 4), 0)
          << m << " x " << k << " x " << n << " of " << name(dtype);
    }
  }
}

TEST_F(RealCuda, TheSameProductTwiceHasTheSameBits) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const Tensor a = random({768, 32768}, dtype), b = random({32768, 768}, dtype);
    const auto first = values(matmul(a, b));
    for (int i = 0; i < 3; ++i) {
      const auto again = values(matmul(a * 1.0f, b));
      EXPECT_EQ(std::memcmp(first.data(), again.data(), first.size() * 4), 0);
    }
  }
}

TEST_F(RealCuda, ACapturedStepIsAGraphWithTheBitsOfTheFunction) {
  const Device cuda("cuda");
  Tensor w = random({256, 256}, DType::f32, 0.1), v = w.clone().eval();
  const Tensor x = random({64, 256}, DType::f32);
  const auto step = [&x](Tensor& state) {
    const Tensor y = tanh(matmul(x, state));
    state.copy_(state - matmul(x.transpose(0, 1), y) * 1e-3);
    return sum(y);
  };
  auto captured = compile([&] { return step(w); });
  for (int i = 0; i < 20; ++i) {
    const float replayed = captured().item<float>(), called = step(v).item<float>();
    EXPECT_EQ(replayed, called) << "step " << i;
  }
  EXPECT_EQ(values(w), values(v));
}

// ---- attention ----

class RealAttention : public RealCuda {
 protected:
  using Bytes = std::vector<std::byte>;

  void SetUp() override {
    RealCuda::SetUp();
    if (IsSkipped()) return;
    chip_ = backends::cuda::backends()[0].open();
    setenv("TENON_ATTENTION", "own", 1);
    own_ = backends::cuda::backends()[0].open();
    unsetenv("TENON_ATTENTION");
    const device::Kernel call = AttentionCase{}.call(ir::Op::attention);
    if (chip_->compiler().saved_as(call).find("wgmma") == std::string::npos)
      GTEST_SKIP() << "these kernels are for " << backends::cuda::kAttentionChip;
  }

  static Bytes normal_numbers(size_t count, DType dtype, uint32_t seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    Bytes made(count * 2);
    for (size_t i = 0; i < count; ++i) {
      const float x = normal(random);
      const uint16_t bits = dtype == DType::bf16 ? base::double_to_bf16(x) : base::double_to_f16(x);
      std::memcpy(&made[2 * i], &bits, 2);
    }
    return made;
  }
  // What all inputs of a call but results of the forward are; q, k and v are one matrix where their views are parts of
  // it.
  static std::vector<Bytes> operands(const ir::Call& call, const std::vector<Bytes>& forward = {}) {
    std::vector<Bytes> made;
    for (size_t i = 0; i < call.inputs.size(); ++i) {
      const ir::Operand& input = call.inputs[i];
      const size_t bytes = ir::bytes_reached(input.map, input.dtype).end;
      if (i == 3 || i == 4)
        made.push_back(forward[i - 3]);
      else
        made.push_back(normal_numbers(bytes / 2, input.dtype, static_cast<uint32_t>(i)));
    }
    return made;
  }

  static std::vector<Bytes> run(device::Device& device, const ir::Call& call, const std::vector<Bytes>& inputs) {
    const device::ProgramRef program = device.compiler().compile(call);
    device::Launch launch{program, {}, static_cast<uint32_t>(call.inputs.size())};
    std::vector<device::Command> commands;
    std::vector<device::Buffer> buffers;
    const auto add = [&](size_t bytes) {
      buffers.push_back(device.allocate(bytes));
      launch.args.push_back({buffers.back(), 0, bytes});
    };
    for (const Bytes& input : inputs) {
      add(input.size());
      commands.push_back(device::Upload{input, {buffers.back(), 0, input.size()}});
    }
    std::vector<Bytes> results;
    for (const ir::Type& type : call.outputs) {
      results.emplace_back(static_cast<size_t>(ir::count(type.shape)) * size_of(type.dtype));
      add(results.back().size());
      commands.push_back(device::Fill{launch.args.back(), std::byte{0xff}});  // NaN, where nothing is written
    }
    if (program->scratch_bytes() > 0) add(program->scratch_bytes());
    commands.push_back(launch);
    for (size_t i = 0; i < results.size(); ++i)
      commands.push_back(device::Download{launch.args[inputs.size() + i], results[i]});
    device.wait(device.send(commands, true));
    for (const device::Buffer& buffer : buffers) device.release(buffer);
    return results;
  }

  static std::vector<float> floats(const Bytes& bytes, DType dtype) {
    std::vector<float> made(bytes.size() / size_of(dtype));
    for (size_t i = 0; i < made.size(); ++i) {
      uint16_t bits = 0;
      if (dtype == DType::f32)
        std::memcpy(&made[i], &bytes[4 * i], 4);
      else {
        std::memcpy(&bits, &bytes[2 * i], 2);
        made[i] = static_cast<float>(dtype == DType::bf16 ? base::bf16_to_double(bits) : base::f16_to_double(bits));
      }
    }
    return made;
  }
  // Root of the mean square of differences, as a part of that of the values; both have NaN at the same places.
  static void expect_close(const std::vector<float>& got, const std::vector<float>& wanted, double tolerance) {
    double differences = 0, values = 0;
    for (size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(std::isnan(got[i]), std::isnan(wanted[i])) << i;
      if (!std::isfinite(wanted[i])) continue;
      differences += std::pow(static_cast<double>(got[i]) - static_cast<double>(wanted[i]), 2);
      values += std::pow(static_cast<double>(wanted[i]), 2);
    }
    // Where all gradients cancel there is nothing but rounding.
    const double of_rounding = 1e-3 * static_cast<double>(got.size());
    EXPECT_LT(std::sqrt(differences / std::max(values, of_rounding)), tolerance);
  }

  void expect_as_own(const AttentionCase& c, const std::function<void(std::vector<Bytes>&)>& change = {}) {
    SCOPED_TRACE(testing::Message() << c.batch << " x " << c.heads << "/" << c.groups << " x " << c.queries << " x "
                                    << c.keys << " x " << c.width << (c.causal ? " causal " : " ") << name(c.dtype));
    const ir::Call forward = c.call(ir::Op::attention), backward = c.call(ir::Op::attention_backward);
    std::vector<Bytes> inputs = operands(forward);
    if (change) change(inputs);
    const std::vector<Bytes> wanted = run(*own_, forward, inputs), got = run(*chip_, forward, inputs);
    const double tolerance = c.dtype == DType::bf16 ? 1e-2 : 2e-3;
    for (size_t i = 0; i < wanted.size(); ++i)
      expect_close(floats(got[i], forward.outputs[i].dtype), floats(wanted[i], forward.outputs[i].dtype), tolerance);
    EXPECT_EQ(run(*chip_, forward, inputs), got) << "another run has other bits";

    std::vector<Bytes> all = operands(backward, wanted);
    std::copy(inputs.begin(), inputs.end(), all.begin());
    const std::vector<Bytes> gradients = run(*own_, backward, all), ours = run(*chip_, backward, all);
    for (size_t i = 0; i < gradients.size(); ++i)
      expect_close(floats(ours[i], c.dtype), floats(gradients[i], c.dtype), tolerance);
    EXPECT_EQ(run(*chip_, backward, all), ours) << "another run has other bits";
  }

  std::unique_ptr<device::Device> chip_, own_;
};

TEST_F(RealAttention, IsThatOfOurOwnKernels) {
  for (const bool causal : {true, false}) {
    expect_as_own({.heads = 3, .groups = 3, .queries = 1024, .keys = 1024, .causal = causal});
    expect_as_own({.queries = 300, .keys = 517, .causal = causal, .in_heads = true});
    expect_as_own({.groups = 1, .queries = 17, .keys = 1, .causal = causal, .in_heads = true});
  }
  expect_as_own({.queries = 517, .keys = 130, .in_heads = true});
}

TEST_F(RealAttention, OfOtherHeadsAndDtypesIsThatOfOurOwnKernels) {
  expect_as_own({.groups = 2, .queries = 1000, .keys = 1000, .joined = true, .dtype = DType::f16});
  expect_as_own({.groups = 2, .queries = 1000, .keys = 1000, .width = 128, .joined = true});
  expect_as_own({.groups = 1, .queries = 77, .keys = 77, .width = 128, .causal = false, .dtype = DType::f16});
}

TEST_F(RealAttention, OfHeadsThatAreDividedAmongBlocksIsThatOfOurOwnKernels) {
  for (const bool causal : {true, false}) {
    expect_as_own({.heads = 8, .groups = 1, .queries = 1000, .keys = 1000, .causal = causal, .joined = true});
    expect_as_own(
        {.batch = 1, .heads = 16, .groups = 2, .queries = 700, .keys = 517, .causal = causal, .in_heads = true});
  }
  expect_as_own({.heads = 16, .groups = 2, .queries = 1000, .keys = 1000, .width = 128, .joined = true});
}

// A NaN reaches those who see it, and nobody else.
TEST_F(RealAttention, HiddenNumbersReachNothing) {
  for (const auto& [causal, heads] : {std::pair{true, 2}, {false, 2}, {true, 16}, {false, 16}}) {
    const uint16_t nan = 0x7fc0;
    const AttentionCase c{
        .batch = 1, .heads = heads, .groups = 1, .queries = 300, .keys = 300, .causal = causal, .in_heads = true};
    expect_as_own(c, [&](std::vector<Bytes>& inputs) { std::memcpy(&inputs[2][(200 * 64 + 5) * 2], &nan, 2); });
    expect_as_own(c, [&](std::vector<Bytes>& inputs) { std::memcpy(&inputs[1][(130 * 64 + 3) * 2], &nan, 2); });
    expect_as_own(c, [&](std::vector<Bytes>& inputs) { std::memcpy(&inputs[0][(150 * 64 + 3) * 2], &nan, 2); });
  }
}

// Scores of some hundreds, of which no exponential is a float.
TEST_F(RealAttention, SurvivesLargeScores) {
  expect_as_own({.queries = 200, .keys = 200, .scale = 8, .in_heads = true});
  expect_as_own({.queries = 200, .keys = 200, .causal = false, .scale = 8, .in_heads = true});
}

}  // namespace
}  // namespace tenon
