// Tensors from and to llama2.c's files.

#include "tenon/io/llama2c.h"

#include <array>
#include <cmath>
#include <limits>

#include "tenon/io/array.h"
#include "tenon/io/file.h"

namespace tenon::io {
namespace {

// The header counts in 32 bits, and tells a head of its own by a negative vocabulary.
std::array<int32_t, 7> header_of(const Input& shown, const Llama2cConfig& config) {
  const int64_t fields[] = {config.dim,        config.hidden_dim, config.n_layers,   config.n_heads,
                            config.n_kv_heads, config.vocab_size, config.max_seq_len};
  std::array<int32_t, 7> header;
  for (size_t i = 0; i < header.size(); ++i) {
    if (fields[i] <= 0 || fields[i] > std::numeric_limits<int32_t>::max())
      fail(shown, "the format cannot hold a size of {}", fields[i]);
    header[i] = static_cast<int32_t>(fields[i]);
  }
  if (!config.shared_classifier) header[5] = -header[5];
  return header;
}

// As model.py's precompute_freqs_cis, with its theta of 10000.
std::vector<float> frequencies(bool is_cosine, const std::vector<uint64_t>& shape) {
  const uint64_t positions = shape[0], pairs = shape[1];
  std::vector<float> table;
  for (uint64_t position = 0; position < positions; ++position) {
    for (uint64_t pair = 0; pair < pairs; ++pair) {
      const double speed = std::pow(10000.0, -static_cast<double>(pair) / static_cast<double>(pairs));
      const double angle = static_cast<double>(position) * speed;
      table.push_back(static_cast<float>(is_cosine ? std::cos(angle) : std::sin(angle)));
    }
  }
  return table;
}

}  // namespace

Llama2cModel load_llama2c(const std::filesystem::path& path, Device device) {
  const auto file = MappedFile::open("llama2c", path);
  const Input input{"llama2c", path.string(), file->bytes()};
  Llama2cContent content = parse_llama2c(input);
  Llama2cModel model{content.config, {}};
  for (const Llama2cWeight& weight : content.weights) {
    const Array array{weight.name, "f32", Element::f32, dims_of(weight.shape), weight.bytes};
    model.tensors.emplace(weight.name, tensor_over(input, array, file, device));
  }
  file->require_whole();
  return model;
}

void save_llama2c(const std::filesystem::path& path, const Llama2cModel& model) {
  const Input shown{"llama2c", path.string(), {}};
  const std::array<int32_t, 7> header = header_of(shown, model.config);
  const auto weight = [&](const std::string& name, const std::vector<uint64_t>& shape) -> const Tensor& {
    const auto found = model.tensors.find(name);
    if (found == model.tensors.end()) fail(shown, "there is no tensor {}", name);
    if (found->second.shape() != dims_of(shape))
      fail(shown, "tensor {} is {}; it must be {}", name, ir::to_string(found->second.shape()), shape_text(shape));
    return found->second;
  };
  ReplacingFile file("llama2c", path);
  file.write(std::as_bytes(std::span(header)));
  for_each_part(model.config, [&](const std::string& name, const std::vector<uint64_t>& shape) {
    if (is_computed(name))
      file.write(std::as_bytes(std::span<const float>(frequencies(name == "freqs_cos", shape))));
    else
      file.write(weight(name, shape).to(DType::f32).to_bytes());
  });
  file.commit();
}

Llama2cTokenizer load_llama2c_tokenizer(const std::filesystem::path& path) {
  const auto file = MappedFile::open("llama2c", path);
  return parse_llama2c_tokenizer({"llama2c", path.string(), file->bytes()});
}

}  // namespace tenon::io
