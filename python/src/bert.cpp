// BERT, and what tells texts apart with one.

#include "bind.h"
#include "model_fields.h"

namespace tenon::python {
namespace {

using namespace py::literals;
using models::Bert, models::BertConfig, models::BertHead, models::BertTokens, models::TextClass, models::TextClassifier;
using MaybeTensor = std::optional<Tensor>;
using SharedTokenizer = std::shared_ptr<text::Tokenizer>;

BertHead head_named(const std::string& name) {
  if (name == "none") return BertHead::none;
  if (name == "masked_lm") return BertHead::masked_lm;
  if (name == "classifier") return BertHead::classifier;
  throw_value_error("there is no head '" + name + "'; there are none, masked_lm and classifier");
}

BertConfig bert_config(const std::string& size) {
  if (size == "base") return BertConfig::base();
  if (size == "large") return BertConfig::large();
  throw_value_error("there is no size '" + size + "'; there are base and large");
}

const Setters<BertConfig>& bert_fields() {
  using C = BertConfig;
  static const Setters<C> fields{
      {"vocabulary", setter(&C::vocabulary)},
      {"positions", setter(&C::positions)},
      {"types", setter(&C::types)},
      {"width", setter(&C::width)},
      {"layers", setter(&C::layers)},
      {"heads", setter(&C::heads)},
      {"inner", setter(&C::inner)},
      {"norm_eps", setter(&C::norm_eps)},
      {"activation", setter(&C::activation)},
      {"padding_token", setter(&C::padding_token)},
      {"labels", setter(&C::labels)},
      {"head", [](C& config, const py::handle& value) { config.head = head_named(py::cast<std::string>(value)); }},
      {"dropout", [](C& config, const py::handle& value) { config.set_dropout(py::cast<double>(value)); }}};
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
  const auto no = py::none();
  Class<Bert>(m, "Bert", base,
              "BERT in any size: Bert(), Bert('large'), Bert(layers=2, heads=2, width=64, head='classifier').")
      .init(
          [](const std::string& size, const py::object& device, std::optional<DType> dtype, const py::kwargs& fields) {
            return std::make_shared<Bert>(config_of(bert_config(size), fields, bert_fields()),
                                          layer_options(dtype, device));
          },
          "size"_a = "base", "device"_a = no, "dtype"_a = no)
      .def_static(
          "load",
          [](const std::filesystem::path& folder, const std::optional<std::string>& head,
             const std::vector<std::string>& labels, std::optional<double> dropout, const py::object& device) {
            models::BertLoadOptions options{{}, labels, dropout, layer_options({}, device)};
            if (head) options.head = head_named(*head);
            return std::shared_ptr<Bert>(Bert::load(folder, options));
          },
          "folder"_a, "head"_a = no, "labels"_a = std::vector<std::string>{}, "dropout"_a = no, "device"_a = no,
          "From a folder as transformers writes it; another head than its own has new weights.")
      .def(
          "save",
          [](const Bert& self, const std::filesystem::path& folder) {
            const Released others_run;
            self.save(folder);
          },
          "folder"_a, "Writes a folder that transformers reads.")
      .def("_forward_of_library", of_tokens<&Bert::forward>(), "ids"_a, "mask"_a = no, "types"_a = no,
           "What the last layer makes of each token: (batch, time, width).")
      .def("pooled", of_tokens<&Bert::pooled>(), "ids"_a, "mask"_a = no, "types"_a = no,
           "The pooler's: (batch, width).")
      .def("embedding", of_tokens<&Bert::embedding>(), "ids"_a, "mask"_a = no, "types"_a = no,
           "The mean of the states of a text's tokens: (batch, width).")
      .def("logits", of_tokens<&Bert::logits>(), "ids"_a, "mask"_a = no, "types"_a = no, "What the head makes.")
      .def(
          "loss",
          [](const Bert& self, const Tensor& ids, const Tensor& targets, const MaybeTensor& mask,
             const MaybeTensor& types) { return self.loss(tokens_of(ids, mask, types), targets); },
          "ids"_a, "targets"_a, "mask"_a = no, "types"_a = no,
          "The mean cross-entropy of masked words, -100 where none is, or of classes.")
      .def_property_readonly("labels", [](const Bert& self) { return self.config().labels; })
      .def_property_readonly("config", [](const Bert& self) { return self.config().to_json(); });
}

void bind_classifier(Scope& m) {
  Class<TextClass>(m, "TextClass", "What a text is most likely of.")
      .def_readonly("label", &TextClass::label)
      .def_readonly("probability", &TextClass::probability)
      .def_readonly("probabilities", &TextClass::probabilities)
      .def("__repr__", [](const TextClass& self) {
        return fmt::format("TextClass({}, {:.4f})", py::cast<std::string>(py::repr(py::cast(self.label))),
                           self.probability);
      });
  Class<TextClassifier>(m, "TextClassifier",
                        "Tells texts apart: TextClassifier.load('runs/reviews').classify('Very good.').label")
      .def_static(
          "load",
          [](const std::filesystem::path& folder, const py::object& device) {
            return std::make_shared<TextClassifier>(TextClassifier::load(folder, Convert<Device>::from(device.ptr())));
          },
          "folder"_a, "device"_a = py::none(), "From a folder of transformers, or a run of training that has finished.")
      .def(
          "classify",
          [](const TextClassifier& self, const py::object& texts, int64_t batch,
             const std::vector<std::string>& seconds) -> py::object {
            const bool is_one = PyUnicode_Check(texts.ptr());
            const auto list = is_one ? std::vector<std::string>{py::cast<std::string>(texts)}
                                     : py::cast<std::vector<std::string>>(texts);
            std::vector<TextClass> found;
            {
              const Released others_run;
              found = self.classify(list, batch, seconds);
            }
            return is_one ? py::cast(found[0]) : py::cast(found);
          },
          "texts"_a, "batch"_a = 32, "seconds"_a = std::vector<std::string>{},
          "The class of a text, or of each of several; of pairs, where there are seconds.")
      .def_property_readonly("labels", &TextClassifier::labels);
  m.def(
      "bert_tokens",
      [](const SharedTokenizer& tokenizer, const std::vector<std::string>& texts, int64_t longest,
         const std::vector<std::string>& seconds, const py::object& device) {
        const auto pieces = models::as_wordpiece(tokenizer, "the tokenizer");
        const BertTokens made =
            models::bert_tokens(*pieces, texts, longest, seconds, Convert<Device>::from(device.ptr()));
        return py::make_tuple(made.ids, made.mask, made.types);
      },
      "tokenizer"_a, "texts"_a, "longest"_a = 512, "seconds"_a = std::vector<std::string>{}, "device"_a = py::none(),
      "The ids, mask and types of texts, as Bert takes them.");
}

}  // namespace

void bind_bert(Scope& m, const py::object& base) {
  bind_model(m, base);
  bind_classifier(m);
}

}  // namespace tenon::python
