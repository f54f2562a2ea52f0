// The everyday functions that are made of several ops: one row each, with PyTorch's answer to the same expression on
// the same tensors, on every device.

#include <gtest/gtest.h>

#include "tests/ops/functions.h"

namespace tenon::ops_test {
namespace {

/// What the rows work on.
struct In {
  Tensor x, y;  // (2, 3)
  Tensor u;     // a vector within -1 .. 1
  Tensor p;     // a sorted vector of positive numbers
  Tensor s;     // (3, 3)
  Tensor c;     // 0 .. 23 as (2, 3, 4)
  Tensor nan;   // (2, 3), with a NaN
  Tensor q;     // shares
  Tensor n;     // a vector of integers
  Tensor i;     // of positions 0 .. 2, one of them twice
  Tensor j;     // (2, 3) of positions 0 .. 2
  Tensor m;     // a mask for x
  Tensor e;     // zeros, infinities, NaN, very small and very large numbers
};

struct Everyday {
  std::string name;
  Tensor (*f)(const In&);
  std::string type;  // dtype and shape
  Numbers values;
};

std::vector<Everyday> rows_of_everyday_functions() {
  // clang-format off
  return {
      {"add_alpha", [](const In& t) { return add(t.x, t.y, 0.5); }, "f32(2, 3)", {-0.5, -0.25, 2.25, 3.5, 1.5, 0}},
      {"sub_alpha", [](const In& t) { return sub(t.n, t.n, 3); }, "i64(5,)", {-6, -2, -4, -2, -8}},
      {"atan2", [](const In& t) { return atan2(t.x, t.y); }, "f32(2, 3)", {-0.643501103, 2.89661407, 1.3258177, 1.24904573, -0.124354996, 2.67794514}},
      {"atan2_of_integers", [](const In& t) { return atan2(t.n, 2); }, "f32(5,)", {0.982793748, 0.463647604, 0.785398185, 0.463647604, 1.10714877}},
      {"hypot", [](const In& t) { return hypot(t.x, t.y); }, "f32(2, 3)", {2.5, 1.03077638, 2.06155276, 3.1622777, 4.03112888, 2.23606801}},
      {"logaddexp", [](const In& t) { return logaddexp(t.x, t.y); }, "f32(2, 3)", {2.02975035, 0.501929045, 2.20141339, 3.12692809, 4.01104784, 1.04858732}},
      {"lerp", [](const In& t) { return lerp(t.x, t.y, 0.25); }, "f32(2, 3)", {-0.625, -0.0625, 1.625, 2.5, 0.625, 0.25}},
      {"addcmul", [](const In& t) { return addcmul(t.x, t.x, t.y, 0.5); }, "f32(2, 3)", {-3, 0.125, 2.5, 4.5, -1.5, 0}},
      {"addcdiv", [](const In& t) { return addcdiv(t.x, t.x, t.y, 2); }, "f32(2, 3)", {-3, -0.25, 10, 9, -0.75, 0}},
      {"asin", [](const In& t) { return asin(t.u); }, "f32(4,)", {-0.848062098, -0.125327826, 0.52359879, 1.57079637}},
      {"acos", [](const In& t) { return acos(t.u); }, "f32(4,)", {2.41885829, 1.6961242, 1.04719758, 0}},
      {"atan", [](const In& t) { return atan(t.x); }, "f32(2, 3)", {-0.982793748, 0.244978666, 1.10714877, 1.24904573, -0.463647604, 0.785398126}},
      {"asinh", [](const In& t) { return asinh(t.x); }, "f32(2, 3)", {-1.19476318, 0.247466475, 1.44363546, 1.81844652, -0.481211841, 0.881373584}},
      {"acosh", [](const In& t) { return acosh(t.p); }, "f32(4,)", {kNan, 0, 1.56679928, 4.09406662}},
      {"atanh", [](const In& t) { return atanh(t.u); }, "f32(4,)", {-0.972955108, -0.125657216, 0.549306154, kInf}},
      {"erfc", [](const In& t) { return erfc(t.x); }, "f32(2, 3)", {1.9661051, 0.723673582, 0.00467773527, 2.20904967e-05, 1.52049994, 0.157299206}},
      {"lgamma", [](const In& t) { return lgamma(t.x); }, "f32(2, 3)", {0.860047042, 1.28802252, 0, 0.693147182, 1.26551211, 0}},
      {"lgamma_positive", [](const In& t) { return lgamma(t.p); }, "f32(4,)", {1.28802252, 0, 0.28468287, 71.2570419}},
      {"digamma", [](const In& t) { return digamma(t.x); }, "f32(2, 3)", {0.703156769, -4.22745419, 0.422784209, 0.922784209, 0.0364899151, -0.57721591}},
      {"digamma_positive", [](const In& t) { return digamma(t.p); }, "f32(4,)", {-4.22745419, -0.57721591, 0.703156769, 3.38443828}},
      {"frac", [](const In& t) { return frac(t.x); }, "f32(2, 3)", {-0.5, 0.25, 0, 0, -0.5, 0}},
      {"erfc_far", [](const In& t) { return erfc(t.p + 1); }, "f32(4,)", {0.0770998746, 0.00467773527, 7.43098383e-07, 0}},
      {"isclose", [](const In& t) { return isclose(t.x, t.x + 1e-6); }, "bool(2, 3)", {1, 1, 1, 1, 1, 1}},
      {"clamp_tensors", [](const In& t) { return clamp(t.x, t.y, t.y + 1); }, "f32(2, 3)", {2, 0, 1.5, 2, 4, -1}},
      {"masked_fill_tensor", [](const In& t) { return t.x.masked_fill(t.m, t.s[0][1]); }, "f32(2, 3)", {2, 0.25, 2, 3, 2, 1}},
      {"bitwise_not", [](const In& t) { return ~t.n; }, "i64(5,)", {-4, -2, -3, -2, -5}},
      {"sum_of_one_dim", [](const In& t) { return t.c.sum(1); }, "f32(2, 4)", {12, 15, 18, 21, 48, 51, 54, 57}},
      {"sum_of_last", [](const In& t) { return t.c.sum(-1, true); }, "f32(2, 3, 1)", {6, 22, 38, 54, 70, 86}},
      {"mean_of_first", [](const In& t) { return t.c.mean(0); }, "f32(3, 4)", {6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17}},
      {"prod", [](const In& t) { return t.x.prod(1); }, "f32(2,)", {-0.75, -1.5}},
      {"var", [](const In& t) { return t.x.var(1); }, "f32(2,)", {3.0625, 3.08333325}},
      {"std", [](const In& t) { return t.x.std(0, 0); }, "f32(3,)", {2.25, 0.375, 0.5}},
      {"norm", [](const In& t) { return t.x.norm(2, 1); }, "f32(2,)", {2.51246881, 3.20156217}},
      {"nansum", [](const In& t) { return nansum(t.nan, 1); }, "f32(2,)", {4, 11}},
      {"nanmean", [](const In& t) { return nanmean(t.nan); }, "f32()", {3}},
      {"count_nonzero", [](const In& t) { return count_nonzero(t.m, 0); }, "i64(3,)", {1, 1, 1}},
      {"max_values", [](const In& t) { return t.x.max(1).first; }, "f32(2,)", {2, 3}},
      {"min_indices", [](const In& t) { return t.x.min(1).second; }, "i64(2,)", {0, 1}},
      {"median", [](const In& t) { return t.y.median(); }, "f32()", {0.5}},
      {"median_of_dim", [](const In& t) { return t.s.median(0).first; }, "f32(3,)", {4, 5, 6}},
      {"median_of_nan", [](const In& t) { return t.nan.median(1).first; }, "f32(2,)", {kNan, 4}},
      {"median_indices", [](const In& t) { return t.y.median(1, true).second; }, "i64(2, 1)", {2, 0}},
      {"kthvalue", [](const In& t) { return t.x.kthvalue(2).first; }, "f32(2,)", {0.25, 1}},
      {"kthvalue_indices", [](const In& t) { return t.x.kthvalue(2, 0).second; }, "i64(3,)", {1, 0, 0}},
      {"quantile", [](const In& t) { return t.x.quantile(0.3); }, "f32()", {-0.124999955}},
      {"quantile_of_dim", [](const In& t) { return t.x.quantile(0.6, 1, true); }, "f32(2, 1)", {0.600000083, 1.4000001}},
      {"quantiles", [](const In& t) { return t.x.quantile(t.q, 1); }, "f32(3, 2)", {-1.5, -0.5, -0.625, 0.25, 1.64999986, 2.5999999}},
      {"quantile_nearest", [](const In& t) { return t.x.quantile(0.6, 1, false, "nearest"); }, "f32(2,)", {0.25, 1}},
      {"quantile_higher", [](const In& t) { return t.x.quantile(0.6, {}, false, "higher"); }, "f32()", {2}},
      {"quantile_lower", [](const In& t) { return t.x.quantile(0.6, {}, false, "lower"); }, "f32()", {1}},
      {"quantile_midpoint", [](const In& t) { return t.x.quantile(t.q, {}, false, "midpoint"); }, "f32(3,)", {-1.5, -0.125, 2.5}},
      {"quantile_of_nan", [](const In& t) { return t.nan.quantile(0.5, 1); }, "f32(2,)", {kNan, 4}},
      {"diff", [](const In& t) { return diff(t.x); }, "f32(2, 2)", {1.75, 1.75, -3.5, 1.5}},
      {"diff_twice", [](const In& t) { return diff(t.s, 2, 0); }, "f32(1, 3)", {0, 0, 0.5}},
      {"sort_method", [](const In& t) { return t.y.sort(1, true).first; }, "f32(2, 3)", {2, 0.5, -1, 4, 1, -2}},
      {"topk_method", [](const In& t) { return t.n.topk(2).second; }, "i64(2,)", {4, 0}},
      {"cumsum_method", [](const In& t) { return t.n.cumsum(0); }, "i64(5,)", {3, 4, 6, 7, 11}},
      {"unflatten", [](const In& t) { return t.c.unflatten(-1, {2, -1}); }, "f32(2, 3, 2, 2)", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}},
      {"movedim", [](const In& t) { return t.c.movedim(0, -1); }, "f32(3, 4, 2)", {0, 12, 1, 13, 2, 14, 3, 15, 4, 16, 5, 17, 6, 18, 7, 19, 8, 20, 9, 21, 10, 22, 11, 23}},
      {"movedims", [](const In& t) { return t.c.movedim({0, 1}, {2, 0}); }, "f32(3, 4, 2)", {0, 12, 1, 13, 2, 14, 3, 15, 4, 16, 5, 17, 6, 18, 7, 19, 8, 20, 9, 21, 10, 22, 11, 23}},
      {"diagonal", [](const In& t) { return t.c.diagonal(1, 1, 2); }, "f32(2, 3)", {1, 6, 11, 13, 18, 23}},
      {"diagonal_below", [](const In& t) { return t.s.diagonal(-1); }, "f32(2,)", {4, 8}},
      {"diag_of_matrix", [](const In& t) { return t.s.diag(1); }, "f32(2,)", {2, 6}},
      {"diag_of_bools", [](const In& t) { return (t.p > 1.0).diag(); }, "bool(4, 4)", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}},
      {"diag_of_vector", [](const In& t) { return t.p.diag(-1); }, "f32(5, 5)", {0, 0, 0, 0, 0, 0.25, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 2.5, 0, 0, 0, 0, 0, 30, 0}},
      {"trace", [](const In& t) { return t.s.trace(); }, "f32()", {15.5}},
      {"unfold", [](const In& t) { return t.c.unfold(2, 2, 1); }, "f32(2, 3, 3, 2)", {0, 1, 1, 2, 2, 3, 4, 5, 5, 6, 6, 7, 8, 9, 9, 10, 10, 11, 12, 13, 13, 14, 14, 15, 16, 17, 17, 18, 18, 19, 20, 21, 21, 22, 22, 23}},
      {"unfold_first", [](const In& t) { return t.n.unfold(0, 3, 2); }, "i64(2, 3)", {3, 1, 2, 2, 1, 4}},
      {"hstack", [](const In& t) { return hstack({t.x, t.y}); }, "f32(2, 6)", {-1.5, 0.25, 2, 2, -1, 0.5, 3, -0.5, 1, 1, 4, -2}},
      {"hstack_vectors", [](const In& t) { return hstack({t.u, t.p}); }, "f32(8,)", {-0.75, -0.125, 0.5, 1, 0.25, 1, 2.5, 30}},
      {"vstack", [](const In& t) { return vstack({t.u, t.p}); }, "f32(2, 4)", {-0.75, -0.125, 0.5, 1, 0.25, 1, 2.5, 30}},
      {"meshgrid", [](const In& t) { return meshgrid({t.u, t.i})[1]; }, "i64(4, 3)", {2, 0, 2, 2, 0, 2, 2, 0, 2, 2, 0, 2}},
      {"meshgrid_xy", [](const In& t) { return meshgrid({t.u, t.p}, "xy")[0]; }, "f32(4, 4)", {-0.75, -0.125, 0.5, 1, -0.75, -0.125, 0.5, 1, -0.75, -0.125, 0.5, 1, -0.75, -0.125, 0.5, 1}},
      {"repeat_interleave", [](const In& t) { return t.x.repeat_interleave(2, 1); }, "f32(2, 6)", {-1.5, -1.5, 0.25, 0.25, 2, 2, 3, 3, -0.5, -0.5, 1, 1}},
      {"repeat_interleave_flat", [](const In& t) { return t.x.repeat_interleave(2); }, "f32(12,)", {-1.5, -1.5, 0.25, 0.25, 2, 2, 3, 3, -0.5, -0.5, 1, 1}},
      {"repeat_interleave_tensor", [](const In& t) { return t.s.repeat_interleave(t.i, 0); }, "f32(4, 3)", {1, 2, 3, 1, 2, 3, 7, 8, 9.5, 7, 8, 9.5}},
      {"index_tensor", [](const In& t) { return t.s[t.i]; }, "f32(3, 3)", {7, 8, 9.5, 1, 2, 3, 7, 8, 9.5}},
      {"index_slice", [](const In& t) { return t.c.index({Ellipsis(), Slice(1, 3)}); }, "f32(2, 3, 2)", {1, 2, 5, 6, 9, 10, 13, 14, 17, 18, 21, 22}},
      {"index_bracket_slice", [](const In& t) { return t.s[Slice(1, 3)]; }, "f32(2, 3)", {4, 5, 6, 7, 8, 9.5}},
      {"index_mask", [](const In& t) { return t.x[t.m]; }, "f32(3,)", {-1.5, 2, -0.5}},
      {"index_mask_rows", [](const In& t) { return t.s[t.i > 0]; }, "f32(2, 3)", {1, 2, 3, 7, 8, 9.5}},
      {"index_mask_and_slice", [](const In& t) { return t.c.index({Slice(), t.i > 0, Slice(0, 2)}); }, "f32(2, 2, 2)", {0, 1, 8, 9, 12, 13, 20, 21}},
      {"index_two_tensors", [](const In& t) { return t.s.index({t.i, t.i - 1}); }, "f32(3,)", {8, 3, 8}},
      {"index_apart", [](const In& t) { return t.c.index({t.j[0], Slice(), t.i}); }, "f32(3, 3)", {14, 18, 22, 0, 4, 8, 14, 18, 22}},
      {"index_negative", [](const In& t) { return t.s[t.i - 3]; }, "f32(3, 3)", {7, 8, 9.5, 1, 2, 3, 7, 8, 9.5}},
      {"take", [](const In& t) { return t.s.take(t.j * 3 - 1); }, "f32(2, 3)", {3, 9.5, 3, 9.5, 9.5, 6}},
      {"take_along_dim", [](const In& t) { return take_along_dim(t.s, t.j, 0); }, "f32(2, 3)", {4, 2, 6, 1, 2, 9.5}},
      {"scatter", [](const In& t) { return t.s.scatter(0, t.j, t.x); }, "f32(3, 3)", {3, -0.5, 3, -1.5, 5, 2, 7, 8, 1}},
      {"scatter_number", [](const In& t) { return t.s.scatter(1, t.j, 7); }, "f32(3, 3)", {7, 7, 3, 7, 5, 7, 7, 8, 9.5}},
      {"scatter_reduce_sum", [](const In& t) { return t.s.scatter_reduce(0, t.j, t.x, "sum"); }, "f32(3, 3)", {4, 1.75, 3, 2.5, 5, 8, 7, 8, 10.5}},
      {"scatter_reduce_sum_alone", [](const In& t) { return t.s.scatter_reduce(0, t.j, t.x, "sum", false); }, "f32(3, 3)", {3, -0.25, 3, -1.5, 5, 2, 7, 8, 1}},
      {"scatter_reduce_prod", [](const In& t) { return t.s.scatter_reduce(0, t.j, t.x, "prod"); }, "f32(3, 3)", {3, -0.25, 3, -6, 5, 12, 7, 8, 9.5}},
      {"scatter_reduce_prod_alone", [](const In& t) { return t.s.scatter_reduce(0, t.j, t.x, "prod", false); }, "f32(3, 3)", {3, -0.125, 3, -1.5, 5, 2, 7, 8, 1}},
      {"scatter_reduce_mean", [](const In& t) { return t.s.scatter_reduce(0, t.j, t.x, "mean"); }, "f32(3, 3)", {2, 0.583333313, 3, 1.25, 5, 4, 7, 8, 5.25}},
      {"scatter_reduce_mean_alone", [](const In& t) { return t.s.scatter_reduce(0, t.j, t.x, "mean", false); }, "f32(3, 3)", {3, -0.125, 3, -1.5, 5, 2, 7, 8, 1}},
      {"scatter_reduce_amax", [](const In& t) { return t.s.scatter_reduce(0, t.j, t.x, "amax"); }, "f32(3, 3)", {3, 2, 3, 4, 5, 6, 7, 8, 9.5}},
      {"scatter_reduce_amax_alone", [](const In& t) { return t.s.scatter_reduce(0, t.j, t.x, "amax", false); }, "f32(3, 3)", {3, 0.25, 3, -1.5, 5, 2, 7, 8, 1}},
      {"scatter_reduce_amin", [](const In& t) { return t.s.scatter_reduce(0, t.j, t.x, "amin"); }, "f32(3, 3)", {1, -0.5, 3, -1.5, 5, 2, 7, 8, 1}},
      {"scatter_reduce_amin_alone", [](const In& t) { return t.s.scatter_reduce(0, t.j, t.x, "amin", false); }, "f32(3, 3)", {3, -0.5, 3, -1.5, 5, 2, 7, 8, 1}},
      {"scatter_reduce_integers", [](const In& t) { return t.n.scatter_reduce(0, t.i, t.i * 5, "amin"); }, "i64(5,)", {0, 1, 2, 1, 4}},
      {"scatter_reduce_integer_mean", [](const In& t) { return t.n.scatter_reduce(0, t.i, t.i * 5, "mean"); }, "i64(5,)", {1, 1, 7, 1, 4}},
      {"index_add", [](const In& t) { return t.s.index_add(0, t.i, t.s * 2, 0.5); }, "f32(3, 3)", {5, 7, 9, 4, 5, 6, 15, 18, 22}},
      {"index_add_columns", [](const In& t) { return t.s.index_add(1, t.i, t.s); }, "f32(3, 3)", {3, 2, 7, 9, 5, 16, 15, 8, 26}},
      {"index_copy", [](const In& t) { return t.s.index_copy(0, t.i, t.s * 2); }, "f32(3, 3)", {8, 10, 12, 4, 5, 6, 14, 16, 19}},
      {"index_fill", [](const In& t) { return t.s.index_fill(1, t.i, -1); }, "f32(3, 3)", {-1, 2, -1, -1, 5, -1, -1, 8, -1}},
      {"masked_select", [](const In& t) { return t.x.masked_select(t.m); }, "f32(3,)", {-1.5, 2, -0.5}},
      {"masked_scatter", [](const In& t) { return t.x.masked_scatter(t.m, t.s); }, "f32(2, 3)", {1, 0.25, 2, 3, 3, 1}},
      {"nonzero", [](const In& t) { return t.m.nonzero(); }, "i64(3, 2)", {0, 0, 0, 2, 1, 1}},
      {"unique", [](const In& t) { return unique(t.n).values; }, "i64(4,)", {1, 2, 3, 4}},
      {"unique_inverse", [](const In& t) { return unique(t.j).inverse; }, "i64(2, 3)", {1, 0, 1, 0, 0, 2}},
      {"unique_counts", [](const In& t) { return unique(t.j).counts; }, "i64(3,)", {3, 2, 1}},
      {"bincount", [](const In& t) { return bincount(t.n); }, "i64(5,)", {0, 2, 1, 1, 1}},
      {"bincount_weights", [](const In& t) { return bincount(t.i, t.s[0], 5); }, "f32(5,)", {2, 0, 4, 0, 0}},
      {"searchsorted", [](const In& t) { return searchsorted(t.p, t.x); }, "i64(2, 3)", {0, 0, 2, 3, 0, 1}},
      {"searchsorted_of_number", [](const In& t) { return searchsorted(t.s.to(int64)[0], 1.5); }, "i64()", {1}},
      {"searchsorted_right", [](const In& t) { return searchsorted(t.p, t.y, true); }, "i64(2, 3)", {2, 0, 1, 2, 3, 0}},
      {"searchsorted_batches", [](const In& t) { return searchsorted(t.s, t.s.flip(1) - 1); }, "i64(3, 3)", {1, 0, 0, 1, 0, 0, 2, 0, 0}},
      {"isin", [](const In& t) { return isin(t.j, t.i); }, "bool(2, 3)", {0, 1, 0, 1, 1, 1}},
      {"isin_reals", [](const In& t) { return isin(t.x, t.y); }, "bool(2, 3)", {0, 0, 1, 0, 0, 1}},
      {"mm", [](const In& t) { return t.x.mm(t.s); }, "f32(2, 3)", {13.5, 14.25, 16, 8, 11.5, 15.5}},
      {"bmm", [](const In& t) { return t.c.bmm(t.c.transpose(1, 2)); }, "f32(2, 3, 3)", {14, 38, 62, 38, 126, 214, 62, 214, 366, 734, 950, 1166, 950, 1230, 1510, 1166, 1510, 1854}},
      {"mv", [](const In& t) { return t.s.mv(t.s[0]); }, "f32(3,)", {14, 32, 51.5}},
      {"addmm", [](const In& t) { return t.y.addmm(t.x, t.s, 0.5, 2); }, "f32(2, 3)", {28, 28, 32.25, 16.5, 25, 30}},
      {"tensordot", [](const In& t) { return tensordot(t.c, t.c.movedim(0, -1)); }, "f32(2, 2)", {506, 1298, 1298, 3818}},
      {"tensordot_dims", [](const In& t) { return tensordot(t.x, t.s, {1}, {0}); }, "f32(2, 3)", {13.5, 14.25, 16, 8, 11.5, 15.5}},
      {"cdist", [](const In& t) { return cdist(t.s, t.x); }, "f32(3, 2)", {3.21130824, 3.77491713, 8.29533005, 7.5, 13.7318058, 12.6688595}},
      {"cdist_1", [](const In& t) { return cdist(t.s, t.x, 1); }, "f32(3, 2)", {5.25, 6.5, 14.25, 11.5, 23.75, 21}},
      {"cdist_largest", [](const In& t) { return cdist(t.s, t.x, kInf); }, "f32(3, 2)", {2.5, 2.5, 5.5, 5.5, 8.5, 8.5}},
      {"cdist_of_no_width", [](const In& t) { return cdist(t.s.narrow(1, 0, 0), t.x.narrow(1, 0, 0), kInf); }, "f32(3, 2)", {0, 0, 0, 0, 0, 0}},
      {"acosh_far_below_its_domain", [](const In& t) { return acosh(t.p * -1e30); }, "f32(4,)", {kNan, kNan, kNan, kNan}},
      {"any_of_bytes", [](const In& t) { return any(t.j.to(DType::u8), 0); }, "u8(3,)", {1, 0, 1}},
      {"all_of_bytes", [](const In& t) { return all(t.j.to(DType::u8)); }, "u8()", {0}},
      {"all_of_integers", [](const In& t) { return all(t.j, 1); }, "bool(2,)", {0, 0}},
      {"asin_at_edges", [](const In& t) { return asin(t.e); }, "f32(12,)", {0, 0, 1.57079637, -1.57079637, kNan, kNan, kNan, 9.99999968e-21, kNan, kNan, kNan, kNan}},
      {"acos_at_edges", [](const In& t) { return acos(t.e); }, "f32(12,)", {1.57079637, 1.57079637, 0, 3.14159274, kNan, kNan, kNan, 1.57079637, kNan, kNan, kNan, kNan}},
      {"atan_at_edges", [](const In& t) { return atan(t.e); }, "f32(12,)", {0, 0, 0.785398126, -0.785398126, 1.57079637, -1.57079637, kNan, 9.99999968e-21, 1.57079637, -1.10714877, -1.19028997, 1.55079901}},
      {"asinh_at_edges", [](const In& t) { return asinh(t.e); }, "f32(12,)", {0, 0, 0.881373584, -0.881373584, kInf, -kInf, kNan, 9.99999968e-21, 46.7448463, -1.44363546, -1.64723122, 4.60527039}},
      {"acosh_at_edges", [](const In& t) { return acosh(t.e); }, "f32(12,)", {kNan, kNan, 0, kNan, kInf, kNan, kNan, kNan, 46.7448463, kNan, kNan, 4.60507011}},
      {"atanh_at_edges", [](const In& t) { return atanh(t.e); }, "f32(12,)", {0, 0, kInf, -kInf, kNan, kNan, kNan, 9.99999968e-21, kNan, kNan, kNan, kNan}},
      {"erfc_at_edges", [](const In& t) { return erfc(t.e); }, "f32(12,)", {1, 1, 0.157299206, 1.84270084, 0, 2, kNan, 1, 0, 1.99532223, 1.99959302, 0}},
      {"lgamma_at_edges", [](const In& t) { return lgamma(t.e); }, "f32(12,)", {kInf, kInf, 0, kInf, kInf, kInf, kNan, 46.0517006, 4.50517026e+21, kInf, -0.0562437177, 144.56575}},
      {"digamma_at_edges", [](const In& t) { return digamma(t.e); }, "f32(12,)", {-kInf, kInf, -0.57721591, kNan, kInf, kNan, kNan, -1.00000002e+20, 46.0517006, kNan, 1.10315669, 3.9019897}},
      {"frac_at_edges", [](const In& t) { return frac(t.e); }, "f32(12,)", {0, 0, 0, 0, kNan, kNan, kNan, 9.99999968e-21, 0, 0, -0.5, 0}},
      {"atan2_at_edges", [](const In& t) { return atan2(t.e, t.e.roll(1, 0)); }, "f32(12,)", {0, 0, 1.57079637, -0.785398126, 1.57079637, -0.785398185, kNan, kNan, 1.57079637, -1.99999994e-20, -2.24553728, 1.62075472}},
      {"atan2_at_equal_edges", [](const In& t) { return atan2(t.e, t.e); }, "f32(12,)", {0, -3.14159274, 0.785398126, -2.3561945, 0.785398185, -2.3561945, kNan, 0.785398126, 0.785398185, -2.3561945, -2.3561945, 0.785398185}},
      {"hypot_at_edges", [](const In& t) { return hypot(t.e, t.e.roll(1, 0)); }, "f32(12,)", {50, 0, 1, 1.41421354, kInf, kInf, kInf, kNan, 1.00000002e+20, 1.00000002e+20, 3.20156217, 50.0624619}},
      {"hypot_at_equal_edges", [](const In& t) { return hypot(t.e, t.e); }, "f32(12,)", {0, 0, 1.41421354, 1.41421354, kInf, kInf, kNan, 1.41421357e-20, 1.41421358e+20, 2.82842708, 3.53553391, 70.7106781}},
      {"logaddexp_at_edges", [](const In& t) { return logaddexp(t.e, t.e.roll(1, 0)); }, "f32(12,)", {50, 0.693147182, 1.31326175, 1.12692797, kInf, kInf, kNan, kNan, 1.00000002e+20, 1.00000002e+20, -1.52592301, 50}},
      {"logaddexp_at_equal_edges", [](const In& t) { return logaddexp(t.e, t.e); }, "f32(12,)", {0.693147182, 0.693147182, 1.69314718, -0.306852818, kInf, -kInf, kNan, 0.693147182, 1.00000002e+20, -1.30685282, -1.80685282, 50.6931458}},
      {"unique_with_nan", [](const In& t) { return unique(t.e).values; }, "f32(11,)", {-kInf, -2.5, -2, -1, 0, 9.99999968e-21, 1, 50, 1.00000002e+20, kInf, kNan}},
      {"sorted_search_of_edges", [](const In& t) { return searchsorted(t.p, t.e); }, "i64(12,)", {0, 0, 1, 0, 4, 0, 4, 0, 4, 0, 0, 4}},
      {"clamp_tensor_edges", [](const In& t) { return clamp(t.e, t.e.roll(1, 0), {}); }, "f32(12,)", {50, 0, 1, 1, kInf, kInf, kNan, kNan, 1.00000002e+20, 1.00000002e+20, -2, 50}},
      {"isclose_at_edges", [](const In& t) { return isclose(t.e, t.e); }, "bool(12,)", {1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1}},
      {"isclose_of_nan", [](const In& t) { return isclose(t.e, t.e, 0, 0, true); }, "bool(12,)", {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
      {"asin_of_integers", [](const In& t) { return asin(t.j); }, "f32(2, 3)", {1.57079637, 0, 1.57079637, 0, 0, kNan}},
      {"lgamma_of_bool", [](const In& t) { return lgamma(t.m); }, "f32(2, 3)", {0, kInf, 0, kInf, 0, kInf}},
      {"erfc_of_bf16", [](const In& t) { return erfc(t.x.to(bfloat16)).to(float32); }, "f32(2, 3)", {1.96875, 0.72265625, 0.00466918945, 2.20537186e-05, 1.5234375, 0.157226562}},
      {"atan2_of_f16", [](const In& t) { return atan2(t.x.to(float16), t.y.to(float16)).to(float32); }, "f32(2, 3)", {-0.643554688, 2.89648438, 1.32617188, 1.24902344, -0.124328613, 2.67773438}},
      {"index_none", [](const In& t) { return t.s[t.i.narrow(0, 0, 0)]; }, "f32(0, 3)", {}},
      {"index_no_mask", [](const In& t) { return t.x[t.x > 9]; }, "f32(0,)", {}},
      {"masked_select_none", [](const In& t) { return t.x.masked_select(t.x > 9); }, "f32(0,)", {}},
      {"nonzero_none", [](const In& t) { return nonzero(t.x > 9); }, "i64(0, 2)", {}},
      {"nonzero_of_number", [](const In& t) { return nonzero(t.x[0][0]); }, "i64(1, 0)", {}},
      {"unique_none", [](const In& t) { return unique(t.n.narrow(0, 0, 0)).values; }, "i64(0,)", {}},
      {"bincount_none", [](const In& t) { return bincount(t.n.narrow(0, 0, 0), {}, 2); }, "i64(2,)", {0, 0}},
      {"searchsorted_none", [](const In& t) { return searchsorted(t.p.narrow(0, 0, 0), t.x); }, "i64(2, 3)", {0, 0, 0, 0, 0, 0}},
      {"isin_none", [](const In& t) { return isin(t.n, t.n.narrow(0, 0, 0)); }, "bool(5,)", {0, 0, 0, 0, 0}},
      {"scatter_none", [](const In& t) { return t.s.scatter(0, t.j.narrow(0, 0, 0), t.x); }, "f32(3, 3)", {1, 2, 3, 4, 5, 6, 7, 8, 9.5}},
      {"scatter_reduce_none", [](const In& t) { return t.s.scatter_reduce(0, t.j.narrow(0, 0, 0), t.x, "prod", false); }, "f32(3, 3)", {1, 2, 3, 4, 5, 6, 7, 8, 9.5}},
      {"index_copy_none", [](const In& t) { return t.s.index_copy(0, t.i.narrow(0, 0, 0), t.s.narrow(0, 0, 0)); }, "f32(3, 3)", {1, 2, 3, 4, 5, 6, 7, 8, 9.5}},
      {"cdist_none", [](const In& t) { return cdist(t.s.narrow(0, 0, 0), t.s); }, "f32(0, 3)", {}},
      {"diff_of_one", [](const In& t) { return diff(t.n.narrow(0, 0, 1)); }, "i64(0,)", {}},
      {"diagonal_outside", [](const In& t) { return t.s.diagonal(5); }, "f32(0,)", {}},
      {"unfold_of_nothing", [](const In& t) { return t.n.unfold(0, 0, 2); }, "i64(3, 0)", {}},
      {"repeat_interleave_none", [](const In& t) { return t.x.repeat_interleave(0, 1); }, "f32(2, 0)", {}},
      {"tensordot_of_nothing", [](const In& t) { return tensordot(t.u, t.p, 0); }, "f32(4, 4)", {-0.1875, -0.75, -1.875, -22.5, -0.03125, -0.125, -0.3125, -3.75, 0.125, 0.5, 1.25, 15, 0.25, 1, 2.5, 30}},
      {"median_of_number", [](const In& t) { return t.x[0][0].median(0).second; }, "i64()", {0}},
      {"quantile_of_number", [](const In& t) { return t.x[0][0].quantile(0.5, 0); }, "f32()", {-1.5}},
      {"take_of_one", [](const In& t) { return t.s.take(t.i[1]); }, "f32()", {1}},
      {"index_of_one", [](const In& t) { return t.s[t.i[0]]; }, "f32(3,)", {7, 8, 9.5}},
      {"index_with_new_axis", [](const In& t) { return t.s.index({t.i, NewAxis(), 1}); }, "f32(3, 1)", {8, 2, 8}},
      {"topk_of_number", [](const In& t) { return topk(t.x[0][0], 1).first; }, "f32()", {-1.5}},
      {"topk_of_number_indices", [](const In& t) { return topk(t.x[0][0], 1, 0).second; }, "i64()", {0}},
      {"gather_of_number", [](const In& t) { return gather(t.x[0][0], 0, t.i[1]); }, "f32()", {-1.5}},
      {"gather_of_number_often", [](const In& t) { return gather(t.x[0][0], -1, t.i * 0); }, "f32(3,)", {-1.5, -1.5, -1.5}},
      {"gather_by_number", [](const In& t) { return gather(t.p, 0, t.i[1]); }, "f32()", {0.25}},
      {"scatter_add_of_number", [](const In& t) { return scatter_add(t.x[0][0], 0, t.i[1], t.x[0][1]); }, "f32()", {-1.25}},
      {"index_select_of_number", [](const In& t) { return index_select(t.x[0][0], 0, t.i[1]); }, "f32()", {-1.5}},
      {"scatter_add_of_number_twice", [](const In& t) { return scatter_add(t.x[0][0], 0, t.n.narrow(0, 0, 2) * 0, t.p); }, "f32()", {-0.25}},
      {"cdist_0", [](const In& t) { return cdist(t.s, t.s + tensor({0., 1., 0.}).to(t.s.device()), 0); }, "f32(3, 3)", {1, 3, 3, 3, 1, 3, 3, 3, 1}},
      {"index_add_of_number", [](const In& t) { return t.x[0][0].index_add(0, t.i[1], t.x[0][1]); }, "f32()", {-1.25}},
      {"logit", [](const In& t) { return logit(t.u); }, "f32(4,)", {kNan, kNan, 0, kInf}},
      {"logit_eps", [](const In& t) { return logit(t.u, 0.6); }, "f32(4,)", {0.405465186, 0.405465186, 0.405465186, -0.405465156}},
      {"copysign", [](const In& t) { return copysign(t.x, t.y); }, "f32(2, 3)", {1.5, -0.25, 2, 3, 0.5, -1}},
      {"copysign_at_edges", [](const In& t) { return copysign(1, t.e); }, "f32(12,)", {1, -1, 1, -1, 1, -1, 1, 1, 1, -1, -1, 1}},
      {"heaviside", [](const In& t) { return heaviside(t.x - 2, t.y); }, "f32(2, 3)", {0, 0, 0.5, 1, 0, 0}},
      {"signbit_at_edges", [](const In& t) { return signbit(t.e); }, "bool(12,)", {0, 1, 0, 1, 0, 1, 0, 0, 0, 1, 1, 0}},
      {"sinc", [](const In& t) { return sinc(t.x); }, "f32(2, 3)", {-0.212206587, 0.900316298, 2.78275341e-08, -2.53053822e-09, 0.636619747, -2.78275341e-08}},
      {"sinc_at_0", [](const In& t) { return sinc(t.n - 1); }, "f32(5,)", {2.78275341e-08, 1, -2.78275341e-08, 1, -2.53053822e-09}},
      {"deg2rad", [](const In& t) { return deg2rad(t.n); }, "f32(5,)", {0.052359879, 0.0174532924, 0.0349065848, 0.0174532924, 0.0698131695}},
      {"rad2deg", [](const In& t) { return rad2deg(t.u); }, "f32(4,)", {-42.9718361, -7.16197252, 28.6478901, 57.2957802}},
      {"logcumsumexp", [](const In& t) { return logcumsumexp(t.x, 1); }, "f32(2, 3)", {-1.5, 0.41022414, 2.18562555, 3, 3.02975035, 3.15317822}},
      {"dist", [](const In& t) { return dist(t.x, t.y); }, "f32()", {7.02228594}},
      {"dist_1", [](const In& t) { return dist(t.x, t.y, 1); }, "f32()", {15.75}},
      {"histc", [](const In& t) { return histc(t.s, 4); }, "f32(4,)", {3, 2, 2, 2}},
      {"histc_between", [](const In& t) { return histc(t.x, 3, -1, 2); }, "f32(3,)", {1, 1, 2}},
      {"histc_of_bf16", [](const In& t) { return histc(t.s.to(bfloat16), 3, 1, 7).to(float32); }, "f32(3,)", {2, 2, 3}},
      {"nanmedian", [](const In& t) { return nanmedian(t.nan); }, "f32()", {3}},
      {"nanmedian_of_dim", [](const In& t) { return nanmedian(t.nan, 1).first; }, "f32(2,)", {1, 4}},
      {"nanmedian_indices", [](const In& t) { return nanmedian(t.nan, 0).second; }, "i64(3,)", {0, 1, 0}},
      {"column_stack", [](const In& t) { return column_stack({t.u, t.p}); }, "f32(4, 2)", {-0.75, 0.25, -0.125, 1, 0.5, 2.5, 1, 30}},
      {"dstack", [](const In& t) { return dstack({t.x, t.y}); }, "f32(2, 3, 2)", {-1.5, 2, 0.25, -1, 2, 0.5, 3, 1, -0.5, 4, 1, -2}},
      {"select_scatter", [](const In& t) { return select_scatter(t.x, t.y[0], 0, 1); }, "f32(2, 3)", {-1.5, 0.25, 2, 2, -1, 0.5}},
      {"slice_scatter", [](const In& t) { return slice_scatter(t.s, t.x, 0, 1); }, "f32(3, 3)", {1, 2, 3, -1.5, 0.25, 2, 3, -0.5, 1}},
      {"slice_scatter_steps", [](const In& t) { return slice_scatter(t.s, t.x, 0, 0, {}, 2); }, "f32(3, 3)", {-1.5, 0.25, 2, 4, 5, 6, 3, -0.5, 1}},
      {"diagonal_scatter", [](const In& t) { return diagonal_scatter(t.s, t.y[0]); }, "f32(3, 3)", {2, 2, 3, 4, -1, 6, 7, 8, 0.5}},
      {"unravel_rows", [](const In& t) { return unravel_index(t.n, {2, 3})[0]; }, "i64(5,)", {1, 0, 0, 0, 1}},
      {"unravel_columns", [](const In& t) { return unravel_index(t.n, {2, 3})[1]; }, "i64(5,)", {0, 1, 2, 1, 1}},
      {"addmv", [](const In& t) { return addmv(t.q, t.s, t.y[0], 2, 0.5); }, "f32(3,)", {0.75, 3.5, 7.17500019}},
      {"addr", [](const In& t) { return addr(t.s, t.y[0], t.q, 0.5, 2); }, "f32(3, 3)", {0.5, 2, 5.0999999, 2, 2, 1.20000005, 3.5, 4.25, 5.6500001}},
      {"baddbmm", [](const In& t) { return baddbmm(t.c.narrow(2, 0, 3), t.c.narrow(2, 0, 3), t.c.narrow(2, 1, 3), 2, 0.5); }, "f32(2, 3, 3)", {11.5, 15, 18.5, 49.5, 59, 68.5, 87.5, 103, 118.5, 359.5, 381, 402.5, 469.5, 497, 524.5, 579.5, 613, 646.5}},
  };
  // clang-format on
}

class EverydayFunctions : public FunctionTest {
 protected:
  In in() const {
    return {.x = reals({-1.5, 0.25, 2, 3, -0.5, 1}, {2, 3}),
            .y = reals({2, -1, 0.5, 1, 4, -2}, {2, 3}),
            .u = reals({-0.75, -0.125, 0.5, 1}),
            .p = reals({0.25, 1, 2.5, 30}),
            .s = reals({1, 2, 3, 4, 5, 6, 7, 8, 9.5}, {3, 3}),
            .c = counting({2, 3, 4}),
            .nan = reals({1, kNan, 3, 2, 5, 4}, {2, 3}),
            .q = reals({0, 0.25, 0.9}),
            .n = wholes({3, 1, 2, 1, 4}),
            .i = wholes({2, 0, 2}),
            .j = wholes({1, 0, 1, 0, 0, 2}, {2, 3}),
            .m = bools({true, false, true, false, true, false}).reshape({2, 3}),
            .e = reals({0, -0.0, 1, -1, kInf, -kInf, kNan, 1e-20, 1e20, -2, -2.5, 50})};
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, EverydayFunctions, testing::ValuesIn(computing_devices()), device_name);

TEST_P(EverydayFunctions, GivePyTorchsAnswers) {
  const In given = in();
  for (const Everyday& row : cases_for(GetParam(), "everyday", rows_of_everyday_functions(), 12)) {
    const Tensor got = row.f(given);
    EXPECT_EQ(dtype_of(got) + shape_of(got), row.type) << row.name;
    EXPECT_TRUE(is(got, row.values, 2e-6)) << row.name;
  }
}

}  // namespace
}  // namespace tenon::ops_test
