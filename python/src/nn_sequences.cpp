// Recurrent layers, transformers, attention, losses: modules with more than one input or result.

#include "nn.h"
#include "sizes.h"

namespace tenon::python {
namespace {

using namespace py::literals;

template <typename M, typename Base = nn::Module>
using ModuleClass = py::class_<M, Base, std::shared_ptr<M>>;

Tensor or_none(const std::optional<Tensor>& tensor) { return tensor.value_or(Tensor()); }

// ---- recurrent ----

nn::RecurrentState state_of(const py::object& state, bool is_lstm) {
  if (state.is_none()) return {};
  if (is_tensor(state.ptr())) return {tensor_in(state.ptr()), {}};
  const std::vector<Tensor> both = Convert<std::vector<Tensor>>::from(state.ptr());
  if (!is_lstm || both.size() != 2) throw_type_error("a state is a tensor, and of LSTM a pair of tensors");
  return {both[0], both[1]};
}

template <typename M>
py::object run_recurrent(const M& self, const Tensor& x, const py::object& state,
                         const std::optional<Tensor>& lengths) {
  constexpr bool kIsLstm = std::is_same_v<M, nn::LSTM>;
  const nn::RecurrentOutput output = self(x, state_of(state, kIsLstm), or_none(lengths));
  if constexpr (kIsLstm) return py::make_tuple(output.y, py::make_tuple(output.state.h, output.state.c));
  return py::make_tuple(output.y, output.state.h);
}

template <typename M>
void bind_recurrent(py::module_& m, const char* name, const char* doc) {
  ModuleClass<M>(m, name, doc)
      .def(py::init([](int64_t in, int64_t hidden, int64_t layers, bool bias, bool batch_first, double dropout,
                       bool bidirectional, const std::string& nonlinearity, int64_t proj_size, const py::object& device,
                       std::optional<DType> dtype) {
             return std::make_shared<M>(in, hidden,
                                        nn::RecurrentOptions{layers, bias, batch_first, dropout, bidirectional,
                                                             nonlinearity, layer_options(dtype, device), proj_size});
           }),
           "input_size"_a, "hidden_size"_a, "num_layers"_a = 1, "bias"_a = true, "batch_first"_a = false,
           "dropout"_a = 0.0, "bidirectional"_a = false, "nonlinearity"_a = "tanh", "proj_size"_a = 0,
           "device"_a = py::none(), "dtype"_a = py::none())
      .def("__call__", &run_recurrent<M>, "input"_a, "hx"_a = py::none(), "lengths"_a = py::none())
      .def("forward", &run_recurrent<M>, "input"_a, "hx"_a = py::none(), "lengths"_a = py::none());
}

// ---- transformers ----

nn::TransformerOptions transformer_options(int64_t feedforward, double dropout, const std::string& activation,
                                           double eps, bool batch_first, bool norm_first, bool bias,
                                           const py::object& device, std::optional<DType> dtype) {
  return {feedforward, dropout, activation, eps, batch_first, norm_first, bias, layer_options(dtype, device)};
}

// One layer, and several behind each other: encoders and decoders are made of the same numbers.
template <typename M>
ModuleClass<M> transformer_layer(py::module_& m, const char* name, const char* doc) {
  return ModuleClass<M>(m, name, doc)
      .def(py::init([](int64_t width, int64_t heads, int64_t feedforward, double dropout, const std::string& activation,
                       double eps, bool batch_first, bool norm_first, bool bias, const py::object& device,
                       std::optional<DType> dtype) {
             return std::make_shared<M>(width, heads,
                                        transformer_options(feedforward, dropout, activation, eps, batch_first,
                                                            norm_first, bias, device, dtype));
           }),
           "d_model"_a, "nhead"_a, "dim_feedforward"_a = 2048, "dropout"_a = 0.1, "activation"_a = "relu",
           "layer_norm_eps"_a = 1e-5, "batch_first"_a = false, "norm_first"_a = false, "bias"_a = true,
           "device"_a = py::none(), "dtype"_a = py::none());
}
template <typename M>
ModuleClass<M> transformer_stack(py::module_& m, const char* name, const char* doc) {
  return ModuleClass<M>(m, name, doc)
      .def(py::init([](int64_t layers, int64_t width, int64_t heads, int64_t feedforward, double dropout,
                       const std::string& activation, double eps, bool batch_first, bool norm_first, bool bias,
                       bool final_norm, const py::object& device, std::optional<DType> dtype) {
             return std::make_shared<M>(layers, width, heads,
                                        transformer_options(feedforward, dropout, activation, eps, batch_first,
                                                            norm_first, bias, device, dtype),
                                        final_norm);
           }),
           "num_layers"_a, "d_model"_a, "nhead"_a, "dim_feedforward"_a = 2048, "dropout"_a = 0.1,
           "activation"_a = "relu", "layer_norm_eps"_a = 1e-5, "batch_first"_a = false, "norm_first"_a = false,
           "bias"_a = true, "final_norm"_a = false, "device"_a = py::none(), "dtype"_a = py::none());
}

nn::AttentionMasks masks(const std::optional<Tensor>& mask, const std::optional<Tensor>& padding, bool causal) {
  return {or_none(mask), or_none(padding), causal};
}

template <typename M>
Tensor decoded(const M& self, const Tensor& x, const Tensor& memory, const std::optional<Tensor>& mask,
               const std::optional<Tensor>& memory_mask, const std::optional<Tensor>& padding,
               const std::optional<Tensor>& memory_padding, bool causal, bool memory_causal) {
  return self(x, memory, masks(mask, padding, causal), masks(memory_mask, memory_padding, memory_causal));
}

void bind_attention(py::module_& m) {
  auto attention = ModuleClass<nn::MultiheadAttention>(m, "MultiheadAttention", "Attention of several heads.");
  attention
      .def(py::init([](int64_t width, int64_t heads, double dropout, bool bias, bool batch_first,
                       const py::object& device, std::optional<DType> dtype) {
             return std::make_shared<nn::MultiheadAttention>(width, heads, dropout, bias, batch_first,
                                                             layer_options(dtype, device));
           }),
           "embed_dim"_a, "num_heads"_a, "dropout"_a = 0.0, "bias"_a = true, "batch_first"_a = false,
           "device"_a = py::none(), "dtype"_a = py::none())
      .def(
          "__call__",
          [](const nn::MultiheadAttention& self, const Tensor& query, const Tensor& key, const Tensor& value,
             const std::optional<Tensor>& padding, bool need_weights, const std::optional<Tensor>& mask, bool averaged,
             bool causal) {
            const nn::AttentionMasks who = masks(mask, padding, causal);
            Tensor result = self(query, key, value, who);
            if (!need_weights) return py::make_tuple(result, py::none());
            return py::make_tuple(result, self.weights(query, key, who, averaged));
          },
          "query"_a, "key"_a, "value"_a, "key_padding_mask"_a = py::none(), "need_weights"_a = false,
          "attn_mask"_a = py::none(), "average_attn_weights"_a = true, "is_causal"_a = false,
          "The result, and the weights of attention without dropout, or None unless they are asked for.");
  define_member(attention, "in_proj_weight", &nn::MultiheadAttention::in_proj_weight);
  define_member(attention, "in_proj_bias", &nn::MultiheadAttention::in_proj_bias);

  transformer_layer<nn::TransformerEncoderLayer>(m, "TransformerEncoderLayer",
                                                 "Attention and an MLP, each with its norm.")
      .def(
          "__call__",
          [](const nn::TransformerEncoderLayer& self, const Tensor& x, const std::optional<Tensor>& mask,
             const std::optional<Tensor>& padding, bool causal) { return self(x, masks(mask, padding, causal)); },
          "src"_a, "src_mask"_a = py::none(), "src_key_padding_mask"_a = py::none(), "is_causal"_a = false);
  transformer_layer<nn::TransformerDecoderLayer>(m, "TransformerDecoderLayer",
                                                 "Attention to itself and to a memory, and an MLP, each with its norm.")
      .def("__call__", &decoded<nn::TransformerDecoderLayer>, "tgt"_a, "memory"_a, "tgt_mask"_a = py::none(),
           "memory_mask"_a = py::none(), "tgt_key_padding_mask"_a = py::none(),
           "memory_key_padding_mask"_a = py::none(), "tgt_is_causal"_a = false, "memory_is_causal"_a = false);
  transformer_stack<nn::TransformerEncoder>(m, "TransformerEncoder", "Encoder layers one behind the other.")
      .def(
          "__call__",
          [](const nn::TransformerEncoder& self, const Tensor& x, const std::optional<Tensor>& mask,
             const std::optional<Tensor>& padding, bool causal) { return self(x, masks(mask, padding, causal)); },
          "src"_a, "mask"_a = py::none(), "src_key_padding_mask"_a = py::none(), "is_causal"_a = false);
  transformer_stack<nn::TransformerDecoder>(m, "TransformerDecoder", "Decoder layers one behind the other.")
      .def("__call__", &decoded<nn::TransformerDecoder>, "tgt"_a, "memory"_a, "tgt_mask"_a = py::none(),
           "memory_mask"_a = py::none(), "tgt_key_padding_mask"_a = py::none(),
           "memory_key_padding_mask"_a = py::none(), "tgt_is_causal"_a = false, "memory_is_causal"_a = false);
  py::class_<nn::KvCache>(m, "KvCache", "Keys and values of the tokens seen so far.")
      .def(py::init([](int64_t batch, int64_t heads, int64_t length, int64_t width) {
             return nn::KvCache(batch, heads, length, width);
           }),
           "batch"_a, "kv_heads"_a, "max_length"_a, "head_width"_a)
      .def("append", py::overload_cast<const Tensor&, const Tensor&>(&nn::KvCache::append), "keys"_a, "values"_a)
      .def("advance", &nn::KvCache::advance, "tokens"_a)
      .def("rewind", &nn::KvCache::rewind, "length"_a = 0)
      .def("mask", &nn::KvCache::mask, "tokens"_a, "causal"_a = true)
      .def("positions", &nn::KvCache::positions, "tokens"_a)
      .def_property_readonly("keys", &nn::KvCache::keys)
      .def_property_readonly("values", &nn::KvCache::values)
      .def_property_readonly("position", &nn::KvCache::position);
  ModuleClass<nn::RotaryEmbedding>(m, "RotaryEmbedding", "Turns pairs of elements by angles that grow with positions.")
      .def(py::init([](int64_t width, int64_t positions, double theta, bool interleaved) {
             return std::make_shared<nn::RotaryEmbedding>(
                 width, positions, theta, interleaved ? nn::RotaryLayout::interleaved : nn::RotaryLayout::halves);
           }),
           "width"_a, "max_positions"_a, "theta"_a = 10000.0, "interleaved"_a = false)
      .def(
          "__call__", [](const nn::RotaryEmbedding& self, const Tensor& x, int64_t offset) { return self(x, offset); },
          "x"_a, "offset"_a = 0);
}

// ---- losses ----

template <typename M, typename Make, typename... Extra>
void bind_loss(py::module_& m, const char* name, const char* doc, Make make, const Extra&... extra) {
  ModuleClass<M>(m, name, doc)
      .def(py::init(make), extra...)
      .def(
          "__call__", [](const M& self, const Tensor& x, const Tensor& target) { return self(x, target); }, "input"_a,
          "target"_a);
}
template <typename M>
void bind_plain_loss(py::module_& m, const char* name, const char* doc) {
  bind_loss<M>(
      m, name, doc, [](const std::string& reduction) { return std::make_shared<M>(reduction_of(reduction)); },
      "reduction"_a = "mean");
}
template <typename M>
void bind_number_loss(py::module_& m, const char* name, const char* number, const char* doc) {
  bind_loss<M>(
      m, name, doc,
      [](const std::string& reduction, double value) { return std::make_shared<M>(value, reduction_of(reduction)); },
      "reduction"_a = "mean", py::arg(number) = 1.0);
}
template <typename M>
void bind_pair_loss(py::module_& m, const char* name, const char* doc) {
  ModuleClass<M>(m, name, doc)
      .def(py::init([](double margin, const std::string& reduction) {
             return std::make_shared<M>(margin, reduction_of(reduction));
           }),
           "margin"_a = 0.0, "reduction"_a = "mean")
      .def(
          "__call__",
          [](const M& self, const Tensor& a, const Tensor& b, const Tensor& target) { return self(a, b, target); },
          "input1"_a, "input2"_a, "target"_a);
}

void bind_losses(py::module_& m) {
  bind_plain_loss<nn::MSELoss>(m, "MSELoss", "The mean of squared differences.");
  bind_plain_loss<nn::L1Loss>(m, "L1Loss", "The mean of absolute differences.");
  bind_plain_loss<nn::SoftMarginLoss>(m, "SoftMarginLoss", "log(1 + exp(-target * x)).");
  bind_number_loss<nn::HuberLoss>(m, "HuberLoss", "delta", "Squared near 0, absolute beyond delta.");
  bind_number_loss<nn::SmoothL1Loss>(m, "SmoothL1Loss", "beta", "Squared near 0, absolute beyond beta.");
  bind_number_loss<nn::HingeEmbeddingLoss>(m, "HingeEmbeddingLoss", "margin", "x, or max(0, margin - x).");
  bind_pair_loss<nn::CosineEmbeddingLoss>(m, "CosineEmbeddingLoss", "1 - cos(a, b), or max(0, cos(a, b) - margin).");
  bind_pair_loss<nn::MarginRankingLoss>(m, "MarginRankingLoss", "max(0, margin - target * (a - b)).");
  bind_loss<nn::KLDivLoss>(
      m, "KLDivLoss", "target * (log(target) - x).",
      [](const std::string& reduction, bool log_target) {
        return std::make_shared<nn::KLDivLoss>(reduction_of(reduction), log_target);
      },
      "reduction"_a = "mean", "log_target"_a = false);
  const auto classes = [](const std::optional<Tensor>& weight, int64_t ignore_index, const std::string& reduction,
                          double smoothing) {
    return nn::CrossEntropyOptions{weight.value_or(Tensor()), ignore_index, reduction_of(reduction), smoothing};
  };
  bind_loss<nn::CrossEntropyLoss>(
      m, "CrossEntropyLoss", "-log of the softmax of logits at the target classes.",
      [classes](const std::optional<Tensor>& weight, int64_t ignore_index, const std::string& reduction,
                double smoothing) {
        return std::make_shared<nn::CrossEntropyLoss>(classes(weight, ignore_index, reduction, smoothing));
      },
      "weight"_a = py::none(), "ignore_index"_a = -100, "reduction"_a = "mean", "label_smoothing"_a = 0.0);
  bind_loss<nn::NLLLoss>(
      m, "NLLLoss", "-x at the target classes.",
      [classes](const std::optional<Tensor>& weight, int64_t ignore_index, const std::string& reduction) {
        return std::make_shared<nn::NLLLoss>(classes(weight, ignore_index, reduction, 0));
      },
      "weight"_a = py::none(), "ignore_index"_a = -100, "reduction"_a = "mean");
  bind_loss<nn::BCELoss>(
      m, "BCELoss", "The cross-entropy of probabilities.",
      [](const std::optional<Tensor>& weight, const std::string& reduction) {
        return std::make_shared<nn::BCELoss>(
            nn::BinaryCrossEntropyOptions{or_none(weight), Tensor(), reduction_of(reduction)});
      },
      "weight"_a = py::none(), "reduction"_a = "mean");
  bind_loss<nn::BCEWithLogitsLoss>(
      m, "BCEWithLogitsLoss", "The cross-entropy of sigmoids.",
      [](const std::optional<Tensor>& weight, const std::string& reduction, const std::optional<Tensor>& pos_weight) {
        return std::make_shared<nn::BCEWithLogitsLoss>(
            nn::BinaryCrossEntropyOptions{or_none(weight), or_none(pos_weight), reduction_of(reduction)});
      },
      "weight"_a = py::none(), "reduction"_a = "mean", "pos_weight"_a = py::none());
  bind_loss<nn::MultiMarginLoss>(
      m, "MultiMarginLoss", "The mean over other classes of max(0, margin - x[target] + x[other])^p.",
      [](double p, double margin, const std::optional<Tensor>& weight, const std::string& reduction) {
        return std::make_shared<nn::MultiMarginLoss>(
            nn::MultiMarginOptions{p, margin, or_none(weight), reduction_of(reduction)});
      },
      "p"_a = 1.0, "margin"_a = 1.0, "weight"_a = py::none(), "reduction"_a = "mean");
  ModuleClass<nn::TripletMarginLoss>(m, "TripletMarginLoss", "max(0, margin + |a - p| - |a - n|).")
      .def(py::init([](double margin, double p, double eps, bool swap, const std::string& reduction) {
             return std::make_shared<nn::TripletMarginLoss>(
                 nn::TripletMarginOptions{margin, p, eps, swap, reduction_of(reduction)});
           }),
           "margin"_a = 1.0, "p"_a = 2.0, "eps"_a = 1e-6, "swap"_a = false, "reduction"_a = "mean")
      .def(
          "__call__",
          [](const nn::TripletMarginLoss& self, const Tensor& anchor, const Tensor& positive, const Tensor& negative) {
            return self(anchor, positive, negative);
          },
          "anchor"_a, "positive"_a, "negative"_a);
}

}  // namespace

void bind_sequence_layers(py::module_& m) {
  bind_recurrent<nn::RNN>(m, "RNN", "h = tanh(W x + U h + b), step by step.");
  bind_recurrent<nn::LSTM>(m, "LSTM", "Long short-term memory.");
  bind_recurrent<nn::GRU>(m, "GRU", "Gated recurrent units.");
  bind_attention(m);
  bind_losses(m);
}

}  // namespace tenon::python
