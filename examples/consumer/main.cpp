// The smallest program that uses an installed Tenon: one gradient, checked.
//
// d/dx sum(x * x) = 2x. It returns non-zero when the value or the gradient is wrong, so building and running it proves
// that headers, library and package files were installed right.

#include <tenon/tenon.h>

#include <cstdio>
#include <vector>

int main() {
  tenon::Tensor x = tenon::tensor({1.0f, 2.0f, 3.0f});
  x.requires_grad_();
  tenon::Tensor y = (x * x).sum();
  y.backward();

  const float value = y.item<float>();
  const std::vector<float> grad = x.grad().to_vector<float>();

  std::printf("y = %g\ngrad =", value);
  for (float g : grad) std::printf(" %g", g);
  std::printf("\n");
  return value == 14.0f && grad == std::vector<float>{2.0f, 4.0f, 6.0f} ? 0 : 1;
}
