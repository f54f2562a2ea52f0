// A replay per batch; the last, smaller batch is a recording of its own, and so is the last, shorter window.

#include "tenon/train/evaluation.h"

#include <algorithm>

#include "tenon/tensor/autograd.h"
#include "tenon/tensor/creation.h"
#include "tenon/train/step.h"

namespace tenon::train {

Evaluation::Evaluation(const Config& config, models::CausalLm& model)
    : config_(config), model_(model), loss_of_(config, model), captured_([this](std::span<const Tensor> given) {
        const NoGrad reading;
        const ProductPrecision products(config_);
        return std::vector<Tensor>{loss_of_(given[0], given[1], &masks_)};
      }) {}

Evaluated Evaluation::run(const data::Tokens& tokens, int64_t batch, int64_t length, int64_t most_batches) {
  const bool was_training = model_.is_training();
  model_.eval();
  masks_.manual_seed(static_cast<uint64_t>(config_.training.seed));
  const int64_t told = std::max<int64_t>(tokens.size() - 1, 0), windows = told / length;
  const int64_t used = most_batches > 0 ? std::min(windows, most_batches * batch) : windows;
  const Options options(DType::i32, Device(config_.device.name));
  Evaluated result;
  double total = 0;
  std::vector<int32_t> ids, targets, stretch;
  const auto tell = [&](int64_t from, int64_t rows, int64_t columns) {
    ids.clear();
    targets.clear();
    stretch.resize(static_cast<size_t>(columns + 1));
    for (int64_t row = 0; row < rows; ++row) {
      tokens.copy(from + row * columns, stretch);
      ids.insert(ids.end(), stretch.begin(), stretch.end() - 1);
      targets.insert(targets.end(), stretch.begin() + 1, stretch.end());
    }
    const Tensor loss =
        captured_(from_vector(ids, {rows, columns}, options), from_vector(targets, {rows, columns}, options));
    total += loss.item<double>() * static_cast<double>(rows * columns);
    result.items += rows * columns;
  };
  for (int64_t first = 0; first < used; first += batch) tell(first * length, std::min(batch, used - first), length);
  const int64_t rest = told - windows * length;
  if (most_batches == 0 && rest > 0) tell(windows * length, 1, rest);
  result.loss = result.items > 0 ? total / static_cast<double>(result.items) : 0;
  model_.train(was_training);
  return result;
}

}  // namespace tenon::train
