// Optimizers as a whole: arenas, groups, clipping, state, capture. The update rules themselves are judged by the golden
// cases.

#include "tenon/optim/optimizer.h"

#include <gtest/gtest.h>

#include "tests/error_text.h"
#include "tests/optim/net.h"

namespace tenon::optim {
namespace {

using testing::Batch;
using testing::Floats;
using testing::Net;
using testing::seeded_net;
using testing::train;

template <typename Rule, typename Options>
void expect_learns(const Options& options) {
  Net net = seeded_net();
  const Batch batch;
  const double first = net.loss(batch.x, batch.y).item<double>();
  Rule optimizer(net.parameters(), options);
  EXPECT_LT(train(net, optimizer, batch, 100), 0.5 * first);
}

TEST(Optimizers, AllOfThemLearn) {
  expect_learns<SGD>(SgdOptions{.lr = 0.3});
  expect_learns<SGD>(SgdOptions{.lr = 0.05, .momentum = 0.9, .dampening = 0.1});
  expect_learns<SGD>(SgdOptions{.lr = 0.05, .momentum = 0.9, .nesterov = true});
  expect_learns<Adam>(AdamOptions{.lr = 0.01});
  expect_learns<AdamW>(AdamWOptions{.lr = 0.01});
  expect_learns<AdamW>(AdamWOptions{.lr = 0.01, .amsgrad = true});
  expect_learns<RMSprop>(RmspropOptions{.lr = 0.003, .momentum = 0.5, .centered = true});
  expect_learns<Adagrad>(AdagradOptions{.lr = 0.05, .lr_decay = 0.001});
  expect_learns<Lion>(LionOptions{.lr = 0.002, .weight_decay = 0.01});
  expect_learns<Adadelta>(AdadeltaOptions{.lr = 1, .eps = 1e-3});
  expect_learns<Adamax>(AdamaxOptions{.lr = 0.01});
  expect_learns<NAdam>(NAdamOptions{.lr = 0.01});
  expect_learns<RAdam>(RAdamOptions{.lr = 0.02});
  expect_learns<Rprop>(RpropOptions{.lr = 0.01});
}

TEST(Optimizers, RpropBeginsWithTheRateWhenAGradientComesLate) {
  Tensor p = tensor<float>({0}).clone().requires_grad_(), q = tensor<float>({0}).clone().requires_grad_();
  Rprop optimizer(std::vector<Tensor>{p, q}, {.lr = 0.25});
  p.set_grad(tensor<float>({1}));
  optimizer.step();
  q.set_grad(tensor<float>({1}));
  optimizer.step();
  EXPECT_FLOAT_EQ(p.to_vector<float>()[0], -0.25f - 0.3f);
  EXPECT_FLOAT_EQ(q.to_vector<float>()[0], -0.25f);
}

TEST(Optimizers, RefuseSettingsOutOfTheirRange) {
  const std::vector<Tensor> one{ones({1}).clone().requires_grad_()};
  EXPECT_EQ(text_of([&] { NAdam(one, {.beta1 = 1}); }), "[nadam] beta1 must lie in 0..1, got 1");
  EXPECT_EQ(text_of([&] { RAdam(one, {.beta2 = -1}); }), "[radam] beta2 must lie in 0..1, got -1");
  EXPECT_EQ(text_of([&] { Adamax(one, {.eps = -1}); }), "[adamax] eps must not be negative, got -1");
  EXPECT_EQ(text_of([&] { Adadelta(one, {.rho = 2}); }), "[adadelta] rho must lie in 0..1, got 2");
  EXPECT_EQ(text_of([&] { Rprop(one, {.grow = 1}); }), "[rprop] etas lie below and above 1, got 0.5 and 1");
}

// A captured step of a rule reads rate and momentum as numbers, and goes on from a state as if it had not stopped.
template <typename Rule, typename Options>
void expect_resumes(const Options& options) {
  const Batch batch;
  Net net = seeded_net(), other = seeded_net();
  Rule first(net.parameters(), options), second(other.parameters(), options);
  auto step = compile([&] {
    Tensor loss = net.loss(batch.x, batch.y);
    loss.backward();
    first.step();
    first.zero_grad();
    return loss.detach();
  });
  for (int i = 0; i < 5; ++i) step();
  first.set_lr(options.lr / 2);
  second.set_lr(options.lr / 2);
  const auto from = net.parameters(), to = other.parameters();
  for (size_t i = 0; i < from.size(); ++i) {
    const NoGrad copying;
    Tensor place = to[i];
    place.copy_(from[i].detach());
  }
  second.load_state_dict(first.state_dict());
  for (int i = 0; i < 3; ++i) {
    step();
    train(other, second, batch, 1);
  }
  EXPECT_EQ(step.recordings(), 1u);
  for (size_t i = 0; i < from.size(); ++i) EXPECT_EQ(from[i].to_vector<float>(), to[i].to_vector<float>()) << i;
}

TEST(Optimizers, CapturedOnesGoOnFromTheirStates) {
  expect_resumes<Adadelta>(AdadeltaOptions{.weight_decay = 0.01});
  expect_resumes<Adamax>(AdamaxOptions{.weight_decay = 0.01});
  expect_resumes<NAdam>(NAdamOptions{.weight_decay = 0.01});
  expect_resumes<RAdam>(RAdamOptions{.lr = 0.01, .beta2 = 0.9});
  expect_resumes<Rprop>(RpropOptions{});
}

TEST(Optimizers, LionMovesByTheSignOfTheMean) {
  Tensor p = tensor<float>({1, 2, 3}).clone().requires_grad_();
  Lion optimizer(std::vector<Tensor>{p}, {.lr = 0.1, .weight_decay = 0.5});
  p.set_grad(tensor<float>({4, -5, 0}));
  optimizer.step();
  const Floats after = p.to_vector<float>();
  EXPECT_FLOAT_EQ(after[0], 0.95f - 0.1f);
  EXPECT_FLOAT_EQ(after[1], 1.9f + 0.1f);
  EXPECT_FLOAT_EQ(after[2], 2.85f);
}

TEST(Optimizers, DampeningTakesTheFirstGradientWhole) {
  Tensor p = tensor<float>({0}).clone().requires_grad_();
  SGD optimizer(std::vector<Tensor>{p}, {.lr = 1, .momentum = 0.5, .dampening = 0.5});
  for (const float expected : {-1.0f, -2.0f, -3.0f}) {  // the buffer is 1, then 0.5 + 0.5
    p.set_grad(tensor<float>({1}));
    optimizer.step();
    EXPECT_FLOAT_EQ(p.to_vector<float>()[0], expected);
  }
}

// ---- arenas ----

TEST(Arena, KeepsValuesAndHandles) {
  Net net = seeded_net();
  const Tensor w = net.w;
  const Floats before = w.to_vector<float>();
  SGD optimizer(net.parameters(), {.lr = 0});
  EXPECT_EQ(w.to_vector<float>(), before);
  EXPECT_TRUE(w.requires_grad());
  EXPECT_TRUE(w.is_leaf());
}

TEST(Arena, ViewsTakenBeforeFollow) {
  const Tensor w = tensor<float>({1, 2, 3}).clone().requires_grad_();
  const Tensor other = tensor<float>({7, 8}).clone().requires_grad_();
  Tensor cut = w.detach();
  const Tensor part_of_cut = cut.slice(0, 1, 3), part = w.slice(0, 1, 3), turned = w.reshape({3, 1});
  EXPECT_EQ(part_of_cut.to_vector<float>(), (Floats{2, 3}));
  SGD optimizer(std::vector<Tensor>{other, w}, {.lr = 1});
  (w * w).sum().backward();
  optimizer.step();  // w - 2 w
  EXPECT_EQ(w.to_vector<float>(), (Floats{-1, -2, -3}));
  EXPECT_EQ(cut.to_vector<float>(), (Floats{-1, -2, -3}));
  EXPECT_EQ(part_of_cut.to_vector<float>(), (Floats{-2, -3}));
  EXPECT_EQ(turned.to_vector<float>(), (Floats{-1, -2, -3}));
  {
    NoGrad writing;
    cut.fill_(5);
    Tensor(part_of_cut).mul_(2);
  }
  EXPECT_EQ(w.to_vector<float>(), (Floats{5, 10, 10}));
  EXPECT_EQ(other.to_vector<float>(), (Floats{7, 8}));
  Tensor(w).zero_grad();
  (part * part).sum().backward();
  EXPECT_EQ(w.grad().to_vector<float>(), (Floats{0, 20, 20}));
}

TEST(Arena, AnUpdateOfManyParametersIsOneKernel) {
  std::vector<Tensor> parameters;
  for (int64_t i = 0; i < 20; ++i) parameters.push_back(rand(i % 2 ? Dims{64, 4 + i} : Dims{64}).requires_grad_());
  AdamW optimizer(decay_matrices_only(parameters), {});
  for (int i = 0; i < 2; ++i) {
    Tensor total = (parameters[0] * parameters[0]).sum();
    for (size_t k = 1; k < parameters.size(); ++k) total = total + (parameters[k] * parameters[k]).sum();
    total.backward();
    std::vector<Tensor> computed{total};  // which would be computed with the update that replaces what it reads
    for (const Tensor& p : parameters) computed.push_back(p.grad());
    wait(computed);
    const size_t before = stats().launches;
    optimizer.step();
    optimizer.zero_grad();
    wait(parameters);
    EXPECT_LE(stats().launches - before, 22u);  // one to put each gradient in its place, the rule, the count
  }
}

TEST(Arena, AParameterWithoutGradientKeepsValueAndMoments) {
  Net net = seeded_net();
  AdamW optimizer(net.parameters(), {.lr = 0.1});
  const Floats b = net.b.to_vector<float>(), v = net.v.to_vector<float>();
  net.w.set_grad(ones_like(net.w));
  net.v.set_grad(ones_like(net.v));
  optimizer.step();
  EXPECT_EQ(net.b.to_vector<float>(), b);
  EXPECT_NE(net.v.to_vector<float>(), v);
  const auto state = optimizer.state_dict();
  EXPECT_EQ(state.at("1.exp_avg").to_vector<float>(), Floats(16, 0.0f));
  EXPECT_FLOAT_EQ(state.at("2.exp_avg").to_vector<float>()[0], 0.1f);
}

TEST(Arena, TwoOptimizersMayTakeTurns) {
  Net net = seeded_net();
  const Batch batch;
  SGD first(net.parameters(), {.lr = 0.1});
  SGD second(std::vector<Tensor>{net.v, net.w}, {.lr = 0.1});
  for (int i = 0; i < 5; ++i) {
    train(net, first, batch, 1);
    train(net, second, batch, 1);
    for (Tensor p : {net.b, net.c}) p.zero_grad();  // the second does not know of them
  }
  Net plain = seeded_net();
  for (int i = 0; i < 10; ++i) {
    Tensor loss = plain.loss(batch.x, batch.y);
    loss.backward();
    NoGrad updating;
    plain.w.sub_(plain.w.grad() * 0.1);
    plain.v.sub_(plain.v.grad() * 0.1);
    if (i % 2 == 0) {
      plain.b.sub_(plain.b.grad() * 0.1);
      plain.c.sub_(plain.c.grad() * 0.1);
    }
    for (Tensor p : plain.parameters()) p.zero_grad();
  }
  EXPECT_TRUE(allclose(net.w, plain.w, 1e-5, 1e-6));
  EXPECT_TRUE(allclose(net.b, plain.b, 1e-5, 1e-6));
}

TEST(Arena, SixteenBitParametersAreUpdatedInF32) {
  Tensor p = (rand({64}) + 1).to(DType::bf16).clone().requires_grad_();
  const Floats before = p.to_vector<float>();
  Adam optimizer(std::vector<Tensor>{p}, {.lr = 0.25});
  p.set_grad(ones_like(p));
  optimizer.step();
  EXPECT_EQ(p.dtype(), DType::bf16);
  for (size_t i = 0; i < before.size(); ++i) EXPECT_NEAR(p.to_vector<float>()[i], before[i] - 0.25f, 0.01f);
}

// ---- groups and clipping ----

TEST(Groups, HaveRatesAndDecaysOfTheirOwn) {
  Tensor a = ones({4}).clone().requires_grad_(), b = ones({4}).clone().requires_grad_(),
         c = ones({4}).clone().requires_grad_();
  SGD optimizer(
      std::vector<ParamGroup>{{{a}}, {.parameters = {b}, .lr = 0.5}, {.parameters = {c}, .weight_decay = 1.0}},
      {.lr = 0.1});
  for (Tensor p : {a, b, c}) p.set_grad(ones_like(p));
  optimizer.step();
  EXPECT_FLOAT_EQ(a.to_vector<float>()[0], 0.9f);
  EXPECT_FLOAT_EQ(b.to_vector<float>()[0], 0.5f);
  EXPECT_FLOAT_EQ(c.to_vector<float>()[0], 0.8f);
  optimizer.set_lr(0.2);
  optimizer.set_lr(1, 0);
  EXPECT_EQ(optimizer.lr(0), 0.2);
  EXPECT_EQ(optimizer.lr(1), 0);
  optimizer.step();
  EXPECT_FLOAT_EQ(a.to_vector<float>()[0], 0.7f);
  EXPECT_FLOAT_EQ(b.to_vector<float>()[0], 0.5f);
}

TEST(Groups, MatricesDecayAndVectorsDoNot) {
  const auto groups = decay_matrices_only(seeded_net().parameters());
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].parameters.size(), 2u);
  EXPECT_FALSE(groups[0].weight_decay.has_value());
  EXPECT_EQ(groups[1].weight_decay, 0.0);
}

