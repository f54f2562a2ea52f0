// Captured functions: that a replay is the call it stands for, bit for bit, and every sharp edge with the line it
// gives.

#include <gtest/gtest.h>

#include "tenon/exec/eval.h"
#include "tenon/plan/plan.h"
#include "tenon/tenon.h"
#include "tests/error_text.h"

namespace tenon {
namespace {

using Floats = std::vector<float>;

size_t replays() { return exec::stats().replays; }

// ---- captured is uncaptured ----

// A small network with dropout, trained with Adam as a user would write it.
struct Trainer {
  explicit Trainer(std::string_view device) : on(device), rate(0.01, DType::f32, on) {
    Generator seeds(3);
    const auto weight = [&](const Dims& shape) {
      Tensor w = (randn(shape, {}, &seeds) * 0.3).to(on).eval();
      return w.requires_grad_();
    };
    params = {weight({8, 32}), weight({32}), weight({32, 4}), weight({4})};
    for (const Tensor& p : params) {
      m.push_back(zeros(p.shape(), Options(DType::f32, on)).clone().eval());
      v.push_back(zeros(p.shape(), Options(DType::f32, on)).clone().eval());
    }
  }

  Tensor step(const Tensor& x, const Tensor& y) {
    Tensor h = relu(matmul(x, params[0]) + params[1]);
    h = nn::dropout(h, 0.2, true, &generator);
    Tensor loss = nn::mse_loss(matmul(h, params[2]) + params[3], y);
    loss.backward();
    const NoGrad updating;
    for (size_t i = 0; i < params.size(); ++i) {
      const Tensor g = params[i].grad();
      m[i].mul_(0.9).add_(g * 0.1);
      v[i].mul_(0.99).add_(g * g * 0.01);
      params[i].sub_(m[i] / (sqrt(v[i]) + 1e-8) * rate);
      params[i].zero_grad();
    }
    return loss;
  }

  std::vector<std::byte> everything() const {
    std::vector<std::byte> all;
    for (const auto* list : {&params, &m, &v}) {
      for (const Tensor& one : *list) {
        const auto bytes = one.detach().to_bytes();
        all.insert(all.end(), bytes.begin(), bytes.end());
      }
    }
    return all;
  }

