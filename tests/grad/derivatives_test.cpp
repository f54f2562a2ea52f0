// Gradients as numbers: higher derivatives, random programs and attention, against finite differences and dual numbers.

#include <cstdlib>
#include <limits>
#include <numeric>
#include <random>

#include "tenon/tensor/reshaped.h"
#include "tests/grad/support.h"

namespace tenon {
namespace {

// ---- higher derivatives ----

TEST(Autograd, SecondDerivativeOfACube) {
  Tensor x = leaf(2);
  for (const auto& cube : std::vector<std::function<Tensor()>>{[&] { return x * x * x; }, [&] { return pow(x, 3); },
                                                               [&] { return pow(x, 3.0); }}) {
    const Tensor first = grad(cube(), x, true);
    const Tensor second = grad(first, x, true);
    EXPECT_EQ(first.item<double>(), 12);
    EXPECT_EQ(second.item<double>(), 12);
    EXPECT_EQ(grad(second, x).item<double>(), 6);
  }
}

TEST(Autograd, DerivativesOfSineGoRound) {
  Tensor x = leaf(0.7);
  Tensor y = sin(x);
  const double expected[] = {std::cos(0.7), -std::sin(0.7), -std::cos(0.7), std::sin(0.7)};
  for (double value : expected) {
    y = grad(y, x, true);
    EXPECT_NEAR(y.item<double>(), value, 1e-12);
  }
}

TEST(Autograd, SecondDerivativesOfEverySmoothFunction) {
  const std::pair<const char*, Tensor (*)(const Tensor&)> functions[] = {
      {"exp", exp},
      {"log", log},
      {"sqrt", sqrt},
      {"rsqrt", rsqrt},
      {"sin", sin},
      {"cos", cos},
      {"tan", tan},
      {"atan", atan},
      {"tanh", tanh},
      {"sinh", sinh},
      {"cosh", cosh},
      {"sigmoid", sigmoid},
      {"erf", erf},
      {"expm1", expm1},
      {"log1p", log1p},
      {"square", square},
      {"log2", log2},
      {"reciprocal", reciprocal},
      {"exp2", exp2},
      {"silu", silu},
      {"mish", mish},
      {"gelu", [](const Tensor& x) { return gelu(x); }},
      {"gelu tanh", [](const Tensor& x) { return gelu(x, "tanh"); }},
      {"softplus", [](const Tensor& x) { return softplus(x); }},
      {"pow", [](const Tensor& x) { return pow(x, 2.5); }},
      {"power of", [](const Tensor& x) { return pow(1.5, x); }},
      {"softmax", [](const Tensor& x) { return softmax(x, 0); }},
      {"log_softmax", [](const Tensor& x) { return log_softmax(x, 0); }},
      {"logsumexp", [](const Tensor& x) { return logsumexp(x, {0}); }},
      {"cumsum", [](const Tensor& x) { return square(cumsum(x, 0)); }},
      {"cumprod", [](const Tensor& x) { return cumprod(x, 0); }},
      {"cummax", [](const Tensor& x) { return square(cummax(x, 0).first); }},
      {"prod", [](const Tensor& x) { return prod(x, {0}); }},
      {"var", [](const Tensor& x) { return var(x); }},
      {"std", [](const Tensor& x) { return std(x); }},
      {"norm", [](const Tensor& x) { return norm(x); }},
      {"layer_norm", [](const Tensor& x) { return nn::layer_norm(x, {3}); }},
      {"sort", [](const Tensor& x) { return square(sort(x).first); }},
      {"matmul", [](const Tensor& x) { return matmul(outer(x, x), x); }},
      {"gather",
       [](const Tensor& x) {
         return square(gather(x, 0, tensor({2, 0, 2})));
       }},
  };
  for (const auto& [name, f] : functions) {
    SCOPED_TRACE(name);
    const Function weighted = [f = f](const std::vector<Tensor>& in) {
      const Tensor y = f(in[0]);
      return sum(y * from_vector(scattered(y.numel(), 3), y.shape()));
    };
    const std::vector<Tensor> at{leaf({0.4, 0.9, 1.2})};
    expect_gradient(weighted, at);
    expect_gradient(weighted_gradient(weighted), at);
  }
}

// f(x, y) = x^2 y + sin(x y)
TEST(Autograd, HessianOfASmallFunction) {
  Tensor v = leaf({0.6, 1.3});
  const Tensor x = v[0], y = v[1];
  const Tensor first = grad(x * x * y + sin(x * y), v, true);
  const Reals row0 = reals(grad(first[0], v, true)), row1 = reals(grad(first[1], v, true));
  const double a = 0.6, b = 1.3, s = std::sin(a * b), c = std::cos(a * b);
  expect_near(row0, {2 * b - b * b * s, 2 * a + c - a * b * s}, 1e-12);
  expect_near(row1, {2 * a + c - a * b * s, -a * a * s}, 1e-12);
}

TEST(Autograd, GradientPenalty) {
  const Reals w0 = scattered(6, 1);
  const Tensor x = from_vector(scattered(8, 2), {4, 2});
  const Function penalty = [&](const std::vector<Tensor>& in) {
    Tensor points = x.detach().clone().requires_grad_();
    const Tensor score = sum(tanh(matmul(points, in[0])));
    const Tensor slope = grad(score, points, true);
    return mean(square(norm(slope, 2, {1}) - 1.0));
  };
  expect_gradient(penalty, {leaf(w0, {2, 3})});
}

TEST(Autograd, BackwardThroughAGradient) {
  Tensor x = leaf(2);
  Tensor slope = grad(x * x * x, x, true);
  (slope * slope).backward();  // (3x^2)^2 = 9x^4
  EXPECT_EQ(x.grad().item<double>(), 36 * 8);
}

TEST(Autograd, CreateGraphDecidesWhetherGradientsHaveHistory) {
  Tensor x = leaf(2);
  EXPECT_FALSE(grad(x * x, x).requires_grad());
  EXPECT_TRUE(grad(x * x, x, true).requires_grad());
  EXPECT_FALSE(grad(x * 3, x, true).requires_grad());  // constant
  (x * x).backward();
  EXPECT_FALSE(x.grad().requires_grad());
  x.zero_grad();
  (x * x).backward(Tensor(), false, true);
  EXPECT_TRUE(x.grad().requires_grad());
  EXPECT_EQ(grad(x.grad(), x).item<double>(), 2);
}

TEST(Autograd, RetainGraphAllowsAnotherBackward) {
  Tensor x = leaf(3);
  Tensor y = x * x;
  y.backward(Tensor(), true);
  y.backward(Tensor(), true);
  y.backward();
  EXPECT_EQ(x.grad().item<double>(), 18);
  EXPECT_THROW(y.backward(), Error);
}

TEST(Autograd, AUsedUpTensorStillHasItsValue) {
  Tensor x = leaf(3);
  Tensor y = x * x;
  y.backward();
  EXPECT_EQ(y.item<double>(), 9);
  EXPECT_TRUE(y.requires_grad());
  EXPECT_FALSE(y.is_leaf());
}

TEST(Autograd, SecondDerivativeThroughWritesInPlace) {
  const Function f = [](const std::vector<Tensor>& in) {
    Tensor y = in[0] * in[0];
    y[0].mul_(y[1]);
    y.slice(0, 1).add_(in[0].slice(0, 0, 2));
    return sum(y * y * from_vector(Reals{1, 2, 3}, {3}));
  };
  expect_gradient(f, {leaf({0.4, 0.9, 1.7})});
  expect_gradient(weighted_gradient(f), {leaf({0.4, 0.9, 1.7})});
}

// ---- random programs against dual numbers ----

// A number, its slope and the slope's slope as the leaf moves along a fixed direction: forward differentiation, one
// operation at a time.
struct Dual {
  double value, slope, curve;
};

Dual operator*(double factor, const Dual& a) { return {factor * a.value, factor * a.slope, factor * a.curve}; }
Dual operator+(const Dual& a, const Dual& b) { return {a.value + b.value, a.slope + b.slope, a.curve + b.curve}; }
Dual operator*(const Dual& a, const Dual& b) {
  return {a.value * b.value, a.slope * b.value + a.value * b.slope,
          a.curve * b.value + 2 * a.slope * b.slope + a.value * b.curve};
}
// f(a), of the first two derivatives of f there.
Dual chained(const Dual& a, double value, double first, double second) {
  return {value, first * a.slope, first * a.curve + second * a.slope * a.slope};
}

// Writes through views of an intermediate, with and without history, changes of shape in place, hooks, uses in between
// and their gradients, beside arrays of dual numbers. Gradients are right when the slope of a weighted sum is the
// product of the leaf's gradient and the direction, and second derivatives when the slope of that product is.
class DualProgram {
 public:
  explicit DualProgram(uint32_t seed)
      : random_(seed), leaf_(leaf(scattered(12, seed), {3, 4})), direction_(scattered(12, seed + 0.5)) {
    const Reals at = reals(leaf_);
    for (size_t i = 0; i < at.size(); ++i) memory_.push_back({2 * at[i], 2 * direction_[i], 0});
    views_.push_back({leaf_ * 2, {}, false});
    for (size_t i = 0; i < at.size(); ++i) views_[0].positions.push_back(i);
  }

