// Gradients of the functions of tensor/ops.h: against finite differences where they are smooth, against PyTorch's
// choice where they are not, and finite where a formula could make 0 times infinity.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "tenon/device/registry.h"
#include "tenon/nn/functional.h"
#include "tenon/nn/images.h"
#include "tenon/nn/losses.h"
#include "tenon/nn/normalisation.h"
#include "tenon/nn/pooling.h"
#include "tenon/nn/resampling.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/ops.h"
#include "tests/ops/differences.h"
#include "tests/ops/rows.h"

namespace tenon::ops_test {
namespace {

using Numbers = std::vector<double>;
using Xs = std::span<const Tensor>;

constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

// ---- Finite differences --------------------------------------------------------------------------------------------

struct Smooth {
  std::string name;
  std::vector<Dims> arguments;  // filled at random from -2 to 2
  std::function<Tensor(Xs)> f;
};

void PrintTo(const Smooth& tested, std::ostream* out) { *out << tested.name; }  // NOLINT: GoogleTest's name

/// Away from zero, on the positive side.
Tensor positive(const Tensor& x) { return square(x) + 0.3; }

Tensor indices(const Tensor& like, const std::vector<int64_t>& values, const Dims& shape) {
  return from_vector(values, shape, Options(like.device()));
}

std::vector<Smooth> elementwise_functions() {
  const std::vector<Dims> one{{2, 3}}, two{{2, 3}, {2, 3}}, spread{{2, 1}, {3}};
  return {
      {"sub", spread, [](Xs x) { return x[0] - x[1]; }},
      {"pad_reflect", one, [](Xs x) { return nn::pad(x[0], {1, 2}, "reflect") * 2.0; }},
      {"unfold_image", {{2, 3, 4}}, [](Xs x) { return nn::unfold(x[0] * x[0], {2}); }},
      {"fold_image", {{4, 6}}, [](Xs x) { return nn::fold(x[0] * x[0], {3, 4}, {2}); }},
      {"pixel_shuffle", {{4, 1, 2}}, [](Xs x) { return nn::pixel_shuffle(x[0] * x[0], 2); }},
      {"grid_sample", {{1, 2, 3, 4}, {1, 2, 2, 2}}, [](Xs x) { return nn::grid_sample(x[0], x[1] * 0.31); }},
      {"affine_grid", {{1, 2, 3}}, [](Xs x) { return nn::affine_grid(x[0] * x[0], {1, 1, 2, 2}); }},
      {"local_response_norm", {{2, 3, 4}}, [](Xs x) { return nn::local_response_norm(x[0], 2, 0.1); }},
      {"normalize", one, [](Xs x) { return nn::normalize(x[0]); }},
      {"mul_broadcast", spread, [](Xs x) { return x[0] * x[1]; }},
      {"div", two, [](Xs x) { return x[0] / positive(x[1]); }},
      {"div_number", one, [](Xs x) { return 2.0 / positive(x[0]); }},
      {"remainder", two, [](Xs x) { return remainder(x[0] * 3.0, positive(x[1])); }},
      {"remainder_negative", two, [](Xs x) { return remainder(x[0] * 3.0, -positive(x[1])); }},
      {"fmod", two, [](Xs x) { return fmod(x[0] * 3.0, positive(x[1])); }},
      {"pow_tensors", two, [](Xs x) { return pow(positive(x[0]), x[1]); }},
      {"pow_0", one, [](Xs x) { return pow(x[0], 0.0) * x[0]; }},
      {"pow_1", one, [](Xs x) { return pow(x[0], 1.0); }},
      {"pow_2", one, [](Xs x) { return pow(x[0], 2.0); }},
      {"pow_3", one, [](Xs x) { return pow(x[0], 3.0); }},
      {"pow_4", one, [](Xs x) { return pow(x[0], 4.0); }},
      {"pow_half", one, [](Xs x) { return pow(positive(x[0]), 0.5); }},
      {"pow_minus_1", one, [](Xs x) { return pow(positive(x[0]), -1.0); }},
      {"pow_real", one, [](Xs x) { return pow(positive(x[0]), 2.5); }},
      {"pow_of_number", one, [](Xs x) { return pow(2.0, x[0]); }},
      {"maximum", two, [](Xs x) { return maximum(x[0], x[1]); }},
      {"minimum", two, [](Xs x) { return minimum(x[0], x[1]); }},
      {"where", two, [](Xs x) { return where(lt(x[0], x[1]), x[0] * x[1], x[1]); }},
      {"masked_fill", one, [](Xs x) { return masked_fill(x[0] * x[0], lt(x[0], 0.5), 3); }},
      {"rsqrt", one, [](Xs x) { return rsqrt(positive(x[0])); }},
      {"square", one, [](Xs x) { return square(x[0]); }},
      {"reciprocal", one, [](Xs x) { return reciprocal(positive(x[0])); }},
      {"exp2", one, [](Xs x) { return exp2(x[0]); }},
      {"log2", one, [](Xs x) { return log2(positive(x[0])); }},
      {"log10", one, [](Xs x) { return log10(positive(x[0])); }},
      {"tan", one, [](Xs x) { return tan(x[0] * 0.7); }},
      {"sinh", one, [](Xs x) { return sinh(x[0]); }},
      {"cosh", one, [](Xs x) { return cosh(x[0]); }},
      {"clamp", one, [](Xs x) { return clamp(x[0] * x[0], 0.5, 2.0); }},
      {"nan_to_num", one, [](Xs x) { return nan_to_num(x[0]); }},
      {"fmax", two, [](Xs x) { return fmax(x[0], x[1]); }},
      {"fmin", two, [](Xs x) { return fmin(x[0], x[1]); }},
      {"xlogy", two, [](Xs x) { return xlogy(x[0], positive(x[1])); }},
      {"erfinv", one, [](Xs x) { return erfinv(x[0] * 0.4); }},
      {"relu6", one, [](Xs x) { return relu6(x[0] * 4.0) * x[0]; }},
      {"hardtanh", one, [](Xs x) { return hardtanh(x[0] * x[0], -1, 2); }},
      {"hardsigmoid", one, [](Xs x) { return hardsigmoid(x[0] * 2.0) * x[0]; }},
      {"celu", one, [](Xs x) { return celu(x[0], 0.7) * x[0]; }},
      {"selu", one, [](Xs x) { return selu(x[0]) * x[0]; }},
      {"logsigmoid", one, [](Xs x) { return logsigmoid(x[0]); }},
      {"softsign", one, [](Xs x) { return softsign(x[0]); }},
      {"tanhshrink", one, [](Xs x) { return tanhshrink(x[0]); }},
      {"hardshrink", one, [](Xs x) { return hardshrink(x[0], 0.5) * x[0]; }},
      {"softshrink", one, [](Xs x) { return softshrink(x[0], 0.5) * x[0]; }},
      {"threshold", one, [](Xs x) { return threshold(x[0], 0.1, 3) * x[0]; }},
      {"prelu", {{2, 3}, {3}}, [](Xs x) { return prelu(x[0], x[1]) * x[0]; }},
      {"glu", {{2, 4}}, [](Xs x) { return glu(x[0]); }},
      {"softmin", one, [](Xs x) { return softmin(x[0], 1) * x[0]; }},
      {"inner", two, [](Xs x) { return inner(x[0], x[1]); }},
      {"kron", spread, [](Xs x) { return kron(x[0], x[1]); }},
      {"cross", two, [](Xs x) { return cross(x[0], x[1]); }},
      {"diag_embed", one, [](Xs x) { return diag_embed(x[0] * x[0], -1); }},
      {"relu", one, [](Xs x) { return relu(x[0]) * x[0]; }},
      {"leaky_relu", one, [](Xs x) { return leaky_relu(x[0], 0.1) * x[0]; }},
      {"elu", one, [](Xs x) { return elu(x[0], 1.5); }},
      {"softplus", one, [](Xs x) { return softplus(x[0], 2, 3); }},
      {"silu", one, [](Xs x) { return silu(x[0]); }},
      {"mish", one, [](Xs x) { return mish(x[0]); }},
      {"hardswish", one, [](Xs x) { return hardswish(x[0] * 2.5); }},
      {"gelu", one, [](Xs x) { return gelu(x[0]); }},
      {"gelu_tanh", one, [](Xs x) { return gelu(x[0], "tanh"); }},
      {"add_alpha", spread, [](Xs x) { return add(x[0], square(x[1]), 0.5); }},
      {"atan2", two, [](Xs x) { return atan2(x[0], x[1]); }},
      {"hypot", two, [](Xs x) { return hypot(x[0], x[1]); }},
      {"logaddexp", spread, [](Xs x) { return logaddexp(x[0], x[1]); }},
      {"logaddexp2", spread, [](Xs x) { return logaddexp2(x[0], x[1]); }},
      {"lerp", two, [](Xs x) { return lerp(x[0], x[1], sigmoid(x[0])); }},
      {"addcmul", two, [](Xs x) { return addcmul(x[0], x[0], x[1], 2); }},
      {"addcdiv", two, [](Xs x) { return addcdiv(x[0], x[0], positive(x[1]), 2); }},
      {"asin", one, [](Xs x) { return asin(x[0] * 0.45); }},
      {"acos", one, [](Xs x) { return acos(x[0] * 0.45); }},
      {"atan", one, [](Xs x) { return atan(x[0] * 2.0); }},
      {"asinh", one, [](Xs x) { return asinh(x[0]); }},
      {"acosh", one, [](Xs x) { return acosh(positive(x[0]) + 1.0); }},
      {"atanh", one, [](Xs x) { return atanh(x[0] * 0.45); }},
      {"erfc", one, [](Xs x) { return erfc(x[0] * 1.5); }},
      {"lgamma", one, [](Xs x) { return lgamma(x[0] - 0.1); }},
      {"digamma", one, [](Xs x) { return digamma(positive(x[0])); }},
      {"polygamma", one, [](Xs x) { return polygamma(2, positive(x[0])); }},
      {"polygamma_below_0", one, [](Xs x) { return polygamma(1, x[0] * 0.1 - 1.5); }},
      {"mvlgamma", one, [](Xs x) { return mvlgamma(positive(x[0]) + 1.0, 3); }},
      {"i0", one, [](Xs x) { return i0(x[0]); }},
      {"i0e", one, [](Xs x) { return special_i0e(positive(x[0]) * 4.0); }},
      {"i1", one, [](Xs x) { return special_i1(x[0]); }},
      {"i1e", one, [](Xs x) { return special_i1e(positive(x[0]) * 4.0); }},
      {"erfcx", one, [](Xs x) { return special_erfcx(x[0]); }},
      {"ndtr", one, [](Xs x) { return special_ndtr(x[0]); }},
      {"log_ndtr", one, [](Xs x) { return special_log_ndtr(x[0] * 2.0 - 0.1); }},
      {"ndtri", one, [](Xs x) { return special_ndtri(sigmoid(x[0])); }},
      {"entr", one, [](Xs x) { return special_entr(positive(x[0])); }},
      {"xlog1py", two, [](Xs x) { return special_xlog1py(x[0], positive(x[1])); }},
      {"renorm", one, [](Xs x) { return renorm(x[0], 2, 0, 1.0); }},
      {"pdist", {{4, 3}}, [](Xs x) { return pdist(x[0]); }},
      {"channel_shuffle", {{2, 4, 2}}, [](Xs x) { return channel_shuffle(x[0] * x[0], 2); }},
      {"gradient", {{4}}, [](Xs x) { return gradient(x[0] * x[0], {}, 0, 2)[0]; }},
      {"as_strided", {{6}}, [](Xs x) { return as_strided(x[0], {3, 2}, {1, 2}) * 2.0; }},
      {"as_strided_twice", {{6}}, [](Xs x) { return square(as_strided(x[0], {3, 3}, {1, 1})); }},
      {"logit", one, [](Xs x) { return logit(sigmoid(x[0])); }},
      {"logit_eps", one, [](Xs x) { return square(logit(sigmoid(x[0]), 0.3)); }},
      {"copysign", two, [](Xs x) { return copysign(square(x[0]) * x[0], x[1]); }},
      {"vander", {{3}}, [](Xs x) { return vander(x[0], 4); }},
      {"sinc", one, [](Xs x) { return sinc(x[0]); }},
      {"frac", one, [](Xs x) { return square(frac(x[0])); }},
      {"rrelu", one, [](Xs x) { return rrelu(x[0], 0.1, 0.3) * x[0]; }},
      {"rrelu_in_training", one,
       [](Xs x) {
         Generator same(1);
         return rrelu(x[0], 0.1, 0.3, true, &same) * x[0];
       }},
      {"alpha_dropout", one,
       [](Xs x) {
         Generator same(2);
         return square(nn::alpha_dropout(x[0], 0.4, true, &same));
       }},
      {"dropout2d", {{3, 2, 2}},
       [](Xs x) {
         Generator same(3);
         return square(nn::dropout2d(x[0], 0.5, true, &same));
       }},
      {"gumbel_softmax", {{3, 4}},
       [](Xs x) {
         Generator same(4);
         return nn::gumbel_softmax(x[0], 0.5, false, -1, &same);
       }},
      {"clamp_tensors", two, [](Xs x) { return square(clamp(x[0], x[1] * 0.5, positive(x[1]))); }},
  };
}

std::vector<Smooth> reductions() {
  const std::vector<Dims> matrix{{3, 4}}, cube{{2, 3, 4}};
  return {
      {"sum", cube,
       [](Xs x) {
         return sum(square(x[0]), {0, 2});
       }},
      {"mean", cube, [](Xs x) { return mean(square(x[0]), {1}, true); }},
      {"prod", matrix, [](Xs x) { return prod(x[0], {1}); }},
      {"prod_all", {{2, 3}}, [](Xs x) { return prod(x[0]); }},
      {"amax", cube,
       [](Xs x) {
         return square(amax(x[0], {0, 2}));
       }},
      {"amin", cube,
       [](Xs x) {
         return square(amin(x[0], {0, 1}));
       }},
      {"max_along", matrix, [](Xs x) { return square(max(x[0], 1).first); }},
      {"min_along", matrix, [](Xs x) { return square(min(x[0], 0, true).first); }},
      {"var", matrix, [](Xs x) { return var(x[0], {1}); }},
      {"var_all_uncorrected", matrix, [](Xs x) { return var(x[0], {}, 0); }},
      {"std", matrix, [](Xs x) { return tenon::std(x[0], {0}); }},
      {"norm_2", matrix, [](Xs x) { return norm(x[0], 2, {1}); }},
      {"norm_1", matrix, [](Xs x) { return square(norm(x[0], 1, {0})); }},
      {"norm_3", matrix, [](Xs x) { return norm(x[0], 3); }},
      {"trapezoid", matrix, [](Xs x) { return trapezoid(square(x[0]), {}, 0.5, 0); }},
      {"trapezoid_x", {{3, 4}, {4}}, [](Xs x) { return trapezoid(square(x[0]), x[1]); }},
      {"cov", matrix, [](Xs x) { return cov(x[0]); }},
      {"cov_weighted", {{3, 4}, {4}}, [](Xs x) { return cov(x[0], 1, {}, positive(x[1])); }},
      {"corrcoef", matrix, [](Xs x) { return corrcoef(x[0]); }},
      {"instance_norm",
       {{2, 3, 4}, {3}, {3}},
       [](Xs x) {
         return nn::instance_norm(x[0], {}, {}, x[1], x[2]);
       }},
      {"triplet_with_distance",
       {{3, 4}, {3, 4}, {3, 4}},
       [](Xs x) {
         const auto distance = [](const Tensor& a, const Tensor& b) { return sum(square(a - b), -1); };
         return nn::triplet_margin_with_distance_loss(x[0], x[1], x[2], {.distance = distance, .margin = 50});
       }},
      {"norm_inf", matrix, [](Xs x) { return square(norm(x[0], kInf, {1})); }},
      {"logsumexp", matrix, [](Xs x) { return logsumexp(x[0], {1}); }},
      {"logsumexp_all", matrix,
       [](Xs x) {
         return logsumexp(x[0], {0, 1}, true);
       }},
      {"softmax", matrix, [](Xs x) { return softmax(x[0], 1); }},
      {"softmax_columns", matrix, [](Xs x) { return softmax(x[0], 0); }},
      {"log_softmax", matrix, [](Xs x) { return log_softmax(x[0], -1); }},
      {"cumsum", matrix, [](Xs x) { return square(cumsum(x[0], 1)); }},
      {"cumprod", matrix, [](Xs x) { return cumprod(x[0], 0); }},
      {"cummax", matrix, [](Xs x) { return square(cummax(x[0], 0).first); }},
      {"cummin", matrix, [](Xs x) { return square(cummin(x[0], 1).first); }},
      {"sort", matrix, [](Xs x) { return square(sort(x[0], 0, true).first); }},
      {"topk", matrix, [](Xs x) { return square(topk(x[0], 2).first); }},
      {"topk_smallest", matrix, [](Xs x) { return square(topk(x[0], 2, 0, false).first); }},
      {"nansum", matrix, [](Xs x) { return square(nansum(x[0], 1)); }},
      {"nanmean", matrix, [](Xs x) { return square(nanmean(x[0], 0)); }},
      {"logcumsumexp", matrix, [](Xs x) { return logcumsumexp(x[0], 1); }},
      {"nanmedian", matrix, [](Xs x) { return square(nanmedian(x[0], 1).first); }},
      {"select_scatter", matrix, [](Xs x) { return square(select_scatter(x[0], x[0].select(0, 0) * 2, 0, 1)); }},
      {"slice_scatter", matrix, [](Xs x) { return square(slice_scatter(x[0], x[0].narrow(0, 0, 2) * 2, 0, 1)); }},
      {"median", matrix, [](Xs x) { return square(median(x[0])); }},
      {"median_along", matrix, [](Xs x) { return square(median(x[0], 1).first); }},
      {"kthvalue", matrix, [](Xs x) { return square(kthvalue(x[0], 2).first); }},
      {"quantile", matrix, [](Xs x) { return square(quantile(x[0], 0.3, 1)); }},
      {"nanquantile", matrix, [](Xs x) { return square(nanquantile(x[0], 0.3, 1)); }},
      {"mode", matrix, [](Xs x) { return square(mode(x[0], 1).first); }},
      {"diff", matrix, [](Xs x) { return square(diff(x[0], 2, 1)); }},
  };
}

std::vector<Smooth> shape_functions() {
  const std::vector<Dims> matrix{{3, 4}}, cube{{2, 3, 4}}, two{{2, 3}, {4, 3}};
  return {
      {"reshape", cube,
       [](Xs x) {
         return square(x[0]).reshape({4, -1});
       }},
      {"permute", cube,
       [](Xs x) {
         return square(x[0].permute({2, 0, 1}));
       }},
      {"expand",
       {{3, 1}},
       [](Xs x) {
         return square(x[0].expand({2, 3, 4}));
       }},
      {"flip", matrix,
       [](Xs x) {
         return square(flip(x[0], {0, 1}));
       }},
      {"squeeze_and_unsqueeze", {{1, 3}}, [](Xs x) { return square(x[0].squeeze(0).unsqueeze(-1)); }},
      {"flatten", cube, [](Xs x) { return square(flatten(x[0], 1)); }},
      {"slice", cube,
       [](Xs x) {
         return square(x[0].index({1, Slice(0, 3, 2), Slice({}, {}, -1)}));
       }},
      {"select_columns", matrix,
       [](Xs x) {
         return square(x[0].index({Slice(), indices(x[0], {3, 1, 3}, {3})}));
       }},
      {"pad", matrix,
       [](Xs x) {
         return square(pad(x[0], {1, 2, 0, 1}, 1.5));
       }},
      {"pad_negative", matrix,
       [](Xs x) {
         return square(pad(x[0], {-1, 1}, 2));
       }},
      {"cat", two,
       [](Xs x) {
         return square(cat({x[0], x[1], x[0]}));
       }},
      {"stack",
       {{2, 3}, {2, 3}},
       [](Xs x) {
         return square(stack({x[0], x[1]}, 1));
       }},
      {"split", matrix, [](Xs x) { return split(x[0], 3, 1)[0] * split(x[0], 1, 1)[3]; }},
      {"chunk", matrix, [](Xs x) { return chunk(x[0], 2, 1)[0] * chunk(x[0], 2, 1)[1]; }},
      {"unbind", matrix, [](Xs x) { return unbind(x[0])[0] * unbind(x[0])[2]; }},
      {"repeat",
       {{2, 3}},
       [](Xs x) {
         return square(repeat(x[0], {2, 1, 3}));
       }},
      {"roll", matrix, [](Xs x) { return x[0] * roll(x[0], 1, 1); }},
      {"tril", matrix, [](Xs x) { return square(tril(x[0], 1)); }},
      {"triu", cube, [](Xs x) { return square(triu(x[0])); }},
      {"gather", matrix,
       [](Xs x) {
         return square(gather(x[0], 1, indices(x[0], {0, 3, 3, 2, 1, 1}, {3, 2})));
       }},
      {"gather_fewer_rows", matrix,
       [](Xs x) {
         return square(gather(x[0], 0, indices(x[0], {2, 0, 2}, {1, 3})));
       }},
      {"index_select", matrix,
       [](Xs x) {
         return square(index_select(x[0], 0, indices(x[0], {2, 2, 0}, {3})));
       }},
      {"scatter_add",
       {{3, 2}, {2, 2}},
       [](Xs x) {
         return square(scatter_add(x[0], 0, indices(x[0], {2, 1, 2, 0}, {2, 2}), x[1]));
       }},
      {"scatter_add_larger_source",
       {{2, 3}, {2, 2}},
       [](Xs x) {
         return square(scatter_add(x[0], 1, indices(x[0], {1, 1}, {1, 2}), x[1]));
       }},
      {"diagonal", cube, [](Xs x) { return square(diagonal(x[0], 1, 1, 2)); }},
      {"diag", {{3}}, [](Xs x) { return square(diag(x[0], -1)); }},
      {"trace", matrix, [](Xs x) { return square(trace(x[0])); }},
      {"unfold", matrix, [](Xs x) { return square(unfold(x[0], 1, 3, 1)); }},
      {"movedim", cube, [](Xs x) { return square(movedim(x[0], 0, -1)); }},
      {"stacks", two,
       [](Xs x) {
         return square(vstack({hstack({x[0], x[0]}), hstack({x[1], x[1]})}));
       }},
      {"meshgrid",
       {{2}, {3}},
       [](Xs x) {
         const auto grids = meshgrid({x[0], x[1]});
         return grids[0] * grids[1];
       }},
      {"repeat_interleave", matrix, [](Xs x) { return square(repeat_interleave(x[0], 2, 1)); }},
      {"index_apart", cube,
       [](Xs x) {
         return square(x[0].index({indices(x[0], {1, 1}, {2}), Slice(), indices(x[0], {3, 0}, {2})}));
       }},
      {"index_mask", matrix, [](Xs x) { return square(x[0][x[0] > 0.0]); }},
      {"masked_select", matrix, [](Xs x) { return square(masked_select(x[0], x[0] > 0.0)); }},
      {"masked_scatter", {{3, 4}, {12}}, [](Xs x) { return square(masked_scatter(x[0], x[0] > 0.0, x[1])); }},
      {"index_put",
       {{3, 2}, {2, 2}},
       [](Xs x) {
         Tensor y = x[0] * 1.5;
         y[indices(x[0], {2, 0}, {2})] = x[1];
         return square(y);
       }},
      {"index_put_accumulated",
       {{3, 2}, {2, 2}},
       [](Xs x) {
         Tensor y = x[0] * 1.5;
         y.index_put_({indices(x[0], {2, 2}, {2})}, x[1], true);
         return square(y);
       }},
      {"index_add",
       {{3, 2}, {2, 2}},
       [](Xs x) {
         return square(index_add(x[0], 0, indices(x[0], {2, 2}, {2}), x[1], 2));
       }},
      {"index_copy",
       {{3, 2}, {2, 2}},
       [](Xs x) {
         return square(index_copy(x[0], 0, indices(x[0], {2, 0}, {2}), x[1]));
       }},
      {"index_fill",
       {{3, 2}, {}},
       [](Xs x) {
         return square(index_fill(x[0], 0, indices(x[0], {2, 0}, {2}), x[1]));
       }},
      {"take", matrix,
       [](Xs x) {
         return square(take(x[0], indices(x[0], {5, -1, 5}, {3})));
       }},
      {"take_along_dim", matrix,
       [](Xs x) {
         return square(take_along_dim(x[0], indices(x[0], {2, 0}, {2, 1}), 0));
       }},
      {"scatter",
       {{3, 2}, {2, 2}},
       [](Xs x) {
         return square(scatter(x[0], 0, indices(x[0], {2, 1, 0, 0}, {2, 2}), x[1]));
       }},
      {"scatter_prod",
       {{3, 2}, {2, 2}},
       [](Xs x) {
         return scatter_reduce(x[0], 0, indices(x[0], {2, 1, 2, 0}, {2, 2}), x[1], "prod");
       }},
      {"scatter_prod_alone",
       {{3, 2}, {2, 2}},
       [](Xs x) {
         return square(scatter_reduce(x[0], 0, indices(x[0], {2, 1, 2, 0}, {2, 2}), x[1], "prod", false));
       }},
      {"scatter_mean",
       {{3, 2}, {2, 2}},
       [](Xs x) {
         return square(scatter_reduce(x[0], 0, indices(x[0], {2, 1, 2, 0}, {2, 2}), x[1], "mean"));
       }},
      {"scatter_amax",
       {{3, 2}, {2, 2}},
       [](Xs x) {
         return square(scatter_reduce(x[0], 0, indices(x[0], {2, 1, 2, 0}, {2, 2}), x[1], "amax"));
       }},
      {"scatter_amin",
       {{3, 2}, {2, 2}},
       [](Xs x) {
         return square(scatter_reduce(x[0], 0, indices(x[0], {2, 1, 2, 0}, {2, 2}), x[1], "amin", false));
       }},
  };
}

std::vector<Smooth> products() {
  return {
      {"matmul", {{2, 3}, {3, 4}}, [](Xs x) { return matmul(x[0], x[1]); }},
      {"matmul_transposed", {{3, 2}, {4, 3}}, [](Xs x) { return matmul(x[0].t(), x[1].t()); }},
      {"matmul_vectors", {{3}, {3}}, [](Xs x) { return matmul(x[0], x[1]); }},
      {"matmul_matrix_vector", {{2, 3}, {3}}, [](Xs x) { return matmul(x[0], x[1]); }},
      {"matmul_vector_matrix", {{3}, {3, 2}}, [](Xs x) { return matmul(x[0], x[1]); }},
      {"matmul_batches", {{2, 1, 2, 3}, {2, 3, 2}}, [](Xs x) { return matmul(x[0], x[1]); }},
      {"matmul_one_for_all", {{2, 2, 3}, {3, 2}}, [](Xs x) { return matmul(x[0], x[1]); }},
      {"matmul_with_itself", {{3, 3}}, [](Xs x) { return matmul(x[0], x[0]); }},
      {"outer", {{2}, {3}}, [](Xs x) { return outer(x[0], x[1]); }},
      {"einsum_matmul",
       {{2, 3}, {3, 4}},
       [](Xs x) {
         return einsum("ij,jk->ki", {x[0], x[1]});
       }},
      {"einsum_trace", {{3, 3}}, [](Xs x) { return square(einsum("ii->", {x[0]})); }},
      {"einsum_diagonal", {{3, 3}}, [](Xs x) { return square(einsum("ii->i", {x[0]})); }},
      {"einsum_three",
       {{2, 3}, {3, 2}, {2, 2}},
       [](Xs x) {
         return einsum("ab,bc,cd->ad", {x[0], x[1], x[2]});
       }},
      {"einsum_heads",
       {{1, 2, 3, 2}, {1, 2, 2, 2}},
       [](Xs x) {
         return einsum("bhtd,bhsd->bhts", {x[0], x[1]});
       }},
      {"einsum_broadcast",
       {{2, 1, 2}, {2, 3, 2}},
       [](Xs x) {
         return einsum("abc,abc->ab", {x[0], x[1]});
       }},
      {"bmm", {{2, 2, 3}, {2, 3, 2}}, [](Xs x) { return bmm(x[0], x[1]); }},
      {"addmm", {{2}, {3, 2}, {2, 2}}, [](Xs x) { return addmm(x[0], x[1], x[2], 0.5, 2.0); }},
      {"tensordot", {{2, 3, 2}, {3, 2, 2}}, [](Xs x) { return tensordot(x[0], x[1]); }},
      {"cdist", {{2, 3}, {4, 3}}, [](Xs x) { return cdist(x[0], x[1]); }},
      {"cdist_3", {{2, 3}, {4, 3}}, [](Xs x) { return cdist(x[0], x[1], 3); }},
  };
}

std::vector<Smooth> all_functions() {
  std::vector<Smooth> all;
  for (const auto& group : {elementwise_functions(), reductions(), shape_functions(), products()})
    all.insert(all.end(), group.begin(), group.end());
  return all;
}

using Param = std::tuple<std::string, Smooth>;

class FunctionGradient : public testing::TestWithParam<Param> {
 protected:
  void SetUp() override {
    if (const std::string why = why_no_f64(std::get<0>(GetParam())); !why.empty()) GTEST_SKIP() << why;
  }
  ir::DeviceId device() const { return device::find(std::get<0>(GetParam())); }

