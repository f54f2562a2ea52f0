// The head is a product with the embedding or a weight of its own; all of its uses are here.

#include "tenon/models/causal_lm.h"

#include "tenon/io/hugging_face.h"
#include "tenon/nn/functional.h"
#include "tenon/nn/linear_cross_entropy.h"
#include "tenon/nn/losses.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/ops.h"

namespace tenon::models {

using base::fail;

Tensor padded_rows(const Tensor& table, int64_t rows) {
  return table.size(0) >= rows ? table : pad(table, {0, 0, 0, rows - table.size(0)});
}

Tensor CausalLm::checked_states(const Tensor& ids, std::vector<nn::KvCache>* caches) const {
  if (ids.dim() != 2) fail("model", "takes ids (batch, time), got shape {}", ir::to_string(ids.shape()));
  if (ids.size(1) > sizes_.positions)
    fail("model", "{} tokens are more than the model's {} positions", ids.size(1), sizes_.positions);
  if (caches && static_cast<int64_t>(caches->size()) != sizes_.layers)
    fail("model", "{} caches were given for {} layers; make_caches() makes them", caches->size(), sizes_.layers);
  if (caches && !sizes_.causal)
    fail("model", "it was trained to fill in masked tokens and sees all of a text at once: it cannot write text");
  const Tensor x = states(ids, caches);
  if (caches) caches->front().advance(ids.size(1));
  return x;
}

Tensor CausalLm::forward(const Tensor& ids, std::vector<nn::KvCache>* caches) const {
  const Tensor logits = nn::linear(checked_states(ids, caches), head_weight());
  return logits.narrow(-1, 0, sizes_.vocabulary);
}

Tensor CausalLm::next_logits(const Tensor& ids, std::vector<nn::KvCache>* caches) const {
  const nn::CallScope scope(*this);
  const Tensor last = checked_states(ids, caches).select(1, ids.size(1) - 1);
  return nn::linear(last, head_weight()).narrow(-1, 0, sizes_.vocabulary);
}

Tensor CausalLm::loss(const Tensor& ids, const Tensor& targets, const LossOptions& options) const {
  const nn::CallScope scope(*this);
  if (targets.shape() != ids.shape()) {
    fail("loss", "targets {} do not fit ids {}", ir::to_string(targets.shape()), ir::to_string(ids.shape()));
  }
  const Tensor x = checked_states(ids, nullptr);
  const int64_t tokens = ids.size(0) * ids.size(1);
  return nn::linear_cross_entropy(x.reshape({tokens, x.size(2)}), head_weight(), targets.reshape({tokens}),
                                  {.ignore_index = options.ignore_index,
                                   .chunk = options.chunk == 0 ? tokens : options.chunk,
                                   .classes = sizes_.vocabulary});
}

void CausalLm::save(const std::filesystem::path& folder) const {
  const NoGrad reading;
  const Files made = files();
  io::save_folder(folder, made.config, made.weights);
}

std::vector<nn::KvCache> CausalLm::make_caches(int64_t batch, int64_t max_length) const {
  const Options options(head_weight().dtype(), head_weight().device());
  return nn::KvCache::for_layers(sizes_.layers, batch, sizes_.kv_heads, max_length, sizes_.head_width, options);
}

}  // namespace tenon::models
