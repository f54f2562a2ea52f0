// A .pt file: archive, pickle, and the tensors over its storages.

#include "target.h"
#include "tenon/io/torch_header.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto input = tenon::fuzz::input_of("torch", data, size);
  // An instruction of one byte makes an object of 64, in a list that doubles.
  tenon::fuzz::run(size, 512, [&] {
    for (const auto& tensor : tenon::io::parse_torch(input).tensors) {
      if (tensor.view.shape.size() != tensor.view.strides.size()) __builtin_trap();
    }
  });
  return 0;
}
