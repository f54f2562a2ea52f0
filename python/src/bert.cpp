// BERT, and what tells texts apart with one.

#include "bind.h"
#include "model_fields.h"

namespace tenon::python {
namespace {

using models::Bert, models::BertConfig, models::BertHead, models::BertTokens, models::TextClass, models::TextClassifier;
using MaybeTensor = std::optional<Tensor>;
using SharedTokenizer = std::shared_ptr<text::Tokenizer>;

BertHead head_named(const std::string& name) {
  return one_named("head", name, "none", BertHead::none, "masked_lm", BertHead::masked_lm, "classifier",
                   BertHead::classifier);
}

const Setters<BertConfig>& bert_fields() {
  using C = BertConfig;
  static const auto fields = fields_of<C>(
      "vocabulary", &C::vocabulary, "positions", &C::positions, "types", &C::types, "width", &C::width, "layers",
      &C::layers, "heads", &C::heads, "inner", &C::inner, "norm_eps", &C::norm_eps, "activation", &C::activation,
      "padding_token", &C::padding_token, "labels", &C::labels, "head",
      [](C& config, const py::handle& value) { config.head = head_named(py::cast<std::string>(value)); }, "dropout",
      [](C& config, const py::handle& value) { config.set_dropout(py::cast<double>(value)); });
  return fields;
}

BertTokens tokens_of(const Tensor& ids, const MaybeTensor& mask, const MaybeTensor& types) {
  return {ids, mask.value_or(Tensor()), types.value_or(Tensor())};
}

/// A method of ids, mask and types.
template <Tensor (Bert::*Method)(const BertTokens&) const>
auto of_tokens() {
  return [](const Bert& self, const Tensor& ids, const MaybeTensor& mask, const MaybeTensor& types) {
    return (self.*Method)(tokens_of(ids, mask, types));
  };
}

void bind_model(Scope& m, const py::object& base) {
  Class<Bert>(m, "Bert", base,
              "BERT in any size: Bert(), Bert('large'), Bert(layers=2, heads=2, width=64, head='classifier').")
      .init("size='base', device=None, dtype=None",
            [](const std::string& size, const Device& device, std::optional<DType> dtype, const py::kwargs& fields) {
              return std::make_shared<Bert>(
                  config_of(one_named("size", size, "base", BertConfig::base, "large", BertConfig::large)(), fields,
                            bert_fields()),
                  options_of(dtype, device));
            })
      .def_static("load(folder, head=None, labels=[], dropout=None, device=None)",
                  "From a folder as transformers writes it; another head than its own has new weights.",
                  [](const std::filesystem::path& folder, const std::optional<std::string>& head,
                     const std::vector<std::string>& labels, std::optional<double> dropout, const Device& device) {
                    models::BertLoadOptions options{{}, labels, dropout, options_of({}, device)};
                    if (head) options.head = head_named(*head);
                    return Bert::load(folder, options);
                  })
      .def("save(folder)", "Writes a folder that transformers reads.", released(&Bert::save))
      .def("_forward_of_library(ids, mask=None, types=None)",
           "What the last layer makes of each token: (batch, time, width).", of_tokens<&Bert::forward>())
      .def("pooled(ids, mask=None, types=None)", "The pooler's: (batch, width).", of_tokens<&Bert::pooled>())
      .def("embedding(ids, mask=None, types=None)", "The mean of the states of a text's tokens: (batch, width).",
           of_tokens<&Bert::embedding>())
      .def("logits(ids, mask=None, types=None)", "What the head makes.", of_tokens<&Bert::logits>())
      .def("loss(ids, targets, mask=None, types=None)",
           "The mean cross-entropy of masked words, -100 where none is, or of classes.",
           [](const Bert& self, const Tensor& ids, const Tensor& targets, const MaybeTensor& mask,
              const MaybeTensor& types) { return self.loss(tokens_of(ids, mask, types), targets); })
      .property("labels", [](const Bert& self) { return self.config().labels; })
      .property("config", [](const Bert& self) { return self.config().to_json(); });
}

void bind_classifier(Scope& m) {
  Class<TextClass>(m, "TextClass", "What a text is most likely of.")
      .property("label", &TextClass::label)
      .property("probability", &TextClass::probability)
      .property("probabilities", &TextClass::probabilities)
      .def("__repr__", [](const TextClass& self) {
        return fmt::format("TextClass({}, {:.4f})", py::cast<std::string>(py::repr(py::cast(self.label))),
                           self.probability);
      });
  Class<TextClassifier>(m, "TextClassifier",
                        "Tells texts apart: TextClassifier.load('runs/reviews').classify('Very good.').label")
      .def_static("load(folder, device=None)", "From a folder of transformers, or a run of training that has finished.",
                  [](const std::filesystem::path& folder, const Device& device) {
                    return std::make_shared<TextClassifier>(TextClassifier::load(folder, device));
                  })
      .def("classify(texts, batch=32, seconds=[])",
           "The class of a text, or of each of several; of pairs, where there are seconds.",
           [](const TextClassifier& self, const py::object& texts, int64_t batch,
              const std::vector<std::string>& seconds) -> py::object {
             const bool is_one = PyUnicode_Check(texts.ptr());
             const auto list = is_one ? std::vector<std::string>{py::cast<std::string>(texts)}
                                      : py::cast<std::vector<std::string>>(texts);
             const auto found = computed([&] { return self.classify(list, batch, seconds); });
             return is_one ? py::cast(found[0]) : py::cast(found);
           })
      .property("labels", &TextClassifier::labels);
  m.def("bert_tokens(tokenizer, texts, longest=512, seconds=[], device=None)",
        "The ids, mask and types of texts, as Bert takes them.",
        [](const SharedTokenizer& tokenizer, const std::vector<std::string>& texts, int64_t longest,
           const std::vector<std::string>& seconds, const Device& device) {
          const auto pieces = models::as_wordpiece(tokenizer, "the tokenizer");
          const BertTokens made = models::bert_tokens(*pieces, texts, longest, seconds, device);
          return py::make_tuple(made.ids, made.mask, made.types);
        });
}

}  // namespace

void bind_bert(Scope& m, const py::object& base) {
  bind_model(m, base);
  bind_classifier(m);
}

}  // namespace tenon::python