  void run(int steps) {
    try {
      for (int i = 0; i < steps; ++i) step();
      for (const View& view : views_) check(view);
      differentiate_all();
    } catch (const Error& error) {
      ADD_FAILURE() << error.what() << "\n" << log_;
    }
  }

 private:
  struct View {
    Tensor tensor;
    std::vector<size_t> positions;
    bool detached;
  };

  // First and second derivatives of a sum over everything, and its gradient twice.
  void differentiate_all() {
    Tensor total = used_;
    Dual expected = used_dual_;
    for (const View& view : views_) {
      if (view.detached) continue;
      const Reals weight = scattered(static_cast<int64_t>(view.positions.size()), 9);
      const Tensor part = sum(view.tensor * from_vector(weight, view.tensor.shape()));
      total = total.defined() ? total + part : part;
      for (size_t i = 0; i < weight.size(); ++i) expected = expected + weight[i] * memory_[view.positions[i]];
    }
    const auto near = [&](double seen, double wanted) {
      EXPECT_NEAR(seen, wanted, 1e-9 * (1 + std::fabs(wanted))) << log_;
    };
    const Tensor direction = from_vector(direction_, leaf_.shape());
    const Tensor gradient = grad(total, leaf_, true), slope = sum(gradient * direction);
    near(slope.item<double>(), expected.slope);
    if (slope.requires_grad()) {
      const Tensor outputs[] = {slope}, inputs[] = {leaf_};
      const Tensor second = grad(outputs, inputs, {.allow_unused = true})[0];
      near(second.defined() ? sum(second * direction).item<double>() : 0, expected.curve);
    } else {
      near(0, expected.curve);
    }
    near(arrived(), arrived_slope_);
    leaf_.zero_grad();
    total.backward({}, true);
    EXPECT_EQ(reals(leaf_.grad()), reals(gradient)) << log_;
    total.backward();
    EXPECT_EQ(reals(leaf_.grad()), reals(gradient * 2)) << log_;
  }

