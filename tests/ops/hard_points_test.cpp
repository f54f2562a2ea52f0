// Values, first and second derivatives at kinks, ties, zeros of both signs, infinities, NaN and saturated arguments,
// against what PyTorch gave there (tests/golden/hard_points.json, recorded by scripts/record_hard_points.py).
//
// The file and the table below must name the same functions. Where Tenon means to differ, differences() says why; an
// entry there that is not needed any more fails too.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tenon/nn/functional.h"
#include "tenon/nn/losses.h"
#include "tenon/tensor/autograd.h"
#include "tests/ops/functions.h"

namespace tenon::ops_test {
namespace {

using nlohmann::json;
using Xs = std::span<const Tensor>;
using Function = std::function<Tensor(Xs)>;
using nn::Reduction;

/// A number as a row of one.
Tensor as_row(const Tensor& x) { return x.unsqueeze(0); }

const std::map<std::string, Function>& functions() {
  static const std::map<std::string, Function> table{
      {"neg", [](Xs x) { return neg(x[0]); }},
      {"abs", [](Xs x) { return abs(x[0]); }},
      {"sign", [](Xs x) { return sign(x[0]); }},
      {"sqrt", [](Xs x) { return sqrt(x[0]); }},
      {"rsqrt", [](Xs x) { return rsqrt(x[0]); }},
      {"square", [](Xs x) { return square(x[0]); }},
      {"reciprocal", [](Xs x) { return reciprocal(x[0]); }},
      {"exp", [](Xs x) { return exp(x[0]); }},
      {"exp2", [](Xs x) { return exp2(x[0]); }},
      {"expm1", [](Xs x) { return expm1(x[0]); }},
      {"log", [](Xs x) { return log(x[0]); }},
      {"log2", [](Xs x) { return log2(x[0]); }},
      {"log10", [](Xs x) { return log10(x[0]); }},
      {"log1p", [](Xs x) { return log1p(x[0]); }},
      {"sin", [](Xs x) { return sin(x[0]); }},
      {"cos", [](Xs x) { return cos(x[0]); }},
      {"tan", [](Xs x) { return tan(x[0]); }},
      {"tanh", [](Xs x) { return tanh(x[0]); }},
      {"sinh", [](Xs x) { return sinh(x[0]); }},
      {"cosh", [](Xs x) { return cosh(x[0]); }},
      {"erf", [](Xs x) { return erf(x[0]); }},
      {"sigmoid", [](Xs x) { return sigmoid(x[0]); }},
      {"floor", [](Xs x) { return floor(x[0]); }},
      {"ceil", [](Xs x) { return ceil(x[0]); }},
      {"round", [](Xs x) { return round(x[0]); }},
      {"trunc", [](Xs x) { return trunc(x[0]); }},
      {"nan_to_num", [](Xs x) { return nan_to_num(x[0]); }},
      {"clamp", [](Xs x) { return clamp(x[0], -1, 2); }},
      {"clamp_min", [](Xs x) { return clamp(x[0], 0, {}); }},
      {"clamp_max", [](Xs x) { return clamp(x[0], {}, 0); }},
      {"clamp_empty", [](Xs x) { return clamp(x[0], 2, 1); }},
      {"clamp_nan", [](Xs x) { return clamp(x[0], kNan, 1); }},
      {"clamp_tensors", [](Xs x) { return clamp(x[0], x[1], x[2]); }},
      {"acosh", [](Xs x) { return acosh(x[0]); }},
      {"relu", [](Xs x) { return relu(x[0]); }},
      {"leaky_relu", [](Xs x) { return leaky_relu(x[0], 0.125); }},
      {"elu", [](Xs x) { return elu(x[0], 1.5); }},
      {"softplus", [](Xs x) { return softplus(x[0]); }},
      {"softplus_steep", [](Xs x) { return softplus(x[0], 4, 8); }},
      {"silu", [](Xs x) { return silu(x[0]); }},
      {"mish", [](Xs x) { return mish(x[0]); }},
      {"hardswish", [](Xs x) { return hardswish(x[0]); }},
      {"gelu", [](Xs x) { return gelu(x[0]); }},
      {"gelu_tanh", [](Xs x) { return gelu(x[0], "tanh"); }},
      {"pow_0", [](Xs x) { return pow(x[0], 0.0); }},
      {"pow_half", [](Xs x) { return pow(x[0], 0.5); }},
      {"pow_1", [](Xs x) { return pow(x[0], 1.0); }},
      {"pow_1.5", [](Xs x) { return pow(x[0], 1.5); }},
      {"pow_2", [](Xs x) { return pow(x[0], 2.0); }},
      {"pow_3", [](Xs x) { return pow(x[0], 3.0); }},
      {"pow_4", [](Xs x) { return pow(x[0], 4.0); }},
      {"pow_-1", [](Xs x) { return pow(x[0], -1.0); }},
      {"pow_-2", [](Xs x) { return pow(x[0], -2.0); }},
      {"pow_-half", [](Xs x) { return pow(x[0], -0.5); }},
      {"0_pow", [](Xs x) { return pow(0.0, x[0]); }},
      {"1_pow", [](Xs x) { return pow(1.0, x[0]); }},
      {"2_pow", [](Xs x) { return pow(2.0, x[0]); }},
      {"mul", [](Xs x) { return mul(x[0], x[1]); }},
      {"div", [](Xs x) { return div(x[0], x[1]); }},
      {"floor_divide", [](Xs x) { return floor_divide(x[0], x[1]); }},
      {"remainder", [](Xs x) { return remainder(x[0], x[1]); }},
      {"fmod", [](Xs x) { return fmod(x[0], x[1]); }},
      {"pow", [](Xs x) { return pow(x[0], x[1]); }},
      {"maximum", [](Xs x) { return maximum(x[0], x[1]); }},
      {"minimum", [](Xs x) { return minimum(x[0], x[1]); }},
      {"where_less", [](Xs x) { return where(x[0] < x[1], x[0] * x[0], x[1]); }},
      {"mse_loss", [](Xs x) { return nn::mse_loss(x[0], x[1], Reduction::none); }},
      {"l1_loss", [](Xs x) { return nn::l1_loss(x[0], x[1], Reduction::none); }},
      {"huber_loss", [](Xs x) { return nn::huber_loss(x[0], x[1], 1, Reduction::none); }},
      {"huber_loss_half", [](Xs x) { return nn::huber_loss(x[0], x[1], 0.5, Reduction::none); }},
      {"smooth_l1_loss", [](Xs x) { return nn::smooth_l1_loss(x[0], x[1], 1, Reduction::none); }},
      {"smooth_l1_loss_half", [](Xs x) { return nn::smooth_l1_loss(x[0], x[1], 0.5, Reduction::none); }},
      {"smooth_l1_loss_0", [](Xs x) { return nn::smooth_l1_loss(x[0], x[1], 0, Reduction::none); }},
      {"binary_cross_entropy", [](Xs x) { return nn::binary_cross_entropy(x[0], x[1], Reduction::none); }},
      {"binary_cross_entropy_with_logits",
       [](Xs x) { return nn::binary_cross_entropy_with_logits(x[0], x[1], Reduction::none); }},
      {"kl_div", [](Xs x) { return nn::kl_div(x[0], x[1], Reduction::none); }},
      {"kl_div_log", [](Xs x) { return nn::kl_div(x[0], x[1], Reduction::none, true); }},
      {"sum", [](Xs x) { return as_row(sum(x[0])); }},
      {"mean", [](Xs x) { return as_row(mean(x[0])); }},
      {"prod", [](Xs x) { return as_row(prod(x[0])); }},
      {"amax", [](Xs x) { return as_row(amax(x[0])); }},
      {"amin", [](Xs x) { return as_row(amin(x[0])); }},
      {"max", [](Xs x) { return as_row(max(x[0], 0).first); }},
      {"min", [](Xs x) { return as_row(min(x[0], 0).first); }},
      {"max_of_all", [](Xs x) { return as_row(max(x[0])); }},
      {"min_of_all", [](Xs x) { return as_row(min(x[0])); }},
      {"var", [](Xs x) { return as_row(var(x[0])); }},
      {"var_0", [](Xs x) { return as_row(var(x[0], {}, 0)); }},
      {"std", [](Xs x) { return as_row(std(x[0])); }},
      {"std_0", [](Xs x) { return as_row(std(x[0], {}, 0)); }},
      {"norm_-1", [](Xs x) { return as_row(norm(x[0], -1)); }},
      {"norm_0", [](Xs x) { return as_row(norm(x[0], 0)); }},
      {"norm_half", [](Xs x) { return as_row(norm(x[0], 0.5)); }},
      {"norm_1", [](Xs x) { return as_row(norm(x[0], 1)); }},
      {"norm_1.5", [](Xs x) { return as_row(norm(x[0], 1.5)); }},
      {"norm_2", [](Xs x) { return as_row(norm(x[0], 2)); }},
      {"norm_3", [](Xs x) { return as_row(norm(x[0], 3)); }},
      {"norm_inf", [](Xs x) { return as_row(norm(x[0], kInf)); }},
      {"norm_-inf", [](Xs x) { return as_row(norm(x[0], -kInf)); }},
      {"logsumexp", [](Xs x) { return as_row(logsumexp(x[0], {0})); }},
      {"softmax", [](Xs x) { return softmax(x[0], 0); }},
      {"log_softmax", [](Xs x) { return log_softmax(x[0], 0); }},
      {"cumsum", [](Xs x) { return cumsum(x[0], 0); }},
      {"cumprod", [](Xs x) { return cumprod(x[0], 0); }},
      {"sort", [](Xs x) { return sort(x[0], 0).first; }},
      {"cross_entropy",
       [](Xs x) {
         nn::CrossEntropyOptions each;
         each.reduction = Reduction::none;
         return nn::cross_entropy(x[0].unsqueeze(0), zeros({1}, Options(DType::i64, x[0].device())), each);
       }},
      {"layer_norm", [](Xs x) { return nn::layer_norm(x[0], x[0].shape()); }},
      {"rms_norm", [](Xs x) { return nn::rms_norm(x[0], x[0].shape()); }},
  };
  return table;
}

const json& recorded() {
  static const json file = json::parse(std::ifstream(TENON_SOURCE_DIR "/tests/golden/hard_points.json"));
  return file.at("cases");
}

/// Infinities and NaN are texts in the file.
double number_of(const json& value) {
  if (value.is_number()) return value.get<double>();
  return value == "inf" ? kInf : value == "-inf" ? -kInf : kNan;
}

Numbers numbers_of(const json& list) {
  Numbers numbers;
  for (const json& value : list) numbers.push_back(number_of(value));
  return numbers;
}

/// Zeros where nothing of the outputs depends on the input.
std::vector<Tensor> derivatives(const Tensor& output, const std::vector<Tensor>& inputs, const Tensor& seed) {
  std::vector<Tensor> found(inputs.size());
  if (output.requires_grad()) found = grad(std::vector{output}, inputs, {{seed}, true, true});
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!found[i].defined()) found[i] = zeros_like(inputs[i]);
  }
  return found;
}

