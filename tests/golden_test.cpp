// Runs recorded op cases, or a recorded model, on a device and compares values and gradients with PyTorch's.
//
// The cases (ops.json) and their tensors (ops.safetensors) are described in tests/golden/README.md. The golden tensors
// live on the reference device; only the op and its gradient run on the device under test. A case must be understood
// completely to count: an unknown op, an attribute or an input that the handler did not use, or a missing tensor fails
// the case.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/nearest.h"
#include "tenon/exec/eval.h"
#include "tenon/tenon.h"
#include "tenon/tensor/access.h"
#include "tests/golden_model.h"

namespace {

using nlohmann::json;
using tenon::Device;
using tenon::Dims;
using tenon::DType;
using tenon::Tensor;
using tenon::base::fail;

// ---- The cases ---------------------------------------------------------------------------------------------------

struct Case {
  std::string name, op;
  json attrs;
  std::vector<std::string> inputs, outputs, grad_outputs, grad_inputs;
};

Case case_of(const json& entry) {
  Case made{entry.at("name"), entry.at("op"), entry.at("attrs"), {}, {}, {}, {}};
  entry.at("inputs").get_to(made.inputs);
  entry.at("outputs").get_to(made.outputs);
  entry.at("grad_outputs").get_to(made.grad_outputs);
  entry.at("grad_inputs").get_to(made.grad_inputs);
  return made;
}

// ---- What a handler sees of a case -------------------------------------------------------------------------------

/// The inputs and attributes of a case; remembers which were used.
class Call {
 public:
  Call(std::vector<Tensor> inputs, const json& attrs) : inputs_(std::move(inputs)), attrs_(attrs) {}

  const Tensor& operator[](size_t k) {
    if (k >= inputs_.size()) fail("golden", "the op needs input {}, the case has {}", k, inputs_.size());
    inputs_used_ = std::max(inputs_used_, k + 1);
    return inputs_[k];
  }
  /// An undefined tensor where the case has no such input.
  Tensor optional(size_t k) { return k < inputs_.size() ? (*this)[k] : Tensor(); }
  const std::vector<Tensor>& all() {
    inputs_used_ = inputs_.size();
    return inputs_;
  }

  template <typename T>
  T get(const std::string& key) {
    const json* value = find(key);
    if (!value) fail("golden", "the op needs attribute {}", key);
    return value->get<T>();
  }
  template <typename T>
  T get(const std::string& key, T otherwise) {
    const json* value = find(key);
    return value ? value->get<T>() : otherwise;
  }
  template <typename T>
  std::optional<T> maybe(const std::string& key) {
    const json* value = find(key);
    return value ? std::optional<T>(value->get<T>()) : std::nullopt;
  }
  /// Written as an int, a list, or null for all, which Tenon spells as no dims.
  Dims dims(const std::string& key) {
    const json* value = find(key);
    if (!value) return {};
    if (value->is_number()) return {value->get<int64_t>()};
    const auto list = value->get<std::vector<int64_t>>();
    return Dims(list.begin(), list.end());
  }
  tenon::Number number(const std::string& key) {
    const json* value = find(key);
    if (!value) fail("golden", "the op needs attribute {}", key);
    if (value->is_number_integer()) return value->get<int64_t>();
    return value->get<double>();
  }

  std::string unused() const {
    for (const auto& [key, value] : attrs_.items()) {
      if (key != "note" && !attrs_used_.contains(key)) return fmt::format("attribute {} is not known for this op", key);
    }
    if (inputs_used_ == inputs_.size()) return "";
    return fmt::format("only {} of {} inputs are used", inputs_used_, inputs_.size());
  }

 private:
  /// Null where the attribute is absent or null: both mean PyTorch's default.
  const json* find(const std::string& key) {
    attrs_used_.insert(key);
    const auto found = attrs_.find(key);
    return found == attrs_.end() || found->is_null() ? nullptr : &*found;
  }

