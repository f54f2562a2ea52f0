// What the tests of the module need, and no program.

#include "bind.h"
#include "functions.h"
#include "tenon/backends/remote/remote_device.h"
#include "tenon/device/registry.h"

namespace tenon::python {
namespace {

using Make = std::function<std::shared_ptr<nn::Module>()>;

template <typename Layer, typename... Arguments>
Make maker(const Arguments&... arguments) {
  return [arguments...] { return std::make_shared<Layer>(arguments...); };
}

/// Layers of C++ under what makes them in Python: both have the same parameters.
const std::map<std::string, Make>& layers_of_cpp() {
  static const nn::RecurrentOptions both_ways{.layers = 2, .bidirectional = true};
  static const std::map<std::string, Make> all{
      {"Linear(3, 2)", maker<nn::Linear>(3, 2)},
      {"Linear(3, 2, bias=False)", maker<nn::Linear>(3, 2, false)},
      {"Embedding(5, 3, padding_idx=1)", maker<nn::Embedding>(5, 3, std::optional<int64_t>(1))},
      {"AdaptiveLogSoftmaxWithLoss(8, 10, [3, 6], div_value=2.0, head_bias=True)",
       [] {
         return std::make_shared<nn::AdaptiveLogSoftmaxWithLoss>(
             8, 10, Dims{3, 6}, nn::AdaptiveSoftmaxOptions{.div_value = 2, .head_bias = true});
       }},
      {"LayerNorm((2, 3))", maker<nn::LayerNorm>(Dims{2, 3})},
      {"LayerNorm(3, bias=False)", maker<nn::LayerNorm>(3, 1e-5, true, false)},
      {"RMSNorm(3)", maker<nn::RMSNorm>(3)},
      {"GroupNorm(2, 4)", maker<nn::GroupNorm>(2, 4)},
      {"BatchNorm1d(3)", maker<nn::BatchNorm1d>(3)},
      {"BatchNorm2d(3)", maker<nn::BatchNorm2d>(3)},
      {"BatchNorm3d(3)", maker<nn::BatchNorm3d>(3)},
      {"InstanceNorm1d(3, affine=True, track_running_stats=True)",
       maker<nn::InstanceNorm1d>(3, nn::InstanceNormOptions{.affine = true, .track_running_stats = true})},
      {"InstanceNorm2d(3, affine=True)", maker<nn::InstanceNorm2d>(3, nn::InstanceNormOptions{.affine = true})},
      {"Conv1d(2, 4, 3)", maker<nn::Conv1d>(2, 4, 3)},
      {"Conv2d(2, 4, (3, 2), groups=2)",
       [] { return std::make_shared<nn::Conv2d>(2, 4, nn::Size2(3, 2), nn::Conv2dOptions{.groups = 2}); }},
      {"Conv3d(2, 4, 3)", maker<nn::Conv3d>(2, 4, nn::Size3(3))},
      {"ConvTranspose1d(2, 4, 3)", maker<nn::ConvTranspose1d>(2, 4, 3)},
      {"ConvTranspose2d(2, 4, 3)", maker<nn::ConvTranspose2d>(2, 4, nn::Size2(3))},
      {"ConvTranspose3d(2, 4, 3)", maker<nn::ConvTranspose3d>(2, 4, nn::Size3(3))},
      {"PReLU(2)", maker<nn::PReLU>(2)},
      {"RNN(3, 4)", maker<nn::RNN>(3, 4)},
      {"LSTM(3, 4, 2, bidirectional=True)", maker<nn::LSTM>(3, 4, both_ways)},
      {"LSTM(3, 4, proj_size=2)",
       [] { return std::make_shared<nn::LSTM>(3, 4, nn::RecurrentOptions{.proj_size = 2}); }},
      {"GRU(3, 4, bias=False)", [] { return std::make_shared<nn::GRU>(3, 4, nn::RecurrentOptions{.bias = false}); }},
      {"RNNCell(3, 4, nonlinearity='relu')", maker<nn::RNNCell>(3, 4, nn::CellOptions{.nonlinearity = "relu"})},
      {"LSTMCell(3, 4)", maker<nn::LSTMCell>(3, 4)},
      {"GRUCell(3, 4, bias=False)", maker<nn::GRUCell>(3, 4, nn::CellOptions{.bias = false})},
      {"MultiheadAttention(8, 2)", maker<nn::MultiheadAttention>(8, 2)},
      {"TransformerEncoderLayer(8, 2)", maker<nn::TransformerEncoderLayer>(8, 2)},
      {"TransformerDecoderLayer(8, 2)", maker<nn::TransformerDecoderLayer>(8, 2)},
      {"TransformerEncoder(2, 8, 2, final_norm=True)",
       maker<nn::TransformerEncoder>(2, 8, 2, nn::TransformerOptions{}, true)},
      {"TransformerDecoder(2, 8, 2, final_norm=True)",
       maker<nn::TransformerDecoder>(2, 8, 2, nn::TransformerOptions{}, true)}};
  return all;
}

}  // namespace

void bind_for_tests(Scope& m) {
  m.def("_lose_remote", [] { backends::remote::lose(device::open(device::find("remote")), "the driver was reset"); });
  m.def("_layers_of_cpp", [] {
    py::list names;
    for (const auto& [name, make] : layers_of_cpp()) names.append(name);
    return names;
  });
  m.def("_save_layer_of_cpp", [](const std::string& layer, const std::filesystem::path& file) {
    models::save_module(file, *layers_of_cpp().at(layer)());
  });
  m.def("_load_layer_of_cpp",
        [](const std::string& layer, const std::filesystem::path& file, const std::filesystem::path& again) {
          const auto made = layers_of_cpp().at(layer)();
          models::load_module(file, *made);
          models::save_module(again, *made);
        });
}

}  // namespace tenon::python
