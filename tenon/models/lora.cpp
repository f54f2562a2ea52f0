// peft calls the matrices base_model.model.<layer>.lora_A.weight; ours are <layer>.lora.lora_A.

#include "tenon/models/lora.h"

#include <algorithm>
#include <set>

#include "tenon/io/hugging_face.h"
#include "tenon/io/json.h"
#include "tenon/io/open_folder.h"
#include "tenon/io/safetensors.h"
#include "tenon/tensor/autograd.h"

namespace tenon::models {
namespace {

using base::fail;

constexpr const char *kConfig = "adapter_config.json", *kWeights = "adapter_model.safetensors";
constexpr std::string_view kPrefix = "base_model.model.", kInside = ".lora.", kSuffix = ".weight";

std::string last_name(const std::string& path) { return path.substr(path.rfind('.') + 1); }

// Layers that can have a correction, by their paths.
std::vector<std::pair<std::string, nn::Adaptable*>> adaptable(nn::Module& model) {
  std::vector<std::pair<std::string, nn::Adaptable*>> found;
  for (const nn::NamedModule& one : model.named_modules()) {
    if (auto* layer = dynamic_cast<nn::Adaptable*>(one.module)) found.emplace_back(one.name, layer);
  }
  return found;
}

// "transformer.h.0.attn.c_attn.lora.lora_A" as peft has it.
std::string peft_name(const std::string& name) {
  const size_t inside = name.find(kInside);
  return std::string(kPrefix) + name.substr(0, inside) + "." + name.substr(inside + kInside.size()) +
         std::string(kSuffix);
}

std::vector<nn::NamedTensor> corrections(const nn::Module& model) {
  std::vector<nn::NamedTensor> found = model.named_parameters();
  std::erase_if(found, [](const nn::NamedTensor& one) { return one.name.find(kInside) == std::string::npos; });
  return found;
}

}  // namespace

void attach_lora(nn::Module& model, const std::vector<std::string>& targets, const nn::LoraOptions& options) {
  std::set<std::string> names;
  std::vector<nn::Adaptable*> chosen;
  for (const auto& [path, layer] : adaptable(model)) {
    const std::string name = last_name(path);
    names.insert(name);
    if (std::find(targets.begin(), targets.end(), name) != targets.end()) chosen.push_back(layer);
  }
  for (const std::string& target : targets) {
    if (!names.contains(target)) fail("lora", "no layer is called {}; there are {}", target, fmt::join(names, ", "));
  }
  if (chosen.empty()) fail("lora", "no layer is chosen; there are {}", fmt::join(names, ", "));
  model.requires_grad_(false);
  for (nn::Adaptable* layer : chosen) layer->adapt(options);
}

void merge_lora(nn::Module& model) {
  for (const auto& [path, layer] : adaptable(model)) layer->merge();
  model.requires_grad_(true);
}

bool has_lora(const nn::Module& model) { return !corrections(model).empty(); }

void require_merged(const nn::Module& model) {
  if (has_lora(model)) fail("lora", "the model has corrections: merge_lora() them first, or save_lora() them alone");
}

std::vector<Tensor> trainable(const nn::Module& model) {
  std::vector<Tensor> parameters = model.parameters();
  std::erase_if(parameters, [](const Tensor& p) { return !p.requires_grad(); });
  return parameters;
}

void save_lora(const nn::Module& model, const std::filesystem::path& folder, const nn::LoraOptions& options) {
  const NoGrad reading;
  std::map<std::string, Tensor> tensors;
  std::set<std::string> targets;
  for (const nn::NamedTensor& one : corrections(model)) {
    tensors.emplace(peft_name(one.name), one.tensor);
    targets.insert(last_name(one.name.substr(0, one.name.find(kInside))));
  }
  if (tensors.empty()) fail("lora", "the model has no corrections to save; attach_lora() makes them");
  const nlohmann::ordered_json config = {{"peft_type", "LORA"},
                                         {"task_type", "CAUSAL_LM"},
                                         {"r", options.rank},
                                         {"lora_alpha", options.alpha},
                                         {"lora_dropout", options.dropout},
                                         {"target_modules", targets},
                                         {"fan_in_fan_out", targets.contains("c_attn") || targets.contains("c_proj")},
                                         {"bias", "none"},
                                         {"inference_mode", true}};
  std::error_code ignored;  // where it cannot be made, writing says so
  std::filesystem::create_directories(folder, ignored);
  io::save_with_config(folder / kConfig, config.dump(2) + "\n", folder / kWeights, tensors, {{"format", "pt"}});
}

namespace {

/// A rank that the weights do not bear out would be memory for nothing.
void require_rank(const io::SafetensorsFile& file, int64_t rank, const std::filesystem::path& path) {
  for (const auto& [name, tensor] : file.tensors) {
    const bool is_first = name.ends_with("lora_A.weight") && tensor.dim() == 2;
    if (is_first && tensor.size(0) != rank)
      fail("lora", "{}: r is {}, but {} has rank {}", path.string(), rank, io::in_quotes(name), tensor.size(0));
  }
  if (file.tensors.empty()) fail("lora", "{}: there are no weights beside it", path.string());
}

}  // namespace

void load_lora(nn::Module& model, const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / kConfig;
  const io::OpenFolder open("lora", folder);
  const auto text = open.open(kConfig);
  const auto config = io::parse_json<nlohmann::json>({"lora", path.string(), text->bytes()});
  nn::LoraOptions options;
  std::vector<std::string> targets;
  try {
    options.rank = config.at("r").get<int64_t>();
    options.alpha = config.at("lora_alpha").get<double>();
    options.dropout = config.value("lora_dropout", 0.0);
    targets = config.at("target_modules").get<std::vector<std::string>>();
  } catch (const nlohmann::json::exception&) {
    fail("lora", "{}: is no adapter_config.json with r, lora_alpha and target_modules", path.string());
  }
  const io::SafetensorsFile file = io::load_safetensors(open, kWeights);
  open.require_unchanged(kConfig);
  require_rank(file, options.rank, path);
  attach_lora(model, targets, options);
  const NoGrad loading;
  for (nn::NamedTensor& one : corrections(model)) {
    const auto found = file.tensors.find(peft_name(one.name));
    if (found == file.tensors.end()) fail("lora", "{}: lacks {}", (folder / kWeights).string(), peft_name(one.name));
    if (found->second.shape() != one.tensor.shape())
      fail("lora", "{}: {} has shape {}, the model wants {}", (folder / kWeights).string(), peft_name(one.name),
           ir::to_string(found->second.shape()), ir::to_string(one.tensor.shape()));
    one.tensor.copy_(found->second.to(one.tensor.dtype()));
  }
}

}  // namespace tenon::models