  std::vector<Tensor> inputs_;
  const json& attrs_;
  size_t inputs_used_ = 0;
  std::set<std::string> attrs_used_;
};

struct Results {
  std::vector<Tensor> tensors;
  Results(Tensor one) : tensors{std::move(one)} {}                                                  // NOLINT
  Results(std::pair<Tensor, Tensor> two) : tensors{std::move(two.first), std::move(two.second)} {}  // NOLINT
  Results(std::vector<Tensor> many) : tensors(std::move(many)) {}                                   // NOLINT
};

using Handler = std::function<Results(Call&)>;

// ---- The ops -----------------------------------------------------------------------------------------------------

Handler unary(Tensor (*op)(const Tensor&)) {
  return [op](Call& c) { return op(c[0]); };
}
Handler binary(Tensor (*op)(const tenon::Operand&, const tenon::Operand&)) {
  return [op](Call& c) { return op(c[0], c[1]); };
}
Handler reduction(Tensor (*op)(const Tensor&, const tenon::Axes&, bool)) {
  return [op](Call& c) { return op(c[0], c.dims("dim"), c.get("keepdim", false)); };
}
Handler spread(Tensor (*op)(const Tensor&, const tenon::Axes&, double, bool)) {
  return [op](Call& c) { return op(c[0], c.dims("dim"), c.get("correction", 1.0), c.get("keepdim", false)); };
}
Handler extreme(Tensor (*op)(const Tensor&, std::optional<int64_t>, bool)) {
  return [op](Call& c) { return op(c[0], c.maybe<int64_t>("dim"), c.get("keepdim", false)); };
}
Handler along(Tensor (*op)(const Tensor&, int64_t)) {
  return [op](Call& c) { return op(c[0], c.get<int64_t>("dim")); };
}
Handler triangle(Tensor (*op)(const Tensor&, int64_t)) {
  return [op](Call& c) { return op(c[0], c.get<int64_t>("diagonal", 0)); };
}

tenon::nn::Reduction reduction_of(Call& c) {
  const auto text = c.get<std::string>("reduction", "mean");
  if (text == "none") return tenon::nn::Reduction::none;
  if (text == "mean") return tenon::nn::Reduction::mean;
  if (text == "sum") return tenon::nn::Reduction::sum;
  if (text == "batchmean") return tenon::nn::Reduction::batchmean;
  fail("golden", "reduction {} is not known", text);
}
Handler loss(Tensor (*op)(const Tensor&, const Tensor&, tenon::nn::Reduction)) {
  return [op](Call& c) { return op(c[0], c[1], reduction_of(c)); };
}
Handler loss(Tensor (*op)(const Tensor&, const Tensor&, double, tenon::nn::Reduction), const char* parameter) {
  return [=](Call& c) { return op(c[0], c[1], c.get(parameter, 1.0), reduction_of(c)); };
}

tenon::nn::CrossEntropyOptions class_loss_options(Call& c) {
  return {.weight = c.optional(2),
          .ignore_index = c.get<int64_t>("ignore_index", -100),
          .reduction = reduction_of(c),
          .label_smoothing = 0};
}
Results cross_entropy(Call& c) {
  tenon::nn::CrossEntropyOptions options = class_loss_options(c);
  options.label_smoothing = c.get("label_smoothing", 0.0);
  return tenon::nn::cross_entropy(c[0], c[1], options);
}

Results attention(Call& c, const Tensor& mask) {
  return tenon::nn::scaled_dot_product_attention(
      c[0], c[1], c[2],
      {.mask = mask, .causal = c.get("causal", false), .scale = c.maybe<double>("scale"), .gqa = c.get("gqa", false)});
}

// The parameters after every step of an optimizer that minimises 0.5 sum((A p - t)^2).
Results optimizer_trace(Call& c) {
  namespace optim = tenon::optim;
  Tensor p = c[0].detach().clone();
  p.requires_grad_();
  const Tensor a = c[1].detach(), t = c[2].detach();
  c.get<std::string>("loss");
  const auto kind = c.get<std::string>("optimizer");
  const double lr = c.get<double>("lr"), decay = c.get("weight_decay", 0.0);
  const auto betas = c.get<std::vector<double>>("betas", {0.9, 0.999});
  const std::vector<Tensor> parameters{p};
  std::unique_ptr<optim::Optimizer> optimizer;
  if (kind == "sgd" || kind == "sgd_nesterov") {
    const double momentum = c.get("momentum", 0.0);
    optimizer =
        std::make_unique<optim::SGD>(parameters, optim::SgdOptions{lr, momentum, 0, decay, c.get("nesterov", false)});
  } else if (kind == "adam") {
    optimizer = std::make_unique<optim::Adam>(parameters,
                                              optim::AdamOptions{lr, betas[0], betas[1], c.get("eps", 1e-8), decay});
  } else if (kind == "adamw") {
    optimizer = std::make_unique<optim::AdamW>(parameters,
                                               optim::AdamWOptions{lr, betas[0], betas[1], c.get("eps", 1e-8), decay});
  } else if (kind == "rmsprop") {
    optimizer = std::make_unique<optim::RMSprop>(
        parameters, optim::RmspropOptions{lr, c.get("alpha", 0.99), c.get("eps", 1e-8), decay, c.get("momentum", 0.0)});
  } else if (kind == "adagrad") {
    optimizer = std::make_unique<optim::Adagrad>(
        parameters, optim::AdagradOptions{.lr = lr, .weight_decay = decay, .eps = c.get("eps", 1e-10)});
  } else {
    fail("golden", "optimizer {} is not known", kind);
  }
  std::vector<Tensor> trace;
  for (int64_t step = c.get<int64_t>("steps"); step > 0; --step) {
    Tensor loss = tenon::sum(tenon::square(tenon::matmul(a, p) - t)) * 0.5;
    loss.backward();
    optimizer->step();
    optimizer->zero_grad();
    trace.push_back(p.detach().clone().eval());
  }
  return tenon::stack(trace);
}

// Written as one number or two.
tenon::nn::Size2 size_of(Call& c, const std::string& key, int64_t otherwise) {
  const Dims dims = c.dims(key);
  if (dims.empty()) return otherwise;
  return {dims[0], dims.back()};
}
std::optional<tenon::nn::Size2> maybe_size(Call& c, const std::string& key) {
  if (c.dims(key).empty()) return {};
  return size_of(c, key, 0);
}

// Written as one number or three.
tenon::nn::Size3 size3_of(Call& c, const std::string& key, int64_t otherwise) {
  const Dims dims = c.dims(key);
  if (dims.empty()) return otherwise;
  if (dims.size() == 1) return dims[0];
  if (dims.size() != 3) fail("golden", "{} has {} numbers; one or three are needed", key, dims.size());
  return {dims[0], dims[1], dims[2]};
}
std::optional<tenon::nn::Size3> maybe_size3(Call& c, const std::string& key) {
  if (c.dims(key).empty()) return {};
  return size3_of(c, key, 0);
}

Results conv1d(Call& c) {
  return tenon::nn::conv1d(c[0], c[1], c.optional(2),
                           {.stride = c.get<int64_t>("stride", 1),
                            .padding = c.get<int64_t>("padding", 0),
                            .dilation = c.get<int64_t>("dilation", 1),
                            .groups = c.get<int64_t>("groups", 1)});
}
Results conv2d(Call& c) {
  return tenon::nn::conv2d(c[0], c[1], c.optional(2),
                           {.stride = size_of(c, "stride", 1),
                            .padding = size_of(c, "padding", 0),
                            .dilation = size_of(c, "dilation", 1),
                            .groups = c.get<int64_t>("groups", 1)});
}
Results conv_transpose2d(Call& c) {
  return tenon::nn::conv_transpose2d(c[0], c[1], c.optional(2),
                                     {.stride = size_of(c, "stride", 1),
                                      .padding = size_of(c, "padding", 0),
                                      .output_padding = size_of(c, "output_padding", 0),
                                      .groups = c.get<int64_t>("groups", 1),
                                      .dilation = size_of(c, "dilation", 1)});
}

Results conv3d(Call& c) {
  return tenon::nn::conv3d(c[0], c[1], c.optional(2),
                           {.stride = size3_of(c, "stride", 1),
                            .padding = size3_of(c, "padding", 0),
                            .dilation = size3_of(c, "dilation", 1),
                            .groups = c.get<int64_t>("groups", 1)});
}
Results conv_transpose1d(Call& c) {
  return tenon::nn::conv_transpose1d(c[0], c[1], c.optional(2),
                                     {.stride = c.get<int64_t>("stride", 1),
                                      .padding = c.get<int64_t>("padding", 0),
                                      .output_padding = c.get<int64_t>("output_padding", 0),
                                      .groups = c.get<int64_t>("groups", 1),
                                      .dilation = c.get<int64_t>("dilation", 1)});
}
Results conv_transpose3d(Call& c) {
  return tenon::nn::conv_transpose3d(c[0], c[1], c.optional(2),
                                     {.stride = size3_of(c, "stride", 1),
                                      .padding = size3_of(c, "padding", 0),
                                      .output_padding = size3_of(c, "output_padding", 0),
                                      .groups = c.get<int64_t>("groups", 1),
                                      .dilation = size3_of(c, "dilation", 1)});
}
Results max_pool3d(Call& c) {
  const tenon::nn::MaxPool3dOptions options{.stride = maybe_size3(c, "stride"),
                                            .padding = size3_of(c, "padding", 0),
                                            .dilation = size3_of(c, "dilation", 1),
                                            .ceil_mode = c.get("ceil_mode", false)};
  const tenon::nn::Size3 kernel = size3_of(c, "kernel", 1);
  if (!c.get("return_indices", false)) return tenon::nn::max_pool3d(c[0], kernel, options);
  const auto [y, indices] = tenon::nn::max_pool3d_with_indices(c[0], kernel, options);
  return std::vector<Tensor>{y, indices};
}
Results avg_pool3d(Call& c) {
  return tenon::nn::avg_pool3d(c[0], size3_of(c, "kernel", 1),
                               {.stride = maybe_size3(c, "stride"),
                                .padding = size3_of(c, "padding", 0),
                                .ceil_mode = c.get("ceil_mode", false),
                                .count_include_pad = c.get("count_include_pad", true)});
}

Results batch_norm_train(Call& c) {
  c.get<std::vector<std::string>>("inputs");
  c.get<std::vector<std::string>>("outputs");
  const tenon::Options options(c[0].dtype(), c[0].device());
  Tensor mean = tenon::zeros({c[0].size(1)}, options), variance = tenon::ones({c[0].size(1)}, options);
  const Tensor y =
      tenon::nn::batch_norm(c[0], mean, variance, c[1], c[2], true, c.get("momentum", 0.1), c.get("eps", 1e-5));
  return std::vector<Tensor>{y, mean, variance};
}
Results batch_norm_eval(Call& c) {
  c.get<std::vector<std::string>>("inputs");
  return tenon::nn::batch_norm(c[0], c[1], c[2], c[3], c[4], false, 0.1, c.get("eps", 1e-5));
}

template <typename Layer>
Results recurrent(Call& c) {
  const bool both = c.get("bidirectional", false);
  const auto hidden = c.get<int64_t>("hidden"), layers = c.get<int64_t>("layers", 1);
  Layer layer(c[0].size(-1), hidden,
              {.layers = layers, .batch_first = c.get("batch_first", false), .bidirectional = both});
  c.get<std::vector<std::string>>("params");
  size_t next = 1;
  for (int64_t i = 0; i < layers; ++i) {
    for (const bool reverse : {false, true}) {
      if (reverse && !both) continue;
      auto& weights = layer.weights(i, reverse);
      for (Tensor* parameter : {&weights.weight_ih, &weights.weight_hh, &weights.bias_ih, &weights.bias_hh})
        *parameter = c[next++];
    }
  }
  const auto [y, state] = layer(c[0]);
  std::vector<Tensor> results{y, state.h};
  if (state.c.defined()) results.push_back(state.c);
  return results;
}

std::optional<tenon::Number> bound(Call& c, const std::string& key) {
  const std::optional<double> value = c.maybe<double>(key);
  return value ? std::optional<tenon::Number>(*value) : std::nullopt;
}

Results reshape(Call& c) {
  const Dims order = c.dims("permute");
  const Tensor x = order.empty() ? c[0] : c[0].permute(order);
  return x.reshape(c.dims("shape"));
}

Results slice(Call& c) {
  Tensor x = c[0];
  int64_t dim = 0;
  for (const auto& range : c.get<std::vector<std::array<int64_t, 3>>>("slices")) {
    x = x.slice(dim++, range[0], range[1], range[2]);
  }
  return x;
}

const std::map<std::string, Handler>& handlers() {
  static const std::map<std::string, Handler> table = {
      {"add", binary(tenon::operator+)},
      {"sub", binary((tenon::operator-))},
      {"mul", binary(tenon::mul)},
      {"div", binary(tenon::true_divide)},
      {"maximum", binary(tenon::maximum)},
      {"minimum", binary(tenon::minimum)},
      {"pow", [](Call& c) { return tenon::pow(c[0], c.number("exponent")); }},
      {"where", [](Call& c) { return tenon::where(c[0], c[1], c[2]); }},
      {"masked_fill", [](Call& c) { return tenon::masked_fill(c[0], c[1], c.number("value")); }},
      {"clamp", [](Call& c) { return tenon::clamp(c[0], bound(c, "min"), bound(c, "max")); }},

      {"exp", unary(tenon::exp)},
      {"log", unary(tenon::log)},
      {"sqrt", unary(tenon::sqrt)},
      {"rsqrt", unary(tenon::rsqrt)},
      {"reciprocal", unary(tenon::reciprocal)},
      {"neg", unary(tenon::neg)},
      {"abs", unary(tenon::abs)},
      {"square", unary(tenon::square)},
      {"sin", unary(tenon::sin)},
      {"cos", unary(tenon::cos)},
      {"tanh", unary(tenon::tanh)},
      {"erf", unary(tenon::erf)},
      {"sigmoid", unary(tenon::sigmoid)},
      {"relu", unary(tenon::relu)},
      {"silu", unary(tenon::silu)},
      {"mish", unary(tenon::mish)},
      {"hardswish", unary(tenon::hardswish)},
      {"leaky_relu", [](Call& c) { return tenon::leaky_relu(c[0], c.get("negative_slope", 0.01)); }},
      {"elu", [](Call& c) { return tenon::elu(c[0], c.get("alpha", 1.0)); }},
      {"softplus", [](Call& c) { return tenon::softplus(c[0], c.get("beta", 1.0), c.get("threshold", 20.0)); }},
      {"gelu", [](Call& c) { return tenon::gelu(c[0], c.get<std::string>("approximate", "none")); }},

      {"sum", reduction([](const Tensor& x, const tenon::Axes& dims, bool keepdim) { return tenon::sum(x, dims, keepdim); })},
      {"mean", reduction([](const Tensor& x, const tenon::Axes& dims, bool keepdim) { return tenon::mean(x, dims, keepdim); })},
      {"prod", reduction([](const Tensor& x, const tenon::Axes& dims, bool keepdim) { return tenon::prod(x, dims, keepdim); })},
      {"amax", reduction(tenon::amax)},
      {"amin", reduction(tenon::amin)},
      {"logsumexp", reduction(tenon::logsumexp)},
      {"var", spread(tenon::var)},
      {"std", spread(tenon::std)},
      {"argmax", extreme(tenon::argmax)},
      {"argmin", extreme(tenon::argmin)},
      {"norm", [](Call& c) { return tenon::norm(c[0], c.get("p", 2.0), c.dims("dim"), c.get("keepdim", false)); }},
      {"softmax", along([](const Tensor& x, int64_t dim) { return tenon::softmax(x, dim); })},
      {"log_softmax", along([](const Tensor& x, int64_t dim) { return tenon::log_softmax(x, dim); })},
      {"cumsum", along([](const Tensor& x, int64_t dim) { return tenon::cumsum(x, dim); })},
      {"sort", [](Call& c) { return tenon::sort(c[0], c.get<int64_t>("dim", -1), c.get("descending", false)); }},
      {"topk",
       [](Call& c) {
         return tenon::topk(c[0], c.get<int64_t>("k"), c.get<int64_t>("dim", -1), c.get("largest", true));
       }},

      {"reshape", reshape},
      {"slice", slice},
      {"permute", [](Call& c) { return tenon::permute(c[0], c.dims("dims")); }},
      {"expand", [](Call& c) { return tenon::expand(c[0], c.dims("shape")); }},
      {"flip", [](Call& c) { return tenon::flip(c[0], c.dims("dims")); }},
      {"pad", [](Call& c) { return tenon::pad(c[0], c.dims("pad"), c.get("value", 0.0)); }},
      {"cat", [](Call& c) { return tenon::cat(c.all(), c.get<int64_t>("dim", 0)); }},
      {"stack", [](Call& c) { return tenon::stack(c.all(), c.get<int64_t>("dim", 0)); }},
      {"split", [](Call& c) { return tenon::split(c[0], c.dims("sizes"), c.get<int64_t>("dim", 0)); }},
      {"repeat", [](Call& c) { return tenon::repeat(c[0], c.dims("repeats")); }},
      {"roll", [](Call& c) { return tenon::roll(c[0], c.get<int64_t>("shift"), c.get<int64_t>("dim")); }},
      {"tril", triangle(tenon::tril)},
      {"triu", triangle(tenon::triu)},

      {"gather", [](Call& c) { return tenon::gather(c[0], c.get<int64_t>("dim"), c[1]); }},
      {"index_select", [](Call& c) { return tenon::index_select(c[0], c.get<int64_t>("dim"), c[1]); }},
      {"scatter_add", [](Call& c) { return tenon::scatter_add(c[0], c.get<int64_t>("dim"), c[1], c[2]); }},
      {"one_hot", [](Call& c) { return tenon::one_hot(c[0], c.get<int64_t>("classes")); }},
      {"embedding", [](Call& c) { return tenon::nn::embedding(c[0], c[1]); }},

      {"matmul", [](Call& c) { return tenon::matmul(c[0], c[1]); }},
      {"einsum", [](Call& c) { return tenon::einsum(c.get<std::string>("equation"), c.all()); }},
      {"optimizer", [](Call& c) { return optimizer_trace(c); }},
      {"linear", [](Call& c) { return tenon::nn::linear(c[0], c[1], c.optional(2)); }},
      {"layer_norm",
       [](Call& c) { return tenon::nn::layer_norm(c[0], c[1].shape(), c[1], c.optional(2), c.get("eps", 1e-5)); }},
      {"rms_norm", [](Call& c) { return tenon::nn::rms_norm(c[0], c[1].shape(), c[1], c.get<double>("eps")); }},
      {"attention", [](Call& c) { return attention(c, Tensor()); }},
      {"attention_mask", [](Call& c) { return attention(c, c[3]); }},

      {"conv1d", conv1d},
      {"conv2d", conv2d},
      {"conv_transpose2d", conv_transpose2d},
      {"conv3d", conv3d},
      {"conv_transpose1d", conv_transpose1d},
      {"conv_transpose3d", conv_transpose3d},
      {"max_pool3d", max_pool3d},
      {"avg_pool3d", avg_pool3d},
      {"max_pool2d",
       [](Call& c) {
         return tenon::nn::max_pool2d(c[0], size_of(c, "kernel", 1),
                                      {.stride = maybe_size(c, "stride"), .padding = size_of(c, "padding", 0)});
       }},
      {"avg_pool2d",
       [](Call& c) {
         return tenon::nn::avg_pool2d(c[0], size_of(c, "kernel", 1),
                                      {.stride = maybe_size(c, "stride"), .padding = size_of(c, "padding", 0)});
       }},
      {"adaptive_avg_pool2d", [](Call& c) { return tenon::nn::adaptive_avg_pool2d(c[0], size_of(c, "output", 1)); }},
      {"batch_norm_train", batch_norm_train},
      {"batch_norm_eval", batch_norm_eval},
      {"group_norm",
       [](Call& c) {
         return tenon::nn::group_norm(c[0], c.get<int64_t>("groups"), c[1], c.optional(2), c.get("eps", 1e-5));
       }},
      {"rnn", recurrent<tenon::nn::RNN>},
      {"lstm", recurrent<tenon::nn::LSTM>},
      {"gru", recurrent<tenon::nn::GRU>},

      {"cross_entropy", cross_entropy},
      {"nll_loss", [](Call& c) { return tenon::nn::nll_loss(c[0], c[1], class_loss_options(c)); }},
      {"mse_loss", loss(tenon::nn::mse_loss)},
      {"l1_loss", loss(tenon::nn::l1_loss)},
      {"huber_loss", loss(tenon::nn::huber_loss, "delta")},
      {"smooth_l1_loss", loss(tenon::nn::smooth_l1_loss, "beta")},
      {"bce", loss(tenon::nn::binary_cross_entropy)},
      {"bce_with_logits", loss(tenon::nn::binary_cross_entropy_with_logits)},
      {"kl_div", [](Call& c) { return tenon::nn::kl_div(c[0], c[1], reduction_of(c), c.get("log_target", false)); }},
  };
  return table;
}

// ---- Comparing ---------------------------------------------------------------------------------------------------

struct Mismatch {
  double excess;  // error over tolerance; infinite for what no tolerance covers
  std::string text;
};

double tolerance_of(DType dtype) { return dtype == DType::f32 ? 1e-5 : dtype == DType::f16 ? 1e-2 : 4e-2; }

std::optional<Mismatch> never_right(std::string text) {
  return Mismatch{std::numeric_limits<double>::infinity(), std::move(text)};
}

std::optional<Mismatch> compare_integers(const std::string& name, const Tensor& ours, const Tensor& expected) {
  const auto a = ours.to_vector<int64_t>(), b = expected.to_vector<int64_t>();
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i]) return never_right(fmt::format("{}: element {} is {}, expected {}", name, i, a[i], b[i]));
  }
  return {};
}

