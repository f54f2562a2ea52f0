// PyTorch's .pt files, read and written without PyTorch and without running what they say.

#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/tensor/tensor.h"

namespace tenon::io {

/// What a file holds.
struct TorchFile {
  std::map<std::string, Tensor>
      tensors;  // nested dicts and lists by dotted names: "optimizer.state.0.step"; a lone one: "tensor"
  std::map<std::string, std::string> others;  // numbers, flags and texts, as Python prints them
  std::string pickle;                         // the one that says all this; empty of files before PyTorch 1.6
};

/// Reads what torch.save made of a state dict or a checkpoint of such (zip archives, and the bare pickles of PyTorch
/// before 1.6). Only the handful of names that describe tensors are understood, anything else in the pickle is refused
/// by name. int8, int16 and uint16 become i32, uint32 and uint64 i64, the 8-bit floats f32. Names for the same view of
/// the same storage give the same tensor.
///   io::save_torch("x.pt", {{"weight", tensor({1, 2})}});
///   io::load_torch("x.pt").tensors.at("weight");  // [1 2]
TorchFile load_torch(const std::filesystem::path& path, Device device = {});

/// Tensors as views of storages: those that show the same elements of one memory show them in one storage, any other is
/// a storage of its own.
struct StoredTensors {
  struct View {
    size_t storage;
    int64_t offset;
    Dims strides;
  };
  std::vector<Tensor> storages;
  std::vector<View> views;  // one for each tensor
};
StoredTensors stored(std::span<const Tensor> tensors);

/// Writes a state dict that torch.load reads, weights_only or not; beside, synced and renamed. A device, such as
/// /dev/null, is written through.
///   io::save_torch("net.pt", net.state_dict());
void save_torch(const std::filesystem::path& path, const std::map<std::string, Tensor>& tensors);

/// The same around a pickle of the caller's, which refers to the tensors as storages "0", "1" and so on.
void save_torch_pickle(const std::filesystem::path& path, std::string_view pickle, std::span<const Tensor> storages);
/// The bytes of that file.
std::string torch_pickle_file(std::string_view pickle, std::span<const Tensor> storages);

}  // namespace tenon::io