TEST(Groups, AreMadeByTheNamesOfParameters) {
  nn::Sequential net;
  net.emplace<nn::Linear>(4, 8);
  net.emplace<nn::LayerNorm>(8);
  net.emplace<nn::Linear>(8, 2);
  const auto groups =
      groups_by_name(net.named_parameters(), {{.pattern = "2.*", .lr = 0.5}, {.pattern = "*.bias", .weight_decay = 0}});
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[0].parameters.size(), 2u);  // its bias, too: the first rule that matches decides
  EXPECT_EQ(groups[0].lr, 0.5);
  EXPECT_EQ(groups[1].parameters.size(), 2u);
  EXPECT_EQ(groups[1].weight_decay, 0);
  EXPECT_EQ(groups[2].parameters.size(), 2u);
  EXPECT_FALSE(groups[2].lr || groups[2].weight_decay);

  SGD optimizer(groups, {.lr = 0.1, .weight_decay = 0.25});
  std::map<std::string, Floats> before;
  for (auto& [name, p] : net.named_parameters()) {
    before[name] = p.to_vector<float>();
    p.set_grad(ones_like(p));
  }
  optimizer.step();
  const std::map<std::string, std::pair<float, float>> settings{{"0.weight", {0.1f, 0.25f}}, {"0.bias", {0.1f, 0}},
                                                                {"1.weight", {0.1f, 0.25f}}, {"1.bias", {0.1f, 0}},
                                                                {"2.weight", {0.5f, 0.25f}}, {"2.bias", {0.5f, 0.25f}}};
  for (const auto& [name, p] : net.named_parameters()) {
    const auto [lr, decay] = settings.at(name);
    const float old = before.at(name)[0];
    EXPECT_NEAR(p.to_vector<float>()[0], old - lr * (1 + decay * old), 1e-6f) << name;
  }
}

