#include "tenon/data/cifar_records.h"

namespace tenon::data {

void append_cifar(const io::Input& input, const CifarFormat& format, std::vector<std::byte>& pixels,
                  std::vector<int64_t>& labels) {
  const size_t in_front = format.classes.size(), record = in_front + kCifarPixels;
  const size_t records = input.bytes.size() / record;
  if (records == 0 || input.bytes.size() % record != 0) {
    io::fail(input, "has {} bytes, which are not records of {}: it is cut, or no such file; fetch it again",
             input.bytes.size(), record);
  }
  pixels.reserve(pixels.size() + records * kCifarPixels);
  labels.reserve(labels.size() + records);
  for (size_t i = 0; i < records; ++i) {
    const std::span<const std::byte> bytes = input.bytes.subspan(i * record, record);
    for (size_t place = 0; place < in_front; ++place) {
      const int label = std::to_integer<int>(bytes[place]);
      if (label >= format.classes[place]) {
        io::fail(input, "record {} has the label {}, there are {} classes: it is no such file", i, label,
                 format.classes[place]);
      }
    }
    labels.push_back(std::to_integer<int64_t>(bytes[format.label]));
    pixels.insert(pixels.end(), bytes.begin() + static_cast<std::ptrdiff_t>(in_front), bytes.end());
  }
}

}  // namespace tenon::data
