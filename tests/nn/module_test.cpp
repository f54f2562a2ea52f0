// The bookkeeping of modules: names, modes, conversion, paths in errors, the summary.

#include <gtest/gtest.h>

#include "tenon/tenon.h"
#include "tenon/tensor/access.h"
#include "tests/error_text.h"
#include "tests/nn/values.h"

namespace tenon {
namespace {

using Names = std::vector<std::string>;

template <typename List>
Names names_of(const List& list) {
  Names names;
  for (const auto& one : list) names.push_back(one.name);
  return names;
}

class Net : public nn::ModuleOf<Net> {
 public:
  Net() {
    scale = ones({3});
    steps = zeros({}, DType::i64);
    table = ones({2});
    register_module("fc1", fc1);
    register_module("fc2", fc2);
    register_parameter("scale", scale);
    register_buffer("steps", steps);
    register_buffer("table", table, false);
  }
  Tensor forward(const Tensor& x) const { return fc2(relu(fc1(x * scale))); }

  nn::Linear fc1{3, 4}, fc2{4, 2, false};
  Tensor scale, steps, table;
};

class Block : public nn::ModuleOf<Block> {
 public:
  explicit Block(int64_t width) : proj(width, width) { register_module("proj", proj); }
  Tensor forward(const Tensor& x) const { return x + proj(x); }
  nn::Linear proj;
};

class Tied : public nn::ModuleOf<Tied> {
 public:
  Tied() {
    head.weight = tokens.weight;
    register_module("tokens", tokens);
    register_module("h", h);
    register_module("head", head);
    for (int i = 0; i < 2; ++i) h.emplace(4);
  }
  Tensor forward(const Tensor& ids) const {
    Tensor x = tokens(ids);
    for (const Block& block : h) x = block(x);
    return head(x);
  }
  nn::Embedding tokens{6, 4};
  nn::ModuleList<Block> h;
  nn::Linear head{4, 6, false};
};

TEST(Module, ParametersAreNamedByPathOwnOnesFirst) {
  EXPECT_EQ(names_of(Net().named_parameters()), (Names{"scale", "fc1.weight", "fc1.bias", "fc2.weight"}));
  EXPECT_EQ(names_of(Net().named_buffers()), (Names{"steps", "table"}));
}

TEST(Module, ModulesAreNamedByPathItselfFirst) {
  Tied model;
  EXPECT_EQ(names_of(model.named_modules()), (Names{"", "tokens", "h", "h.0", "h.0.proj", "h.1", "h.1.proj", "head"}));
  EXPECT_EQ(names_of(model.children()), (Names{"tokens", "h", "head"}));
  EXPECT_EQ(model.named_modules()[0].module, &model);
}

TEST(Module, ASharedParameterIsListedOnce) {
  Tied model;
  EXPECT_EQ(names_of(model.named_parameters()),
            (Names{"tokens.weight", "h.0.proj.weight", "h.0.proj.bias", "h.1.proj.weight", "h.1.proj.bias"}));
  EXPECT_EQ(model.count_parameters(), 24 + 2 * 20);
}

TEST(Module, TheGradientOfASharedParameterCountsBothUses) {
  Tied model;
  sum(model(tensor({1, 2}))).backward();
  const Tensor both = model.tokens.weight.grad().clone().eval();
  model.zero_grad();
  EXPECT_FALSE(model.tokens.weight.grad().defined());
  sum(nn::linear(model.h[1](model.h[0](model.tokens(tensor({1, 2})))), model.head.weight.detach())).backward();
  EXPECT_FALSE(allclose(both, model.tokens.weight.grad()));
  EXPECT_TRUE(model.head.weight.grad().defined());
}

TEST(Module, ParametersRequireGradAndBuffersDoNot) {
  const Net net;
  for (const Tensor& p : net.parameters()) EXPECT_TRUE(p.requires_grad() && p.is_leaf());
  for (const Tensor& b : net.buffers()) EXPECT_FALSE(b.requires_grad());
}

TEST(Module, GradientsReachAllParametersAndAreLetGo) {
  Net net;
  sum(net(ones({5, 3}))).backward();
  for (const auto& [name, p] : net.named_parameters()) {
    ASSERT_TRUE(p.grad().defined()) << name;
    EXPECT_EQ(p.grad().shape(), p.shape()) << name;
  }
  net.zero_grad();
  for (const Tensor& p : net.parameters()) EXPECT_FALSE(p.grad().defined());
}

TEST(Module, FreezesByPattern) {
  Tied model;
  model.freeze("h.0.*").freeze("*.bias");
  const auto frozen = [&] {
    Names names;
    for (const auto& [name, p] : model.named_parameters()) {
      if (!p.requires_grad()) names.push_back(name);
    }
    return names;
  };
  EXPECT_EQ(frozen(), (Names{"h.0.proj.weight", "h.0.proj.bias", "h.1.proj.bias"}));
  EXPECT_EQ(model.count_parameters(true), 24 + 16);
  sum(model(tensor({1, 2}))).backward();
  EXPECT_FALSE(model.h[0].proj.weight.grad().defined());
  EXPECT_TRUE(model.h[1].proj.weight.grad().defined());
  model.freeze();
  EXPECT_FALSE(model.h[1].proj.weight.grad().defined()) << "a gradient from before is let go";
  EXPECT_EQ(model.count_parameters(true), 0);
  model.unfreeze("h.1.proj.?ias");
  EXPECT_EQ(model.count_parameters(true), 4);
  model.unfreeze();
  EXPECT_EQ(frozen(), Names());
  EXPECT_EQ(text_of([&] { model.freeze("h.2.*"); }),
            "[freeze] no parameter is called \"h.2.*\"; * stands for any letters");
}

TEST(Module, TrainAndEvalReachEveryModuleBelow) {
  Tied model;
  EXPECT_TRUE(model.is_training());
  model.eval();
  for (const auto& [name, module] : model.named_modules()) EXPECT_FALSE(module->is_training()) << name;
  model.h[1].train();
  EXPECT_TRUE(model.h[1].proj.is_training());
  EXPECT_FALSE(model.h[0].proj.is_training());
}

TEST(Module, FrozenParametersGetNoGradient) {
  Net net;
  net.fc1.requires_grad_(false);
  EXPECT_EQ(net.count_parameters(true), 3 + 8);
  sum(net(ones({5, 3}))).backward();
  EXPECT_FALSE(net.fc1.weight.grad().defined());
  EXPECT_TRUE(net.fc2.weight.grad().defined());
  net.requires_grad_();
  EXPECT_EQ(net.count_parameters(true), net.count_parameters());
}

// ---- conversion ----

TEST(Module, ToADtypeConvertsFloatsAndKeepsHandles) {
  Net net;
  const Tensor weight = net.fc1.weight;
  const Floats before = values(weight.to(DType::bf16));
  net.to(DType::bf16);
  EXPECT_EQ(weight.dtype(), DType::bf16);
  EXPECT_EQ(values(weight), before);
  EXPECT_TRUE(weight.requires_grad() && weight.is_leaf());
  EXPECT_EQ(net.table.dtype(), DType::bf16);
  EXPECT_EQ(net.steps.dtype(), DType::i64);
  sum(net(ones({5, 3}, DType::bf16))).backward();
  EXPECT_EQ(weight.grad().dtype(), DType::bf16);
}

TEST(Module, ConversionHappensAtOnceAndOnce) {
  Net net;
  net.to(DType::bf16);
  for (const auto& [name, p] : net.named_parameters()) EXPECT_TRUE(p.is_evaluated()) << name;
}

TEST(Module, SharedParametersStaySharedWhenConverted) {
  Tied model;
  model.to(DType::f64);
  EXPECT_EQ(impl_of(model.head.weight), impl_of(model.tokens.weight));
  EXPECT_EQ(model.head.weight.dtype(), DType::f64);
}

TEST(Module, ToADeviceMovesEverything) {
  Net net;
  const Floats before = values(net(ones({5, 3})));
  net.to(Device("reference"), DType::f64);
  for (const Tensor& p : net.parameters()) EXPECT_EQ(p.device().name(), "reference");
  for (const Tensor& b : net.buffers()) EXPECT_EQ(b.device().name(), "reference");
  const Floats after = values(net(ones({5, 3}, Options(DType::f64, "reference"))));
  for (size_t i = 0; i < before.size(); ++i) EXPECT_NEAR(after[i], before[i], 1e-6);
}

TEST(Module, AModuleCannotBecomeIntegers) {
  EXPECT_EQ(text_of([] { Net().to(DType::i64); }),
            "[to] a module holds floating-point parameters; it cannot be converted to i64");
}

// ---- errors name modules ----

TEST(ModulePath, AnErrorNamesTheModule) {
  Net net;
  const std::string what = "[linear] input (5, 4) and weight (4, 3) do not fit: the last size of the input must be 3";
  EXPECT_EQ(text_of([&] { net.fc1(ones({5, 4})); }), what + " (in fc1)");
  net.set_name("net");
  net.scale.set_data(ones({4}));
  EXPECT_EQ(text_of([&] { net(ones({5, 4})); }), what + " (in net.fc1)");
}

TEST(ModulePath, MembersOfAListAreNamedAfterTheList) {
  Tied model;
  model.set_name("gpt");
  model.h[1].proj.weight.set_data(ones({4, 5}));
  EXPECT_EQ(
      text_of([&] {
        model(tensor({1, 2}));
      }),
      "[linear] input (2, 4) and weight (4, 5) do not fit: the last size of the input must be 5 (in gpt.h.1.proj)");
}

TEST(ModulePath, AModuleWithoutANameAddsNone) {
  const nn::Linear fc(3, 4);
  EXPECT_EQ(text_of([&] {
              fc(ones({5, 4}));
            }),
            "[linear] input (5, 4) and weight (4, 3) do not fit: the last size of the input must be 3");
}

TEST(ModulePath, AModuleMayOutliveTheListItStoodIn) {
  struct Lender : nn::ModuleList<Block> {
    void lend(std::string name, nn::Module& module) { register_module(std::move(name), module); }
  };
  nn::Linear fc(3, 4);
  {
    Lender list;
    list.set_name("list");
    list.lend("fc", fc);
  }
  EXPECT_EQ(fc.scope_name(), "list.fc");
}

TEST(Module, NamesAreChecked) {
  struct Twice : nn::ModuleOf<Twice> {
    explicit Twice(const std::string& name) {
      register_module("fc", fc);
      register_module(name, fc);
    }
    nn::Linear fc{1, 1};
  };
  EXPECT_EQ(text_of([] { Twice("fc"); }), "[register_module] the name \"fc\" is taken in Twice");
  EXPECT_EQ(text_of([] { Twice("a.b"); }), "[register_module] the name \"a.b\" contains a dot, which separates names");
  EXPECT_EQ(text_of([] { Twice(""); }), "[register_module] a name cannot be empty");
}

// ---- summary ----

TEST(Summary, OfACallShowsWhatModulesGiveAndCost) {
  nn::Sequential net;
  net.emplace<nn::Conv2d>(1, 4, 3, nn::Conv2dOptions{.padding = 1});
  net.emplace<nn::BatchNorm2d>(4);
  net.emplace<nn::ReLU>();
  net.emplace<nn::MaxPool2d>(2);
  net.emplace<nn::Flatten>();
  net.emplace<nn::Linear>(4 * 3 * 3, 5);
  EXPECT_EQ(nn::summary(net, zeros({2, 1, 6, 6})), R"(module  type         output        parameters  FLOPs
.       Sequential   (2, 5)
0       Conv2d       (2, 4, 6, 6)          40  5,184
1       BatchNorm2d  (2, 4, 6, 6)           8
2       ReLU         (2, 4, 6, 6)
3       MaxPool2d    (2, 4, 3, 3)
4       Flatten      (2, 36)
5       Linear       (2, 5)               185    720
233 parameters, 233 trainable, 932 bytes; buffers 40 bytes; 5,904 FLOPs
)");
}

TEST(Summary, OfACallComputesNothingAndLeavesTheModuleAsItIs) {
  nn::Sequential net;
  net.emplace<nn::BatchNorm1d>(3);
  net.emplace<nn::Dropout>(0.5);
  net[1].eval();
  for (const Tensor& x : net.parameters()) wait(std::vector<Tensor>{x});
  const Tensor x = ones({4, 3}).eval();
  const Floats before = values(net.named_buffers()[0].tensor);
  const size_t launches = stats().launches;
  nn::summary(net, x);
  EXPECT_EQ(stats().launches, launches);
  EXPECT_EQ(values(net.named_buffers()[0].tensor), before);
  EXPECT_TRUE(net[0].is_training());
  EXPECT_FALSE(net[1].is_training());
  EXPECT_EQ(text_of([&] { nn::summary(net, ones({4, 2})); }).substr(0, 12), "[batch_norm]");
  EXPECT_TRUE(net[0].is_training());
}

TEST(Summary, OfACallGivesWorkToTheModuleThatDoesIt) {
  Tied model;  // the head shares its weight; blocks add their input themselves
  const std::string text = nn::summary(model, tensor({{1, 2, 3}}));
  EXPECT_NE(text.find("tokens    Embedding   (1, 3, 4)          24\n"), std::string::npos) << text;
  EXPECT_NE(text.find("h.1.proj  Linear      (1, 3, 4)          20     96\n"), std::string::npos) << text;
  EXPECT_NE(text.find("head      Linear      (1, 3, 6)           0    144\n"), std::string::npos) << text;
  EXPECT_NE(text.find("; 336 FLOPs\n"), std::string::npos) << text;

  nn::LSTM lstm(3, 4);
  const std::string recurrent = nn::summary(lstm, zeros({5, 2, 3}));
  EXPECT_NE(recurrent.find("(5, 2, 4), (1, 2, 4), (1, 2, 4)"), std::string::npos) << recurrent;
  EXPECT_NE(recurrent.find(fmt::format("; {},{} FLOPs", 2 * 5 * 2 * 16 * 7 / 1000, 2 * 5 * 2 * 16 * 7 % 1000)),
            std::string::npos)
      << recurrent;
}

TEST(Summary, IsATableWithTotals) {
  Tied model;
  model.h.requires_grad_(false);
  EXPECT_EQ(model.summary(), R"(module    type        parameters                count
.         Tied
tokens    Embedding   weight (6, 4)                24
h         ModuleList
h.0       Block
h.0.proj  Linear      weight (4, 4), bias (4,)     20
h.1       Block
h.1.proj  Linear      weight (4, 4), bias (4,)     20
head      Linear      weight (6, 4) (shared)        0
64 parameters, 24 trainable, 256 bytes
)");
}

TEST(Summary, GroupsDigitsAndCountsBuffers) {
  struct Wide : nn::ModuleOf<Wide> {
    Wide() {
      register_module("fc", fc);
      register_buffer("mask", mask);
      set_name("wide");
    }
    nn::Linear fc{1000, 1000};
    Tensor mask = ones({7}, DType::boolean);
  };
  EXPECT_EQ(Wide().summary(), R"(module  type    parameters                             count
wide    Wide
fc      Linear  weight (1000, 1000), bias (1000,)  1,001,000
1,001,000 parameters, 1,001,000 trainable, 3.8 MiB; buffers 7 bytes
)");
}

TEST(Module, ASummaryOfManyParametersStaysNarrow) {
  const nn::LSTM lstm(3, 4, {.layers = 2, .bidirectional = true});
  const std::string text = lstm.summary();
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
  EXPECT_TRUE(text.starts_with("module  type  parameters ")) << text;
  EXPECT_NE(text.find("\n.       LSTM  weight_ih_l0 (16, 3), "), std::string::npos) << text;
  EXPECT_NE(text.find("bias_hh_l1_reverse (16,)"), std::string::npos) << text;
}

// ---- a captured step over modules ----

TEST(Module, ACapturedTrainingStepIsAnUncapturedOne) {
  manual_seed(7);
  Net plain, captured;
  captured.load_state_dict(plain.state_dict());
  const auto step_of = [](Net& net, const Tensor& x) {
    Tensor loss = mean(square(net(x) - 1));
    loss.backward();
    const NoGrad updating;
    for (Tensor& p : net.parameters()) p.sub_(p.grad() * 0.1);
    net.zero_grad();
    return loss;
  };
  auto step = compile([&](const Tensor& x) { return step_of(captured, x); });
  Generator data(3);
  for (int i = 0; i < 6; ++i) {
    const Tensor x = randn({5, 3}, {}, &data).eval();
    EXPECT_EQ(step(x).item<float>(), step_of(plain, x).item<float>()) << i;
  }
  EXPECT_EQ(values(captured.fc1.weight), values(plain.fc1.weight));
}

}  // namespace
}  // namespace tenon
