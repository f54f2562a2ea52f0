// ResNet and ViT against what PyTorch computed for tiny ones (tests/golden/pictures, recorded by
// scripts/record_pictures.py), and their files.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "tenon/models/resnet.h"
#include "tenon/models/vit.h"
#include "tenon/tenon.h"
#include "tests/error_text.h"

namespace tenon::models {
namespace {

namespace fs = std::filesystem;

const fs::path kGolden = TENON_SOURCE_DIR "/tests/golden/pictures";

ResNetConfig tiny(std::vector<int64_t> blocks, bool bottleneck, int64_t width, bool small_pictures = false) {
  ResNetConfig config;
  config.blocks = std::move(blocks);
  config.bottleneck = bottleneck;
  config.width = width;
  config.classes = 5;
  config.small_pictures = small_pictures;
  return config;
}

ViTConfig tiny_vit() {
  ViTConfig config;
  config.image_size = 16;
  config.patch_size = 4;
  config.layers = config.heads = 2;
  config.width = 16;
  config.inner = 32;
  config.classes = 5;
  return config;
}

std::unique_ptr<PictureModel> made(const std::string& name) {
  if (name == "vit") return std::make_unique<ViT>(tiny_vit());
  if (name == "resnet_basic") return std::make_unique<ResNet>(tiny({1, 1}, false, 8));
  if (name == "resnet_bottleneck") return std::make_unique<ResNet>(tiny({1, 2}, true, 4));
  return std::make_unique<ResNet>(tiny({1, 1}, false, 8, true));
}

/// By the largest element.
void expect_close(const std::string& name, const Tensor& ours, const Tensor& expected) {
  ASSERT_EQ(ours.shape(), expected.shape()) << name;
  const auto a = ours.to(float64).to_vector<double>(), b = expected.to(float64).to_vector<double>();
  double error = 0, most = 1e-3;
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_TRUE(std::isfinite(a[i])) << name;
    error = std::max(error, std::abs(a[i] - b[i]));
    most = std::max(most, std::abs(b[i]));
  }
  EXPECT_LE(error, 2e-4 * most) << name;
}

class Pictures : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Models, Pictures,
                         testing::Values("resnet_basic", "resnet_bottleneck", "resnet_small_pictures", "vit"),
                         [](const auto& tested) { return std::string(tested.param); });

TEST_P(Pictures, ComputeWhatPyTorchDoesWithTorchvisionsNames) {
  const std::string name = GetParam();
  const auto net = made(name);
  net->load_weights(kGolden / (name + ".pt"));
  const auto expected = io::load_safetensors(kGolden / (name + ".safetensors")).tensors;
  net->train();
  const Tensor logits = (*net)(expected.at("x"));
  Tensor loss = nn::cross_entropy(logits, expected.at("labels"));
  loss.backward();
  std::map<std::string, Tensor> ours{{"logits", logits}};
  for (const auto& [key, p] : net->named_parameters()) ours["grad." + key] = p.grad();
  for (const auto& [key, b] : net->named_buffers()) ours["state." + key] = b;
  size_t compared = 0;
  for (const auto& [key, tensor] : expected) {
    if (key == "x" || key == "labels" || key == "eval") continue;
    ASSERT_TRUE(ours.contains(key)) << key;
    expect_close(key, ours.at(key), tensor);
    ++compared;
  }
  EXPECT_GT(compared, net->named_parameters().size());  // all gradients, and the logits
  net->eval();
  const NoGrad reading;
  expect_close("eval", (*net)(expected.at("x")), expected.at("eval"));
}

