#include "tenon/rl/saved.h"

#include "tenon/tensor/autograd.h"
#include "tenon/tensor/ops.h"

namespace tenon::rl {

std::string first_not_finite(const NamedTensors& state) {
  const NoGrad reading;
  for (const auto& [name, tensor] : state) {
    if (is_float(tensor.dtype()) && tensor.numel() > 0 && !isfinite(tensor).all().item<bool>()) return name;
  }
  return "";
}

void require_finite(const NamedTensors& state) {
  if (const std::string name = first_not_finite(state); !name.empty())
    base::fail("2048", "{} of the saved state holds numbers that are not finite", name);
}

}  // namespace tenon::rl
