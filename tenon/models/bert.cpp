// The arithmetic of BERT: post-norm layers, as in the first transformer, and attention that looks both ways.

#include "tenon/models/bert.h"

#include <algorithm>

#include "tenon/io/hugging_face.h"
#include "tenon/io/open_folder.h"
#include "tenon/models/weights.h"
#include "tenon/nn/functional.h"
#include "tenon/nn/init.h"
#include "tenon/nn/losses.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/ops.h"

namespace tenon::models {
namespace {

using base::fail;

const BertConfig& checked_bert(const BertConfig& config) {
  config.check();
  return config;
}

Tensor bert_activation(const Tensor& x, const std::string& activation) {
  if (activation == "gelu_new") return gelu(x, "tanh");
  if (activation == "gelu") return gelu(x);
  return activation == "relu" ? relu(x) : silu(x);
}

std::optional<int64_t> padding_of(const BertConfig& config) {
  return config.padding_token < 0 ? std::nullopt : std::optional(config.padding_token);
}

/// Matrices normal with deviation 0.02, biases 0, norms 1, and zeros for padding.
void initialise(Bert& model) {
  constexpr double kDeviation = 0.02;
  for (nn::NamedTensor& one : model.named_parameters()) {
    if (one.tensor.dim() >= 2)
      nn::init::normal_(one.tensor, 0, kDeviation);
    else
      nn::init::constant_(one.tensor, one.name.ends_with("bias") ? 0 : 1);
  }
  if (const int64_t padding = model.config().padding_token; padding >= 0) {
    const NoGrad setting;
    model.bert.embeddings.word_embeddings.weight.select(0, padding).fill_(0);
  }
}

/// The name that a weight of a file has here: old files call a norm's weights gamma and beta, those of the model alone
/// lack its name. Empty: a weight of nothing that is here.
std::string name_of_weight(const std::string& given) {
  std::string name = given;
  for (const auto& [old, now] : {std::pair(".gamma", ".weight"), std::pair(".beta", ".bias")}) {
    if (name.ends_with(old)) name.replace(name.size() - std::string_view(old).size(), std::string::npos, now);
  }
  const bool is_head = name.starts_with("cls.") || name.starts_with("classifier.");
  if (!is_head && !name.starts_with("bert.")) name = "bert." + name;
  // The decoder is the table of words and predictions.bias; the first is not saved by all, the second sometimes twice.
  if (name.starts_with("cls.seq_relationship.") || name.starts_with("cls.predictions.decoder.") ||
      name.ends_with("position_ids"))
    return "";
  return name;
}

bool is_new_part(const std::string& name) {
  return name.starts_with("cls.") || name.starts_with("classifier.") || name.starts_with("bert.pooler.");
}

nn::StateDict by_own_names(const std::map<std::string, Tensor>& tensors, DType dtype) {
  nn::StateDict state;
  for (const auto& [given, tensor] : tensors) {
    if (const std::string name = name_of_weight(given); !name.empty()) state[name] = tensor.to(dtype);
  }
  return state;
}

/// Heads and the pooler may be missing, and a classifier be of other classes; then those the model has stay.
void take_weights(Bert& model, const nn::StateDict& given) {
  nn::StateDict taken;
  for (const auto& [name, own] : model.state_dict()) {
    const auto found = given.find(name);
    const bool is_other =
        found != given.end() && name.starts_with("classifier.") && found->second.shape() != own.shape();
    const bool is_new = is_other || (found == given.end() && is_new_part(name));
    if (is_new || found != given.end()) taken[name] = is_new ? own : found->second;
  }
  model.load_state_dict(taken);
}

}  // namespace

BertEmbeddings::BertEmbeddings(const BertConfig& config, const Options& options)
    : word_embeddings(config.vocabulary, config.width, padding_of(config), options),
      position_embeddings(config.positions, config.width, {}, options),
      token_type_embeddings(config.types, config.width, {}, options),
      norm(config.width, config.norm_eps, true, true, options),
      dropout_(config.dropout) {
  register_module("word_embeddings", word_embeddings);
  register_module("position_embeddings", position_embeddings);
  register_module("token_type_embeddings", token_type_embeddings);
  register_module("LayerNorm", norm);
  register_module("dropout", dropout_);
}

Tensor BertEmbeddings::forward(const BertTokens& tokens) const {
  const int64_t time = tokens.ids.size(1);
  const Tensor types =
      tokens.types.defined() ? token_type_embeddings(tokens.types) : token_type_embeddings.weight.narrow(0, 0, 1);
  return dropout_(norm(word_embeddings(tokens.ids) + types + position_embeddings.weight.narrow(0, 0, time)));
}

BertSelfAttention::BertSelfAttention(const BertConfig& config, const Options& options)
    : query(config.width, config.width, true, options),
      key(config.width, config.width, true, options),
      value(config.width, config.width, true, options),
      heads_(config.heads),
      dropout_(config.attention_dropout) {
  register_module("query", query);
  register_module("key", key);
  register_module("value", value);
}

Tensor BertSelfAttention::forward(const Tensor& x, const Tensor& mask) const {
  const int64_t batch = x.size(0), time = x.size(1), width = x.size(2);
  const auto parts = [&](const nn::Linear& projection) {
    return projection(x).reshape({batch, time, heads_, width / heads_}).permute({0, 2, 1, 3});
  };
  nn::AttentionOptions options;
  options.mask = mask;
  options.dropout = is_training() ? dropout_ : 0;
  const Tensor y = nn::scaled_dot_product_attention(parts(query), parts(key), parts(value), options);
  return y.permute({0, 2, 1, 3}).reshape({batch, time, width});
}

BertOutput::BertOutput(int64_t in, const BertConfig& config, const Options& options)
    : dense(in, config.width, true, options),
      norm(config.width, config.norm_eps, true, true, options),
      dropout_(config.dropout) {
  register_module("dense", dense);
  register_module("LayerNorm", norm);
  register_module("dropout", dropout_);
}

Tensor BertOutput::forward(const Tensor& branch, const Tensor& x) const { return norm(dropout_(dense(branch)) + x); }

BertAttention::BertAttention(const BertConfig& config, const Options& options)
    : self(config, options), output(config.width, config, options) {
  register_module("self", self);
  register_module("output", output);
}

Tensor BertAttention::forward(const Tensor& x, const Tensor& mask) const { return output(self(x, mask), x); }

BertDense::BertDense(int64_t out, bool has_norm, const BertConfig& config, const Options& options)
    : dense(config.width, out, true, options), activation_(config.activation) {
  register_module("dense", dense);
  if (has_norm) register_module("LayerNorm", norm.emplace(out, config.norm_eps, true, true, options));
}

Tensor BertDense::forward(const Tensor& x) const {
  const Tensor y = bert_activation(dense(x), activation_);
  return norm ? (*norm)(y) : y;
}

BertLayer::BertLayer(const BertConfig& config, const Options& options)
    : attention(config, options),
      intermediate(config.inner, false, config, options),
      output(config.inner, config, options) {
  register_module("attention", attention);
  register_module("intermediate", intermediate);
  register_module("output", output);
}

Tensor BertLayer::forward(const Tensor& x, const Tensor& mask) const {
  const Tensor attended = attention(x, mask);
  return output(intermediate(attended), attended);
}

BertEncoder::BertEncoder(const BertConfig& config, const Options& options) {
  for (int64_t i = 0; i < config.layers; ++i) layer.emplace(config, options);
  register_module("layer", layer);
}

Tensor BertEncoder::forward(const Tensor& x, const Tensor& mask) const {
  Tensor y = x;
  for (size_t i = 0; i < layer.size(); ++i) y = layer[i](y, mask);
  return y;
}

BertPooler::BertPooler(const BertConfig& config, const Options& options)
    : dense(config.width, config.width, true, options) {
  register_module("dense", dense);
}

Tensor BertPooler::forward(const Tensor& states) const { return tanh(dense(states.select(1, 0))); }

BertModel::BertModel(const BertConfig& config, const Options& options)
    : embeddings(checked_bert(config), options), encoder(config, options) {
  register_module("embeddings", embeddings);
  register_module("encoder", encoder);
  if (config.head != BertHead::masked_lm) register_module("pooler", pooler.emplace(config, options));
}

Tensor BertModel::forward(const BertTokens& tokens) const {
  Tensor mask = tokens.mask;
  if (mask.defined()) {
    if (mask.dtype() != DType::boolean) mask = mask != 0;
    mask = mask.unsqueeze(1).unsqueeze(1);
  }
  return encoder(embeddings(tokens), mask);
}

BertPredictions::BertPredictions(const BertConfig& config, const Options& options)
    : transform(config.width, true, config, options), bias(zeros({config.vocabulary}, options)) {
  register_parameter("bias", bias);
  register_module("transform", transform);
}

Tensor BertPredictions::forward(const Tensor& states, const Tensor& words) const {
  return nn::linear(transform(states), words, bias);
}

BertMaskedHead::BertMaskedHead(const BertConfig& config, const Options& options) : predictions(config, options) {
  register_module("predictions", predictions);
}

Bert::Bert(const BertConfig& config, const Options& options)
    : bert(config, options),
      config_(config),
      classifier_dropout_(config.classifier_dropout < 0 ? config.dropout : config.classifier_dropout) {
  register_module("bert", bert);
  if (config.head == BertHead::masked_lm) register_module("cls", cls.emplace(config, options));
  if (config.head == BertHead::classifier) {
    register_module("dropout", classifier_dropout_);
    register_module("classifier", classifier.emplace(config.width, config.classes(), true, options));
  }
  initialise(*this);
}

std::unique_ptr<Bert> Bert::load(const std::filesystem::path& folder, const BertLoadOptions& options) {
  const io::OpenFolder open("hugging_face", folder);
  std::unique_ptr<Bert> model = load(open, options);
  io::require_unchanged_model(open);
  return model;
}

std::unique_ptr<Bert> Bert::load(const io::OpenFolder& open, const BertLoadOptions& options) {
  const io::HuggingFaceFolder files = io::load_folder(open, options.options.device);
  const base::Scope scope(open.path().string());  // messages name the folder
  BertConfig config = BertConfig::from_json(files.config);
  if (options.head) config.head = *options.head;
  if (!options.labels.empty()) config.labels = options.labels;
  if (options.dropout) config.set_dropout(*options.dropout);
  const nn::StateDict state = by_own_names(files.tensors, options.options.dtype.value_or(DType::f32));
  require_weights(config, open.path().string(), shapes_of(state));
  auto model = std::make_unique<Bert>(config, options.options);
  take_weights(*model, state);
  return model;
}

void Bert::save(const std::filesystem::path& folder) const {
  const NoGrad reading;
  io::save_folder(folder, config_.to_json(), weights());
}

void Bert::require_fitting(const BertTokens& tokens) const {
  if (tokens.ids.dim() != 2) fail("bert", "takes ids (batch, time), got {}", ir::to_string(tokens.ids.shape()));
  if (tokens.ids.size(1) > config_.positions)
    fail("bert", "a text has {} tokens, the model reads {} at most", tokens.ids.size(1), config_.positions);
  for (const auto& [name, tensor] : {std::pair("mask", &tokens.mask), std::pair("types", &tokens.types)}) {
    if (tensor->defined() && tensor->shape() != tokens.ids.shape())
      fail("bert", "the {} is {}, the ids are {}", name, ir::to_string(tensor->shape()),
           ir::to_string(tokens.ids.shape()));
  }
}

Tensor Bert::forward(const BertTokens& tokens) const {
  require_fitting(tokens);
  return bert(tokens);
}

Tensor Bert::pooled(const BertTokens& tokens) const {
  if (!bert.pooler) fail("bert", "with the head of masked words there is no pooler; load the model with another head");
  return (*bert.pooler)(forward(tokens));
}

Tensor Bert::embedding(const BertTokens& tokens) const {
  const Tensor states = forward(tokens);
  if (!tokens.mask.defined()) return states.mean({1});
  const Tensor weights = tokens.mask.to(states.dtype()).unsqueeze(2);
  return (states * weights).sum({1}) / weights.sum({1}).clamp_min(1);
}

Tensor Bert::logits(const BertTokens& tokens) const {
  if (cls) return (*cls)(forward(tokens), bert.embeddings.word_embeddings.weight);
  if (classifier) return (*classifier)(classifier_dropout_(pooled(tokens)));
  fail("bert", "this model has no head; load it with one");
}

Tensor Bert::loss(const BertTokens& tokens, const Tensor& targets) const {
  const Tensor made = logits(tokens);
  if (classifier) return nn::cross_entropy(made, targets);
  return nn::cross_entropy(made.reshape({-1, config_.vocabulary}), targets.reshape({-1}), {.ignore_index = -100});
}

}  // namespace tenon::models
