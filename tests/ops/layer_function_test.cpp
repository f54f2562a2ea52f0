// The functions of layers and losses, one row each, on every device: what the reference gives in f64, in every dtype of
// reals, strided and empty arguments, and gradients of first and second order against finite differences. PyTorch's
// numbers for the same functions stand in tests/nn.

#include <gtest/gtest.h>

#include <functional>

#include "tenon/device/registry.h"
#include "tenon/nn/convolution.h"
#include "tenon/nn/ctc_loss.h"
#include "tenon/nn/embedding_bag.h"
#include "tenon/nn/functional.h"
#include "tenon/nn/linear_cross_entropy.h"
#include "tenon/nn/losses.h"
#include "tenon/nn/normalisation.h"
#include "tenon/nn/pooling.h"
#include "tenon/nn/resampling.h"
#include "tenon/tensor/access.h"
#include "tests/ops/differences.h"
#include "tests/ops/functions.h"

namespace tenon::ops_test {
namespace {

using LayerInputs = std::span<const Tensor>;
using nn::Reduction;

/// Whether gradients have gradients themselves: in PyTorch those of the last two losses have none, either.
enum class Slopes { first, second };

struct LayerRow {
  std::string name;
  std::vector<Dims> arguments;           // filled at random from -2 to 2
  std::function<Tensor(LayerInputs)> f;  // makes indices and targets on the device of its first argument
  size_t batched = 0;                    // how many arguments begin with the batch, which may be empty; 0: none
  Slopes slopes = Slopes::second;
};

Tensor indices_beside(const Tensor& x, const Wholes& values, const Dims& shape) {
  return from_vector(values, shape, Options(DType::i64, x.device()));
}
Tensor counted_like(const Tensor& x) { return arange(x.numel(), Options(DType::i64, x.device())).reshape(x.shape()); }
/// A class for each sample.
Tensor classes_of(const Tensor& x, int64_t classes) {
  return remainder(arange(x.size(0), Options(DType::i64, x.device())) * 2 + 1, classes);
}
/// -1 and 1 by turns.
Tensor signs_of(const Tensor& x) { return (remainder(counted_like(x), 2) * 2 - 1).to(x.dtype()); }
/// Quarters from 0 to 1, and probabilities that are neither 0 nor 1.
Tensor quarters_of(const Tensor& x) { return remainder(counted_like(x) * 3, 5).to(x.dtype()) * 0.25; }
/// 0.5, 1, 1.5, ...: weights that no gradient is asked of.
Tensor weights_beside(const Tensor& x, int64_t count) {
  return (arange(count, Options(DType::i64, x.device())) + 1).to(x.dtype()) * 0.5;
}
Tensor probabilities_of(const Tensor& x) { return sigmoid(x); }

std::vector<LayerRow> rows_of_losses() {
  const std::vector<Dims> one{{2, 3}}, two{{2, 3}, {2, 3}}, three{{2, 3}, {2, 3}, {2, 3}};
  using In = LayerInputs;
  return {
      {"mse_loss", two, [](In x) { return nn::mse_loss(x[0], x[1]); }, 2},
      {"l1_loss", two, [](In x) { return nn::l1_loss(x[0], x[1], Reduction::none); }, 2},
      {"huber_loss", two, [](In x) { return nn::huber_loss(x[0], x[1], 0.75); }, 2},
      {"smooth_l1_loss", two, [](In x) { return nn::smooth_l1_loss(x[0], x[1], 0.75, Reduction::sum); }, 2},
      {"soft_margin_loss", one, [](In x) { return nn::soft_margin_loss(x[0], signs_of(x[0])); }, 1},
      {"hinge_embedding_loss", one,
       [](In x) { return nn::hinge_embedding_loss(x[0], signs_of(x[0]), 1.5, Reduction::none); }, 1},
      {"cross_entropy", one,
       [](In x) {
         return nn::cross_entropy(x[0], classes_of(x[0], 3),
                                  {.weight = weights_beside(x[0], 3), .label_smoothing = 0.1});
       },
       1},
      {"cross_entropy_of_probabilities", one,
       [](In x) { return nn::cross_entropy(x[0], quarters_of(x[0]), {.reduction = Reduction::none}); }, 1},
      {"cross_entropy_of_images",
       {{2, 3, 2}},
       [](In x) { return nn::cross_entropy(x[0], remainder(counted_like(x[0].select(1, 0)), 3), {.ignore_index = 2}); },
       1},
      {"nll_loss", one,
       [](In x) { return nn::nll_loss(log_softmax(x[0], 1), classes_of(x[0], 3), {.reduction = Reduction::sum}); }, 1},
      {"binary_cross_entropy", one,
       [](In x) { return nn::binary_cross_entropy(probabilities_of(x[0]), quarters_of(x[0])); }, 1},
      {"binary_cross_entropy_with_logits", one,
       [](In x) {
         const Tensor weight = weights_beside(x[0], 3);
         return nn::binary_cross_entropy_with_logits(x[0], quarters_of(x[0]), {.weight = weight, .pos_weight = weight});
       },
       1},
      {"kl_div", one, [](In x) { return nn::kl_div(log_softmax(x[0], 1), quarters_of(x[0]), Reduction::batchmean); },
       1},
      {"kl_div_of_logarithms", two,
       [](In x) { return nn::kl_div(log_softmax(x[0], 1), log_softmax(x[1], 1), Reduction::sum, true); }, 2},
      {"cosine_embedding_loss", two,
       [](In x) { return nn::cosine_embedding_loss(x[0], x[1], signs_of(x[0].select(1, 0)), -0.9, Reduction::none); },
       2},
      {"margin_ranking_loss", two,
       [](In x) { return nn::margin_ranking_loss(x[0], x[1], signs_of(x[0]), 0.5, Reduction::none); }, 2},
      {"multi_margin_loss",
       {{2, 4}},
       [](In x) { return nn::multi_margin_loss(x[0], classes_of(x[0], 4), {.p = 2, .margin = 3}); },
       1},
      {"multilabel_margin_loss",
       {{2, 4}},
       [](In x) {
         const Tensor targets = indices_beside(x[0], {2, 0, -1, 1}, {1, 4}).expand({x[0].size(0), 4});
         return nn::multilabel_margin_loss(x[0], targets, Reduction::none);
       },
       1},
      {"multilabel_soft_margin_loss", one,
       [](In x) { return nn::multilabel_soft_margin_loss(x[0], quarters_of(x[0]), weights_beside(x[0], 3)); }, 1},
      {"triplet_margin_loss", three,
       [](In x) { return nn::triplet_margin_loss(x[0], x[1], x[2], {.margin = 5, .swap = true}); }, 3},
      {"triplet_margin_loss_of_order_1", three,
       [](In x) {
         return nn::triplet_margin_loss(x[0], x[1], x[2], {.margin = 9, .p = 1, .reduction = Reduction::none});
       },
       3},
      {"triplet_margin_with_distance_loss", three,
       [](In x) {
         const auto distance = [](const Tensor& a, const Tensor& b) { return sum(square(a - b), -1); };
         return nn::triplet_margin_with_distance_loss(x[0], x[1], x[2], {.distance = distance, .margin = 50});
       },
       3},
      {"poisson_nll_loss", two, [](In x) { return nn::poisson_nll_loss(x[0], x[1]); }, 2},
      {"poisson_nll_loss_full", one,
       [](In x) {
         return nn::poisson_nll_loss(square(x[0]) + 0.5, quarters_of(x[0]) * 8.0,
                                     {.log_input = false, .full = true, .reduction = Reduction::none});
       },
       1},
      {"gaussian_nll_loss", three,
       [](In x) { return nn::gaussian_nll_loss(x[0], x[1], square(x[2]) + 0.5, {.full = true}); }, 3},
      {"gaussian_nll_loss_of_a_number", two,
       [](In x) { return nn::gaussian_nll_loss(x[0], x[1], 0.5, {.reduction = Reduction::none}); }, 2},
      {"cosine_similarity", two, [](In x) { return nn::cosine_similarity(x[0], x[1]); }, 2},
      {"pairwise_distance", two, [](In x) { return nn::pairwise_distance(x[0], x[1], 3, 1e-6, true); }, 2},
      {"ctc_loss",
       {{4, 2, 3}},
       [](In x) {
         const Tensor lengths = indices_beside(x[0], {4, 3}, {2}), labels = indices_beside(x[0], {2, 1}, {2});
         return nn::ctc_loss(log_softmax(x[0], 2), indices_beside(x[0], {1, 2, 2, 0}, {2, 2}), lengths, labels);
       },
       0,
       Slopes::first},
      {"linear_cross_entropy",
       {{3, 2}, {4, 2}},
       [](In x) { return nn::linear_cross_entropy(x[0], x[1], classes_of(x[0], 4), {.chunk = 2}); },
       0,
       Slopes::first},
  };
}

std::vector<LayerRow> rows_of_layers() {
  using In = LayerInputs;
  const std::vector<Dims> table{{5, 3}};
  const auto bags = [](const Tensor& x) { return indices_beside(x, {0, 2, 4, 2}, {2, 2}); };
  return {
      {"linear", {{2, 3}, {4, 3}, {4}}, [](In x) { return nn::linear(x[0], x[1], x[2]); }, 1},
      {"affine", {{2, 3}, {3, 4}, {4}}, [](In x) { return nn::affine(x[0], x[1], x[2]); }, 1},
      {"bilinear", {{2, 3}, {2, 4}, {2, 3, 4}, {2}}, [](In x) { return nn::bilinear(x[0], x[1], x[2], x[3]); }, 2},
      {"embedding", table,
       [](In x) {
         return nn::embedding(x[0], indices_beside(x[0], {4, 1, 4}, {3}));
       }},
      {"embedding_bag_sum", table,
       [=](In x) { return nn::embedding_bag(x[0], bags(x[0]), {.mode = nn::BagMode::sum}); }},
      {"embedding_bag_mean_of_padding", table,
       [=](In x) { return nn::embedding_bag(x[0], bags(x[0]), {.padding_idx = 2}); }},
      {"embedding_bag_max", table,
       [=](In x) { return nn::embedding_bag(x[0], bags(x[0]), {.mode = nn::BagMode::max}); }},
      {"embedding_bag_weights",
       {{5, 3}, {2, 2}},
       [=](In x) {
         return nn::embedding_bag(x[0], bags(x[0]), {.mode = nn::BagMode::sum, .per_sample_weights = x[1]});
       }},
      {"embedding_bag_offsets", table,
       [](In x) {
         return nn::embedding_bag(x[0], indices_beside(x[0], {0, 2, 4, 2, 1}, {5}),
                                  {.offsets = indices_beside(x[0], {0, 2, 2}, {3})});
       }},
      {"embedding_bag_of_i32", table, [=](In x) { return nn::embedding_bag(x[0], bags(x[0]).to(DType::i32)); }},
      {"embedding_bag_of_nothing", table,
       [](In x) {
         return nn::embedding_bag(x[0], indices_beside(x[0], {}, {0, 2}));
       }},
      {"layer_norm", {{2, 4}, {4}, {4}}, [](In x) { return nn::layer_norm(x[0], {4}, x[1], x[2]); }, 1},
      {"rms_norm", {{2, 4}, {4}}, [](In x) { return nn::rms_norm(x[0], {4}, x[1]); }, 1},
      {"group_norm", {{2, 4, 3}, {4}, {4}}, [](In x) { return nn::group_norm(x[0], 2, x[1], x[2]); }, 1},
      {"batch_norm", {{3, 2, 2}, {2}, {2}}, [](In x) { return nn::batch_norm(x[0], {}, {}, x[1], x[2], true); }},
      {"batch_norm_running",
       {{2, 3, 2}, {3}, {3}, {3}},
       [](In x) { return nn::batch_norm(x[0], weights_beside(x[0], 3), weights_beside(x[0], 3), x[1]); },
       1},
      {"attention",
       {{2, 3, 4}, {2, 5, 4}, {2, 5, 4}},
       [](In x) { return nn::scaled_dot_product_attention(x[0], x[1], x[2]); },
       3},
      {"attention_causal",
       {{2, 4, 3}, {2, 4, 3}, {2, 4, 3}},
       [](In x) { return nn::scaled_dot_product_attention(x[0], x[1], x[2], {.causal = true, .scale = 0.5}); },
       3},
      {"conv1d", {{2, 2, 5}, {3, 2, 2}, {3}}, [](In x) { return nn::conv1d(x[0], x[1], x[2], {.stride = 2}); }, 1},
      {"conv_transpose1d", {{2, 2, 3}, {2, 2, 2}, {2}}, [](In x) { return nn::conv_transpose1d(x[0], x[1], x[2]); }, 1},
      {"max_pool1d", {{2, 2, 5}}, [](In x) { return nn::max_pool1d(x[0], 2); }, 1},
      {"max_pool2d", {{1, 2, 4, 3}}, [](In x) { return nn::max_pool2d(x[0], 2, {.stride = 1, .padding = 1}); }, 1},
      {"max_pool3d", {{1, 1, 2, 3, 4}}, [](In x) { return nn::max_pool3d(x[0], 2); }, 1},
      {"avg_pool1d", {{2, 2, 5}}, [](In x) { return nn::avg_pool1d(x[0], 3, {.stride = 1, .padding = 1}); }, 1},
      {"avg_pool2d", {{1, 2, 4, 3}}, [](In x) { return nn::avg_pool2d(x[0], 2, {.count_include_pad = false}); }, 1},
      {"avg_pool3d", {{1, 1, 2, 3, 4}}, [](In x) { return nn::avg_pool3d(x[0], 2); }, 1},
      {"adaptive_avg_pool1d", {{2, 2, 5}}, [](In x) { return nn::adaptive_avg_pool1d(x[0], 3); }, 1},
      {"adaptive_avg_pool2d",
       {{1, 2, 4, 3}},
       [](In x) {
         return nn::adaptive_avg_pool2d(x[0], {3, 2});
       },
       1},
      {"adaptive_max_pool1d", {{2, 2, 5}}, [](In x) { return nn::adaptive_max_pool1d_with_indices(x[0], 3).y; }, 1},
      {"adaptive_max_pool2d",
       {{1, 2, 4, 3}},
       [](In x) {
         return nn::adaptive_max_pool2d_with_indices(x[0], {3, 2}).y;
       },
       1},
      {"interpolate_linear",
       {{1, 2, 3}},
       [](In x) { return nn::interpolate(x[0], {.size = 5, .mode = nn::Resample::linear}); },
       1},
      {"interpolate_bilinear",
       {{1, 1, 2, 3}},
       [](In x) { return nn::interpolate(x[0], {.scale = 2, .mode = nn::Resample::bilinear, .align_corners = true}); },
       1},
      {"interpolate_bicubic",
       {{1, 1, 3, 2}},
       [](In x) { return nn::interpolate(x[0], {.size = 4, .mode = nn::Resample::bicubic}); },
       1},
      {"interpolate_area",
       {{1, 1, 4, 5}},
       [](In x) { return nn::interpolate(x[0], {.size = 3, .mode = nn::Resample::area}); },
       1},
  };
}

std::vector<LayerRow> rows_of_layer_functions() {
  std::vector<LayerRow> all = rows_of_losses();
  for (LayerRow& row : rows_of_layers()) all.push_back(std::move(row));
  return all;
}

class LayerFunctions : public FunctionTest {
 protected:
  ir::DeviceId id() const { return device::find(GetParam()); }
  static std::vector<LayerRow> some(const std::string& device, const std::string& test, size_t few) {
    return cases_for(device, test, rows_of_layer_functions(), few);
  }

