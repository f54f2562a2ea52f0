// Images whose channels come last: what follows a convolution in its order, where copies are, and that every value is
// what it was. Planned for a device that does not exist, computed on the reference device.

#include "tenon/plan/layout.h"

#include <gtest/gtest.h>

#include "tenon/device/registry.h"
#include "tenon/exec/eval.h"
#include "tenon/kernels/kernels.h"
#include "tenon/plan/plan.h"
#include "tenon/tenon.h"
#include "tenon/tensor/access.h"

namespace tenon {
namespace {

using ir::Op;

ir::Limits of_a_gpu() {
  ir::Limits limits;
  limits.missing_calls = kernels::missing_calls();
  limits.gathers_inside = true;
  limits.channels_last = true;
  return limits;
}

plan::Plan planned(const std::vector<Tensor>& outputs, const ir::Limits& limits = of_a_gpu()) {
  plan::Request request;
  for (const Tensor& output : outputs) request.outputs.push_back(value_of(output));
  request.limits = limits;
  return plan::make_plan(request);
}

Tensor image(const Dims& shape, DType dtype = DType::f32) {
  const Options options(dtype, Device("null"));
  return from_bytes(std::vector<std::byte>(static_cast<size_t>(ir::count(shape)) * size_of(dtype)), shape, options);
}

// Launches that are convolutions, and all others.
struct Count {
  size_t convolutions = 0, others = 0;
  bool operator==(const Count&) const = default;
};
void PrintTo(const Count& count, std::ostream* to) {
  *to << count.convolutions << " convolutions and " << count.others << " others";
}
Count count_of(const plan::Plan& plan) {
  Count count;
  for (const plan::Launch& launch : plan.launches) {
    const auto* call = std::get_if<ir::Call>(&plan.kernels[launch.kernel]);
    ++(call && std::holds_alternative<ir::ConvAttrs>(call->attrs) ? count.convolutions : count.others);
  }
  return count;
}

const Options kNull = Device("null");

// ---- where copies are ----

// One for the image, one for weights of more than a point, one for the result.
TEST(Layout, AConvolutionAloneIsCopiedAtItsEdges) {
  const Tensor x = image({8, 16, 6, 6}), w = image({32, 16, 3, 3}), point = image({32, 16, 1, 1});
  EXPECT_EQ(count_of(planned({nn::conv2d(x, w, {}, {.padding = 1})})), (Count{1, 3}));
  EXPECT_EQ(count_of(planned({nn::conv2d(x, point)})), (Count{1, 2}));
}

TEST(Layout, NothingIsCopiedBetweenConvolutions) {
  const Tensor x = image({8, 16, 6, 6}), first = image({32, 16, 1, 1}), second = image({16, 32, 1, 1});
  EXPECT_EQ(count_of(planned({nn::conv2d(nn::conv2d(x, first), second)})), (Count{2, 2}));
  // relu and the residual sum are one kernel each, as they would be in any order.
  const Tensor y = nn::conv2d(relu(nn::conv2d(x, first)), second) + x;
  EXPECT_EQ(count_of(planned({y})), (Count{2, 3}));
}

TEST(Layout, OfOtherNetworksStaysAsItIs) {
  const Tensor x = image({4, 8, 16}), w = image({16, 8});
  const auto turned = [&] { return matmul(relu(x.transpose(1, 2) * 2.0), w.transpose(0, 1)); };
  ir::Limits plain = of_a_gpu();
  plain.channels_last = false;
  EXPECT_EQ(planned({turned()}).print(), planned({turned()}, plain).print());
}

TEST(Layout, AConvolutionThatIsNotTakenIsAProductOfWindows) {
  const Tensor x = image({8, 16, 6, 6}), w = image({32, 16, 3, 3});
  plan::Request request;
  request.outputs = {value_of(nn::conv2d(x, w))};
  request.limits = of_a_gpu();
  request.takes = [](const ir::Call&) { return false; };
  EXPECT_EQ(count_of(plan::make_plan(request)).convolutions, 0u);
}

// The bytes of the largest value that a plan has in memory, or that a kernel asks for beside its results.
size_t most_bytes(const plan::Plan& plan, const ir::Limits& limits) {
  size_t most = 0;
  for (const plan::Slot& slot : plan.slots) most = std::max(most, slot.bytes);
  for (const plan::Kernel& kernel : plan.kernels) {
    const auto* call = std::get_if<ir::Call>(&kernel);
    if (call && std::holds_alternative<ir::ConvAttrs>(call->attrs))
      most = std::max(most, kernels::lower(*call, limits).scratch_bytes);
  }
  return most;
}

// Of 3 x 3 pixels they would be nine times the image, in each of the three sides.
TEST(Layout, NoMemoryHoldsTheWindowsOfAConvolution) {
  ir::Limits limits = of_a_gpu();
  limits.max_threads = 256;
  limits.subgroup = 32;
  limits.processors = 8;
  limits.shared_bytes = 48 << 10;
  const Tensor x = image({16, 16, 24, 24}).requires_grad_(), w = image({32, 16, 3, 3}).requires_grad_();
  const Tensor y = nn::conv2d(x, w, {}, {.padding = 1});
  plan::Request request;
  for (const Tensor& gradient : grad(std::vector<Tensor>{(y * y).sum()}, std::vector<Tensor>{x, w}))
    request.outputs.push_back(value_of(gradient));
  request.limits = limits;
  request.takes = kernels::takes;
  const plan::Plan plan = plan::make_plan(request);
  EXPECT_EQ(count_of(plan).convolutions, 3u);
  EXPECT_EQ(most_bytes(plan, limits), size_t{16} * 32 * 24 * 24 * 4);  // the result
}

// What is asked about is what is planned.
TEST(Layout, TheDeviceIsAskedAboutTheCallThatItGets) {
  const Tensor x = image({8, 16, 6, 6}, DType::bf16), w = image({32, 16, 3, 3}, DType::bf16);
  plan::Request request;
  request.outputs = {value_of(nn::conv2d(x, w))};
  request.limits = of_a_gpu();
  std::vector<ir::Call> asked;
  request.takes = [&](const ir::Call& call) { return asked.push_back(call), true; };
  const plan::Plan plan = plan::make_plan(request);
  ASSERT_EQ(asked.size(), 1u);
  const auto is_asked = [&](const plan::Kernel& kernel) {
    const auto* call = std::get_if<ir::Call>(&kernel);
    return call && *call == asked[0];
  };
  EXPECT_EQ(std::count_if(plan.kernels.begin(), plan.kernels.end(), is_asked), 1);
}

// Three convolutions with their norms, and a residual sum.
class Bottleneck : public nn::Layer {
 public:
  Bottleneck(int64_t wide, int64_t narrow)
      : first_(wide, narrow, 1, {.bias = false, .options = kNull}),
        second_(narrow, narrow, 3, {.padding = 1, .bias = false, .options = kNull}),
        third_(narrow, wide, 1, {.bias = false, .options = kNull}),
        norm_(narrow, {.options = kNull}),
        norm2_(narrow, {.options = kNull}),
        norm3_(wide, {.options = kNull}) {
    register_module("first", first_);
    register_module("second", second_);
    register_module("third", third_);
    register_module("norm", norm_);
    register_module("norm2", norm2_);
    register_module("norm3", norm3_);
  }
  Tensor forward(const Tensor& x) const override {
    return relu(norm3_(third_(relu(norm2_(second_(relu(norm_(first_(x)))))))) + x);
  }

