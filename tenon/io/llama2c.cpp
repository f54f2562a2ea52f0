// Tensors from llama2.c's files.

#include "tenon/io/llama2c.h"

#include "tenon/io/array.h"
#include "tenon/io/file.h"

namespace tenon::io {

Llama2cModel load_llama2c(const std::filesystem::path& path, Device device) {
  const auto file = MappedFile::open("llama2c", path);
  const Input input{"llama2c", path.string(), file->bytes()};
  Llama2cContent content = parse_llama2c(input);
  Llama2cModel model{content.config, {}};
  for (const Llama2cWeight& weight : content.weights) {
    const Array array{weight.name, "f32", Element::f32, dims_of(weight.shape), weight.bytes};
    model.tensors.emplace(weight.name, tensor_over(input, array, file, device));
  }
  return model;
}

Llama2cTokenizer load_llama2c_tokenizer(const std::filesystem::path& path) {
  const auto file = MappedFile::open("llama2c", path);
  return parse_llama2c_tokenizer({"llama2c", path.string(), file->bytes()});
}

}  // namespace tenon::io
