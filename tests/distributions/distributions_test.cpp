// Distributions: PyTorch's values and slopes (tests/golden/distributions.json), moments of draws, gradients of draws
// against differences of the distribution function, and what is refused.

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tenon/distributions/shared.h"
#include "tenon/tenon.h"
#include "tests/error_text.h"

namespace tenon::distributions {
namespace {

using nlohmann::json;

const json& golden() {
  static const json read = json::parse(std::ifstream(TENON_SOURCE_DIR "/tests/golden/distributions.json"));
  return read;
}

void flatten(const json& from, std::vector<double>& into, Dims& shape, size_t depth = 0) {
  if (!from.is_array()) return into.push_back(from.get<double>());
  if (shape.size() == depth) shape.push_back(static_cast<int64_t>(from.size()));
  for (const json& part : from) flatten(part, into, shape, depth + 1);
}

Tensor tensor_of(const json& numbers) {
  std::vector<double> flat;
  Dims shape;
  flatten(numbers, flat, shape);
  return from_vector(flat, shape);
}

void expect_near(const Tensor& got, const Tensor& wanted, double tolerance = 1e-9) {
  ASSERT_EQ(got.shape(), wanted.shape());
  const auto a = got.to_vector<double>(), b = wanted.to_vector<double>();
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], tolerance * std::max(1.0, std::abs(b[i]))) << i;
}

using Parameters = std::map<std::string, Tensor>;

std::unique_ptr<Distribution> made(const std::string& kind, const Parameters& p) {
  if (kind == "Normal") return std::make_unique<Normal>(p.at("loc"), p.at("scale"));
  if (kind == "Uniform") return std::make_unique<Uniform>(p.at("low"), p.at("high"));
  if (kind == "Gamma") return std::make_unique<Gamma>(p.at("concentration"), p.at("rate"));
  if (kind == "Beta") return std::make_unique<Beta>(p.at("concentration1"), p.at("concentration0"));
  if (kind == "Dirichlet") return std::make_unique<Dirichlet>(p.at("concentration"));
  const auto given = p.contains("probs") ? Given::probs : Given::logits;
  const Tensor& parameter = p.begin()->second;
  if (kind == "Bernoulli") return std::make_unique<Bernoulli>(parameter, given);
  return std::make_unique<Categorical>(parameter, given);
}

Parameters leaves_of(const json& given) {
  Parameters leaves;
  for (const auto& [name, numbers] : given.items()) leaves[name] = tensor_of(numbers).requires_grad_();
  return leaves;
}

TEST(Golden, ValuesAndSlopesArePyTorchs) {
  for (const json& one : golden()["cases"]) {
    SCOPED_TRACE(one["kind"].get<std::string>() + one["given"].dump());
    const Parameters leaves = leaves_of(one["given"]);
    const auto p = made(one["kind"], leaves), q = made(one["kind"], leaves_of(one["others"]));
    const Parameters results{
        {"log_prob", p->log_prob(tensor_of(one["value"]))}, {"entropy", p->entropy()}, {"kl", kl_divergence(*p, *q)}};
    for (const auto& [name, result] : results) {
      SCOPED_TRACE(name);
      expect_near(result.detach(), tensor_of(one[name]));
      for (const auto& [parameter, leaf] : leaves) {
        SCOPED_TRACE(parameter);
        const Tensor total = result.sum();
        const Tensor slope =
            total.requires_grad() ? tenon::grad({&total, 1}, {&leaf, 1}, {{}, false, true})[0] : Tensor();
        expect_near(slope.defined() ? slope : zeros_like(leaf), tensor_of(one[name + "_slopes"][parameter]));
      }
    }
    if (!one.contains("mean")) continue;
    expect_near(p->mean().detach(), tensor_of(one["mean"]));
    expect_near(p->variance().detach(), tensor_of(one["variance"]));
  }
}

// ---- draws ----

struct Drawn {
  const char* name;
  std::function<std::unique_ptr<Distribution>()> make;
};

class Draws : public testing::TestWithParam<Drawn> {};

TEST_P(Draws, HaveTheMeanAndTheVariance) {
  const auto p = GetParam().make();
  Generator generator(5);
  const int64_t count = 50000;
  const Tensor x = p->sample({count}, &generator).eval();
  EXPECT_FALSE(x.requires_grad());
  const Tensor error = (x.mean({0}) - p->mean()).abs() / (p->variance() / static_cast<double>(count)).sqrt();
  EXPECT_LT(error.max().item<double>(), 4.5);  // standard errors
  const Tensor spread = x.var({0}) / p->variance();
  EXPECT_LT((spread - 1).abs().max().item<double>(), 0.12);
}

