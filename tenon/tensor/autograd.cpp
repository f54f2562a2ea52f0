// Gradient mode, grad() and custom functions.

#include "tenon/tensor/autograd.h"

#include <algorithm>
#include <cmath>

#include "tenon/grad/grad.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/hooks.h"
#include "tenon/tensor/record.h"
#include "tenon/tensor/settle.h"
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
    if (impl_of(outputs[i])->retained) note_retained(*impl_of(outputs[i]), roots.back());
    seeds.push_back(seed.defined() ? ir::cast(record::in(seed), outputs[i].dtype()) : ir::full_like(roots.back(), 1));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!value_of(inputs[i]).needs_grad()) base::fail("grad", "input {} does not require grad", i);
    TensorImpl& input = *impl_of(inputs[i]);
    leaves.push_back(with_all_uses(value_of(inputs[i])));
    if (input.retained) note_retained(input, value_of(inputs[i]));
  }
  std::vector<Tensor> results;
  for (ir::Value gradient : gradients_and_retained(roots, seeds, leaves, options.create_graph)) {
    const auto leaf = leaf_of(leaves[results.size()]);
    if (leaf && leaf->hooks && gradient) gradient = leaf->hooks->applied(0, gradient);
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
    for (const ir::Value& value : operands_in) xs.push_back(tensor_showing(value));
    for (const ir::Value& value : grads) gs.push_back(value ? tensor_showing(value) : Tensor());
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

namespace {

// Where a saved tensor stands: among the inputs, among the results, or behind the inputs.
struct Saved {
  enum class Kind : uint8_t { input, result, other } kind;
  size_t at;
};

Saved place_of(const Tensor& saved, std::span<const Tensor> inputs, std::span<const Tensor> results, size_t others) {
  const auto is_it = [&](const Tensor& one) { return impl_of(one) == impl_of(saved); };
  if (const auto at = std::find_if(inputs.begin(), inputs.end(), is_it); at != inputs.end())
    return {Saved::Kind::input, static_cast<size_t>(at - inputs.begin())};
  if (const auto at = std::find_if(results.begin(), results.end(), is_it); at != results.end())
    return {Saved::Kind::result, static_cast<size_t>(at - results.begin())};
  return {Saved::Kind::other, others};
}

}  // namespace

// The node's operands are the results as computed, the inputs, what else was saved, and the results once more: of those
// a rule can find the node again, to be differentiated through a saved result.
std::vector<Tensor> apply(const SavingFunction& function, std::span<const Tensor> inputs) {
  std::vector<Tensor> results;
  FunctionContext context;
  {
    NoGrad forward_only;
    results = function.forward(context, inputs);
  }
  if (results.empty()) base::fail(function.name, "forward() returned no tensor");
  const size_t count = results.size(), given = inputs.size();
  std::vector<Saved> places;
  std::vector<ir::Value> others;
  for (const Tensor& saved : context.saved_tensors()) {
    require_defined(saved);
    places.push_back(place_of(saved, inputs, results, others.size()));
    if (places.back().kind == Saved::Kind::other) others.push_back(ir::detach(value_of(saved)));
  }
  ir::Operands operands;
  for (const Tensor& result : results) operands.push_back(value_of(result));
  for (const Tensor& input : inputs) operands.push_back(record::in(input));
  for (const ir::Value& other : others) operands.push_back(other);
  for (const Tensor& result : results) operands.push_back(value_of(result));
  auto rule = std::make_shared<ir::CustomRule>();
  rule->name = function.name;
  rule->backward = [backward = function.backward, name = function.name, places, count, given,
                    own = std::weak_ptr<ir::CustomRule>(rule)](std::span<const ir::Value> in,
                                                               std::span<const ir::Value> grads) {
    EnableGrad differentiable;
    ir::NodeRef node;
    const auto result = [&](size_t i) {
      if (!node) {
        const auto computed = in.last(count);
        ir::Operands all(computed.begin(), computed.end());
        for (const ir::Value& operand : in) all.push_back(operand);
        node = ir::Node::make(ir::Op::custom, all, ir::CustomAttrs{own.lock(), count});
      }
      return ir::Value{node, static_cast<uint32_t>(i)};
    };
    std::vector<Tensor> saved, arrived;
    for (const Saved& place : places) {
      saved.push_back(tensor_showing(place.kind == Saved::Kind::input    ? in[place.at]
                                     : place.kind == Saved::Kind::result ? result(place.at)
                                                                         : in[given + place.at]));
    }
    for (const ir::Value& value : grads) arrived.push_back(value ? tensor_showing(value) : Tensor());
    FunctionContext seen;
    seen.save_for_backward(std::move(saved));
    const std::vector<Tensor> made = backward(seen, arrived);
    if (made.size() != given) base::fail(name, "backward() returned {} gradients for {} inputs", made.size(), given);
    std::vector<ir::Value> values(in.size());
    for (size_t i = 0; i < made.size(); ++i) {
      if (!made[i].defined()) continue;
      if (made[i].shape() != in[i].shape()) {
        base::fail(name, "backward() returned a gradient of shape {} for input {} of {}",
                   ir::to_string(made[i].shape()), i, ir::to_string(in[i].shape()));
      }
      values[i] = ir::cast(value_of(made[i]), in[i].dtype());
    }
    return values;
  };
  const ir::NodeRef node = ir::Node::make(ir::Op::custom, operands, ir::CustomAttrs{rule, count});
  for (uint32_t i = 0; i < count; ++i) results[i] = tensor_of(ir::Value{node, i});
  return results;
}

Tensor apply(const SavingFunction& function, const Tensor& input) {
  std::vector<Tensor> results = apply(function, std::span(&input, 1));
  if (results.size() != 1)
    base::fail(function.name, "forward() returned {} tensors; give it its inputs as a vector", results.size());
  return std::move(results[0]);
}

// The elements of the result are weighted unevenly, so that errors do not cancel.
bool gradcheck(const std::function<Tensor(std::span<const Tensor>)>& f, std::span<const Tensor> inputs, double eps,
               double atol, double rtol) {
  std::vector<Tensor> at;
  for (const Tensor& input : inputs) {
    at.push_back(input.detach().clone());
    if (!input.requires_grad()) continue;
    if (input.dtype() != DType::f64)
      base::fail("gradcheck", "differences need f64, input {} is {}", at.size() - 1, name(input.dtype()));
    at.back().requires_grad_();
  }
  Tensor weights;
  const auto total = [&](std::span<const Tensor> x) {
    const Tensor y = f(x);
    if (!weights.defined()) {
      Generator fixed(7);
      weights = add(rand(y.shape(), Options(DType::f64, y.device()), &fixed), 0.5);
    }
    return sum(mul(y, weights));
  };
  const Tensor value = total(at);
  for (size_t i = 0; i < at.size(); ++i) {
    if (!at[i].requires_grad()) continue;
    GradOptions options;
    options.allow_unused = true;
    const Tensor found =
        value.requires_grad() ? grad(std::span(&value, 1), std::span(&at[i], 1), options)[0] : Tensor();
    const std::vector<double> slopes =
        found.defined() ? found.to_vector<double>() : std::vector<double>(static_cast<size_t>(at[i].numel()));
    const std::vector<double> start = at[i].to_vector<double>();
    for (size_t k = 0; k < start.size(); ++k) {
      NoGrad values_only;
      const auto near = [&](double step) {
        std::vector<double> moved = start;
        moved[k] += step;
        std::vector<Tensor> x = at;
        x[i] = from_vector(moved, at[i].shape(), Options(DType::f64, at[i].device()));
        return total(x).item<double>();
      };
      const double difference = (near(eps) - near(-eps)) / (2 * eps);
      if (!(std::abs(slopes[k] - difference) <= atol + rtol * std::abs(difference))) {
        base::fail("gradcheck", "input {}, element {}: the gradient is {}, differences say {}", i, k, slopes[k],
                   difference);
      }
    }
  }
  return true;
}

bool gradcheck(const std::function<Tensor(const Tensor&)>& f, const Tensor& input, double eps, double atol,
               double rtol) {
  return gradcheck([&](std::span<const Tensor> x) { return f(x[0]); }, std::span(&input, 1), eps, atol, rtol);
}

}  // namespace tenon
