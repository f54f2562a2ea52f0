// Pictures as bytes: PNG and JPEG files to pixels, and pixels to PNG. No tensor is made here.
//
// PNG is read with libpng and JPEG with libjpeg-turbo, each where the build has it (without_png.cpp, without_jpeg.cpp).
// Writing PNG needs zlib alone. Nothing in a header is believed: before memory is asked for, the size is compared with
// what so long a file can hold.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tenon/data/image_mode.h"
#include "tenon/io/input.h"

namespace tenon::data {

struct Pixels {
  int64_t channels = 0, height = 0, width = 0;
  std::vector<uint8_t> values;  // channel after channel, row after row
};

/// No picture is larger; keeps a small file from asking for all memory.
inline constexpr uint64_t kMostPixels = uint64_t{1} << 28;

/// The kind is recognised by the first bytes. Fails with one line on what is neither, cut, damaged or too large.
Pixels decode_image(const io::Input& input, ImageMode mode, uint64_t most_pixels = kMostPixels);

bool is_png(const io::Input& input);
bool is_jpeg(const io::Input& input);

/// Takes a picture as it lies in a file (gray, gray and alpha, RGB or RGBA, pixel after pixel) row by row, and puts it
/// where it belongs: so a picture is in memory once.
class Planes {
 public:
  explicit Planes(ImageMode mode) : mode_(mode) {}

  void begin(uint64_t channels, uint64_t height, uint64_t width);
  void take(uint64_t row, const uint8_t* pixels);
  Pixels result() && { return std::move(pixels_); }

 private:
  ImageMode mode_;
  uint64_t in_file_ = 0;  // channels
  Pixels pixels_;
};
void decode_png(const io::Input& input, uint64_t most_pixels, Planes& to);
void decode_jpeg(const io::Input& input, uint64_t most_pixels, Planes& to);

/// Fails unless a file of so many bytes may hold a picture of this size, of which it keeps `stored_bytes` packed.
void require_plausible(const io::Input& input, uint64_t width, uint64_t height, uint64_t stored_bytes,
                       uint64_t most_pixels);

/// A PNG file of 1 to 4 channels.
std::string encode_png(const Pixels& pixels);

}  // namespace tenon::data
