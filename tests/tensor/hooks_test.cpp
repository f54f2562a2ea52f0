// Gradients on their way: hooks, gradients that tensors keep, functions that save tensors, and gradcheck.

#include <gtest/gtest.h>

#include "tenon/tenon.h"
#include "tests/error_text.h"

namespace tenon {
namespace {

using Reals = std::vector<double>;
using Context = FunctionContext;
using Inputs = std::span<const Tensor>;

Reals read(const Tensor& x) { return x.detach().to_vector<double>(); }
Tensor weight() { return tensor({1., 2.}, float64).requires_grad_(); }

// ---- hooks ----

TEST(Hooks, SeeAndReplaceTheGradient) {
  Tensor w = weight(), h = w * 3;
  Reals seen;
  h.register_hook([&](const Tensor& g) {
    seen = read(g);
    return g * 10;
  });
  sum(h * h).backward();
  EXPECT_EQ(seen, Reals({6, 12}));
  EXPECT_EQ(read(w.grad()), Reals({180, 360}));
}

TEST(Hooks, SeeTheGradientOfAllUsesOnce) {
  Tensor w = weight(), h = w * 3;
  int calls = 0;
  h.register_hook([&](const Tensor&) {
    ++calls;
    return Tensor();
  });
  sum(h * 2 + h.t() + h.reshape({2})).backward();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(read(w.grad()), Reals({12, 12}));
}

TEST(Hooks, OfALeafSeeWhatSeveralTensorsGiveItAddedUp) {
  Tensor w = weight();
  std::vector<Reals> seen;
  w.register_hook([&](const Tensor& g) {
    seen.push_back(read(g));
    return Tensor();
  });
  const std::vector<Tensor> tensors{sum(w * 3), w * w}, gradients{Tensor(), tensor({1., 10.}, float64)};
  backward(tensors, gradients);
  EXPECT_EQ(read(w.grad()), Reals({5, 43}));
  EXPECT_EQ(seen, std::vector<Reals>({{5, 43}}));
  EXPECT_EQ(text_of([&] { Tensor(tensors[1]).backward(gradients[1]); }),
            "[backward] the graph of this tensor was used up by an earlier backward(); pass retain_graph to keep it");
  EXPECT_EQ(text_of([&] { backward(std::vector{sum(w)}, gradients); }),
            "[backward] 2 gradients are too many for 1 tensors");
}

TEST(Hooks, RunInOrderUntilTheyAreRemoved) {
  Tensor w = weight(), h = w * 1.5;
  HookHandle first = h.register_hook([](const Tensor& g) { return g + 1; });
  h.register_hook([](const Tensor& g) { return g * 2; });
  Tensor loss = sum(h);
  loss.backward(Tensor(), true);
  EXPECT_EQ(read(w.grad()), Reals({6, 6}));
  first.remove();
  w.zero_grad();
  loss.backward();
  EXPECT_EQ(read(w.grad()), Reals({3, 3}));
}

TEST(Hooks, OfLeavesRunInBackwardAndInGrad) {
  Tensor w = weight();
  w.register_hook([](const Tensor& g) { return g * 2; });
  sum(w * 3).backward();
  EXPECT_EQ(read(w.grad()), Reals({6, 6}));
  EXPECT_EQ(read(grad(sum(w * 3), w)), Reals({6, 6}));
}

TEST(Hooks, LiveAsLongAsTheGraph) {
  Tensor w = weight(), loss;
  {
    Tensor h = (w * 3).reshape({2, 1});  // a view
    h.register_hook([](const Tensor& g) { return g * 10; });
    h.to_vector<double>();
    loss = sum(h);
  }
  loss.backward();
  EXPECT_EQ(read(w.grad()), Reals({30, 30}));
}

TEST(Hooks, AreRecordedByCapturedFunctions) {
  Tensor w = weight();
  auto step = compile([&](const Tensor& x) {
    Tensor h = w * x;
    h.register_hook([](const Tensor& g) { return clamp(g, -1, 1); });
    return grad(sum(h * 5), w);
  });
  for (int i = 1; i < 5; ++i) EXPECT_EQ(read(step(full({2}, i, float64))), Reals({1.0 * i, 1.0 * i}));
}

TEST(Hooks, SeeUsesFromBeforeTheyWereRegistered) {
  Tensor w = weight(), h = w * 3, used = sum(h * 5);
  h.register_hook([](const Tensor& g) { return g * 10; });
  (used + sum(h)).backward();
  EXPECT_EQ(read(w.grad()), Reals({180, 180}));
}

TEST(Hooks, SeeGradientsOfGradients) {
  Tensor w = weight(), h = tanh(w);
  std::vector<Reals> seen;
  h.register_hook([&](const Tensor& g) {
    seen.push_back(read(g));
    return g * 2;
  });
  const Tensor slope = grad(sum(h), w, true);  // 2 (1 - h^2)
  sum(slope).backward();
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0], Reals({1, 1}));
  EXPECT_TRUE(allclose(w.grad(), -8 * h * (1 - h * h)));
}

