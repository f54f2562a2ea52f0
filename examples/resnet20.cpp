// ResNet-20 (He et al., 2015) on images of CIFAR-10's shape, with the crops and flips of the paper.
//
// usage: example_resnet20 [FOLDER | --quick]    (FOLDER: cifar-10-batches-bin; without one, made-up textures)

#include <fmt/format.h>
#include <tenon/tenon.h>

#include <chrono>

#include "arguments.h"

using namespace tenon;

namespace {

// Two convolutions beside a straight way, on which gradients reach the first layers.
class Block : public nn::Layer {
 public:
  Block(int64_t in, int64_t out, int64_t stride)
      : conv1_(in, out, 3, {.stride = stride, .padding = 1, .bias = false}),
        conv2_(out, out, 3, {.padding = 1, .bias = false}),
        norm1_(out),
        norm2_(out) {
    register_module("conv1", conv1_);
    register_module("norm1", norm1_);
    register_module("conv2", conv2_);
    register_module("norm2", norm2_);
    register_module("down", down_);
    if (stride == 1) return;
    down_.emplace<nn::Conv2d>(in, out, 1, nn::Conv2dOptions{.stride = stride, .bias = false});
    down_.emplace<nn::BatchNorm2d>(out);
  }
  Tensor forward(const Tensor& x) const override {
    const Tensor straight = down_.size() > 0 ? down_(x) : x;
    return relu(norm2_(conv2_(relu(norm1_(conv1_(x))))) + straight);
  }

 private:
  nn::Conv2d conv1_, conv2_;
  nn::BatchNorm2d norm1_, norm2_;
  nn::Sequential down_;
};

void add_resnet20(nn::Sequential& net) {
  net.emplace<nn::Conv2d>(3, 16, 3, nn::Conv2dOptions{.padding = 1, .bias = false});
  net.emplace<nn::BatchNorm2d>(16);
  net.emplace<nn::ReLU>();
  int64_t in = 16;
  for (const int64_t out : {16, 32, 64}) {
    for (int i = 0; i < 3; ++i, in = out) net.emplace<Block>(in, out, i == 0 && out > 16 ? 2 : 1);
  }
  net.emplace<nn::AdaptiveAvgPool2d>(1);
  net.emplace<nn::Flatten>();
  net.emplace<nn::Linear>(64, 10);
}

// Waves whose colour and fineness depend on the class.
data::TensorDataset textures(int64_t count) {
  const Tensor labels = arange(count) % 10, kind = labels.to(DType::f32).reshape({count, 1, 1, 1});
  const Tensor x = arange(32).to(DType::f32), colour = arange(3).to(DType::f32).reshape({3, 1, 1});
  const Tensor waves = sin(x * (kind * 0.12 + 0.2) + rand({count, 1, 32, 1}) * 2 + colour * kind);
  return {{"image", (waves * 80 + rand({count, 3, 32, 32}) * 80 + 85).to(DType::u8)}, {"label", labels}};
}

int run(const example::Arguments& given) {
  const bool quick = given.quick, has_files = !quick && !given.path.empty();
  const int64_t epochs = has_files ? 30 : quick ? 2 : 3, size = quick ? 16 : 128;
  manual_seed(1);
  const auto read = [&](bool train) {
    return has_files ? data::cifar10(given.path, train) : textures(quick ? 96 : train ? 5000 : 1000);
  };
  const auto whiten = data::compose({data::to_float(), data::normalize({0.49, 0.48, 0.45}, {0.25, 0.24, 0.26})});
  const auto crop = data::random_crop(32, 32, {.padding = 4}), flip = data::random_horizontal_flip();
  const auto augment = data::compose({crop, flip, whiten});
  const auto train_set = data::transformed(read(true), augment);
  data::DataLoader train(
      train_set,
      {.batch_size = size, .shuffle = true, .workers = 2, .last = data::LastBatch::kDrop, .device = Device()});
  const data::MappedDataset test_set = data::transformed(read(false), whiten);
  data::DataLoader test(test_set, {.batch_size = quick ? 16 : 250, .workers = 1, .device = Device()});
  nn::Sequential net;
  add_resnet20(net);
  fmt::print("ResNet-20: {} parameters\n", net.count_parameters());
  optim::SGD optimizer(net.parameters(), {.lr = 0.1, .momentum = 0.9, .weight_decay = 1e-4, .nesterov = true});
  optim::Scheduler schedule(optimizer, optim::cosine(epochs * train.size(), {.warmup = train.size() / 2}));
  auto step = compile([&](const Tensor& images, const Tensor& labels) {
    Tensor loss = nn::cross_entropy(net(images), labels);
    loss.backward();
    optimizer.step();
    optimizer.zero_grad();
    return loss.detach();
  });
  auto count_right = compile([&](const Tensor& images, const Tensor& labels) {
    const NoGrad reading;
    return (net(images).argmax(1) == labels).to(DType::f32).sum();
  });
  double first = 0, last = 0;
  for (int64_t epoch = 0; epoch < epochs; ++epoch) {
    const auto start = std::chrono::steady_clock::now();
    net.train();
    Tensor sum = zeros({});
    for (const data::Sample& batch : train) {
      sum = sum + step(batch[0], batch[1]);
      schedule.step();
    }
    last = sum.item<double>() / static_cast<double>(train.size());
    first = epoch == 0 ? last : first;
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    net.eval();
    double right = 0;
    for (const data::Sample& batch : test) right += count_right(batch[0], batch[1]).item<double>();
    fmt::print("epoch {}: {:.1f} s, mean loss {:.4f}, {:.1f} % right\n", epoch + 1, seconds.count(), last,
               100 * right / static_cast<double>(test_set.size()));
  }
  return last < first ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return example::run(argc, argv, "[FOLDER | --quick]", run); }