  /// The function's elements times weights, summed; the weights are the last argument.
  Function weighted() const {
    const auto f = std::get<1>(GetParam()).f;
    return [f](Xs x) { return sum(f(x.first(x.size() - 1)) * x.back()); };
  }
  std::vector<Host> arguments() const {
    std::vector<Host> at;
    std::vector<Tensor> on_device;
    for (const Dims& shape : std::get<1>(GetParam()).arguments) {
      at.push_back(random_host({DType::f64, shape}, 10 + at.size()));
      on_device.push_back(tensor_of(upload(at.back(), device())));
    }
    at.push_back(random_host(value_of(std::get<1>(GetParam()).f(on_device)).type(), 5));
    return at;
  }
};

TEST_P(FunctionGradient, IsTheSlope) { EXPECT_TRUE(gradient_is_slope(weighted(), arguments(), device())); }

TEST_P(FunctionGradient, HasAGradientItself) {
  EXPECT_TRUE(second_gradient_is_slope(weighted(), arguments(), device()));
}

INSTANTIATE_TEST_SUITE_P(Functions, FunctionGradient,
                         testing::Combine(testing::ValuesIn(computing_devices()), testing::ValuesIn(all_functions())),
                         [](const testing::TestParamInfo<Param>& tested) {
                           return test_name(
                               fmt::format("{}_{}", std::get<0>(tested.param), std::get<1>(tested.param).name));
                         });

// ---- Kinks, ties and limits ----------------------------------------------------------------------------------------

class GradientLimits : public testing::TestWithParam<std::string> {
 protected:
  Tensor made(const Numbers& values, DType dtype = DType::f32) const {
    return from_vector(values, {static_cast<int64_t>(values.size())}, Options(dtype, Device(GetParam())));
  }
  /// The gradient of the sum of f at these points.
  Numbers slopes(const std::function<Tensor(const Tensor&)>& f, const Numbers& at, DType dtype = DType::f32) const {
    Tensor x = made(at, dtype).requires_grad_();
    return grad(sum(f(x)), x).to_vector<double>();
  }
};

INSTANTIATE_TEST_SUITE_P(Devices, GradientLimits, testing::ValuesIn(computing_devices()),
                         [](const testing::TestParamInfo<std::string>& tested) { return test_name(tested.param); });

TEST_P(GradientLimits, ActivationsAtZero) {
  EXPECT_EQ(slopes([](const Tensor& x) { return relu(x); }, {-1, 0, 1}), (Numbers{0, 0, 1}));
  EXPECT_EQ(slopes([](const Tensor& x) { return leaky_relu(x, 0.5); }, {-1, 0, 1}), (Numbers{0.5, 0.5, 1}));
  EXPECT_EQ(slopes([](const Tensor& x) { return elu(x, 2); }, {0, 1}), (Numbers{2, 1}));
}

TEST_P(GradientLimits, CoshBendsAtZero) {
  Tensor x = made({0, -0.0, 1e-30}).requires_grad_();
  const Tensor slope = grad(sum(cosh(x)), x, true);
  EXPECT_EQ(slope.to_vector<float>(), (std::vector<float>{0, 0, 1e-30F}));
  EXPECT_EQ(grad(sum(slope), x).to_vector<double>(), (Numbers{1, 1, 1}));
}

TEST_P(GradientLimits, FloorDivideIsFlat) {
  EXPECT_EQ(slopes([](const Tensor& x) { return floor_divide(x, 2.0); }, {-3, 0, 5}), (Numbers{0, 0, 0}));
}

TEST_P(GradientLimits, ClampIsFlatAtItsEdges) {
  EXPECT_EQ(slopes([](const Tensor& x) { return clamp(x, -1, 1); }, {-2, -1, 0, 1, 2}), (Numbers{0, 0, 1, 0, 0}));
}

TEST_P(GradientLimits, MinimumSharesTiesEvenly) {
  Tensor a = made({1, 2}).requires_grad_(), b = made({1, 3}).requires_grad_();
  EXPECT_EQ(grad(sum(minimum(a, b)), a).to_vector<double>(), (Numbers{0.5, 1}));
  EXPECT_EQ(grad(sum(minimum(a, b)), b).to_vector<double>(), (Numbers{0.5, 0}));
}

TEST_P(GradientLimits, TheSmallestElementsShareTheGradient) {
  EXPECT_EQ(slopes([](const Tensor& x) { return amin(x); }, {2, 1, 1, 3}), (Numbers{0, 0.5, 0.5, 0}));
}

TEST_P(GradientLimits, MaxAlongADimPicksTheFirst) {
  EXPECT_EQ(slopes([](const Tensor& x) { return max(x, 0).first; }, {2, 3, 3}), (Numbers{0, 1, 0}));
}

TEST_P(GradientLimits, ClampSharesTheGradientWithABoundThatIsATensor) {
  EXPECT_EQ(slopes(
                [&](const Tensor& x) {
                  return clamp(x, made({-1, -1, -1}), made({1, 1, 1}));
                },
                {-1, 0, 1}),
            (Numbers{0.5, 1, 0.5}));
}

TEST_P(GradientLimits, ClampBetweenTensorsGivesEveryElementToPyTorchsOwner) {
  // Inside, at either bound, below and above; bounds that are equal, and bounds that have changed places.
  Tensor x = made({1.5, 1, 2, 0, 3, 2, 0, 3, 1, 2}).requires_grad_();
  Tensor low = made({1, 1, 1, 1, 1, 2, 2, 2, 2, 2}).requires_grad_();
  Tensor high = made({2, 2, 2, 2, 2, 2, 2, 2, 1, 1}).requires_grad_();
  sum(clamp(x, low, high)).backward();
  EXPECT_EQ(x.grad().to_vector<double>(), (Numbers{1, 0.5, 0.5, 0, 0, 1, 0, 0, 0, 0}));
  EXPECT_EQ(low.grad().to_vector<double>(), (Numbers{0, 0.5, 0, 1, 0, 0, 1, 0, 0, 0}));
  EXPECT_EQ(high.grad().to_vector<double>(), (Numbers{0, 0, 0.5, 0, 1, 0, 0, 1, 1, 1}));
}

TEST_P(GradientLimits, ClampIsFlatAtNan) {
  EXPECT_EQ(slopes([](const Tensor& x) { return clamp(x, -1, 1); }, {kNan, 0.5}), (Numbers{0, 1}));
  EXPECT_TRUE(std::isnan(clamp(made({kNan}), -1, {}).item<double>()));
}

TEST_P(GradientLimits, EveryCoordinateAsFarApartHasTheWholeSlopeOfTheLargest) {
  Tensor a = made({1, -2, 3, 2}).reshape({1, 4}).requires_grad_(), b = made({0, 1, 0, 5}).reshape({1, 4});
  b.requires_grad_();
  sum(cdist(a, b, kInf)).backward();
  EXPECT_EQ(a.grad().to_vector<double>(), (Numbers{0, -1, 1, -1}));
  EXPECT_EQ(b.grad().to_vector<double>(), (Numbers{0, 1, -1, 1}));
}

TEST_P(GradientLimits, DistancesOfPointsThatLieCloseTogetherKeepTheirSlopes) {
  // Far from 0, a few of the last digits of f32 apart, and the same point once.
  constexpr double kApart = 0x1p-10;
  Tensor a = made({1000, 2000}).reshape({1, 2}).requires_grad_();
  Tensor b = made({1000 + 3 * kApart, 2000 - 4 * kApart, 1000, 2000, 1000 - 4 * kApart, 2000}).reshape({3, 2});
  b.requires_grad_();
  sum(mul(cdist(a, b), made({1, 2, 4}).reshape({1, 3}))).backward();
  const auto is_near = [](const Tensor& found, const Numbers& expected) {
    const Numbers values = found.to_vector<double>();
    ASSERT_EQ(values.size(), expected.size());
    for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], 1e-6) << "element " << i;
  };
  is_near(a.grad(), {-0.6 + 4, 0.8});
  is_near(b.grad(), {0.6, -0.8, 0, 0, -4, 0});
}

