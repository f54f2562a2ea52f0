#include "tenon/train/language_loss.h"

#include "tenon/tensor/access.h"
#include "tenon/tensor/ops.h"

namespace tenon::train {

// Of the tokens to be told, eight in ten become the mask, one another token, and one stays (Devlin et al., 2018): the
// model cannot know which of those it sees are right.
Tensor LanguageLoss::operator()(const Tensor& ids, const Tensor& targets, Generator* dice) const {
  constexpr int64_t kIgnored = -100;
  const models::LossOptions options{.ignore_index = kIgnored, .chunk = config_.training.loss_chunk};
  if (config_.training.method == "autoregressive") return model_.loss(ids, targets, options);
  const Options real(DType::f32, ids.device());
  const int64_t mask = model_.vocabulary() - 1;
  const Tensor chance = rand(ids.shape(), real, dice), how = rand(ids.shape(), real, dice);
  // At least one token is told, though the batch be small: there is no mean of none.
  const Tensor is_told = logical_or(chance < config_.training.mask_fraction, chance == amin(chance));
  const Tensor any = floor(rand(ids.shape(), real, dice) * static_cast<double>(mask)).to(ids.dtype());
  const Tensor shown = where(how < 0.8, full_like(ids, mask), where(how < 0.9, any, ids));
  Tensor given = where(is_told, shown, ids);
  set_known_range(given, 0, mask, false);
  return model_.loss(given, where(is_told, ids, full_like(ids, kIgnored)), options);
}

}  // namespace tenon::train
