// Central differences in f64.

#include "tests/ops/differences.h"

#include <cmath>

#include "tenon/tensor/access.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/ops.h"

namespace tenon::ops_test {
namespace {

// The step makes an error of e^2 f''' / 6, the subtraction one of 1e-16 f / e: both are near 1e-10 here.
constexpr double kStep = 1e-6;
constexpr double kTolerance = 1e-6;

std::vector<Tensor> leaves_at(std::span<const Host> at, ir::DeviceId device) {
  std::vector<Tensor> leaves;
  for (const Host& array : at) {
    leaves.push_back(tensor_of(upload(array, device)));
    if (is_float(array.type.dtype)) leaves.back().requires_grad_();
  }
  return leaves;
}

/// The gradients of one number; undefined where an argument plays no part or is no float.
std::vector<Tensor> differentiated(const Tensor& y, std::span<const Tensor> leaves, bool create_graph) {
  std::vector<Tensor> inputs, gradients(leaves.size());
  for (const Tensor& leaf : leaves) {
    if (leaf.requires_grad()) inputs.push_back(leaf);
  }
  if (!y.requires_grad()) return gradients;
  GradOptions options;
  options.create_graph = create_graph;
  options.allow_unused = true;
  const std::vector<Tensor> found = grad(std::span(&y, 1), inputs, options);
  size_t next = 0;
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (leaves[i].requires_grad()) gradients[i] = found[next++];
  }
  return gradients;
}

double value_at(const Function& f, std::span<const Host> at, ir::DeviceId device) {
  return f(leaves_at(at, device)).item<double>();
}

/// The slope of f when one argument moves in a direction.
double slope_along(const Function& f, std::vector<Host> at, size_t argument, const std::vector<double>& direction,
                   ir::DeviceId device) {
  const Host here = at[argument];
  const auto moved = [&](double step) {
    for (int64_t i = 0; i < here.size(); ++i)
      at[argument].set(i, here.number(i) + step * direction[static_cast<size_t>(i)]);
    return value_at(f, at, device);
  };
  return (moved(kStep) - moved(-kStep)) / (2 * kStep);
}

bool agree(double gradient, double slope) {
  return std::fabs(gradient - slope) <= kTolerance * std::max(1.0, std::fabs(slope));
}

}  // namespace

Host random_host(const ir::Type& type, uint64_t seed) {
  Host array(type);
  uint64_t z = seed * 0x9E3779B97F4A7C15 + 1;
  for (int64_t i = 0; i < array.size(); ++i) {
    z = z * 6364136223846793005 + 1442695040888963407;  // Knuth's MMIX generator
    array.set(i, static_cast<double>(z >> 11) * 0x1p-51 - 2);
  }
  return array;
}

std::vector<Host> gradients_of(const Function& f, std::span<const Host> at, ir::DeviceId device) {
  const std::vector<Tensor> leaves = leaves_at(at, device);
  const std::vector<Tensor> gradients = differentiated(f(leaves), leaves, false);
  std::vector<Host> arrays;
  for (size_t i = 0; i < at.size(); ++i) {
    if (!is_float(at[i].type.dtype))
      arrays.push_back(at[i]);
    else
      arrays.push_back(gradients[i].defined() ? read(value_of(gradients[i])) : Host(at[i].type));
  }
  return arrays;
}

testing::AssertionResult gradient_is_slope(const Function& f, const std::vector<Host>& at, ir::DeviceId device) {
  const std::vector<Host> gradients = gradients_of(f, at, device);
  for (size_t k = 0; k < at.size(); ++k) {
    if (!is_float(at[k].type.dtype)) continue;
    if (!(gradients[k].type == at[k].type)) {
      return testing::AssertionFailure() << "argument " << k << " of shape " << ir::to_string(at[k].type.shape)
                                         << " got a gradient of shape " << ir::to_string(gradients[k].type.shape);
    }
    std::vector<double> direction(static_cast<size_t>(at[k].size()), 0);
    for (int64_t i = 0; i < at[k].size(); ++i) {
      double slope = 0;
      if (!std::isnan(at[k].number(i))) {
        direction[static_cast<size_t>(i)] = 1;
        slope = slope_along(f, at, k, direction, device);
        direction[static_cast<size_t>(i)] = 0;
      }
      if (agree(gradients[k].number(i), slope)) continue;
      return testing::AssertionFailure() << fmt::format("argument {} element {}: the gradient is {}, the slope is {}",
                                                        k, i, gradients[k].number(i), slope);
    }
  }
  return testing::AssertionSuccess();
}

testing::AssertionResult second_gradient_is_slope(const Function& f, const std::vector<Host>& at, ir::DeviceId device) {
  const Function weighted_gradients = [&](std::span<const Tensor> leaves) {
    const std::vector<Tensor> gradients = differentiated(f(leaves), leaves, true);
    Tensor total = zeros({}, Options(DType::f64, device));
    for (size_t k = 0; k < gradients.size(); ++k) {
      if (!gradients[k].defined()) continue;
      total =
          total + sum(gradients[k] * tensor_of(upload(random_host(value_of(gradients[k]).type(), 1000 + k), device)));
    }
    return total;
  };
  const std::vector<Host> gradients = gradients_of(weighted_gradients, at, device);
  for (size_t k = 0; k < at.size(); ++k) {
    if (!is_float(at[k].type.dtype)) continue;
    // A random direction per argument: a wrong element shows in it as surely as alone, and costs two runs instead of
    // two per element.
    std::vector<double> direction = random_host(at[k].type, 2000 + k).numbers();
    double along = 0;
    for (int64_t i = 0; i < at[k].size(); ++i) {
      if (std::isnan(at[k].number(i))) direction[static_cast<size_t>(i)] = 0;
      along += direction[static_cast<size_t>(i)] * gradients[k].number(i);
    }
    const double slope = slope_along(weighted_gradients, at, k, direction, device);
    if (agree(along, slope)) continue;
    return testing::AssertionFailure() << fmt::format(
               "argument {}: the second gradient is {} in a direction where the slope is {}", k, along, slope);
  }
  return testing::AssertionSuccess();
}

Function function_of(const Sample& sample, Layout layout, DType element, ir::DeviceId device,
                     std::vector<Host>& arguments) {
  const std::vector<Host> operands = values_for(sample, element);
  std::vector<Dims> shapes;
  std::vector<ir::Value> in;
  for (const Host& array : operands) {
    const Host shown = showable(layout, array);
    arguments.push_back(stored(layout, shown));
    shapes.push_back(shown.type.shape);
    in.push_back(seen(layout, upload(arguments.back(), device), shapes.back()));
  }
  uint64_t seed = 77;
  for (const ir::Value& result : sample.record({in, element, device})) {
    if (is_float(result.dtype())) arguments.push_back(random_host(result.type(), ++seed));
  }
  return [sample, layout, element, device, shapes](std::span<const Tensor> leaves) {
    std::vector<ir::Value> shown;
    for (size_t i = 0; i < shapes.size(); ++i) shown.push_back(seen(layout, value_of(leaves[i]), shapes[i]));
    size_t weight = shapes.size();
    Tensor total = zeros({}, Options(element, device));
    for (const ir::Value& result : sample.record({shown, element, device})) {
      if (is_float(result.dtype())) total = total + sum(tensor_of(result) * leaves[weight++]).to(element);
    }
    return total;
  };
}

}  // namespace tenon::ops_test
