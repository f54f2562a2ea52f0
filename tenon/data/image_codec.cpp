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

Pixels decode_image(const io::Input& input, ImageMode mode, uint64_t most_pixels) {
  if (!is_png(input) && !is_jpeg(input)) io::fail(input, "is neither PNG nor JPEG");
  const Interleaved found = is_png(input) ? decode_png(input, most_pixels) : decode_jpeg(input, most_pixels);
  const uint64_t area = found.height * found.width, channels = channels_of(mode, found.channels);
  const bool is_gray = found.channels < 3, has_alpha = found.channels % 2 == 0;
  Pixels pixels{static_cast<int64_t>(channels), static_cast<int64_t>(found.height), static_cast<int64_t>(found.width),
                std::vector<uint8_t>(channels * area)};
  for (uint64_t channel = 0; channel < channels; ++channel) {
    uint8_t* to = pixels.values.data() + channel * area;
    const bool is_alpha = mode == ImageMode::kRgba && channel == 3;
    for (uint64_t i = 0; i < area; ++i) {
      const uint8_t* from = found.values.data() + i * found.channels;
      if (is_alpha)
        to[i] = has_alpha ? from[found.channels - 1] : 255;
      else if (mode == ImageMode::kGray)
        to[i] = is_gray ? from[0] : gray_of(from);
      else
        to[i] = is_gray && mode != ImageMode::kUnchanged ? from[0] : from[channel];
    }
  }
  return pixels;
}

}  // namespace tenon::data