TEST(Groups, ThatNoNameBelongsToAreRefused) {
  nn::Linear layer(2, 3);
  const auto text = [&](const std::vector<GroupRule>& rules) {
    return text_of([&] { groups_by_name(layer.named_parameters(), rules); });
  };
  EXPECT_EQ(text({{.pattern = "weigth"}}), "[groups_by_name] no parameter is called \"weigth\"; did you mean weight?");
  EXPECT_EQ(text({{.pattern = "*"}, {.pattern = "bias"}}),
            "[groups_by_name] all that \"bias\" matches belongs to rules before it");
}

TEST(Clipping, ShrinksTheNormOfAllTogether) {
  Tensor a = zeros({1}).clone().requires_grad_(), b = zeros({1}).clone().requires_grad_();
  SGD optimizer(std::vector<Tensor>{a, b}, {.lr = 1});
  a.set_grad(tensor<float>({3}));
  b.set_grad(tensor<float>({4}));
  EXPECT_FLOAT_EQ(optimizer.clip_grad_norm(1).item<float>(), 5);
  optimizer.step();
  EXPECT_NEAR(a.to_vector<float>()[0], -0.6f, 1e-6);
  EXPECT_NEAR(b.to_vector<float>()[0], -0.8f, 1e-6);
  optimizer.step();  // not clipped again
  EXPECT_NEAR(a.to_vector<float>()[0], -3.6f, 1e-6);
}

