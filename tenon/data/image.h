// Pictures as tensors: u8 (channels, height, width), as torchvision.io has them.
//
//   Tensor picture = data::read_image("cat.jpg", data::ImageMode::kRgb);
//   data::save_image("first.png", images.slice(0, 0, 64));     // a grid of 8 x 8

#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "tenon/data/image_mode.h"
#include "tenon/tensor/tensor.h"

namespace tenon::data {

/// A PNG or JPEG file. 16 bits become 8, palettes colours; gamma, profiles and the turning of cameras are not looked
/// at. Fails with one line that starts with `[image] path`.
///   data::save_image("red.png", zeros({3, 4, 6}, uint8));
///   data::read_image("red.png").shape();  // (3, 4, 6)
Tensor read_image(const std::filesystem::path& path, ImageMode mode = ImageMode::kUnchanged, Device device = {});
/// The same, but nothing where the file is no whole picture; `why` says then what read_image() would. A file that
/// cannot be opened fails either way: that may pass.
///   std::string why;
///   data::save_image("red.png", zeros({3, 4, 6}, uint8));
///   data::read_whole_image("red.png", why).has_value();  // true
std::optional<Tensor> read_whole_image(const std::filesystem::path& path, std::string& why,
                                       ImageMode mode = ImageMode::kUnchanged, Device device = {});

/// How pictures are put side by side.
struct GridOptions {
  int64_t columns = 8;  // pictures of a row
  int64_t padding = 2;  // pixels between the pictures and around them
  double value = 0;     // of which value
};
/// Pictures (n, channels, height, width) as one, row by row. Gray becomes RGB, and one picture alone stays as it is, as
/// in torchvision.
///   data::make_grid(zeros({4, 3, 8, 8}), {.columns = 2}).shape();  // (3, 22, 22)
Tensor make_grid(const Tensor& images, const GridOptions& options = {});

/// The bytes of a PNG file of what save_image takes; `name` is what messages call it.
///   const std::string bytes = data::png_of(zeros({3, 4, 6}, uint8));
std::string png_of(const Tensor& image, const GridOptions& options = {}, const std::string& name = "the picture");

/// Writes a PNG: u8, or floats from 0 to 1, of (height, width), (channels, height, width), or a grid of (n, channels,
/// height, width). 1 to 4 channels: gray, gray and alpha, RGB, RGBA. Writes beside, syncs and renames.
///   data::save_image("grid.png", rand({4, 3, 8, 8}));
void save_image(const std::filesystem::path& path, const Tensor& image, const GridOptions& options = {});

}  // namespace tenon::data