// ---- hooks on what is written in place: the values are PyTorch's ----

struct Watched {
  std::vector<Reals> seen;
  std::function<Tensor(const Tensor&)> watch() {
    return [this](const Tensor& g) {
      seen.push_back(read(g));
      return g * 10;
    };
  }
};

TEST(Hooks, StayWithTheValueBeforeAWrite) {
  Tensor w = weight(), h = w * 2;
  Watched before, after;
  h.register_hook(before.watch());
  h.mul_(3);
  h.register_hook(after.watch());
  sum(h).backward();
  EXPECT_EQ(after.seen, std::vector<Reals>({{1, 1}}));
  EXPECT_EQ(before.seen, std::vector<Reals>({{30, 30}}));
  EXPECT_EQ(read(w.grad()), Reals({600, 600}));
}

// Gradients of a view that is written lead to the tensor it is a view of, past the hook on the view.
TEST(Hooks, OfAViewThatIsWrittenSeeItsUsesFromBeforeAlone) {
  Tensor w = weight(), h = w * 2, view = h.select(0, 0);
  Watched watched;
  view.register_hook(watched.watch());
  const Tensor used = view * 5;
  view.mul_(3);
  (sum(h) + used).backward();
  EXPECT_EQ(watched.seen, std::vector<Reals>({{5}}));
  EXPECT_EQ(read(w.grad()), Reals({2 * (50 + 3), 2}));
}

TEST(Hooks, SeeAllUsesOfWhatAViewOfEverythingHasWritten) {
  Tensor w = weight(), h = w * 2;
  h.unsqueeze(0).square_();
  Tensor used = sum(h.index({gt(h, 0)}));
  h.register_hook([](const Tensor& g) { return g * 10; });
  used.backward();
  EXPECT_EQ(read(w.grad()), Reals({80, 160}));
}

TEST(Hooks, OfAViewAreNotOnWhatItShowsAfterItsTensorWasWritten) {
  Tensor w = weight(), h = w * 2, view = h.select(0, 0);
  Watched watched;
  view.register_hook(watched.watch());
  h.mul_(3);
  (view * 7).backward();
  EXPECT_TRUE(watched.seen.empty());
  EXPECT_EQ(read(w.grad()), Reals({42, 0}));
}

TEST(Hooks, StayWhereAWriteUnderNoGradChangesTheNumbersAlone) {
  Tensor w = weight(), h = w * 2;
  const Tensor used = sum(h * 5);
  Watched watched;
  h.register_hook(watched.watch());
  {
    NoGrad data;
    h.mul_(3);
  }
  (used + sum(h)).backward();
  EXPECT_EQ(watched.seen, std::vector<Reals>({{6, 6}})) << "uses before and after";
  EXPECT_EQ(read(w.grad()), Reals({120, 120}));
}