/// "value", "d0", "d01", ... of elementwise functions.
std::map<std::string, Numbers> at_points(const Function& f, std::vector<Tensor> inputs, bool deep) {
  for (Tensor& x : inputs) {
    if (deep) x.requires_grad_();
  }
  const Tensor value = f(inputs);
  std::map<std::string, Numbers> parts{{"value", value.to_vector<double>()}};
  if (!deep) return parts;
  const std::vector<Tensor> first = derivatives(value, inputs, ones_like(value));
  for (size_t i = 0; i < inputs.size(); ++i) {
    parts[fmt::format("d{}", i)] = first[i].to_vector<double>();
    const std::vector<Tensor> second = derivatives(first[i], inputs, ones_like(first[i]));
    for (size_t j = i; j < inputs.size(); ++j) parts[fmt::format("d{}{}", i, j)] = second[j].to_vector<double>();
  }
  return parts;
}

/// Those of a function of a row, whose elements get weights so that they can be told apart.
std::map<std::string, Numbers> at_row(const Function& f, Tensor row, bool deep) {
  if (deep) row.requires_grad_();
  const Tensor value = f(std::vector{row});
  std::map<std::string, Numbers> parts{{"value", value.to_vector<double>()}};
  if (!deep) return parts;
  const Options options(row.dtype(), row.device());
  const Tensor first = derivatives(value, {row}, arange(value.numel(), options) * 0.25 + 1.0)[0];
  const Tensor second = derivatives(first, {row}, arange(row.numel(), options) * -0.5 + 1.0)[0];
  parts["d0"] = first.to_vector<double>();
  parts["d00"] = second.to_vector<double>();
  return parts;
}

