// CIFAR's records, with one label and with two. The pixels of a record are left out of the input, so that it stays
// short.

#include <algorithm>
#include <vector>

#include "target.h"
#include "tenon/data/cifar_records.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tenon;
  if (size < 2) return 0;
  const data::CifarFormat format =
      data[0] % 2 == 0 ? data::CifarFormat{{10}, 0} : data::CifarFormat{{20, 100}, data[1] % size_t{2}};
  const size_t in_front = format.classes.size();
  std::vector<std::byte> file;
  for (size_t at = 2; at < std::min<size_t>(size, 66); at += in_front) {
    for (size_t i = at; i < std::min(size, at + in_front); ++i) file.push_back(std::byte{data[i]});
    file.resize(file.size() + data::kCifarPixels);
  }
  if (size > 66) file.resize(file.size() - std::min<size_t>(file.size(), data[66]));  // cut
  fuzz::run(file.size(), 4, [&] {
    std::vector<std::byte> pixels;
    std::vector<int64_t> labels;
    data::append_cifar({"cifar10", "file", file}, format, pixels, labels);
  });
  return 0;
}