std::optional<Mismatch> compare_floats(const std::string& name, const Tensor& ours, const Tensor& expected,
                                       double tolerance) {
  const auto a = ours.to_vector<double>(), b = expected.to_vector<double>();
  double error = 0, magnitude = 1e-6;
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i])) return never_right(fmt::format("{}: element {} is NaN, expected {}", name, i, b[i]));
    if (a[i] == b[i]) continue;  // equal infinities have no difference to measure
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) {
      return never_right(fmt::format("{}: element {} is {}, expected {}", name, i, a[i], b[i]));
    }
    error = std::max(error, std::abs(a[i] - b[i]));
  }
  for (const double value : b) {
    if (std::isfinite(value)) magnitude = std::max(magnitude, std::abs(value));
  }
  const double allowed = tolerance * magnitude;
  if (error <= allowed) return {};
  return Mismatch{error / allowed, fmt::format("{}: error {:.2e}, tolerance {:.2e}", name, error, allowed)};
}

/// `ours` and `expected` lie on the reference device; floats are expected in the dtype of the run.
std::optional<Mismatch> compare(const std::string& name, const Tensor& ours, const Tensor& expected, DType dtype) {
  if (ours.shape() != expected.shape()) {
    return never_right(fmt::format("{}: shape {}, expected {}", name, tenon::ir::to_string(ours.shape()),
                                   tenon::ir::to_string(expected.shape())));
  }
  const DType wanted = is_float(expected.dtype()) ? dtype : expected.dtype();
  if (ours.dtype() != wanted) {
    return never_right(fmt::format("{}: dtype {}, expected {}", name, tenon::name(ours.dtype()), tenon::name(wanted)));
  }
  if (!is_float(wanted)) return compare_integers(name, ours, expected);
  return compare_floats(name, ours, expected, tolerance_of(dtype));
}

