// Writing .pt files: the archive of torch.save, with the pickle of an OrderedDict of tensors.
//
// Only opcodes and names that torch.load(weights_only=True) takes are used. A tensor has a storage of its own, unless
// another one shows the same elements.

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <tuple>

#include "tenon/io/torch_file.h"
#include "tenon/io/zip.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/ops.h"

namespace tenon::io {
namespace {

std::string_view storage_class(DType dtype) {
  switch (dtype) {
    case DType::f64: return "DoubleStorage";
    case DType::f32: return "FloatStorage";
    case DType::f16: return "HalfStorage";
    case DType::bf16: return "BFloat16Storage";
    case DType::i64: return "LongStorage";
    case DType::i32: return "IntStorage";
    case DType::u8: return "ByteStorage";
    case DType::boolean: return "BoolStorage";
  }
  return "";
}

/// A pickle of protocol 2, value by value.
class Pickler {
 public:
  void text(std::string_view value) {
    bytes_ += 'X';
    raw(static_cast<uint32_t>(value.size()));
    bytes_ += value;
  }
  void integer(int64_t value) {
    if (value >= 0 && value <= std::numeric_limits<int32_t>::max()) {
      bytes_ += 'J';
      raw(static_cast<int32_t>(value));
    } else {
      bytes_ += "\x8a\x08";
      raw(value);
    }
  }
  void integers(const Dims& values) {
    mark();
    for (const int64_t value : values) integer(value);
    tuple();
  }
  void name(std::string_view module, std::string_view name) { bytes_ += fmt::format("c{}\n{}\n", module, name); }
  void empty_ordered_dict() {
    name("collections", "OrderedDict");
    bytes_ += ")R";
  }
  void mark() { bytes_ += '('; }
  void tuple() { bytes_ += 't'; }
  void false_value() { bytes_ += '\x89'; }
  void call() { bytes_ += 'R'; }
  void persistent() { bytes_ += 'Q'; }
  void put_items() { bytes_ += 'u'; }
  void start() { bytes_ += "\x80\x02"; }
  void stop() { bytes_ += '.'; }

  const std::string& bytes() const { return bytes_; }

 private:
  template <typename T>
  void raw(T value) {
    std::array<char, sizeof(T)> bytes;
    std::memcpy(bytes.data(), &value, sizeof(T));
    bytes_.append(bytes.data(), bytes.size());
  }

  std::string bytes_;
};

Dims row_major(const Dims& shape) {
  Dims strides = shape;
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<int64_t>(shape[i], 1);
  }
  return strides;
}

// torch._utils._rebuild_tensor_v2(storage, offset, shape, strides, requires_grad, hooks)
void describe(Pickler& pickle, const StoredTensors::View& view, const Tensor& storage, const Tensor& tensor) {
  pickle.name("torch._utils", "_rebuild_tensor_v2");
  pickle.mark();
  pickle.mark();
  pickle.text("storage");
  pickle.name("torch", storage_class(tensor.dtype()));
  pickle.text(std::to_string(view.storage));
  pickle.text("cpu");
  pickle.integer(storage.numel());
  pickle.tuple();
  pickle.persistent();
  pickle.integer(view.offset);
  pickle.integers(tensor.shape());
  pickle.integers(view.strides);
  pickle.false_value();
  pickle.empty_ordered_dict();
  pickle.tuple();
  pickle.call();
}

// The elements of a memory that a tensor lies among.
struct Stretch {
  const void* memory;
  int64_t begin, end;
  size_t tensor;
};

Stretch stretch_of(const Tensor& x, size_t number) {
  const Tensor owner = owner_of(x);
  const bool has_owner = owner.defined() && owner.dtype() == x.dtype();
  Stretch stretch{impl_of(has_owner ? owner : x).get(), x.storage_offset(), x.storage_offset() + 1, number};
  const Dims strides = x.strides();
  for (size_t i = 0; i < strides.size(); ++i) stretch.end += strides[i] * (x.shape()[i] - 1);
  return stretch;
}

// The tensors that show elements of others, those of one memory together and in order.
std::vector<std::vector<Stretch>> overlapping(std::span<const Tensor> tensors) {
  std::vector<Stretch> all;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].numel() > 0) all.push_back(stretch_of(tensors[i], i));
  }
  std::ranges::sort(all, {}, [](const Stretch& s) { return std::tuple(s.memory, s.begin, s.tensor); });
  std::vector<std::vector<Stretch>> groups;
  int64_t end = 0;
  for (const Stretch& one : all) {
    const bool goes_on = !groups.empty() && groups.back().front().memory == one.memory && one.begin < end;
    if (!goes_on) groups.emplace_back();
    end = goes_on ? std::max(end, one.end) : one.end;
    groups.back().push_back(one);
  }
  std::erase_if(groups, [](const std::vector<Stretch>& group) { return group.size() == 1; });
  return groups;
}