TEST_P(Pictures, ComeBackFromTheirFolderAndFromTorchFiles) {
  const std::string name = GetParam();
  const fs::path folder = fs::path(testing::TempDir()) / ("pictures_" + name);
  fs::create_directories(folder);
  const auto net = made(name);
  net->set_statistics({{0.1, 0.2, 0.3}, {0.4, 0.5, 0.6}});
  net->eval();
  const NoGrad reading;
  const Tensor x = randint(0, 256, {2, 3, 16, 16}).to(uint8);
  const std::vector<float> before = (*net)(x).to_vector<float>();
  net->save(folder);
  std::unique_ptr<PictureModel> again;
  if (name == "vit")
    again = ViT::load(folder);
  else
    again = ResNet::load(folder);
  EXPECT_EQ((*again)(x).to_vector<float>(), before);
  for (const char* file : {"weights.pt", "weights.safetensors"}) {
    if (fs::path(file).extension() == ".pt")
      io::save_torch(folder / file, net->state_dict());
    else
      io::save_safetensors(folder / file, net->state_dict());
    const auto third = made(name);
    third->load_weights(folder / file);
    third->set_statistics(net->statistics());
    third->eval();
    EXPECT_EQ((*third)(x).to_vector<float>(), before);
  }
  fs::remove_all(folder);
}

TEST(ResNet, HasThePublishedSizes) {
  for (const auto& [layers, parameters] :
       {std::pair<int64_t, int64_t>{18, 11689512}, {34, 21797672}, {50, 25557032}, {101, 44549160}, {152, 60192808}})
    EXPECT_EQ(ResNet(ResNetConfig::resnet(layers)).count_parameters(), parameters);
  EXPECT_EQ(ViT(ViTConfig::b_16()).count_parameters(), 86567656);
}

TEST(ResNet, TakesBytesByItsStatistics) {
  ResNet net(tiny({1}, false, 4));
  net.eval();
  const NoGrad reading;
  const Tensor bytes = randint(0, 256, {2, 3, 32, 32}).to(uint8);
  const Tensor mean = tensor<float>({0.485F, 0.456F, 0.406F}).reshape({3, 1, 1});
  const Tensor deviation = tensor<float>({0.229F, 0.224F, 0.225F}).reshape({3, 1, 1});
  expect_close("logits", net(bytes), net((bytes.to(float32) / 255.0 - mean) / deviation));
  EXPECT_FALSE(net.state_dict().contains("picture_mean"));  // torchvision has no such name
}

TEST(ResNet, SaysWhatDoesNotFit) {
  EXPECT_EQ(text_of([] { ResNetConfig::resnet(20); }),
            "[resnet] there is no ResNet-20; there are 18, 34, 50, 101 and 152");
  EXPECT_EQ(text_of([] {
              ResNet(tiny({1}, false, 4))(zeros({1, 1, 8, 8}));
            }),
            "[resnet] takes pictures (batch, 3, height, width), got (1, 1, 8, 8)");
  EXPECT_EQ(text_of([] { ResNetConfig::from_json(R"({"model_type": "resnet", "blocks": [2, "two"]})"); }),
            R"([resnet] config.json: blocks is [2,"two"], which is not of its type)");
  EXPECT_EQ(text_of([] { ResNetConfig::from_json(R"({"blocks": []})"); }),
            "[resnet] there can be 1 to 16 stages, got 0");
  EXPECT_EQ(text_of([] { ResNet(tiny({1}, false, 4)).load_weights("weights.bin"); }),
            "[resnet] weights.bin: weights are in a file of .safetensors, .pt or .pth");
  EXPECT_EQ(text_of([] {
              ViTConfig config = tiny_vit();
              config.patch_size = 5;
              ViT net(config);
            }),
            "[vit] pictures of 16 x 16 cannot be cut into patches of 5 x 5");
  EXPECT_EQ(text_of([] {
              ViT{tiny_vit()}(zeros({1, 3, 8, 16}));
            }),
            "[vit] takes pictures of 16 x 16, got (1, 3, 8, 16)");
  const std::string misfit = text_of([] { ViT{tiny_vit()}.load_weights(kGolden / "resnet_basic.pt"); });
  EXPECT_NE(misfit.find("missing"), std::string::npos) << misfit;
}

}  // namespace
}  // namespace tenon::models
