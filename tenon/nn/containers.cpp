// The chain of layers.

#include "tenon/nn/containers.h"

namespace tenon::nn {

Layer& Sequential::push_back(std::unique_ptr<Layer> layer) {
  if (!layer) base::fail("sequential", "there is no layer to add");
  register_module(std::to_string(layers_.size()), *layer);
  layers_.push_back(std::move(layer));
  return *layers_.back();
}

Tensor Sequential::forward(const Tensor& x) const {
  Tensor y = x;
  for (const auto& layer : layers_) y = (*layer)(y);
  return y;
}

Layer& Sequential::operator[](size_t i) const {
  if (i >= layers_.size()) base::fail("sequential", "there is no layer {} in a chain of {}", i, layers_.size());
  return *layers_[i];
}

}  // namespace tenon::nn
