// Host numbers as tensors, which is how the state of a learner is saved; and back, refusing what does not fit.

#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/tensor/creation.h"

namespace tenon::rl {

using NamedTensors = std::map<std::string, Tensor>;

/// 64 bits each, whatever they mean.
template <typename T>
Tensor saved(const std::vector<T>& numbers) {
  std::vector<int64_t> bits(numbers.begin(), numbers.end());
  const auto count = static_cast<int64_t>(bits.size());
  return from_vector(bits, {count}, Options(Device("cpu")));
}

/// The first numbers of a result, wherever it is.
template <typename T>
void read(const Tensor& result, std::span<T> into) {
  static const Device cpu("cpu");
  if (result.device() == cpu) {
    std::copy_n(result.data_ptr<T>(), into.size(), into.begin());
    return;
  }
  const std::vector<T> numbers = result.to_vector<T>();
  std::copy_n(numbers.begin(), into.size(), into.begin());
}

inline const Tensor& find(const NamedTensors& state, const std::string& name) {
  const auto found = state.find(name);
  if (found == state.end()) base::fail("2048", "the saved state has no {}", name);
  return found->second;
}

/// The numbers under a name; fails unless there are so many.
inline std::vector<int64_t> numbers(const NamedTensors& state, const std::string& name, size_t count) {
  const Tensor& tensor = find(state, name);
  if (tensor.dtype() != DType::i64 || tensor.shape() != Dims{static_cast<int64_t>(count)})
    base::fail("2048", "{} of the saved state is {} {}, not i64 ({},)", name, tenon::name(tensor.dtype()),
               ir::to_string(tensor.shape()), count);
  return tensor.to_vector<int64_t>();
}

/// Fails where one of these is below 0, as no count is, or so high that counting on would leave the numbers there are.
inline void require_counts(const std::string& name, const std::vector<int64_t>& counts) {
  constexpr int64_t kMost = int64_t{1} << 60;
  for (const int64_t one : counts) {
    if (one < 0 || one > kMost) base::fail("2048", "{} of the saved state holds {}, which is no count", name, one);
  }
}

/// The first of these that holds a number which is infinite or none; empty where all are finite.
std::string first_not_finite(const NamedTensors& state);
/// Fails, naming it, where there is one.
void require_finite(const NamedTensors& state);
/// Fails where means of squares or counts of an optimizer are below 0: with them Adam makes weights that are no numbers.
void require_moments(const NamedTensors& optimizer);

/// All that stands under "prefix.", without it.
inline NamedTensors part(const NamedTensors& state, const std::string& prefix) {
  NamedTensors found;
  for (const auto& [name, tensor] : state) {
    if (name.starts_with(prefix + ".")) found.emplace(name.substr(prefix.size() + 1), tensor);
  }
  return found;
}
inline void add_part(NamedTensors& state, const std::string& prefix, const NamedTensors& added) {
  for (const auto& [name, tensor] : added) state.emplace(prefix + "." + name, tensor);
}

}  // namespace tenon::rl