TEST(Hooks, DecideWhatGradGives) {
  Tensor w = weight(), h = w * 2;
  h.register_hook([](const Tensor& g) { return g * 10; });
  EXPECT_EQ(read(grad(sum(h), h)), Reals({10, 10}));
}

TEST(Hooks, SayWhatIsWrong) {
  Tensor w = weight(), used = sum(w * 3);
  const auto keep = [](const Tensor& g) { return g; };
  EXPECT_EQ(text_of([&] { ones({2}).register_hook(keep); }), "[register_hook] this tensor does not require grad");
  w.register_hook([](const Tensor&) { return ones({3}); });
  EXPECT_EQ(text_of([&] { used.backward(); }), "[register_hook] the hook made f32(3,) of a gradient of f64(2,)");
}

// ---- gradients that are kept ----

TEST(RetainGrad, KeepsTheGradientOfAnIntermediate) {
  Tensor w = weight(), h = w * 3;
  const Tensor loss = sum(h * h);
  h.retain_grad();  // after its use
  EXPECT_FALSE(h.grad().defined());
  Tensor(loss).backward(Tensor(), true);
  EXPECT_EQ(read(h.grad()), Reals({6, 12}));
  Tensor(loss).backward();
  EXPECT_EQ(read(h.grad()), Reals({12, 24})) << "added up, as that of a leaf";
  EXPECT_EQ(read(w.grad()), Reals({36, 72}));
}

TEST(RetainGrad, KeepsWhatHooksMake) {
  Tensor w = weight(), h = w * 3;
  h.register_hook([](const Tensor& g) { return g * 10; });
  h.retain_grad();
  sum(h).backward();
  EXPECT_EQ(read(h.grad()), Reals({10, 10}));
}

// The value that a tensor has now, not the one it had when it was asked to keep its gradient.
TEST(RetainGrad, FollowsWritesInPlace) {
  Tensor w = weight(), h = w * 2, view = h.select(0, 0);
  h.retain_grad();
  view.retain_grad();
  view.mul_(3);
  (sum(h * 5) + view).backward();
  EXPECT_EQ(read(h.grad()), Reals({6, 5}));
  EXPECT_EQ(read(view.grad()), Reals({1}));
  EXPECT_EQ(read(w.grad()), Reals({36, 10}));
}

TEST(RetainGrad, OfAViewIsOfTheValueItWasLastUsedWith) {
  Tensor w = weight(), h = w * 2, unused = h.select(0, 0), used = h.select(0, 0);
  unused.retain_grad();
  used.retain_grad();
  const Tensor before = unused * 5;
  h.mul_(3);
  (sum(h) + used * 2 + before).backward();
  EXPECT_EQ(read(unused.grad()), Reals({5}));
  EXPECT_EQ(read(used.grad()), Reals({2}));
}

TEST(RetainGrad, CountsUsesBeforeAWriteUnderNoGrad) {
  Tensor w = weight(), h = w * 2;
  const Tensor used = sum(h * 5);
  h.retain_grad();
  {
    NoGrad data;
    h.mul_(3);
  }
  Tensor loss = used + sum(h);
  EXPECT_EQ(read(grad(loss, h)), Reals({6, 6}));
  h.register_hook([](const Tensor& g) { return g; });
  loss.backward();
  EXPECT_EQ(read(h.grad()), Reals({12, 12})) << "grad() has passed it, too, as in PyTorch";
}

TEST(RetainGrad, SaysWhatIsWrong) {
  EXPECT_EQ(text_of([] { ones({2}).retain_grad(); }), "[retain_grad] this tensor does not require grad");
  Tensor w = weight();
  auto step = compile([&](const Tensor& x) {
    Tensor h = w * x;
    h.retain_grad();
    return h;
  });
  EXPECT_EQ(text_of([&] { step(ones({2}, float64)); }),
            "[retain_grad] a captured function keeps no graph; use grad() inside it");
}