TEST(Clipping, LeavesSmallGradientsAlone) {
  Tensor a = zeros({2}).clone().requires_grad_();
  SGD optimizer(std::vector<Tensor>{a}, {.lr = 1});
  a.set_grad(tensor<float>({0.3f, 0.4f}));
  optimizer.clip_grad_norm(1);
  optimizer.step();
  EXPECT_EQ(a.to_vector<float>(), (Floats{-0.3f, -0.4f}));
}

TEST(Clipping, TheFreeFunctionChangesTheGradients) {
  Tensor a = zeros({2}).clone().requires_grad_();
  a.set_grad(tensor<float>({3, 4}));
  EXPECT_FLOAT_EQ(clip_grad_norm_({a}, 1).item<float>(), 5);
  EXPECT_NEAR(a.grad().to_vector<float>()[1], 0.8f, 1e-5);
}

// ---- capture and state ----

TEST(CapturedStep, EqualsTheUncapturedOneBitForBit) {
  const auto run = [](bool captured) {
    Net net = seeded_net();
    const Batch batch;
    AdamW optimizer(decay_matrices_only(net.parameters()), {.lr = 0.01, .weight_decay = 0.1, .amsgrad = true});
    optimizer.keep_average(0.9);
    Scheduler schedule(optimizer, cosine(20, {.warmup = 3}));
    const auto step = [&](const Tensor& x, const Tensor& y) {
      Tensor loss = net.loss(nn::dropout(x, 0.2), y);
      loss.backward();
      const Tensor norm = optimizer.clip_grad_norm(0.1);
      optimizer.step();
      optimizer.zero_grad();
      return std::vector<Tensor>{loss.detach(), norm};
    };
    auto replayed = compile(step);
    Floats seen;
    for (int i = 0; i < 20; ++i) {
      const auto results = captured ? replayed(batch.x, batch.y) : step(batch.x, batch.y);
      for (const Tensor& r : results) seen.push_back(r.item<float>());
      schedule.step();
    }
    for (int i = 0; i < 2; ++i) {
      for (const Tensor& p : net.parameters()) {
        const Floats values = p.to_vector<float>();
        seen.insert(seen.end(), values.begin(), values.end());
      }
      optimizer.swap_average();
    }
    return seen;
  };
  EXPECT_EQ(run(true), run(false));
}