// ---- Where Tenon means to differ ------------------------------------------------------------------------------------

using Where = std::function<bool(const Numbers& at)>;

struct Difference {
  std::string function, parts;  // parts by their names, apart by spaces
  Where where;                  // by the arguments at the point, or by the row
  std::string_view why;
};

bool any_nan(const Numbers& at) {
  return std::any_of(at.begin(), at.end(), [](double x) { return std::isnan(x); });
}
bool any_infinite(const Numbers& at) {
  return std::any_of(at.begin(), at.end(), [](double x) { return std::isinf(x); });
}
bool any_zero(const Numbers& at) {
  return std::any_of(at.begin(), at.end(), [](double x) { return x == 0; });
}
bool extreme(const Numbers& at) {
  return std::any_of(at.begin(), at.end(),
                     [](double x) { return x != 0 && (std::fabs(x) > 1e20 || std::fabs(x) < 1e-20); });
}
bool zero_infinite_or_extreme(const Numbers& at) { return any_zero(at) || any_infinite(at) || extreme(at); }
bool any_point(const Numbers&) { return true; }
Where only(Numbers wanted) {
  return [wanted](const Numbers& at) { return at == wanted; };
}
bool undefined_difference(const Numbers& at) { return std::isnan(at[0] - at[1]); }

