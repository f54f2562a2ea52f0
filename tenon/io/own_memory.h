// Whether tensors of files lie in the files.

#pragma once

namespace tenon::io {

/// While one lives in a thread, what it loads gets memory of its own, and nothing lies in the map of a file: writing
/// the file in place then changes no tensor.
///   io::save_safetensors("x.safetensors", {{"a", tensor({1, 2})}});
///   io::OwnMemory own;
///   Tensor a = io::load_safetensors("x.safetensors").tensors.at("a");
class OwnMemory {
 public:
  OwnMemory();
  ~OwnMemory();
  OwnMemory(const OwnMemory&) = delete;
  OwnMemory& operator=(const OwnMemory&) = delete;
};

}  // namespace tenon::io