  int64_t below(int64_t n) { return std::uniform_int_distribution<int64_t>(0, n - 1)(random_); }
  View& any_view() { return views_[static_cast<size_t>(below(static_cast<int64_t>(views_.size())))]; }

  void check(const View& view) {
    Reals expected;
    for (size_t at : view.positions) expected.push_back(memory_[at].value);
    SCOPED_TRACE(log_);
    expect_near(reals(view.tensor), expected, 1e-12);
    EXPECT_FALSE(view.detached && view.tensor.requires_grad()) << log_;
  }

  void step() {
    switch (below(15)) {
      case 0:
      case 1:
      case 2: return add_view();
      case 3:
      case 4:
      case 5: return write(true);
      case 6:
      case 7: return write(false);
      case 8: any_view().tensor.eval(); return;
      case 9: return use();
      case 10: return watch();
      case 11: return differentiate();
      case 12:
      case 13: return change_shape();
      default: return check(any_view());
    }
  }

  // What is recorded now keeps its values and its history, whatever is written later.
  void use() {
    const View& view = any_view();
    log_ += fmt::format("use {} {}\n", fmt::join(view.positions, " "), view.detached ? "detached" : "");
    const Tensor part = sum(view.tensor * view.tensor * 0.1);
    used_ = used_.defined() ? used_ + part : part;
    for (const size_t at : view.positions) {
      const Dual each = memory_[at];
      if (!view.detached) used_dual_ = used_dual_ + 0.1 * (each * each);
    }
  }

