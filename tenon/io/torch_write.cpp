// Writing .pt files: the archive of torch.save, with the pickle of an OrderedDict of tensors.
//
// Only opcodes and names that torch.load(weights_only=True) takes are used. Every tensor has a storage of its own.

#include <array>
#include <cstring>
#include <limits>

#include "tenon/io/torch_file.h"
#include "tenon/io/zip.h"

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
void describe(Pickler& pickle, size_t storage, const Tensor& tensor) {
  pickle.name("torch._utils", "_rebuild_tensor_v2");
  pickle.mark();
  pickle.mark();
  pickle.text("storage");
  pickle.name("torch", storage_class(tensor.dtype()));
  pickle.text(std::to_string(storage));
  pickle.text("cpu");
  pickle.integer(tensor.numel());
  pickle.tuple();
  pickle.persistent();
  pickle.integer(0);
  pickle.integers(tensor.shape());
  pickle.integers(row_major(tensor.shape()));
  pickle.false_value();
  pickle.empty_ordered_dict();
  pickle.tuple();
  pickle.call();
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

void save_torch(const std::filesystem::path& path, const std::map<std::string, Tensor>& tensors) {
  const Input shown{kTorch, path.string(), {}};
  Pickler pickle;
  pickle.start();
  pickle.empty_ordered_dict();
  pickle.mark();
  size_t storages = 0;
  for (const auto& [name, tensor] : tensors) {
    if (!is_utf8(name)) fail(shown, "the name {} is not valid UTF-8", in_quotes(name));
    if (!tensor.defined()) fail(shown, "tensor {} is undefined", in_quotes(name));
    pickle.text(name);
    describe(pickle, storages++, tensor);
  }
  pickle.put_items();
  pickle.stop();

  std::vector<Tensor> in_order;
  in_order.reserve(tensors.size());
  for (const auto& [name, tensor] : tensors) in_order.push_back(tensor);
  save_torch_pickle(path, pickle.bytes(), in_order);
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