TEST_P(GradientLimits, TheNanOnesShareTheGradientOfTheLargestOfAll) {
  const Numbers at{1, kNan, 3, kNan};
  EXPECT_EQ(slopes([](const Tensor& x) { return max(x); }, at), (Numbers{0, 0.5, 0, 0.5}));
  EXPECT_EQ(slopes([](const Tensor& x) { return x.min(); }, at), (Numbers{0, 0.5, 0, 0.5}));
  EXPECT_EQ(slopes([](const Tensor& x) { return x.max(); }, {3, 1, 3}), (Numbers{0.5, 0, 0.5}));
}

TEST_P(GradientLimits, ElementsThatAreTheMedianShareItsGradient) {
  const auto slopes_at = [&](const Numbers& at) { return slopes([](const Tensor& x) { return median(x) * 6.0; }, at); };
  EXPECT_EQ(slopes_at({1, 1, 1, 5, 0}), (Numbers{2, 2, 2, 0, 0}));
  EXPECT_EQ(slopes_at({3, 1, 2}), (Numbers{0, 0, 6}));
  EXPECT_EQ(slopes_at({1, kNan, 3, kNan}), (Numbers{0, 3, 0, 3}));
}

TEST_P(GradientLimits, CountsOfWhatIsNotZeroAreFlat) {
  EXPECT_EQ(slopes([](const Tensor& x) { return norm(x, 0); }, {0, 2, kNan}), (Numbers{0, 0, 0}));
  Tensor a = made({1, 2, 3, 4}).reshape({2, 2}).requires_grad_(), b = made({1, 5}).reshape({1, 2}).requires_grad_();
  sum(cdist(a, b, 0)).backward();
  EXPECT_EQ(a.grad().to_vector<double>(), (Numbers{0, 0, 0, 0}));
  EXPECT_EQ(b.grad().to_vector<double>(), (Numbers{0, 0}));
}

