// CausalLm: what decoder language models have in common around their layers: head, loss, caches.
//
//   models::Gpt2 model(models::Gpt2Config::distilgpt2());
//   Tensor loss = model.loss(ids, targets);
//
// A padded vocabulary has rows that no token uses, because products run best with round sizes. Their logits are set to
// the lowest finite number instead of being cut off, so that every kernel of the head has the same rows.

#pragma once

#include <filesystem>
#include <vector>

#include "tenon/nn/kv_cache.h"
#include "tenon/nn/module.h"

namespace tenon::models {

/// The table of a file, filled up with rows of zeros: nothing ever reads or trains them.
Tensor padded_rows(const Tensor& table, int64_t rows);

/// Which targets count, and how many logits exist at a time.
struct LossOptions {
  int64_t ignore_index = -100;  // targets that do not count
  /// Logits of this many tokens exist at a time; 0: of all. Fewer take less memory and more kernels.
  int64_t chunk = 0;
};

/// A decoder of tokens: the base of Gpt2 and Llama.
///   auto model = std::make_unique<models::Gpt2>(
///       models::Gpt2Config{.vocabulary = 100, .positions = 16, .width = 32, .layers = 2, .heads = 4});
///   models::CausalLm& any = *model;
///   any.next_logits(zeros({1, 8}, int64)).shape();  // (1, 100)
class CausalLm : public nn::ModuleOf<CausalLm> {
 public:
  /// Logits (batch, time, vocabulary) of ids (batch, time). With caches, one per layer, the tokens follow those held.
  Tensor forward(const Tensor& ids, std::vector<nn::KvCache>* caches = nullptr) const;
  /// The logits behind the last token, (batch, vocabulary).
  Tensor next_logits(const Tensor& ids, std::vector<nn::KvCache>* caches = nullptr) const;
  /// The mean cross-entropy of targets (batch, time), each the token after that of ids.
  Tensor loss(const Tensor& ids, const Tensor& targets, const LossOptions& options = {}) const;

  /// What transformers reads: the text of config.json, and the weights by its names.
  struct Files {
    std::string config;
    nn::StateDict weights;
  };
  /// What save() writes.
  virtual Files files() const = 0;
  /// Writes a folder of them.
  void save(const std::filesystem::path& folder) const;

  /// Empty caches that fit, one per layer.
  std::vector<nn::KvCache> make_caches(int64_t batch, int64_t max_length) const;
  /// Where the parameters lie.
  Device device() const { return head_weight().device(); }
  int64_t vocabulary() const { return sizes_.vocabulary; }
  /// The longest sequence.
  int64_t positions() const { return sizes_.positions; }
  /// Whether a token sees only what stands before it, as text that is written needs it.
  bool is_causal() const { return sizes_.causal; }

 protected:
  struct Sizes {
    int64_t vocabulary, positions, layers, kv_heads, head_width;
    bool causal = true;
  };
  explicit CausalLm(const Sizes& sizes) : sizes_(sizes) {}

  /// What the head multiplies: normalised states (batch, time, width).
  virtual Tensor states(const Tensor& ids, std::vector<nn::KvCache>* caches) const = 0;
  /// (padded vocabulary, width).
  virtual const Tensor& head_weight() const = 0;

 private:
  Tensor checked_states(const Tensor& ids, std::vector<nn::KvCache>* caches) const;

  Sizes sizes_;
};

}  // namespace tenon::models
