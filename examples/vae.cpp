// A variational autoencoder (Kingma and Welling, 2013): images become 16 numbers each, and numbers become images.
//
// usage: example_vae [FOLDER | --quick]    (FOLDER holds the four files of MNIST or Fashion-MNIST; without one,
// Debian's
//        package dataset-fashion-mnist is read; --quick: a few made-up images)
//
// Writes vae.png: two rows of images, the same out of their 16 numbers, and two rows out of nothing but chance.

#include <fmt/format.h>
#include <tenon/tenon.h>

#include <string>

#include "arguments.h"

using namespace tenon;

namespace {

constexpr int64_t kCodes = 16;

class Vae : public nn::Module {
 public:
  Vae() {
    encoder_.emplace<nn::Conv2d>(1, 32, 4, nn::Conv2dOptions{.stride = 2, .padding = 1});  // 14 x 14
    encoder_.emplace<nn::ReLU>();
    encoder_.emplace<nn::Conv2d>(32, 64, 4, nn::Conv2dOptions{.stride = 2, .padding = 1});  // 7 x 7
    encoder_.emplace<nn::ReLU>();
    encoder_.emplace<nn::Flatten>();
    encoder_.emplace<nn::Linear>(64 * 49, 2 * kCodes);
    decoder_in_.emplace<nn::Linear>(kCodes, 64 * 49);
    decoder_in_.emplace<nn::ReLU>();
    decoder_.emplace<nn::ConvTranspose2d>(64, 32, 4, nn::ConvTranspose2dOptions{.stride = 2, .padding = 1});
    decoder_.emplace<nn::ReLU>();
    decoder_.emplace<nn::ConvTranspose2d>(32, 1, 4, nn::ConvTranspose2dOptions{.stride = 2, .padding = 1});
    register_module("encoder", encoder_);
    register_module("decoder_in", decoder_in_);
    register_module("decoder", decoder_);
  }

  struct Code {
    Tensor mean, log_variance;  // (batch, kCodes)
  };
  Code encode(const Tensor& images) const {
    const Tensor both = encoder_(images);
    return {both.narrow(1, 0, kCodes), both.narrow(1, kCodes, kCodes)};
  }
  /// Logits of the pixels.
  Tensor decode(const Tensor& code) const { return decoder_(decoder_in_(code).reshape({-1, 64, 7, 7})); }

  /// What is lost of an image, and how far its code is from plain chance, both in nats.
  Tensor loss(const Tensor& images) const {
    const auto [mean, log_variance] = encode(images);
    const Tensor code = mean + exp(log_variance * 0.5) * randn_like(mean);
    const double count = static_cast<double>(images.size(0));
    const Tensor lost = nn::binary_cross_entropy_with_logits(decode(code), images, nn::Reduction::sum) / count;
    return lost - (log_variance + 1 - mean * mean - exp(log_variance)).sum() * (0.5 / count);
  }

 private:
  nn::Sequential encoder_, decoder_in_, decoder_;
};

// Bars that lean by their number: something to draw where there are no files.
data::TensorDataset made_up(int64_t count) {
  const Tensor angle = rand({count, 1, 1}) * 3.14, x = arange(28).to(DType::f32) - 13.5, y = x.reshape({28, 1});
  const Tensor distance = x * cos(angle) + y * sin(angle);
  return {{"image", (exp(distance * distance * -0.1) * 255).to(DType::u8).unsqueeze(1)}};
}

// A folder may hold either of the two, which have the same files.
data::TensorDataset images_in(const std::string& folder, bool train) {
  return folder.empty() ? data::fashion_mnist({}, train) : data::mnist(folder, train);
}

int run(const example::Arguments& given) {
  const bool quick = given.quick;
  const int64_t epochs = quick ? 3 : 8;
  manual_seed(1);
  const data::TensorDataset train_set = quick ? made_up(512) : images_in(given.path, true);
  const data::TensorDataset test_set = quick ? made_up(32) : images_in(given.path, false);
  data::DataLoader loader(
      train_set,
      {.batch_size = 128, .shuffle = true, .workers = 1, .last = data::LastBatch::kDrop, .device = Device()});
  Vae vae;
  fmt::print("{} parameters\n", vae.count_parameters());
  optim::Adam optimizer(vae.parameters(), {.lr = 1e-3});
  const auto scaled = [](const Tensor& images) { return images.to(DType::f32) / 255.0; };
  auto step = compile([&](const Tensor& images) {
    Tensor loss = vae.loss(scaled(images));
    loss.backward();
    optimizer.step();
    optimizer.zero_grad();
    return loss.detach();
  });
  double first = 0, last = 0;
  for (int64_t epoch = 1; epoch <= epochs; ++epoch) {
    Tensor sum = zeros({});
    for (const data::Sample& batch : loader) sum = sum + step(batch["image"]);
    last = sum.item<double>() / static_cast<double>(loader.size());
    if (epoch == 1) first = last;
    fmt::print("epoch {}: {:.2f} nats an image\n", epoch, last);
  }

  const NoGrad drawing;
  const Tensor seen = scaled(test_set.tensors()["image"].narrow(0, 0, 32).to(Device()));
  const Tensor again = sigmoid(vae.decode(vae.encode(seen).mean)), dreamt = sigmoid(vae.decode(randn({32, kCodes})));
  data::save_image("vae.png", cat({seen, again, dreamt}), {.columns = 16});
  fmt::print("vae.png: test images, the same out of {} numbers each, and images out of chance\n", kCodes);
  return last < first ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return example::run(argc, argv, "[FOLDER | --quick]", run); }
