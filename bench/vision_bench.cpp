// Vision and recurrent work, captured: one JSON object a line, under the names of the PyTorch side that
// bench/compare_vision runs beside it.
//
// `cpu_ms` is the time of all cores together, which others on the machine disturb less; `device_MiB` is the most that the
// work held on the device.
//
// usage: vision_bench [--f32] [FILTER]    (TENON_DEVICE names the device, TENON_THREADS sets the threads; only works whose
//                                         name holds FILTER are run)
//
// Where a device has tf32, f32 work may use it, as PyTorch's convolutions and recurrent layers do unless told otherwise;
// --f32 keeps it f32.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tenon/base/parallel.h"
#include "tenon/device/memory_stats.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

class Basic : public nn::Layer {
 public:
  Basic(int64_t in, int64_t out, int64_t stride)
      : c1_(in, out, 3, {.stride = stride, .padding = 1, .bias = false}),
        c2_(out, out, 3, {.padding = 1, .bias = false}),
        b1_(out),
        b2_(out) {
    register_module("c1", c1_);
    register_module("b1", b1_);
    register_module("c2", c2_);
    register_module("b2", b2_);
    register_module("down", down_);
    if (stride == 1 && in == out) return;
    down_.emplace<nn::Conv2d>(in, out, 1, nn::Conv2dOptions{.stride = stride, .bias = false});
    down_.emplace<nn::BatchNorm2d>(out);
  }
  Tensor forward(const Tensor& x) const override {
    const Tensor straight = down_.size() > 0 ? down_(x) : x;
    return relu(b2_(c2_(relu(b1_(c1_(x))))) + straight);
  }

 private:
  nn::Conv2d c1_, c2_;
  nn::BatchNorm2d b1_, b2_;
  nn::Sequential down_;
};

void add_resnet20(nn::Sequential& net) {
  net.emplace<nn::Conv2d>(3, 16, 3, nn::Conv2dOptions{.padding = 1, .bias = false});
  net.emplace<nn::BatchNorm2d>(16);
  net.emplace<nn::ReLU>();
  int64_t in = 16;
  for (const int64_t out : {16, 32, 64}) {
    for (int k = 0; k < 3; ++k, in = out) net.emplace<Basic>(in, out, k == 0 && out > 16 ? 2 : 1);
  }
  net.emplace<nn::AdaptiveAvgPool2d>(1);
  net.emplace<nn::Flatten>();
  net.emplace<nn::Linear>(64, 10);
}

// Two convolutions with batch norm: what a U-Net is made of.
void add_pair(nn::Sequential& net, int64_t in, int64_t out) {
  for (const int64_t from : {in, out}) {
    net.emplace<nn::Conv2d>(from, out, 3, nn::Conv2dOptions{.padding = 1, .bias = false});
    net.emplace<nn::BatchNorm2d>(out);
    net.emplace<nn::ReLU>();
  }
}

// U-Net (Ronneberger et al., 2015) with padding and batch norm: four halvings, 31 million parameters, a class for each
// pixel.
class UNet : public nn::Layer {
 public:
  UNet() : last_(64, 2, 1) {
    register_module("down", down_);
    register_module("up", up_);
    register_module("beside", beside_);
    register_module("last", last_);
    int64_t in = 3;
    for (int64_t width = 64; width <= 1024; width *= 2) {
      add_pair(down_.emplace(), in, width);
      in = width;
    }
    for (int64_t width = 512; width >= 64; width /= 2) {
      up_.emplace(2 * width, width, 2, nn::ConvTranspose2dOptions{.stride = 2});
      add_pair(beside_.emplace(), 2 * width, width);
    }
  }
  Tensor forward(const Tensor& images) const override {
    std::vector<Tensor> seen{down_[0](images)};
    for (size_t i = 1; i < down_.size(); ++i) seen.push_back(down_[i](nn::max_pool2d(seen.back(), 2)));
    Tensor x = seen.back();
    for (size_t i = 0; i < up_.size(); ++i) x = beside_[i](cat({seen[seen.size() - 2 - i], up_[i](x)}, 1));
    return last_(x);
  }

 private:
  nn::ModuleList<nn::Sequential> down_, beside_;
  nn::ModuleList<nn::ConvTranspose2d> up_;
  nn::Conv2d last_;
};

void add_mnist(nn::Sequential& net) {
  net.emplace<nn::Conv2d>(1, 32, 3, nn::Conv2dOptions{.padding = 1});
  net.emplace<nn::ReLU>();
  net.emplace<nn::MaxPool2d>(2);
  net.emplace<nn::Conv2d>(32, 64, 3, nn::Conv2dOptions{.padding = 1});
  net.emplace<nn::ReLU>();
  net.emplace<nn::MaxPool2d>(2);
  net.emplace<nn::Flatten>();
  net.emplace<nn::Linear>(64 * 49, 128);
  net.emplace<nn::ReLU>();
  net.emplace<nn::Linear>(128, 10);
}

std::string filter;