  static std::vector<Host> arguments_of(const LayerRow& row, DType dtype, bool is_empty = false) {
    std::vector<Host> made;
    for (Dims shape : row.arguments) {
      if (is_empty && made.size() < row.batched) shape[0] = 0;
      made.push_back(random_host({dtype, shape}, 10 + made.size()));
    }
    return made;
  }
  static Tensor on(ir::DeviceId device, const LayerRow& row, const std::vector<Host>& arguments,
                   Layout layout = Layout::contiguous) {
    std::vector<Tensor> x;
    for (const Host& one : arguments)
      x.push_back(tensor_of(seen(layout, upload(stored(layout, one), device), one.type.shape)));
    return row.f(x);
  }
  /// What the reference gives for the same numbers in f64.
  static Tensor wanted(const LayerRow& row, const std::vector<Host>& arguments) {
    std::vector<Host> wide;
    for (const Host& one : arguments) wide.emplace_back(ir::Type{DType::f64, one.type.shape}, one.numbers());
    return on(device::find("reference"), row, wide);
  }
  /// The function's elements times weights, which are one more argument, summed.
  static Function weighted(const LayerRow& row) {
    return [f = row.f](LayerInputs x) { return sum(f(x.first(x.size() - 1)) * x.back()); };
  }
  static std::vector<Host> with_weights(const LayerRow& row) {
    std::vector<Host> at = arguments_of(row, DType::f64);
    at.push_back(random_host(value_of(wanted(row, at)).type(), 5));
    return at;
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, LayerFunctions, testing::ValuesIn(computing_devices()), device_name);

TEST_P(LayerFunctions, GiveWhatTheReferenceGivesInF64) {
  for (const LayerRow& row : some(GetParam(), "values", 4)) {
    for (const auto& [dtype, tolerance] :
         {std::pair(DType::f32, 1e-5), std::pair(DType::f16, 6e-3), std::pair(DType::bf16, 5e-2)}) {
      const std::vector<Host> arguments = arguments_of(row, dtype);
      const Tensor got = on(id(), row, arguments), expected = wanted(row, arguments);
      EXPECT_EQ(dtype_of(got) + shape_of(got), std::string(name(dtype)) + shape_of(expected)) << row.name;
      EXPECT_TRUE(is(got, expected.to_vector<double>(), tolerance)) << row.name << " of " << name(dtype);
    }
  }
}

TEST_P(LayerFunctions, TakeStridedArguments) {
  for (const LayerRow& row : some(GetParam(), "strided", 3)) {
    const std::vector<Host> arguments = arguments_of(row, DType::f32);
    for (const Layout layout : {Layout::transposed, Layout::stepped})
      EXPECT_TRUE(is(on(id(), row, arguments, layout), wanted(row, arguments).to_vector<double>(), 1e-5))
          << row.name << ", " << name(layout);
  }
}

TEST_P(LayerFunctions, TakeABatchOfNothing) {
  for (const LayerRow& row : some(GetParam(), "empty", 3)) {
    if (row.batched == 0) continue;
    const std::vector<Host> arguments = arguments_of(row, DType::f32, true);
    const Tensor got = on(id(), row, arguments), expected = wanted(row, arguments);
    EXPECT_EQ(shape_of(got), shape_of(expected)) << row.name;
    EXPECT_TRUE(is(got, expected.to_vector<double>())) << row.name;
  }
}

TEST_P(LayerFunctions, HaveGradientsThatAreSlopes) {
  if (const std::string why = why_no_f64(GetParam()); !why.empty()) GTEST_SKIP() << why;
  for (const LayerRow& row : some(GetParam(), "slopes", 2)) {
    EXPECT_TRUE(gradient_is_slope(weighted(row), with_weights(row), id())) << row.name;
  }
}

TEST_P(LayerFunctions, HaveGradientsOfGradients) {
  if (const std::string why = why_no_f64(GetParam()); !why.empty()) GTEST_SKIP() << why;
  for (const LayerRow& row : some(GetParam(), "second slopes", 2)) {
    if (row.slopes != Slopes::second) continue;
    EXPECT_TRUE(second_gradient_is_slope(weighted(row), with_weights(row), id())) << row.name;
  }
}

}  // namespace
}  // namespace tenon::ops_test