  // The gradient of all uses so far, which the program goes on with and takes once more.
  void differentiate() {
    if (!used_.defined() || !used_.requires_grad()) return;
    log_ += "differentiate\n";
    used_.backward({}, true);
    arrived_slope_ += used_dual_.slope;
  }
  double arrived() const {
    if (!leaf_.grad().defined()) return 0;
    const Reals gradient = reals(leaf_.grad());
    return std::inner_product(gradient.begin(), gradient.end(), direction_.begin(), 0.0);
  }

  // The handle shows the same elements in another shape or order; views of it stay what they were.
  void change_shape() {
    View& view = any_view();
    const Dims shape = view.tensor.shape();
    const auto change = [&](const char* name, auto f) {
      const std::vector<int64_t> flat(view.positions.begin(), view.positions.end());
      const auto moved = f(from_vector(flat, shape)).template to_vector<int64_t>();
      log_ += fmt::format("{} {}\n", name, fmt::join(view.positions, " "));
      replace_by(name, view.tensor, f(view.tensor));
      view.positions.assign(moved.begin(), moved.end());
    };
    const int64_t which = below(3);
    if (which == 0 && shape.size() < 4) return change("unsqueeze_", [](const Tensor& t) { return t.unsqueeze(0); });
    if (which == 1) return change("squeeze_", [](const Tensor& t) { return t.squeeze(); });
    if (shape.size() < 2) return;
    change("transpose_", [](const Tensor& t) { return t.transpose(0, -1); });
  }

  // A hook that looks on, a gradient that is kept; and a hook that doubles the gradient of everything, which is then a
  // slope of twice the size for all uses of what the whole was made into just now.
  void watch() {
    View& view = any_view();
    if (!view.tensor.requires_grad()) return;
    log_ += fmt::format("watch {}\n", fmt::join(view.positions, " "));
    view.tensor.register_hook([](const Tensor&) { return Tensor(); });
    if (below(2)) view.tensor.retain_grad();
    if (below(2)) return;
    Tensor& whole = views_[0].tensor;
    whole.add_(0.25);
    whole.register_hook([](const Tensor& g) { return g * 2; });
    log_ += "add 0.25 to everything, and double its gradient\n";
    for (Dual& each : memory_) each = {each.value + 0.25, each.slope * 2, each.curve * 2};
  }

  void add_view() {
    if (views_.size() > 8) return;
    const View from = any_view();
    const Dims& shape = from.tensor.shape();
    View made = from;
    std::vector<int64_t> flat(from.positions.begin(), from.positions.end());
    const Tensor positions = from_vector(flat, shape);
    const auto move = [&](auto f) {
      made.tensor = f(from.tensor);
      flat = f(positions).template to_vector<int64_t>();
      made.positions.assign(flat.begin(), flat.end());
    };
    const int64_t axis = shape.empty() ? 0 : below(static_cast<int64_t>(shape.size()));
    switch (below(4)) {
      case 0:
        made.tensor = from.tensor.detach();
        made.detached = true;
        break;
      case 1:
        if (shape.empty()) return;
        move([&](const Tensor& t) { return t.select(axis, 0); });
        break;
      case 2:
        if (shape.empty()) return;
        move([&](const Tensor& t) { return t.slice(axis, {}, {}, -1); });
        break;
      default:
        if (shape.size() < 2) return;
        move([&](const Tensor& t) { return t.transpose(0, 1); });
        break;
    }
    log_ += fmt::format("view {} {}\n", fmt::join(made.positions, " "), made.detached ? "detached" : "");
    views_.push_back(made);
  }

