// The factor and its count are two numbers of state, updated in the graph.

#include "tenon/optim/grad_scaler.h"

#include "tenon/tensor/autograd.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/ops.h"
#include "tenon/tensor/trace.h"

namespace tenon::optim {

GradScaler::GradScaler(const GradScalerOptions& options, Device device) : options_(options) {
  if (!(options.initial > 0)) base::fail("grad_scaler", "the factor must be positive, got {}", options.initial);
  if (!(options.growth >= 1)) base::fail("grad_scaler", "growth must be at least 1, got {}", options.growth);
  if (!(options.backoff > 0 && options.backoff < 1))
    base::fail("grad_scaler", "backoff must lie between 0 and 1, got {}", options.backoff);
  if (options.interval < 1) base::fail("grad_scaler", "the interval must be at least 1, got {}", options.interval);
  factor_ = full({}, options.initial, Options(DType::f32, device)).clone().eval();
  good_steps_ = zeros({}, Options(DType::i32, device)).clone().eval();
}

Tensor GradScaler::scale(const Tensor& loss) const { return loss * factor_.detach(); }

Tensor GradScaler::inverse() const { return 1.0 / factor_; }

Tensor GradScaler::unscale(const std::vector<Tensor>& parameters) const {
  const base::PassScope pass(base::Pass::optimizer);
  const NoGrad writing;
  std::vector<Tensor> written;
  Tensor finite = full({}, true, Options(DType::boolean, factor_.device()));
  for (Tensor p : parameters) {
    const Tensor gradient = p.grad();
    if (!gradient.defined()) continue;
    const Tensor good = all(isfinite(gradient));
    finite = written.empty() ? good : logical_and(finite, good);
    p.set_grad((gradient * inverse()).to(gradient.dtype()));
    written.push_back(p.grad());
  }
  written.push_back(finite);
  // At once, so that what is computed from them later does not go through the whole backward pass again.
  if (!Trace::current()) tenon::eval(written);
  return finite;
}

void GradScaler::update(const Tensor& finite) {
  const NoGrad writing;
  std::vector<Tensor> written;
  update(finite, written);
  if (!Trace::current()) tenon::eval(written);
}

void GradScaler::update(const Tensor& finite, std::vector<Tensor>& written) {
  const base::PassScope pass(base::Pass::optimizer);
  const Tensor good = where(finite, good_steps_ + 1, zeros_like(good_steps_));
  const Tensor grows = good >= options_.interval;
  const Tensor factor = where(finite, where(grows, factor_ * options_.growth, factor_), factor_ * options_.backoff);
  good_steps_.copy_(where(grows, zeros_like(good), good));
  factor_.copy_(factor);
  written.push_back(factor_);
  written.push_back(good_steps_);
}

void GradScaler::load_state_dict(const std::map<std::string, Tensor>& state) {
  const NoGrad writing;
  for (const char* name : {"scale", "good_steps"}) {
    if (!state.contains(name)) base::fail("load_state_dict", "the scaler's state lacks {}", name);
  }
  factor_.copy_(state.at("scale").to(DType::f32));
  good_steps_.copy_(state.at("good_steps").to(DType::i32));
  eval({factor_, good_steps_});
}

}  // namespace tenon::optim
