// Tensors from the storages of a .pt file.
//
// A storage that one tensor shows, whole and in order, is that tensor's memory. Where several show the same elements,
// what they show together is one memory, of which each is a view: writing one writes the others, as in PyTorch. Any
// other gets a copy of what it shows.

#include "tenon/io/torch_file.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "tenon/io/array.h"
#include "tenon/io/file.h"
#include "tenon/io/torch_header.h"
#include "tenon/tensor/ops.h"

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

// Elements of a storage that several views show some of.
struct SharedPart {
  size_t storage;
  Element element;
  uint64_t begin, end;
  std::set<ViewKey> views;
  Tensor memory;  // once it is loaded
};

// What overlaps, storage by storage. Views of other elements than the rest of a storage show copies.
std::vector<SharedPart> shared_parts(const std::vector<TorchTensor>& tensors) {
  std::vector<SharedPart> parts;
  std::map<size_t, std::set<Element>> elements;
  for (const TorchTensor& tensor : tensors) {
    elements[tensor.storage].insert(tensor.element);
    const uint64_t end = extent(tensor.view).value_or(0);
    if (end > 0) parts.push_back({tensor.storage, tensor.element, tensor.view.offset, end, {key_of(tensor)}, {}});
  }
  std::erase_if(parts, [&](const SharedPart& part) { return elements[part.storage].size() > 1; });
  std::ranges::sort(parts, {}, [](const SharedPart& part) { return std::pair(part.storage, part.begin); });
  std::vector<SharedPart> joined;
  for (SharedPart& part : parts) {
    if (joined.empty() || joined.back().storage != part.storage || joined.back().end <= part.begin) {
      joined.push_back(std::move(part));
      continue;
    }
    joined.back().end = std::max(joined.back().end, part.end);
    joined.back().views.merge(part.views);
  }
  std::erase_if(joined, [](const SharedPart& part) { return part.views.size() == 1; });
  return joined;
}

class Loader {
 public:
  Loader(const Input& input, const TorchContent& content, std::shared_ptr<const MappedFile> file, Device device)
      : input_(input),
        content_(content),
        file_(std::move(file)),
        device_(device),
        views_(content.storages.size(), 0),
        parts_(shared_parts(content.tensors)) {
    std::map<ViewKey, int> seen;
    for (const TorchTensor& tensor : content.tensors) {
      if (seen[key_of(tensor)]++ == 0) ++views_[tensor.storage];
    }
    for (SharedPart& part : parts_) {
      for (const ViewKey& view : part.views) part_of_[view] = &part;
    }
  }

  Tensor load(const TorchTensor& tensor) {
    Tensor& made = made_[key_of(tensor)];
    if (!made.defined()) made = make(tensor);
    return made;
  }

 private:
  Array described_array(const TorchTensor& tensor, Dims shape) const {
    return {"tensor " + in_quotes(tensor.name), tensor.dtype, tensor.element, std::move(shape), {}};
  }

  Tensor make(const TorchTensor& tensor) const {
    const Strided dense = without_repeats(tensor.view);
    const auto part = part_of_.find(key_of(tensor));
    const Tensor made = part != part_of_.end() ? view_of(*part->second, tensor, dense) : alone(tensor, dense);
    return dense.shape == tensor.view.shape ? made : made.expand(dims_of(tensor.view.shape));
  }

  Tensor view_of(SharedPart& part, const TorchTensor& tensor, const Strided& dense) const {
    if (!part.memory.defined()) {
      const size_t element_bytes = size_of(part.element);
      Array array = described_array(tensor, {static_cast<int64_t>(part.end - part.begin)});
      array.bytes = content_.storages[part.storage].subspan(part.begin * element_bytes,
                                                            (part.end - part.begin) * element_bytes);
      part.memory = tensor_over(input_, array, file_, device_);
    }
    return as_strided(part.memory, dims_of(dense.shape), dims_of(dense.strides),
                      static_cast<int64_t>(dense.offset - part.begin));
  }

  Tensor alone(const TorchTensor& tensor, const Strided& dense) const {
    const size_t element_bytes = size_of(tensor.element);
    const std::span<const std::byte> storage = content_.storages[tensor.storage];
    Array array = described_array(tensor, dims_of(dense.shape));
    if (!is_row_major(dense)) {
      const std::vector<std::byte> own = gathered(element_bytes, storage, dense);
      array.bytes = own;
      return tensor_of(input_, array, device_);
    }
    const auto count = static_cast<size_t>(ir::count(array.shape));
    if (count > 0) array.bytes = storage.subspan(dense.offset * element_bytes, count * element_bytes);
    const bool has_storage = views_[tensor.storage] == 1;
    return has_storage ? tensor_over(input_, array, file_, device_) : tensor_of(input_, array, device_);
  }

  const Input& input_;
  const TorchContent& content_;
  std::shared_ptr<const MappedFile> file_;
  Device device_;
  std::vector<int> views_;  // how many different ones each storage has
  std::vector<SharedPart> parts_;
  std::map<ViewKey, SharedPart*> part_of_;
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
