// State dicts: what goes out comes back, and every way a state may not fit has its line.

#include <gtest/gtest.h>

#include "tenon/tenon.h"
#include "tests/error_text.h"

namespace tenon {
namespace {

using Floats = std::vector<float>;
using Names = std::vector<std::string>;

Floats values(const Tensor& x) { return x.detach().to_vector<float>(); }

Names names_of(const nn::StateDict& state) {
  Names names;
  for (const auto& [name, tensor] : state) names.push_back(name);
  return names;
}

class Net : public nn::ModuleOf<Net> {
 public:
  Net() {
    register_module("fc1", fc1);
    register_module("fc2", fc2);
    register_buffer("steps", steps);
    register_buffer("table", table, false);
  }
  Tensor forward(const Tensor& x) const { return fc2(fc1(x)); }
  nn::Linear fc1{2, 3}, fc2{3, 1, false};
  Tensor steps = zeros({}, DType::i64), table = ones({2});
};

TEST(StateDict, HoldsParametersAndPersistentBuffers) {
  EXPECT_EQ(names_of(Net().state_dict()), (Names{"fc1.bias", "fc1.weight", "fc2.weight", "steps"}));
}

TEST(StateDict, SharesTheMemoryOfTheModule) {
  Net net;
  const nn::StateDict state = net.state_dict();
  EXPECT_FALSE(state.at("fc1.weight").requires_grad());
  nn::init::constant_(net.fc1.weight, 3);
  EXPECT_EQ(values(state.at("fc1.weight")), Floats(6, 3));
}

TEST(StateDict, ARoundTripGivesTheSameModel) {
  Net from, to;
  from.steps.add_(5);
  const nn::LoadReport report = to.load_state_dict(from.state_dict());
  EXPECT_TRUE(report.missing.empty() && report.unexpected.empty());
  const Tensor x = ones({4, 2});
  EXPECT_EQ(values(to(x)), values(from(x)));
  EXPECT_EQ(to.steps.item<int64_t>(), 5);
  nn::init::constant_(from.fc2.weight, 0);
  EXPECT_NE(values(to.fc2.weight), Floats(3, 0)) << "values are copied";
  EXPECT_TRUE(to.fc1.weight.requires_grad() && to.fc1.weight.is_leaf());
}

TEST(StateDict, LoadingConvertsToTheModulesDtype) {
  Net net;
  nn::StateDict state = net.state_dict();
  state["fc2.weight"] = full({1, 3}, 0.5, DType::f16);
  net.load_state_dict(state);
  EXPECT_EQ(net.fc2.weight.dtype(), DType::f32);
  EXPECT_EQ(values(net.fc2.weight), Floats(3, 0.5f));
}

TEST(StateDict, AssigningTakesOverMemoryAndDtype) {
  Net net;
  const Tensor handle = net.fc2.weight;
  nn::StateDict state = net.state_dict();
  Tensor given = full({1, 3}, 0.5, DType::f16).clone().eval();
  state["fc2.weight"] = given;
  net.load_state_dict(state, true, true);
  EXPECT_EQ(handle.dtype(), DType::f16);
  given.add_(1);
  EXPECT_EQ(values(handle), Floats(3, 1.5f));
  EXPECT_TRUE(handle.requires_grad() && handle.is_leaf());
  EXPECT_EQ(net.fc1.weight.dtype(), DType::f32);
}

TEST(StateDict, AFileIsNotCopiedWhenAssigned) {
  Net from, to;
  const auto path = std::filesystem::path(testing::TempDir()) / "tenon_state_dict_test.safetensors";
  io::save_safetensors(path, from.state_dict());
  to.load_state_dict(io::load_safetensors(path).tensors, true, true);
  std::filesystem::remove(path);
  EXPECT_EQ(values(to(ones({4, 2}))), values(from(ones({4, 2}))));
}

TEST(StateDict, MissingAndUnexpectedNamesAreToldAtOnce) {
  Net net;
  nn::StateDict state = net.state_dict();
  state["fc1.wieght"] = state["fc1.weight"];
  state["optimizer"] = ones({1});
  state.erase("fc1.weight");
  state.erase("steps");
  EXPECT_EQ(text_of([&] { net.load_state_dict(state); }),
            "[load_state_dict] missing steps, fc1.weight; unexpected fc1.wieght (did you mean fc1.weight?), optimizer");
}

TEST(StateDict, WithoutStrictnessNamesAreReported) {
  Net net;
  const nn::LoadReport report = net.load_state_dict({{"fc2.weight", ones({1, 3})}, {"other", ones({1})}}, false);
  EXPECT_EQ(report.missing, (Names{"steps", "fc1.weight", "fc1.bias"}));
  EXPECT_EQ(report.unexpected, (Names{"other"}));
  EXPECT_EQ(values(net.fc2.weight), Floats(3, 1));
}

TEST(StateDict, AShapeThatDoesNotFitIsNamedAndNothingIsLoaded) {
  Net net;
  const Floats before = values(net.fc1.bias);
  nn::StateDict state = net.state_dict();
  state["fc1.bias"] = zeros({3});
  state["fc1.weight"] = zeros({2, 3});
  for (const bool strict : {true, false}) {
    EXPECT_EQ(text_of([&] { net.load_state_dict(state, strict); }),
              "[load_state_dict] fc1.weight: shape (3, 2) expected, file has (2, 3)");
  }
  EXPECT_EQ(values(net.fc1.bias), before);
}

TEST(StateDict, IntegersAreNoParameters) {
  Net net;
  nn::StateDict state = net.state_dict();
  state["fc1.bias"] = zeros({3}, DType::i32);
  state["fc2.weight"] = Tensor();
  EXPECT_EQ(text_of([&] { net.load_state_dict(state); }),
            "[load_state_dict] fc1.bias: floating-point values expected, file has i32; "
            "fc2.weight: the tensor given is undefined");
}

TEST(StateDict, OnlyTheFirstOfManyNamesAreListed) {
  Net net;
  nn::StateDict state = net.state_dict();
  for (int i = 10; i < 20; ++i) state[fmt::format("extra.{}", i)] = ones({1});
  EXPECT_EQ(text_of([&] { net.load_state_dict(state); }),
            "[load_state_dict] unexpected extra.10, extra.11, extra.12, extra.13, extra.14, extra.15, extra.16, "
            "extra.17 and 2 more");
}

class Tied : public nn::ModuleOf<Tied> {
 public:
  Tied() {
    head.weight = tokens.weight;
    register_module("tokens", tokens);
    register_module("head", head);
  }
  Tensor forward(const Tensor& ids) const { return head(tokens(ids)); }
  nn::Embedding tokens{4, 2};
  nn::Linear head{2, 4, false};
};

TEST(StateDict, ASharedParameterStandsUnderEachNameAndMayBeGivenUnderOne) {
  Tied from, to;
  nn::StateDict state = from.state_dict();
  EXPECT_EQ(names_of(state), (Names{"head.weight", "tokens.weight"}));
  state.erase("head.weight");
  to.load_state_dict(state);
  EXPECT_EQ(values(to.head.weight), values(from.tokens.weight));
  EXPECT_EQ(text_of([&] { to.load_state_dict({}); }), "[load_state_dict] missing tokens.weight, head.weight");
}

}  // namespace
}  // namespace tenon
