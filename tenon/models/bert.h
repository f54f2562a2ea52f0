// BERT (Devlin et al., 2018) in any size, with the parameter names of Hugging Face's transformers: an encoder, and on
// it a head that tells masked words, or the class of a text.
//
//   auto model = models::Bert::load("bert-base-uncased", {.head = models::BertHead::classifier,
//                                                         .labels = {"bad", "good"}});
//   Tensor logits = model->logits({ids, mask});             // (batch, 2)
//   Tensor loss = model->loss({ids, mask}, labels);
//   Tensor meaning = model->embedding({ids, mask});         // (batch, width): the mean of a text's states
//
// Shorter texts of a batch are filled up with any token; the mask says where tokens are (true, or 1) and where padding.

#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "tenon/models/bert_config.h"
#include "tenon/nn/containers.h"
#include "tenon/nn/layers.h"

namespace tenon::io {
class OpenFolder;
}

namespace tenon::models {

/// What an encoder reads; all (batch, time).
///   models::BertTokens tokens = {zeros({1, 8}, int64)};
struct BertTokens {
  Tensor ids;         // whole numbers
  Tensor mask = {};   // true or 1 where a token is; left out: everywhere
  Tensor types = {};  // whole numbers, which text a token is of; left out: 0
};

class BertEmbeddings : public nn::ModuleOf<BertEmbeddings> {
 public:
  BertEmbeddings(const BertConfig& config, const Options& options);
  Tensor forward(const BertTokens& tokens) const;

  nn::Embedding word_embeddings, position_embeddings, token_type_embeddings;
  nn::LayerNorm norm;

 private:
  nn::Dropout dropout_;
};

/// Queries, keys and values.
class BertSelfAttention : public nn::ModuleOf<BertSelfAttention> {
 public:
  BertSelfAttention(const BertConfig& config, const Options& options);
  /// `mask` is (batch, 1, 1, time), true where a token is, or undefined.
  Tensor forward(const Tensor& x, const Tensor& mask) const;

  nn::Linear query, key, value;

 private:
  int64_t heads_;
  double dropout_;
};

/// The way out of a branch: product, dropout, sum, norm.
class BertOutput : public nn::ModuleOf<BertOutput> {
 public:
  BertOutput(int64_t in, const BertConfig& config, const Options& options);
  Tensor forward(const Tensor& branch, const Tensor& x) const;

  nn::Linear dense;
  nn::LayerNorm norm;

 private:
  nn::Dropout dropout_;
};

class BertAttention : public nn::ModuleOf<BertAttention> {
 public:
  BertAttention(const BertConfig& config, const Options& options);
  Tensor forward(const Tensor& x, const Tensor& mask) const;

  BertSelfAttention self;
  BertOutput output;
};

/// A product and the activation; of the head of masked words a norm, too.
class BertDense : public nn::ModuleOf<BertDense> {
 public:
  BertDense(int64_t out, bool has_norm, const BertConfig& config, const Options& options);
  Tensor forward(const Tensor& x) const;

  nn::Linear dense;
  std::optional<nn::LayerNorm> norm;

 private:
  std::string activation_;
};

class BertLayer : public nn::ModuleOf<BertLayer> {
 public:
  BertLayer(const BertConfig& config, const Options& options);
  Tensor forward(const Tensor& x, const Tensor& mask) const;

  BertAttention attention;
  BertDense intermediate;
  BertOutput output;
};

class BertEncoder : public nn::ModuleOf<BertEncoder> {
 public:
  BertEncoder(const BertConfig& config, const Options& options);
  Tensor forward(const Tensor& x, const Tensor& mask) const;

  nn::ModuleList<BertLayer> layer;
};

class BertPooler : public nn::ModuleOf<BertPooler> {
 public:
  BertPooler(const BertConfig& config, const Options& options);
  /// The state of the first token, [CLS], through a product and tanh.
  Tensor forward(const Tensor& states) const;

  nn::Linear dense;
};

/// The model without its head.
class BertModel : public nn::ModuleOf<BertModel> {
 public:
  BertModel(const BertConfig& config, const Options& options);
  Tensor forward(const BertTokens& tokens) const;

  BertEmbeddings embeddings;
  BertEncoder encoder;
  std::optional<BertPooler> pooler;  // none below the head of masked words
};

class BertPredictions : public nn::ModuleOf<BertPredictions> {
 public:
  BertPredictions(const BertConfig& config, const Options& options);
  Tensor forward(const Tensor& states, const Tensor& words) const;

  BertDense transform;
  Tensor bias;  // (vocabulary)
};

/// The head of masked words, under the name that transformers gives it.
class BertMaskedHead : public nn::ModuleOf<BertMaskedHead> {
 public:
  BertMaskedHead(const BertConfig& config, const Options& options);
  Tensor forward(const Tensor& states, const Tensor& words) const { return predictions(states, words); }

  BertPredictions predictions;
};

/// What load() may choose: another head than the folder's has new weights.
struct BertLoadOptions {
  std::optional<BertHead> head = {};     // the folder's unless given
  std::vector<std::string> labels = {};  // of the classes; empty: the folder's
  std::optional<double> dropout = {};    // the folder's unless given
  Options options = {};                  // dtype and device of the parameters
};

/// BERT, in any size, with a head or without.
///   models::Bert model({.vocabulary = 100, .width = 32, .layers = 2, .heads = 4, .inner = 64});
///   model.logits({zeros({1, 8}, int64)}).shape();  // (1, 8, 100)
class Bert : public nn::ModuleOf<Bert> {
 public:
  /// With BERT's initial values.
  explicit Bert(const BertConfig& config, const Options& options = {});

  /// From a folder as transformers writes it. Weights of heads that are not wanted are passed over.
  static std::unique_ptr<Bert> load(const std::filesystem::path& folder, const BertLoadOptions& options = {});
  /// The same of an open folder, from which the caller reads more: io::require_unchanged_model() ends it.
  static std::unique_ptr<Bert> load(const io::OpenFolder& folder, const BertLoadOptions& options = {});
  /// Writes config.json and model.safetensors, which transformers and load() read.
  void save(const std::filesystem::path& folder) const;
  /// The weights by transformers' names.
  nn::StateDict weights() const { return state_dict(); }

  /// What the last layer makes of each token: (batch, time, width).
  Tensor forward(const BertTokens& tokens) const;
  /// The pooler's: (batch, width). Not with the head of masked words, which has no pooler.
  Tensor pooled(const BertTokens& tokens) const;
  /// The mean of the states of a text's tokens: (batch, width).
  Tensor embedding(const BertTokens& tokens) const;
  /// What the head makes: (batch, time, vocabulary) of masked words, (batch, classes) of a classifier.
  Tensor logits(const BertTokens& tokens) const;
  /// The mean cross-entropy: of targets (batch, time), -100 where none is, or of classes (batch).
  Tensor loss(const BertTokens& tokens, const Tensor& targets) const;

  /// Its sizes; where its parameters lie.
  const BertConfig& config() const { return config_; }
  Device device() const { return bert.embeddings.word_embeddings.weight.device(); }

  BertModel bert;                        // the model without its head
  std::optional<BertMaskedHead> cls;     // the head of masked words, where there is one
  std::optional<nn::Linear> classifier;  // the last layer of a classifier, where there is one

 private:
  void require_fitting(const BertTokens& tokens) const;

  BertConfig config_;
  nn::Dropout classifier_dropout_;
};

}  // namespace tenon::models