// ---- functions that save tensors ----

TEST(SavingFunction, SeesInBackwardWhatForwardSaved) {
  const SavingFunction scaled{"scaled",
                              [](Context& context, Inputs in) {
                                const Tensor norm = tenon::norm(in[0]);
                                context.save_for_backward({in[0], norm});
                                return std::vector{in[0] / norm};
                              },
                              [](const Context& context, Inputs grads) {
                                const Tensor &x = context.saved_tensors()[0], &n = context.saved_tensors()[1];
                                return std::vector{grads[0] / n - x * sum(grads[0] * x) / (n * n * n)};
                              }};
  EXPECT_TRUE(gradcheck([&](const Tensor& x) { return apply(scaled, x); }, weight()));
}

TEST(SavingFunction, IsDifferentiatedThroughASavedResult) {
  const SavingFunction exponential{
      "exponential",
      [](Context& context, Inputs in) {
        const Tensor y = exp(in[0]);
        context.save_for_backward({y});
        return std::vector{y};
      },
      [](const Context& context, Inputs grads) { return std::vector{grads[0] * context.saved_tensors()[0]}; }};
  Tensor w = weight();
  Tensor slope = grad(sum(apply(exponential, w)), w, true);
  for (int order = 0; order < 3; ++order) {
    EXPECT_TRUE(allclose(slope, exp(w)));
    slope = grad(sum(slope), w, true);
  }
}

TEST(SavingFunction, IsDifferentiatedThroughASavedInput) {
  const SavingFunction product{
      "product",
      [](Context& context, Inputs in) {
        context.save_for_backward({in[1], in[0]});
        return std::vector{in[0] * in[1]};
      },
      [](const Context& context, Inputs grads) {
        return std::vector{grads[0] * context.saved_tensors()[0], grads[0] * context.saved_tensors()[1]};
      }};
  Tensor a = weight(), b = tensor({5., 7.}, float64).requires_grad_();
  const Tensor slope = grad(sum(apply(product, std::vector{a, b})[0]), a, true);
  EXPECT_EQ(read(slope), Reals({5, 7}));
  EXPECT_EQ(read(grad(sum(slope), b)), Reals({1, 1}));
}

TEST(SavingFunction, SaysWhatIsWrong) {
  const SavingFunction wrong{"wrong", [](Context&, Inputs in) { return std::vector{in[0] * 2}; },
                             [](const Context&, Inputs) { return std::vector<Tensor>(); }};
  Tensor w = weight();
  EXPECT_EQ(text_of([&] { sum(apply(wrong, w)).backward(); }), "[wrong] backward() returned 0 gradients for 1 inputs");
}

// ---- gradcheck ----

TEST(Gradcheck, FindsAWrongGradient) {
  const CustomFunction wrong{"wrong", [](Inputs in) { return std::vector{square(in[0])}; },
                             [](Inputs in, Inputs grads) { return std::vector{grads[0] * in[0]}; }};
  EXPECT_TRUE(gradcheck([](const Tensor& x) { return square(x) * sum(x); }, weight()));
  const std::string text = text_of([&] { gradcheck([&](const Tensor& x) { return apply(wrong, x); }, weight()); });
  EXPECT_EQ(text.substr(0, 50), "[gradcheck] input 0, element 0: the gradient is 1.") << text;
}

TEST(Gradcheck, LooksAtInputsThatRequireGrad) {
  const Tensor inputs[] = {weight(), tensor({3, 4})};
  EXPECT_TRUE(gradcheck([](Inputs x) { return x[0] * x[1]; }, inputs));
  EXPECT_EQ(text_of([] { gradcheck([](const Tensor& x) { return x; }, ones({2}).requires_grad_()); }),
            "[gradcheck] differences need f64, input 0 is f32");
}

}  // namespace
}  // namespace tenon