  Device on;
  Generator generator{11};
  Scalar rate;
  std::vector<Tensor> params, m, v;
};

class CaptureOn : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Devices, CaptureOn, testing::Values("cpu", "cpu_unfused", "reference", "remote"),
                         [](const auto& row) { return row.param; });

TEST_P(CaptureOn, AHundredStepsWithDropoutGiveTheBitsOfUncapturedOnes) {
  Trainer plain(GetParam()), captured(GetParam());
  auto step = compile([&](const Tensor& x, const Tensor& y) { return captured.step(x, y); });
  Generator data(5);
  const size_t before = replays();
  for (int i = 0; i < 100; ++i) {
    const Tensor x = randn({16, 8}, {}, &data).to(plain.on), y = randn({16, 4}, {}, &data).to(plain.on);
    plain.rate.set(0.01 / (1 + i));
    captured.rate.set(0.01 / (1 + i));
    const Tensor a = plain.step(x, y), b = step(x, y);
    ASSERT_EQ(a.to_bytes(), b.to_bytes()) << "step " << i;
  }
  EXPECT_EQ(plain.everything(), captured.everything());
  EXPECT_GE(replays() - before, 97u);
}

TEST(Capture, OneOpAtATimeGivesTheSameBits) {
  Trainer fused("cpu"), unfused("cpu_unfused");
  auto a = compile([&](const Tensor& x, const Tensor& y) { return fused.step(x, y); });
  auto b = compile([&](const Tensor& x, const Tensor& y) { return unfused.step(x, y); });
  const Tensor x = rand({16, 8}).eval(), y = rand({16, 4}).eval();
  for (int i = 0; i < 20; ++i) {
    const auto left = a(x.to("cpu"), y.to("cpu")).to_bytes(),
               right = b(x.to("cpu_unfused"), y.to("cpu_unfused")).to_bytes();
    ASSERT_EQ(left, right) << i;
  }
  EXPECT_EQ(fused.everything(), unfused.everything());
}

TEST(Capture, AReplayPlansNothingAndIsOneSubmit) {
  Trainer trainer(Device().name());
  auto step = compile([&](const Tensor& x, const Tensor& y) { return trainer.step(x, y); });
  const Tensor x = rand({16, 8}).eval(), y = rand({16, 4}).eval();
  for (int i = 0; i < 4; ++i) step(x, y);
  const exec::Stats before = exec::stats();
  for (int i = 0; i < 10; ++i) step(x, y);
  const exec::Stats after = exec::stats();
  EXPECT_EQ(after.replays - before.replays, 10u);
  EXPECT_EQ(after.submits - before.submits, 10u);
  EXPECT_EQ(after.plan_misses, before.plan_misses);
  EXPECT_EQ(after.plan_hits, before.plan_hits);
}

TEST(Capture, ScalarsVaryWithoutAnotherRecording) {
  Tensor total = zeros({3}).clone().eval();
  Scalar factor(1);
  auto step = compile([&](const Tensor& x) {
    total.add_(x * factor);
    return total * 1.0;
  });
  const Tensor x = tensor<float>({1, 2, 3}).eval();
  float sum = 0;
  for (int i = 1; i <= 8; ++i) {
    factor.set(i);
    sum += static_cast<float>(i);
    EXPECT_EQ(step(x).to_vector<float>(), (Floats{sum, 2 * sum, 3 * sum}));
  }
  EXPECT_EQ(step.recordings(), 1u);
}

TEST(Capture, WeightsThatNobodyHasComputedYetAreNotComputedByEveryReplay) {
  const auto launches_per_replay = [](bool computed) {
    Generator generator(1);
    Tensor w = randn({64, 64}, {}, &generator);
    if (computed) w.eval();
    auto step = compile([&](const Tensor& x) { return matmul(x, w); });
    const Tensor x = ones({1, 64}).eval();
    for (int i = 0; i < 4; ++i) step(x);
    const size_t before = exec::stats().launches;
    step(x).eval();
    EXPECT_TRUE(w.is_evaluated());
    return exec::stats().launches - before;
  };
  EXPECT_EQ(launches_per_replay(false), launches_per_replay(true));
}

TEST(Capture, SeveralResultsAndNoArguments) {
  Tensor count = zeros({1}).clone().eval();
  auto tick = compile([&] {
    count.add_(1);
    return std::vector<Tensor>{count * 2, count.reshape({1, 1}) * 3};
  });
  for (int i = 1; i <= 6; ++i) {
    const std::vector<Tensor> out = tick();
    EXPECT_EQ(out[0].item<float>(), 2.0f * static_cast<float>(i));
    EXPECT_EQ(out[1].shape(), (Dims{1, 1}));
    EXPECT_EQ(out[1].item<float>(), 3.0f * static_cast<float>(i));
  }
}

// ---- sharp edges ----

TEST(Capture, AShortLastBatchMakesAnotherRecording) {
  Tensor w = tensor<float>({2}).eval();
  auto f = compile([&](const Tensor& x) { return sum(x * w); });
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(f(full({8}, 1.0)).item<float>(), 16);
    EXPECT_EQ(f(full({3}, 1.0)).item<float>(), 6);
  }
  EXPECT_EQ(f.recordings(), 2u);
}

TEST(Capture, AnotherDtypeMakesAnotherRecording) {
  auto f = compile([&](const Tensor& x) { return x + x; });
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(f(full({2}, 1.5)).to_vector<float>(), (Floats{3, 3}));
    EXPECT_EQ(f(full({2}, 2, DType::i64)).to_vector<int64_t>(), (std::vector<int64_t>{4, 4}));
  }
  EXPECT_EQ(f.recordings(), 2u);
}

TEST(Capture, RecordingsAreBounded) {
  auto f = compile([&](const Tensor& x) { return x * 2; });
  for (int64_t n = 1; n <= 30; ++n) EXPECT_EQ(f(ones({n})).numel(), n);
  EXPECT_LE(f.recordings(), 8u);
}

TEST(Capture, ReadingInsideIsRefused) {
  auto f = compile([&](const Tensor& x) { return x * x.sum().item<float>(); });
  const std::string text = "[compile] a value cannot be read inside a captured function; return it and read it outside";
  EXPECT_EQ(text_of([&] { f(ones({2})); }), text);
  EXPECT_EQ(text_of([&] { f(ones({2})); }), text);
}

TEST(Capture, HostValuesThatChangeAreFound) {
  float value = 1;
  auto f = compile([&](const Tensor& x) { return x + from_vector(Floats{value, value}, {2}); });
  for (int i = 0; i < 3; ++i) f(ones({2}));
  value = 2;
  EXPECT_EQ(
      text_of([&] { f(ones({2})); }),
      "[compile] a captured function has changed since the call before: a tensor that is made from host values has "
      "other values than before; pass it as an argument");
  EXPECT_EQ(f(ones({2})).to_vector<float>(), (Floats{3, 3}));
}

