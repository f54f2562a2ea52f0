#include "tenon/data/transforms.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tenon/base/available_memory.h"
#include "tenon/base/error.h"
#include "tenon/data/host_bytes.h"
#include "tenon/tensor/creation.h"

namespace tenon::data {
namespace {

struct Size {
  int64_t channels, height, width;
};

Size size_of_image(std::string_view op, const Tensor& image) {
  if (!image.defined() || image.dim() != 3 || image.numel() == 0) {
    base::fail(op, "an image is (channels, height, width), this is {}",
               image.defined() ? shown_type(image) : "undefined");
  }
  return {image.size(0), image.size(1), image.size(2)};
}

void require_size(std::string_view op, int64_t height, int64_t width) {
  if (height < 1 || width < 1) base::fail(op, "a size of {} x {}; both must be at least 1", height, width);
}

/// A size that somebody typed may ask for more than there is; without this line, std::bad_alloc would be all it says.
void require_memory(std::string_view op, const Tensor& image, const Size& to) {
  ir::require_shape(op, {to.channels, to.height, to.width});
  const double bytes = static_cast<double>(to.channels) * static_cast<double>(to.height) *
                       static_cast<double>(to.width) * static_cast<double>(size_of(image.dtype()));
  const uint64_t available = base::host_memory().available;
  if (bytes <= static_cast<double>(available)) return;
  base::fail(op, "an image of {} x {} x {} takes {:.0f} bytes, and {} are free: make it smaller", to.channels,
             to.height, to.width, bytes, available);
}

[[noreturn]] void refuse_dtype(std::string_view op, const Tensor& image) {
  base::fail(op, "an image of u8 or f32 is needed, this is {}", shown_type(image));
}

template <typename T>
Tensor image_of(const std::vector<T>& pixels, const Size& size) {
  return from_bytes(std::as_bytes(std::span(pixels)), {size.channels, size.height, size.width},
                    Options(kDTypeOf<T>, host()));
}

/// Calls f with the pixels, u8 or f32; what it returns are the pixels of an image of size `to`.
template <typename F>
Tensor of_pixels(std::string_view op, const Tensor& image, const Size& to, F f) {
  const HostBytes pixels(image);
  if (image.dtype() == DType::u8) return image_of(f(pixels.as<uint8_t>()), to);
  if (image.dtype() == DType::f32) return image_of(f(pixels.as<float>()), to);
  refuse_dtype(op, image);
}

/// A part of an image; what lies outside of it is `fill`.
Tensor cropped(std::string_view op, const Tensor& image, int64_t top, int64_t left, int64_t height, int64_t width,
               double fill) {
  const Size from = size_of_image(op, image), to{from.channels, height, width};
  return of_pixels(op, image, to, [&]<typename T>(const T* pixels) {
    std::vector<T> part(static_cast<size_t>(to.channels * height * width), static_cast<T>(fill));
    const int64_t first_row = std::max<int64_t>(0, -top), last_row = std::min(height, from.height - top);
    const int64_t first = std::max<int64_t>(0, -left), last = std::min(width, from.width - left);
    for (int64_t channel = 0; channel < to.channels && first < last; ++channel) {
      for (int64_t row = first_row; row < last_row; ++row) {
        const T* source = pixels + (channel * from.height + row + top) * from.width + left;
        std::copy(source + first, source + last, part.data() + (channel * height + row) * width + first);
      }
    }
    return part;
  });
}

/// Which two pixels of a line a new one lies between, and how near it is to the second.
struct Between {
  int64_t first, second;
  float nearness;
};

/// For every pixel of a line of `to` pixels, as PyTorch's upsample_bilinear2d has it, in f32 like it.
std::vector<Between> bilinear_line(int64_t from, int64_t to) {
  const float scale = static_cast<float>(from) / static_cast<float>(to);
  std::vector<Between> line;
  for (int64_t i = 0; i < to; ++i) {
    const float place = std::max(0.0F, scale * (static_cast<float>(i) + 0.5F) - 0.5F);
    const int64_t first = std::min(static_cast<int64_t>(place), from - 1);
    line.push_back({first, std::min(first + 1, from - 1), std::clamp(place - static_cast<float>(first), 0.0F, 1.0F)});
  }
  return line;
}

std::vector<int64_t> nearest_line(int64_t from, int64_t to) {
  const float scale = static_cast<float>(from) / static_cast<float>(to);
  std::vector<int64_t> line;
  for (int64_t i = 0; i < to; ++i) {
    line.push_back(std::min(static_cast<int64_t>(std::floor(static_cast<float>(i) * scale)), from - 1));
  }
  return line;
}

template <typename T>
T stored(float value) {
  if constexpr (std::is_same_v<T, uint8_t>)
    return static_cast<uint8_t>(std::clamp(std::nearbyint(value), 0.0F, 255.0F));
  else
    return value;
}

template <typename T>
std::vector<T> resized_bilinear(const T* pixels, const Size& from, const Size& to) {
  const std::vector<Between> rows = bilinear_line(from.height, to.height),
                             columns = bilinear_line(from.width, to.width);
  std::vector<T> result;
  result.reserve(static_cast<size_t>(to.channels * to.height * to.width));
  for (int64_t channel = 0; channel < to.channels; ++channel) {
    const T* plane = pixels + channel * from.height * from.width;
    for (const Between& row : rows) {
      const T *upper = plane + row.first * from.width, *lower = plane + row.second * from.width;
      for (const Between& column : columns) {
        const auto between = [&](const T* line) {
          return (1 - column.nearness) * static_cast<float>(line[column.first]) +
                 column.nearness * static_cast<float>(line[column.second]);
        };
        result.push_back(stored<T>((1 - row.nearness) * between(upper) + row.nearness * between(lower)));
      }
    }
  }
  return result;
}

template <typename T>
std::vector<T> resized_nearest(const T* pixels, const Size& from, const Size& to) {
  const std::vector<int64_t> rows = nearest_line(from.height, to.height), columns = nearest_line(from.width, to.width);
  std::vector<T> result;
  result.reserve(static_cast<size_t>(to.channels * to.height * to.width));
  for (int64_t channel = 0; channel < to.channels; ++channel) {
    for (const int64_t row : rows) {
      const T* line = pixels + (channel * from.height + row) * from.width;
      for (const int64_t column : columns) result.push_back(line[column]);
    }
  }
  return result;
}

/// The pixels of a line that a new one is made of, and how much each counts.
struct Averaged {
  int64_t first;
  std::vector<float> shares;
};

/// As PyTorch's upsample_bilinear2d with antialias: a triangle that is as wide as what a new pixel stands for.
std::vector<Averaged> averaged_line(int64_t from, int64_t to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to), reach = std::max(scale, 1.0);
  std::vector<Averaged> line;
  for (int64_t i = 0; i < to; ++i) {
    const double centre = scale * (static_cast<double>(i) + 0.5);
    const int64_t first = std::max<int64_t>(0, static_cast<int64_t>(centre - reach + 0.5));
    const int64_t end = std::min(from, static_cast<int64_t>(centre + reach + 0.5));
    Averaged one{first, {}};
    double total = 0;
    for (int64_t k = first; k < end; ++k) {
      const double share = std::max(0.0, 1 - std::abs((static_cast<double>(k) + 0.5 - centre) / reach));
      one.shares.push_back(static_cast<float>(share));
      total += share;
    }
    for (float& share : one.shares) share /= static_cast<float>(total);
    line.push_back(std::move(one));
  }
  return line;
}

struct Part {
  int64_t top, left, height, width;
};

/// First along rows, then along columns; rounded once.
template <typename T>
std::vector<T> resized_averaged(const T* pixels, const Size& from, const Part& part, const Size& to) {
  const std::vector<Averaged> rows = averaged_line(part.height, to.height),
                              columns = averaged_line(part.width, to.width);
  std::vector<T> result;
  result.reserve(static_cast<size_t>(to.channels * to.height * to.width));
  std::vector<float> narrowed(static_cast<size_t>(part.height * to.width)), line(static_cast<size_t>(to.width));
  for (int64_t channel = 0; channel < to.channels; ++channel) {
    float* into = narrowed.data();
    for (int64_t row = 0; row < part.height; ++row) {
      const T* source = pixels + (channel * from.height + part.top + row) * from.width + part.left;
      for (const Averaged& column : columns) {
        float sum = 0;
        for (size_t k = 0; k < column.shares.size(); ++k)
          sum += column.shares[k] * static_cast<float>(source[column.first + static_cast<int64_t>(k)]);
        *into++ = sum;
      }
    }
    for (const Averaged& row : rows) {
      std::fill(line.begin(), line.end(), 0.0F);
      for (size_t k = 0; k < row.shares.size(); ++k) {
        const float* source = narrowed.data() + (row.first + static_cast<int64_t>(k)) * to.width;
        for (size_t i = 0; i < line.size(); ++i) line[i] += row.shares[k] * source[i];
      }
      for (const float value : line) result.push_back(stored<T>(value));
    }
  }
  return result;
}

Tensor resized_part(std::string_view op, const Tensor& image, const Size& from, const Part& part, const Size& to) {
  require_memory(op, image, to);
  return of_pixels(op, image, to, [&](const auto* pixels) { return resized_averaged(pixels, from, part, to); });
}

/// torchvision's: ten tries, then the middle with the nearest ratio that is allowed.
Part drawn_part(const Size& size, const ResizedCropOptions& options, Random& random) {
  const auto height = static_cast<double>(size.height), width = static_cast<double>(size.width);
  for (int tries = 0; tries < 10; ++tries) {
    const double area = height * width * random.uniform(options.least_area, options.most_area);
    const double ratio = std::exp(random.uniform(std::log(options.least_ratio), std::log(options.most_ratio)));
    const auto wide = static_cast<int64_t>(std::nearbyint(std::sqrt(area * ratio)));
    const auto high = static_cast<int64_t>(std::nearbyint(std::sqrt(area / ratio)));
    if (wide < 1 || high < 1 || wide > size.width || high > size.height) continue;
    const int64_t top = random.below(size.height - high + 1), left = random.below(size.width - wide + 1);
    return {top, left, high, wide};
  }
  int64_t wide = size.width, high = size.height;
  if (width / height < options.least_ratio)
    high = std::clamp<int64_t>(static_cast<int64_t>(std::nearbyint(width / options.least_ratio)), 1, size.height);
  else if (width / height > options.most_ratio)
    wide = std::clamp<int64_t>(static_cast<int64_t>(std::nearbyint(height * options.most_ratio)), 1, size.width);
  return {(size.height - high) / 2, (size.width - wide) / 2, high, wide};
}

}  // namespace

