// The sizes of Devlin et al. (2018), and config.json.

#include "tenon/models/bert_config.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tenon/base/error.h"
#include "tenon/models/json_config.h"

namespace tenon::models {
namespace {

using base::fail;

constexpr std::pair<BertHead, const char*> kArchitectures[] = {{BertHead::none, "BertModel"},
                                                               {BertHead::masked_lm, "BertForMaskedLM"},
                                                               {BertHead::classifier, "BertForSequenceClassification"}};

/// transformers' names of labels, which are keys of an object: "0", "1", ...
std::vector<std::string> read_labels(const JsonConfig& json) {
  constexpr size_t kMost = 1 << 20;
  const JsonConfig names = json.part("id2label");
  std::vector<std::string> labels;
  while (labels.size() < kMost) {
    std::string label;
    names.read(std::to_string(labels.size()).c_str(), label);
    if (label.empty()) break;
    labels.push_back(label);
  }
  return labels;
}

BertHead read_head(const JsonConfig& json) {
  std::vector<std::string> names;
  json.read("architectures", names);
  for (const std::string& name : names) {
    for (const auto& [head, known] : kArchitectures) {
      if (name == known) return head;
    }
    if (name == "BertForPreTraining") return BertHead::masked_lm;
    fail("bert",
         "config.json: the architecture {} is not known; there are BertModel, BertForMaskedLM, "
         "BertForPreTraining and BertForSequenceClassification",
         name);
  }
  return BertHead::none;
}

}  // namespace

BertConfig BertConfig::large() {
  BertConfig config;
  config.width = 1024;
  config.layers = 24;
  config.heads = 16;
  config.inner = 4096;
  return config;
}

BertConfig& BertConfig::set_dropout(double p) {
  dropout = attention_dropout = p;
  classifier_dropout = -1;
  return *this;
}

void BertConfig::check() const {
  for (const int64_t size : {vocabulary, positions, types, width, layers, heads, inner, classes()}) {
    if (size <= 0) fail("bert", "every size must be positive, one is {}", size);
  }
  require_sizes("bert", {{"vocabulary", vocabulary},
                         {"positions", positions},
                         {"types", types},
                         {"width", width},
                         {"heads", heads},
                         {"inner width", inner}});
  require_layers("bert", layers);
  if (width % heads != 0) fail("bert", "a width of {} cannot be divided among {} heads", width, heads);
  for (const double p : {dropout, attention_dropout, std::max(0.0, classifier_dropout)}) {
    if (!(p >= 0 && p < 1)) fail("bert", "dropout must lie in 0..1, got {}", p);
  }
  if (!(norm_eps >= 0)) fail("bert", "eps cannot be negative, got {}", norm_eps);
  if (padding_token >= vocabulary)
    fail("bert", "the padding token {} is not in a vocabulary of {}", padding_token, vocabulary);
  static const std::string known[] = {"gelu", "gelu_new", "relu", "silu"};
  if (std::ranges::find(known, activation) == std::end(known))
    fail("bert", "activation {} is not known; there are {}", activation, fmt::join(known, ", "));
}

BertConfig BertConfig::from_json(const std::string& text) {
  const JsonConfig json(text, "bert");
  BertConfig config;
  json.read("vocab_size", config.vocabulary);
  json.read("max_position_embeddings", config.positions);
  json.read("type_vocab_size", config.types);
  json.read("hidden_size", config.width);
  json.read("num_hidden_layers", config.layers);
  json.read("num_attention_heads", config.heads);
  json.read("intermediate_size", config.inner);
  json.read("hidden_dropout_prob", config.dropout);
  json.read("attention_probs_dropout_prob", config.attention_dropout);
  json.read("classifier_dropout", config.classifier_dropout);
  json.read("layer_norm_eps", config.norm_eps);
  json.read("hidden_act", config.activation);
  json.read_token("pad_token_id", config.padding_token);
  json.require("position_embedding_type", "absolute");
  json.require("is_decoder", false);
  json.require("add_cross_attention", false);
  json.require("tie_word_embeddings", true);
  config.head = read_head(json);
  if (std::vector<std::string> labels = read_labels(json); !labels.empty()) config.labels = std::move(labels);
  config.check();
  return config;
}

std::string BertConfig::to_json() const {
  const auto* architecture = std::ranges::find(kArchitectures, head, [](const auto& one) { return one.first; });
  nlohmann::ordered_json json = {{"architectures", {architecture->second}},
                                 {"model_type", "bert"},
                                 {"vocab_size", vocabulary},
                                 {"max_position_embeddings", positions},
                                 {"type_vocab_size", types},
                                 {"hidden_size", width},
                                 {"num_hidden_layers", layers},
                                 {"num_attention_heads", heads},
                                 {"intermediate_size", inner},
                                 {"hidden_dropout_prob", dropout},
                                 {"attention_probs_dropout_prob", attention_dropout},
                                 {"classifier_dropout", nullptr},
                                 {"layer_norm_eps", norm_eps},
                                 {"hidden_act", activation},
                                 {"pad_token_id", nullptr},
                                 {"position_embedding_type", "absolute"}};
  if (classifier_dropout >= 0) json["classifier_dropout"] = classifier_dropout;
  if (padding_token >= 0) json["pad_token_id"] = padding_token;
  if (head != BertHead::classifier) return json.dump(2) + "\n";
  nlohmann::ordered_json names = nlohmann::ordered_json::object(), ids = nlohmann::ordered_json::object();
  for (size_t i = 0; i < labels.size(); ++i) {
    names[std::to_string(i)] = labels[i];
    ids[labels[i]] = i;
  }
  json["id2label"] = names;
  json["label2id"] = ids;
  json["problem_type"] = "single_label_classification";
  return json.dump(2) + "\n";
}

}  // namespace tenon::models