const std::vector<Difference>& differences() {
  constexpr std::string_view kNoUse = "nothing can be done with a slope at NaN";
  constexpr std::string_view kNanOfPyTorch = "PyTorch has NaN from 0 * inf or inf - inf where there is an answer";
  constexpr std::string_view kTwoSides =
      "PyTorch takes the first derivative from one side and the second from the other";
  constexpr std::string_view kRoots = "powers of -0 and -inf by roots in all derivatives, or by C's pow in all of them";
  constexpr std::string_view kOneRounding = "16-bit types are rounded once, at the end";
  static const std::vector<Difference> table{
      {"clamp_max", "value", only({0}), "at a bound it is the bound, also in the sign of its zero"},
      {"hardswish", "d00", any_nan, kNoUse},
      {"huber_loss", "d00 d01 d11", undefined_difference, kNoUse},
      {"huber_loss_half", "d00 d01 d11", undefined_difference, kNoUse},
      {"smooth_l1_loss", "d00 d01 d11", undefined_difference, kNoUse},
      {"smooth_l1_loss_half", "d00 d01 d11", undefined_difference, kNoUse},
      {"norm_inf", "d0", any_nan, kNoUse},
      {"norm_-inf", "d0", any_nan, kNoUse},
      {"elu", "d00", only({0}), kTwoSides},
      {"softplus", "d00", only({20}), kTwoSides},
      {"softplus_steep", "d00", only({2}), kTwoSides},
      {"mish", "d00", [](const Numbers& at) { return at[0] >= 100; }, kNanOfPyTorch},
      {"pow_half", "value d00", [](const Numbers& at) { return at[0] <= 0; }, kRoots},
      {"pow_-half", "value d0 d00", [](const Numbers& at) { return at[0] <= 0; }, kRoots},
      {"pow_1.5", "d0 d00", [](const Numbers& at) { return at[0] <= 0; }, kRoots},
      {"0_pow", "d00", [](const Numbers& at) { return at[0] >= 0; }, kNanOfPyTorch},
      {"pow", "d01 d11", [](const Numbers& at) { return at[0] == 0 && at[1] >= 0; }, kNanOfPyTorch},
      {"fmod", "d1", [](const Numbers& at) { return std::fabs(at[1]) < 0.2 && std::fabs(at[0]) == 1; },
       "a quotient that rounds up to 10 has the whole part 9"},
      {"binary_cross_entropy_with_logits", "value", [](const Numbers& at) { return at[0] < 0; }, kOneRounding},
      {"kl_div", "value", only({-1, 0.25}), kOneRounding},
      {"kl_div", "d1 d11", [](const Numbers& at) { return at[1] == 0; }, kNanOfPyTorch},
      {"kl_div_log", "value", only({-kInf, -100}), kOneRounding},
      {"prod", "d0", any_infinite, kNanOfPyTorch},
      {"prod", "d0", any_nan, "the product of the others does not hold the NaN"},
      {"prod", "d00", extreme, "the product of the others neither overflows nor loses what is small"},
      {"cumprod", "d00", extreme, "the product of the others neither overflows nor loses what is small"},
      {"var", "d0", any_infinite, "a mean that is infinite leaves no distance from it"},
      {"var_0", "d0", any_infinite, "a mean that is infinite leaves no distance from it"},
      {"var", "d00", only({5}), "the value is NaN, and so is all that follows from it"},
      {"std", "value d0", extreme, "the variance overflows in f32; PyTorch keeps it in f64"},
      {"std_0", "value d0", extreme, "the variance overflows in f32; PyTorch keeps it in f64"},
      {"norm_-1", "d0 d00", zero_infinite_or_extreme, kNanOfPyTorch},
      {"norm_half", "d00", zero_infinite_or_extreme, kNanOfPyTorch},
      {"norm_1.5", "d00", any_zero, kNanOfPyTorch},
      {"norm_2", "d00", [](const Numbers& at) { return any_zero(at) || extreme(at); }, kNanOfPyTorch},
      {"logsumexp", "d0 d00", only({1000, -1000, 999}), "PyTorch divides by the rounded sum: 1000 leaves few digits"},
      {"log_softmax", "value", any_point, kOneRounding},
      {"layer_norm", "value d0 d00", extreme, kNanOfPyTorch},
      {"rms_norm", "d00", extreme, kNanOfPyTorch},
  };
  return table;
}