 private:
  nn::Conv2d first_, second_, third_;
  nn::BatchNorm2d norm_, norm2_, norm3_;
};

TEST(Layout, ABlockAndItsGradientsHaveNoCopiesBetweenLayers) {
  const Autocast in_bf16(DType::bf16);
  const Bottleneck one(64, 16);
  nn::Sequential two;
  const auto launches = [&](const nn::Layer& net) {
    std::vector<Tensor> leaves = net.parameters();
    return count_of(planned(grad(std::vector<Tensor>{net.forward(image({16, 64, 8, 8})).sum()}, leaves)));
  };
  two.emplace<Bottleneck>(64, 16);
  two.emplace<Bottleneck>(64, 16);
  const Count once = launches(one), twice = launches(two);
  EXPECT_EQ(once.convolutions, 8u);  // the image wants no gradient
  EXPECT_EQ(twice.convolutions, 17u);
  // Forward sums, mean and variance of these, and a pass for each norm; backward two passes for each, and two rows of
  // gradients. Weights are made and rounded, and their gradients are results.
  EXPECT_EQ(twice.others - once.others, 3u * (3 + 2 + 2) + 3 + 3);
}

// Launches that add so many numbers for an element.
size_t that_add(const plan::Plan& plan, ptrdiff_t numbers) {
  return static_cast<size_t>(std::count_if(plan.launches.begin(), plan.launches.end(), [&](const auto& launch) {
    const auto* nest = std::get_if<ir::LoopNest>(&plan.kernels[launch.kernel]);
    const auto adds = [](const ir::Instr& instr) {
      return instr.kind == ir::Instr::Kind::apply && instr.op == Op::add;
    };
    return nest && std::count_if(nest->code.begin(), nest->code.end(), adds) >= numbers;
  }));
}

// A norm before the pooling reads it for its sums, and again with them. Of the nine elements of a window four, two, two
// and one are added up for each pixel, all in one kernel.
TEST(Layout, TheGradientOfWindowsThatMeetIsComputedOnce) {
  const Tensor x = image({8, 16, 8, 8}), w = image({32, 16, 1, 1}).requires_grad_();
  const nn::BatchNorm2d norm(32, {.options = kNull});
  const Tensor pooled = nn::max_pool2d(norm(nn::conv2d(x, w)), 3, {.stride = 2, .padding = 1});
  const Tensor sum = (pooled * image({8, 32, 4, 4})).sum();
  const plan::Plan plan = planned(grad(std::vector<Tensor>{sum}, std::vector<Tensor>{w}));
  EXPECT_EQ(that_add(plan, 8), 1u);
  EXPECT_EQ(that_add(plan, 10), 0u);
}

// What windows that meet are taken from is computed into memory once, and not copied from there.
TEST(Layout, ANormBeforePoolingIsNotCopied) {
  const Tensor x = image({8, 16, 8, 8}), w = image({32, 16, 1, 1});
  const nn::BatchNorm2d norm(32, {.options = kNull});
  const plan::Plan plan = planned({nn::max_pool2d(norm(nn::conv2d(x, w)), 3, {.stride = 2, .padding = 1})});
  const auto copies = std::count_if(plan.launches.begin(), plan.launches.end(), [&](const plan::Launch& launch) {
    const auto* call = std::get_if<ir::Call>(&plan.kernels[launch.kernel]);
    return call && call->op == Op::contiguous;
  });
  EXPECT_EQ(copies, 0);
}

// The pixels of each corner of the windows are written into one image; none of these stores copies what is there.
TEST(Layout, StoresIntoOneImageCopyNothing) {
  const Tensor x = image({8, 16, 8, 8}), w = image({32, 16, 1, 1}).requires_grad_();
  const Tensor pooled = nn::max_pool2d(nn::conv2d(x, w), 2);
  const Tensor sum = (pooled * image({8, 32, 4, 4})).sum();
  const plan::Plan plan = planned(grad(std::vector<Tensor>{sum}, std::vector<Tensor>{w}));
  size_t stores = 0, copies = 0;
  for (const plan::Launch& launch : plan.launches) {
    const auto* call = std::get_if<ir::Call>(&plan.kernels[launch.kernel]);
    if (!call || call->op != Op::store) continue;
    ++stores;
    const plan::Slot& written = plan.slots[launch.args.back().slot];
    const bool is_first = !call->inputs[0].map.is_contiguous();  // which fills the rest with zeros
    if (!is_first && written.within != launch.args[0].slot && written.within != plan.slots[launch.args[0].slot].within)
      ++copies;
  }
  EXPECT_EQ(stores, 4u);
  EXPECT_EQ(copies, 0u);
}

// Bytes of one element of each value of so many elements that launches of fused kernels write.
size_t bytes_written(const plan::Plan& plan, int64_t elements) {
  size_t bytes = 0;
  for (const plan::Launch& launch : plan.launches) {
    if (!std::holds_alternative<ir::LoopNest>(plan.kernels[launch.kernel])) continue;
    for (const ir::Type& made : launch.makes) {
      if (ir::count(made.shape) == elements) bytes += size_of(made.dtype);
    }
  }
  return bytes;
}

// Its f32 sums are of bf16 values, which are read again instead of being written as f32.
TEST(Layout, GradientsOfANormAreNotWrittenWiderThanTheyAre) {
  const Autocast in_bf16(DType::bf16);
  const Tensor x = image({8, 16, 8, 8}), first = image({32, 16, 1, 1}).requires_grad_(), second = image({16, 32, 1, 1});
  const nn::BatchNorm2d norm(32, {.options = kNull});
  const Tensor y = nn::conv2d(relu(norm(nn::conv2d(x, first))), second);
  const plan::Plan plan = planned(grad(std::vector<Tensor>{(y * y).sum()}, std::vector<Tensor>{first}));
  // The norm's result for the second convolution, and its gradient for the first.
  EXPECT_EQ(bytes_written(plan, 8 * 32 * 8 * 8), 2u + 2u);
}

const ir::Call* first_call(const plan::Plan& plan, Op op) {
  for (const plan::Kernel& kernel : plan.kernels) {
    const auto* call = std::get_if<ir::Call>(&kernel);
    if (call && call->op == op) return call;
  }
  return nullptr;
}

// What follows reads half as much.
TEST(Layout, UnderAutocastSumsToWhichNothingIsAddedAreWrittenRounded) {
  const Autocast in_bf16(DType::bf16);
  const Tensor x = image({8, 16, 8, 8}), w = image({32, 16, 3, 3}), bias = image({32});
  const plan::Plan plain = planned({nn::conv2d(x, w)}), added = planned({nn::conv2d(x, w, bias)});
  EXPECT_EQ(first_call(plain, Op::conv)->outputs[0].dtype, DType::bf16);
  EXPECT_EQ(first_call(added, Op::conv)->outputs[0].dtype, DType::f32);
}

// Tensor cores take eight channels at a time; zeros beside the three of a picture change no sum.
TEST(Layout, PicturesOfThreeChannelsHaveEightWhereTheyAre16Bits) {
  const auto planned_with = [&](DType dtype) {
    const Tensor x = image({4, 3, 9, 9}, dtype), w = image({16, 3, 3, 3}, dtype).requires_grad_();
    const Tensor y = nn::conv2d(x, w, {}, {.padding = 1});
    return planned(grad(std::vector<Tensor>{(y * y).sum()}, std::vector<Tensor>{w}));
  };
  const plan::Plan low = planned_with(DType::bf16), wide = planned_with(DType::f32);
  ASSERT_TRUE(first_call(low, Op::conv) && first_call(low, Op::conv_weight) && first_call(wide, Op::conv));
  EXPECT_EQ(first_call(low, Op::conv)->inputs[0].map.shape(), (Dims{4, 9, 9, 8}));
  EXPECT_EQ(first_call(low, Op::conv)->inputs[1].map.shape(), (Dims{16, 3, 3, 8}));
  EXPECT_EQ(first_call(low, Op::conv_weight)->outputs[0].shape, (Dims{16, 3, 3, 8}));
  EXPECT_EQ(first_call(wide, Op::conv)->inputs[0].map.shape(), (Dims{4, 9, 9, 3}));
}

// Every second pixel of 224 by kernels of 7: four pixels of three channels are twelve channels, and four zeros.
TEST(Layout, PixelsBetweenAreChannelsOfAFirstConvolutionThatTakesEverySecond) {
  const Tensor x = image({4, 3, 224, 224}, DType::bf16), w = image({64, 3, 7, 7}, DType::bf16).requires_grad_();
  const Tensor y = nn::conv2d(x, w, {}, {.stride = 2, .padding = 3});
  const plan::Plan plan = planned(grad(std::vector<Tensor>{(y * y).sum()}, std::vector<Tensor>{w}));
  ASSERT_TRUE(first_call(plan, Op::conv) && first_call(plan, Op::conv_weight));
  EXPECT_EQ(first_call(plan, Op::conv)->inputs[0].map.shape(), (Dims{4, 115, 115, 16}));
  EXPECT_EQ(first_call(plan, Op::conv)->inputs[1].map.shape(), (Dims{64, 4, 4, 16}));
  EXPECT_EQ(first_call(plan, Op::conv_weight)->outputs[0].shape, (Dims{64, 4, 4, 16}));
}

// ---- that values are what they were ----

std::vector<std::vector<float>> values_of(const std::vector<ir::Value>& outputs) {
  std::vector<std::vector<float>> all;
  for (const ir::Value& output : outputs) all.push_back(tensor_of(output).to_vector<float>());
  return all;
}

void expect_same_values(const std::vector<Tensor>& outputs) {
  std::vector<ir::Value> values;
  for (const Tensor& output : outputs) values.push_back(value_of(output));
  size_t asked = 0;
  const std::vector<ir::Value> moved = plan::with_channels_last(values, [&](const ir::Call&) { return ++asked, true; });
  ASSERT_GT(asked, 0u);
  const std::vector<std::vector<float>> wanted = values_of(values), are = values_of(moved);
  for (size_t i = 0; i < wanted.size(); ++i) {
    ASSERT_EQ(moved[i].shape(), values[i].shape());
    ASSERT_EQ(are[i].size(), wanted[i].size());
    for (size_t k = 0; k < wanted[i].size(); ++k) ASSERT_NEAR(are[i][k], wanted[i][k], 1e-4) << "output " << i;
  }
}

Tensor random_image(const Dims& shape) { return randn(shape, Device("reference")).eval(); }

TEST(LayoutValues, OfAllThreeSidesInGroupsStridedAndDilated) {
  const Tensor x = random_image({2, 4, 7, 6}).requires_grad_(), w = random_image({6, 2, 3, 2}).requires_grad_();
  const Tensor y = nn::conv2d(x, w, {}, {.stride = {2, 1}, .padding = {1, 0}, .dilation = {1, 2}, .groups = 2});
  std::vector<Tensor> outputs = grad(std::vector<Tensor>{(y * y).sum()}, std::vector<Tensor>{x, w});
  outputs.push_back(y);
  expect_same_values(outputs);
}

// With channels of zeros, and with pixels between as channels; of small whole numbers, whose sums are exact.
TEST(LayoutValues, OfPicturesWithThreeChannelsIn16Bits) {
  const auto whole = [&](const Dims& shape) {
    return floor(rand(shape, Device("reference")) * 5.0 - 2.0).to(DType::bf16).eval();
  };
  struct Case {
    Dims image, kernel;
    nn::Conv2dOptions options;
  };
  const Case cases[] = {{{2, 3, 7, 6}, {3, 3}, {.padding = 1}},
                        {{2, 3, 7, 6}, {3, 3}, {.stride = 2, .padding = 1}},
                        {{2, 1, 8, 9}, {4, 3}, {.stride = 2}},
                        {{2, 3, 12, 11}, {7, 7}, {.stride = 2, .padding = 3}},
                        {{2, 4, 9, 8}, {3, 5}, {.stride = {1, 2}, .padding = {0, 2}}}};
  for (const Case& each : cases) {
    const Tensor x = whole(each.image), w = whole({4, each.image[1], each.kernel[0], each.kernel[1]}).requires_grad_();
    const Tensor y = nn::conv2d(x, w, {}, each.options), g = whole(y.shape());
    std::vector<Tensor> outputs = grad(std::vector<Tensor>{(y * g).sum()}, std::vector<Tensor>{w});
    outputs.push_back(y);
    for (Tensor& output : outputs) output = output.to(DType::f32);
    expect_same_values(outputs);
  }
}

TEST(LayoutValues, OfOneAxisAndTransposed) {
  const Tensor x = random_image({2, 4, 9}), w = random_image({3, 4, 3}), back = random_image({3, 5, 2});
  expect_same_values({nn::conv_transpose1d(relu(nn::conv1d(x, w)), back, {}, {.stride = 2})});
}

TEST(LayoutValues, OfSumsPoolingPaddingAndSlicesBehindAConvolution) {
  const Tensor x = random_image({2, 3, 8, 8}).requires_grad_(), w = random_image({4, 3, 3, 3}).requires_grad_();
  const Tensor y = nn::conv2d(x, w, {}, {.padding = 1});
  const Tensor pooled = nn::max_pool2d(relu(y), 3, {.stride = 2, .padding = 1});
  const Tensor joined = cat({y.slice(1, 1, 3), y * 2.0}, 1);
  const Tensor total = pooled.sum() + joined.mean({0, 2, 3}).square().sum() + amax(y, {2, 3}).sum();
  std::vector<Tensor> outputs = grad(std::vector<Tensor>{total}, std::vector<Tensor>{x, w});
  for (const Tensor& one : {y, pooled, joined, y.mean({0, 2, 3}), y.sum({1}, true)}) outputs.push_back(one);
  expect_same_values(outputs);
}

}  // namespace
}  // namespace tenon
