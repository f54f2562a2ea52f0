// Vision and recurrent work, captured: one JSON object a line, under the names of the PyTorch side that
// bench/compare_vision runs beside it.
//
// `cpu_ms` is the time of all cores together, which others on the machine disturb less.
//
// usage: vision_bench [FILTER]    (TENON_DEVICE names the device, TENON_THREADS sets the threads; only works whose name
//                                 holds FILTER are run)

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include "tenon/base/parallel.h"
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

class Bottleneck : public nn::Layer {
 public:
  Bottleneck(int64_t in, int64_t narrow, int64_t stride)
      : c1_(in, narrow, 1, {.bias = false}),
        c2_(narrow, narrow, 3, {.stride = stride, .padding = 1, .bias = false}),
        c3_(narrow, 4 * narrow, 1, {.bias = false}),
        b1_(narrow),
        b2_(narrow),
        b3_(4 * narrow) {
    register_module("c1", c1_);
    register_module("b1", b1_);
    register_module("c2", c2_);
    register_module("b2", b2_);
    register_module("c3", c3_);
    register_module("b3", b3_);
    register_module("down", down_);
    if (stride == 1 && in == 4 * narrow) return;
    down_.emplace<nn::Conv2d>(in, 4 * narrow, 1, nn::Conv2dOptions{.stride = stride, .bias = false});
    down_.emplace<nn::BatchNorm2d>(4 * narrow);
  }
  Tensor forward(const Tensor& x) const override {
    const Tensor straight = down_.size() > 0 ? down_(x) : x;
    return relu(b3_(c3_(relu(b2_(c2_(relu(b1_(c1_(x)))))))) + straight);
  }

 private:
  nn::Conv2d c1_, c2_, c3_;
  nn::BatchNorm2d b1_, b2_, b3_;
  nn::Sequential down_;
};

void add_resnet50(nn::Sequential& net) {
  net.emplace<nn::Conv2d>(3, 64, 7, nn::Conv2dOptions{.stride = 2, .padding = 3, .bias = false});
  net.emplace<nn::BatchNorm2d>(64);
  net.emplace<nn::ReLU>();
  net.emplace<nn::MaxPool2d>(3, nn::MaxPool2dOptions{.stride = 2, .padding = 1});
  int64_t in = 64;
  for (const auto& [narrow, blocks] : {std::pair{64, 3}, {128, 4}, {256, 6}, {512, 3}}) {
    for (int k = 0; k < blocks; ++k, in = 4 * narrow)
      net.emplace<Bottleneck>(in, narrow, k == 0 && narrow > 64 ? 2 : 1);
  }
  net.emplace<nn::AdaptiveAvgPool2d>(1);
  net.emplace<nn::Flatten>();
  net.emplace<nn::Linear>(2048, 1000);
}

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
  fmt::print("{{\"work\": \"{}\", \"device\": \"{}\", \"threads\": {}, \"ms\": {:.4f}, \"cpu_ms\": {:.4f}}}\n", name,
             Device().name(), base::num_threads(), taken[taken.size() / 2], of_cores[of_cores.size() / 2]);
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

// As people train it: bf16, momentum. On a GPU; a CPU would take minutes for a step.
void train_resnet50(const std::string& name, int64_t batch) {
  if (name.find(filter) == std::string::npos || Device().name() == "cpu") return;
  nn::Sequential net;
  add_resnet50(net);
  optim::SGD sgd(net.parameters(), {.lr = 0.1, .momentum = 0.9, .weight_decay = 5e-5});
  const Tensor x = randn({batch, 3, 224, 224}).eval(), y = arange(batch) % 1000;
  auto step = compile([&](const Tensor& images, const Tensor& labels) {
    const Autocast in_bf16(DType::bf16);
    Tensor loss = nn::cross_entropy(net(images), labels);
    loss.backward();
    sgd.step();
    sgd.zero_grad();
    return loss.detach();
  });
  measure(name, 10, [&] { wait({step(x, y)}); });
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
  train_resnet50("resnet50 step, batch 128, 3x224x224, bf16", 128);
  recur<nn::LSTM>("LSTM 128->256, batch 32, T 64, forward+backward");
  recur<nn::GRU>("GRU 128->256, batch 32, T 64, forward+backward");
}

}  // namespace
}  // namespace tenon

int main(int argc, char** argv) {
  if (argc > 1) tenon::filter = argv[1];
  tenon::run();
}
