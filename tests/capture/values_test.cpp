// Captured functions with state: results and everything held are values, states are written, whatever was read when.

#include <gtest/gtest.h>

#include <thread>
#include <type_traits>

#include "tenon/exec/eval.h"
#include "tenon/tenon.h"
#include "tests/error_text.h"

namespace tenon {
namespace {

using Floats = std::vector<float>;

size_t replays() { return exec::stats().replays; }

// Three i's.
Tensor X(int i) { return full({3}, static_cast<float>(i)).clone().eval(); }
Tensor state(float value = 0) { return full({3}, value).clone().eval(); }
Floats floats(const Tensor& t) { return t.to_vector<float>(); }
Floats three(double value) { return Floats(3, static_cast<float>(value)); }

constexpr int kCalls = 9;

// ---- results that are also written ----

TEST(CapturedValues, AResultThatIsAlsoStored) {
  Tensor s = full({}, 0.0f).clone().eval();
  auto f = compile([&](const Tensor& x) {
    Tensor r = sum(x);
    s.copy_(r);
    return r;
  });
  const size_t before = replays();
  for (int i = 1; i <= kCalls; ++i) {
    EXPECT_EQ(f(X(i)).item<float>(), 3.0f * static_cast<float>(i));
    EXPECT_EQ(s.item<float>(), 3.0f * static_cast<float>(i));
  }
  EXPECT_GE(replays() - before, 7u);
}

TEST(CapturedValues, ARandomResultThatIsAlsoStored) {
  Generator one(4), two(4);
  Tensor s = state();
  auto f = compile([&](const Tensor& x) {
    Tensor r = randn({3}, {}, &one) + x;
    s.copy_(r);
    return r;
  });
  for (int i = 1; i <= kCalls; ++i) {
    const Floats expected = floats(randn({3}, {}, &two) + X(i));
    EXPECT_EQ(floats(f(X(i))), expected);
    EXPECT_EQ(floats(s), expected);
  }
}

TEST(CapturedValues, ACloneThatIsAlsoStored) {
  Tensor s = state();
  auto f = compile([&](const Tensor& x) {
    Tensor r = x.clone();
    s.copy_(r);
    return r;
  });
  for (int i = 1; i <= kCalls; ++i) {
    EXPECT_EQ(floats(f(X(i))), three(i));
    EXPECT_EQ(floats(s), three(i));
  }
}

TEST(CapturedValues, AStateWrittenThroughViews) {
  Tensor s = state(), m = zeros({2, 3}).clone().eval();
  auto f = compile([&](const Tensor& x) {
    Tensor r = x * 2;
    s.unsqueeze(0).sub_(r);
    m.t().copy_(r.unsqueeze(1));
    m.select(0, 1).add_(1);
    return r;
  });
  float expected = 0;
  for (int i = 1; i <= kCalls; ++i) {
    expected -= 2.0f * static_cast<float>(i);
    EXPECT_EQ(floats(f(X(i))), three(2 * i));
    EXPECT_EQ(floats(s), three(expected));
    EXPECT_EQ(floats(m[0]), three(2 * i));
    EXPECT_EQ(floats(m[1]), three(2 * i + 1));
  }
}

// ---- results that nobody has read yet ----

TEST(CapturedValues, ResultsThatAreHeldUnreadStayWhatTheyAre) {
  auto f = compile([](const Tensor& x) { return x * 10; });
  std::vector<Tensor> held, cloned, computed;
  for (int i = 1; i <= kCalls; ++i) {
    held.push_back(f(X(i)));
    cloned.push_back(held.back().clone());
    computed.push_back(held.back() + 0.5);
  }
  for (int i = 1; i <= kCalls; ++i) {
    const auto at = static_cast<size_t>(i - 1);
    EXPECT_EQ(floats(held[at]), three(10 * i));
    EXPECT_EQ(floats(cloned[at]), three(10 * i));
    EXPECT_EQ(floats(computed[at]), three(10 * i + 0.5));
  }
}

TEST(CapturedValues, ASumOverResultsThatNobodyReads) {
  auto f = compile([](const Tensor& x) { return x * 1.5; });
  Tensor total = state(), last;
  for (int i = 1; i <= kCalls; ++i) total = total + (last = f(X(i)));
  EXPECT_EQ(floats(total), three(1.5 * kCalls * (kCalls + 1) / 2));
  EXPECT_EQ(floats(last), three(1.5 * kCalls));
}

TEST(CapturedValues, AResultThatTheCallerWritesIsTheCallers) {
  auto f = compile([](const Tensor& x) { return x * 2; });
  std::vector<Tensor> held;
  for (int i = 1; i <= kCalls; ++i) {
    held.push_back(f(X(i)));
    held.back().add_(100);
  }
  for (int i = 1; i <= kCalls; ++i) EXPECT_EQ(floats(held[static_cast<size_t>(i - 1)]), three(2 * i + 100));
}

TEST(CapturedValues, AResultFedBackAsTheNextArgument) {
  auto f = compile([](const Tensor& x) { return x * 2; });
  Tensor x = X(1);
  for (int i = 1; i <= kCalls; ++i) x = f(x);
  EXPECT_EQ(floats(x), three(1 << kCalls));
}

TEST(CapturedValues, TheSameTensorTwiceAndAViewOfIt) {
  auto f = compile([](const Tensor& x) {
    const Tensor r = x * 2;
    return std::vector<Tensor>{r, r, r.slice(0, 1, 3), r * 1};
  });
  for (int i = 1; i <= kCalls; ++i) {
    const std::vector<Tensor> out = f(X(i));
    Tensor(out[0]).add_(1);
    EXPECT_EQ(floats(out[1]), three(2 * i + 1));
    EXPECT_EQ(floats(out[2]), Floats(2, 2.0f * static_cast<float>(i) + 1));
    EXPECT_EQ(floats(out[3]), three(2 * i));
  }
}

TEST(CapturedValues, AnArgumentThatIsReturnedIsTheCallers) {
  auto f = compile([](const Tensor& x) { return std::vector<Tensor>{x, x.slice(0, 0, 1), x + 1}; });
  for (int i = 1; i <= kCalls; ++i) {
    const Tensor x = X(i);
    const std::vector<Tensor> out = f(x);
    Tensor(out[0]).mul_(10);
    EXPECT_EQ(floats(x), three(10 * i));
    EXPECT_EQ(floats(out[1]), Floats{10.0f * static_cast<float>(i)});
    EXPECT_EQ(floats(out[2]), three(i + 1));
  }
}

// ---- results made of the state ----

TEST(CapturedValues, AResultOfTheStateBeforeItIsReplaced) {
  Tensor s = state(7);
  auto f = compile([&](const Tensor& x) {
    Tensor o = s * 2;
    s.copy_(x);
    return o;
  });
  float before = 7;
  for (int i = 1; i <= kCalls; ++i) {
    EXPECT_EQ(floats(f(X(i))), three(2 * before));
    before = static_cast<float>(i);
  }
}

// Ops that give their operand back unchanged.
TEST(CapturedValues, OpsThatFoldAreTensorsOfTheirOwn) {
  struct Case {
    const char* name;
    std::function<Tensor(const Tensor&)> op;
  };
  const std::vector<Case> cases{{"x * 1", [](const Tensor& s) { return s * 1; }},
                                {"x / 1", [](const Tensor& s) { return s / 1; }},
                                {"-(-x)", [](const Tensor& s) { return -(-s); }},
                                {"pow(x, 1)", [](const Tensor& s) { return pow(s, 1); }},
                                {"cat", [](const Tensor& s) { return cat({s}); }},
                                {"pad",
                                 [](const Tensor& s) {
                                   return pad(s, {0, 0});
                                 }},
                                {"clone", [](const Tensor& s) { return s.clone(); }},
                                {"flip", [](const Tensor& s) { return flip(s.unsqueeze(0), {0}).reshape({3}); }}};
  for (const Case& one : cases) {
    Tensor s = state();
    auto f = compile([&](const Tensor& x) {
      Tensor o = one.op(s);
      s.add_(x);
      return o;
    });
    for (int i = 0; i < kCalls; ++i) {
      EXPECT_EQ(floats(f(X(1))), three(i)) << one.name << ", call " << i;
      EXPECT_EQ(floats(s), three(i + 1)) << one.name << ", call " << i;
    }
  }
}

TEST(CapturedValues, TheStateItselfIsReturned) {
  Tensor s = state();
  auto f = compile([&](const Tensor& x) {
    s.add_(x);
    return s;
  });
  Tensor first = f(X(1));
  for (int i = 2; i <= kCalls; ++i) {
    const Tensor r = f(X(1));
    EXPECT_EQ(floats(r), three(i));
    EXPECT_EQ(floats(first), three(i));  // it is the state, as in a plain call
  }
  first.mul_(2);
  EXPECT_EQ(floats(s), three(2 * kCalls));
  EXPECT_EQ(floats(f(X(1))), three(2 * kCalls + 1));
}

TEST(CapturedValues, AStateThatIsOnlyReadIsReturned) {
  Tensor s = state(2);
  auto f = compile([&](const Tensor& x) { return std::vector<Tensor>{s, s.slice(0, 0, 2), x * s}; });
  for (int i = 1; i <= kCalls; ++i) {
    const std::vector<Tensor> out = f(X(i));
    EXPECT_EQ(floats(out[2]), three(i * (i + 1)));
    s.add_(1);
    EXPECT_EQ(floats(out[0]), three(i + 2));
    EXPECT_EQ(floats(out[1]), Floats(2, static_cast<float>(i) + 2));
  }
}

TEST(CapturedValues, WritesThatAreTheSameInEveryCall) {
  Tensor zeroed = state(1), filled = state(1), counter = zeros({}, DType::i64).clone().eval(), many = state();
  auto f = compile([&](const Tensor& x) {
    zeroed.add_(x);
    const Tensor seen = zeroed * 1;
    zeroed.zero_();
    filled.fill_(4);
    counter.add_(1);
    for (int64_t i = 0; i < 3; ++i) many[i].add_(i + 1);
    return seen;
  });
  const size_t before = replays();
  for (int i = 1; i <= kCalls; ++i) {
    EXPECT_EQ(floats(f(X(i))), three(i == 1 ? 2 : i));
    EXPECT_EQ(floats(zeroed), three(0));
    EXPECT_EQ(floats(filled), three(4));
    EXPECT_EQ(counter.item<int64_t>(), i);
    EXPECT_EQ(floats(many),
              (Floats{static_cast<float>(i), 2.0f * static_cast<float>(i), 3.0f * static_cast<float>(i)}));
  }
  EXPECT_GE(replays() - before, 6u);
}

// ---- snapshots ----

TEST(CapturedValues, ASnapshotSurvivesAnEagerWriteAndACapturedRead) {
  Tensor s = state(1);
  auto read = compile([&](const Tensor& x) { return x + s; });
  for (int i = 0; i < 4; ++i) read(X(0));
  const Tensor snapshot = s.clone();
  s.mul_(2);
  EXPECT_EQ(floats(read(X(0))), three(2));
  EXPECT_EQ(floats(snapshot), three(1));
  EXPECT_EQ(floats(s), three(2));
}

TEST(CapturedValues, SnapshotsOfAWeightDuringTraining) {
  Tensor w = state(1);
  auto step = compile([&](const Tensor& g) {
    w.sub_(g);
    return sum(w);
  });
  std::vector<Tensor> best;
  for (int i = 0; i < kCalls; ++i) {
    best.push_back(w.clone());
    step(X(1));
    if (i % 3 == 2) w.add_(0.5);
  }
  float expected = 1;
  for (int i = 0; i < kCalls; ++i) {
    EXPECT_EQ(floats(best[static_cast<size_t>(i)]), three(expected));
    expected -= i % 3 == 2 ? 0.5f : 1.0f;
  }
}

TEST(CapturedValues, AValueOfTheStateIsNotFoundAgainLater) {
  Tensor s = state(1);
  auto f = compile([&](const Tensor& x) {
    s.add_(x);
    return s * 2;
  });
  std::vector<Tensor> held;
  for (int i = 0; i < kCalls; ++i) {
    held.push_back((s * 2).eval());  // the same expression outside
    EXPECT_EQ(floats(held.back()), three(2 * (1 + i)));
    EXPECT_EQ(floats(f(X(1))), three(2 * (2 + i)));
  }
}

// The memory that one recording lets its holders keep is also the other's.
TEST(CapturedValues, TwoRecordingsOverOneStateWithHoldersBetween) {
  Tensor s = state();
  auto f = compile([&](const Tensor& x) {
    s.add_(x.sum());
    return s * 1;
  });
  const Tensor full_batch = X(1), short_batch = ones({2}).eval();
  float expected = 0;
  const auto call = [&](const Tensor& x) {
    expected += static_cast<float>(x.numel());
    EXPECT_EQ(floats(f(x)), three(expected));
  };
  for (int i = 0; i < 3; ++i) call(full_batch), call(short_batch);
  Tensor held;
  for (int i = 0; i < 3; ++i) {
    held = s * 2;
    call(full_batch);
  }
  held = Tensor();
  call(short_batch);
  call(full_batch);
  EXPECT_EQ(floats(s), three(expected));
}

TEST(CapturedValues, AGradientThatIsClearedWhetherOrNotThereIsOne) {
  Tensor w = tensor<float>({1, 2, 3}).requires_grad_();
  auto clear = compile([&](const Tensor& x) {
    w.zero_grad();
    return x * 2;
  });
  for (int i = 0; i < 3; ++i) clear(X(1));
  for (int i = 0; i < 3; ++i) {
    w.set_grad(X(5));
    clear(X(1));
    EXPECT_FALSE(w.grad().defined());
  }
}

// The argument's memory is let go of by the tensor while the call is prepared.
TEST(CapturedValues, AnArgumentThatIsTheStateWrittenJustBefore) {
  Tensor s = state(1);
  auto f = compile([&](const Tensor& x, const Tensor& y) { return std::vector<Tensor>{s, x * y}; });
  for (int i = 0; i < 4; ++i) f(X(1), X(1));
  for (int i = 0; i < 5; ++i) {
    const Tensor twice = s * 2;
    s.copy_(s + 1);
    const auto before = static_cast<float>(i + 1);
    EXPECT_EQ(floats(f(twice, s)[1]), three(2 * before * (before + 1)));
  }
}

// ---- what a recording depends on ----

TEST(CapturedValues, AnArgumentThatIsTheStateShowsWhatIsWritten) {
  Tensor s = state(1), other = X(5);
  auto f = compile([&](const Tensor& x) {
    const Tensor before = x * 1;
    s.add_(1);
    return std::vector<Tensor>{before, x * 10};
  });
  for (int i = 0; i < 5; ++i) {
    const std::vector<Tensor> own = f(s), others = f(other);
    EXPECT_EQ(floats(own[0]), three(1 + 2 * i));
    EXPECT_EQ(floats(own[1]), three(10 * (2 + 2 * i)));
    EXPECT_EQ(floats(others[0]), three(5));
    EXPECT_EQ(floats(others[1]), three(50));
  }
}

TEST(CapturedValues, TrainAndEvalAreTwoRecordings) {
  nn::Dropout dropout(0.5);
  auto f = compile([&](const Tensor& x) { return dropout(x); });
  const Tensor x = ones({64}).eval();
  for (int i = 0; i < 6; ++i) {
    dropout.train();
    EXPECT_NE(floats(f(x)), Floats(64, 1));
    EXPECT_NE(floats(f(x)), Floats(64, 1));
    dropout.eval();
    EXPECT_EQ(floats(f(x)), Floats(64, 1));
    EXPECT_EQ(floats(f(x)), Floats(64, 1));
  }
  EXPECT_EQ(f.recordings(), 2u);
}

TEST(CapturedValues, AHostNumberThatChangesIsNamedAtTheNextCheck) {
  double factor = 2;
  auto f = compile([&](const Tensor& x) { return x * factor; });
  for (int i = 0; i < 4; ++i) EXPECT_EQ(floats(f(X(1))), three(2));  // replays 1 and 2 are checked
  factor = 3;
  f(X(1));  // the third is not
  EXPECT_EQ(
      text_of([&] { f(X(1)); }),
      "[compile] a captured function has changed within its last 2 calls: the number 3 that mul reads was 2 before; "
      "make it a Scalar, or pass it as a tensor");
  EXPECT_EQ(floats(f(X(1))), three(3));  // it goes on as a plain function
}

TEST(CapturedValues, AHostNumberThatAlwaysChangesIsRight) {
  double factor = 0;
  auto f = compile([&](const Tensor& x) { return x * factor; });
  for (int i = 0; i < kCalls; ++i) {
    factor = i;
    EXPECT_EQ(floats(f(X(1))), three(i));
  }
}

TEST(CapturedValues, AHostBranchThatChangesIsFound) {
  bool squares = false;
  Tensor a = state(1), b = state(2);
  auto f = compile([&](const Tensor& x) { return squares ? x * x : x + x; });
  auto g = compile([&](const Tensor& x) { return x * (squares ? b : a); });
  for (int i = 0; i < 3; ++i) f(X(3)), g(X(3));
  squares = true;
  EXPECT_NE(text_of([&] { f(X(3)); }).find("mul is recorded where add was"), std::string::npos);
  EXPECT_NE(text_of([&] { g(X(3)); }).find("another tensor is read"), std::string::npos);
  EXPECT_EQ(floats(f(X(3))), three(9));
  EXPECT_EQ(floats(g(X(3))), three(6));
}

TEST(CapturedValues, ChecksCanBeEveryReplayOrNone) {
  double factor = 2;
  const auto function = [&](const Tensor& x) { return x * factor; };
  auto always = compile(function, {.verify_every = 1}), never = compile(function, {.verify_every = 0});
  for (int i = 0; i < 20; ++i) always(X(1)), never(X(1));
  factor = 3;
  EXPECT_NE(text_of([&] { always(X(1)); }), "nothing was thrown");
  for (int i = 0; i < 50; ++i) EXPECT_EQ(floats(never(X(1))), three(2));
}

TEST(CapturedValues, ACheckChangesNothing) {
  Generator one(6), two(6);
  Tensor s = state(), w = tensor<float>({1, 2, 3}).requires_grad_(), t = state(),
         v = tensor<float>({1, 2, 3}).requires_grad_();
  int calls = 0;
  const auto body = [](Tensor& to, Tensor& weight, Generator& generator, const Tensor& x) {
    Tensor loss = sum(weight * x * rand({3}, {}, &generator));
    loss.backward();
    to.add_(x);
    return loss;
  };
  auto f = compile(
      [&](const Tensor& x) {
        ++calls;
        return body(s, w, one, x);
      },
      {.verify_every = 1});
  for (int i = 1; i <= kCalls; ++i) {
    EXPECT_EQ(f(X(i)).to_bytes(), body(t, v, two, X(i)).to_bytes());
    EXPECT_EQ(s.to_bytes(), t.to_bytes());
    EXPECT_EQ(w.grad().to_bytes(), v.grad().to_bytes());
  }
  EXPECT_EQ(calls, kCalls);  // its effects on the host happen in every checked call
}

TEST(CapturedValues, SwitchesOfTheThreadAreTwoRecordings) {
  Tensor w = tensor<float>({1, 2, 3}).requires_grad_();
  auto f = compile([&](const Tensor& x) { return w * x; });
  for (int i = 0; i < 6; ++i) {
    EXPECT_TRUE(f(X(2)).requires_grad());
    const NoGrad off;
    EXPECT_FALSE(f(X(2)).requires_grad());
  }
  EXPECT_EQ(f.recordings(), 2u);
}

TEST(CapturedValues, FreezingAWeightIsNoticed) {
  Tensor w = tensor<float>({1, 2, 3}).requires_grad_(), b = state().requires_grad_();
  auto f = compile([&](const Tensor& x) {
    w.zero_grad();
    b.zero_grad();
    Tensor loss = sum(w * x + b);
    loss.backward();
    return loss;
  });
  for (int i = 0; i < 5; ++i) f(X(2));
  EXPECT_EQ(floats(w.grad()), three(2));
  w.requires_grad_(false);
  f(X(3));
  EXPECT_FALSE(w.grad().defined());
  EXPECT_EQ(floats(b.grad()), three(1));
}

TEST(CapturedValues, AReplacedTensorIsRecordedAnew) {
  Tensor w = state(1);
  auto f = compile([&](const Tensor& x) { return x * w; });
  auto g = compile([&](const Tensor& x) { return x + w; });
  for (int i = 0; i < 5; ++i) f(X(2)), g(X(2));
  w = state(5);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(floats(f(X(2))), three(10));
    EXPECT_EQ(floats(g(X(2))), three(7));
  }
}

TEST(CapturedValues, ATensorKeptOutsideIsThatOfItsCall) {
  Tensor kept;
  auto f = compile([&](const Tensor& x) {
    kept = x * 2;
    return kept + 1;
  });
  std::vector<Tensor> all;
  for (int i = 1; i <= kCalls; ++i) {
    EXPECT_EQ(floats(f(X(i))), three(2 * i + 1));
    EXPECT_EQ(floats(kept), three(2 * i));
    all.push_back(kept);
  }
  for (int i = 1; i <= kCalls; ++i) EXPECT_EQ(floats(all[static_cast<size_t>(i - 1)]), three(2 * i));
}

TEST(CapturedValues, AModulesParameterThatIsReplacedWhileOthersHoldTheOldOne) {
  nn::Linear layer(2, 2);
  optim::SGD optimizer(layer.parameters());  // holds the old one
  auto f = compile([&](const Tensor& x) { return layer(x).sum(); });
  const Tensor x = ones({1, 2}).eval();
  for (int i = 0; i < 20; ++i) f(x);
  layer.weight = full({2, 2}, 3.0).requires_grad_();
  layer.bias = zeros({2}).requires_grad_();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(f(x).item<float>(), 12);
}

TEST(CapturedValues, WhatHappensInNoReplayIsRefused) {
  Scalar factor(2);
  auto sets = compile([&](const Tensor& x) {
    factor.set(3);
    return x * factor;
  });
  EXPECT_NE(text_of([&] { sets(X(1)); }).find("set() inside a captured function"), std::string::npos);
  auto draws = compile([&](const Tensor& x) {
    Generator own(3);
    return x + rand({3}, {}, &own);
  });
  EXPECT_NE(text_of([&] { draws(X(1)); }).find("a Generator is made inside"), std::string::npos);
}

TEST(CapturedValues, AGeneratorMadeInTheFirstCallAndKeptGoesOn) {
  std::optional<Generator> kept;
  Generator twin(3);
  auto f = compile([&](const Tensor& x) {
    if (!kept) kept.emplace(3);
    return x + rand({3}, {}, &*kept);
  });
  for (int i = 0; i < kCalls; ++i) EXPECT_EQ(floats(f(X(1))), floats(X(1) + rand({3}, {}, &twin))) << i;
}

TEST(CapturedValues, AFunctionThatWasMovedFromSaysSo) {
  CompiledFunction one([](std::span<const Tensor> in) { return std::vector<Tensor>{in[0] * 2}; });
  CompiledFunction other(std::move(one));
  const std::vector<Tensor> x{X(1)};
  EXPECT_EQ(floats(other.call(x)[0]), three(2));
  EXPECT_EQ(text_of([&] { one.call(x); }), "[compile] this captured function was moved from");  // NOLINT: on purpose
  EXPECT_EQ(text_of([&] { other.call(std::vector<Tensor>{Tensor()}); }), "[compile] argument 0 is undefined");
}

TEST(CapturedValues, ResultsAndStatesCanBeReadOnTheNullDevice) {
  const Device null("null");
  Tensor s = zeros({3}, Options(DType::f32, null)).clone().eval();
  auto f = compile([&](const Tensor& x) {
    s.add_(x);
    return x * 2 + 1;
  });
  std::vector<Tensor> held;
  for (int i = 0; i < 6; ++i) {
    held.push_back(f(ones({3}, Options(DType::f32, null))));
    EXPECT_NO_THROW(held.back().to_vector<float>());
    EXPECT_NO_THROW((held.back() + s).to_vector<float>());
    EXPECT_NO_THROW(s.to_vector<float>());
  }
  for (const Tensor& one : held) EXPECT_NO_THROW(one.to_vector<float>());
}

// ---- gradients ----

TEST(CapturedValues, GradientsThatAreLeftAreValues) {
  Tensor w = tensor<float>({1, 2, 3}).requires_grad_();
  auto f = compile([&](const Tensor& x) {
    w.zero_grad();
    Tensor loss = sum(w * w * x);
    loss.backward();
    return loss;
  });
  std::vector<Tensor> held;
  for (int i = 1; i <= kCalls; ++i) {
    f(X(i));
    held.push_back(w.grad());
  }
  for (int i = 1; i <= kCalls; ++i) {
    const auto k = 2.0f * static_cast<float>(i);
    EXPECT_EQ(floats(held[static_cast<size_t>(i - 1)]), (Floats{k, 2 * k, 3 * k}));
  }
}

TEST(CapturedValues, GradientsThatAreNotClearedAddUp) {
  Tensor w = tensor<float>({1, 2, 3}).requires_grad_();
  auto f = compile([&](const Tensor& x) {
    Tensor loss = sum(w * x);
    loss.backward();
    return loss;
  });
  float expected = 0;
  for (int i = 1; i <= kCalls; ++i) {
    if (i == 6) {
      w.zero_grad();
      expected = 0;
    }
    f(X(i));
    expected += static_cast<float>(i);
    EXPECT_EQ(floats(w.grad()), three(expected)) << i;
  }
}

TEST(CapturedValues, GradientsClearedOutsideAreThoseOfEachCall) {
  Tensor w = tensor<float>({1, 2, 3}).requires_grad_();
  auto f = compile([&](const Tensor& x) {
    Tensor loss = sum(w * x);
    loss.backward();
    return loss;
  });
  const size_t before = replays();
  for (int i = 1; i <= kCalls; ++i) {
    w.zero_grad();
    f(X(i));
    EXPECT_EQ(floats(w.grad()), three(i));
  }
  EXPECT_GE(replays() - before, 7u);
}

TEST(CapturedValues, AGradientThroughAResultIsRefused) {
  Tensor w = tensor<float>({1, 2, 3}).requires_grad_(), v = state(2).requires_grad_();
  auto f = compile([&](const Tensor& x) { return sum(w * x); });
  for (int i = 0; i < 4; ++i) {
    Tensor loss = f(X(1)) * sum(v);
    EXPECT_TRUE(loss.requires_grad());
    EXPECT_EQ(
        text_of([&] { loss.backward(); }),
        "[backward] a gradient arrived at the result of a captured function, which keeps no graph; call backward() "
        "inside the function");
  }
}

TEST(CapturedValues, AGradientToWhatWasComputedOutsideIsRefused) {
  Tensor w = tensor<float>({1, 2, 3}).requires_grad_();
  const Tensor h = w * 2;
  auto f = compile([&](const Tensor& x) {
    Tensor loss = sum(h * x);
    loss.backward();
    return loss;
  });
  EXPECT_EQ(text_of([&] { f(X(1)); }),
            "[backward] a gradient arrived at a tensor that was computed outside of the captured function; compute it "
            "inside, or detach() it");
}

// ---- arguments ----

TEST(CapturedValues, TheNumberOfArgumentsIsCheckedByTheCompiler) {
  const auto two = [](const Tensor& a, const Tensor& b) { return a + b; };
  using Captured = decltype(compile(two));
  static_assert(std::is_invocable_v<Captured, Tensor, Tensor>);
  static_assert(!std::is_invocable_v<Captured, Tensor>);
  static_assert(!std::is_invocable_v<Captured, Tensor, Tensor, Tensor>);
  static_assert(!std::is_invocable_v<Captured, Tensor, double>);
}

// ---- threads ----

TEST(CapturedValues, ThreadsShareOneFunctionAndItsWeights) {
  Tensor w = tensor<float>({1, 2, 3}).eval();
  auto shared = compile([&](const Tensor& x) { return x * w; });
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      auto own = compile([&](const Tensor& x) { return x + w; });
      for (int i = 0; i < 200; ++i) {
        const Tensor x = X(t + i), a = shared(x), b = own(x);
        const auto k = static_cast<float>(t + i);
        if (floats(a) != Floats{k, 2 * k, 3 * k} || floats(b) != Floats{k + 1, k + 2, k + 3}) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace tenon
