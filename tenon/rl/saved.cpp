#include "tenon/rl/saved.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tenon/tensor/autograd.h"
#include "tenon/tensor/ops.h"

namespace tenon::rl {

namespace {

// Where numbers can be looked at as they lie, a loop takes less than making a kernel does.
bool is_finite(const Tensor& tensor) {
  if (!is_float(tensor.dtype()) || tensor.numel() == 0) return true;
  const NoGrad reading;
  if (tensor.device() != Device("cpu") || tensor.dtype() != DType::f32) return isfinite(tensor).all().item<bool>();
  const Tensor row = tensor.contiguous();
  const float* numbers = row.data_ptr<float>();
  constexpr int64_t kAtOnce = 4096;
  for (int64_t begin = 0; begin < row.numel(); begin += kAtOnce) {
    const int64_t end = std::min(row.numel(), begin + kAtOnce);
    bool all = true;
    for (int64_t i = begin; i < end; ++i) all &= std::abs(numbers[i]) <= std::numeric_limits<float>::max();
    if (!all) return false;
  }
  return true;
}

}  // namespace

std::string first_not_finite(const NamedTensors& state) {
  for (const auto& [name, tensor] : state) {
    if (!is_finite(tensor)) return name;
  }
  return "";
}

void require_finite(const NamedTensors& state) {
  if (const std::string name = first_not_finite(state); !name.empty())
    base::fail("2048", "{} of the saved state holds numbers that are not finite", name);
}

void require_moments(const NamedTensors& optimizer) {
  const NoGrad reading;
  for (const auto& [name, tensor] : optimizer) {
    if ((name == "step" || name.ends_with("exp_avg_sq")) && tensor.numel() > 0 && (tensor < 0).any().item<bool>())
      base::fail("2048", "{} of the saved optimizer holds numbers below 0", name);
  }
}

}  // namespace tenon::rl