TEST_P(Draws, AreThoseOfTheSeed) {
  const auto p = GetParam().make();
  Generator one(3), other(3), third(4);
  const Tensor x = p->sample({7}, &one);
  EXPECT_TRUE(equal(x, p->sample({7}, &other)));
  EXPECT_FALSE(equal(x, p->sample({7}, &third)));
  EXPECT_FALSE(equal(x, p->sample({7}, &one)));
  Dims shape{7};
  for (const int64_t size : p->batch_shape()) shape.push_back(size);
  for (const int64_t size : p->event_shape()) shape.push_back(size);
  EXPECT_EQ(x.shape(), shape);
}

const Options f64(DType::f64);
INSTANTIATE_TEST_SUITE_P(
    Kinds, Draws,
    testing::Values(Drawn{"Normal",
                          [] {
                            return std::make_unique<Normal>(tensor({1.0, -3.0}, f64), 2.0);
                          }},
                    Drawn{"Uniform",
                          [] {
                            return std::make_unique<Uniform>(-1.0, tensor({1.0, 5.0}, f64));
                          }},
                    Drawn{"Bernoulli",
                          [] {
                            return std::make_unique<Bernoulli>(tensor({0.1, 0.7}, f64));
                          }},
                    Drawn{"Gamma",
                          [] {
                            return std::make_unique<Gamma>(tensor({0.2, 0.9, 1.0, 3.0, 50.0}, f64), 2.0);
                          }},
                    Drawn{"Beta",
                          [] {
                            return std::make_unique<Beta>(tensor({0.3, 1.0, 8.0}, f64), tensor({0.4, 2.0, 3.0}, f64));
                          }},
                    Drawn{"Dirichlet",
                          [] {
                            return std::make_unique<Dirichlet>(tensor({{0.2, 1.0, 3.0}, {5.0, 5.0, 0.7}}, f64));
                          }}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(DrawsOf, CategoriesComeAsOftenAsTheirProbabilities) {
  const Categorical p(tensor({{1.0, 2.0, 5.0}, {0.0, 3.0, 1.0}}, f64));
  Generator generator(5);
  const Tensor x = p.sample({100000}, &generator);
  EXPECT_EQ(x.shape(), (Dims{100000, 2}));
  EXPECT_EQ(x.dtype(), DType::i64);
  for (int64_t category = 0; category < 3; ++category)
    expect_near(eq(x, category).to(DType::f64).mean({0}), p.probs().select(1, category), 6e-3);
  EXPECT_EQ(p.sample({2, 3}, &generator).shape(), (Dims{2, 3, 2}));
  EXPECT_EQ(p.sample({}, &generator).shape(), (Dims{2}));
}

TEST(DrawsOf, SmallConcentrationsAreNumbers) {
  Generator generator(1);
  const Tensor tiny = full({1000}, 1e-3);
  EXPECT_TRUE(all(gt(Gamma(tiny, 1.0).sample({}, &generator), 0.0)).item<bool>());
  const Tensor shares = Dirichlet(full({1000, 3}, 1e-3)).sample({}, &generator);
  EXPECT_LT((shares.sum({-1}) - 1).abs().max().item<float>(), 1e-5f);
  EXPECT_TRUE(all(isfinite(Beta(tiny, tiny).log_prob(Beta(tiny, tiny).sample({}, &generator)))).item<bool>());
}

TEST(DrawsOf, ACapturedFunctionAreThoseOutside) {
  const auto draw = [](const Tensor& a) { return Gamma(a, 1.0).sample({3}); };
  auto step = compile(draw);
  const Tensor a = tensor({0.5, 2.0});
  manual_seed(9);
  std::vector<Tensor> captured;
  for (int i = 0; i < 4; ++i) captured.push_back(step(a).clone().eval());
  manual_seed(9);
  for (const Tensor& one : captured) EXPECT_TRUE(equal(one, draw(a)));
}

// ---- gradients of draws ----

TEST(Reparameterised, NormalAndUniformMoveWithTheirParameters) {
  const auto check = [](auto kind, double one, double other) {
    using Kind = typename decltype(kind)::type;
    const Tensor a = full({3}, one, f64).requires_grad_(), b = full({3}, other, f64).requires_grad_();
    EXPECT_TRUE(gradcheck(
        [](std::span<const Tensor> in) {
          Generator generator(2);
          return Kind(in[0], in[1]).rsample({4}, &generator);
        },
        std::vector{a, b}));
  };
  check(std::type_identity<Normal>(), 0.5, 2.0);
  check(std::type_identity<Uniform>(), -0.5, 2.0);
}

// The share of a gamma distribution below x, by its series.
double share_below(double x, double a) {
  double term = std::exp(a * std::log(x) - x - std::lgamma(a + 1)), sum = term;
  for (int i = 1; i < 3000; ++i) sum += term *= x / (a + i);
  return sum;
}

TEST(Reparameterised, GammaMovesSoThatItsShareStays) {
  for (const double a : {0.1, 0.7, 1.0, 2.5, 7.5, 9.0, 40.0}) {
    const Tensor concentration = full({500}, a, f64).requires_grad_();
    Generator generator(3);
    const Tensor x = Gamma(concentration, 1.0).rsample({}, &generator);
    const auto slopes = tenon::grad(x.sum(), concentration).to_vector<double>(), at = x.to_vector<double>();
    int compared = 0;
    for (size_t i = 0; i < at.size(); ++i) {
      if (at[i] < 1e-200 || share_below(at[i], a) > 1 - 1e-6) continue;  // differences have no digits left
      const double density = std::exp((a - 1) * std::log(at[i]) - at[i] - std::lgamma(a)), step = 1e-5 * a;
      const double wanted = -(share_below(at[i], a + step) - share_below(at[i], a - step)) / (2 * step) / density;
      EXPECT_NEAR(slopes[i], wanted, 2e-3 * std::abs(wanted) + 1e-9) << "concentration " << a << ", draw " << at[i];
      ++compared;
    }
    EXPECT_GT(compared, 400);
  }
}

TEST(Reparameterised, GammaSlopesArePyTorchs) {
  const json& wanted = golden()["gamma"];
  const Tensor a = tensor_of(wanted["concentration"]), x = tensor_of(wanted["draw"]);
  expect_near(slope_of_log(log(x), a) * x, tensor_of(wanted["slope"]), 1e-6);
}

TEST(Reparameterised, BetaAndDirichletMoveTheirMeans) {
  const Tensor a = tensor({0.6, 2.0, 9.0}, f64).requires_grad_(), b = tensor({1.5, 3.0, 4.0}, f64).requires_grad_();
  Generator generator(6);
  const Tensor x = Beta(a, b).rsample({50000}, &generator);
  expect_near(tenon::grad(x.mean({0}).sum(), a), (b / square(a + b)).detach(), 2e-2);
  const Tensor c = tensor({0.5, 2.0, 4.0}, f64).requires_grad_();
  const Tensor first = Dirichlet(c).rsample({50000}, &generator).select(1, 0);
  expect_near(tenon::grad(first.mean(), c), tenon::grad(c[0] / c.sum(), c), 2e-2);
}

// ---- arguments ----

TEST(Arguments, MayBeNumbersAndBroadcast) {
  EXPECT_EQ(Normal(0.0, 1.0).sample().shape(), Dims());
  EXPECT_EQ(Normal(0, 1).sample().dtype(), DType::f32);
  const Normal p(ones({3, 1}), ones({2}, DType::f64));
  EXPECT_EQ(p.batch_shape(), (Dims{3, 2}));
  EXPECT_EQ(p.sample({5}).shape(), (Dims{5, 3, 2}));
  EXPECT_EQ(p.log_prob(zeros({4, 3, 2})).shape(), (Dims{4, 3, 2}));
  EXPECT_EQ(p.sample().dtype(), DType::f64);
}

TEST(Arguments, OutsideOfWhatIsAllowedAreRefused) {
  EXPECT_EQ(text_of([] { Normal(0.0, -1.0); }), "[Normal] scale must be positive, got -1");
  EXPECT_EQ(text_of([] { Gamma(tensor({1.0, 0.0}), 1.0); }), "[Gamma] concentration must be positive, got 0");
  EXPECT_EQ(text_of([] { Bernoulli(1.5); }), "[Bernoulli] probs must be from 0 to 1, got 1.5");
  EXPECT_EQ(text_of([] { Uniform(1.0, 0.0); }), "[Uniform] high must be above low, got 0");
  EXPECT_EQ(text_of([] { Categorical(scalar(1.0)); }), "[Categorical] takes a dim of categories, got a single number");
  EXPECT_EQ(text_of([] { Bernoulli(0.5).rsample(); }),
            "[Bernoulli] rsample() has no gradient for draws that are integers; use sample() and log_prob()");
  EXPECT_EQ(
      text_of([] { kl_divergence(Normal(0, 1), Gamma(1, 1)); }),
      "[kl_divergence] there is no closed form of Normal and Gamma; take the mean of p.log_prob(x) - q.log_prob(x) "
      "over draws of p");
}

TEST(Arguments, LeaveValuesUnread) {
  const Tensor logits = ones({4}) * 2;  // recorded and not computed
  const Categorical p(logits, Given::logits);
  EXPECT_FALSE(logits.is_evaluated());
}

}  // namespace
}  // namespace tenon::distributions
