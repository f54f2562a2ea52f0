#include "tenon/tensor/vmap.h"

#include <algorithm>

#include "tenon/grad/batch.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/mapping.h"
#include "tenon/tensor/ops.h"
#include "tenon/tensor/record.h"
#include "tenon/tensor/trace.h"

namespace tenon {
namespace {

thread_local const Mapping* mapping = nullptr;

constexpr const char* kName = "vmap";

using base::fail;

/// The inputs with their examples along dim 0; one that all share is as it was.
struct Batch {
  std::vector<Tensor> inputs;
  std::vector<bool> is_batched;
  int64_t count = -1;
};

Batch batch_of(std::span<const Tensor> inputs, const std::vector<std::optional<int64_t>>& dims) {
  if (!dims.empty() && dims.size() != inputs.size())
    fail(kName, "{} in_dims are given for {} inputs", dims.size(), inputs.size());
  Batch batch;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::optional<int64_t> dim = dims.empty() ? 0 : dims[i];
    batch.is_batched.push_back(dim.has_value());
    batch.inputs.push_back(inputs[i]);
    if (!dim) continue;
    if (inputs[i].dim() == 0) fail(kName, "input {} is a single number, which has no dim of examples", i);
    batch.inputs.back() =
        movedim(inputs[i], {static_cast<int64_t>(record::axis(kName, *dim, inputs[i].shape().size()))}, {0});
    const int64_t count = batch.inputs.back().size(0);
    if (batch.count >= 0 && batch.count != count)
      fail(kName, "inputs have {} and {} examples; they must have the same number", batch.count, count);
    batch.count = count;
  }
  if (batch.count < 0) fail(kName, "no input has a dim of examples: in_dims is None for all of them");
  return batch;
}

/// What the function sees of an input: a tensor of one example, which needs gradients if the input does.
Tensor example_of(const Tensor& all, std::vector<autodiff::Examples>& examples) {
  const ir::Value value = record::in(all);
  const ir::Value one =
      autodiff::placeholder({value.dtype(), Dims(value.shape().begin() + 1, value.shape().end())}, value.device());
  Tensor tensor = tensor_of(one);
  examples.push_back({one, ir::detach(value)});
  if (!value.needs_grad()) return tensor;
  tensor.requires_grad_();
  examples.push_back({value_of(tensor), value});
  return tensor;
}

std::vector<Tensor> mapped(const TensorFunction& f, const Batch& batch, bool same_randomness) {
  std::vector<autodiff::Examples> examples;
  std::vector<ir::Value> values;
  {
    std::vector<Tensor> seen;
    for (size_t i = 0; i < batch.inputs.size(); ++i)
      seen.push_back(batch.is_batched[i] ? example_of(batch.inputs[i], examples) : batch.inputs[i]);
    const uint64_t drawn = default_generator().position();
    std::vector<Tensor> results;
    {
      const Mapping recording;
      results = f(seen);
      for (const Tensor& result : results) values.push_back(record::in(result));
    }
    if (!same_randomness && default_generator().position() != drawn)
      fail(kName,
           "the function draws random numbers; with randomness='same' (same_randomness) all examples get the same");
  }
  std::vector<Tensor> made;
  for (ir::Value& value : autodiff::batched(values, examples, batch.count)) made.push_back(tensor_of(std::move(value)));
  return made;
}

std::vector<Tensor> in_chunks(const TensorFunction& f, const Batch& batch, const VmapOptions& options) {
  if (options.chunk_size && *options.chunk_size < 1)
    fail(kName, "chunk_size must be positive, got {}", *options.chunk_size);
  if (!options.chunk_size || *options.chunk_size >= batch.count) return mapped(f, batch, options.same_randomness);
  std::vector<std::vector<Tensor>> parts;
  for (int64_t begin = 0; begin < batch.count; begin += *options.chunk_size) {
    Batch part = batch;
    part.count = std::min(*options.chunk_size, batch.count - begin);
    for (size_t i = 0; i < part.inputs.size(); ++i) {
      if (part.is_batched[i]) part.inputs[i] = batch.inputs[i].narrow(0, begin, part.count);
    }
    const std::vector<Tensor> made = mapped(f, part, options.same_randomness);
    parts.resize(made.size());
    for (size_t i = 0; i < made.size(); ++i) parts[i].push_back(made[i]);
  }
  std::vector<Tensor> whole;
  for (const std::vector<Tensor>& part : parts) whole.push_back(cat(part));
  return whole;
}

}  // namespace

Mapping::Mapping() : id(ir::InRealm::next()), outer_(mapping) { mapping = this; }
Mapping::~Mapping() { mapping = outer_; }
const Mapping* Mapping::current() { return mapping; }

const char* without_values() {
  if (mapping) return "a function that vmap() maps";
  return Trace::current() ? "a captured function" : nullptr;
}

std::vector<Tensor> vmap(const TensorFunction& f, std::span<const Tensor> inputs, const VmapOptions& options) {
  std::vector<Tensor> made = in_chunks(f, batch_of(inputs, options.in_dims), options);
  if (options.out_dims.empty()) return made;
  if (options.out_dims.size() != made.size())
    fail(kName, "{} out_dims are given for {} results", options.out_dims.size(), made.size());
  for (size_t i = 0; i < made.size(); ++i) {
    const auto place = static_cast<int64_t>(record::axis(kName, options.out_dims[i], made[i].shape().size()));
    made[i] = movedim(made[i], {0}, {place});
  }
  return made;
}

Tensor vmap(const std::function<Tensor(const Tensor&)>& f, const Tensor& x, int64_t in_dim, int64_t out_dim) {
  const TensorFunction of_several = [&](std::span<const Tensor> in) { return std::vector<Tensor>{f(in[0])}; };
  return vmap(of_several, std::span(&x, 1), {{in_dim}, {out_dim}, false, {}})[0];
}

}  // namespace tenon
