// The program of the README: a network that learns, its step captured.

#include <tenon/tenon.h>

#include <iostream>

using namespace tenon;

int main() {
  // 512 points in the plane; the label says which side of a parabola a point lies on.
  const Tensor points = randn({512, 2});
  const Tensor labels = gt(points.slice(1, 1, 2).squeeze(1), pow(points.slice(1, 0, 1).squeeze(1), 2)).to(DType::i64);

  nn::Sequential net;
  net.emplace<nn::Linear>(2, 32);
  net.emplace<nn::ReLU>();
  net.emplace<nn::Linear>(32, 2);
  optim::AdamW adam(net.parameters(), {.lr = 1e-2});

  // Recorded in its first calls, then replayed with microseconds of host time.
  auto step = compile([&](const Tensor& x, const Tensor& y) {
    Tensor loss = nn::cross_entropy(net(x), y);
    loss.backward();
    adam.step();
    adam.zero_grad();
    return loss.detach();
  });
  for (int i = 0; i <= 300; ++i) {
    const Tensor loss = step(points, labels);
    if (i % 100 == 0) std::cout << "step " << i << "  loss " << loss.item<float>() << "\n";
  }
  const Tensor right = eq(argmax(net(points), 1), labels).to(DType::f32).mean();
  std::cout << "right: " << right.item<float>() << "\n";
  return right.item<float>() > 0.95f ? 0 : 1;
}