Transform compose(std::vector<Transform> transforms) {
  for (size_t i = 0; i < transforms.size(); ++i) {
    if (!transforms[i]) base::fail("compose", "transform {} is empty", i);
  }
  return [transforms = std::move(transforms)](const Tensor& image, Random& random) {
    Tensor result = image;
    for (const Transform& transform : transforms) result = transform(result, random);
    return result;
  };
}

Transform to_float() {
  return [](const Tensor& image, Random&) {
    if (image.defined() && image.dtype() == DType::f32) return image;
    if (!image.defined() || image.dtype() != DType::u8) {
      base::fail("to_float", "an image of u8 or f32 is needed, this is {}",
                 image.defined() ? shown_type(image) : "undefined");
    }
    const HostBytes pixels(image);
    std::vector<float> values(pixels.bytes().size());
    const auto* from = pixels.as<uint8_t>();
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(from[i]) / 255.0F;
    return from_bytes(std::as_bytes(std::span(values)), image.shape(), Options(DType::f32, host()));
  };
}

Transform normalize(std::vector<double> mean, std::vector<double> deviation) {
  if (mean.empty() || mean.size() != deviation.size()) {
    base::fail("normalize", "{} means and {} deviations are given; there must be as many", mean.size(),
               deviation.size());
  }
  for (const double one : deviation) {
    if (!(one > 0) || !std::isfinite(one)) base::fail("normalize", "a deviation of {}; it must be above 0", one);
  }
  return [mean = std::move(mean), deviation = std::move(deviation)](const Tensor& image, Random&) {
    const Size size = size_of_image("normalize", image);
    if (image.dtype() != DType::f32) {
      base::fail("normalize", "an image of f32 is needed, this is {}: put to_float() in front", shown_type(image));
    }
    if (mean.size() > 1 && static_cast<int64_t>(mean.size()) != size.channels) {
      base::fail("normalize", "there are {} means, the image has {} channels", mean.size(), size.channels);
    }
    const HostBytes pixels(image);
    const auto* from = pixels.as<float>();
    std::vector<float> values;
    values.reserve(static_cast<size_t>(image.numel()));
    for (int64_t channel = 0; channel < size.channels; ++channel) {
      const auto which = static_cast<size_t>(mean.size() > 1 ? channel : 0);
      const auto middle = static_cast<float>(mean[which]), unit = static_cast<float>(deviation[which]);
      for (int64_t i = 0; i < size.height * size.width; ++i) values.push_back((*from++ - middle) / unit);
    }
    return image_of(values, size);
  };
}

