// What all distributions share.

#include "tenon/distributions/distribution.h"

#include <algorithm>

#include "tenon/distributions/shared.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/mapping.h"
#include "tenon/tensor/record.h"

namespace tenon::distributions {

Tensor Distribution::stddev() const { return variance().sqrt(); }

Tensor Distribution::sample(const Dims& shape, Generator* generator) const {
  const NoGrad a_value;
  return rsample(shape, generator);
}

Tensor Distribution::rsample(const Dims&, Generator*) const {
  base::fail(name(), "rsample() has no gradient for draws that are integers; use sample() and log_prob()");
}

Dims Distribution::drawn(const Dims& shape) const {
  Dims all = shape;
  for (const int64_t size : batch_) all.push_back(size);
  for (const int64_t size : event_) all.push_back(size);
  return all;
}

std::vector<Tensor> together(const char* op, std::vector<Operand> parameters) {
  const bool are_numbers = std::ranges::none_of(parameters, [](const Operand& one) { return one.is_tensor(); });
  if (are_numbers) parameters[0] = scalar(parameters[0].number().as_double());
  std::vector<Tensor> made;
  for (ir::Value& value : record::unified(op, parameters, record::real_type(record::result_type(parameters))))
    made.push_back(tensor_of(std::move(value)));
  return made;
}

void require(const char* op, const char* what, const Operand& parameter, const char* wanted,
             const std::function<bool(double)>& is_allowed) {
  constexpr int64_t kFew = 1 << 16;
  const auto check = [&](double value) {
    if (!is_allowed(value)) base::fail(op, "{} must be {}, got {}", what, wanted, value);
  };
  if (!parameter.is_tensor()) return check(parameter.number().as_double());
  const Tensor& given = parameter.tensor();
  if (without_values() || given.numel() > kFew || !given.is_evaluated()) return;
  for (const double value : given.detach().to_vector<double>()) check(value);
}

void require_positive(const char* op, const char* what, const Operand& parameter) {
  require(op, what, parameter, "positive", [](double value) { return value > 0; });
}

}  // namespace tenon::distributions
