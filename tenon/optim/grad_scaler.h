// Dynamic loss scaling for f16: gradients too small for f16 are lifted by a factor that adapts itself.
//
//   optim::GradScaler scaler;
//   Tensor loss = model.loss(x, y);
//   scaler.scale(loss).backward();
//   optimizer.step(&scaler);
//
// To look at the gradients before the step, or to change them:
//
//   const Tensor finite = scaler.unscale(model.parameters());
//   optim::clip_grad_norm_(model.parameters(), 1.0);
//   optimizer.step(nullptr, finite);
//   scaler.update(finite);
//
// The factor is halved when a gradient is not finite, and that step changes nothing else; it is doubled after many good
// steps in a row. All of it happens on the device, so that a captured step needs no look at it.

#pragma once

#include <map>
#include <string>

#include "tenon/tensor/tensor.h"

namespace tenon::optim {

/// How the factor moves.
struct GradScalerOptions {
  double initial = 65536;            // the factor at first
  double growth = 2, backoff = 0.5;  // times which it rises, and falls
  int64_t interval = 2000;           // good steps before it grows
};

/// The factor, on the device.
class GradScaler {
 public:
  explicit GradScaler(const GradScalerOptions& options = {}, Device device = {});

  /// The loss times the factor; take its gradients.
  Tensor scale(const Tensor& loss) const;
  /// Divides the gradients of these parameters by the factor. Whether all are finite: a bool of shape (), true where
  /// there are none.
  Tensor unscale(const std::vector<Tensor>& parameters) const;
  /// After a step with such gradients: adapts the factor.
  void update(const Tensor& finite);
  /// The factor now; reads it from the device.
  double factor() const { return factor_.item<double>(); }
  /// Good steps since it changed; reads it from the device.
  int64_t good_steps() const { return good_steps_.item<int64_t>(); }

  /// The factor and the good steps, and back.
  std::map<std::string, Tensor> state_dict() const { return {{"scale", factor_}, {"good_steps", good_steps_}}; }
  void load_state_dict(const std::map<std::string, Tensor>& state);

  // For Optimizer::step.
  Tensor inverse() const;
  void update(const Tensor& finite, std::vector<Tensor>& written);

 private:
  GradScalerOptions options_;
  Tensor factor_, good_steps_;  // f32 and i32, ()
};

}  // namespace tenon::optim