TEST_P(GradientLimits, AddmmWithoutItsFirstOperandIsFlatInIt) {
  Tensor x = made({kNan, kInf}).requires_grad_(), a = made({1, 2}).reshape({1, 2}).requires_grad_();
  const Tensor b = made({1, 2, 3, 4}).reshape({2, 2}), y = addmm(x, a, b, 0.0);
  EXPECT_EQ(y.to_vector<double>(), (Numbers{7, 10}));
  sum(y).backward();
  EXPECT_EQ(x.grad().to_vector<double>(), (Numbers{0, 0}));
  EXPECT_EQ(a.grad().to_vector<double>(), (Numbers{3, 7}));
}

TEST_P(GradientLimits, SourcesWithoutElementsHaveGradientsWithout) {
  const Tensor nowhere = zeros({0}, Options(DType::i64, made({1}).device()));
  using Source = const Tensor&;
  const std::vector<std::pair<const char*, std::function<Tensor(Source x, Source source)>>> functions{
      {"scatter", [&](Source x, Source source) { return scatter(x, 0, nowhere, source); }},
      {"scatter_add", [&](Source x, Source source) { return scatter_add(x, 0, nowhere, source); }},
      {"scatter_reduce", [&](Source x, Source source) { return scatter_reduce(x, 0, nowhere, source, "amax"); }},
      {"index_add", [&](Source x, Source source) { return index_add(x, 0, nowhere, source); }},
      {"index_copy", [&](Source x, Source source) { return index_copy(x, 0, nowhere, source); }},
      {"masked_scatter", [&](Source x, Source source) { return masked_scatter(x, x < 0.0, source); }},
  };
  for (const auto& [name, function] : functions) {
    Tensor x = made({1, 2}).requires_grad_(), source = made({}).requires_grad_();
    const Tensor y = function(x, source);
    EXPECT_EQ(y.to_vector<double>(), (Numbers{1, 2})) << name;
    sum(y).backward();
    EXPECT_EQ(x.grad().to_vector<double>(), (Numbers{1, 1})) << name;
    ASSERT_TRUE(source.grad().defined()) << name;
    EXPECT_EQ(source.grad().shape(), (Dims{0})) << name;
  }
  Tensor value = made({3}).reshape({}).detach().requires_grad_();
  sum(index_fill(made({1, 2}), 0, nowhere, value)).backward();
  EXPECT_EQ(value.grad().to_vector<double>(), (Numbers{0}));
}

