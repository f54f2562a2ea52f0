// A .pt file: archive, pickle, and the tensors over its storages.

#include "target.h"
#include "tenon/io/torch_header.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto input = tenon::fuzz::input_of("torch", data, size);
  // An instruction of one byte makes an object of 64, in a list that doubles.
  tenon::fuzz::run(size, 512, [&] {
    const tenon::io::TorchContent content = tenon::io::parse_torch(input);
    for (const tenon::io::TorchTensor& tensor : content.tensors) {
      tenon::io::gathered(size_of(tensor.element), content.storages[tensor.storage],
                          tenon::io::without_repeats(tensor.view));
    }
  });
  return 0;
}
