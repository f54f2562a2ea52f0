#include "tenon/tensor/functional.h"

#include <algorithm>

#include "tenon/tensor/access.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/ops.h"
#include "tenon/tensor/tensor_impl.h"

namespace tenon::autograd {
namespace {

using base::fail;
using Tensors = std::vector<Tensor>;

Dims shape_of_both(const Dims& a, const Dims& b) {
  Dims both = a;
  for (const int64_t size : b) both.push_back(size);
  return both;
}

Tensor zeros_of(const Dims& shape, const Tensor& like) { return zeros(shape, Options(like.dtype(), like.device())); }

/// What the function is given: leaves of its own, or what leads to the inputs where derivatives are to.
Tensors leaves_of(std::string_view op, std::span<const Tensor> inputs, bool create_graph) {
  Tensors leaves;
  for (const Tensor& input : inputs) {
    require_defined(input);
    if (!is_float(input.dtype())) fail(op, "takes inputs of real numbers, got {}", name(input.dtype()));
    const ir::Value value = value_of(input), data = ir::detach(value);
    leaves.push_back(tensor_of(create_graph && value.needs_grad() ? with_history(data, value) : data));
    leaves.back().requires_grad_();
  }
  return leaves;
}

Tensors without_history(Tensors tensors, bool create_graph) {
  if (!create_graph) {
    for (Tensor& tensor : tensors) tensor = tensor.detach();
  }
  return tensors;
}

/// The gradients of some results, zeros where a result does not depend on an input.
Tensors gradients(std::string_view op, const Tensors& outputs, std::span<const Tensor> seeds, const Tensors& leaves,
                  const DerivativeOptions& options) {
  Tensors used;
  GradOptions asked{{}, options.create_graph, true};
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].requires_grad()) {
      if (options.strict) fail(op, "result {} does not depend on the inputs", i);
      continue;
    }
    used.push_back(outputs[i]);
    asked.grad_outputs.push_back(seeds[i]);
  }
  Tensors found(leaves.size());
  if (!used.empty()) found = grad(used, leaves, asked);
  for (size_t j = 0; j < found.size(); ++j) {
    if (found[j].defined()) continue;
    if (options.strict) fail(op, "the results do not depend on input {}", j);
    found[j] = zeros_like(leaves[j]);
  }
  return found;
}

/// A result's gradients where one of its elements after the other has the gradient 1: along a new first dim.
Tensors rows_together(const Tensor& output, const Tensors& leaves, const Tensor& seeds) {
  const TensorFunction gradients_of_row = [&](std::span<const Tensor> seed) {
    return grad({&output, 1}, leaves, {{seed[0]}, true, false});
  };
  return vmap(gradients_of_row, {&seeds, 1});
}

Tensors rows_one_by_one(const Tensor& output, const Tensors& leaves, const Tensor& seeds) {
  std::vector<Tensors> rows(leaves.size());
  for (const Tensor& seed : seeds.unbind(0)) {
    const Tensors row = grad({&output, 1}, leaves, {{seed}, true, false});
    for (size_t j = 0; j < row.size(); ++j) rows[j].push_back(row[j]);
  }
  Tensors stacked;
  for (const Tensors& of_input : rows) stacked.push_back(stack(of_input));
  return stacked;
}

Tensors rows_of(const Tensor& output, const Tensors& leaves, const Tensor& seeds) {
  try {
    return rows_together(output, leaves, seeds);
  } catch (const Error&) {  // an op without a rule; what is wrong beyond that fails again
    return rows_one_by_one(output, leaves, seeds);
  }
}

/// The derivatives of one result by those leaves that it depends on.
Tensors derivatives(const Tensor& output, const Tensors& leaves) {
  constexpr int64_t kTogether = 1024;  // rows; what is on the way is computed for all of them at once
  const int64_t count = output.numel();
  const Tensor unit = eye(count, {}, Options(output.dtype(), output.device()));
  std::vector<Tensors> parts(leaves.size());
  for (int64_t begin = 0; begin < count; begin += kTogether) {
    const int64_t rows = std::min(kTogether, count - begin);
    const Tensor seeds = unit.narrow(0, begin, rows).reshape(shape_of_both({rows}, output.shape()));
    const Tensors made = rows_of(output, leaves, seeds);
    for (size_t j = 0; j < made.size(); ++j) parts[j].push_back(made[j]);
  }
  Tensors whole;
  for (size_t j = 0; j < leaves.size(); ++j)
    whole.push_back(cat(parts[j]).reshape(shape_of_both(output.shape(), leaves[j].shape())));
  return whole;
}

std::vector<Tensors> jacobian_named(std::string_view op, const TensorFunction& f, std::span<const Tensor> inputs,
                                    const DerivativeOptions& options) {
  const EnableGrad differentiable;
  const Tensors leaves = leaves_of(op, inputs, options.create_graph), outputs = f(leaves);
  std::vector<Tensors> rows;
  for (const Tensor& output : outputs) {
    Tensors used, row;
    std::vector<bool> is_used(leaves.size());
    if (output.requires_grad() && output.numel() > 0) {
      const Tensors probe = grad({&output, 1}, leaves, {{ones_like(output)}, false, true});
      for (size_t j = 0; j < leaves.size(); ++j) {
        is_used[j] = probe[j].defined();
        if (is_used[j]) used.push_back(leaves[j]);
      }
    }
    const Tensors found = used.empty() ? Tensors() : derivatives(output, used);
    for (size_t j = 0, next = 0; j < leaves.size(); ++j) {
      if (!is_used[j] && options.strict) fail(op, "result {} does not depend on input {}", rows.size(), j);
      row.push_back(is_used[j] ? found[next++] : zeros_of(shape_of_both(output.shape(), leaves[j].shape()), leaves[j]));
    }
    rows.push_back(without_history(std::move(row), options.create_graph));
  }
  return rows;
}

