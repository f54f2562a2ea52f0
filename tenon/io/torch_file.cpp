// Tensors from the storages of a .pt file.
//
// A storage that one tensor shows, whole and in order, is that tensor's memory. Where several show parts of it, or one
// shows it by strides, each gets a copy of what it shows: two tensors may not lie over the same memory.

#include "tenon/io/torch_file.h"

#include <tuple>

#include "tenon/io/array.h"
#include "tenon/io/file.h"
#include "tenon/io/torch_header.h"

namespace tenon::io {
namespace {

using ViewKey = std::tuple<size_t, Element, uint64_t, std::vector<uint64_t>, std::vector<uint64_t>>;

ViewKey key_of(const TorchTensor& tensor) {
  return {tensor.storage, tensor.element, tensor.view.offset, tensor.view.shape, tensor.view.strides};
}

bool is_row_major(const Strided& view) {
  uint64_t stride = 1;
  for (size_t i = view.shape.size(); i-- > 0;) {
    if (view.shape[i] > 1 && view.strides[i] != stride) return false;
    stride *= view.shape[i];
  }
  return true;
}

class Loader {
 public:
  Loader(const Input& input, const TorchContent& content, std::shared_ptr<const MappedFile> file, Device device)
      : input_(input), content_(content), file_(std::move(file)), device_(device), views_(content.storages.size(), 0) {
    std::map<ViewKey, int> seen;
    for (const TorchTensor& tensor : content.tensors) {
      if (seen[key_of(tensor)]++ == 0) ++views_[tensor.storage];
    }
  }

  Tensor load(const TorchTensor& tensor) {
    Tensor& made = made_[key_of(tensor)];
    if (!made.defined()) made = make(tensor);
    return made;
  }

 private:
  Tensor make(const TorchTensor& tensor) const {
    const Strided dense = without_repeats(tensor.view);
    const size_t element_bytes = size_of(tensor.element);
    const std::span<const std::byte> storage = content_.storages[tensor.storage];
    Array array{"tensor " + in_quotes(tensor.name), tensor.dtype, tensor.element, dims_of(dense.shape), {}};
    Tensor made;
    if (is_row_major(dense)) {
      const auto count = static_cast<size_t>(ir::count(array.shape));
      if (count > 0) array.bytes = storage.subspan(dense.offset * element_bytes, count * element_bytes);
      const bool is_alone = views_[tensor.storage] == 1;
      made = is_alone ? tensor_over(input_, array, file_, device_) : tensor_of(input_, array, device_);
    } else {
      const std::vector<std::byte> own = gathered(element_bytes, storage, dense);
      array.bytes = own;
      made = tensor_of(input_, array, device_);
    }
    return dense.shape == tensor.view.shape ? made : made.expand(dims_of(tensor.view.shape));
  }

  const Input& input_;
  const TorchContent& content_;
  std::shared_ptr<const MappedFile> file_;
  Device device_;
  std::vector<int> views_;  // how many different ones each storage has
  std::map<ViewKey, Tensor> made_;
};

}  // namespace

TorchFile load_torch(const std::filesystem::path& path, Device device) {
  const auto file = MappedFile::open("torch", path);
  const Input input{"torch", path.string(), file->bytes()};
  TorchContent content = parse_torch(input);
  Loader loader(input, content, file, device);
  TorchFile result;
  for (const TorchTensor& tensor : content.tensors) result.tensors.emplace(tensor.name, loader.load(tensor));
  result.others = std::move(content.others);
  result.pickle = as_text(content.pickle);
  file->require_whole();
  return result;
}

}  // namespace tenon::io