// ---- averages ----

TEST(Average, StandsInForTheWeightsAndGivesThemBack) {
  Net net = seeded_net();
  const Batch batch;
  AdamW optimizer(net.parameters(), {.lr = 0.05});
  optimizer.keep_average(0.75);
  std::vector<Floats> history;
  Floats mean;
  for (int i = 0; i < 4; ++i) {
    train(net, optimizer, batch, 1);
    history.push_back(net.w.to_vector<float>());
    if (mean.empty()) mean = history[0];
    for (size_t k = 0; k < mean.size(); ++k) mean[k] += (history.back()[k] - mean[k]) * 0.25f;
  }
  optimizer.swap_average();
  EXPECT_TRUE(optimizer.has_average_in_place());
  EXPECT_EQ(net.w.to_vector<float>(), mean);
  EXPECT_EQ(text_of([&] { train(net, optimizer, batch, 1); }),
            "[optimizer] the averages stand in the place of the weights; call swap_average() to put them back");
  optimizer.swap_average();
  EXPECT_EQ(net.w.to_vector<float>(), history.back());
}

TEST(Average, ACapturedStepSeesThatItStandsInPlace) {
  Net net = seeded_net();
  const Batch batch;
  SGD optimizer(net.parameters(), {.lr = 0.05});
  optimizer.keep_average(0.5);
  auto step = compile([&](const Tensor& x, const Tensor& y) {
    Tensor loss = net.loss(x, y);
    loss.backward();
    optimizer.step();
    optimizer.zero_grad();
    return loss.detach();
  });
  for (int i = 0; i < 4; ++i) step(batch.x, batch.y);
  const Floats weights = net.w.to_vector<float>();
  optimizer.swap_average();
  EXPECT_EQ(text_of([&] { step(batch.x, batch.y); }),
            "[optimizer] the averages stand in the place of the weights; call swap_average() to put them back");
  optimizer.swap_average();
  EXPECT_EQ(net.w.to_vector<float>(), weights);
  for (Tensor p : net.parameters()) p.zero_grad();
  step(batch.x, batch.y);
  EXPECT_NE(net.w.to_vector<float>(), weights);
}

TEST(Average, OfSixteenBitWeightsIsF32AndGivesThemBackExactly) {
  Tensor p = (rand({64}) + 1).to(DType::bf16).clone().requires_grad_();
  SGD optimizer(std::vector<Tensor>{p}, {.lr = 0.25});
  optimizer.keep_average(0.9);
  for (int i = 0; i < 2; ++i) {
    p.set_grad(ones_like(p));
    optimizer.step();
  }
  EXPECT_EQ(optimizer.state_dict().at("0.average").dtype(), DType::f32);
  const Floats before = p.to_vector<float>();
  optimizer.swap_average();
  EXPECT_NE(p.to_vector<float>(), before);
  optimizer.swap_average();
  EXPECT_EQ(p.to_vector<float>(), before);
}

