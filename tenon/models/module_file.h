// Any module as one file: its tensors under their names, as safetensors, and what the module is as JSON in the file's
// metadata. Python reads it with safetensors.torch.load_file, and PyTorch's load_state_dict takes what that gives.
//
//   models::save_module("net.safetensors", net);
//   models::load_module("net.safetensors", other);  // refuses what does not fit, and changes nothing then

#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "tenon/nn/module.h"

namespace tenon::models {

/// What a file says of the module it was made of.
struct ModuleDescription {
  std::string type;                            // of the module itself; empty where another program wrote the file
  std::map<std::string, std::string> modules;  // the types of those below it, by their dotted names
  std::map<std::string, std::string> shared;   // further names of tensors, and the names they are stored under
};

/// Writes all parameters and persistent buffers; a tensor with several names is stored once. The old file stays until
/// the new one is whole.
void save_module(const std::filesystem::path& path, const nn::Module& module);

/// Copies the file's tensors in by name. `strict` refuses missing and unexpected names and other dtypes; without it
/// what is there is taken and converted, and the report says what was not. Shapes must fit either way.
nn::LoadReport load_module(const std::filesystem::path& path, nn::Module& module, bool strict = true);

/// What a file says of its module; reads no tensors.
///   models::save_module("net.safetensors", net);
///   models::describe_module("net.safetensors").type;  // Linear
ModuleDescription describe_module(const std::filesystem::path& path);

}  // namespace tenon::models
