// Tells handwritten digits or clothes apart: MNIST or Fashion-MNIST, a convolutional network, and a picture of what it
// still gets wrong.
//
// usage: example_image_cnn [FOLDER | --quick]    (FOLDER holds the four files of MNIST or Fashion-MNIST; without one,
//        Debian's package dataset-fashion-mnist is read; --quick: a few made-up images)

#include <fmt/format.h>
#include <tenon/tenon.h>

#include <chrono>
#include <string>

#include "arguments.h"

using namespace tenon;

namespace {

// Bars that lean by their class, in noise: something to learn where there are no files.
data::TensorDataset made_up(int64_t count) {
  const Tensor labels = arange(count) % 10, angle = labels.to(DType::f32).reshape({count, 1, 1}) * 0.314;
  const Tensor x = arange(28).to(DType::f32) - 13.5, y = x.reshape({28, 1});
  const Tensor distance = x * cos(angle) + y * sin(angle) + randn({count, 1, 1});
  const Tensor bars = exp(distance * distance * -0.1) * 200 + rand({count, 28, 28}) * 55;
  return {{"image", bars.to(DType::u8).unsqueeze(1)}, {"label", labels}};
}

// A folder may hold either of the two, which have the same files.
data::TensorDataset images_in(const std::string& folder, bool train) {
  return folder.empty() ? data::fashion_mnist({}, train) : data::mnist(folder, train);
}

void add_layers(nn::Sequential& net) {
  for (const auto& [in, out] : {std::pair(1, 32), std::pair(32, 64)}) {
    net.emplace<nn::Conv2d>(in, out, 3, nn::Conv2dOptions{.padding = 1, .bias = false});
    net.emplace<nn::BatchNorm2d>(out);
    net.emplace<nn::ReLU>();
    net.emplace<nn::MaxPool2d>(2);
  }
  net.emplace<nn::Flatten>();
  net.emplace<nn::Linear>(64 * 7 * 7, 128);
  net.emplace<nn::ReLU>();
  net.emplace<nn::Dropout>(0.25);
  net.emplace<nn::Linear>(128, 10);
}

// Bytes to about -0.5 ... 2.5.
Tensor scaled(const Tensor& images) { return (images.to(DType::f32) - 50.0) / 80.0; }

int run(const example::Arguments& given) {
  const bool quick = given.quick;
  const int64_t epochs = quick ? 2 : 5;
  manual_seed(1);
  const data::TensorDataset train_set = quick ? made_up(384) : images_in(given.path, true);
  const data::TensorDataset test_set = quick ? made_up(128) : images_in(given.path, false);
  data::DataLoader train(
      train_set, {.batch_size = 64, .shuffle = true, .workers = 1, .last = data::LastBatch::kDrop, .device = Device()});
  data::DataLoader test(test_set, {.batch_size = 128, .device = Device()});

  nn::Sequential net;
  add_layers(net);
  fmt::print("{}\n", net.summary());
  optim::AdamW optimizer(net.parameters(), {.lr = 2e-3, .weight_decay = 0.01});
  optim::Scheduler schedule(optimizer, optim::one_cycle(epochs * train.size()));

  // Recorded in its first calls, replayed from then on.
  auto step = compile([&](const Tensor& images, const Tensor& labels) {
    Tensor loss = nn::cross_entropy(net(scaled(images)), labels);
    loss.backward();
    optimizer.step();
    optimizer.zero_grad();
    return loss.detach();
  });
  auto classify = compile([&](const Tensor& images) {
    const NoGrad reading;
    return net(scaled(images)).argmax(1);
  });

  double accuracy = 0;
  std::vector<Tensor> mistakes;
  for (int64_t epoch = 0; epoch < epochs; ++epoch) {
    const auto start = std::chrono::steady_clock::now();
    net.train();
    Tensor loss;
    for (const data::Sample& batch : train) {
      loss = step(batch["image"], batch["label"]);
      schedule.step();
    }
    const double last_loss = loss.item<double>();  // waits for the epoch
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;

    net.eval();
    int64_t right = 0;
    mistakes.clear();
    for (const data::Sample& batch : test) {
      const std::vector<int64_t> told = classify(batch["image"]).to_vector<int64_t>();
      const std::vector<int64_t> wanted = batch["label"].to_vector<int64_t>();
      for (size_t i = 0; i < told.size(); ++i) {
        right += told[i] == wanted[i];
        if (told[i] != wanted[i] && mistakes.size() < 64) mistakes.push_back(batch["image"][static_cast<int64_t>(i)]);
      }
    }
    accuracy = static_cast<double>(right) / static_cast<double>(test_set.size());
    fmt::print("epoch {}: {:.1f} s, loss {:.4f}, {:.2f} % of {} test images right\n", epoch + 1, seconds.count(),
               last_loss, 100 * accuracy, test_set.size());
  }
  if (!mistakes.empty()) {
    data::save_image("mistakes.png", stack(mistakes));
    fmt::print("mistakes.png shows images that it takes for something else\n");
  }
  return accuracy > 0.9 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return example::run(argc, argv, "[FOLDER | --quick]", run); }