  // Element by element, from a source that has as many elements; and the same on dual numbers.
  struct Write {
    const char* name;
    void (*perform)(Tensor& to, const Tensor& from);
    Dual (*on_duals)(Dual to, Dual from);
  };
  static const Write& any_write(int64_t which) {
    static const Write kWrites[] = {
        {"mix", [](Tensor& to, const Tensor& from) { to.copy_(to * 0.5 + from * 0.25 + 1.0); },
         [](Dual a, Dual b) {
           return 0.5 * a + 0.25 * b + Dual{1, 0, 0};
         }},
        {"copy_", [](Tensor& to, const Tensor& from) { to.copy_(from); }, [](Dual, Dual b) { return b; }},
        {"mul_", [](Tensor& to, const Tensor& from) { to.mul_(sin(from)); },
         [](Dual a, Dual b) {
           const double s = std::sin(b.value);
           return a * chained(b, s, std::cos(b.value), -s);
         }},
        {"cos_", [](Tensor& to, const Tensor&) { to.cos_(); },
         [](Dual a, Dual) {
           const double c = std::cos(a.value);
           return chained(a, c, -std::sin(a.value), -c);
         }},
        {"fill_", [](Tensor& to, const Tensor&) { to.fill_(0.75); },
         [](Dual, Dual) -> Dual {
           return {0.75, 0, 0};
         }},
        {"masked_fill_", [](Tensor& to, const Tensor& from) { to.masked_fill_(gt(from, 0.5), -0.5); },
         [](Dual a, Dual b) {
           return b.value > 0.5 ? Dual{-0.5, 0, 0} : a;
         }},
        {"index_put_", [](Tensor& to, const Tensor& from) { to.index_put_({Ellipsis()}, from * 0.5); },
         [](Dual, Dual b) { return 0.5 * b; }},
    };
    return kWrites[which % static_cast<int64_t>(std::size(kWrites))];
  }

  void write(bool tracked) {
    View &to = any_view(), &from = any_view();
    if (from.positions.size() != to.positions.size()) return;
    const Write& write = any_write(below(100));
    const bool keeps_history = tracked && !to.detached;
    log_ += fmt::format("{} {} from {} {}\n", write.name, fmt::join(to.positions, " "), fmt::join(from.positions, " "),
                        keeps_history ? "with history" : "without");
    std::vector<Dual> next;
    for (size_t i = 0; i < to.positions.size(); ++i) {
      const Dual a = memory_[to.positions[i]];
      Dual b = memory_[from.positions[i]];
      if (from.detached) b = {b.value, 0, 0};
      next.push_back(write.on_duals(a, b));
      if (!keeps_history) next.back() = {next.back().value, a.slope, a.curve};
    }
    const auto perform = [&] { write.perform(to.tensor, from.tensor.reshape(to.tensor.shape())); };
    if (keeps_history) {
      perform();
    } else {  // a detached tensor takes values only so
      NoGrad off;
      perform();
    }
    for (size_t i = 0; i < next.size(); ++i) memory_[to.positions[i]] = next[i];
  }

