// Trains a small network to tell two spirals apart, as plain tensor code, and draws its decision boundary.
//
// Everything a training program does is here: data, parameters, a loss, gradients, an optimizer (AdamW, written out).

#include <tenon/tenon.h>

#include <cmath>
#include <cstdio>
#include <numbers>

#include "arguments.h"

using namespace tenon;

namespace {

struct Data {
  Tensor points;  // (n, 2)
  Tensor labels;  // (n, 1), 0 or 1
};

// Two arms that turn around each other once and a half.
Data two_spirals(int64_t per_arm) {
  const Tensor t = linspace(0.25, 1.0, per_arm);
  const Tensor angle = t * (3 * std::numbers::pi);
  const Tensor arm = stack({t * cos(angle), t * sin(angle)}, 1) + randn({per_arm, 2}) * 0.015;
  return {cat({arm, -arm}), cat({zeros({per_arm, 1}), ones({per_arm, 1})})};
}

class Network {
 public:
  explicit Network(int64_t width) {
    layers_.push_back(make(2, width));
    layers_.push_back(make(width, width));
    layers_.push_back(make(width, 1));
  }

  Tensor operator()(Tensor x) const {
    for (size_t i = 0; i < layers_.size(); ++i) {
      x = nn::linear(x, layers_[i].weight, layers_[i].bias);
      if (i + 1 < layers_.size()) x = tanh(x);
    }
    return x;
  }

  std::vector<Tensor*> parameters() {
    std::vector<Tensor*> all;
    for (Layer& layer : layers_) {
      all.push_back(&layer.weight);
      all.push_back(&layer.bias);
    }
    return all;
  }

 private:
  struct Layer {
    Tensor weight, bias;
  };

  static Layer make(int64_t in, int64_t out) {
    const double spread = 1.6 / std::sqrt(static_cast<double>(in));
    return {(randn({out, in}) * spread).requires_grad_(), zeros({out}).requires_grad_()};
  }

  std::vector<Layer> layers_;
};

// AdamW over a list of parameters.
class Adam {
 public:
  Adam(std::vector<Tensor*> parameters, double lr) : parameters_(std::move(parameters)), lr_(lr) {
    for (Tensor* p : parameters_) moments_.push_back({zeros_like(*p), zeros_like(*p)});
  }

  void step() {
    NoGrad updating;
    ++steps_;
    const double correct1 = 1 - std::pow(0.9, steps_), correct2 = 1 - std::pow(0.99, steps_);
    for (size_t i = 0; i < parameters_.size(); ++i) {
      Tensor& p = *parameters_[i];
      auto& [mean, square] = moments_[i];
      const Tensor g = p.grad();
      mean = mean * 0.9 + g * 0.1;
      square = square * 0.99 + g * g * 0.01;
      p.copy_(p * (1 - lr_ * 1e-4) - (mean / correct1) / (sqrt(square / correct2) + 1e-8) * lr_);
      p.zero_grad();
    }
    evaluate();
  }

 private:
  // All updates of a step in one plan: what they share, the forward and backward pass, runs once.
  void evaluate() const {
    std::vector<Tensor> all;
    for (size_t i = 0; i < parameters_.size(); ++i) {
      all.insert(all.end(), {*parameters_[i], moments_[i].mean, moments_[i].square});
    }
    eval(all);
  }

  struct Moments {
    Tensor mean, square;
  };
  std::vector<Tensor*> parameters_;
  std::vector<Moments> moments_;
  double lr_;
  int steps_ = 0;
};

double accuracy(const Network& network, const Data& data) {
  NoGrad reading;
  const Tensor right = (network(data.points) > 0) == (data.labels > 0.5);
  return right.to(DType::f32).mean().item<double>();
}

// The plane as the network sees it, with the data on top.
void draw(const Network& network, const Data& data) {
  constexpr int64_t kRows = 24, kColumns = 64;
  constexpr float kReach = 1.15f;
  NoGrad reading;
  const Tensor x = linspace(-kReach, kReach, kColumns).reshape({1, kColumns}).expand({kRows, kColumns});
  const Tensor y = linspace(kReach, -kReach, kRows).reshape({kRows, 1}).expand({kRows, kColumns});
  const std::vector<float> p = sigmoid(network(stack({x, y}, -1).reshape({-1, 2}))).to_vector<float>();
  std::vector<std::string> screen(kRows, std::string(kColumns, ' '));
  for (int64_t r = 0; r < kRows; ++r) {
    for (int64_t c = 0; c < kColumns; ++c) {
      const float q = p[static_cast<size_t>(r * kColumns + c)];
      screen[static_cast<size_t>(r)][static_cast<size_t>(c)] = q < 0.25f ? ' ' : q < 0.5f ? '.' : q < 0.75f ? '-' : '=';
    }
  }
  const std::vector<float> points = data.points.to_vector<float>(), labels = data.labels.to_vector<float>();
  for (size_t i = 0; i < labels.size(); i += 2) {
    const auto c = static_cast<int64_t>((points[2 * i] / kReach + 1) / 2 * (kColumns - 1) + 0.5f);
    const auto r = static_cast<int64_t>((1 - points[2 * i + 1] / kReach) / 2 * (kRows - 1) + 0.5f);
    if (r >= 0 && r < kRows && c >= 0 && c < kColumns)
      screen[static_cast<size_t>(r)][static_cast<size_t>(c)] = labels[i] > 0.5f ? '#' : 'o';
  }
  std::printf("\n  decision boundary ('=' and '#': one arm, blank and 'o': the other)\n");
  for (const std::string& line : screen) std::printf("  %s\n", line.c_str());
}

int run(const example::Arguments& given) {
  const bool quick = given.quick;
  const int steps = quick ? 30 : 400;
  manual_seed(1);
  const Data data = two_spirals(120);
  Network network(24);
  Adam optimizer(network.parameters(), 0.02);

  std::printf("Tenon: two spirals, a 2-24-24-1 network, %d steps on device %s\n\n", steps, Device().name().c_str());
  double first = 0, last = 0;
  for (int step = 1; step <= steps; ++step) {
    Tensor loss = nn::binary_cross_entropy_with_logits(network(data.points), data.labels);
    loss.backward();
    optimizer.step();
    last = loss.item<double>();
    if (step == 1) first = last;
    if (step == 1 || step % (steps / 10) == 0) {
      const int filled = 30 * step / steps;
      std::printf("  step %4d/%d [%s%s] loss %.4f\n", step, steps,
                  std::string(static_cast<size_t>(filled), '#').c_str(),
                  std::string(static_cast<size_t>(30 - filled), '.').c_str(), last);
    }
  }
  draw(network, data);
  const double share = accuracy(network, data);
  std::printf("\n  loss %.4f -> %.4f, %.1f%% of the points are on their side\n", first, last, 100 * share);
  const bool learned = quick ? last < first : share > 0.97;
  if (!learned) std::printf("  the network did not learn what it should\n");
  return learned ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return example::run(argc, argv, "[--quick]", run); }