// ---- Ties that rounding makes ------------------------------------------------------------------------------------
//
// In f16 and bf16 rounding can make elements equal whose order the truth, computed from unrounded inputs, still knew.
// Ops that choose among elements may then choose another one. What they may choose is checked exactly; no tolerance
// grows.

/// Which output holds positions in input 0, and along which dim unless the case says; null: in the flattened input.
struct IndexOutput {
  size_t output;
  json dim;
};
const std::map<std::string, IndexOutput>& index_outputs() {
  static const std::map<std::string, IndexOutput> table = {
      {"argmax", {0, nullptr}}, {"argmin", {0, nullptr}}, {"sort", {1, -1}}, {"topk", {1, -1}}};
  return table;
}

/// Positions of a case beside the tensor they point into, both of one rank.
struct Positions {
  Tensor x, index;
  int64_t dim;
};
Positions lay_out(const Tensor& x, const Tensor& index, const Case& test) {
  const json dim = test.attrs.value("dim", index_outputs().at(test.op).dim);
  if (dim.is_null()) return {x.reshape({-1}), index.reshape({-1}), 0};
  const auto axis = dim.get<int64_t>();
  return {x, index.dim() < x.dim() ? index.unsqueeze(axis) : index, axis};
}
Tensor pick(const Tensor& x, const Tensor& index, const Case& test) {
  const Positions at = lay_out(x, index, test);
  return tenon::gather(at.x, at.dim, at.index);
}

