// GPT-2, Llama, networks that classify pictures, text that language models write, LoRA; bert.cpp has the encoder.
//
// Their classes derive from one of Python's, nn.module.ModuleOfCpp, which has to be there first: _bind_models takes it.

#include "bind.h"
#include "model_fields.h"

namespace tenon::python {
namespace {

using models::CausalLm;

const Setters<models::Gpt2Config>& gpt2_fields() {
  using C = models::Gpt2Config;
  static const auto fields =
      fields_of<C>("vocabulary", &C::vocabulary, "padded_vocabulary", &C::padded_vocabulary, "positions", &C::positions,
                   "width", &C::width, "layers", &C::layers, "heads", &C::heads, "inner", &C::inner, "norm_eps",
                   &C::norm_eps, "activation", &C::activation, "tied_head", &C::tied_head, "bias", &C::bias, "causal",
                   &C::causal, "start_token", &C::start_token, "end_token", &C::end_token, "dropout",
                   [](C& config, const py::handle& value) { config.set_dropout(py::cast<double>(value)); });
  return fields;
}

const Setters<models::LlamaConfig>& llama_fields() {
  using C = models::LlamaConfig;
  static const auto fields =
      fields_of<C>("vocabulary", &C::vocabulary, "padded_vocabulary", &C::padded_vocabulary, "positions", &C::positions,
                   "width", &C::width, "layers", &C::layers, "heads", &C::heads, "kv_heads", &C::kv_heads, "head_width",
                   &C::head_width, "inner", &C::inner, "norm_eps", &C::norm_eps, "rotary_theta", &C::rotary_theta,
                   "attention_bias", &C::attention_bias, "mlp_bias", &C::mlp_bias, "tied_head", &C::tied_head,
                   "start_token", &C::start_token, "end_token", &C::end_token);
  return fields;
}

models::Gpt2Config gpt2_config(const std::string& size) {
  using C = models::Gpt2Config;
  return one_named("size", size, "distilgpt2", C::distilgpt2, "gpt2", C::gpt2, "gpt2-medium", C::gpt2_medium,
                   "gpt2-large", C::gpt2_large, "gpt2-xl", C::gpt2_xl)();
}

const Setters<models::ResNetConfig>& resnet_fields() {
  using C = models::ResNetConfig;
  static const auto fields = fields_of<C>(
      "blocks", &C::blocks, "bottleneck", &C::bottleneck, "width", &C::width, "image_channels", &C::image_channels,
      "classes", &C::classes, "small_pictures", &C::small_pictures, "mean",
      [](C& c, const py::handle& v) { c.statistics.mean = py::cast<std::vector<double>>(v); }, "deviation",
      [](C& c, const py::handle& v) { c.statistics.deviation = py::cast<std::vector<double>>(v); });
  return fields;
}

const Setters<models::ViTConfig>& vit_fields() {
  using C = models::ViTConfig;
  static const auto fields = fields_of<C>(
      "image_size", &C::image_size, "patch_size", &C::patch_size, "layers", &C::layers, "heads", &C::heads, "width",
      &C::width, "inner", &C::inner, "image_channels", &C::image_channels, "classes", &C::classes, "dropout",
      &C::dropout, "attention_dropout", &C::attention_dropout, "mean",
      [](C& c, const py::handle& v) { c.statistics.mean = py::cast<std::vector<double>>(v); }, "deviation",
      [](C& c, const py::handle& v) { c.statistics.deviation = py::cast<std::vector<double>>(v); });
  return fields;
}

void bind_picture_models(Scope& m, const py::object& base) {
  using models::PictureModel, models::ResNet, models::ViT;
  Class<PictureModel>(m, "PictureModel", base, "What networks that classify pictures share.")
      .def("save(folder)", "Writes config.json and model.safetensors into a folder.", released(&PictureModel::save))
      .def("load_weights(file, strict=True)", "Takes torchvision's weights from .safetensors, .pt or .pth.",
           [](PictureModel& self, const std::filesystem::path& file, bool strict) {
             const nn::LoadReport report = self.load_weights(file, strict);
             return py::make_tuple(report.missing, report.unexpected);
           })
      .property("config", [](const PictureModel& self) { return self.config_json(); });
  Class<ResNet, PictureModel>(m, "ResNet",
                              "ResNet as torchvision has it: ResNet(50), ResNet(18, classes=10, small_pictures=True).")
      .init("layers=50, device=None, dtype=None",
            [](int64_t layers, const Device& device, std::optional<DType> dtype, const py::kwargs& fields) {
              return std::make_shared<ResNet>(config_of(models::ResNetConfig::resnet(layers), fields, resnet_fields()),
                                              options_of(dtype, device));
            })
      .def_static("load(folder, device=None)", "From a folder that save() wrote.", &load<ResNet>);
  Class<ViT, PictureModel>(
      m, "ViT",
      "ViT as torchvision has it: B/16 unless other sizes are given, ViT(image_size=32, patch_size=4, layers=6).")
      .init("device=None, dtype=None",
            [](const Device& device, std::optional<DType> dtype, const py::kwargs& fields) {
              return std::make_shared<ViT>(config_of(models::ViTConfig::b_16(), fields, vit_fields()),
                                           options_of(dtype, device));
            })
      .def_static("load(folder, device=None)", "From a folder that save() wrote.", &load<ViT>);
}

void bind_language_models(Scope& m, const py::object& base) {
  Class<CausalLm>(m, "CausalLm", base, "What decoder language models have.")
      .def("_forward_of_library(ids)", "Logits (batch, time, vocabulary) of ids (batch, time).",
           [](const CausalLm& self, const Tensor& ids) { return self.forward(ids); })
      .def("loss(ids, targets, ignore_index=-100, chunk=0)", "The mean cross-entropy of targets.",
           [](const CausalLm& self, const Tensor& ids, const Tensor& targets, int64_t ignore_index, int64_t chunk) {
             return self.loss(ids, targets, {ignore_index, chunk});
           })
      .def("save(folder)", "Writes a folder that transformers reads.", released(&CausalLm::save))
      .property("vocabulary", &CausalLm::vocabulary)
      .property("positions", &CausalLm::positions)
      .def(
          "generate(prompt, new_tokens=64, temperature=0.0, top_k=0, top_p=1.0, min_p=0.0, repetition_penalty=1.0, "
          "stop=None, generator=None)",
          "The tokens of a prompt and those that follow it.",
          [](CausalLm& self, const std::vector<int64_t>& prompt, int64_t new_tokens, double temperature, int64_t top_k,
             double top_p, double min_p, double penalty, const std::optional<int64_t>& stop, Generator* generator) {
            const models::GenerateOptions options{new_tokens, temperature, top_k,   top_p, stop,
                                                  generator,  min_p,       penalty, {},    {}};
            const Released others_run;
            return models::generate(self, prompt, options);
          });
  Class<models::Gpt2, CausalLm>(
      m, "GPT2", "GPT-2 in any size: GPT2('distilgpt2'), GPT2(layers=2, heads=2, width=64, vocabulary=100).")
      .init("size='gpt2', device=None, dtype=None",
            [](const std::string& size, const Device& device, std::optional<DType> dtype, const py::kwargs& fields) {
              return std::make_shared<models::Gpt2>(config_of(gpt2_config(size), fields, gpt2_fields()),
                                                    options_of(dtype, device));
            })
      .def_static("load(folder, device=None, padded_vocabulary=0)", "From a folder as transformers writes it.",
                  [](const std::filesystem::path& folder, const Device& device, int64_t padded) {
                    return models::Gpt2::load(folder, options_of({}, device), padded);
                  })
      .property("config", [](const models::Gpt2& self) { return self.config().to_json(); });
  Class<models::Llama, CausalLm>(m, "Llama", "Llama in any size.")
      .init("device=None, dtype=None",
            [](const Device& device, std::optional<DType> dtype, const py::kwargs& fields) {
              return std::make_shared<models::Llama>(config_of(models::LlamaConfig{}, fields, llama_fields()),
                                                     options_of(dtype, device));
            })
      .def_static("load(folder, device=None)", "From a folder as transformers writes it.", &load<models::Llama>)
      .def_static("load_llama2c(file)", "From a file of llama2.c.",
                  [](const std::filesystem::path& file) { return models::Llama::load_llama2c(file); })
      .property("config", [](const models::Llama& self) { return self.config().to_json(); });
  Class<models::Cnn>(m, "CNN", base, "A small convolutional network for images.")
      .init(
          "image_channels=1, height=28, width=28, classes=10, stages=2, channels=32, convolutions=1, batch_norm=False, "
          "hidden=0, dropout=0.0",
          [](int64_t image_channels, int64_t height, int64_t width, int64_t classes, int64_t stages, int64_t channels,
             int64_t convolutions, bool batch_norm, int64_t hidden, double dropout) {
            return std::make_shared<models::Cnn>(models::CnnConfig{
                image_channels, height, width, classes, stages, channels, convolutions, batch_norm, hidden, dropout});
          })
      .def("save(folder)", &models::Cnn::save)
      .def_static("load(folder)", "", [](const std::filesystem::path& folder) { return models::Cnn::load(folder); });
}

void bind_parts(Scope& m, const py::object& base) {
  Class<nn::KvCache>(m, "KvCache", "Keys and values of the tokens seen so far.")
      .init_of<int64_t, int64_t, int64_t, int64_t>("batch, kv_heads, max_length, head_width")
      .def("append(keys, values)", py::overload_cast<const Tensor&, const Tensor&>(&nn::KvCache::append))
      .def("advance(tokens)", &nn::KvCache::advance)
      .def("rewind(length=0)", &nn::KvCache::rewind)
      .def("mask(tokens, causal=True)", &nn::KvCache::mask)
      .def("positions(tokens)", &nn::KvCache::positions)
      .property("keys", &nn::KvCache::keys)
      .property("values", &nn::KvCache::values)
      .property("position", &nn::KvCache::position);
  Class<nn::RotaryEmbedding>(m, "RotaryEmbedding", base, "Turns pairs of elements by angles that grow with positions.")
      .init("width, max_positions, theta=10000.0, interleaved=False",
            [](int64_t width, int64_t positions, double theta, bool interleaved) {
              return std::make_shared<nn::RotaryEmbedding>(
                  width, positions, theta, interleaved ? nn::RotaryLayout::interleaved : nn::RotaryLayout::halves);
            })
      .def("_forward_of_library(x, offset=0)",
           [](const nn::RotaryEmbedding& self, const Tensor& x, int64_t offset) { return self.forward(x, offset); });
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
      .init_of<std::shared_ptr<CausalLm>, std::shared_ptr<text::Tokenizer>>("model, tokenizer")
      .def(
          "write(prompts, new_tokens=64, temperature=0.0, top_k=0, top_p=1.0, min_p=0.0, repetition_penalty=1.0, "
          "stop_strings=[], generator=None, on_text=None)",
          "What follows a prompt, or each of several.",
          [](Writer& self, const py::object& prompts, int64_t new_tokens, double temperature, int64_t top_k,
             double top_p, double min_p, double penalty, const std::vector<std::string>& stop_strings,
             Generator* generator, const py::object& on_text) -> py::object {
            const bool is_one = PyUnicode_Check(prompts.ptr());
            const auto list = is_one ? std::vector<std::string>{py::cast<std::string>(prompts)}
                                     : py::cast<std::vector<std::string>>(prompts);
            const models::GenerateOptions options{new_tokens, temperature, top_k,   top_p, {},
                                                  generator,  min_p,       penalty, {},    stop_strings};
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
            for (const models::Text& one : texts) made.append(text_object(one.text));
            return is_one ? py::object(made[0]) : py::object(made);
          });
  m.def("attach_lora(model, targets, rank=8, alpha=16.0, dropout=0.0)",
        "Freezes a model and gives every layer of one of these names a small correction.",
        [](nn::Module& model, const std::vector<std::string>& targets, int64_t rank, double alpha, double dropout) {
          models::attach_lora(model, targets, {rank, alpha, dropout});
        });
  m.def("merge_lora(model)", "Adds all corrections to their weights.", &models::merge_lora);
  m.def("save_lora(model, folder, rank=8, alpha=16.0)", "Writes the corrections alone.",
        [](const nn::Module& model, const std::filesystem::path& folder, int64_t rank, double alpha) {
          models::save_lora(model, folder, {rank, alpha, 0});
        });
  m.def("load_lora(model, folder)", "Reads corrections.", &models::load_lora);
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
  models.def("load_model(path, tokenizer='', lora='', device=None)",
             "A model and its tokenizer: a Hugging Face folder, a run of training, or a file of llama2.c.",
             [](const std::filesystem::path& path, const std::filesystem::path& tokenizer,
                const std::filesystem::path& lora, const Device& device) {
               train::LoadOptions options{tokenizer, lora, device, true};
               train::LoadedModel loaded = computed_aside([&] { return train::load_model(path, options); });
               return py::make_tuple(
                   std::shared_ptr<CausalLm>(std::move(loaded.model)),
                   std::const_pointer_cast<text::Tokenizer>(std::shared_ptr<const text::Tokenizer>(loaded.tokenizer)));
             });
}

}  // namespace tenon::python
