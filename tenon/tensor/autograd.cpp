// Gradient mode, grad() and custom functions.

#include "tenon/tensor/autograd.h"

#include "tenon/grad/grad.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/record.h"
#include "tenon/tensor/tensor_impl.h"

namespace tenon {
namespace {

bool& mode() {
  thread_local bool enabled = true;
  return enabled;
}

}  // namespace

NoGrad::NoGrad() : before_(std::exchange(mode(), false)) {}
NoGrad::~NoGrad() { mode() = before_; }
EnableGrad::EnableGrad() : before_(std::exchange(mode(), true)) {}
EnableGrad::~EnableGrad() { mode() = before_; }
bool grad_enabled() { return mode(); }

std::vector<Tensor> grad(std::span<const Tensor> outputs, std::span<const Tensor> inputs, const GradOptions& options) {
  if (!options.grad_outputs.empty() && options.grad_outputs.size() != outputs.size()) {
    base::fail("grad", "{} gradients given for {} outputs", options.grad_outputs.size(), outputs.size());
  }
  std::vector<ir::Value> roots, seeds, leaves;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Tensor seed = options.grad_outputs.empty() ? Tensor() : options.grad_outputs[i];
    if (impl_of(outputs[i])->history_released) {
      base::fail("grad", "the graph of output {} was used up by an earlier backward(); pass retain_graph to keep it",
                 i);
    }
    if (!value_of(outputs[i]).needs_grad())
      base::fail("grad", "output {} does not depend on any tensor that requires grad", i);
    if (!seed.defined() && outputs[i].numel() != 1) {
      base::fail("grad", "output {} of shape {} is not a single number: pass its gradient", i,
                 ir::to_string(outputs[i].shape()));
    }
    if (seed.defined() && seed.shape() != outputs[i].shape()) {
      base::fail("grad", "a gradient of shape {} does not fit output {} of {}", ir::to_string(seed.shape()), i,
                 ir::to_string(outputs[i].shape()));
    }
    if (seed.defined() && seed.device() != outputs[i].device()) {
      base::fail("grad", "a gradient on {} does not fit output {} on {}; move it with to()", seed.device().name(), i,
                 outputs[i].device().name());
    }
    roots.push_back(value_of(outputs[i]));
    seeds.push_back(seed.defined() ? ir::cast(record::in(seed), outputs[i].dtype()) : ir::full_like(roots.back(), 1));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!value_of(inputs[i]).needs_grad()) base::fail("grad", "input {} does not require grad", i);
    leaves.push_back(value_of(inputs[i]));
  }
  std::vector<Tensor> results;
  for (const ir::Value& gradient : autodiff::gradients(roots, seeds, leaves)) {
    if (!gradient && !options.allow_unused) {
      base::fail("grad", "input {} plays no part in the outputs; set allow_unused to get an undefined tensor",
                 results.size());
    }
    results.push_back(gradient ? tensor_of(options.create_graph ? gradient : ir::detach(gradient)) : Tensor());
  }
  return results;
}

Tensor grad(const Tensor& output, const Tensor& input, bool create_graph) {
  GradOptions options;
  options.create_graph = create_graph;
  return grad(std::span(&output, 1), std::span(&input, 1), options)[0];
}

std::vector<Tensor> apply(const CustomFunction& function, std::span<const Tensor> inputs) {
  std::vector<Tensor> results;
  {
    NoGrad forward_only;
    results = function.forward(inputs);
  }
  if (results.empty()) base::fail(function.name, "forward() returned no tensor");
  ir::Operands operands;
  for (const Tensor& result : results) operands.push_back(value_of(result));
  for (const Tensor& input : inputs) operands.push_back(record::in(input));
  auto rule = std::make_shared<ir::CustomRule>();
  rule->name = function.name;
  rule->backward = [backward = function.backward, name = function.name](std::span<const ir::Value> operands_in,
                                                                        std::span<const ir::Value> grads) {
    EnableGrad differentiable;  // so that second derivatives go through the rule
    std::vector<Tensor> xs, gs;
    for (const ir::Value& value : operands_in) xs.push_back(tensor_of(value));
    for (const ir::Value& value : grads) gs.push_back(value ? tensor_of(value) : Tensor());
    const std::vector<Tensor> made = backward(xs, gs);
    if (made.size() != xs.size())
      base::fail(name, "backward() returned {} gradients for {} inputs", made.size(), xs.size());
    std::vector<ir::Value> values;
    for (size_t i = 0; i < made.size(); ++i) {
      if (made[i].defined() && made[i].shape() != xs[i].shape()) {
        base::fail(name, "backward() returned a gradient of shape {} for input {} of {}",
                   ir::to_string(made[i].shape()), i, ir::to_string(xs[i].shape()));
      }
      values.push_back(made[i].defined() ? ir::cast(value_of(made[i]), xs[i].dtype()) : ir::Value());
    }
    return values;
  };
  const ir::NodeRef node = ir::Node::make(ir::Op::custom, operands, ir::CustomAttrs{rule, results.size()});
  for (uint32_t i = 0; i < results.size(); ++i) results[i] = tensor_of(ir::Value{node, i});
  return results;
}

Tensor apply(const CustomFunction& function, const Tensor& input) {
  std::vector<Tensor> results = apply(function, std::span(&input, 1));
  if (results.size() != 1)
    base::fail(function.name, "forward() returned {} tensors; give it its inputs as a vector", results.size());
  return std::move(results[0]);
}

}  // namespace tenon