// ---- Comparison -----------------------------------------------------------------------------------------------------

/// What may be off by units of 1 instead of units of the value: sums over a row, and functions whose formulas, here or
/// in PyTorch, subtract numbers that are nearly equal; some do so only to the right of 0, and are exact in their left
/// tails.
double slack_of(const std::string& name, bool is_row, const Numbers& at, DType dtype) {
  static const std::set<std::string> cancelling{"expm1", "tanh",      "erf",
                                                "gelu",  "gelu_tanh", "binary_cross_entropy_with_logits"};
  static const std::set<std::string> cancelling_right{"sigmoid", "softplus", "softplus_steep", "mish"};
  if (!is_row && !cancelling.contains(name) && !(cancelling_right.contains(name) && at[0] > -1)) return 0;
  return dtype == DType::f64 ? 1e-14 : 4e-6;
}

bool agrees(double got, double wanted, DType dtype, bool with_sign_of_zero, double slack) {
  if (std::isnan(wanted) || std::isinf(wanted)) return got == wanted || (std::isnan(got) && std::isnan(wanted));
  if (got == 0 && wanted == 0) return !with_sign_of_zero || std::signbit(got) == std::signbit(wanted);
  const double tolerance = dtype == DType::f64 ? 1e-12 : dtype == DType::f32 ? 4e-6 : dtype == DType::f16 ? 1e-3 : 8e-3;
  const double least = dtype == DType::f64 ? 1e-290 : dtype == DType::f16 ? 6e-8 : 1e-36;  // below, digits are missing
  return std::fabs(got - wanted) <= tolerance * std::fabs(wanted) + least + slack;
}

/// Compares the parts of a case, and sees which of the listed differences there are.
class Comparison {
 public:
  Comparison(std::string name, bool is_row) : name_(std::move(name)), is_row_(is_row), met_(differences().size()) {}

