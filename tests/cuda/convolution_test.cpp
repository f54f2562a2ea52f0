// Convolutions of the cuda device: which of them become calls of cuDNN, with which engines, and that these convolve. A
// stand-in of the library carries them out as their descriptors say.

#include <cmath>
#include <cstring>
#include <random>

#include "on_stand_in.h"
#include "tenon/backends/cuda/dnn_convolution.h"
#include "tenon/base/half.h"
#include "tenon/exec/tuning.h"

namespace tenon::backends::cuda {
namespace {

using ir::Op;

struct Convolution {
  Op op = Op::conv;
  DType dtype = DType::f32;
  std::vector<ir::ConvAxis> axes;
  int64_t images = 2, in = 4, out = 6, groups = 1;
  bool tf32 = false;

  Dims x() const { return shape(images, in, &ir::ConvAxis::image); }
  Dims w() const { return shape(out, in / groups, &ir::ConvAxis::kernel); }
  Dims y() const { return shape(images, out, &ir::ConvAxis::out); }
  Dims shape(int64_t first, int64_t last, int64_t ir::ConvAxis::*size) const {
    Dims made{first};
    for (const ir::ConvAxis& axis : axes) made.push_back(axis.*size);
    made.push_back(last);
    return made;
  }

  ir::Call call() const {
    ir::Call made;
    made.op = op;
    made.attrs = ir::ConvAttrs{axes, groups, dtype, tf32, true};
    made.inputs.push_back({dtype, ir::IndexMap(op == Op::conv_transpose ? y() : x())});
    made.inputs.push_back({dtype, ir::IndexMap(op == Op::conv_weight ? y() : w())});
    made.outputs.push_back({dtype, op == Op::conv ? y() : op == Op::conv_transpose ? x() : w()});
    return made;
  }
};

void PrintTo(const Convolution& c, std::ostream* to) {
  *to << fmt::format("{} of {} with {} in {} groups, {}", ir::name(c.op), ir::to_string(c.x()), ir::to_string(c.w()),
                     c.groups, name(c.dtype));
}

// Three by three, with a border that leaves the size as it is.
constexpr ir::ConvAxis kSame{.image = 5, .kernel = 3, .out = 5, .padding = 1};
constexpr ir::ConvAxis kStrided{.image = 8, .kernel = 3, .out = 4, .stride = 2, .padding = 1};
constexpr ir::ConvAxis kDilated{.image = 7, .kernel = 2, .out = 4, .dilation = 3};
constexpr ir::ConvAxis kOneSided{.image = 6, .kernel = 2, .out = 6, .padding = 0};  // one zero, after the image
constexpr ir::ConvAxis kCutOff{.image = 7, .kernel = 2, .out = 2, .stride = 3};     // the last element is not read
constexpr ir::ConvAxis kPoint{.image = 4, .kernel = 1, .out = 4};

// ---- what is decided ----

TEST(CudaConvolutions, ChannelsLieSideBySide) {
  const auto made = plan_convolution(Convolution{.axes = {kSame, kStrided}}.call());
  ASSERT_TRUE(made);
  EXPECT_EQ(made->x.sizes, (Dims{2, 4, 5, 8}));
  EXPECT_EQ(made->x.strides, (Dims{5 * 8 * 4, 1, 8 * 4, 4}));
  EXPECT_EQ(made->w.sizes, (Dims{6, 4, 3, 3}));
  EXPECT_EQ(made->y.sizes, (Dims{2, 6, 5, 4}));
  EXPECT_EQ(made->strides, (Dims{1, 2}));
  EXPECT_EQ(made->before, (Dims{1, 1}));
  EXPECT_EQ(made->after, (Dims{1, 1}));
}

TEST(CudaConvolutions, OneAxisIsTwo) {
  const auto made = plan_convolution(Convolution{.axes = {kDilated}}.call());
  ASSERT_TRUE(made);
  EXPECT_EQ(made->x.sizes, (Dims{2, 4, 1, 7}));
  EXPECT_EQ(made->dilations, (Dims{1, 3}));
}

TEST(CudaConvolutions, ZerosAfterTheImageAreAsManyAsTheResultNeeds) {
  const DType f16 = DType::f16;
  EXPECT_EQ(plan_convolution(Convolution{.dtype = f16, .axes = {kOneSided}}.call())->after, (Dims{0, 1}));
  EXPECT_EQ(plan_convolution(Convolution{.dtype = f16, .axes = {kCutOff}}.call())->after, (Dims{0, 0}));
  EXPECT_TRUE(plan_convolution(Convolution{.axes = {kOneSided}, .tf32 = true}.call()));
  EXPECT_FALSE(plan_convolution(Convolution{.axes = {kOneSided}}.call()));  // which the library is slow at
  // More of the image lies behind the last window than a stride: the library would have one more.
  const ir::ConvAxis far{.image = 9, .kernel = 2, .out = 2, .stride = 3};
  EXPECT_FALSE(plan_convolution(Convolution{.dtype = f16, .axes = {far}}.call()));
}

TEST(CudaConvolutions, OfOtherOrdersAndTypesAreNone) {
  ir::Call plain = Convolution{.axes = {kSame}}.call();
  std::get<ir::ConvAttrs>(plain.attrs).channels_last = false;
  EXPECT_FALSE(plan_convolution(plain));
  EXPECT_FALSE(plan_convolution(Convolution{.dtype = DType::f64, .axes = {kSame}}.call()));
  EXPECT_FALSE(plan_convolution(Convolution{.axes = {kSame}, .images = 0}.call()));
  ir::Call turned = Convolution{.axes = {kSame, kSame}}.call();
  turned.inputs[0].map.apply(Op::permute, ir::AxesAttrs{Dims{0, 2, 1, 3}});
  EXPECT_FALSE(plan_convolution(turned));
}

TEST(CudaConvolutions, BeginWhereVectorsDo) {
  ir::Call call = Convolution{.axes = {kSame}}.call();
  call.inputs[1].map.shift(8);
  EXPECT_EQ(plan_convolution(call)->w.offset, 32);
  call.inputs[1].map.shift(1);
  EXPECT_FALSE(plan_convolution(call));
}

// ---- engines ----

class CudaEngines : public OnStandIn {
 protected:
  void TearDown() override {
    unsetenv("STAND_IN_DNN_WITHOUT");
    OnStandIn::TearDown();
  }
  const device::Compiler& compiler() { return device_->compiler(); }
};

using Ways = std::vector<ir::Way>;
const ir::Way kTensorCores{91900, 10, 2, 3}, kBackwards{91900, 11};

TEST_F(CudaEngines, ThatMayGiveOtherBitsOrTransformTheirOperandsAreNotTaken) {
  EXPECT_EQ(compiler().ways(Convolution{.dtype = DType::bf16, .axes = {kSame}}.call()),
            (Ways{kTensorCores, kBackwards}));
  EXPECT_FALSE(compiler().has_way(Convolution{.axes = {kSame}}.call(), ir::Way{91900, 12}));
  EXPECT_FALSE(compiler().has_way(Convolution{.axes = {kSame}}.call(), ir::Way{91900, 13}));
}

TEST_F(CudaEngines, RoundOperandsOfF32OnlyWhereThatIsAllowed) {
  const Convolution exact{.axes = {kSame}}, rounded{.axes = {kSame}, .tf32 = true};
  EXPECT_TRUE(compiler().ways(exact.call()).empty());  // there is but one
  EXPECT_TRUE(compiler().has_way(exact.call(), kBackwards));
  EXPECT_FALSE(compiler().has_way(exact.call(), kTensorCores));
  EXPECT_EQ(compiler().ways(rounded.call()), (Ways{kTensorCores, kBackwards}));
}

TEST_F(CudaEngines, AreFoundByTheirNames) {
  const ir::Call call = Convolution{.dtype = DType::f16, .axes = {kSame, kSame}}.call();
  EXPECT_TRUE(compiler().has_way(call, kTensorCores));
  EXPECT_TRUE(compiler().has_way(call, ir::Way{91900, 14}));  // which is not proposed
  EXPECT_FALSE(compiler().has_way(call, ir::Way{91900, 10, 2, 4}));
  EXPECT_FALSE(compiler().has_way(call, ir::Way{91900, 10}));
  EXPECT_FALSE(compiler().has_way(call, ir::Way{91900, 77}));
  EXPECT_FALSE(compiler().has_way(call, ir::Way{91800, 10, 2, 3}));  // of another library
}

TEST_F(CudaEngines, BringTheirWorkspace) {
  ir::Call call = Convolution{.dtype = DType::bf16, .axes = {kSame}}.call();
  EXPECT_EQ(device_->compiler().compile(call)->scratch_bytes(), 4096u + 256u);
  call.way = kBackwards;
  EXPECT_EQ(device_->compiler().compile(call)->scratch_bytes(), 0u);
}

TEST_F(CudaEngines, AreTimedOnceForAConvolutionWhereverItsOperandsBegin) {
  const ir::Call call = Convolution{.dtype = DType::bf16, .axes = {kSame}}.call();
  ir::Call later = call;
  later.inputs[1].map.shift(8);
  EXPECT_TRUE(compiler().timed_as(call));
  EXPECT_EQ(exec::key_of(call, compiler()), exec::key_of(later, compiler()));
  EXPECT_NE(exec::key_of(call, compiler()),
            exec::key_of(Convolution{.dtype = DType::bf16, .axes = {kStrided}}.call(), compiler()));
}

// A library's choice is timed, and our own tiles only where somebody asks for it.
TEST_F(CudaEngines, AConvolutionForWhichThereIsNoneIsOurOwn) {
  EXPECT_TRUE(compiler().timed_as(Convolution{.axes = {kSame}}.call()));
  setenv("STAND_IN_DNN_WITHOUT", "11", 1);
  EXPECT_FALSE(compiler().timed_as(Convolution{.axes = {kStrided}}.call()));
  EXPECT_TRUE(compiler().takes(Convolution{.axes = {kStrided}}.call()));
  EXPECT_TRUE(compiler().timed_as(Convolution{.dtype = DType::bf16, .axes = {kStrided}}.call()));
}

TEST_F(CudaEngines, OfTheDeviceTakeImagesWhoseChannelsComeLast) { EXPECT_TRUE(device_->limits().channels_last); }

// ---- that they convolve ----

using Bytes = std::vector<std::byte>;

// Small whole numbers, of which all sums are exact.
Bytes whole_numbers(DType dtype, int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  Bytes made(static_cast<size_t>(count) * size_of(dtype));
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    const double value = static_cast<double>(random() % 5) - 2;
    const auto single = static_cast<float>(value);
    const uint16_t half = dtype == DType::f16 ? base::double_to_f16(value) : base::double_to_bf16(value);
    if (dtype == DType::f32)
      std::memcpy(made.data() + i * 4, &single, 4);
    else
      std::memcpy(made.data() + i * 2, &half, 2);
  }
  return made;
}

double number_in(const Bytes& bytes, DType dtype, int64_t at) {
  if (dtype == DType::f32) return reinterpret_cast<const float*>(bytes.data())[at];
  const uint16_t half = reinterpret_cast<const uint16_t*>(bytes.data())[at];
  return dtype == DType::f16 ? base::f16_to_double(half) : base::bf16_to_double(half);
}

// All products of the sum, for one or two axes: f(place in x, in w, in y).
template <typename F>
void for_each_product(const Convolution& c, F&& f) {
  constexpr ir::ConvAxis kNone{.image = 1, .kernel = 1, .out = 1};
  const ir::ConvAxis rows = c.axes.size() == 2 ? c.axes[0] : kNone, columns = c.axes.back();
  const int64_t channels = c.in / c.groups;
  for (int64_t n = 0; n < c.images; ++n) {
    for (int64_t o = 0; o < c.out; ++o) {
      for (int64_t k = 0; k < channels * rows.kernel * columns.kernel; ++k) {
        const int64_t channel = k % channels, l = k / channels % columns.kernel, m = k / channels / columns.kernel;
        for (int64_t j = 0; j < rows.out * columns.out; ++j) {
          const int64_t row = j / columns.out * rows.stride + m * rows.dilation - rows.padding,
                        column = j % columns.out * columns.stride + l * columns.dilation - columns.padding;
          if (row < 0 || row >= rows.image || column < 0 || column >= columns.image) continue;
          const int64_t from = o / (c.out / c.groups) * channels + channel;
          f(((n * rows.image + row) * columns.image + column) * c.in + from,
            ((o * rows.kernel + m) * columns.kernel + l) * channels + channel,
            (n * rows.out * columns.out + j) * c.out + o);
        }
      }
    }
  }
}

class CudaConvolution : public OnStandIn, public testing::WithParamInterface<Convolution> {};

TEST_P(CudaConvolution, Convolves) {
  const Convolution& c = GetParam();
  for (const Op op : {Op::conv, Op::conv_transpose, Op::conv_weight}) {
    Convolution one = c;
    one.op = op;
    const ir::Call call = one.call();
    std::vector<Bytes> memory{whole_numbers(c.dtype, ir::count(call.inputs[0].map.shape()), 1),
                              whole_numbers(c.dtype, ir::count(call.inputs[1].map.shape()), 2)};
    device::Launch launch;
    launch.program = device_->compiler().compile(call);
    launch.inputs = 2;
    const auto elements = static_cast<size_t>(ir::count(call.outputs[0].shape));
    memory.emplace_back(elements * size_of(c.dtype), std::byte{0xEE});
    if (launch.program->scratch_bytes() > 0) memory.emplace_back(launch.program->scratch_bytes(), std::byte{0xEE});
    std::vector<device::Buffer> buffers;
    for (const Bytes& bytes : memory) {
      buffers.push_back(device_->allocate(bytes.size()));
      launch.args.push_back({buffers.back(), 0, bytes.size()});
      run({device::Upload{bytes, launch.args.back()}});
    }
    run({launch});
    run({device::Download{launch.args[2], memory[2]}});

    std::vector<double> wanted(elements, 0.0);
    const auto at = [&](size_t which, int64_t place) { return number_in(memory[which], c.dtype, place); };
    for_each_product(one, [&](int64_t x, int64_t w, int64_t y) {
      if (op == Op::conv) wanted[static_cast<size_t>(y)] += at(0, x) * at(1, w);
      if (op == Op::conv_transpose) wanted[static_cast<size_t>(x)] += at(0, y) * at(1, w);
      if (op == Op::conv_weight) wanted[static_cast<size_t>(w)] += at(0, x) * at(1, y);
    });
    for (size_t i = 0; i < elements; ++i)
      ASSERT_EQ(at(2, static_cast<int64_t>(i)), wanted[i]) << ir::name(op) << " element " << i;
    for (const device::Buffer& buffer : buffers) device_->release(buffer);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases, CudaConvolution,
    testing::Values(Convolution{.axes = {kSame, kSame}}, Convolution{.axes = {kStrided, kSame}, .tf32 = true},
                    Convolution{.dtype = DType::bf16, .axes = {kStrided, kStrided}},
                    Convolution{.dtype = DType::f16, .axes = {kDilated, kSame}},
                    Convolution{.dtype = DType::bf16, .axes = {kPoint, kPoint}, .in = 8, .out = 16},
                    Convolution{.dtype = DType::bf16, .axes = {kSame, kDilated}, .groups = 2},
                    Convolution{.axes = {kSame, kSame}, .in = 6, .groups = 6},
                    Convolution{.dtype = DType::f16, .axes = {kSame}},
                    Convolution{.axes = {kOneSided, kCutOff}, .tf32 = true},
                    Convolution{.dtype = DType::bf16, .axes = {kCutOff}, .images = 1, .in = 3, .out = 5}));

}  // namespace
}  // namespace tenon::backends::cuda
