// Recording without reading, memory limits, faults: memory stays bounded and the process goes on.

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <thread>

#include "tenon/base/available_memory.h"
#include "tenon/device/pool.h"
#include "tenon/device/registry.h"
#include "tenon/device/storage.h"
#include "tenon/ir/node.h"
#include "tenon/ir/topology.h"
#include "tenon/tenon.h"
#include "tenon/tensor/access.h"
#include "tests/error_text.h"

namespace tenon {
namespace {

TEST(Growth, AnAccumulatingMetricKeepsFlatMemory) {
  const Tensor loss = tensor<float>({1}).eval();
  Tensor total = zeros({1});
  size_t most_nodes = 0, most_bytes = 0;
  for (int i = 0; i < 100'000; ++i) {
    total = total + loss * static_cast<double>(1 + i % 2);
    most_nodes = std::max(most_nodes, ir::live_nodes());
    most_bytes = std::max(most_bytes, memory_stats().live_bytes);
  }
  EXPECT_EQ(total.item<float>(), 150'000);
  EXPECT_LT(most_nodes, 200'000u);
  EXPECT_LT(most_bytes, size_t{64} << 20);
}

// A sum in parts binds what it keeps between its dispatches beside what it reads: `simulated` refuses kernels that bind
// more than a device has to.
TEST(Growth, SumsOfManyTensorsBindNoMoreBuffersThanThereAre) {
  const Device device("simulated");
  for (int count = 8; count < 20; ++count) {
    std::vector<Tensor> terms;
    for (int i = 0; i < count; ++i) terms.push_back((arange(4096, device).to(DType::f32) * 0.0 + (i + 1.0)).eval());
    Tensor sum = terms[0], largest = terms[0], product = terms[0];
    for (int i = 1; i < count; ++i) {
      sum = sum * 0.5 + terms[static_cast<size_t>(i)];
      largest = maximum(largest, terms[static_cast<size_t>(i)]);
      product = minimum(product, terms[static_cast<size_t>(i)]);
    }
    const std::vector<Tensor> read{sum.sum(), largest.max(), product.min()};
    wait(read);
    EXPECT_NEAR(read[0].item<float>(), 4096 * (2.0 * count - 2 + std::pow(0.5, count - 1)), 1) << count;
    EXPECT_EQ(read[1].item<float>(), static_cast<float>(count));
    EXPECT_EQ(read[2].item<float>(), 1.0f);
  }
}

TEST(Growth, AStateThatIsAddedToAndNeverReadKeepsFlatMemory) {
  Tensor total = zeros({1}).clone().eval();
  size_t most_nodes = 0;
  for (int i = 0; i < 100'000; ++i) {
    total.add_(1);
    most_nodes = std::max(most_nodes, ir::live_nodes());
  }
  EXPECT_EQ(total.item<float>(), 100'000);
  EXPECT_LT(most_nodes, 250'000u);
}

// Were it computed from the beginning for every value, a step would take longer than the one before.
TEST(Growth, AStateOfWhichOnlyWhatFollowsIsReadIsComputedFewTimes) {
  const auto read_every_step = [](bool evaluates) {
    manual_seed(7);
    Tensor state = zeros({4});
    std::vector<float> read;
    size_t most = 0;
    for (int i = 0; i < 200; ++i) {
      state = state * 0.9 + randn({4}) * 0.1;
      if (evaluates) state.eval();
      read.push_back(state.sum().item<float>());
      const ir::Value value = value_of(state);
      most = std::max(most, ir::order_of_evaluation({&value, 1}).size());
    }
    return std::pair(read, most);
  };
  const auto [read, most] = read_every_step(false);
  EXPECT_EQ(read, read_every_step(true).first);
  EXPECT_LT(most, 200u);
}

TEST(Growth, WhatIsHeldCountsInBytesToo) {
  Tensor total = zeros({1 << 18});
  const size_t before = memory_stats().live_bytes;
  size_t most = 0;
  for (int i = 0; i < 3000; ++i) {  // 3 GB, were it all kept
    total = total + full({1 << 18}, static_cast<double>(i)).clone().eval();
    most = std::max(most, memory_stats().live_bytes - before);
  }
  EXPECT_EQ(total.slice(0, 0, 1).item<float>(), 3000.0f * 2999 / 2);
  EXPECT_LT(most, size_t{1200} << 20);
}

TEST(Growth, WhatIsInMemoryAnywayDoesNotCount) {
  const Tensor weight = ones({1 << 20}).clone().eval();
  Tensor x = ones({1 << 20});
  const size_t before = stats().evaluations;
  for (int i = 0; i < 600; ++i) x = x * weight + 1;  // 2.4 GB, were the weight another one every time
  EXPECT_EQ(stats().evaluations, before);
  EXPECT_EQ(x.slice(0, 0, 1).item<float>(), 601);
}

// Loops that neither step an optimizer nor read anything: the graph itself is what would grow.
template <typename F>
size_t most_nodes_of(const F& step) {
  size_t most = 0;
  for (int i = 0; i < 20'000; ++i) {
    step(i);
    most = std::max(most, ir::live_nodes());
  }
  return most;
}

struct UnreadLoop {
  static constexpr size_t kFew = 50'000;  // a small part of the nodes of 20,000 steps
  Tensor x = full({4, 8}, 0.5).clone().eval(), weight = full({8, 8}, 0.25).clone().eval().requires_grad_();
  Tensor loss(int i) const { return (matmul(x, weight) * (i + 1.0)).sum(); }
};

TEST(Growth, ASumThatIsCarriedAndNeverReadHoldsFewOperations) {
  const UnreadLoop loop;
  Tensor total = zeros({});
  EXPECT_LT(most_nodes_of([&](int) { total = total + loop.loss(0).detach(); }), UnreadLoop::kFew);
  EXPECT_EQ(total.item<float>(), 20'000 * 32.0f);
}

TEST(Growth, ListsOfResultsThatNobodyReadsHoldFewOperations) {
  const UnreadLoop loop;
  std::vector<Tensor> totals, losses, cut;
  Tensor total = zeros({}, Options(DType::i64));
  const size_t most = most_nodes_of([&](int i) {
    total = total + loop.loss(i % 5).detach().to(DType::i64);
    totals.push_back(total);
    {
      const NoGrad looking;
      losses.push_back(loop.loss(i));
    }
    cut.push_back(loop.loss(i).detach());
  });
  EXPECT_LT(most, 3 * UnreadLoop::kFew + 6 * losses.size());  // those that are kept are nodes, too
  EXPECT_EQ(totals[9'999].item<int64_t>(), 10'000 * 96);
  EXPECT_EQ(losses[12'345].item<float>(), 12'346 * 32.0f);
  EXPECT_EQ(cut[19'999].item<float>(), 20'000 * 32.0f);
}

TEST(Growth, GradientsThatAreAddedUpAndNeverReadHoldFewOperations) {
  UnreadLoop loop;
  EXPECT_LT(most_nodes_of([&](int) { loop.loss(0).backward(); }), UnreadLoop::kFew);
  EXPECT_EQ(loop.weight.grad().select(0, 0).to_vector<float>(), std::vector<float>(8, 40'000.0f));
}

// The graph is what the program wants; its values are computed in parts.
TEST(Growth, ALongSumKeepsItsGradient) {
  const Tensor weight = full({4}, 1.0).clone().eval().requires_grad_();
  Tensor total = zeros({});
  for (int i = 0; i < 40'000; ++i) total = total + (weight * (1.0 + i % 2)).sum();
  EXPECT_EQ(total.item<float>(), 240'000.0f);
  total.backward();
  EXPECT_EQ(weight.grad().to_vector<float>(), std::vector<float>(4, 60'000.0f));
}

// Chains of one sequence are not taken apart: what backward() needs is computed once.
TEST(Growth, ALongSequenceWithGradientsIsEvaluatedOnce) {
  const Tensor weight = full({4}, 0.5).clone().eval().requires_grad_();
  Tensor state = zeros({4});
  for (int i = 0; i < 1'500; ++i) state = tanh(state * weight + 0.1).clone();
  const size_t before = stats().evaluations;
  Tensor loss = state.sum();
  const Tensor seen = loss.detach() * 2.0;
  loss.backward();
  const Tensor norm = square(weight.grad()).sum();
  EXPECT_EQ(stats().evaluations, before);
  EXPECT_GT(norm.item<float>(), 0);
  EXPECT_GT(seen.item<float>(), 0);
}

// TENON_STEPS asks for more steps than the quick tests take.
int steps_of_unread_training() {
  const char* text = std::getenv("TENON_STEPS");
  return text ? std::atoi(text) : 150;
}

// 0 under AddressSanitizer, which keeps freed memory for a while: what is resident says nothing there.
size_t resident_bytes() {
#ifdef __SANITIZE_ADDRESS__
  return 0;
#endif
  std::ifstream file("/proc/self/status");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  return base::kilobytes_of(text, "VmRSS").value_or(0);
}

// Two layers of 256 x 256 that are trained while nobody reads a loss. `after` sees the loss when the step is done.
struct UnreadTraining {
  static constexpr size_t kWeights = size_t{2} * 256 * 256 * sizeof(float);
  Tensor first = (randn({256, 256}) * 0.05).eval().requires_grad_(),
         second = (randn({256, 256}) * 0.05).eval().requires_grad_();
  optim::SGD optimizer{{first, second}, {.lr = 0.01}};
  Tensor x = randn({16, 256}).eval(), y = randn({16, 256}).eval();

  // The most bytes that were in use beyond those after ten steps.
  template <typename F>
  size_t most_bytes_held(const F& after) {
    return most_bytes_held(after, [](const Tensor&, const Tensor&) {});
  }
  // `before_backward` sees it while it has its graph.
  template <typename F, typename G>
  size_t most_bytes_held(const F& after, const G& before_backward) {
    size_t before = 0, most = 0, resident = 0;
    for (int i = 0, steps = steps_of_unread_training(); i < steps; ++i) {
      const Tensor predicted = matmul(relu(matmul(x, first)), second);
      Tensor loss = square(predicted - y).mean();
      before_backward(loss, predicted);
      optimizer.zero_grad();
      loss.backward();
      optimizer.step();
      after(loss, predicted);
      wait({first, second});  // what a step under way holds for a moment is not what is kept
      if (i == 10) before = memory_stats().live_bytes;
      if (i > 10) most = std::max(most, memory_stats().live_bytes - std::min(before, memory_stats().live_bytes));
      if (i == steps / 4) resident = resident_bytes();
    }
    EXPECT_LT(resident_bytes(), resident + most + (size_t{64} << 20));
    return most;
  }
};

TEST(Growth, ASumOfLossesThatNobodyReadsKeepsNoOldWeights) {
  UnreadTraining training;
  Tensor replaced = zeros({}), written = zeros({}).clone().eval();
  const size_t most = training.most_bytes_held([&](const Tensor& loss, const Tensor&) {
    replaced = replaced + loss.detach();
    written += loss.detach();
  });
  EXPECT_LE(most, 2 * UnreadTraining::kWeights);
  EXPECT_GT(replaced.item<float>(), 0);
  EXPECT_EQ(replaced.item<float>(), written.item<float>());
}

TEST(Growth, LossesInAListKeepNoOldWeights) {
  UnreadTraining training;
  std::vector<Tensor> losses, cut;
  const size_t most = training.most_bytes_held([&](const Tensor& loss, const Tensor&) {
    losses.push_back(loss);
    cut.push_back(loss.detach());
  });
  EXPECT_LE(most, 2 * UnreadTraining::kWeights + losses.size() * 1024);
  EXPECT_LT(losses.back().item<float>(), losses.front().item<float>());
  EXPECT_EQ(losses[7].item<float>(), cut[7].item<float>());
}

TEST(Growth, CountsOfWhatWasPredictedKeepNoOldWeights) {
  UnreadTraining training;
  Tensor right = zeros({}, Options(DType::i64));
  const Tensor wanted = argmax(training.y, 1).eval();
  const size_t most = training.most_bytes_held(
      [&](const Tensor&, const Tensor& predicted) { right = right + (argmax(predicted, 1) == wanted).sum(); });
  EXPECT_LE(most, 2 * UnreadTraining::kWeights + (64 << 10));
  EXPECT_GE(right.item<int64_t>(), 0);
}

// The losses are added up before the graph of each is used up, as many programs do it that detach nothing.
TEST(Growth, ASumOfLossesThatIsNotDetachedKeepsNoOldWeights) {
  for (const bool is_trained_first : {false, true}) {
    UnreadTraining training;
    Tensor total = zeros({}), detached = zeros({});
    const auto add = [&](const Tensor& loss, const Tensor&) { total = total + loss; };
    const auto keep = [&](const Tensor& loss, const Tensor&) { detached = detached + loss.detach(); };
    const size_t most = is_trained_first ? training.most_bytes_held(add, keep) : training.most_bytes_held(keep, add);
    EXPECT_LE(most, 3 * UnreadTraining::kWeights + (64 << 10));  // two kept, and those of a step under way
    EXPECT_EQ(total.item<float>(), detached.item<float>());
    if (is_trained_first) continue;
    EXPECT_TRUE(total.requires_grad());
    const std::string text = text_of([&] { total.backward(); });
    EXPECT_EQ(
        text.find("[backward] contract needs its operand f32 (256, 256) as it was, which has been written several "
                  "times since; the graph of this tensor, () made by add, is kept no longer: call backward() before"),
        0u)
        << text;
  }
}

// Here nothing uses the graphs up, and each holds its batch and what was made of it too.
TEST(Growth, LossesBesideATrainingThatAreNotDetachedKeepNoOldWeights) {
  UnreadTraining training;
  const Tensor held_back = randn({16, 256}).eval();
  std::vector<Tensor> losses;
  const size_t most = training.most_bytes_held([&](const Tensor&, const Tensor&) {
    losses.push_back(square(matmul(relu(matmul(held_back, training.first)), training.second) - training.y).mean());
  });
  EXPECT_LE(most, 2 * UnreadTraining::kWeights + losses.size() * 1024);
  EXPECT_LT(losses.back().item<float>(), losses.front().item<float>());
  EXPECT_NE(text_of([&] { losses.front().backward(); }), "");
  losses.back().backward();
  EXPECT_TRUE(losses.front().requires_grad());
}

// What one step has overwritten is still there for a gradient.
TEST(Growth, AGraphThatIsKeptOverOneStepHasItsGradient) {
  UnreadTraining training;
  const auto loss_now = [&] {
    return square(matmul(relu(matmul(training.x, training.first)), training.second) - training.y).mean();
  };
  const std::vector<float> wanted = grad(loss_now(), training.first).to_vector<float>();
  const Tensor kept = loss_now();
  Tensor loss = loss_now() * 2.0;
  loss.backward();
  training.optimizer.step();
  EXPECT_EQ(grad(kept, training.first).to_vector<float>(), wanted);
}

// A graph over many steps that holds few bytes of old weights stays.
TEST(Growth, GraphsOfSmallModelsAreKept) {
  Tensor w = full({4}, 1.0).eval().requires_grad_();
  const Tensor x = arange(4).to(DType::f32).eval();
  Tensor total = zeros({});
  for (int i = 0; i < 50; ++i) {
    total = total + (w * x).sum();
    const NoGrad writing;
    w.mul_(0.5).eval();
  }
  total.backward();
  EXPECT_EQ(w.grad().to_vector<float>(), (std::vector<float>{0, 50, 100, 150}));
}

// Batches of a megabyte that nobody has but the metrics that were made of them.
TEST(Growth, MetricsOfAnEvaluationKeepNoBatches) {
  constexpr size_t kBatch = size_t{256} * 1024 * sizeof(float);
  const Tensor weight = (randn({1024, 10}) * 0.05).eval().requires_grad_();
  const int steps = std::min(steps_of_unread_training(), 3000);
  Tensor replaced = zeros({}, Options(DType::i64)), written = zeros({}, Options(DType::i64)).clone().eval();
  std::vector<Tensor> kept;
  const std::vector<float> numbers = randn({256, 1024}).to_vector<float>();
  const NoGrad looking;
  const size_t before = memory_stats().live_bytes;
  size_t most = 0;
  for (int i = 0; i < steps; ++i) {
    const Tensor batch = from_vector(numbers, {256, 1024}) * (i + 1.0), predicted = argmax(matmul(batch, weight), 1);
    replaced = replaced + (predicted == 3).sum();
    written += (predicted == 3).sum();
    kept.push_back((predicted == 3).to(DType::f32).mean());
    most = std::max(most, memory_stats().live_bytes - std::min(before, memory_stats().live_bytes));
  }
  EXPECT_LE(most, 8 * kBatch + kept.size() * 1024);
  EXPECT_EQ(replaced.item<int64_t>(), written.item<int64_t>());
  EXPECT_EQ(replaced.item<int64_t>(), std::lround(256 * steps * kept[7].item<float>()));
}

// A gradient may be asked for: the graph is what the program wants.
TEST(Growth, LossesOfManyBatchesKeepTheirGraph) {
  Tensor weight = (randn({1024, 4}) * 0.05).eval().requires_grad_();
  Tensor total = zeros({});
  for (int i = 0; i < 100; ++i)
    total = total + matmul(full({64, 1024}, static_cast<double>(i)).clone().eval(), weight).sum();
  total.backward();
  EXPECT_EQ(weight.grad().select(0, 0).to_vector<float>(), (std::vector<float>(4, 64.0f * 4950)));
}

// What is cut from its history and kept does not keep the tensor that it was cut from.
TEST(Growth, FeaturesInAListKeepNoOldWeights) {
  UnreadTraining training;
  std::vector<Tensor> features;
  const size_t most =
      training.most_bytes_held([&](const Tensor&, const Tensor& predicted) { features.push_back(predicted.detach()); });
  EXPECT_LE(most, 2 * UnreadTraining::kWeights + features.size() * (16 * 256 * sizeof(float) + 1024));
}

// A state that is carried from step to step is computed with the step, once.
TEST(Growth, ACarriedStateIsComputedWithItsStep) {
  const auto losses_of = [](bool evaluates) {
    manual_seed(3);
    Tensor weight = (randn({32, 32}) * 0.2).eval().requires_grad_();
    optim::SGD optimizer({weight}, {.lr = 0.1});
    Tensor state = zeros({4, 32});
    std::vector<float> losses;
    size_t most_nodes = 0;
    for (int i = 0; i < 40; ++i) {
      state = state.detach();
      if (evaluates) state.eval();
      std::vector<Tensor> outputs;
      for (int t = 0; t < 3; ++t) {
        state = tanh(matmul(state, weight) + 0.1 * (i + t));
        outputs.push_back(state);
      }
      Tensor loss = square(stack(outputs) - 0.5).mean();
      state = stack({state, state})[0];  // as layers give their last states: made of what was computed, and not read
      optimizer.zero_grad();
      loss.backward();
      optimizer.step();
      losses.push_back(loss.item<float>());
      most_nodes = std::max(most_nodes, ir::live_nodes());
    }
    EXPECT_LT(most_nodes, 2000u);
    return losses;
  };
  const size_t before = stats().evaluations;
  const std::vector<float> losses = losses_of(false);
  EXPECT_LE(stats().evaluations - before, 60u);
  EXPECT_EQ(losses, losses_of(true));
}

// What steps of a loop take, of which each hands its states, cut from their history, to the next and reads its loss.
struct Steps {
  std::vector<float> losses;
  std::vector<size_t> nodes, bytes, launches;  // after and of each step
  size_t early = 0;                            // resident

  template <typename F>
  Steps(std::vector<Tensor> states, bool evaluates, const F& step) {
    const int count = steps_of_unread_training();
    for (int i = 0; i < count; ++i) {
      if (i == count / 4) early = resident_bytes();
      const size_t before = stats().launches;
      for (Tensor& state : states) state = state.detach();
      if (evaluates) eval(states);
      losses.push_back(step(states).template item<float>());
      nodes.push_back(ir::live_nodes());
      bytes.push_back(memory_stats().live_bytes);
      launches.push_back(stats().launches - before);
    }
  }
  static bool levels_off(const std::vector<size_t>& each) {
    return std::all_of(each.begin() + 10, each.end(), [&](size_t one) { return one == each[10]; });
  }
};

template <typename F>
void expect_the_same_of_every_step(const std::vector<Tensor>& states, const F& step) {
  const Steps steps(states, false, step);
  EXPECT_LT(resident_bytes(), steps.early + (size_t{32} << 20));
  EXPECT_TRUE(Steps::levels_off(steps.nodes)) << steps.nodes.front() << " to " << steps.nodes.back();
  EXPECT_TRUE(Steps::levels_off(steps.bytes)) << steps.bytes.front() << " to " << steps.bytes.back();
  EXPECT_TRUE(Steps::levels_off(steps.launches)) << steps.launches.front() << " to " << steps.launches.back();
  const Steps evaluated(states, true, step);
  EXPECT_EQ(steps.losses, evaluated.losses);
  EXPECT_LE(steps.launches.back(), evaluated.launches.back());
}

TEST(Growth, DetachedStatesOfALayerAreComputedWithTheLoss) {
  const Tensor x = rand({5, 3, 8}).eval();
  const nn::LSTM lstm(8, 16, {.layers = 2});
  expect_the_same_of_every_step({zeros({2, 3, 16}), zeros({2, 3, 16})}, [&](std::vector<Tensor>& states) {
    const auto [read, next] = lstm(x, {states[0], states[1]});
    states = {next.h, next.c};
    return square(read).mean();
  });
  const nn::GRU gru(8, 16);
  expect_the_same_of_every_step({zeros({1, 3, 16})}, [&](std::vector<Tensor>& states) {
    const auto [read, next] = gru(x, {states[0], {}});
    states = {next.h};
    return square(read).mean();
  });
}

TEST(Growth, DetachedStatesOfOperationsAreComputedWithTheLoss) {
  const Tensor x = rand({4, 8}).eval(), weight = (randn({16, 32}) * 0.2).eval().requires_grad_();
  expect_the_same_of_every_step({zeros({4, 8}), zeros({4, 8})}, [&](std::vector<Tensor>& states) {
    Tensor loss = zeros({});
    for (int t = 0; t < 4; ++t) {
      const std::vector<Tensor> gates = chunk(matmul(cat({x, states[0]}, 1), weight), 4, 1);
      states[1] = sigmoid(gates[0]) * states[1] + sigmoid(gates[1]) * tanh(gates[2]);
      states[0] = sigmoid(gates[3]) * tanh(states[1]);
      loss = loss + states[0].sum();
    }
    return loss;
  });
}

// The loss is made of the old state alone; nothing asks for gradients in the second loop.
TEST(Growth, DetachedStatesBesideTheLossAreComputedWithIt) {
  for (const bool is_trained : {true, false}) {
    const Tensor x = rand({4, 8}).eval(), weight = (randn({8, 8}) * 0.2).eval().requires_grad_(is_trained);
    expect_the_same_of_every_step({zeros({4, 8}), zeros({4, 8})}, [&](std::vector<Tensor>& states) {
      Tensor loss = (matmul(states[0], weight) * x).sum();
      states[0] = tanh(matmul(states[0], weight) + x);
      states[1] = states[1] * 0.9 + states[0];
      return loss;
    });
  }
}

// Every step is a program of its own. Caches of plans and kernels drop what was used least lately.
TEST(Growth, GraphsThatAllDifferKeepFewPlans) {
  const Tensor x = full({64}, 0.75).clone().eval();
  const int steps = steps_of_unread_training();
  const size_t plans = stats().plan_misses;
  size_t late = 0;
  for (int i = 0; i < steps; ++i) {
    Tensor y = x;
    float wanted = 0.75f;
    for (int bit = 0; bit < 15; ++bit) {
      const bool adds = (i >> bit & 1) != 0;
      y = adds ? y + x : y * x;
      wanted = adds ? wanted + 0.75f : wanted * 0.75f;
    }
    ASSERT_EQ(y.to_vector<float>(), std::vector<float>(64, wanted)) << i;
    if (i == steps * 3 / 5) late = resident_bytes();
  }
  EXPECT_GE(stats().plan_misses, plans + static_cast<size_t>(steps));
  EXPECT_LT(resident_bytes(), late + (size_t{32} << 20));
}

TEST(Memory, TenTerabytesAreRefusedAndTheProcessGoesOn) {
  const std::string text = text_of([] { rand({int64_t{10} << 40}).eval(); });
  EXPECT_EQ(text.find("[memory] "), 0u) << text;
  EXPECT_NE(text.find("bytes asked for, but the device has no more"), std::string::npos) << text;
  EXPECT_EQ(ones({3}).sum().item<float>(), 3);
}

TEST(Memory, WhatIsRefusedIsToldWithWhatIsAvailable) {
  const std::string text = text_of([] { rand({int64_t{10} << 40}).eval(); });
  const size_t at = text.find(" available; largest: ");
  ASSERT_NE(at, std::string::npos) << text;
  const size_t available = std::stoull(text.substr(text.rfind(' ', at - 1) + 1)), now = *available_memory();
  EXPECT_GT(available, now / 2) << text;
  EXPECT_LT(available, now * 2) << text;
}

// A system that overcommits would grant this and end the process at the first touch of what is not there.
TEST(Memory, MoreThanIsAvailableIsRefusedThoughTheMachineHasMore) {
  std::ifstream file("/proc/meminfo");
  const std::string machine(std::istreambuf_iterator<char>(file), {});
  const auto all = base::kilobytes_of(machine, "MemTotal"), swap = base::kilobytes_of(machine, "SwapTotal");
  if (!all || !swap) GTEST_SKIP() << "the system does not say what it has";
  for (const Device device : {Device("cpu"), Device("reference")}) {
    const size_t available = *available_memory(device);
    const auto bytes = static_cast<int64_t>(available + (*all + *swap - available) / 2);
    const std::string text = text_of([&] { ones({bytes}, Options(DType::u8, device)).clone().eval(); });
    EXPECT_EQ(text.find("[memory] "), 0u) << text;
    EXPECT_NE(text.find("the device has no more"), std::string::npos) << text;
  }
}

// Two that fit one by one, of which the first is granted but not touched yet.
TEST(Memory, WhatIsGrantedAndNotTouchedIsNotGivenAwayAgain) {
  device::Device& cpu = device::open(Device("cpu").id);
  const size_t before = *cpu.available(), large = before / 8 * 5;
  const device::Buffer first = cpu.pool().take(large);
  EXPECT_LT(*cpu.available(), before / 2);
  EXPECT_EQ(text_of([&] { cpu.pool().take(large); }).find("[memory] "), 0u);
  cpu.pool().give_back(first);
  cpu.pool().trim();
  EXPECT_GT(*cpu.available(), before / 2);
}

// A device that has 256 MiB and grants everything.
class Poor : public device::Device {
 public:
  const ir::Limits& limits() const override { return limits_; }
  device::Compiler& compiler() override { throw Error("none"); }
  device::Buffer allocate(size_t bytes) override {
    taken += bytes;
    return {1, bytes, nullptr};
  }
  void release(const device::Buffer& buffer) override { taken -= buffer.bytes; }
  std::optional<size_t> available() const override {
    ++asked;
    return kAll - taken;
  }
  void enqueue(std::span<const device::Command>) override {}
  device::Ticket submit(bool) override { return {}; }
  bool is_done(device::Ticket) override { return true; }
  void wait(device::Ticket) override {}

  static constexpr size_t kAll = size_t{256} << 20;
  size_t taken = 0;
  mutable int asked = 0;

 private:
  ir::Limits limits_;
};

TEST(Memory, ManySmallRequestsAreCountedTogether) {
  Poor device;
  const std::string text = text_of([&] {
    for (int i = 0; i < 1000; ++i) device.pool().take(8 << 20);
  });
  EXPECT_EQ(text.find("[memory] 8388608 bytes asked for, but the device has no more"), 0u) << text;
  EXPECT_EQ(device.taken, Poor::kAll);
  EXPECT_LE(device.asked, 10);
}

TEST(Memory, SizesThatNoDeviceHasAreRefusedBeforeTheyAreRoundedUp) {
  device::Device& cpu = device::open(Device("cpu").id);
  EXPECT_EQ(text_of([&] { cpu.pool().take(SIZE_MAX); }),
            "[memory] 18446744073709551615 bytes are more than any device has");
}

TEST(Memory, ALimitIsKeptAndAFailedStepChangesNothing) {
  trim_memory();
  Tensor w = ones({1 << 20}).clone().eval();  // 4 MB
  wait({w});
  set_memory_limit(memory_stats().live_bytes + (6 << 20));
  const std::string text = text_of([&] {
    w.add_(1);
    const Tensor large = rand({1 << 20}), larger = cat({large, large, w}, 0).clone();
    wait({w, large, larger});
  });
  const size_t limit = device::open(Device().id).pool().stats().limit;
  set_memory_limit(0);
  EXPECT_NE(text.find(" bytes asked for, but the memory limit is reached: "), text.npos) << text;
  EXPECT_NE(text.find(fmt::format(" in use of at most {} (set_memory_limit or device.memory_limit), 0 kept for reuse, ",
                                  limit)),
            text.npos)
      << text;
  EXPECT_NE(text.find(" available; largest: "), text.npos) << text;
  EXPECT_EQ(w.sum().item<float>(), 1 << 20);
  w.add_(1);
  EXPECT_EQ(w.sum().item<float>(), 2 << 20);
}

// A sum that is written in place and read after an epoch: what it needs is not kept until then.
TEST(Memory, AnUnreadSumOfAllStepsHoldsFewOfThem) {
  constexpr int64_t kElements = 1000;
  Tensor w = ones({kElements}).clone().eval(), total = zeros({});
  const size_t before = memory_stats().live_bytes;
  for (int i = 0; i < 1000; ++i) {
    total.add_((w * w).sum());
    w = (w * 0.5 + 0.5).eval();
  }
  EXPECT_LT(memory_stats().live_bytes - before, 100 * kElements * sizeof(float));
  EXPECT_EQ(total.item<float>(), 1000 * kElements);
}

TEST(Memory, ALimitAboveWhatTheDeviceHasIsRefused) {
  const std::optional<size_t> all = device::open(Device("cpu").id).memory_in_all();
  if (!all) GTEST_SKIP() << "the system does not say what it has";
  set_memory_limit(*all, Device("cpu"));
  EXPECT_EQ(text_of([&] { set_memory_limit(*all + 1, Device("cpu")); }),
            fmt::format("[memory] a limit of {} bytes is more than the device has, {}; take less, or 0 for none "
                        "(set_memory_limit or device.memory_limit)",
                        *all + 1, *all));
  EXPECT_EQ(device::open(Device("cpu").id).pool().stats().limit, *all);
  set_memory_limit(0, Device("cpu"));
}

// A large plan runs on the device's thread: its fault is raised where a result is read, and states keep their value.
TEST(Faults, AFaultOnTheDeviceThreadIsRaisedAtTheNextRead) {
  Tensor w = zeros({1024, 1024}).clone().eval();
  const Tensor table = rand({1024, 1024}).eval(), ones_there = ones({1024, 1024}).clone().eval();
  const Tensor bad = (zeros({1024}, Options(DType::i64)) + 5000).eval();
  wait({w, table, ones_there, bad});
  const Tensor picked = index_select(table, 0, bad + 0);
  w.add_(matmul(ones_there, ones_there) * 0.0 + 1);
  Tensor result = w + picked;
  try {
    eval({w, result});
  } catch (const Error&) {
  }
  EXPECT_THROW(result.to_bytes(), Error);
  try {
    w.to_bytes();
  } catch (const Error&) {  // said once
  }
  EXPECT_EQ(w.sum().item<float>(), 0);
  EXPECT_EQ(ones({3}).sum().item<float>(), 3);
}

// A bad index is told once, and takes back what was written by it alone.
class BadIndex : public testing::TestWithParam<const char*> {
 protected:
  Options on(DType dtype = DType::f32) const { return Options(dtype, Device(GetParam())); }
  Tensor bad() const { return tensor({0, 9}, on(DType::i64)).clone() * 1; }
};
INSTANTIATE_TEST_SUITE_P(Devices, BadIndex, testing::Values("cpu", "cpu_unfused", "reference", "simulated"),
                         [](const auto& of) { return std::string(of.param); });

TEST_P(BadIndex, OfAReaderKeepsWhatWasWrittenBefore) {
  Tensor x = zeros({3}, on()).clone().eval();
  for (int i = 0; i < 5; ++i) x.add_(1.0);
  x.slice(0, 0, 2).mul_(10.0);
  EXPECT_THROW(x[bad()].to_bytes(), Error);
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{50, 50, 5}));
}

TEST_P(BadIndex, OfAWriterKeepsWhatWasWrittenBefore) {
  Tensor x = zeros({3}, on()).clone().eval();
  x.add_(1.0);
  x.index_put_({bad()}, 5.0);
  EXPECT_THROW(x.to_bytes(), Error);
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{1, 1, 1}));
}

TEST_P(BadIndex, OfAWriterKeepsAValueThatWasNotComputed) {
  Tensor x = zeros({3}, on());
  x.index_put_({bad()}, 5.0);
  EXPECT_THROW(x.to_vector<double>(), Error);
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{0, 0, 0}));
  x.add_(2.0);
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{2, 2, 2}));
}

TEST_P(BadIndex, FollowedByAWriteIsToldOnce) {
  Tensor x = zeros({3}, on());
  x.index_put_({bad()}, 5.0);
  x.slice(0, 1, 2).fill_(2.0);
  EXPECT_THROW(x.to_vector<double>(), Error);
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{0, 0, 0}));
}

TEST(Faults, ManyThreadsEvaluateGraphsOfTheirOwn) {
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      Generator generator(static_cast<uint64_t>(t));
      Tensor w = ones({64, 64}).clone().eval();
      for (int i = 0; i < 50; ++i) {
        w.add_(matmul(w, w) * 0.0 + 1);
        if (i % 7 == 0) w.eval();
        const Tensor noise = rand({64, 64}, {}, &generator);
        if ((noise - noise).sum().item<float>() != 0) return;
      }
      if (w.sum().item<float>() == 51 * 64 * 64) ++right;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 4);
}

}  // namespace
}  // namespace tenon