TEST(Average, GoesWithTheStateAndAStepThatIsSkippedLeavesIt) {
  Net net = seeded_net(), other = seeded_net();
  const Batch batch;
  AdamW optimizer(net.parameters(), {.lr = 0.05}), without(other.parameters(), {.lr = 0.05});
  optimizer.keep_average(0.5);
  train(net, optimizer, batch, 3);
  std::map<std::string, Tensor> saved;
  for (const auto& [name, tensor] : optimizer.state_dict()) saved[name] = tensor.clone().eval();
  EXPECT_EQ(saved.at("averaged").item<int>(), 3);

  net.loss(batch.x, batch.y).backward();
  optimizer.step(nullptr, zeros({}, DType::boolean));
  EXPECT_EQ(optimizer.state_dict().at("0.average").to_vector<float>(), saved.at("0.average").to_vector<float>());
  EXPECT_EQ(optimizer.state_dict().at("averaged").item<int>(), 3);

  EXPECT_EQ(text_of([&] { without.load_state_dict(saved); }),
            "[load_state_dict] the state has averages of the weights; call keep_average() before it is loaded");
  EXPECT_EQ(text_of([&] { optimizer.load_state_dict(without.state_dict()); }),
            "[load_state_dict] the state has no averages of the weights; load it before keep_average()");
  EXPECT_EQ(text_of([&] { without.swap_average(); }),
            "[swap_average] there are no averages; call keep_average() before the steps");
  EXPECT_EQ(text_of([&] { without.keep_average(1); }), "[keep_average] the decay must lie in 0..1, got 1");
  without.keep_average(0.5);
  without.load_state_dict(saved);
  without.swap_average();
  EXPECT_EQ(other.v.to_vector<float>(), saved.at("2.average").to_vector<float>());
}

TEST(Average, IsMovedByTheKernelOfTheUpdate) {
  const auto launches = [](bool averaged, bool amsgrad) {
    Tensor p = rand({64, 8}).requires_grad_();
    AdamW optimizer(std::vector<Tensor>{p}, {.amsgrad = amsgrad});
    if (averaged) optimizer.keep_average();
    size_t taken = 0;
    for (int i = 0; i < 2; ++i) {
      p.set_grad(ones_like(p).clone().eval());
      wait(std::vector<Tensor>{p});
      const size_t before = stats().launches;
      optimizer.step();
      wait(std::vector<Tensor>{p});
      taken = stats().launches - before;
    }
    return taken;
  };
  EXPECT_EQ(launches(false, true), launches(false, false));
  EXPECT_LE(launches(true, true), launches(false, false) + 1);  // the count of averages
}

// As a training run does it: gradients are clipped, and nothing is updated once a norm was not finite.
TEST(Condition, ATrainingRunsUpdateIsOneKernelOverTheWeights) {
  const auto launches = [](bool is_checked) {
    Tensor p = rand({64, 64}).requires_grad_(), broken = zeros({}, DType::boolean).clone().eval();
    AdamW optimizer(std::vector<Tensor>{p}, {.lr = 0.1});
    size_t taken = 0;
    for (int i = 0; i < 2; ++i) {
      p.set_grad(ones_like(p).clone().eval());
      wait(std::vector<Tensor>{p, broken});
      const size_t before = stats().launches;
      const Tensor norm = optimizer.clip_grad_norm(1.0);
      Tensor is_applied;
      if (is_checked) {
        is_applied = logical_and(isfinite(norm), logical_not(broken));
        broken.copy_(logical_not(is_applied));
      }
      optimizer.step(nullptr, is_applied);
      wait(std::vector<Tensor>{p, broken});
      taken = stats().launches - before;
    }
    return taken;
  };
  EXPECT_LE(launches(true), launches(false) + 1);  // the condition itself, which is kept
}

// ---- what is frozen ----

TEST(Frozen, ParametersKeepTheirValuesThoughTheyHaveGradientsAndDecay) {
  Net net = seeded_net();
  const Batch batch;
  AdamW optimizer(net.parameters(), {.lr = 0.1, .weight_decay = 0.5});
  train(net, optimizer, batch, 1);
  const Floats w = net.w.to_vector<float>(), v = net.v.to_vector<float>();
  net.loss(batch.x, batch.y).backward();
  net.w.requires_grad_(false);
  optimizer.step();
  optimizer.zero_grad();
  EXPECT_EQ(net.w.to_vector<float>(), w);
  EXPECT_NE(net.v.to_vector<float>(), v);
}

TEST(Frozen, ParametersAreLeftOutOfCapturedStepsAndOfKeptGradients) {
  const auto run = [](bool captured) {
    Net net = seeded_net();
    const Batch batch;
    AdamW optimizer(net.parameters(), {.lr = 0.05, .weight_decay = 0.5});
    optimizer.keep_gradients();
    const auto step = [&](const Tensor& x, const Tensor& y) {
      Tensor loss = net.loss(x, y);
      loss.backward();
      optimizer.accumulate();
      optimizer.step();
      return loss.detach();
    };
    auto replayed = compile(step);
    const auto steps = [&] {
      for (int i = 0; i < 4; ++i) captured ? replayed(batch.x, batch.y) : step(batch.x, batch.y);
    };
    steps();
    net.v.requires_grad_(false);
    const Floats frozen = net.v.to_vector<float>(), moving = net.w.to_vector<float>();
    steps();
    EXPECT_EQ(net.v.to_vector<float>(), frozen);
    EXPECT_NE(net.w.to_vector<float>(), moving);
    net.v.requires_grad_();
    steps();
    EXPECT_NE(net.v.to_vector<float>(), frozen);
    return net.w.to_vector<float>();
  };
  EXPECT_EQ(run(true), run(false));
}