  void element(DType dtype, const std::string& part, const Numbers& at, size_t i, double got, double wanted) {
    const bool with_sign = part == "value" && !is_row_;
    if (agrees(got, wanted, dtype, with_sign, slack_of(name_, is_row_, at, dtype))) return;
    for (size_t d = 0; d < differences().size(); ++d) {
      const Difference& known = differences()[d];
      if (known.function != name_ || (" " + known.parts + " ").find(" " + part + " ") == std::string::npos) continue;
      if (!known.where(at)) continue;
      met_[d] = true;
      return;
    }
    ADD_FAILURE() << fmt::format("{} of {} at ({}){}: got {}, PyTorch gives {}", part, tenon::name(dtype),
                                 fmt::join(at, ", "), is_row_ ? fmt::format(" element {}", i) : "", got, wanted);
  }
  void expect_that_listed_differences_were_met() const {
    for (size_t d = 0; d < met_.size(); ++d) {
      const bool is_stale = differences()[d].function == name_ && !met_[d];
      EXPECT_FALSE(is_stale) << "listed, but not there any more: " << name_ << " " << differences()[d].parts;
    }
  }

 private:
  std::string name_;
  bool is_row_;
  std::vector<bool> met_;
};

struct Tested {
  std::string device;
  size_t at;
};
void PrintTo(const Tested& tested, std::ostream* out) { *out << recorded()[tested.at]["name"]; }  // NOLINT

std::vector<Tested> all_cases() {
  std::vector<Tested> cases;
  for (const char* device : {"reference", "cpu"}) {
    for (size_t i = 0; i < recorded().size(); ++i) cases.push_back({device, i});
  }
  return cases;
}

class HardPoints : public testing::TestWithParam<Tested> {};
INSTANTIATE_TEST_SUITE_P(Functions, HardPoints, testing::ValuesIn(all_cases()),
                         [](const testing::TestParamInfo<Tested>& tested) {
                           const std::string name = recorded()[tested.param.at]["name"];
                           std::string readable;
                           for (char c : name) readable += c == '-' ? "minus" : std::string(1, c);
                           return test_name(tested.param.device + "_" + readable);
                         });

TEST_P(HardPoints, AreWherePyTorchHasThem) {
  const json& entry = recorded()[GetParam().at];
  const std::string name = entry["name"];
  const auto found = functions().find(name);
  ASSERT_NE(found, functions().end()) << name << " is recorded, but not known here";
  const bool is_row = entry["kind"] == "row";
  std::vector<Numbers> in;
  for (const json& list : entry["in"]) in.push_back(numbers_of(list));
  Comparison comparison(name, is_row);
  for (DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
    const json& wanted = entry[std::string(tenon::name(dtype))];
    const bool deep = dtype == DType::f32 || dtype == DType::f64;
    const Options options(dtype, Device(GetParam().device));
    std::vector<Tensor> tensors;
    for (const Numbers& list : in)
      tensors.push_back(from_vector(list, Dims{static_cast<int64_t>(list.size())}, options));
    if (is_row) {
      for (size_t r = 0; r < in.size(); ++r) {
        for (const auto& [part, got] : at_row(found->second, tensors[r], deep)) {
          for (size_t i = 0; i < got.size(); ++i)
            comparison.element(dtype, part, in[r], i, got[i], number_of(wanted[part][r][i]));
        }
      }
      continue;
    }
    for (const auto& [part, got] : at_points(found->second, tensors, deep)) {
      for (size_t i = 0; i < got.size(); ++i) {
        const json truth = wanted.contains(part) ? wanted[part][i] : json(0.0);  // derivatives that are 0 are left out
        if (truth.is_null()) continue;                                           // PyTorch has two answers
        Numbers at;
        for (const Numbers& column : in) at.push_back(column[i]);
        comparison.element(dtype, part, at, i, got[i], number_of(truth));
      }
    }
  }
  comparison.expect_that_listed_differences_were_met();
}

TEST(HardPointsTable, IsRecordedAsAWhole) {
  std::set<std::string> names;
  for (const json& entry : recorded()) names.insert(entry["name"].get<std::string>());
  for (const auto& [name, f] : functions()) EXPECT_TRUE(names.contains(name)) << name;
  for (const Difference& known : differences()) EXPECT_TRUE(names.contains(known.function)) << known.function;
}

}  // namespace
}  // namespace tenon::ops_test