/// Rounding never swaps two elements: positions are right exactly when they pick the same rounded values as the true
/// ones.
std::optional<Mismatch> compare_positions(const std::string& name, const Tensor& rounded, const Tensor& ours,
                                          const Tensor& expected, const Case& test) {
  const bool alike = ours.shape() == expected.shape() && ours.dtype() == expected.dtype();
  if (!alike) return compare(name, ours, expected, DType::f32);
  return compare_floats(name, pick(rounded, ours, test), pick(rounded, expected, test), 0);
}

/// The true gradient of sort and topk, carried over to the elements that our positions chose among equal ones.
Tensor follow_positions(const Tensor& gradient, const Tensor& ours, const Tensor& expected, const Case& test) {
  const Positions at = lay_out(gradient, ours, test);
  return tenon::scatter_add(tenon::zeros_like(gradient), at.dim, at.index, pick(gradient, expected, test));
}

/// The true gradient of amax and amin, shared evenly among the elements that rounding made equal to the extreme one.
Tensor share_among_equals(const Tensor& gradient, const Tensor& rounded, const Case& test) {
  const Dims dims = Call({}, test.attrs).dims("dim");
  const Tensor extreme = test.op == "amax" ? tenon::amax(rounded, dims, true) : tenon::amin(rounded, dims, true);
  const Tensor chosen = tenon::eq(rounded, extreme).to(DType::f32);
  return chosen * (tenon::sum(gradient, dims, true) / tenon::sum(chosen, dims, true));
}

