#include "tenon/data/cifar.h"

#include "tenon/base/error.h"
#include "tenon/data/cifar_records.h"
#include "tenon/data/host_bytes.h"
#include "tenon/io/file.h"
#include "tenon/tensor/creation.h"

namespace tenon::data {
namespace {

namespace fs = std::filesystem;

TensorDataset read_all(std::string_view what, fs::path folder, const std::string& usual, const CifarFormat& format,
                       const std::vector<std::string>& names) {
  std::error_code ignored;
  if (fs::exists(folder / usual, ignored)) folder /= usual;
  std::vector<std::byte> pixels;
  std::vector<int64_t> labels;
  for (const std::string& name : names) {
    const fs::path path = folder / name;
    if (!fs::exists(path, ignored)) {
      base::fail(what, "{}: is not there: give the folder {} of the binary version, unpacked", path.string(), usual);
    }
    const auto file = io::MappedFile::open(what, path);
    append_cifar({what, path.string(), file->bytes()}, format, pixels, labels);
    file->require_whole();
  }
  const auto count = static_cast<int64_t>(labels.size());
  return {{"image", from_bytes(pixels, {count, 3, 32, 32}, Options(DType::u8, host()))},
          {"label", from_vector(labels, {count}, Options(host()))}};
}

}  // namespace

TensorDataset cifar10(const fs::path& folder, bool train) {
  std::vector<std::string> names = {"test_batch.bin"};
  if (train)
    names = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"};
  return read_all("cifar10", folder, "cifar-10-batches-bin", {{10}, 0}, names);
}

TensorDataset cifar100(const fs::path& folder, bool train, Cifar100Label label) {
  return read_all("cifar100", folder, "cifar-100-binary", {{20, 100}, label == Cifar100Label::kFine ? size_t{1} : 0},
                  {train ? "train.bin" : "test.bin"});
}

}  // namespace tenon::data