Tensor the_number(std::string_view op, const Tensors& outputs) {
  if (outputs.size() != 1) fail(op, "the function must give one tensor, it gives {}", outputs.size());
  if (outputs[0].numel() != 1)
    fail(op, "the function must give a single number, it gives shape {}", ir::to_string(outputs[0].shape()));
  return outputs[0];
}

/// The vector of a product, which has the shapes of what it is multiplied with.
Tensors vector_of(std::string_view op, std::span<const Tensor> v, const Tensors& like, std::string_view what) {
  if (v.empty()) {
    if (like.size() != 1 || like[0].numel() != 1) fail(op, "v may be left out for a single number only; pass it");
    return {ones_like(like[0])};
  }
  if (v.size() != like.size()) fail(op, "v has {} tensors for {} {}s", v.size(), like.size(), what);
  for (size_t i = 0; i < v.size(); ++i) {
    if (v[i].shape() != like[i].shape())
      fail(op, "v has shape {} where {} {} has {}", ir::to_string(v[i].shape()), what, i,
           ir::to_string(like[i].shape()));
  }
  return {v.begin(), v.end()};
}

Product derivative_product(Tensors outputs, Tensors products, const DerivativeOptions& options) {
  return {without_history(std::move(outputs), options.create_graph),
          without_history(std::move(products), options.create_graph)};
}

/// A function of one tensor as one of several.
TensorFunction of_several(const std::function<Tensor(const Tensor&)>& f) {
  return [&f](std::span<const Tensor> inputs) { return Tensors{f(inputs[0])}; };
}

}  // namespace

std::vector<Tensors> jacobian(const TensorFunction& f, std::span<const Tensor> inputs,
                              const DerivativeOptions& options) {
  return jacobian_named("jacobian", f, inputs, options);
}

Tensor jacobian(const std::function<Tensor(const Tensor&)>& f, const Tensor& input, const DerivativeOptions& options) {
  return jacobian(of_several(f), std::span(&input, 1), options)[0][0];
}

std::vector<Tensors> hessian(const TensorFunction& f, std::span<const Tensor> inputs,
                             const DerivativeOptions& options) {
  const TensorFunction slopes = [&](std::span<const Tensor> given) {
    const Tensors leaves(given.begin(), given.end());
    const Tensor number = the_number("hessian", f(leaves)), seed = ones_like(number);
    return gradients("hessian", {number}, {&seed, 1}, leaves, {true, options.strict});
  };
  return jacobian_named("hessian", slopes, inputs, options);
}

Tensor hessian(const std::function<Tensor(const Tensor&)>& f, const Tensor& input, const DerivativeOptions& options) {
  return hessian(of_several(f), std::span(&input, 1), options)[0][0];
}

// What vjp() gives is linear in its vector, with the transposed Jacobian: the gradient of that vector is the product.
Product jvp(const TensorFunction& f, std::span<const Tensor> inputs, std::span<const Tensor> v,
            const DerivativeOptions& options) {
  const EnableGrad differentiable;
  const Tensors leaves = leaves_of("jvp", inputs, options.create_graph);
  const Tensors along = vector_of("jvp", v, leaves, "input");
  Tensors outputs = f(leaves), seeds;
  for (const Tensor& output : outputs) seeds.push_back(zeros_like(output).requires_grad_());
  const Tensors slopes = gradients("jvp", outputs, seeds, leaves, {true, options.strict});
  return derivative_product(std::move(outputs), gradients("jvp", slopes, along, seeds, {options.create_graph, false}),
                            options);
}

Product vjp(const TensorFunction& f, std::span<const Tensor> inputs, std::span<const Tensor> v,
            const DerivativeOptions& options) {
  const EnableGrad differentiable;
  const Tensors leaves = leaves_of("vjp", inputs, options.create_graph);
  Tensors outputs = f(leaves);
  return derivative_product(outputs, gradients("vjp", outputs, vector_of("vjp", v, outputs, "result"), leaves, options),
                            options);
}

Product hvp(const TensorFunction& f, std::span<const Tensor> inputs, std::span<const Tensor> v,
            const DerivativeOptions& options) {
  const EnableGrad differentiable;
  const Tensors leaves = leaves_of("hvp", inputs, options.create_graph);
  const Tensors along = vector_of("hvp", v, leaves, "input");
  const Tensor number = the_number("hvp", f(leaves)), seed = ones_like(number);
  const Tensors slopes = gradients("hvp", {number}, {&seed, 1}, leaves, {true, options.strict});
  const DerivativeOptions second{options.create_graph, false};
  return derivative_product({number}, gradients("hvp", slopes, along, leaves, second), options);
}

}  // namespace tenon::autograd