// ---- Running -----------------------------------------------------------------------------------------------------

struct Setting {
  std::filesystem::path folder;
  std::string device_name;
  DType dtype = DType::f32;
  std::string filter;
  std::string twin_name;  // a device that must give the same bits; none when empty
  std::string save_as;    // where to write a model again; nowhere when empty
};

/// K of "X.goutK".
size_t position_in(const std::string& name, std::string_view marker, size_t count) {
  const size_t at = name.rfind(marker);
  const std::string digits = at == std::string::npos ? "" : name.substr(at + marker.size());
  if (digits.empty() || digits.size() > 4 || digits.find_first_not_of("0123456789") != std::string::npos) {
    fail("golden", "{} is not named X{}K", name, marker);
  }
  const size_t position = std::stoul(digits);
  if (position >= count) fail("golden", "{} counts past the {} tensors of the case", name, count);
  return position;
}

class Runner {
 public:
  Runner(const Setting& setting, std::map<std::string, Tensor> golden)
      : dtype_(setting.dtype), device_(setting.device_name), golden_(std::move(golden)) {}

  /// What is wrong with the case; empty when it passes.
  std::string run(const Case& test) {
    bits_.clear();
    const auto handler = handlers().find(test.op);
    if (handler == handlers().end()) return "the op is not known";

    std::vector<Tensor> inputs;
    for (const std::string& name : test.inputs) inputs.push_back(rounded(name).to(device_).detach());
    std::vector<size_t> differentiated;
    for (const std::string& name : test.grad_inputs) {
      differentiated.push_back(position_in(name, ".gin", inputs.size()));
      inputs[differentiated.back()].requires_grad_();
    }

    Call call(inputs, test.attrs);
    const std::vector<Tensor> outputs = handler->second(call).tensors;
    if (std::string unused = call.unused(); !unused.empty()) return unused;
    if (outputs.size() != test.outputs.size()) {
      return fmt::format("{} outputs, expected {}", outputs.size(), test.outputs.size());
    }

    std::optional<Mismatch> worst = compare_outputs(test, outputs);
    if (!test.grad_inputs.empty()) keep_worse(worst, compare_gradients(test, inputs, differentiated, outputs));
    return worst ? worst->text : "";
  }

