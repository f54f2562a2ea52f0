// Collating: a batch from samples.

#pragma once

#include <functional>
#include <span>
#include <vector>

#include "tenon/data/sample.h"

namespace tenon::data {

/// What makes a batch of the samples of a DataLoader. It runs on the workers.
using Collate = std::function<Sample(std::vector<Sample> samples)>;

/// Stacks each tensor of the samples along a new first dim, on `device`. Fails where samples differ in their tensors,
/// dtypes or shapes; `indices`, where given, are what the message calls the samples.
///   data::stack_samples(std::vector{data::Sample{tensor({1, 2})}, data::Sample{tensor({3, 4})}})[0];  // [[1 2] [3 4]]
Sample stack_samples(std::span<const Sample> samples, Device device = {}, std::span<const int64_t> indices = {});

}  // namespace tenon::data