template <typename Step>
void measure(const std::string& name, int times, Step&& step) {
  if (name.find(filter) == std::string::npos) return;
  device::reset_peak();
  for (int i = 0; i < 4; ++i) step();  // the first calls trace and record
  std::vector<double> taken, of_cores;
  for (int i = 0; i < times; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const std::clock_t cores = std::clock();
    step();
    of_cores.push_back(1e3 * static_cast<double>(std::clock() - cores) / CLOCKS_PER_SEC);
    taken.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  std::sort(taken.begin(), taken.end());
  std::sort(of_cores.begin(), of_cores.end());
  fmt::print(
      "{{\"work\": \"{}\", \"device\": \"{}\", \"threads\": {}, \"ms\": {:.4f}, \"cpu_ms\": {:.4f}, \"device_MiB\": {}}}\n",
      name, Device().name(), base::num_threads(), taken[taken.size() / 2], of_cores[of_cores.size() / 2],
      memory_stats(Device()).peak_bytes >> 20);
  std::fflush(stdout);
}

void train(const std::string& name, void (*add)(nn::Sequential&), const Tensor& x, int times) {
  if (name.find(filter) == std::string::npos) return;
  nn::Sequential net;
  add(net);
  optim::Adam adam(net.parameters(), {.lr = 1e-3});
  const Tensor y = arange(x.size(0)) % 10;
  auto step = compile([&](const Tensor& images, const Tensor& labels) {
    Tensor loss = nn::cross_entropy(net(images), labels);
    loss.backward();
    adam.step();
    adam.zero_grad();
    return loss.detach();
  });
  measure(name, times, [&] { wait({step(x, y)}); });
}

// As people train them: bf16 on a GPU; f32 and small batches on a CPU, where a step takes seconds.
void train_large(const std::string& name, nn::Layer& net, optim::Optimizer& optimizer, const Tensor& x,
                 const Tensor& y) {
  const bool is_gpu = Device().name() != "cpu";
  auto step = compile([&](const Tensor& images, const Tensor& labels) {
    std::optional<Autocast> in_bf16;
    if (is_gpu) in_bf16.emplace(DType::bf16);
    Tensor loss = nn::cross_entropy(net(images), labels);
    loss.backward();
    optimizer.step();
    optimizer.zero_grad();
    return loss.detach();
  });
  measure(name, is_gpu ? 10 : 3, [&] { wait({step(x, y)}); });
}

bool is_wanted(const std::string& name) { return name.find(filter) != std::string::npos; }

void train_large_ones() {
  const bool is_gpu = Device().name() != "cpu";
  const int64_t batch = is_gpu ? 128 : 4;
  const std::string end = is_gpu ? ", bf16" : "";
  const std::string pictures = fmt::format(" step, batch {}, 3x224x224{}", batch, end);
  if (const std::string name = "resnet50" + pictures; is_wanted(name)) {
    models::ResNet net(models::ResNetConfig::resnet(50));
    optim::SGD sgd(net.parameters(), {.lr = 0.1, .momentum = 0.9, .weight_decay = 5e-5});
    train_large(name, net, sgd, randn({batch, 3, 224, 224}).eval(), arange(batch) % 1000);
  }
  if (const std::string name = "vit_b_16" + pictures; is_wanted(name)) {
    models::ViT net(models::ViTConfig::b_16());
    optim::AdamW adamw(net.parameters(), {.lr = 1e-4, .weight_decay = 0.05});
    train_large(name, net, adamw, randn({batch, 3, 224, 224}).eval(), arange(batch) % 1000);
  }
  const int64_t few = is_gpu ? 32 : 2, side = is_gpu ? 256 : 128;
  if (const std::string name = fmt::format("unet step, batch {}, 3x{}x{}{}", few, side, side, end); is_wanted(name)) {
    UNet net;
    optim::AdamW adamw(net.parameters(), {.lr = 1e-4, .weight_decay = 0.05});
    train_large(name, net, adamw, randn({few, 3, side, side}).eval(), randint(0, 2, {few, side, side}).eval());
  }
}

template <typename Net>
void recur(const std::string& name) {
  if (name.find(filter) == std::string::npos) return;
  Net net(128, 256, {.batch_first = true});
  Tensor x = randn({32, 64, 128}).eval();
  std::vector<Tensor> leaves = net.parameters();
  auto step = compile([&](const Tensor& given) {
    Tensor seen = given.detach().requires_grad_();
    std::vector<Tensor> all = leaves;
    all.push_back(seen);
    const Tensor sum = net(seen).y.sum();
    std::vector<Tensor> results = grad(std::vector<Tensor>{sum}, all);
    results.push_back(sum.detach());
    return results;
  });
  measure(name, 20, [&] { wait(step(x)); });
}

void run() {
  manual_seed(0);
  train("resnet20 step, batch 128, 3x32x32", add_resnet20, randn({128, 3, 32, 32}).eval(), 8);
  train("mnist cnn step, batch 128, 1x28x28 (469 make an epoch)", add_mnist, randn({128, 1, 28, 28}).eval(), 20);
  const Tensor x = randn({32, 64, 56, 56}).eval();
  nn::Conv2d conv(64, 64, 3, {.padding = 1});
  auto forward = compile([&](const Tensor& images) {
    const NoGrad inference;
    return conv(images);
  });
  measure("conv2d 32x64x56x56 3x3x64 forward", 10, [&] { wait({forward(x)}); });
  auto both = compile([&](const Tensor& images) {
    Tensor seen = images.detach().requires_grad_();
    const Tensor sum = conv(seen).sum();
    std::vector<Tensor> results = grad(std::vector<Tensor>{sum}, std::vector<Tensor>{seen, conv.weight, conv.bias});
    results.push_back(sum.detach());  // so that the forward pass counts
    return results;
  });
  measure("conv2d forward+backward", 10, [&] { wait(both(x)); });
  train_large_ones();
  recur<nn::LSTM>("LSTM 128->256, batch 32, T 64, forward+backward");
  recur<nn::GRU>("GRU 128->256, batch 32, T 64, forward+backward");
}

}  // namespace
}  // namespace tenon

int main(int argc, char** argv) {
  bool tf32 = true;
  for (const std::string argument : std::span(argv, static_cast<size_t>(argc)).subspan(1)) {
    if (argument == "--f32") {
      tf32 = false;
    } else {
      tenon::filter = argument;
    }
  }
  const tenon::AllowTf32 allowed(tf32);
  tenon::run();
}