TEST(Capture, AFunctionThatAlwaysDiffersIsCalledEveryTime) {
  int calls = 0;
  auto f = compile([&](const Tensor& x) {
    Tensor y = x;
    for (int i = 0; i < calls; ++i) y = y + 1;
    ++calls;
    return y * 2;
  });
  testing::internal::CaptureStderr();
  for (int i = 0; i < 12; ++i) EXPECT_EQ(f(zeros({2})).to_vector<float>(), Floats(2, 2.0f * static_cast<float>(i)));
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("called every time instead of being replayed"), std::string::npos);
  EXPECT_EQ(said.find('\n'), said.size() - 1) << "said once";
}

TEST(Capture, StateMadeInTheFirstCallIsFine) {
  Tensor momentum;
  Tensor w = ones({2}).clone().eval();
  auto f = compile([&](const Tensor& g) {
    if (!momentum.defined())
      momentum = g.clone();
    else
      momentum.mul_(0.5).add_(g);
    w.sub_(momentum);
    return w * 1.0;
  });
  Floats expected{1, 1}, velocity{0, 0};
  for (int i = 0; i < 8; ++i) {
    for (size_t k = 0; k < 2; ++k) {
      velocity[k] = velocity[k] * 0.5f + 1;
      expected[k] -= velocity[k];
    }
    EXPECT_EQ(f(ones({2})).to_vector<float>(), expected) << i;
  }
}

TEST(Capture, AliasingArgumentsAreTwoValues) {
  auto f = compile([&](const Tensor& a, const Tensor& b) { return a * 10 + b; });
  Tensor x = tensor<float>({1, 2, 3, 4}).eval();
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(f(x, x).to_vector<float>(), (Floats{11, 22, 33, 44}));
    EXPECT_EQ(f(x.slice(0, 0, 2), x.slice(0, 1, 3)).to_vector<float>(), (Floats{12, 23}));
  }
}

TEST(Capture, WritingAnArgumentIsRefused) {
  auto f = compile([&](const Tensor& x) {
    Tensor same = x;
    same.add_(1);
    return same * 1.0;
  });
  EXPECT_EQ(text_of([&] { f(ones({2})); }),
            "[compile] an argument is written inside the captured function; capture the tensor instead of passing it");
}

TEST(Capture, AnArgumentThatRequiresGradIsRefused) {
  auto f = compile([&](const Tensor& x) { return x * 2; });
  EXPECT_EQ(text_of([&] { f(ones({2}).requires_grad_()); }),
            "[compile] argument 0 requires grad; capture the parameter instead of passing it, or detach() it");
}

TEST(Capture, ACaptureInsideACaptureIsPartOfIt) {
  Tensor w = ones({2}).clone().eval();
  auto inner = compile([&](const Tensor& x) {
    w.add_(x);
    return w * 2;
  });
  auto outer = compile([&](const Tensor& x) { return inner(x) + 1; });
  for (int i = 1; i <= 5; ++i)
    EXPECT_EQ(outer(ones({2})).to_vector<float>(), Floats(2, 2.0f * static_cast<float>(1 + i) + 1));
}

TEST(Capture, AnExceptionInsideLeavesEverythingAsItWas) {
  Tensor w = tensor<float>({1, 2}).eval();
  Generator generator(1), twin(1);
  bool throws = true;
  auto f = compile([&](const Tensor& x) {
    w.add_(x + rand({2}, {}, &generator));
    if (throws) throw std::runtime_error("no luck");
    return w * 1.0;
  });
  EXPECT_THROW(f(ones({2})), std::runtime_error);
  EXPECT_EQ(w.to_vector<float>(), (Floats{1, 2}));
  throws = false;
  const Tensor expected = (tensor<float>({1, 2}) + (ones({2}) + rand({2}, {}, &twin))).eval();
  EXPECT_EQ(f(ones({2})).to_bytes(), expected.to_bytes());
  EXPECT_EQ(w.to_bytes(), expected.to_bytes());
}

TEST(Capture, RandomNumbersGoOnWhereUncapturedOnesWould) {
  Generator one(9), two(9);
  auto f = compile([&](const Tensor& x) { return x + rand({5}, {}, &one); });
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(f(zeros({5})).to_bytes(), (zeros({5}) + rand({5}, {}, &two)).to_bytes()) << i;
    if (i % 3 == 2) {  // draws in between
      EXPECT_EQ(randn({7}, {}, &one).to_bytes(), randn({7}, {}, &two).to_bytes());
    }
  }
}