Transform random_crop(int64_t height, int64_t width, const CropOptions& options) {
  require_size("random_crop", height, width);
  if (options.padding < 0) base::fail("random_crop", "a padding of {} pixels", options.padding);
  return [height, width, options](const Tensor& image, Random& random) {
    const Size size = size_of_image("random_crop", image);
    const int64_t padding = options.padding;
    const int64_t places_down = size.height + 2 * padding - height + 1,
                  places_across = size.width + 2 * padding - width + 1;
    if (places_down < 1 || places_across < 1) {
      base::fail("random_crop", "a crop of {} x {} does not fit into {} x {} with {} pixels of padding: resize() first",
                 height, width, size.height, size.width, padding);
    }
    if (image.dtype() == DType::u8 && !(options.fill >= 0 && options.fill <= 255)) {
      base::fail("random_crop", "a fill of {} is not in u8", options.fill);
    }
    const int64_t top = random.below(places_down) - padding, left = random.below(places_across) - padding;
    return cropped("random_crop", image, top, left, height, width, options.fill);
  };
}

Transform center_crop(int64_t height, int64_t width) {
  require_size("center_crop", height, width);
  return [height, width](const Tensor& image, Random&) {
    const Size size = size_of_image("center_crop", image);
    if (height > size.height || width > size.width) {
      base::fail("center_crop", "a crop of {} x {} does not fit into {} x {}: resize() first", height, width,
                 size.height, size.width);
    }
    // As torchvision rounds: to even.
    const auto half = [](int64_t pixels) {
      return static_cast<int64_t>(std::nearbyint(static_cast<double>(pixels) / 2));
    };
    return cropped("center_crop", image, half(size.height - height), half(size.width - width), height, width, 0);
  };
}

