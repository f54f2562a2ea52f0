// GPT-2, Llama, networks that classify pictures, text that language models write, LoRA; bert.cpp has the encoder.
//
// Their classes derive from one of Python's, nn.module.ModuleOfCpp, which has to be there first: _bind_models takes it.

#include "bind.h"
#include "model_fields.h"
#include "nn.h"

namespace tenon::python {
namespace {

using namespace py::literals;
using models::CausalLm;

models::GenerateOptions generate_options(int64_t new_tokens, double temperature, int64_t top_k, double top_p,
                                         double min_p, double penalty, const std::optional<int64_t>& stop,
                                         const std::vector<std::string>& stop_strings, Generator* generator) {
  models::GenerateOptions options;
  options.new_tokens = new_tokens;
  options.temperature = temperature;
  options.top_k = top_k;
  options.top_p = top_p;
  options.min_p = min_p;
  options.repetition_penalty = penalty;
  options.stop = stop;
  options.stop_strings = stop_strings;
  options.generator = generator;
  return options;
}

const Setters<models::Gpt2Config>& gpt2_fields() {
  using C = models::Gpt2Config;
  static const Setters<C> fields{
      {"vocabulary", setter(&C::vocabulary)},
      {"padded_vocabulary", setter(&C::padded_vocabulary)},
      {"positions", setter(&C::positions)},
      {"width", setter(&C::width)},
      {"layers", setter(&C::layers)},
      {"heads", setter(&C::heads)},
      {"inner", setter(&C::inner)},
      {"norm_eps", setter(&C::norm_eps)},
      {"activation", setter(&C::activation)},
      {"tied_head", setter(&C::tied_head)},
      {"bias", setter(&C::bias)},
      {"causal", setter(&C::causal)},
      {"start_token", setter(&C::start_token)},
      {"end_token", setter(&C::end_token)},
      {"dropout", [](C& config, const py::handle& value) { config.set_dropout(py::cast<double>(value)); }}};
  return fields;
}

const Setters<models::LlamaConfig>& llama_fields() {
  using C = models::LlamaConfig;
  static const Setters<C> fields{{"vocabulary", setter(&C::vocabulary)},
                                 {"padded_vocabulary", setter(&C::padded_vocabulary)},
                                 {"positions", setter(&C::positions)},
                                 {"width", setter(&C::width)},
                                 {"layers", setter(&C::layers)},
                                 {"heads", setter(&C::heads)},
                                 {"kv_heads", setter(&C::kv_heads)},
                                 {"head_width", setter(&C::head_width)},
                                 {"inner", setter(&C::inner)},
                                 {"norm_eps", setter(&C::norm_eps)},
                                 {"rotary_theta", setter(&C::rotary_theta)},
                                 {"attention_bias", setter(&C::attention_bias)},
                                 {"mlp_bias", setter(&C::mlp_bias)},
                                 {"tied_head", setter(&C::tied_head)},
                                 {"start_token", setter(&C::start_token)},
                                 {"end_token", setter(&C::end_token)}};
  return fields;
}

models::Gpt2Config gpt2_config(const std::string& size) {
  if (size == "distilgpt2") return models::Gpt2Config::distilgpt2();
  if (size == "gpt2") return models::Gpt2Config::gpt2();
  if (size == "gpt2-medium") return models::Gpt2Config::gpt2_medium();
  if (size == "gpt2-large") return models::Gpt2Config::gpt2_large();
  if (size == "gpt2-xl") return models::Gpt2Config::gpt2_xl();
  throw_value_error("there is no size '" + size + "'; there are distilgpt2, gpt2, gpt2-medium, gpt2-large and gpt2-xl");
}

const Setters<models::ResNetConfig>& resnet_fields() {
  using C = models::ResNetConfig;
  static const Setters<C> fields{
      {"blocks", setter(&C::blocks)},
      {"bottleneck", setter(&C::bottleneck)},
      {"width", setter(&C::width)},
      {"image_channels", setter(&C::image_channels)},
      {"classes", setter(&C::classes)},
      {"small_pictures", setter(&C::small_pictures)},
      {"mean", [](C& c, const py::handle& v) { c.statistics.mean = py::cast<std::vector<double>>(v); }},
      {"deviation", [](C& c, const py::handle& v) { c.statistics.deviation = py::cast<std::vector<double>>(v); }}};
  return fields;
}

const Setters<models::ViTConfig>& vit_fields() {
  using C = models::ViTConfig;
  static const Setters<C> fields{
      {"image_size", setter(&C::image_size)},
      {"patch_size", setter(&C::patch_size)},
      {"layers", setter(&C::layers)},
      {"heads", setter(&C::heads)},
      {"width", setter(&C::width)},
      {"inner", setter(&C::inner)},
      {"image_channels", setter(&C::image_channels)},
      {"classes", setter(&C::classes)},
      {"dropout", setter(&C::dropout)},
      {"attention_dropout", setter(&C::attention_dropout)},
      {"mean", [](C& c, const py::handle& v) { c.statistics.mean = py::cast<std::vector<double>>(v); }},
      {"deviation", [](C& c, const py::handle& v) { c.statistics.deviation = py::cast<std::vector<double>>(v); }}};
  return fields;
}

void bind_picture_models(Scope& m, const py::object& base) {
  using models::PictureModel, models::ResNet, models::ViT;
  Class<PictureModel>(m, "PictureModel", base, "What networks that classify pictures share.")
      .def(
          "save",
          [](const PictureModel& self, const std::filesystem::path& folder) {
            const Released others_run;
            self.save(folder);
          },
          "folder"_a, "Writes config.json and model.safetensors into a folder.")
      .def(
          "load_weights",
          [](PictureModel& self, const std::filesystem::path& file, bool strict) {
            const nn::LoadReport report = self.load_weights(file, strict);
            return py::make_tuple(report.missing, report.unexpected);
          },
          "file"_a, "strict"_a = true, "Takes torchvision's weights from .safetensors, .pt or .pth.")
      .def_property_readonly("config", [](const PictureModel& self) { return self.config_json(); });
  Class<ResNet, PictureModel>(m, "ResNet",
                              "ResNet as torchvision has it: ResNet(50), ResNet(18, classes=10, small_pictures=True).")
      .init(
          [](int64_t layers, const py::object& device, std::optional<DType> dtype, const py::kwargs& fields) {
            return std::make_shared<ResNet>(config_of(models::ResNetConfig::resnet(layers), fields, resnet_fields()),
                                            layer_options(dtype, device));
          },
          "layers"_a = 50, "device"_a = py::none(), "dtype"_a = py::none())
      .def_static(
          "load",
          [](const std::filesystem::path& folder, const py::object& device) {
            return std::shared_ptr<ResNet>(ResNet::load(folder, layer_options({}, device)));
          },
          "folder"_a, "device"_a = py::none(), "From a folder that save() wrote.");
  Class<ViT, PictureModel>(
      m, "ViT",
      "ViT as torchvision has it: B/16 unless other sizes are given, ViT(image_size=32, patch_size=4, layers=6).")
      .init(
          [](const py::object& device, std::optional<DType> dtype, const py::kwargs& fields) {
            return std::make_shared<ViT>(config_of(models::ViTConfig::b_16(), fields, vit_fields()),
                                         layer_options(dtype, device));
          },
          "device"_a = py::none(), "dtype"_a = py::none())
      .def_static(
          "load",
          [](const std::filesystem::path& folder, const py::object& device) {
            return std::shared_ptr<ViT>(ViT::load(folder, layer_options({}, device)));
          },
          "folder"_a, "device"_a = py::none(), "From a folder that save() wrote.");
}

void bind_language_models(Scope& m, const py::object& base) {
  Class<CausalLm>(m, "CausalLm", base, "What decoder language models have.")
      .def(
          "_forward_of_library", [](const CausalLm& self, const Tensor& ids) { return self.forward(ids); }, "ids"_a,
          "Logits (batch, time, vocabulary) of ids (batch, time).")
      .def(
          "loss",
          [](const CausalLm& self, const Tensor& ids, const Tensor& targets, int64_t ignore_index, int64_t chunk) {
            return self.loss(ids, targets, {ignore_index, chunk});
          },
          "ids"_a, "targets"_a, "ignore_index"_a = -100, "chunk"_a = 0, "The mean cross-entropy of targets.")
      .def(
          "save",
          [](const CausalLm& self, const std::filesystem::path& folder) {
            const Released others_run;
            self.save(folder);
          },
          "folder"_a, "Writes a folder that transformers reads.")
      .def_property_readonly("vocabulary", &CausalLm::vocabulary)
      .def_property_readonly("positions", &CausalLm::positions)
      .def(
          "generate",
          [](CausalLm& self, const std::vector<int64_t>& prompt, int64_t new_tokens, double temperature, int64_t top_k,
             double top_p, double min_p, double penalty, const std::optional<int64_t>& stop, Generator* generator) {
            const auto options =
                generate_options(new_tokens, temperature, top_k, top_p, min_p, penalty, stop, {}, generator);
            const Released others_run;
            return models::generate(self, prompt, options);
          },
          "prompt"_a, "new_tokens"_a = 64, "temperature"_a = 0.0, "top_k"_a = 0, "top_p"_a = 1.0, "min_p"_a = 0.0,
          "repetition_penalty"_a = 1.0, "stop"_a = py::none(), "generator"_a = py::none(),
          "The tokens of a prompt and those that follow it.");
  Class<models::Gpt2, CausalLm>(
      m, "GPT2", "GPT-2 in any size: GPT2('distilgpt2'), GPT2(layers=2, heads=2, width=64, vocabulary=100).")
      .init(
          [](const std::string& size, const py::object& device, std::optional<DType> dtype, const py::kwargs& fields) {
            return std::make_shared<models::Gpt2>(config_of(gpt2_config(size), fields, gpt2_fields()),
                                                  layer_options(dtype, device));
          },
          "size"_a = "gpt2", "device"_a = py::none(), "dtype"_a = py::none())
      .def_static(
          "load",
          [](const std::filesystem::path& folder, const py::object& device, int64_t padded) {
            return std::shared_ptr<models::Gpt2>(models::Gpt2::load(folder, layer_options({}, device), padded));
          },
          "folder"_a, "device"_a = py::none(), "padded_vocabulary"_a = 0, "From a folder as transformers writes it.")
      .def_property_readonly("config", [](const models::Gpt2& self) { return self.config().to_json(); });
  Class<models::Llama, CausalLm>(m, "Llama", "Llama in any size.")
      .init(
          [](const py::object& device, std::optional<DType> dtype, const py::kwargs& fields) {
            return std::make_shared<models::Llama>(config_of(models::LlamaConfig{}, fields, llama_fields()),
                                                   layer_options(dtype, device));
          },
          "device"_a = py::none(), "dtype"_a = py::none())
      .def_static(
          "load",
          [](const std::filesystem::path& folder, const py::object& device) {
            return std::shared_ptr<models::Llama>(models::Llama::load(folder, layer_options({}, device)));
          },
          "folder"_a, "device"_a = py::none(), "From a folder as transformers writes it.")
      .def_static(
          "load_llama2c",
          [](const std::filesystem::path& file) {
            return std::shared_ptr<models::Llama>(models::Llama::load_llama2c(file));
          },
          "file"_a, "From a file of llama2.c.")
      .def_property_readonly("config", [](const models::Llama& self) { return self.config().to_json(); });
  Class<models::CnnConfig>(m, "_CnnConfig");
  Class<models::Cnn>(m, "CNN", base, "A small convolutional network for images.")
      .init(
          [](int64_t image_channels, int64_t height, int64_t width, int64_t classes, int64_t stages, int64_t channels,
             int64_t convolutions, bool batch_norm, int64_t hidden, double dropout) {
            return std::make_shared<models::Cnn>(models::CnnConfig{
                image_channels, height, width, classes, stages, channels, convolutions, batch_norm, hidden, dropout});
          },
          "image_channels"_a = 1, "height"_a = 28, "width"_a = 28, "classes"_a = 10, "stages"_a = 2, "channels"_a = 32,
          "convolutions"_a = 1, "batch_norm"_a = false, "hidden"_a = 0, "dropout"_a = 0.0)
      .def("save", &models::Cnn::save, "folder"_a)
      .def_static("load", [](const std::filesystem::path& folder) {
        return std::shared_ptr<models::Cnn>(models::Cnn::load(folder));
      });
}

void bind_parts(Scope& m, const py::object& base) {
  Class<nn::KvCache>(m, "KvCache", "Keys and values of the tokens seen so far.")
      .init([](int64_t batch, int64_t heads, int64_t length,
               int64_t width) { return nn::KvCache(batch, heads, length, width); },
            "batch"_a, "kv_heads"_a, "max_length"_a, "head_width"_a)
      .def("append", py::overload_cast<const Tensor&, const Tensor&>(&nn::KvCache::append), "keys"_a, "values"_a)
      .def("advance", &nn::KvCache::advance, "tokens"_a)
      .def("rewind", &nn::KvCache::rewind, "length"_a = 0)
      .def("mask", &nn::KvCache::mask, "tokens"_a, "causal"_a = true)
      .def("positions", &nn::KvCache::positions, "tokens"_a)
      .def_property_readonly("keys", &nn::KvCache::keys)
      .def_property_readonly("values", &nn::KvCache::values)
      .def_property_readonly("position", &nn::KvCache::position);
  Class<nn::RotaryEmbedding>(m, "RotaryEmbedding", base, "Turns pairs of elements by angles that grow with positions.")
      .init(
          [](int64_t width, int64_t positions, double theta, bool interleaved) {
            return std::make_shared<nn::RotaryEmbedding>(
                width, positions, theta, interleaved ? nn::RotaryLayout::interleaved : nn::RotaryLayout::halves);
          },
          "width"_a, "max_positions"_a, "theta"_a = 10000.0, "interleaved"_a = false)
      .def(
          "_forward_of_library",
          [](const nn::RotaryEmbedding& self, const Tensor& x, int64_t offset) { return self.forward(x, offset); },
          "x"_a, "offset"_a = 0);
}

/// A model, its tokenizer and the captured step, kept together.
struct Writer {
  std::shared_ptr<CausalLm> model;
  std::shared_ptr<const text::Tokenizer> tokenizer;
  models::TextWriter writer;
  std::recursive_mutex mutex;  // one text at a time
  Writer(std::shared_ptr<CausalLm> m, std::shared_ptr<const text::Tokenizer> t)
      : model(std::move(m)), tokenizer(std::move(t)), writer(*model, *tokenizer) {}
};

void bind_writing(Scope& m) {
  Class<Writer>(m, "TextWriter", "Text from prompts, as text; keeps the captured step between calls.")
      .init(
          [](std::shared_ptr<CausalLm> model, std::shared_ptr<text::Tokenizer> tokenizer) {
            return std::make_unique<Writer>(std::move(model), std::move(tokenizer));
          },
          "model"_a, "tokenizer"_a)
      .def(
          "write",
          [](Writer& self, const py::object& prompts, int64_t new_tokens, double temperature, int64_t top_k,
             double top_p, double min_p, double penalty, const std::vector<std::string>& stop_strings,
             Generator* generator, const py::object& on_text) -> py::object {
            const bool is_one = PyUnicode_Check(prompts.ptr());
            const auto list = is_one ? std::vector<std::string>{py::cast<std::string>(prompts)}
                                     : py::cast<std::vector<std::string>>(prompts);
            const auto options =
                generate_options(new_tokens, temperature, top_k, top_p, min_p, penalty, {}, stop_strings, generator);
            models::TextWriter::OnText tell;
            if (!on_text.is_none()) {
              tell = [function = keep(on_text)](size_t sequence, std::string_view piece) {
                const Locked locked;
                py::reinterpret_borrow<py::object>(function.get())(sequence, std::string(piece));
              };
            }
            std::vector<models::Text> texts;
            {
              const auto lock = base::lock_out_of_turn(self.mutex);
              const Released others_run;
              texts = self.writer.write(list, options, tell);
            }
            py::list made;
            for (const models::Text& one : texts)
              made.append(py::reinterpret_steal<py::object>(
                  PyUnicode_DecodeUTF8(one.text.data(), static_cast<Py_ssize_t>(one.text.size()), "replace")));
            return is_one ? py::object(made[0]) : py::object(made);
          },
          "prompts"_a, "new_tokens"_a = 64, "temperature"_a = 0.0, "top_k"_a = 0, "top_p"_a = 1.0, "min_p"_a = 0.0,
          "repetition_penalty"_a = 1.0, "stop_strings"_a = std::vector<std::string>{}, "generator"_a = py::none(),
          "on_text"_a = py::none(), "What follows a prompt, or each of several.");
  m.def(
      "attach_lora",
      [](nn::Module& model, const std::vector<std::string>& targets, int64_t rank, double alpha, double dropout) {
        models::attach_lora(model, targets, {rank, alpha, dropout});
      },
      "model"_a, "targets"_a, "rank"_a = 8, "alpha"_a = 16.0, "dropout"_a = 0.0,
      "Freezes a model and gives every layer of one of these names a small correction.");
  m.def("merge_lora", &models::merge_lora, "model"_a, "Adds all corrections to their weights.");
  m.def(
      "save_lora",
      [](const nn::Module& model, const std::filesystem::path& folder, int64_t rank, double alpha) {
        models::save_lora(model, folder, {rank, alpha, 0});
      },
      "model"_a, "folder"_a, "rank"_a = 8, "alpha"_a = 16.0, "Writes the corrections alone.");
  m.def("load_lora", &models::load_lora, "model"_a, "folder"_a, "Reads corrections.");
}

}  // namespace

void bind_models(Scope& m) {
  Scope models = m.def_submodule("_models");
  models.def("_bind_models", [made = models](const py::object& base) {
    Scope into = made;
    bind_parts(into, base);
    bind_language_models(into, base);
    bind_picture_models(into, base);
    bind_bert(into, base);
    bind_writing(into);
  });
  models.def(
      "load_model",
      [](const std::filesystem::path& path, const std::filesystem::path& tokenizer, const std::filesystem::path& lora,
         const py::object& device) {
        train::LoadOptions options{tokenizer, lora, Convert<Device>::from(device.ptr()), true};
        train::LoadedModel loaded;
        {
          const ReleasedAside others_run;
          loaded = train::load_model(path, options);
        }
        return py::make_tuple(
            std::shared_ptr<CausalLm>(std::move(loaded.model)),
            std::const_pointer_cast<text::Tokenizer>(std::shared_ptr<const text::Tokenizer>(loaded.tokenizer)));
      },
      "path"_a, "tokenizer"_a = std::filesystem::path(), "lora"_a = std::filesystem::path(), "device"_a = py::none(),
      "A model and its tokenizer: a Hugging Face folder, a run of training, or a file of llama2.c.");
}

}  // namespace tenon::python