constexpr std::string_view kTorch = "torch";
constexpr ZipLayout kTorchLayout{.wide = true, .alignment = 64};  // so that storages can be mapped

void write_archive(ZipWriter& archive, std::string_view pickle, std::span<const Tensor> storages) {
  const auto add = [&](const std::string& name, std::string_view text) {
    archive.add("archive/" + name, {}, std::as_bytes(std::span(text)));
  };
  add("data.pkl", pickle);
  add("byteorder", "little");
  for (size_t i = 0; i < storages.size(); ++i)
    archive.add("archive/data/" + std::to_string(i), {}, storages[i].to_bytes());
  add("version", "3\n");
  archive.finish();
}

}  // namespace

StoredTensors stored(std::span<const Tensor> tensors) {
  StoredTensors made;
  std::vector<Tensor> storages(tensors.begin(), tensors.end());  // each under the first tensor that shows it
  std::vector<size_t> shown_by(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    shown_by[i] = i;
    made.views.push_back({0, 0, row_major(tensors[i].shape())});
  }
  for (const std::vector<Stretch>& group : overlapping(tensors)) {
    int64_t end = 0;
    for (const Stretch& one : group) end = std::max(end, one.end);
    const int64_t begin = group.front().begin;
    const size_t first = std::ranges::min(group, {}, &Stretch::tensor).tensor;
    storages[first] = as_strided(tensors[first].detach(), {end - begin}, {1}, begin);
    for (const Stretch& one : group) {
      shown_by[one.tensor] = first;
      made.views[one.tensor] = {0, one.begin - begin, tensors[one.tensor].strides()};
    }
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (shown_by[i] == i) made.storages.push_back(storages[i]);
    made.views[i].storage = shown_by[i] == i ? made.storages.size() - 1 : made.views[shown_by[i]].storage;
  }
  return made;
}

void save_torch(const std::filesystem::path& path, const std::map<std::string, Tensor>& tensors) {
  const Input shown{kTorch, path.string(), {}};
  Pickler pickle;
  pickle.start();
  pickle.empty_ordered_dict();
  pickle.mark();
  std::vector<Tensor> in_order;
  for (const auto& [name, tensor] : tensors) {
    if (!is_utf8(name)) fail(shown, "the name {} is not valid UTF-8", in_quotes(name));
    if (!tensor.defined()) fail(shown, "tensor {} is undefined", in_quotes(name));
    in_order.push_back(tensor);
  }
  const StoredTensors as_stored = stored(in_order);
  size_t number = 0;
  for (const auto& [name, tensor] : tensors) {
    const StoredTensors::View& view = as_stored.views[number++];
    pickle.text(name);
    describe(pickle, view, as_stored.storages[view.storage], tensor);
  }
  pickle.put_items();
  pickle.stop();
  save_torch_pickle(path, pickle.bytes(), as_stored.storages);
}

void save_torch_pickle(const std::filesystem::path& path, std::string_view pickle, std::span<const Tensor> storages) {
  ZipWriter archive(kTorch, path, kTorchLayout, Devices::written_through);
  write_archive(archive, pickle, storages);
}

std::string torch_pickle_file(std::string_view pickle, std::span<const Tensor> storages) {
  std::string bytes;
  ZipWriter archive(kTorch, bytes, kTorchLayout);
  write_archive(archive, pickle, storages);
  return bytes;
}

}  // namespace tenon::io
