#include "tenon/data/image_codec.h"

namespace tenon::data {
namespace {

/// The brightness of a colour as Pillow computes it: ITU-R 601 in 16 bits.
uint8_t gray_of(const uint8_t* rgb) {
  return static_cast<uint8_t>((rgb[0] * 19595U + rgb[1] * 38470U + rgb[2] * 7471U + 0x8000U) >> 16);
}

uint64_t channels_of(ImageMode mode, uint64_t in_file) {
  switch (mode) {
    case ImageMode::kGray: return 1;
    case ImageMode::kRgb: return 3;
    case ImageMode::kRgba: return 4;
    default: return in_file;
  }
}

}  // namespace

bool is_png(const io::Input& input) { return io::as_text(input.bytes).starts_with("\x89PNG\r\n\x1a\n"); }
bool is_jpeg(const io::Input& input) { return io::as_text(input.bytes).starts_with("\xFF\xD8\xFF"); }

void require_plausible(const io::Input& input, uint64_t width, uint64_t height, uint64_t stored_bytes,
                       uint64_t most_pixels) {
  if (width == 0 || height == 0) io::fail(input, "says that it has {} x {} pixels", width, height);
  if (width > most_pixels / height) {
    io::fail(input, "says that it has {} x {} pixels; there may be {} in all", width, height, most_pixels);
  }
  // Deflate makes at most 1032 bytes of one, and no JPEG more.
  constexpr uint64_t kMostTimes = 1032, kSlack = 1 << 16;
  if (stored_bytes > kMostTimes * input.bytes.size() + kSlack) {
    io::fail(input, "says that it has {} x {} pixels, which {} bytes cannot hold: it is cut or damaged", width, height,
             input.bytes.size());
  }
}

void Planes::begin(uint64_t channels, uint64_t height, uint64_t width) {
  in_file_ = channels;
  const uint64_t wanted = channels_of(mode_, channels);
  pixels_ = {static_cast<int64_t>(wanted), static_cast<int64_t>(height), static_cast<int64_t>(width),
             std::vector<uint8_t>(wanted * height * width)};
}

void Planes::take(uint64_t row, const uint8_t* pixels) {
  const auto width = static_cast<uint64_t>(pixels_.width), area = static_cast<uint64_t>(pixels_.height) * width;
  const bool is_gray = in_file_ < 3, has_alpha = in_file_ % 2 == 0;
  for (uint64_t channel = 0; channel < static_cast<uint64_t>(pixels_.channels); ++channel) {
    uint8_t* to = pixels_.values.data() + channel * area + row * width;
    const bool is_alpha = mode_ == ImageMode::kRgba && channel == 3;
    for (uint64_t i = 0; i < width; ++i) {
      const uint8_t* from = pixels + i * in_file_;
      if (is_alpha)
        to[i] = has_alpha ? from[in_file_ - 1] : 255;
      else if (mode_ == ImageMode::kGray)
        to[i] = is_gray ? from[0] : gray_of(from);
      else
        to[i] = is_gray && mode_ != ImageMode::kUnchanged ? from[0] : from[channel];
    }
  }
}

Pixels decode_image(const io::Input& input, ImageMode mode, uint64_t most_pixels) {
  if (!is_png(input) && !is_jpeg(input)) io::fail(input, "is neither PNG nor JPEG");
  Planes planes(mode);
  if (is_png(input))
    decode_png(input, most_pixels, planes);
  else
    decode_jpeg(input, most_pixels, planes);
  return std::move(planes).result();
}

}  // namespace tenon::data