  std::mt19937 random_;
  Tensor leaf_;
  Reals direction_;
  std::vector<Dual> memory_;
  std::vector<View> views_;
  Tensor used_;
  Dual used_dual_{};
  double arrived_slope_ = 0;  // what backward() has left so far
  std::string log_;
};

// TENON_PROGRAMS sets how many.
TEST(Autograd, RandomProgramsOfWritesHaveTheSlopesOfDualNumbers) {
  const char* given = std::getenv("TENON_PROGRAMS");
  const uint32_t programs = given ? static_cast<uint32_t>(std::atoi(given)) : 300;
  for (uint32_t seed = 0; seed < programs && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    DualProgram(seed).run(30);
  }
}

// ---- attention ----

struct AttentionCase {
  const char* name;
  Dims query, key, value;
  nn::AttentionOptions options;
};

std::vector<AttentionCase> attention_cases() {
  std::vector<AttentionCase> cases;
  cases.push_back({"plain", {3, 2}, {4, 2}, {4, 3}, {}});
  cases.push_back({"causal", {1, 3, 2}, {1, 3, 2}, {1, 3, 2}, {}});
  cases.back().options.causal = true;
  cases.push_back({"masked", {2, 3, 2}, {2, 3, 2}, {2, 3, 2}, {}});
  cases.back().options.mask = from_vector(scattered(9, 4), {3, 3});
  cases.push_back({"bool mask", {3, 2}, {3, 2}, {3, 2}, {}});
  cases.back().options.mask = tensor({{true, false, true}, {true, true, true}, {false, false, true}});
  cases.push_back({"shared heads", {4, 2, 2}, {2, 3, 2}, {2, 3, 2}, {}});
  cases.back().options.gqa = true;
  cases.push_back({"scaled", {3, 2}, {3, 2}, {3, 2}, {}});
  cases.back().options.scale = 1.7;
  return cases;
}

Function attention_loss(const nn::AttentionOptions& options) {
  return [options](const std::vector<Tensor>& in) {
    const Tensor y = nn::scaled_dot_product_attention(in[0], in[1], in[2], options);
    return sum(y * y * from_vector(scattered(y.numel(), 3), y.shape()));
  };
}

TEST(Autograd, AttentionGradient) {
  for (const AttentionCase& c : attention_cases()) {
    SCOPED_TRACE(c.name);
    expect_gradient(attention_loss(c.options),
                    {scattered_leaf(c.query, 0), scattered_leaf(c.key, 1), scattered_leaf(c.value, 2)});
  }
}

TEST(Autograd, AttentionSecondDerivative) {
  for (const AttentionCase& c : attention_cases()) {
    SCOPED_TRACE(c.name);
    expect_gradient(weighted_gradient(attention_loss(c.options)),
                    {scattered_leaf(c.query, 0), scattered_leaf(c.key, 1), scattered_leaf(c.value, 2)});
  }
}

TEST(Autograd, AttentionGradientOfItsMask) {
  const Function f = [](const std::vector<Tensor>& in) {
    nn::AttentionOptions options;
    options.mask = in[1];
    return sum(square(nn::scaled_dot_product_attention(in[0], in[0] * 2, sin(in[0]), options)));
  };
  const std::vector<Tensor> at{scattered_leaf({3, 2}, 0), scattered_leaf({3, 3}, 1)};
  expect_gradient(f, at);
  expect_gradient(weighted_gradient(f), at);
}

// Query, key and value all come from one tensor, as in every transformer: each path must count once.
TEST(Autograd, SelfAttentionSecondDerivative) {
  const Function f = [](const std::vector<Tensor>& in) {
    const Tensor y = nn::scaled_dot_product_attention(matmul(in[0], in[1]), in[0], tanh(in[0]), {});
    return sum(y * y * from_vector(scattered(y.numel(), 3), y.shape()));
  };
  const std::vector<Tensor> at{scattered_leaf({3, 2}, 0), scattered_leaf({2, 2}, 1)};
  expect_gradient(f, at);
  expect_gradient(weighted_gradient(f), at);
}

TEST(Autograd, AttentionGradientIsThatOfItsFormula) {
  Tensor q = scattered_leaf({3, 2}, 0), k = scattered_leaf({4, 2}, 1), v = scattered_leaf({4, 3}, 2);
  const Tensor plain = matmul(softmax(matmul(q, k.t()) / std::sqrt(2.0), -1), v);
  const Tensor fused = nn::scaled_dot_product_attention(q, k, v);
  expect_near(reals(fused), reals(plain), 1e-12);
  const Tensor inputs[] = {q, k, v}, loss = sum(square(fused)), same = sum(square(plain));
  const auto a = grad(std::span(&loss, 1), inputs), b = grad(std::span(&same, 1), inputs);
  for (size_t i = 0; i < 3; ++i) expect_near(reals(a[i]), reals(b[i]), 1e-12);
}

}  // namespace
}  // namespace tenon