// Gradients of four calls, then a step: captured as two functions, and as plain calls.
TEST(Accumulation, AcrossCallsOfACapturedFunction) {
  const auto run = [](bool captured) {
    Net net = seeded_net();
    std::vector<Batch> batches(4);
    AdamW optimizer(net.parameters(), {.lr = 0.01});
    optimizer.keep_gradients();
    const auto collect = [&](const Tensor& x, const Tensor& y) {
      Tensor loss = net.loss(x, y) / 4;
      loss.backward();
      optimizer.accumulate();
      return loss.detach();
    };
    const auto update = [&] {
      const Tensor norm = optimizer.clip_grad_norm(1);
      optimizer.step();
      return norm;
    };
    auto captured_collect = compile(collect);
    auto captured_update = compile(update);
    Floats seen;
    for (int step = 0; step < 6; ++step) {
      for (const Batch& batch : batches)
        seen.push_back((captured ? captured_collect(batch.x, batch.y) : collect(batch.x, batch.y)).item<float>());
      seen.push_back((captured ? captured_update() : update()).item<float>());
    }
    const Floats w = net.w.to_vector<float>();
    seen.insert(seen.end(), w.begin(), w.end());
    return seen;
  };
  EXPECT_EQ(run(true), run(false));
}

TEST(Accumulation, SaysWhatIsMissing) {
  Net net = seeded_net();
  SGD optimizer(net.parameters());
  EXPECT_EQ(text_of([&] { optimizer.accumulate(); }), "[accumulate] call keep_gradients() once before");
  optimizer.keep_gradients();
  net.w.set_grad(ones_like(net.w));
  EXPECT_EQ(
      text_of([&] { optimizer.accumulate(); }),
      "[accumulate] some parameters have no gradient; freeze them, or give the optimizer only those that take part");
}

TEST(Accumulation, EqualsOneLargeBatch) {
  Net net = seeded_net(), whole = seeded_net();
  std::vector<Batch> batches(4);
  SGD many(net.parameters(), {.lr = 0.5}), one(whole.parameters(), {.lr = 0.5});
  many.keep_gradients();
  std::vector<Tensor> xs, ys;
  for (const Batch& batch : batches) {
    (net.loss(batch.x, batch.y) / 4).backward();
    many.accumulate();
    xs.push_back(batch.x);
    ys.push_back(batch.y);
  }
  many.step();
  whole.loss(cat(xs), cat(ys)).backward();
  one.step();
  EXPECT_TRUE(allclose(net.w, whole.w, 1e-5, 1e-6));
  EXPECT_TRUE(allclose(net.c, whole.c, 1e-5, 1e-6));
}

TEST(State, ResumingEqualsNeverStopping) {
  const Batch batch;
  Net whole = seeded_net();
  AdamW one(whole.parameters(), {.lr = 0.01});
  train(whole, one, batch, 10);

  Net first = seeded_net();
  AdamW before(first.parameters(), {.lr = 0.01});
  train(first, before, batch, 5);
  std::map<std::string, Tensor> saved;
  for (const auto& [name, tensor] : before.state_dict()) saved[name] = tensor.clone().eval();
  Net second;
  {
    NoGrad copying;
    for (size_t i = 0; i < 4; ++i) second.parameters()[i].copy_(first.parameters()[i]);
  }
  AdamW after(second.parameters(), {.lr = 0.01});
  after.load_state_dict(saved);
  EXPECT_EQ(after.steps(), 5);
  train(second, after, batch, 5);
  for (size_t i = 0; i < 4; ++i)
    EXPECT_EQ(second.parameters()[i].to_vector<float>(), whole.parameters()[i].to_vector<float>());
}

