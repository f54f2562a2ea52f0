// What a PyTorch .pt file says about itself: an archive with a pickle that describes tensors, and their storages beside
// it. No tensor is made here, and nothing that the pickle names is ever called.

#pragma once

#include <map>
#include <string>
#include <vector>

#include "tenon/io/element.h"
#include "tenon/io/input.h"

namespace tenon::io {

struct TorchTensor {
  std::string name;        // the keys of nested dicts and lists, joined by dots
  size_t storage;          // which of TorchContent::storages
  std::string_view dtype;  // as PyTorch spells it
  Element element;
  Strided view;  // lies inside its storage
};

struct TorchContent {
  std::vector<TorchTensor> tensors;
  std::map<std::string, std::string> others;  // what is no tensor, by name, as Python prints it
  std::vector<std::span<const std::byte>> storages;
  std::span<const std::byte> pickle;  // of an archive
};

/// The view with every axis that repeats one element (stride 0) shown once: what has to be copied to show the rest.
Strided without_repeats(Strided view);

/// Fails with one line on anything but a dict of tensors, numbers and texts.
TorchContent parse_torch(const Input& input);

}  // namespace tenon::io
