// A task of one's own: a network learns to draw a curve, as a run with checkpoints, metrics, samples and a report.
//
// usage: example_own_task [--quick]    (stopped with Ctrl-C, it goes on where it was when it is started again)

#include <tenon/tenon.h>

#include <cstdio>
#include <cstring>
#include <filesystem>

using namespace tenon;

namespace {

// Points of y = sin(5 x) with noise; x lies between -1 and 1.
data::TensorDataset points(int64_t count, uint64_t seed) {
  Generator generator(seed);
  const Tensor x = rand({count, 1}, {}, &generator) * 2 - 1;
  return {{"x", x}, {"y", sin(x * 5) + randn({count, 1}, {}, &generator) * 0.05}};
}

class Curve : public train::Task {
 public:
  explicit Curve(const train::Config& config)
      : points_(points(4096, 1)),
        held_back_(points(512, 2)),
        loader_(points_, {.batch_size = config.training.batch_size,
                          .shuffle = true,
                          .seed = static_cast<uint64_t>(config.data.seed),
                          .last = data::LastBatch::kDrop,
                          .device = Device(config.device.name)}) {
    net_.emplace<nn::Linear>(1, 64);
    net_.emplace<nn::Tanh>();
    net_.emplace<nn::Linear>(64, 64);
    net_.emplace<nn::Tanh>();
    net_.emplace<nn::Linear>(64, 1);
    net_.to(Device(config.device.name));
  }

  train::TaskFacts facts() const override {
    return {.data = "a curve of 4096 points", .unit = "points", .items = points_.size()};
  }
  nn::Module& model() override { return net_; }

  std::vector<Tensor> next_batch() override {
    const auto [x, y] = loader_.next().unpack<2>();
    return {x, y};
  }
  std::string position() const override { return data::to_json(loader_.state()); }
  void go_to(const std::string& position) override { loader_.restore(data::data_loader_state_from_json(position)); }

  Tensor loss(std::span<const Tensor> batch) override { return nn::mse_loss(net_(batch[0]), batch[1]); }

  std::optional<train::Evaluated> evaluate() override {
    const NoGrad reading;
    const Tensor x = held_back_.tensors()["x"], y = held_back_.tensors()["y"];
    const Tensor error = net_(x.to(device())).to(y.device()) - y;
    return train::Evaluated{.loss = (error * error).mean().item<double>(),
                            .items = held_back_.size(),
                            .metrics = {{"largest_error", abs(error).amax({}).item<double>()}}};
  }

  // The curve as a picture: black where the network draws it.
  train::TaskSample sample() override {
    constexpr int64_t kHeight = 96, kWidth = 160;
    const NoGrad reading;
    const Tensor drawn = net_(linspace(-1, 1, kWidth).reshape({kWidth, 1}).to(device())).reshape({1, kWidth});
    const Tensor distance = abs(linspace(1.5, -1.5, kHeight).reshape({kHeight, 1}).to(device()) - drawn);
    return {.text = "what the network draws", .picture = clamp(distance * 20 - 0.5, 0, 1)};
  }

 private:
  Device device() const { return net_.parameters()[0].device(); }

  data::TensorDataset points_, held_back_;
  data::DataLoader loader_;
  nn::Sequential net_;
};

}  // namespace

int main(int argc, char** argv) try {
  const bool quick = argc == 2 && std::strcmp(argv[1], "--quick") == 0;
  if (argc > 1 && !quick) return std::fprintf(stderr, "usage: example_own_task [--quick]\n"), 2;
  train::Config config;
  config.model.architecture = "custom";
  config.training.steps = quick ? 300 : 3000;
  config.training.batch_size = 128;
  config.training.eval_every = config.sample.every = config.checkpoint.every = config.training.steps / 3;
  config.optimizer.lr = 0.005;

  const std::filesystem::path folder = quick ? "runs/quick_curve" : "runs/curve";
  if (quick) std::filesystem::remove_all(folder);
  const train::TrainResult result = train::train(
      config, {.folder = folder, .resume = std::filesystem::exists(folder), .task = [](const train::Config& c) {
                 return std::make_unique<Curve>(c);
               }});
  std::printf("validation loss %.4f; see %s\n", *result.validation_loss, result.report.c_str());
  return *result.validation_loss < (quick ? 0.05 : 0.01) ? 0 : 1;
} catch (const Error& error) {
  return std::fprintf(stderr, "%s\n", error.what()), 1;
}