TEST(State, OfAnotherOptimizerIsRefused) {
  Net net = seeded_net();
  AdamW optimizer(net.parameters(), {});
  const auto state = optimizer.state_dict();
  auto lacking = state, wrong = state, more = state;
  lacking.erase("1.exp_avg");
  wrong["1.exp_avg"] = zeros({3});
  more["9.exp_avg"] = zeros({3});
  EXPECT_EQ(text_of([&] { optimizer.load_state_dict(lacking); }),
            "[load_state_dict] the state lacks 1.exp_avg: it is of another optimizer or model");
  EXPECT_EQ(text_of([&] { optimizer.load_state_dict(wrong); }),
            "[load_state_dict] 1.exp_avg: shape (16,) expected, the state has (3,)");
  EXPECT_EQ(text_of([&] { optimizer.load_state_dict(more); }),
            "[load_state_dict] 9.exp_avg is not part of this optimizer's state");
}

TEST(State, OfPythonCarriesRatesAndMomentum) {
  Net net = seeded_net();
  const std::vector<Tensor> all = net.parameters();
  AdamW optimizer({{.parameters = {all[0], all[1]}}, {.parameters = {all[2], all[3]}, .lr = 0.5}}, {.lr = 0.1});
  auto state = optimizer.state_dict();
  const auto number = [](double value) { return full({}, value, Options(DType::f64)); };
  state["lr.0"] = number(0.25);
  state["lr.1"] = number(0.75);
  state["initial_lr.0"] = number(1);
  state["momentum.0"] = state["momentum.1"] = number(0.8);
  state["max_momentum.1"] = number(0.95);
  optimizer.load_state_dict(state);
  EXPECT_EQ(optimizer.lr(0), 0.25);
  EXPECT_EQ(optimizer.lr(1), 0.75);
  EXPECT_EQ(optimizer.momentum(), 0.8);

  auto of_three = state, negative = state;
  of_three["lr.2"] = number(1);
  negative["lr.1"] = number(-1);
  EXPECT_EQ(text_of([&] { optimizer.load_state_dict(of_three); }),
            "[load_state_dict] the state has lr.2, the optimizer has 2 groups");
  EXPECT_EQ(text_of([&] { optimizer.load_state_dict(negative); }),
            "[load_state_dict] lr.1 must not be negative, got -1");
  EXPECT_EQ(optimizer.lr(1), 0.75);
}

TEST(Momentum, ThatIsSetActsAsIfTheOptimizerHadBeenMadeWithIt) {
  const Batch batch;
  const auto trained = [&](double made_with, std::optional<double> set) {
    Net net = seeded_net();
    SGD optimizer(net.parameters(), {.lr = 0.01, .momentum = made_with});
    if (set) optimizer.set_momentum(*set);
    train(net, optimizer, batch, 5);
    return net.parameters()[0].to_vector<float>();
  };
  const auto expected = trained(0.75, {});
  EXPECT_EQ(trained(0.5, 0.75), expected);
  EXPECT_EQ(trained(0, 0.75), expected);
  Net net = seeded_net();
  Adagrad without(net.parameters(), {});
  EXPECT_EQ(text_of([&] { without.set_momentum(0.5); }),
            "[optimizer] this rule has no momentum, or was made without; make it with one");
}

TEST(OptimizerErrors, SayWhatToChange) {
  Tensor p = ones({4}).clone().requires_grad_();
  const std::vector<Tensor> one{p}, twice{p, p}, none, result{p * 2};
  EXPECT_EQ(text_of([&] { SGD optimizer(none); }), "[optimizer] there are no parameters to optimize");
  EXPECT_EQ(text_of([&] { SGD optimizer(one, {.lr = -1}); }),
            "[optimizer] the learning rate must not be negative, got -1");
  EXPECT_EQ(text_of([&] { SGD optimizer(twice); }), "[optimizer] a parameter of shape (4,) was given twice");
  EXPECT_EQ(text_of([&] { Adam optimizer(one, {.beta1 = 1}); }), "[adam] beta1 must lie in 0..1, got 1");
  EXPECT_EQ(text_of([&] { SGD optimizer(one, {.nesterov = true}); }),
            "[sgd] nesterov takes a momentum and no dampening");
  EXPECT_EQ(text_of([&] { SGD optimizer(result); }),
            "[optimizer] a parameter of shape (4,) is the result of an op; only leaves can be optimized");
  SGD optimizer(one);
  EXPECT_EQ(text_of([&] { optimizer.step(); }),
            "[optimizer] no parameter has a gradient; call backward() before step()");
  EXPECT_EQ(text_of([&] { optimizer.clip_grad_norm(1); }),
            "[clip_grad_norm] no parameter has a gradient; call backward() first");
  EXPECT_EQ(text_of([&] { optimizer.set_lr(0, 1); }),
            "[optimizer] group 0 shares its learning rate with others; give it one of its own when it is made");
}

}  // namespace
}  // namespace tenon::optim