Transform random_horizontal_flip(double probability) {
  if (!(probability >= 0 && probability <= 1)) {
    base::fail("random_horizontal_flip", "a probability of {}; it must be from 0 to 1", probability);
  }
  return [probability](const Tensor& image, Random& random) {
    const Size size = size_of_image("random_horizontal_flip", image);
    if (!random.chance(probability)) return image;
    return of_pixels("random_horizontal_flip", image, size, [&]<typename T>(const T* pixels) {
      std::vector<T> flipped(pixels, pixels + size.channels * size.height * size.width);
      for (auto line = flipped.begin(); line != flipped.end(); line += size.width)
        std::reverse(line, line + size.width);
      return flipped;
    });
  };
}

Transform resize(int64_t height, int64_t width, Interpolation interpolation) {
  require_size("resize", height, width);
  return [height, width, interpolation](const Tensor& image, Random&) {
    const Size from = size_of_image("resize", image), to{from.channels, height, width};
    require_memory("resize", image, to);
    return of_pixels("resize", image, to, [&](const auto* pixels) {
      return interpolation == Interpolation::kNearest ? resized_nearest(pixels, from, to)
                                                      : resized_bilinear(pixels, from, to);
    });
  };
}

Transform resize_shorter(int64_t side) {
  require_size("resize_shorter", side, side);
  return [side](const Tensor& image, Random&) {
    const Size from = size_of_image("resize_shorter", image);
    const int64_t shorter = std::min(from.height, from.width);
    if (shorter == side) return image;
    const auto resized = [&](int64_t size) {
      return size == shorter ? side
                             : static_cast<int64_t>(static_cast<double>(side) * static_cast<double>(size) /
                                                    static_cast<double>(shorter));
    };
    return resized_part("resize_shorter", image, from, {0, 0, from.height, from.width},
                        {from.channels, resized(from.height), resized(from.width)});
  };
}

Transform random_resized_crop(int64_t height, int64_t width, const ResizedCropOptions& o) {
  require_size("random_resized_crop", height, width);
  if (!(o.least_area > 0 && o.least_area <= o.most_area && o.most_area <= 1))
    base::fail("random_resized_crop", "areas from {} to {}; they must be above 0 and at most 1", o.least_area,
               o.most_area);
  if (!(o.least_ratio > 0 && o.least_ratio <= o.most_ratio && std::isfinite(o.most_ratio)))
    base::fail("random_resized_crop", "ratios from {} to {}; they must be above 0", o.least_ratio, o.most_ratio);
  return [height, width, o](const Tensor& image, Random& random) {
    const Size size = size_of_image("random_resized_crop", image);
    return resized_part("random_resized_crop", image, size, drawn_part(size, o, random),
                        {size.channels, height, width});
  };
}

}  // namespace tenon::data
