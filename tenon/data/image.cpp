#include "tenon/data/image.h"

#include <algorithm>
#include <cmath>

#include "tenon/base/error.h"
#include "tenon/data/host_bytes.h"
#include "tenon/data/image_codec.h"
#include "tenon/io/file.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/ops.h"

namespace tenon::data {
namespace {

/// The bytes of a picture: u8 as it is, floats times 255 and rounded, as torchvision's save_image does.
std::vector<uint8_t> bytes_of_picture(const Tensor& image) {
  if (image.dtype() == DType::u8) return image.to_vector<uint8_t>();
  std::vector<uint8_t> bytes;
  bytes.reserve(static_cast<size_t>(image.numel()));
  for (const float value : image.to(host()).to_vector<float>()) {
    const float scaled = std::isnan(value) ? 0.0F : std::clamp(value * 255.0F + 0.5F, 0.0F, 255.0F);
    bytes.push_back(static_cast<uint8_t>(scaled));
  }
  return bytes;
}

}  // namespace

std::optional<Tensor> read_whole_image(const std::filesystem::path& path, std::string& why, ImageMode mode,
                                       Device device) {
  const auto file = io::MappedFile::open("image", path);
  const auto pixels = std::make_shared<Pixels>();
  try {
    *pixels = decode_image({"image", path.string(), file->bytes()}, mode);
  } catch (const Error& error) {
    why = error.what();
    return std::nullopt;
  }
  file->require_whole();
  // Where the device can have the pixels as they are, they are in memory once.
  return from_host_memory(std::as_bytes(std::span(pixels->values)), pixels,
                          {pixels->channels, pixels->height, pixels->width}, Options(DType::u8, device));
}

Tensor read_image(const std::filesystem::path& path, ImageMode mode, Device device) {
  std::string why;
  const std::optional<Tensor> image = read_whole_image(path, why, mode, device);
  if (!image) throw Error(why);
  return *image;
}

Tensor make_grid(const Tensor& images, const GridOptions& options) {
  if (!images.defined() || images.dim() != 4 || images.numel() == 0) {
    base::fail("make_grid", "pictures are (n, channels, height, width), this is {}",
               images.defined() ? shown_type(images) : "undefined");
  }
  if (options.columns < 1) base::fail("make_grid", "columns must be at least 1, got {}", options.columns);
  if (options.padding < 0) base::fail("make_grid", "padding must not be negative, got {}", options.padding);
  const Tensor all = images.size(1) == 1 ? images.expand({images.size(0), 3, images.size(2), images.size(3)}) : images;
  const int64_t count = all.size(0), padding = options.padding;
  if (count == 1) return all[0].clone();
  const int64_t columns = std::min(options.columns, count), rows = (count + columns - 1) / columns;
  const int64_t height = all.size(2) + padding, width = all.size(3) + padding;
  Tensor grid = full({all.size(1), height * rows + padding, width * columns + padding}, options.value,
                     Options(all.dtype(), all.device()))
                    .clone();
  for (int64_t i = 0; i < count; ++i) {
    grid.narrow(1, i / columns * height + padding, all.size(2))
        .narrow(2, i % columns * width + padding, all.size(3))
        .copy_(all[i]);
  }
  return grid;
}

std::string png_of(const Tensor& image, const GridOptions& options, const std::string& name) {
  const io::Input shown{"image", name, {}};
  if (!image.defined()) io::fail(shown, "the picture is undefined");
  const bool is_picture = image.dim() >= 2 && image.dim() <= 4 && image.numel() > 0;
  if (!is_picture || (image.dtype() != DType::u8 && !is_float(image.dtype()))) {
    io::fail(shown, "a picture is u8, or floats from 0 to 1, of (channels, height, width); this is {}",
             shown_type(image));
  }
  // Put together on the host, where pictures of every size are alike.
  const Tensor here = image.detach().to(host());
  const Tensor picture = here.dim() == 4 ? make_grid(here, options) : here.dim() == 2 ? here.unsqueeze(0) : here;
  if (picture.size(0) > 4) io::fail(shown, "a picture has 1 to 4 channels, this one has {}", picture.size(0));
  return encode_png({picture.size(0), picture.size(1), picture.size(2), bytes_of_picture(picture)});
}

void save_image(const std::filesystem::path& path, const Tensor& image, const GridOptions& options) {
  const std::string png = png_of(image, options, path.string());
  io::ReplacingFile file("image", path);
  file.write(png);
  file.commit();
}

}  // namespace tenon::data