TEST(Capture, AValueThatLeaksOutIsThatOfItsCallToo) {
  Tensor w = tensor<float>({1, 2}).eval(), leaked, seen;
  auto f = compile([&](const Tensor& x) {
    leaked = w * x * 10;
    seen = leaked.slice(0, 1, 2);
    w.add_(x);
    return w * 1.0;
  });
  for (int i = 0; i < 8; ++i) {
    f(ones({2}));
    EXPECT_EQ(leaked.to_vector<float>(),
              (Floats{10.0f * static_cast<float>(1 + i), 10.0f * static_cast<float>(2 + i)}));
    EXPECT_EQ(seen.to_vector<float>(), (Floats{10.0f * static_cast<float>(2 + i)}));
  }
}

TEST(Capture, AParameterWrittenBetweenCallsIsSeen) {
  Tensor w = tensor<float>({1, 2}).eval();
  auto f = compile([&](const Tensor& x) {
    w.add_(x);
    return w * 1.0;
  });
  for (int i = 0; i < 3; ++i) f(ones({2}));
  const Tensor held = w * 1.0;  // keeps the old content from being overwritten
  w.copy_(tensor<float>({10, 20}));
  EXPECT_EQ(f(ones({2})).to_vector<float>(), (Floats{11, 21}));
  EXPECT_EQ(f(ones({2})).to_vector<float>(), (Floats{12, 22}));
  EXPECT_EQ(held.to_vector<float>(), (Floats{4, 5}));
}

TEST(Capture, ValuesRecordedBeforeAReplaySeeTheOldState) {
  Tensor w = tensor<float>({1, 2}).eval();
  auto f = compile([&](const Tensor& x) {
    w.add_(x);
    return w * 1.0;
  });
  for (int i = 0; i < 4; ++i) f(ones({2}));
  const Tensor twice = w * 2, part = w.slice(0, 1, 2), negative = -part;
  f(ones({2}));
  EXPECT_EQ(twice.to_vector<float>(), (Floats{10, 12}));
  EXPECT_EQ(negative.to_vector<float>(), (Floats{-6}));
  EXPECT_EQ(part.to_vector<float>(), (Floats{7}));  // a view shows what is there now
  EXPECT_EQ(w.to_vector<float>(), (Floats{6, 7}));
}

TEST(Capture, TwoCapturesShareWeights) {
  Tensor w = tensor<float>({1, 1}).eval();
  auto up = compile([&](const Tensor& x) {
    w.add_(x);
    return w * 1.0;
  });
  auto twice = compile([&](const Tensor& x) {
    w.mul_(x);
    return w * 1.0;
  });
  float expected = 1;
  for (int i = 0; i < 8; ++i) {
    expected += 1;
    EXPECT_EQ(up(ones({2})).to_vector<float>(), Floats(2, expected));
    expected *= 0.5f;
    EXPECT_EQ(twice(full({2}, 0.5)).to_vector<float>(), Floats(2, expected));
  }
}

TEST(Capture, ABadIndexInAReplayChangesNothing) {
  Tensor table = tensor<float>({1, 2, 3}).eval();
  Tensor w = zeros({1}).clone().eval();
  auto f = compile([&](const Tensor& index) {
    w.add_(gather(table, 0, index + 0));
    return w * 1.0;
  });
  const auto at = [](int64_t i) { return full({1}, i, DType::i64).eval(); };
  for (int i = 0; i < 3; ++i) f(at(1));
  EXPECT_EQ(w.item<float>(), 6);
  EXPECT_NE(text_of([&] { f(at(7)).item<float>(); }), "nothing was thrown");
  EXPECT_EQ(w.item<float>(), 6);
  EXPECT_EQ(f(at(2)).item<float>(), 9);
}

TEST(Capture, VerifyingComparesEveryReplayWithTheFunction) {
  setenv("TENON_VERIFY_CAPTURE", "1", 1);
  Trainer trainer(Device().name());
  auto step = compile([&](const Tensor& x, const Tensor& y) { return trainer.step(x, y); });
  const Tensor x = rand({16, 8}).eval(), y = rand({16, 4}).eval();
  for (int i = 0; i < 6; ++i) EXPECT_NO_THROW(step(x, y)) << i;
  int calls = 0;
  auto cheat = compile([&](const Tensor& a) { return ++calls > 3 ? a * 3 : a * 2; });
  cheat(x), cheat(x);
  EXPECT_NO_THROW(cheat(x));
  EXPECT_NE(text_of([&] { cheat(x); }).find("the number 3 that mul reads was 2"), std::string::npos);
  unsetenv("TENON_VERIFY_CAPTURE");
}

