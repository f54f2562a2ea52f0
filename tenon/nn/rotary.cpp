// Angles are computed on the host in double precision: position 100000 times a frequency keeps few digits in f32, and
// not every device has f64.

#include "tenon/nn/rotary.h"

#include <cmath>

#include "tenon/nn/functional.h"
#include "tenon/tensor/record.h"
#include "tenon/tensor/stats.h"

namespace tenon::nn {

RotaryEmbedding::RotaryEmbedding(int64_t width, int64_t max_positions, double theta, RotaryLayout layout, Device device)
    : layout_(layout) {
  if (width <= 0 || width % 2 != 0) base::fail("rotary", "the width must be positive and even, got {}", width);
  if (max_positions <= 0) base::fail("rotary", "the number of positions must be positive, got {}", max_positions);
  if (!(theta > 0)) base::fail("rotary", "theta must be positive, got {}", theta);
  const int64_t pairs = width / 2;
  ir::require_shape("rotary", {max_positions, pairs});
  const uint64_t bytes =
      4 * sizeof(float) * static_cast<uint64_t>(max_positions * pairs);  // on the host and the device
  if (const auto available = available_memory(device); available && bytes > *available) {
    base::fail("rotary", "tables of {} positions and {} angles take {} bytes; {} are available", max_positions, pairs,
               bytes, *available);
  }
  std::vector<float> cosines, sines;
  for (int64_t position = 0; position < max_positions; ++position) {
    for (int64_t i = 0; i < pairs; ++i) {
      const double turn = std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(width));
      cosines.push_back(static_cast<float>(std::cos(static_cast<double>(position) * turn)));
      sines.push_back(static_cast<float>(std::sin(static_cast<double>(position) * turn)));
    }
  }
  cos = from_vector(cosines, {max_positions, pairs}, Options(device));
  sin = from_vector(sines, {max_positions, pairs}, Options(device));
  register_buffer("cos", cos, false);
  register_buffer("sin", sin, false);
}

void RotaryEmbedding::require_input(const Tensor& x) const {
  record::require_float("rotary", x);
  if (x.dim() < 2 || x.size(-1) != 2 * cos.size(1))
    base::fail("rotary", "takes (..., time, {}), got shape {}", 2 * cos.size(1), ir::to_string(x.shape()));
}

Tensor RotaryEmbedding::apply(const Tensor& x, int64_t offset) const {
  require_input(x);
  const int64_t rows = x.size(-2);
  if (offset < 0 || offset + rows > cos.size(0)) {
    base::fail("rotary", "positions {} to {} are out of range for a table of {}", offset, offset + rows - 1,
               cos.size(0));
  }
  return turned(x, cos.narrow(0, offset, rows), sin.narrow(0, offset, rows));
}

Tensor RotaryEmbedding::apply(const Tensor& x, const Tensor& positions) const {
  require_input(x);
  const bool per_sequence = x.dim() == 4 && positions.shape() == Dims{x.size(0), x.size(2)};
  if (per_sequence) {
    return turned(x, embedding(cos, positions).unsqueeze(1), embedding(sin, positions).unsqueeze(1));
  }
  if (positions.shape() != Dims{x.size(-2)}) {
    base::fail("rotary", "positions of shape {} do not fit {}: one per row is needed", ir::to_string(positions.shape()),
               ir::to_string(x.shape()));
  }
  return turned(x, embedding(cos, positions), embedding(sin, positions));
}

Tensor RotaryEmbedding::turned(const Tensor& x, const Tensor& cosine, const Tensor& sine) const {
  return record::in_wide(x, [&](const Tensor& wide) {
    const Tensor c = cosine.to(wide.dtype()), s = sine.to(wide.dtype());
    if (layout_ == RotaryLayout::halves) {
      const std::vector<Tensor> half = wide.chunk(2, -1);
      return cat({half[0] * c - half[1] * s, half[1] * c + half[0] * s}, -1);
    }
    Dims paired = wide.shape();
    paired.back() /= 2;
    paired.push_back(2);
    const Tensor pairs = wide.reshape(paired), first = pairs.select(-1, 0), second = pairs.select(-1, 1);
    return stack({first * c - second * s, second * c + first * s}, -1).reshape(wide.shape());
  });
}

}  // namespace tenon::nn