  /// The bytes of every value and gradient of the last case.
  const std::vector<std::vector<std::byte>>& bits() const { return bits_; }

 private:
  const Tensor& golden(const std::string& name) const {
    const auto found = golden_.find(name);
    if (found == golden_.end()) fail("golden", "ops.safetensors has no tensor {}", name);
    return found->second;
  }
  /// A golden tensor as the run gets it: floats in its dtype.
  Tensor rounded(const std::string& name) const {
    const Tensor& tensor = golden(name);
    return is_float(tensor.dtype()) ? tensor.to(dtype_) : tensor;
  }
  bool positions_may_differ(const Case& test) const {
    return dtype_ != DType::f32 && index_outputs().contains(test.op);
  }
  Tensor expected_gradient(const Case& test, const std::string& name, const std::vector<Tensor>& outputs) const {
    const Tensor& truth = golden(name);
    if (positions_may_differ(test)) {
      const size_t k = index_outputs().at(test.op).output;
      return follow_positions(truth, outputs[k].to(reference_), golden(test.outputs[k]), test);
    }
    const bool is_extreme = test.op == "amax" || test.op == "amin";
    return dtype_ != DType::f32 && is_extreme ? share_among_equals(truth, rounded(test.inputs[0]), test) : truth;
  }

  static void keep_worse(std::optional<Mismatch>& worst, std::optional<Mismatch> next) {
    if (next && (!worst || next->excess > worst->excess)) worst = std::move(next);
  }

  std::optional<Mismatch> compare_outputs(const Case& test, const std::vector<Tensor>& outputs) {
    std::optional<Mismatch> worst;
    for (size_t k = 0; k < outputs.size(); ++k) {
      bits_.push_back(tenon::exec::read(value_of(outputs[k].detach())));
      const Tensor ours = outputs[k].detach().to(reference_);
      const std::string name = fmt::format("out{}", k);
      const Tensor& expected = golden(test.outputs[k]);
      const bool positions = positions_may_differ(test) && index_outputs().at(test.op).output == k;
      keep_worse(worst, positions ? compare_positions(name, rounded(test.inputs[0]), ours, expected, test)
                                  : compare(name, ours, expected, dtype_));
    }
    return worst;
  }

  std::optional<Mismatch> compare_gradients(const Case& test, const std::vector<Tensor>& inputs,
                                            const std::vector<size_t>& differentiated,
                                            const std::vector<Tensor>& outputs) {
    std::vector<Tensor> from, to;
    tenon::GradOptions options;
    for (const std::string& name : test.grad_outputs) {
      from.push_back(outputs[position_in(name, ".gout", outputs.size())]);
      options.grad_outputs.push_back(rounded(name).to(device_));
    }
    for (const size_t k : differentiated) to.push_back(inputs[k]);
    const std::vector<Tensor> gradients = tenon::grad(from, to, options);

    std::optional<Mismatch> worst;
    for (size_t i = 0; i < gradients.size(); ++i) {
      bits_.push_back(tenon::exec::read(value_of(gradients[i].detach())));
      const Tensor expected = expected_gradient(test, test.grad_inputs[i], outputs);
      keep_worse(worst,
                 compare(fmt::format("gin{}", differentiated[i]), gradients[i].to(reference_), expected, dtype_));
    }
    return worst;
  }

  DType dtype_;
  Device device_;
  Device reference_{"reference"};
  std::map<std::string, Tensor> golden_;
  std::vector<std::vector<std::byte>> bits_;
};

std::string one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

bool matches(const Case& test, const std::string& filter) {
  return test.name.find(filter) != std::string::npos || test.op.find(filter) != std::string::npos;
}