TEST_P(GradientLimits, FmodOfAnInfiniteDividendHasAnInfiniteSlope) {
  EXPECT_EQ(slopes(
                [&](const Tensor& b) {
                  return fmod(made({-kInf, kInf, -kInf}), b);
                },
                {2, 2, -2}),
            (Numbers{kInf, -kInf, -kInf}));
  for (double slope : slopes([&](const Tensor& b) { return remainder(made({-kInf, kInf}), b); }, {2, 2}))
    EXPECT_TRUE(std::isnan(slope)) << slope;
}

TEST_P(GradientLimits, Atan2IsFlatAtTheOrigin) {
  EXPECT_EQ(slopes([&](const Tensor& x) { return atan2(x, made({0, 2})); }, {0, 0}), (Numbers{0, 0.5}));
}

TEST_P(GradientLimits, TheLargestSourcesShareTheGradient) {
  Tensor x = made({2, 0}).requires_grad_(), y = made({2, 1, 2}).requires_grad_();
  const Tensor places = from_vector(std::vector<int64_t>{0, 1, 0}, {3}, Options(Device(GetParam())));
  const Tensor most = sum(scatter_reduce(x, 0, places, y, "amax"));
  const double third = grad(most, x).to_vector<double>()[0];
  EXPECT_NEAR(third, 1.0 / 3, 1e-6);
  EXPECT_EQ(grad(most, y).to_vector<double>(), (Numbers{third, 1, third}));
}