TEST(Capture, VerifyingSeesWhatWasWrittenBetweenCalls) {
  setenv("TENON_VERIFY_CAPTURE", "1", 1);
  Tensor total = zeros({2}).clone().eval();
  auto step = compile([&](const Tensor& x) {
    total.add_(x);
    return total * 1;
  });
  const Tensor x = ones({2}).eval();
  for (int i = 0; i < 4; ++i) step(x);
  total.fill_(10);
  EXPECT_EQ(step(x).to_vector<float>(), (Floats{11, 11}));
  unsetenv("TENON_VERIFY_CAPTURE");
}

// The parameter is a view of the state, and the result is made of it without being part of the gradient.
TEST(Capture, AResultSeesTheParametersBeforeTheirUpdate) {
  Tensor state = ones({4}).clone().eval();
  Tensor w = ones({1, 4}).clone().eval().requires_grad_();
  w.set_data(state.reshape({1, 4}));
  auto step = compile([&](const Tensor& x) {
    const Tensor seen = matmul(w.detach(), x.reshape({4, 1})).sum();
    (w * x).sum().backward();
    const NoGrad updating;
    state.sub_(w.grad().reshape({4}) * 0.25);
    w.zero_grad();
    return seen.detach();
  });
  const Tensor x = ones({4}).eval();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(step(x).item<float>(), 4 - static_cast<float>(i));
}

TEST(Capture, TwentyScalarsTravelInTwoBlocks) {
  std::vector<Scalar> factors;
  for (int i = 0; i < 20; ++i) factors.emplace_back(i + 1.0);
  auto sum = compile([&](const Tensor& x) {
    Tensor total = x * factors[0];
    for (int i = 1; i < 20; ++i) total = total + x * factors[static_cast<size_t>(i)];
    return total;
  });
  const Tensor x = ones({3}).clone().eval();
  for (int call = 0; call < 5; ++call) {
    for (int i = 0; i < 20; ++i) factors[static_cast<size_t>(i)].set(i + call);
    const size_t before = stats().bytes_uploaded;
    EXPECT_EQ(sum(x).to_vector<float>(), std::vector<float>(3, static_cast<float>(190 + 20 * call)));
    if (call < 4) continue;  // traced, or checked
    EXPECT_EQ(stats().bytes_uploaded - before, 20 * sizeof(float));
  }
}

TEST(Capture, AnIndexOutOfRangeIsNamedAsItWasGiven) {
  for (const char* device : {"cpu", "reference", "simulated"}) {
    const Device on(device);
    const Tensor rows = ones({5, 4}, on).eval();
    auto added = compile([&](const Tensor& index) {
      return scatter_add(rows, 0, index.unsqueeze(1).expand({1, 4}), ones({1, 4}, on));
    });
    auto picked = compile([&](const Tensor& index) { return gather(rows, 0, index.unsqueeze(1)); });
    for (const int64_t index : {1, 4, 7, -1, 2, 7}) {
      const Tensor given = tensor<int64_t>({index}, on);
      const std::string expected = index == 7    ? "[gather] index 7 is out of range for axis 0 of size 5"
                                   : index == -1 ? "[gather] index -1 is out of range for axis 0 of size 5"
                                                 : "nothing was thrown";
      EXPECT_EQ(text_of([&] { added(given).to_vector<float>(); }), expected) << device;
      EXPECT_EQ(text_of([&] { picked(given).to_vector<float>(); }), expected) << device;
    }
  }
}

// The null device checks that every launch reads what was written for it.
TEST(Capture, HoldsOnTheNullDevice) {
  const Device null("null");
  auto twice = compile([](const Tensor& x) { return x * 2; });
  const Tensor x = ones({4}, Options(DType::f32, null)).clone().eval();
  for (int call = 0; call < 4; ++call) EXPECT_NO_THROW(twice(x).eval());
}

TEST(Capture, AWeightThatWasAllOneNumberMayChange) {
  Tensor weight = ones({3});
  auto scaled = compile([&](const Tensor& x) { return x * weight; });
  const Tensor x = tensor({1.0f, 2.0f, 3.0f});
  for (int i = 0; i < 4; ++i) EXPECT_EQ(scaled(x).to_vector<float>(), (std::vector<float>{1, 2, 3}));
  weight.mul_(2.0);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(scaled(x).to_vector<float>(), (std::vector<float>{2, 4, 6}));
}

}  // namespace
}  // namespace tenon
