// Convolutions as products of windows that lie nowhere: every tile on the simulated GPU against sums in double, what
// memory they take, and source that its compiler takes.

#include "tenon/kernels/convolution.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "../nvrtc.h"
#include "tenon/backends/simulated/interpreter.h"
#include "tenon/base/half.h"
#include "tenon/kernels/contract.h"
#include "tenon/kernels/kernels.h"
#include "tenon/render/render.h"

namespace tenon::kernels {
namespace {

using ir::Op;

struct Convolved {
  int64_t images = 1, in = 1, out = 1, groups = 1;  // channels of a group
  ir::ConvAxis height{1, 1, 1}, width{1, 1, 1};
  DType dtype = DType::f32;

  Dims x() const { return {images, height.image, width.image, in * groups}; }
  Dims w() const { return {out * groups, height.kernel, width.kernel, in}; }
  Dims y() const { return {images, height.out, width.out, out * groups}; }
  ir::Call call(Op op) const {
    ir::Call made;
    made.op = op;
    ir::ConvAttrs attrs;
    attrs.axes = {height, width};
    attrs.groups = groups;
    attrs.result = dtype;
    attrs.channels_last = true;
    made.attrs = attrs;
    made.inputs.push_back({dtype, ir::IndexMap(op == Op::conv_transpose ? y() : x())});
    made.inputs.push_back({dtype, ir::IndexMap(op == Op::conv_weight ? y() : w())});
    made.outputs.push_back({dtype, op == Op::conv ? y() : op == Op::conv_transpose ? x() : w()});
    return made;
  }
};

ir::ConvAxis axis(int64_t image, int64_t kernel, int64_t stride = 1, int64_t padding = 0, int64_t dilation = 1) {
  return {image, kernel, (image + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1, stride, padding, dilation};
}

ir::Limits gpu(bool has_tiles, bool is_scarce = false) {
  ir::Limits limits;
  limits.max_threads = 1024;
  limits.subgroup = 32;
  limits.processors = 132;
  limits.shared_bytes = 49152;
  limits.vector = 4;
  limits.has_fma = true;
  limits.scarce_shared = is_scarce;
  if (has_tiles) limits.tile_dtypes = {DType::f16, DType::bf16};
  return limits;
}

using Memory = std::vector<std::byte>;

// Quarters from -2 to 2: sums of their products are exact in f32.
Memory quarters(int64_t count, DType dtype, uint32_t seed) {
  std::mt19937 draw(seed);
  Memory bytes(static_cast<size_t>(count) * size_of(dtype));
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    const float value = static_cast<float>(static_cast<int>(draw() % 17) - 8) / 4;
    const uint16_t half = dtype == DType::bf16 ? base::double_to_bf16(value) : base::double_to_f16(value);
    std::memcpy(&bytes[i * size_of(dtype)], dtype == DType::f32 ? static_cast<const void*>(&value) : &half,
                size_of(dtype));
  }
  return bytes;
}

double value_at(const Memory& bytes, DType dtype, int64_t i) {
  const std::byte* at = bytes.data() + static_cast<size_t>(i) * size_of(dtype);
  float single = 0;
  uint16_t half = 0;
  std::memcpy(dtype == DType::f32 ? static_cast<void*>(&single) : &half, at, size_of(dtype));
  return dtype == DType::f32 ? single : dtype == DType::bf16 ? base::bf16_to_double(half) : base::f16_to_double(half);
}

double rounded(double value, DType dtype) {
  if (dtype == DType::f32) return static_cast<float>(value);
  return dtype == DType::bf16 ? base::bf16_to_double(base::double_to_bf16(value))
                              : base::f16_to_double(base::double_to_f16(value));
}

std::vector<double> sums(const Convolved& c, Op op, const std::vector<Memory>& in) {
  const Dims shape = c.call(op).outputs[0].shape;
  std::vector<double> made(static_cast<size_t>(ir::count(shape)));
  const auto value = [&](size_t i, int64_t at) { return value_at(in[i], c.dtype, at); };
  for (int64_t n = 0; n < c.images; ++n)
    for (int64_t oy = 0; oy < c.height.out; ++oy)
      for (int64_t ox = 0; ox < c.width.out; ++ox)
        for (int64_t ky = 0; ky < c.height.kernel; ++ky)
          for (int64_t kx = 0; kx < c.width.kernel; ++kx) {
            const int64_t iy = oy * c.height.stride + ky * c.height.dilation - c.height.padding;
            const int64_t ix = ox * c.width.stride + kx * c.width.dilation - c.width.padding;
            if (iy < 0 || ix < 0 || iy >= c.height.image || ix >= c.width.image) continue;
            for (int64_t o = 0; o < c.out * c.groups; ++o)
              for (int64_t i = 0; i < c.in; ++i) {
                const int64_t channel = o / c.out * c.in + i;
                const int64_t x = ((n * c.height.image + iy) * c.width.image + ix) * c.in * c.groups + channel;
                const int64_t w = ((o * c.height.kernel + ky) * c.width.kernel + kx) * c.in + i;
                const int64_t y = ((n * c.height.out + oy) * c.width.out + ox) * c.out * c.groups + o;
                if (op == Op::conv) made[static_cast<size_t>(y)] += value(0, x) * value(1, w);
                if (op == Op::conv_transpose) made[static_cast<size_t>(x)] += value(0, y) * value(1, w);
                if (op == Op::conv_weight) made[static_cast<size_t>(w)] += value(0, x) * value(1, y);
              }
          }
  return made;
}

Memory run(const ir::Call& call, const ir::Limits& limits, std::vector<Memory> args) {
  args.emplace_back(static_cast<size_t>(ir::count(call.outputs[0].shape)) * size_of(call.outputs[0].dtype),
                    std::byte{0xEE});
  const size_t out = args.size() - 1;
  const codegen::Module made = lower(call, limits);
  args.emplace_back(made.scratch_bytes, std::byte{0xEE});
  for (const codegen::Dispatch& dispatch : made.dispatches) {
    std::vector<std::span<std::byte>> buffers;
    for (const auto& binding : dispatch.buffers) buffers.emplace_back(args[binding.arg]);
    backends::simulated::run(dispatch, buffers, {});
  }
  return args[out];
}

constexpr Op kSides[] = {Op::conv, Op::conv_transpose, Op::conv_weight};

// `all_tiles`: each of them, which all give the same bits.
void expect_convolved(const Convolved& c, const ir::Limits& limits, bool all_tiles = false) {
  for (const Op op : kSides) {
    ir::Call call = c.call(op);
    SCOPED_TRACE(testing::Message() << ir::name(op) << " " << name(c.dtype) << " of " << ir::to_string(c.x()) << " and "
                                    << ir::to_string(c.w()));
    ASSERT_TRUE(takes(call));
    const std::vector<Memory> in{quarters(ir::count(call.inputs[0].map.shape()), c.dtype, 1),
                                 quarters(ir::count(call.inputs[1].map.shape()), c.dtype, 2)};
    const std::vector<double> wanted = sums(c, op, in);
    std::vector<ir::Way> tried = ways(call, limits);
    if (tried.empty()) tried.emplace_back();
    if (!all_tiles) tried.resize(1);
    for (const ir::Way& way : tried) {
      call.way = way;
      const Memory got = run(call, limits, in);
      for (size_t i = 0; i < wanted.size(); ++i)
        ASSERT_EQ(value_at(got, c.dtype, static_cast<int64_t>(i)), rounded(wanted[i], c.dtype))
            << "element " << i << ", tile " << fmt::format("{}", fmt::join(way, " "));
    }
  }
}

constexpr DType kFloats[] = {DType::f32, DType::bf16, DType::f16};

TEST(Convolutions, EveryTileGivesTheSameSums) {
  for (const DType dtype : kFloats)
    expect_convolved(
        {.images = 1, .in = 8, .out = 16, .height = axis(5, 3, 1, 1), .width = axis(4, 3, 1, 1), .dtype = dtype},
        gpu(true), true);
}

// Strips that lie within one tap, and such that hold several; channels by which memory is read in vectors or one by
// one.
TEST(Convolutions, OfAnyNumberOfChannels) {
  for (const DType dtype : kFloats) {
    for (const int64_t in : {64, 40, 12, 3})
      expect_convolved(
          {.in = in, .out = in == 3 ? 5 : 24, .height = axis(4, 3, 1, 1), .width = axis(3, 2), .dtype = dtype},
          gpu(true));
  }
}

TEST(Convolutions, WithStridesDilationAndUnevenSizes) {
  for (const DType dtype : kFloats) {
    const auto expect = [&](const ir::ConvAxis& height, const ir::ConvAxis& width) {
      expect_convolved({.images = 2, .in = 8, .out = 8, .height = height, .width = width, .dtype = dtype}, gpu(true));
    };
    expect(axis(7, 3, 2, 1), axis(6, 3, 2, 1));
    expect(axis(5, 1, 2), axis(6, 1, 2));  // of which some elements are met by no window
    expect(axis(9, 7, 2, 3), axis(8, 5, 3, 0));
    expect(axis(7, 3, 2, 2, 2), axis(8, 2, 4, 3, 3));
    expect(axis(1, 1), axis(9, 3, 1, 2));
  }
}

TEST(Convolutions, InGroups) {
  for (const DType dtype : kFloats) {
    expect_convolved(
        {.in = 8, .out = 16, .groups = 3, .height = axis(5, 3, 2, 1), .width = axis(4, 3, 1, 1), .dtype = dtype},
        gpu(true));
    expect_convolved(
        {.in = 1, .out = 2, .groups = 6, .height = axis(5, 3, 1, 1), .width = axis(4, 3, 1, 1), .dtype = dtype},
        gpu(true));
    expect_convolved(
        {.images = 2, .in = 8, .out = 8, .groups = 2, .height = axis(3, 1), .width = axis(2, 1), .dtype = dtype},
        gpu(true));
  }
}

// Those of one channel above all: loops of their own.
TEST(Convolutions, OfFewChannelsInAGroup) {
  for (const DType dtype : kFloats) {
    const auto expect = [&](int64_t in, int64_t out, int64_t groups, const ir::ConvAxis& height,
                            const ir::ConvAxis& width) {
      const Convolved c{
          .images = 2, .in = in, .out = out, .groups = groups, .height = height, .width = width, .dtype = dtype};
      EXPECT_TRUE(ways(c.call(Op::conv), gpu(true)).empty());
      expect_convolved(c, gpu(true));
    };
    expect(1, 1, 24, axis(6, 3, 1, 1), axis(5, 3, 1, 1));
    expect(1, 1, 200, axis(5, 3, 2, 1), axis(6, 3, 2, 1));
    expect(1, 1, 8, axis(9, 5, 2, 2), axis(8, 7, 1, 3));
    expect(1, 1, 7, axis(9, 2, 3, 1, 2), axis(1, 1));
    expect(1, 3, 5, axis(5, 3, 1, 1), axis(4, 2, 2, 0));
    expect(3, 4, 6, axis(5, 3, 2, 1), axis(4, 3, 1, 1));
  }
  ir::Limits poor;
  poor.max_threads = 64;
  poor.shared_bytes = 4096;
  expect_convolved({.groups = 12, .height = axis(6, 3, 1, 1), .width = axis(5, 3, 2, 1)}, poor);
}

TEST(Convolutions, OfOneTapAreProducts) {
  for (const DType dtype : kFloats)
    expect_convolved({.images = 2, .in = 16, .out = 24, .height = axis(5, 1), .width = axis(4, 1), .dtype = dtype},
                     gpu(true));
}

TEST(Convolutions, LongSumsAreTakenInParts) {
  for (const DType dtype : kFloats) {
    const Convolved c{
        .images = 9, .in = 16, .out = 8, .height = axis(18, 3, 1, 1), .width = axis(17, 3, 2, 1), .dtype = dtype};
    EXPECT_EQ(lower(c.call(Op::conv_weight), gpu(true)).dispatches.size(), 2u);
    expect_convolved(c, gpu(true));
    const Convolved few{
        .in = 256, .out = 8, .groups = 2, .height = axis(3, 3, 1, 1), .width = axis(2, 3, 1, 1), .dtype = dtype};
    EXPECT_EQ(lower(few.call(Op::conv), gpu(true)).dispatches.size(), 2u);
    expect_convolved(few, gpu(true));
  }
}

TEST(Convolutions, OnDevicesOfOtherKinds) {
  for (const DType dtype : kFloats) {
    const Convolved c{.in = 32, .out = 16, .height = axis(6, 3, 2, 1), .width = axis(5, 3, 1, 1), .dtype = dtype};
    expect_convolved(c, gpu(false));
    expect_convolved(c, gpu(true, true));
    ir::Limits poor;
    poor.max_threads = 128;
    poor.shared_bytes = 16384;
    poor.processors = 4;
    expect_convolved(c, poor);
  }
}

// What a product of windows in memory would take is nine times the image.
TEST(Convolutions, StoreNoWindows) {
  const Convolved c{
      .images = 32, .in = 64, .out = 64, .height = axis(56, 3, 1, 1), .width = axis(56, 3, 1, 1), .dtype = DType::bf16};
  EXPECT_EQ(lower(c.call(Op::conv), gpu(true)).scratch_bytes, 0u);
  EXPECT_EQ(lower(c.call(Op::conv_transpose), gpu(true)).scratch_bytes, 0u);
  EXPECT_LE(lower(c.call(Op::conv_weight), gpu(true)).scratch_bytes, size_t{128} * 64 * 64 * 9 * 4);
}

TEST(Convolutions, AreNotTakenWherePlacesDoNotFit32Bits) {
  const auto is_taken = [](const ir::ConvAxis& height) {
    return takes(Convolved{.in = 8, .out = 8, .height = height, .width = axis(3, 3, 1, 1)}.call(Op::conv));
  };
  EXPECT_TRUE(is_taken(axis(5, 3, 1, 1)));
  EXPECT_FALSE(is_taken(axis(5, 2, 1, int64_t{1} << 30, int64_t{1} << 30)));
  EXPECT_FALSE(is_taken(axis(int64_t{1} << 30, 3, 1, 1)));
  ir::Call plain = Convolved{.height = axis(5, 3), .width = axis(5, 3)}.call(Op::conv);
  std::get<ir::ConvAttrs>(plain.attrs).channels_last = false;
  EXPECT_FALSE(takes(plain));
}

// Layers of a network differ by sizes alone, and compilers take long.
TEST(Convolutions, ThatDifferBySizesAloneHaveOneText) {
  const auto text_of = [](int64_t size, int64_t channels) {
    const Convolved c{.images = 8,
                      .in = channels,
                      .out = 256,
                      .height = axis(size, 3, 1, 1),
                      .width = axis(size, 3, 1, 1),
                      .dtype = DType::bf16};
    ir::Call call = c.call(Op::conv);
    call.way = {128, 128, 32, 64, 32, 256};
    return render::render(lower(call, gpu(true)).dispatches[0].kernel, render::Language::opencl);
  };
  EXPECT_EQ(text_of(64, 64), text_of(48, 128));
}

TEST(Convolutions, NvrtcCompilesThem) {
  const Nvrtc nvrtc = open_nvrtc();
  if (!nvrtc) GTEST_SKIP() << "no libnvrtc";
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const Convolved c{
        .images = 8, .in = 64, .out = 64, .height = axis(56, 3, 2, 1), .width = axis(56, 3, 2, 1), .dtype = dtype};
    for (const Op op : kSides) {
      for (const codegen::Dispatch& dispatch : lower(c.call(op), gpu(true)).dispatches)
        EXPECT_EQ(compile_cuda(nvrtc, render::render(dispatch.kernel, render::Language::cuda)), "");
    }
  }
}

}  // namespace
}  // namespace tenon::kernels