TEST_P(GradientLimits, NormOfZeroIsFlat) {
  EXPECT_EQ(slopes([](const Tensor& x) { return norm(x); }, {0, 0}), (Numbers{0, 0}));
  EXPECT_EQ(slopes([](const Tensor& x) { return norm(x, 3); }, {0, 0}), (Numbers{0, 0}));
  EXPECT_EQ(slopes([](const Tensor& x) { return norm(x, 1); }, {0, -2}), (Numbers{0, -1}));
}

TEST_P(GradientLimits, DeviationOfEqualElementsIsFlat) {
  EXPECT_EQ(slopes([](const Tensor& x) { return tenon::std(x); }, {3, 3, 3}), (Numbers{0, 0, 0}));
}

TEST_P(GradientLimits, PowToTheZeroIsFlat) {
  EXPECT_EQ(slopes([](const Tensor& x) { return pow(x, 0.0); }, {0, 2, -3}), (Numbers{0, 0, 0}));
  EXPECT_EQ(slopes([](const Tensor& x) { return pow(x, 2.0); }, {0, 2, -3}), (Numbers{0, 4, -6}));
}

TEST_P(GradientLimits, NanToNumIsFlatWhereItReplaces) {
  EXPECT_EQ(slopes([](const Tensor& x) { return nan_to_num(x); }, {kInf, -kInf, std::nan(""), 2}),
            (Numbers{0, 0, 0, 1}));
}

