#include "tenon/data/mnist.h"

#include "tenon/base/error.h"
#include "tenon/data/compressed.h"
#include "tenon/data/host_bytes.h"
#include "tenon/data/idx_array.h"
#include "tenon/data/unpacked.h"
#include "tenon/io/array.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/ops.h"

namespace tenon::data {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kClasses = 10;  // of both datasets
constexpr const char* kDebianFolder = "/usr/share/datasets/fashion-mnist";

fs::path file_in(std::string_view what, const fs::path& folder, const std::string& name) {
  std::error_code ignored;
  for (const char* ending : {"", ".gz"}) {
    if (const fs::path path = folder / (name + ending); fs::exists(path, ignored)) return path;
  }
  base::fail(what, "{}: has neither {} nor {}.gz: give the folder that the four files were fetched to", folder.string(),
             name, name);
}

/// Images and labels of the two files, which must fit together.
TensorDataset pair(std::string_view what, const fs::path& folder, bool train) {
  const std::string part = train ? "train" : "t10k";
  const fs::path images_file = file_in(what, folder, part + "-images-idx3-ubyte");
  const fs::path labels_file = file_in(what, folder, part + "-labels-idx1-ubyte");
  const Tensor images = load_idx(images_file, host()), labels = load_idx(labels_file, host());
  if (images.dtype() != DType::u8 || images.dim() != 3) {
    base::fail(what, "{}: holds {}; images are u8 of three dims", images_file.string(), shown_type(images));
  }
  if (labels.dtype() != DType::u8 || labels.dim() != 1) {
    base::fail(what, "{}: holds {}; labels are u8 of one dim", labels_file.string(), shown_type(labels));
  }
  if (images.size(0) != labels.size(0)) {
    base::fail(what, "{}: there are {} images and {} labels: the files do not belong together", folder.string(),
               images.size(0), labels.size(0));
  }
  if (const int64_t largest = labels.numel() > 0 ? amax(labels).item<int64_t>() : 0; largest >= kClasses) {
    base::fail(what, "{}: has the label {}; there are {} classes: load_idx() reads files of other datasets",
               labels_file.string(), largest, kClasses);
  }
  return {{"image", images.unsqueeze(1)}, {"label", labels.to(DType::i64)}};
}

}  // namespace

Tensor load_idx(const fs::path& path, Device device) {
  auto file = open_file(path, "idx");
  const uint64_t most = most_unpacked(fs::file_size(path));
  const auto stream = decompressed(std::move(file), kLargestZstdWindow, "idx");
  const IdxArray array = read_idx(*stream, most);
  return from_bytes(array.bytes, io::dims_of(array.shape), Options(io::held_as(array.element), device));
}

TensorDataset mnist(const fs::path& folder, bool train) { return pair("mnist", folder, train); }

TensorDataset fashion_mnist(const fs::path& folder, bool train) {
  if (!folder.empty()) return pair("fashion_mnist", folder, train);
  if (std::error_code ignored; !fs::exists(kDebianFolder, ignored)) {
    base::fail("fashion_mnist", "{} is not there: apt-get install dataset-fashion-mnist, or give a folder",
               kDebianFolder);
  }
  return pair("fashion_mnist", kDebianFolder, train);
}

}  // namespace tenon::data
