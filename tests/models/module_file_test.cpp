// Modules in files: what is saved comes back, and every way a file may not fit has its line.

#include "tenon/models/module_file.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tenon/tenon.h"
#include "tests/error_text.h"

namespace tenon::models {
namespace {

namespace fs = std::filesystem;

class Net : public nn::ModuleOf<Net> {
 public:
  explicit Net(int64_t width = 3) : fc1(2, width), fc2(width, 2, false) {
    register_module("fc1", fc1);
    register_module("fc2", fc2);
    register_buffer("steps", steps);
    register_buffer("table", table, false);
  }
  Tensor forward(const Tensor& x) const { return fc2(fc1(x)); }
  nn::Linear fc1, fc2;
  Tensor steps = zeros({}, DType::i64), table = ones({2});
};

class Tied : public nn::ModuleOf<Tied> {
 public:
  Tied() {
    head.weight = tokens.weight;
    register_module("tokens", tokens);
    register_module("head", head);
  }
  Tensor forward(const Tensor& ids) const { return head(tokens(ids)); }
  nn::Embedding tokens{6, 4};
  nn::Linear head{4, 6, false};
};

class ModuleFile : public ::testing::Test {
 protected:
  ModuleFile() { fs::create_directories(folder_); }
  ~ModuleFile() override { fs::remove_all(folder_); }
  fs::path at(const std::string& name) const { return folder_ / name; }
  /// An error, with the folder left out.
  template <typename F>
  std::string refusal(F&& f) const {
    std::string text = text_of(f);
    const std::string prefix = folder_.string() + "/";
    for (size_t i = text.find(prefix); i != std::string::npos; i = text.find(prefix)) text.erase(i, prefix.size());
    return text;
  }

 private:
  fs::path folder_ = fs::path(::testing::TempDir()) /
                     (std::string("tenon_module_") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(ModuleFile, GivesTheModuleBack) {
  Net from, to;
  from.steps.add_(5);
  save_module(at("net.safetensors"), from);
  const nn::LoadReport report = load_module(at("net.safetensors"), to);
  EXPECT_TRUE(report.missing.empty() && report.unexpected.empty());
  const Tensor x = ones({4, 2});
  EXPECT_EQ(to(x).to_vector<float>(), from(x).to_vector<float>());
  EXPECT_EQ(to.steps.item<int64_t>(), 5);
  EXPECT_TRUE(to.fc1.weight.requires_grad() && to.fc1.weight.is_leaf());
}

TEST_F(ModuleFile, SaysWhatItHolds) {
  save_module(at("net.safetensors"), Net());
  const ModuleDescription net = describe_module(at("net.safetensors"));
  EXPECT_EQ(net.type, "Net");
  EXPECT_EQ(net.modules, (std::map<std::string, std::string>{{"fc1", "Linear"}, {"fc2", "Linear"}}));
  EXPECT_TRUE(net.shared.empty());
  io::save_safetensors(at("other.safetensors"), {{"x", ones({2})}});
  EXPECT_EQ(describe_module(at("other.safetensors")).type, "");
}

TEST_F(ModuleFile, HoldsASharedTensorOnce) {
  Tied from, to;
  save_module(at("tied.safetensors"), from);
  EXPECT_EQ(io::load_safetensors(at("tied.safetensors")).tensors.size(), 1u);
  EXPECT_EQ(describe_module(at("tied.safetensors")).shared.at("head.weight"), "tokens.weight");
  load_module(at("tied.safetensors"), to);
  EXPECT_EQ(to.head.weight.to_vector<float>(), from.tokens.weight.to_vector<float>());
}

TEST_F(ModuleFile, ThatDoesNotFitIsToldInOneLineAndChangesNothing) {
  Net net;
  const std::vector<float> before = net.fc1.weight.to_vector<float>();
  save_module(at("tied.safetensors"), Tied());
  EXPECT_EQ(
      refusal([&] { load_module(at("tied.safetensors"), net); }),
      "[load_module] tied.safetensors, which a Tied wrote, does not fit Net: missing steps, fc1.weight, fc1.bias, "
      "fc2.weight; unexpected tokens.weight");
  save_module(at("wide.safetensors"), Net(5));
  EXPECT_EQ(refusal([&] { load_module(at("wide.safetensors"), net); }),
            "[load_module] wide.safetensors does not fit Net: fc1.weight: shape (3, 2) expected, file has (5, 2); "
            "fc1.bias: shape (3,) expected, file has (5,); fc2.weight: shape (2, 3) expected, file has (2, 5)");
  Net low;
  low.to(DType::bf16);
  save_module(at("low.safetensors"), low);
  EXPECT_EQ(refusal([&] { load_module(at("low.safetensors"), net); }),
            "[load_module] low.safetensors does not fit Net: other dtypes: fc1.weight (f32 expected, file has bf16), "
            "fc1.bias (f32 expected, file has bf16), fc2.weight (f32 expected, file has bf16)");
  EXPECT_EQ(net.fc1.weight.to_vector<float>(), before);
}

TEST_F(ModuleFile, IsTakenAsFarAsItGoesWhereThatIsAskedFor) {
  Net net, low;
  low.to(DType::bf16);
  nn::StateDict some = low.state_dict();
  some.erase("fc2.weight");
  some.emplace("fc3.weight", ones({1}));
  io::save_safetensors(at("some.safetensors"), some);
  const std::vector<float> kept = net.fc2.weight.to_vector<float>();
  const nn::LoadReport report = load_module(at("some.safetensors"), net, false);
  EXPECT_EQ(report.missing, std::vector<std::string>{"fc2.weight"});
  EXPECT_EQ(report.unexpected, std::vector<std::string>{"fc3.weight"});
  EXPECT_EQ(net.fc1.weight.dtype(), DType::f32);
  EXPECT_EQ(net.fc1.weight.to_vector<float>(), low.fc1.weight.to_vector<float>());
  EXPECT_EQ(net.fc2.weight.to_vector<float>(), kept);
  some["fc1.bias"] = ones({7});
  io::save_safetensors(at("some.safetensors"), some);
  EXPECT_EQ(refusal([&] { load_module(at("some.safetensors"), net, false); }),
            "[load_module] some.safetensors does not fit Net: fc1.bias: shape (3,) expected, file has (7,)");
}

TEST_F(ModuleFile, WithADescriptionThatIsNoneIsRefused) {
  const auto written = [&](const std::string& description) {
    io::save_safetensors(at("bad.safetensors"), {{"x", ones({2})}}, {{"tenon.module", description}});
    return refusal([&] { describe_module(at("bad.safetensors")); });
  };
  EXPECT_NE(written("{").find("is not valid JSON"), std::string::npos) << written("{");
  EXPECT_NE(written("{}").find("has no type"), std::string::npos) << written("{}");
  const std::string list = written(R"({"type":"Net","modules":[],"shared":{}})");
  EXPECT_NE(list.find("modules is []; it must be an object"), std::string::npos) << list;
  const std::string wrong = written(R"({"type":"Net","modules":{"a":3},"shared":{}})");
  EXPECT_NE(wrong.find("modules of a is 3; it must be a text"), std::string::npos) << wrong;
}

}  // namespace
}  // namespace tenon::models