TEST_P(GradientLimits, CumprodThroughZeros) {
  // y = (2, 0, 0), with the zero replaced by e: (2, 2e, 6e). The slope at the zero is 2 + 6.
  EXPECT_EQ(slopes([](const Tensor& x) { return cumprod(x, 0); }, {2, 0, 3}), (Numbers{1, 8, 0}));
  EXPECT_EQ(slopes([](const Tensor& x) { return cumprod(x, 0); }, {0, 0, 3}), (Numbers{1, 0, 0}));
}

TEST_P(GradientLimits, CummaxBelongsToTheLastOfEqualOnes) {
  EXPECT_EQ(slopes([](const Tensor& x) { return cummax(x, 0).first; }, {2, 2, 1, 3}), (Numbers{1, 2, 0, 1}));
  EXPECT_EQ(slopes([](const Tensor& x) { return cummin(x, 0).first; }, {2, 2, 1, 3}), (Numbers{1, 1, 2, 0}));
}

TEST_P(GradientLimits, LargeInputsHaveFiniteSlopes) {
  struct Case {
    std::string name;
    std::function<Tensor(const Tensor&)> f;
    Numbers wanted;
  };
  const Numbers at{-1e4, -200, 200, 1e4}, steps{0, 0, 1, 1};
  const Case cases[] = {
      {"relu", [](const Tensor& x) { return relu(x); }, steps},
      {"elu", [](const Tensor& x) { return elu(x); }, steps},
      {"softplus", [](const Tensor& x) { return softplus(x); }, steps},
      {"silu", [](const Tensor& x) { return silu(x); }, steps},
      {"mish", [](const Tensor& x) { return mish(x); }, steps},
      {"hardswish", [](const Tensor& x) { return hardswish(x); }, steps},
      {"gelu", [](const Tensor& x) { return gelu(x); }, steps},
      {"gelu_tanh", [](const Tensor& x) { return gelu(x, "tanh"); }, steps},
      {"sigmoid", [](const Tensor& x) { return sigmoid(x); }, {0, 0, 0, 0}},
      {"tanh", [](const Tensor& x) { return tanh(x); }, {0, 0, 0, 0}},
      {"logsumexp", [](const Tensor& x) { return logsumexp(x, {0}); }, {0, 0, 0, 1}},
      {"softmax", [](const Tensor& x) { return softmax(x, 0); }, {0, 0, 0, 0}},
      {"log_softmax", [](const Tensor& x) { return log_softmax(x, 0); }, {1, 1, 1, -3}},
  };
  for (const Case& tested : cases) {
    for (DType dtype : floats_on(GetParam())) {
      const Numbers points = dtype == DType::f16 ? Numbers{-6e4, -200, 200, 6e4} : at;
      EXPECT_TRUE(close(slopes(tested.f, points, dtype), tested.wanted, 1e-6)) << tested.name << " in " << name(dtype);
    }
  }
}

TEST_P(GradientLimits, MaskedScoresHaveNoSlope) {
  EXPECT_EQ(slopes([](const Tensor& x) { return square(softmax(x, 0)); }, {0, 0, -kInf}), (Numbers{0, 0, 0}));
  EXPECT_EQ(slopes([](const Tensor& x) { return logsumexp(x, {0}); }, {0, 0, -kInf}), (Numbers{0.5, 0.5, 0}));
}

}  // namespace
}  // namespace tenon::ops_test