/// Runs what the filter lets through; returns whether all passed and there was something to run.
bool run_all(const Setting& setting) {
  const auto cases_path = setting.folder / "ops.json";
  std::ifstream file(cases_path);
  if (!file) fail("golden", "{}: cannot be read", cases_path.string());
  const json cases = json::parse(file, nullptr, false);
  if (!cases.is_array()) fail("golden", "{}: not a JSON list of cases", cases_path.string());
  const auto golden = tenon::io::load_safetensors(setting.folder / "ops.safetensors", Device("reference")).tensors;
  Runner runner(setting, golden);
  std::optional<Runner> twin;
  if (!setting.twin_name.empty()) twin.emplace(Setting{{}, setting.twin_name, setting.dtype, {}, {}, {}}, golden);

  size_t passed = 0, failed = 0;
  for (const json& entry : cases) {
    Case test{"?", "?", {}, {}, {}, {}, {}};
    std::string wrong;
    try {
      test = case_of(entry);
      if (!matches(test, setting.filter)) continue;
      wrong = runner.run(test);
      if (wrong.empty() && twin) wrong = twin->run(test);
      if (wrong.empty() && twin && twin->bits() != runner.bits()) wrong = "bits differ from " + setting.twin_name;
    } catch (const std::exception& error) {
      wrong = one_line(error.what());
    }
    if (wrong.empty())
      fmt::print("ok   {}  {}\n", test.name, test.op);
    else
      fmt::print("FAIL {}  {}  {}\n", test.name, test.op, wrong);
    ++(wrong.empty() ? passed : failed);
  }
  fmt::print("{} passed, {} failed\n", passed, failed);
  return failed == 0 && passed > 0;
}

/// The same for a folder that holds a model.
bool run_model(const Setting& setting) {
  if (setting.dtype != DType::f32 || !setting.twin_name.empty())
    fail("golden_test", "a model is compared in f32 and without --same-bits");
  tenon::testing::GoldenModel golden(setting.folder, Device(setting.device_name));
  size_t passed = 0, failed = 0;
  golden.run(setting.filter, [&](const tenon::testing::ModelCheck& check) {
    if (check.wrong.empty())
      fmt::print("ok   {}  {:.4f} of the tolerance\n", check.name, check.excess);
    else
      fmt::print("FAIL {}  {}\n", check.name, one_line(check.wrong));
    ++(check.wrong.empty() ? passed : failed);
  });
  if (!setting.save_as.empty()) golden.save(setting.save_as);
  fmt::print("{} passed, {} failed\n", passed, failed);
  return failed == 0 && passed > 0;
}

// ---- Command line ------------------------------------------------------------------------------------------------

constexpr std::string_view kHelp =
    R"(golden_test --dir DIR --device NAME [--dtype f32|f16|bf16] [--same-bits NAME] [--filter TEXT]
            [--save DIR]

Runs the recorded op cases of DIR (ops.json, ops.safetensors), or the model there (config.json, model.safetensors,
expected.json, expected.safetensors), on a device and compares values and gradients.

  --dir DIR       the folder with the cases or the model
  --device NAME   where to run them: reference, ...
  --dtype DTYPE   what floating-point inputs are rounded to first: f32 (the default), f16 or bf16
  --same-bits NAME  a second device whose every result must have the same bits
  --filter TEXT   run only cases whose name or op contains TEXT
  --save DIR      write the model again, with its logits, for scripts/check_transformers.py
  --help          print this

Prints "ok" or "FAIL" with the reason for each case and ends with "N passed, N failed".
Exit code: 0 when all cases passed, 1 when one failed or none ran, 2 when the arguments are wrong.
)";

DType run_dtype(const std::string& text) {
  if (text == "f32") return DType::f32;
  if (text == "f16") return DType::f16;
  if (text == "bf16") return DType::bf16;
  fail("golden_test", "--dtype {}: must be f32, f16 or bf16", text);
}

Setting parse(const std::vector<std::string>& arguments) {
  const std::vector<std::string> known = {"--dir",    "--device", "--dtype", "--same-bits",
                                          "--filter", "--save",   "--help"};
  std::map<std::string, std::string> given;
  for (size_t i = 0; i < arguments.size(); i += 2) {
    const std::string& option = arguments[i];
    if (std::ranges::find(known, option) == known.end()) {
      const std::string near = tenon::base::nearest(option, known);
      fail("golden_test", "unknown argument {}{}", option,
           near.empty() ? "; try --help" : ", did you mean " + near + "?");
    }
    if (i + 1 == arguments.size()) fail("golden_test", "{} needs a value", option);
    if (!given.emplace(option, arguments[i + 1]).second) fail("golden_test", "{} is given twice", option);
  }
  for (const char* needed : {"--dir", "--device"}) {
    if (!given.contains(needed)) fail("golden_test", "{} is missing; try --help", needed);
  }
  (void)Device(given["--device"]);  // an unknown one is refused here
  if (given.contains("--same-bits")) (void)Device(given["--same-bits"]);
  return {given["--dir"],    given["--device"],    given.contains("--dtype") ? run_dtype(given["--dtype"]) : DType::f32,
          given["--filter"], given["--same-bits"], given["--save"]};
}

}  // namespace

int main(int count, char** values) {
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);  // a crash must not take the lines before it along
  const std::vector<std::string> arguments(values + 1, values + count);
  if (std::ranges::find(arguments, "--help") != arguments.end()) {
    fmt::print("{}", kHelp);
    return 0;
  }
  try {
    const Setting setting = parse(arguments);
    const bool is_model = tenon::testing::GoldenModel::is_one(setting.folder);
    return (is_model ? run_model(setting) : run_all(setting)) ? 0 : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", one_line(error.what()));
    return 2;
  }
}
